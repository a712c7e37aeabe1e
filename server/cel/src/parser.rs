//! From text to a syntax tree.
//!
//! A plain descent over the grammar, for texts that are in order. One that is not is handed to `syntax`, which finds
//! the words that the grammar's own parser would have had for it.

use crate::{
    ast::{Ast, Call, Element, Entry, Expr, Kind, Literal, Select, Struct, StructField},
    lexer::{Tok, Token, tokens},
    limits::{EXPRESSION_CODE_POINTS_MAX, NESTING_MAX},
    source::{Issues, Source},
    syntax,
    unescape::unescape,
};

const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// What the limit of nesting, [`NESTING_MAX`], is called.
const TOO_NESTED: &str = "expression recursion limit exceeded: 250";
const _: () = assert!(NESTING_MAX == 250);

/// Why the descent ended early.
enum Stop {
    Syntax,
    TooDeep(&'static str),
}

type Parsed<T> = Result<T, Stop>;

/// A parser, also the builder that macros make nodes with.
pub(crate) struct Parser<'t> {
    source: &'t Source<'t>,
    tokens: Vec<Token>,
    at: usize,
    offsets: Vec<u32>,
    issues: Issues,
    /// How deep in itself the rule for a whole expression is.
    depth: usize,
    /// Levels of operators and members of what was parsed last.
    height: usize,
}

/// The tree of an expression.
pub(crate) fn parse(source: &Source<'_>) -> Result<Ast, Issues> {
    let size = source.text().chars().count();
    let mut issues = Issues::default();
    if size > EXPRESSION_CODE_POINTS_MAX {
        issues.report(
            None,
            format!(
                "expression code point size exceeds limit: size: {size}, limit {EXPRESSION_CODE_POINTS_MAX}"
            ),
        );
        return Err(issues);
    }
    let (tokens, unrecognized) = tokens(source.text());
    if !unrecognized.is_empty() {
        return Err(syntax::issues(source, &tokens, &unrecognized));
    }
    let mut parser = Parser { source, tokens, at: 0, offsets: Vec::new(), issues, depth: 0, height: 0 };
    match parser.whole() {
        Ok(root) if parser.issues.is_empty() => Ok(Ast { root, offsets: parser.offsets }),
        Ok(_) => Err(parser.issues),
        Err(Stop::Syntax) => Err(syntax::issues(source, &parser.tokens, &[])),
        Err(Stop::TooDeep(message)) => {
            let mut issues = Issues::default();
            issues.report(None, message);
            Err(issues)
        }
    }
}

impl Parser<'_> {
    // What macros build with.

    /// A node's number, for a place.
    pub(crate) fn id_at(&mut self, offset: u32) -> usize {
        self.offsets.push(offset);
        self.offsets.len() - 1
    }
    pub(crate) fn offset(&self, id: usize) -> u32 {
        self.offsets[id]
    }
    pub(crate) fn report(&mut self, offset: u32, message: impl Into<String>) -> Expr {
        self.issues.report(Some(offset), message);
        self.node(offset, Kind::Unspecified)
    }
    pub(crate) fn node(&mut self, offset: u32, kind: Kind) -> Expr {
        Expr { id: self.id_at(offset), kind }
    }

    // Tokens.

    fn peek(&self) -> Tok {
        self.tokens[self.at].kind
    }
    fn peek_at(&self, ahead: usize) -> Tok {
        self.tokens.get(self.at + ahead).map_or(Tok::Eof, |token| token.kind)
    }
    fn here(&self) -> u32 {
        self.tokens[self.at].offset
    }
    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != Tok::Eof {
            self.at += 1;
        }
        token
    }
    fn accept(&mut self, kind: Tok) -> Option<Token> {
        (self.peek() == kind).then(|| self.advance())
    }
    fn expect(&mut self, kind: Tok) -> Parsed<Token> {
        self.accept(kind).ok_or(Stop::Syntax)
    }
    fn text(&self, token: Token) -> &str {
        &self.source.text()[token.start..token.end]
    }
    /// One operator or member above what was parsed last, and above another part of `other` levels.
    fn rise(&mut self, other: usize) -> Parsed<()> {
        self.height = self.height.max(other) + 1;
        if self.height > NESTING_MAX { Err(Stop::TooDeep("max recursion depth exceeded")) } else { Ok(()) }
    }

    // The grammar.

    fn whole(&mut self) -> Parsed<Expr> {
        let root = self.expr()?;
        self.expect(Tok::Eof)?;
        Ok(root)
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(Stop::TooDeep(TOO_NESTED));
        }
        let condition = self.conditional_or()?;
        let Some(op) = self.accept(Tok::Question) else {
            self.depth -= 1;
            return Ok(condition);
        };
        let mut height = self.height;
        let id = self.id_at(op.offset);
        let yes = self.conditional_or()?;
        height = height.max(self.height);
        self.expect(Tok::Colon)?;
        let no = self.expr()?;
        self.rise(height)?;
        self.depth -= 1;
        Ok(self.global(id, "_?_:_", vec![condition, yes, no]))
    }

    fn conditional_or(&mut self) -> Parsed<Expr> {
        self.chain(Tok::LogicalOr, "_||_", Self::conditional_and)
    }

    fn conditional_and(&mut self) -> Parsed<Expr> {
        self.chain(Tok::LogicalAnd, "_&&_", Self::relation)
    }

    fn chain(&mut self, op: Tok, function: &str, term: fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let first = term(self)?;
        if self.peek() != op {
            return Ok(first);
        }
        let mut height = self.height;
        let mut terms = vec![Some(first)];
        let mut ops = Vec::new();
        while let Some(token) = self.accept(op) {
            terms.push(Some(term(self)?));
            height = height.max(self.height);
            ops.push(self.id_at(token.offset));
        }
        self.height = height;
        Ok(balanced(function, &mut terms, &ops, 0, ops.len() - 1))
    }

    fn relation(&mut self) -> Parsed<Expr> {
        let mut left = self.calc(0)?;
        loop {
            let function = match self.peek() {
                Tok::Less => "_<_",
                Tok::LessEquals => "_<=_",
                Tok::GreaterEquals => "_>=_",
                Tok::Greater => "_>_",
                Tok::Equals => "_==_",
                Tok::NotEquals => "_!=_",
                Tok::In => "@in",
                _ => break,
            };
            let height = self.height;
            let op = self.advance();
            let id = self.id_at(op.offset);
            let right = self.calc(0)?;
            self.rise(height)?;
            left = self.global(id, function, vec![left, right]);
        }
        Ok(left)
    }

    /// `* / %` bind at 1, `+ -` at 0.
    fn calc(&mut self, binding: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            let (function, binds) = match self.peek() {
                Tok::Star => ("_*_", 1),
                Tok::Slash => ("_/_", 1),
                Tok::Percent => ("_%_", 1),
                Tok::Plus => ("_+_", 0),
                Tok::Minus => ("_-_", 0),
                _ => break,
            };
            if binds < binding {
                break;
            }
            let height = self.height;
            let op = self.advance();
            let id = self.id_at(op.offset);
            let right = if binds == 1 { self.unary()? } else { self.calc(1)? };
            self.rise(height)?;
            left = self.global(id, function, vec![left, right]);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let (op, function) = match self.peek() {
            Tok::Exclam => (Tok::Exclam, "!_"),
            Tok::Minus if !matches!(self.peek_at(1), Tok::Int | Tok::Float) => (Tok::Minus, "-_"),
            _ => return self.member(),
        };
        let first = self.here();
        let mut count = 0;
        while self.accept(op).is_some() {
            count += 1;
        }
        if count % 2 == 0 {
            return self.member();
        }
        let id = self.id_at(first);
        let target = self.member()?;
        Ok(self.global(id, function, vec![target]))
    }

    fn member(&mut self) -> Parsed<Expr> {
        let mut operand = self.primary()?;
        loop {
            if !matches!(self.peek(), Tok::Dot | Tok::LBracket) {
                break;
            }
            let height = self.height;
            self.height = 0;
            let op = self.advance();
            operand = match op.kind {
                Tok::Dot => self.selection(operand, op)?,
                _ => self.index(operand, op)?,
            };
            self.rise(height)?;
        }
        Ok(operand)
    }

    fn selection(&mut self, operand: Expr, op: Token) -> Parsed<Expr> {
        let optional = self.accept(Tok::Question).is_some();
        let name = match self.peek() {
            Tok::Ident | Tok::EscIdent => self.advance(),
            _ => return Err(Stop::Syntax),
        };
        let text = self.text(name);
        let field = if name.kind == Tok::EscIdent { &text[1..text.len() - 1] } else { text }.to_owned();
        if !optional && name.kind == Tok::Ident && self.peek() == Tok::LParen {
            let open = self.advance();
            let id = self.id_at(open.offset);
            let args = self.arguments()?;
            return Ok(self.member_call(id, field, operand, args));
        }
        if optional {
            let id = self.id_at(op.offset);
            let field = self.node(name.offset, Kind::Literal(Literal::String(field)));
            let call = Call { target: None, function: "_?._".into(), args: vec![operand, field] };
            return Ok(Expr { id, kind: Kind::Call(Box::new(call)) });
        }
        Ok(self.node(op.offset, Kind::Select(Box::new(Select { operand, field, test_only: false }))))
    }

    fn index(&mut self, operand: Expr, op: Token) -> Parsed<Expr> {
        let optional = self.accept(Tok::Question).is_some();
        let id = self.id_at(op.offset);
        let index = self.expr()?;
        self.expect(Tok::RBracket)?;
        Ok(self.global(id, if optional { "_[?_]" } else { "_[_]" }, vec![operand, index]))
    }

    /// What follows an open parenthesis, the closing one included.
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        if self.accept(Tok::RParen).is_some() {
            return Ok(args);
        }
        let mut height = 0;
        loop {
            args.push(self.expr()?);
            height = height.max(self.height);
            if self.accept(Tok::Comma).is_none() {
                self.expect(Tok::RParen)?;
                self.height = height;
                return Ok(args);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        self.height = 0;
        match self.peek() {
            Tok::Dot | Tok::Ident => self.named(),
            Tok::LParen => {
                self.advance();
                let inner = self.expr()?;
                self.expect(Tok::RParen)?;
                Ok(inner)
            }
            Tok::LBracket => self.list(),
            Tok::LBrace => self.map(),
            _ => self.literal(),
        }
    }

    fn named(&mut self) -> Parsed<Expr> {
        let start = self.here();
        let leading = self.accept(Tok::Dot).is_some();
        if self.is_message() {
            return self.message(leading);
        }
        let token = self.expect(Tok::Ident)?;
        let text = self.text(token).to_owned();
        let reserved = RESERVED.contains(&text.as_str());
        let name = if leading { format!(".{text}") } else { text };
        let call = (self.peek() == Tok::LParen).then(|| self.advance());
        if reserved {
            if call.is_some() {
                self.arguments()?;
            }
            return Ok(self.report(start, format!("reserved identifier: {}", name.trim_start_matches('.'))));
        }
        let Some(open) = call else {
            return Ok(self.node(token.offset, Kind::Ident(name)));
        };
        let id = self.id_at(open.offset);
        let args = self.arguments()?;
        Ok(self.global(id, &name, args))
    }

    /// Whether names with dots between and a brace behind them stand here.
    fn is_message(&self) -> bool {
        let mut ahead = 0;
        while self.peek_at(ahead) == Tok::Ident {
            match self.peek_at(ahead + 1) {
                Tok::LBrace => return true,
                Tok::Dot => ahead += 2,
                _ => return false,
            }
        }
        false
    }

    fn message(&mut self, leading: bool) -> Parsed<Expr> {
        let mut name = String::new();
        loop {
            if leading || !name.is_empty() {
                name.push('.');
            }
            let token = self.expect(Tok::Ident)?;
            name.push_str(self.text(token));
            if self.accept(Tok::Dot).is_none() {
                break;
            }
        }
        let open = self.expect(Tok::LBrace)?;
        let id = self.id_at(open.offset);
        let mut fields = Vec::new();
        loop {
            if self.accept(Tok::RBrace).is_some() {
                break;
            }
            if self.peek() != Tok::Comma {
                let optional = self.accept(Tok::Question).is_some();
                let name = match self.accept(Tok::EscIdent) {
                    Some(token) => {
                        let text = self.text(token);
                        text[1..text.len() - 1].to_owned()
                    }
                    None => {
                        let token = self.expect(Tok::Ident)?;
                        self.text(token).to_owned()
                    }
                };
                let colon = self.expect(Tok::Colon)?;
                let id = self.id_at(colon.offset);
                fields.push(StructField { id, name, value: self.expr()?, optional });
            }
            if self.accept(Tok::Comma).is_none() || self.peek() == Tok::Comma {
                self.expect(Tok::RBrace)?;
                break;
            }
        }
        Ok(Expr { id, kind: Kind::Struct(Box::new(Struct { name, fields })) })
    }

    fn list(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let id = self.id_at(open.offset);
        let mut elements = Vec::new();
        let mut height = 0;
        if !matches!(self.peek(), Tok::RBracket | Tok::Comma) {
            loop {
                let optional = self.accept(Tok::Question).is_some();
                elements.push(Element { value: self.expr()?, optional });
                height = height.max(self.height);
                if self.peek() != Tok::Comma || self.peek_at(1) == Tok::RBracket {
                    break;
                }
                self.advance();
            }
        }
        self.accept(Tok::Comma);
        self.expect(Tok::RBracket)?;
        self.height = height;
        Ok(Expr { id, kind: Kind::List(elements) })
    }

    fn map(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let id = self.id_at(open.offset);
        let mut entries = Vec::new();
        let mut height = 0;
        if !matches!(self.peek(), Tok::RBrace | Tok::Comma) {
            loop {
                let optional = self.accept(Tok::Question).is_some();
                let key = self.expr()?;
                height = height.max(self.height);
                self.expect(Tok::Colon)?;
                let value = self.expr()?;
                height = height.max(self.height);
                entries.push(Entry { key, value, optional });
                if self.peek() != Tok::Comma || self.peek_at(1) == Tok::RBrace {
                    break;
                }
                self.advance();
            }
        }
        self.accept(Tok::Comma);
        self.expect(Tok::RBrace)?;
        self.height = height;
        Ok(Expr { id, kind: Kind::Map(entries) })
    }

    fn literal(&mut self) -> Parsed<Expr> {
        let start = self.here();
        let negative = self.accept(Tok::Minus).is_some();
        let token = self.advance();
        if negative && !matches!(token.kind, Tok::Int | Tok::Float) {
            return Err(Stop::Syntax);
        }
        let text = self.text(token);
        let literal = match token.kind {
            Tok::Int => integer(text, negative).map(Literal::Int).ok_or("invalid int literal"),
            Tok::Uint => unsigned(&text[..text.len() - 1]).map(Literal::Uint).ok_or("invalid uint literal"),
            Tok::Float => double(text, negative).map(Literal::Double).ok_or("invalid double literal"),
            Tok::String => unescape(text, false).and_then(|bytes| {
                String::from_utf8(bytes).map(Literal::String).map_err(|_| "unable to unescape string")
            }),
            Tok::Bytes => unescape(&text[1..], true).map(Literal::Bytes),
            Tok::True => Ok(Literal::Bool(true)),
            Tok::False => Ok(Literal::Bool(false)),
            Tok::Null => Ok(Literal::Null),
            _ => return Err(Stop::Syntax),
        };
        Ok(match literal {
            Ok(literal) => self.node(start, Kind::Literal(literal)),
            Err(message) => self.report(start, message),
        })
    }
}

/// `a && b && c` as a tree whose sides are as deep as each other.
fn balanced(function: &str, terms: &mut [Option<Expr>], ops: &[usize], lo: usize, hi: usize) -> Expr {
    let middle = (lo + hi).div_ceil(2);
    let taken = |at: usize, terms: &mut [Option<Expr>]| {
        terms[at].take().unwrap_or(Expr { id: 0, kind: Kind::Unspecified })
    };
    let left =
        if middle == lo { taken(middle, terms) } else { balanced(function, terms, ops, lo, middle - 1) };
    let right =
        if middle == hi { taken(middle + 1, terms) } else { balanced(function, terms, ops, middle + 1, hi) };
    let call = Call { target: None, function: function.to_owned(), args: vec![left, right] };
    Expr { id: ops[middle], kind: Kind::Call(Box::new(call)) }
}

fn integer(text: &str, negative: bool) -> Option<i64> {
    let magnitude = unsigned(text)?;
    match negative {
        false => i64::try_from(magnitude).ok(),
        true => 0i64.checked_sub_unsigned(magnitude),
    }
}

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn double(text: &str, negative: bool) -> Option<f64> {
    let magnitude: f64 = text.parse().ok()?;
    magnitude.is_finite().then_some(if negative { -magnitude } else { magnitude })
}
