//! The parser: Go's syntax, and the errors of `regexp/syntax`.

use super::{
    class::{self, Class, Ranges},
    token::{INVALID_ESCAPE, Parsed, before, class_char, escaped, fail, next, repeat_counts},
};
use crate::limits::{REGEXP_HEIGHT_MAX, REGEXP_REPEAT_MAX, REGEXP_SIZE_MAX};

/// An expression.
#[derive(Debug)]
pub(super) enum Ast {
    Empty,
    /// A code point; where case does not count it is a class.
    Literal(u32),
    /// Index of a class.
    Class(u32),
    Any,
    AnyNotNewline,
    Assert(Assert),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Group(Box<Node>),
    Repeat {
        sub: Box<Node>,
        min: u32,
        max: Option<u32>,
        greedy: bool,
    },
}

/// A condition that takes no characters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Assert {
    BeginLine,
    EndLine,
    BeginText,
    EndText,
    WordBoundary,
    NoWordBoundary,
}

/// An expression with its measures.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) ast: Ast,
    height: usize,
    size: usize,
}

fn leaf(ast: Ast) -> Node {
    Node { ast, height: 1, size: 1 }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_newline: bool,
    non_greedy: bool,
}

/// A group that is open.
struct Frame {
    /// Flags before it.
    flags: Flags,
    capture: bool,
    alternatives: Vec<Node>,
    current: Vec<Node>,
}

impl Frame {
    fn new(flags: Flags, capture: bool) -> Self {
        Frame { flags, capture, alternatives: Vec::new(), current: Vec::new() }
    }

    fn close_alternative(&mut self) {
        let current = std::mem::take(&mut self.current);
        self.alternatives.push(collapse(current, Ast::Concat, 0));
    }

    fn close(mut self) -> Node {
        self.close_alternative();
        let more = self.alternatives.len() - 1;
        let node = collapse(self.alternatives, Ast::Alternate, more);
        if !self.capture {
            return node;
        }
        Node { height: node.height + 1, size: node.size.saturating_add(2), ast: Ast::Group(Box::new(node)) }
    }
}

fn collapse(mut nodes: Vec<Node>, join: fn(Vec<Node>) -> Ast, more: usize) -> Node {
    match nodes.len() {
        0 => leaf(Ast::Empty),
        1 => nodes.pop().unwrap_or_else(|| leaf(Ast::Empty)),
        _ => Node {
            height: 1 + nodes.iter().map(|node| node.height).max().unwrap_or(0),
            size: nodes.iter().fold(more, |size, node| size.saturating_add(node.size)),
            ast: join(nodes),
        },
    }
}

struct Parser<'e> {
    whole: &'e str,
    flags: Flags,
    frames: Vec<Frame>,
    classes: Vec<Class>,
    known: Vec<Ranges>,
}

/// Classes that an expression's next ones are looked for among.
const KNOWN_CLASSES_MAX: usize = 64;

const INVALID_RANGE: &str = "invalid character class range";
const INVALID_PERL_OP: &str = "invalid or unsupported Perl syntax";
const INVALID_REPEAT_SIZE: &str = "invalid repeat count";
const MISSING_ARGUMENT: &str = "missing argument to repetition operator";
const TOO_LARGE: &str = "expression too large";

/// Parses an expression; the classes it refers to stand beside.
pub(super) fn parse(expr: &str) -> Parsed<(Node, Vec<Class>)> {
    let flags = Flags::default();
    let frames = vec![Frame::new(flags, false)];
    let mut parser = Parser { whole: expr, flags, frames, classes: Vec::new(), known: Vec::new() };
    parser.all()?;
    let Some(frame) = parser.frames.pop().filter(|_| parser.frames.is_empty()) else {
        return fail("missing closing )", expr);
    };
    let node = frame.close();
    parser.check(&node)?;
    Ok((node, parser.classes))
}

impl<'e> Parser<'e> {
    fn frame(&mut self) -> &mut Frame {
        // The outermost frame is never closed while parsing.
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn push(&mut self, ast: Ast) {
        self.frame().current.push(leaf(ast));
    }

    fn check(&self, node: &Node) -> Parsed<()> {
        if node.size > REGEXP_SIZE_MAX {
            return fail(TOO_LARGE, self.whole);
        }
        if node.height > REGEXP_HEIGHT_MAX {
            return fail("expression nests too deeply", self.whole);
        }
        Ok(())
    }

    fn class(&mut self, ranges: Ranges) {
        let ranges = ranges.clean();
        let known = self.known.iter().position(|known| *known == ranges);
        let at = known.unwrap_or_else(|| {
            self.classes.push(Class::of(&ranges));
            // An expression that has more is none that someone wrote; looking through all would take long.
            if self.known.len() < KNOWN_CLASSES_MAX {
                self.known.push(ranges);
            }
            self.classes.len() - 1
        });
        self.push(Ast::Class(u32::try_from(at).unwrap_or(u32::MAX)));
    }

    fn literal(&mut self, c: u32) {
        if !self.flags.fold {
            return self.push(Ast::Literal(c));
        }
        let mut folded = Ranges::default();
        folded.push_folded(c, c);
        self.class(folded);
    }

    fn all(&mut self) -> Parsed<()> {
        let mut rest = self.whole;
        let mut last_repeat = "";
        while let Some(first) = rest.bytes().next() {
            let mut repeat = "";
            rest = match first {
                b'(' if rest.starts_with("(?") => self.perl_flags(rest)?,
                b'(' => {
                    self.frames.push(Frame::new(self.flags, true));
                    &rest[1..]
                }
                b'|' => {
                    self.frame().close_alternative();
                    &rest[1..]
                }
                b')' => {
                    if self.frames.len() < 2 {
                        return fail("unexpected )", self.whole);
                    }
                    if let Some(frame) = self.frames.pop() {
                        self.flags = frame.flags;
                        let node = frame.close();
                        self.check(&node)?;
                        self.frame().current.push(node);
                    }
                    &rest[1..]
                }
                b'^' => {
                    let multi = self.flags.multi_line;
                    self.push(Ast::Assert(if multi { Assert::BeginLine } else { Assert::BeginText }));
                    &rest[1..]
                }
                b'$' => {
                    let multi = self.flags.multi_line;
                    self.push(Ast::Assert(if multi { Assert::EndLine } else { Assert::EndText }));
                    &rest[1..]
                }
                b'.' => {
                    let newline = self.flags.dot_newline;
                    self.push(if newline { Ast::Any } else { Ast::AnyNotNewline });
                    &rest[1..]
                }
                b'[' => self.bracket(rest)?,
                b'*' | b'+' | b'?' => {
                    let (min, max) = match first {
                        b'*' => (0, None),
                        b'+' => (1, None),
                        _ => (0, Some(1)),
                    };
                    repeat = rest;
                    self.repeat(min, max, false, rest, &rest[1..], last_repeat)?
                }
                b'{' => match repeat_counts(rest) {
                    None => {
                        self.literal(u32::from(b'{'));
                        &rest[1..]
                    }
                    Some((None, after)) => return fail(INVALID_REPEAT_SIZE, before(rest, after)),
                    Some((Some((min, max)), after)) => {
                        repeat = rest;
                        self.repeat(min, max, true, rest, after, last_repeat)?
                    }
                },
                b'\\' => self.escape(rest)?,
                _ => match next(rest) {
                    Some((c, after)) => {
                        self.literal(c);
                        after
                    }
                    None => "",
                },
            };
            last_repeat = repeat;
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        min: u32,
        max: Option<u32>,
        counted: bool,
        at: &'e str,
        after: &'e str,
        last_repeat: &str,
    ) -> Parsed<&'e str> {
        let mut greedy = !self.flags.non_greedy;
        let mut after = after;
        if let Some(rest) = after.strip_prefix('?') {
            after = rest;
            greedy = !greedy;
        }
        if !last_repeat.is_empty() {
            return fail("invalid nested repetition operator", before(last_repeat, after));
        }
        let Some(sub) = self.frame().current.pop() else {
            return fail(MISSING_ARGUMENT, before(at, after));
        };
        let times = max.unwrap_or(min).max(1) as usize;
        let optional = max.map_or(2, |max| (max - min) as usize);
        let node = Node {
            height: sub.height + 1,
            size: sub.size.saturating_mul(times).saturating_add(optional),
            ast: Ast::Repeat { sub: Box::new(sub), min, max, greedy },
        };
        self.check(&node)?;
        if counted
            && (min >= 2 || max.is_some_and(|max| max >= 2))
            && !repeats_within(&node, REGEXP_REPEAT_MAX)
        {
            return fail(INVALID_REPEAT_SIZE, before(at, after));
        }
        self.frame().current.push(node);
        Ok(after)
    }

    fn perl_flags(&mut self, at: &'e str) -> Parsed<&'e str> {
        let name_at = if at.starts_with("(?P<") && at.len() > 4 {
            4
        } else if at.starts_with("(?<") && at.len() > 3 {
            3
        } else {
            return self.flag_group(at);
        };
        let Some(end) = at.find('>') else { return fail("invalid named capture", at) };
        let name = &at[name_at..end];
        if name.is_empty() || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
            return fail("invalid named capture", &at[..=end]);
        }
        self.frames.push(Frame::new(self.flags, true));
        Ok(&at[end + 1..])
    }

    fn flag_group(&mut self, at: &'e str) -> Parsed<&'e str> {
        let mut rest = &at[2..];
        let mut flags = self.flags;
        let (mut on, mut saw) = (true, false);
        while let Some((c, after)) = next(rest) {
            rest = after;
            match char::from_u32(c) {
                Some('i') => flags.fold = on,
                Some('m') => flags.multi_line = on,
                Some('s') => flags.dot_newline = on,
                Some('U') => flags.non_greedy = on,
                Some('-') if on => {
                    on = false;
                    saw = false;
                    continue;
                }
                Some(end @ (':' | ')')) if on || saw => {
                    if end == ':' {
                        self.frames.push(Frame::new(self.flags, false));
                    }
                    self.flags = flags;
                    return Ok(rest);
                }
                _ => break,
            }
            saw = true;
        }
        fail(INVALID_PERL_OP, before(at, rest))
    }

    fn escape(&mut self, at: &'e str) -> Parsed<&'e str> {
        let letter = at.as_bytes().get(1).copied();
        let assert = match letter {
            Some(b'A') => Some(Assert::BeginText),
            Some(b'b') => Some(Assert::WordBoundary),
            Some(b'B') => Some(Assert::NoWordBoundary),
            Some(b'z') => Some(Assert::EndText),
            Some(b'C') => return fail(INVALID_ESCAPE, &at[..2]),
            Some(b'Q') => {
                let (literal, rest) = at[2..].split_once("\\E").unwrap_or((&at[2..], ""));
                literal.chars().for_each(|c| self.literal(u32::from(c)));
                return Ok(rest);
            }
            _ => None,
        };
        if let Some(assert) = assert {
            self.push(Ast::Assert(assert));
            return Ok(&at[2..]);
        }
        let mut ranges = Ranges::default();
        if let Some(rest) = self.class_escape(at, &mut ranges)? {
            self.class(ranges);
            return Ok(rest);
        }
        let (c, rest) = escaped(at)?;
        self.literal(c);
        Ok(rest)
    }

    /// `\p{Han}` or `\d`.
    fn class_escape(&self, at: &'e str, into: &mut Ranges) -> Parsed<Option<&'e str>> {
        let Some(letter) = at.strip_prefix('\\').and_then(|rest| rest.bytes().next()) else {
            return Ok(None);
        };
        if let Some((negated, ranges)) = class::perl(letter) {
            self.group(negated, ranges, into);
            return Ok(Some(&at[2..]));
        }
        if !matches!(letter, b'p' | b'P') {
            return Ok(None);
        }
        let mut negated = letter == b'P';
        let (whole, mut name, rest) = match next(&at[2..]) {
            None => return fail(INVALID_RANGE, at),
            Some((c, _)) if c == u32::from(b'{') => {
                let Some(end) = at.find('}') else { return fail(INVALID_RANGE, at) };
                (&at[..=end], &at[3..end], &at[end + 1..])
            }
            Some((_, rest)) => {
                let whole = before(at, rest);
                (whole, &whole[2..], rest)
            }
        };
        if let Some(stripped) = name.strip_prefix('^') {
            negated = !negated;
            name = stripped;
        }
        let Some(mut ranges) = class::unicode(name) else { return fail(INVALID_RANGE, whole) };
        if self.flags.fold {
            let plain = std::mem::take(&mut ranges);
            plain.0.iter().for_each(|(low, high)| ranges.push_folded(*low, *high));
        }
        into.extend(&if negated { ranges.negated() } else { ranges });
        Ok(Some(rest))
    }

    fn group(&self, negated: bool, ranges: &[(u32, u32)], into: &mut Ranges) {
        let mut group = Ranges::default();
        for (low, high) in ranges {
            if self.flags.fold { group.push_folded(*low, *high) } else { group.push(*low, *high) }
        }
        into.extend(&if negated { group.negated() } else { group });
    }

    fn bracket(&mut self, at: &'e str) -> Parsed<&'e str> {
        let mut rest = &at[1..];
        let negated = rest.starts_with('^');
        if negated {
            rest = &rest[1..];
        }
        let mut ranges = Ranges::default();
        let mut first = true;
        while first || !rest.starts_with(']') {
            first = false;
            if rest.len() > 2
                && let Some(named) = rest.strip_prefix("[:")
                && let Some(end) = named.find(":]")
            {
                let Some((negated, group)) = class::posix(&named[..end]) else {
                    return fail(INVALID_RANGE, &rest[..end + 4]);
                };
                self.group(negated, group, &mut ranges);
                rest = &named[end + 2..];
                continue;
            }
            if let Some(after) = self.class_escape(rest, &mut ranges)? {
                rest = after;
                continue;
            }
            let range = rest;
            let (low, after) = class_char(rest, at)?;
            rest = after;
            let mut high = low;
            if rest.len() >= 2 && rest.starts_with('-') && !rest[1..].starts_with(']') {
                (high, rest) = class_char(&rest[1..], at)?;
                if high < low {
                    return fail(INVALID_RANGE, before(range, rest));
                }
            }
            if self.flags.fold { ranges.push_folded(low, high) } else { ranges.push(low, high) }
        }
        self.class(if negated { ranges.negated() } else { ranges });
        Ok(&rest[1..])
    }
}

/// Whether repetitions within each other make no more than `n` of what is innermost.
fn repeats_within(node: &Node, n: u32) -> bool {
    match &node.ast {
        Ast::Repeat { sub, min, max, .. } => {
            // A star, a plus and a question mark count for nothing.
            let simple = matches!((min, max), (0 | 1, None) | (0, Some(1)));
            let times = max.unwrap_or(*min);
            if simple {
                return repeats_within(sub, n);
            }
            if *max == Some(0) {
                return true;
            }
            times <= n && repeats_within(sub, n.checked_div(times).unwrap_or(n))
        }
        Ast::Group(sub) => repeats_within(sub, n),
        Ast::Concat(subs) | Ast::Alternate(subs) => subs.iter().all(|sub| repeats_within(sub, n)),
        _ => true,
    }
}
