//! Tokens of an expression: the longest that fits, as the grammar's lexer takes them.

/// Kinds of tokens, in the grammar's order: errors list what they expected in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tok {
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    LogicalAnd,
    LogicalOr,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LParen,
    RParen,
    Dot,
    Comma,
    Minus,
    Exclam,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    EscIdent,
    Eof,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Tok,
    /// Bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Code points before it.
    pub(crate) offset: u32,
}

/// Text that begins no token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unrecognized {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) offset: u32,
}

/// All tokens, the end among them, and what was skipped because it is none.
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Vec<Unrecognized>) {
    let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
    let mut errors = Vec::new();
    let (mut at, mut offset) = (0, 0u32);
    while at < text.len() {
        let rest = &text[at..];
        let (len, found) = next(rest);
        match found {
            Found::Token(kind) => tokens.push(Token { kind, start: at, end: at + len, offset }),
            Found::Hidden => {}
            Found::Nothing => errors.push(Unrecognized { start: at, end: at + len, offset }),
        }
        offset += rest[..len].chars().count() as u32;
        at += len;
    }
    tokens.push(Token { kind: Tok::Eof, start: at, end: at, offset });
    (tokens, errors)
}

enum Found {
    Token(Tok),
    Hidden,
    Nothing,
}

fn next(rest: &str) -> (usize, Found) {
    let bytes = rest.as_bytes();
    let second = bytes.get(1).copied().unwrap_or(0);
    let one = |kind| (1, Found::Token(kind));
    let two = |kind| (2, Found::Token(kind));
    match bytes[0] {
        b' ' | b'\t' | b'\r' | b'\n' | 0x0c => {
            let len = bytes.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0c)).count();
            (len, Found::Hidden)
        }
        b'/' if second == b'/' => (rest.find('\n').unwrap_or(rest.len()), Found::Hidden),
        b'=' if second == b'=' => two(Tok::Equals),
        b'!' if second == b'=' => two(Tok::NotEquals),
        b'<' if second == b'=' => two(Tok::LessEquals),
        b'>' if second == b'=' => two(Tok::GreaterEquals),
        b'&' if second == b'&' => two(Tok::LogicalAnd),
        b'|' if second == b'|' => two(Tok::LogicalOr),
        b'<' => one(Tok::Less),
        b'>' => one(Tok::Greater),
        b'[' => one(Tok::LBracket),
        b']' => one(Tok::RBracket),
        b'{' => one(Tok::LBrace),
        b'}' => one(Tok::RBrace),
        b'(' => one(Tok::LParen),
        b')' => one(Tok::RParen),
        b'.' if second.is_ascii_digit() => number(bytes),
        b'.' => one(Tok::Dot),
        b',' => one(Tok::Comma),
        b'-' => one(Tok::Minus),
        b'!' => one(Tok::Exclam),
        b'?' => one(Tok::Question),
        b':' => one(Tok::Colon),
        b'+' => one(Tok::Plus),
        b'*' => one(Tok::Star),
        b'/' => one(Tok::Slash),
        b'%' => one(Tok::Percent),
        b'0'..=b'9' => number(bytes),
        b'"' | b'\'' => quoted(rest, 0, Tok::String),
        b'`' => escaped_ident(bytes),
        b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
            if let Some(found) = prefixed_string(rest) {
                return found;
            }
            let len = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            let kind = match &rest[..len] {
                "in" => Tok::In,
                "true" => Tok::True,
                "false" => Tok::False,
                "null" => Tok::Null,
                _ => Tok::Ident,
            };
            (len, Found::Token(kind))
        }
        // What began like a token is named with what spoilt it.
        b'=' | b'&' | b'|' => {
            let len = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
            (len, Found::Nothing)
        }
        _ => (rest.chars().next().map_or(1, char::len_utf8), Found::Nothing),
    }
}

fn digits(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count()
}

fn number(bytes: &[u8]) -> (usize, Found) {
    if bytes[0] == b'0' && bytes.get(1) == Some(&b'x') {
        let hex = bytes[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if hex > 0 {
            return with_suffix(bytes, 2 + hex);
        }
    }
    let whole = digits(bytes, 0);
    let mut len = whole;
    let mut float = false;
    if bytes.get(len) == Some(&b'.') {
        let fraction = digits(bytes, len + 1);
        if fraction > 0 {
            len += 1 + fraction;
            float = true;
        }
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(len + 1 + sign..).map_or(0, |_| digits(bytes, len + 1 + sign));
        if exponent > 0 {
            return (len + 1 + sign + exponent, Found::Token(Tok::Float));
        }
    }
    if float { (len, Found::Token(Tok::Float)) } else { with_suffix(bytes, len) }
}

fn with_suffix(bytes: &[u8], len: usize) -> (usize, Found) {
    match bytes.get(len) {
        Some(b'u' | b'U') => (len + 1, Found::Token(Tok::Uint)),
        _ => (len, Found::Token(Tok::Int)),
    }
}

fn escaped_ident(bytes: &[u8]) -> (usize, Found) {
    let inner = bytes[1..]
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b' '))
        .count();
    match (inner, bytes.get(1 + inner)) {
        (1.., Some(b'`')) => (inner + 2, Found::Token(Tok::EscIdent)),
        (_, spoiler) => (1 + inner + usize::from(spoiler.is_some_and(u8::is_ascii)), Found::Nothing),
    }
}

/// `r'…'`, `b"…"`, `bR'''…'''`.
fn prefixed_string(rest: &str) -> Option<(usize, Found)> {
    let bytes = rest.as_bytes();
    let mut len = 0;
    let mut kind = Tok::String;
    if matches!(bytes[0], b'b' | b'B') {
        kind = Tok::Bytes;
        len = 1;
    }
    let raw = matches!(bytes.get(len), Some(b'r' | b'R'));
    let quote_at = len + usize::from(raw);
    if quote_at == 0 || !matches!(bytes.get(quote_at), Some(b'"' | b'\'')) {
        return None;
    }
    match string_end(rest, quote_at, raw) {
        Ok(end) => Some((end, Found::Token(kind))),
        // Without its end it is an identifier with a stray quote behind it.
        Err(_) => None,
    }
}

fn quoted(rest: &str, at: usize, kind: Tok) -> (usize, Found) {
    match string_end(rest, at, false) {
        Ok(end) => (end, Found::Token(kind)),
        Err(stopped) => (stopped, Found::Nothing),
    }
}

/// Where the string whose quote is at `at` ends; `Err` says how far it went.
fn string_end(rest: &str, at: usize, raw: bool) -> Result<usize, usize> {
    let bytes = rest.as_bytes();
    let quote = bytes[at];
    let triple = bytes[at..].starts_with(&[quote; 3]);
    if triple && let Some(end) = triple_end(bytes, at + 3, quote, raw) {
        return Ok(end);
    }
    let mut i = at + 1;
    while let Some(b) = bytes.get(i) {
        match b {
            b'\n' | b'\r' => return Err(i + 1),
            b if *b == quote => return Ok(i + 1),
            b'\\' if !raw => match escape(&bytes[i..]) {
                Some(len) => i += len,
                None => {
                    let spoiler = rest[i + 1..].chars().next().map_or(0, char::len_utf8);
                    return Err(i + 1 + spoiler);
                }
            },
            _ => i += rest[i..].chars().next().map_or(1, char::len_utf8),
        }
    }
    Err(rest.len())
}

fn triple_end(bytes: &[u8], mut i: usize, quote: u8, raw: bool) -> Option<usize> {
    while i < bytes.len() {
        if bytes[i..].starts_with(&[quote; 3]) {
            return Some(i + 3);
        }
        i += if bytes[i] == b'\\' && !raw { escape(&bytes[i..])? } else { 1 };
    }
    None
}

/// Length of the escape at a backslash, where it is one.
fn escape(bytes: &[u8]) -> Option<usize> {
    let hex = |n: usize| {
        let digits = bytes.get(2..2 + n)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(2 + n)
    };
    match bytes.get(1)? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(2),
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => bytes.get(2..4)?.iter().all(|b| (b'0'..=b'7').contains(b)).then_some(4),
        _ => None,
    }
}
