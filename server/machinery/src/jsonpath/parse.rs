//! The parser of templates.

use super::{JsonPathError, Node, Param, fail};

type Parsed<T> = Result<T, JsonPathError>;

/// The nodes of a template: texts, and a list for each expression.
pub(super) fn parse(template: &str) -> Parsed<Vec<Node>> {
    let mut parser = Parser { input: template, at: 0, start: 0 };
    let mut nodes = Vec::new();
    loop {
        let rest = &template[parser.at..];
        let brace = rest.find('{');
        let text = &rest[..brace.unwrap_or(rest.len())];
        if !text.is_empty() {
            nodes.push(Node::Text(text.to_owned()));
        }
        let Some(brace) = brace else { return Ok(nodes) };
        parser.at += brace + 1;
        parser.start = parser.at;
        let mut list = Vec::new();
        while parser.step(&mut list)? {}
        nodes.push(Node::List(list));
    }
}

/// The nodes of one expression.
fn action(text: &str) -> Parsed<Vec<Node>> {
    match parse(&format!("{{{text}}}"))?.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

struct Parser<'t> {
    input: &'t str,
    at: usize,
    start: usize,
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// Whether an identifier or a field ends before this; the end of the text ends it as well.
fn is_terminator(c: Option<char>) -> bool {
    c.is_none_or(|c| {
        matches!(c, ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}') || is_line_end(c)
    })
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || !c.is_ascii() && c.is_numeric()
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.input[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// The text since the last time.
    fn consume(&mut self) -> &'t str {
        let text = &self.input[self.start..self.at];
        self.start = self.at;
        text
    }

    /// One step inside of braces; false where they end.
    fn step(&mut self, nodes: &mut Vec<Node>) -> Parsed<bool> {
        if self.rest().starts_with('}') {
            self.at += 1;
            self.consume();
            return Ok(false);
        }
        if self.rest().starts_with("[?(") {
            self.filter(nodes)?;
            return Ok(true);
        }
        if self.rest().starts_with("..") {
            self.recursive(nodes)?;
            return Ok(true);
        }
        match self.next() {
            None => return fail("unclosed action"),
            Some(c) if is_line_end(c) => return fail("unclosed action"),
            Some(' ' | '@' | '$') => {
                self.consume();
            }
            Some('[') => self.array(nodes)?,
            Some(quote @ ('"' | '\'')) => self.quoted(nodes, quote)?,
            Some('.') => self.field(nodes),
            Some(c) if matches!(c, '+' | '-') || is_digit(c) => self.number(nodes)?,
            Some(c) if c == '_' || c.is_alphabetic() => self.identifier(nodes),
            Some(c) => {
                let shown = if crate::field::is_print(c) { format!(" '{c}'") } else { String::new() };
                return fail(format!("unrecognized character in action: U+{:04X}{shown}", u32::from(c)));
            }
        }
        Ok(true)
    }

    fn identifier(&mut self, nodes: &mut Vec<Node>) {
        while !is_terminator(self.peek()) {
            self.next();
        }
        nodes.push(match self.consume() {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            name => Node::Identifier(name.to_owned()),
        });
    }

    fn recursive(&mut self, nodes: &mut Vec<Node>) -> Parsed<()> {
        if matches!(nodes.last(), Some(Node::Recursive)) {
            return fail("invalid multiple recursive descent");
        }
        self.at += 2;
        self.consume();
        nodes.push(Node::Recursive);
        if self.peek().is_some_and(|c| c == '_' || c.is_alphabetic() || is_digit(c)) {
            self.field(nodes);
        }
        Ok(())
    }

    fn number(&mut self, nodes: &mut Vec<Node>) -> Parsed<()> {
        // The first character is a sign or a digit.
        while self.peek().is_some_and(|c| c == '.' || is_digit(c)) {
            self.next();
        }
        let text = self.consume();
        if let Ok(n) = text.parse::<i64>() {
            nodes.push(Node::Int(n));
        } else if let Ok(f) = text.parse::<f64>() {
            nodes.push(Node::Float(f));
        } else {
            return fail(format!("cannot parse number {text}"));
        }
        Ok(())
    }

    fn field(&mut self, nodes: &mut Vec<Node>) {
        self.consume();
        loop {
            match self.peek() {
                Some('\\') => {
                    self.next();
                    self.next();
                }
                c if is_terminator(c) => break,
                _ => {
                    self.next();
                }
            }
        }
        nodes.push(match self.consume() {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        });
    }

    fn quoted(&mut self, nodes: &mut Vec<Node>, quote: char) -> Parsed<()> {
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated quoted string"),
                Some(c) if c == quote && !self.input[..self.at - 1].ends_with('\\') => break,
                Some(_) => {}
            }
        }
        let text = self.consume();
        match unquote(text, quote) {
            Some(text) => nodes.push(Node::Text(text)),
            None => return fail(format!("unquote string {text} error invalid syntax")),
        }
        Ok(())
    }

    fn array(&mut self, nodes: &mut Vec<Node>) -> Parsed<()> {
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated array"),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = self.consume();
        let text = &text[1..text.len() - 1];
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts = text.split(',').map(|part| action(&format!("[{}]", part.trim_matches(' '))));
            nodes.push(Node::Union(parts.collect::<Parsed<_>>()?));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))
            && !key.contains('\'')
        {
            nodes.extend(action(&format!(".{key}"))?);
            return Ok(());
        }
        nodes.push(Node::Array(slice(text)?));
        Ok(())
    }

    fn filter(&mut self, nodes: &mut Vec<Node>) -> Parsed<()> {
        self.at += 3;
        self.consume();
        let (mut begun, mut ended) = (false, false);
        let mut pair = ' ';
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated filter"),
                Some(c @ ('"' | '\'')) => {
                    if !begun {
                        begun = true;
                        pair = c;
                    } else if c == pair && !self.input[..self.at - 1].ends_with('\\') {
                        ended = true;
                    }
                }
                Some(')') if begun == ended => break,
                Some(_) => {}
            }
        }
        if self.next() != Some(']') {
            return fail("unclosed array expect ]");
        }
        let text = self.consume();
        let text = &text[..text.len() - 2];
        nodes.push(match comparison(text) {
            None => Node::Filter { left: action(text)?, right: Vec::new(), operator: "exists".into() },
            Some((left, operator, right)) => {
                Node::Filter { left: action(left)?, right: action(right)?, operator: operator.to_owned() }
            }
        });
        Ok(())
    }
}

/// Left side, operator and right side of a comparison.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let at = text.find(operator).filter(|at| *at > 0)?;
    let length = text[at..].find(|c| !operator(c)).unwrap_or(text.len() - at);
    // Something must be left for the right side.
    let length = if at + length == text.len() { length - 1 } else { length };
    (length > 0).then(|| (&text[..at], &text[at..at + length], &text[at + length..]))
}

/// `start:end:step`
fn slice(text: &str) -> Parsed<[Param; 3]> {
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &&str| part.strip_prefix('-').unwrap_or(part).bytes().all(|b| b.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(number) {
        return fail(format!("invalid array index {text}"));
    }
    let mut params = [Param::default(); 3];
    for at in 0..3 {
        match parts.get(at) {
            Some(&"") => {}
            Some(part) => {
                let Ok(value) = part.parse() else {
                    return fail(format!("array index {part} is not a number"));
                };
                params[at] = Param { value, known: true, derived: false };
            }
            None if at == 1 => {
                params[1] = Param { value: params[0].value.saturating_add(1), known: true, derived: true };
            }
            None => {}
        }
    }
    Ok(params)
}

/// `strconv.Unquote`, of a text in quotes of either kind.
fn unquote(text: &str, quote: char) -> Option<String> {
    let body = &text.get(1..text.len().checked_sub(1)?)?;
    if !body.contains('\\') {
        return Some((*body).to_owned());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut chars = body.chars();
    let mut push = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    let mut bytes_at = Vec::new();
    while let Some(c) = chars.next() {
        if c == quote {
            return None;
        }
        if c != '\\' {
            push(c);
            continue;
        }
        let digits = |chars: &mut std::str::Chars<'_>, count: usize, radix: u32, first: u32| {
            (0..count).try_fold(first, |value, _| Some(value * radix + chars.next()?.to_digit(radix)?))
        };
        match chars.next()? {
            'a' => push('\u{7}'),
            'b' => push('\u{8}'),
            'f' => push('\u{c}'),
            'n' => push('\n'),
            'r' => push('\r'),
            't' => push('\t'),
            'v' => push('\u{b}'),
            '\\' => push('\\'),
            c if c == quote => push(c),
            'u' => push(char::from_u32(digits(&mut chars, 4, 16, 0)?)?),
            'U' => push(char::from_u32(digits(&mut chars, 8, 16, 0)?)?),
            'x' => bytes_at.push(digits(&mut chars, 2, 16, 0)?),
            c @ '0'..='7' => bytes_at.push(digits(&mut chars, 2, 8, c.to_digit(8)?)?),
            _ => return None,
        }
        // A byte of its own; what is beyond ASCII is part of a character only together with its neighbours.
        for byte in bytes_at.drain(..) {
            push(char::from_u32(byte).filter(char::is_ascii)?);
        }
    }
    String::from_utf8(out).ok()
}
