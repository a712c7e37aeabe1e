//! Go's JSON scanner: whether a text is JSON, and in Go's words why not. Runs only where decoding failed, so it
//! may be slow; the decoders accept exactly what it accepts.

use super::quote::push_go_char;
use crate::limits::JSON_DEPTH_MAX;

/// A syntax error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Go's text (`invalid character 'x' looking for beginning of value`).
    pub message: String,
    /// Bytes read when it was found.
    pub offset: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    BeginValue,
    BeginValueOrEmpty,
    BeginString,
    BeginStringOrEmpty,
    EndValue,
    EndTop,
    InString,
    Escape,
    Hex(u8),
    Negative,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    Literal(&'static str, usize),
}

#[derive(Clone, Copy)]
enum Inside {
    Key,
    Member,
    Array,
}

struct Scanner {
    state: State,
    stack: Vec<Inside>,
}

/// `Err` with the first error of `text`.
pub fn check(text: &[u8]) -> Result<(), SyntaxError> {
    let mut scanner = Scanner { state: State::BeginValue, stack: Vec::new() };
    for (i, &byte) in text.iter().enumerate() {
        scanner
            .step(byte)
            .map_err(|context| SyntaxError { message: describe(byte, context), offset: i + 1 })?;
    }
    if scanner.state != State::EndTop {
        // One space ends a number at top level.
        let ended = scanner.step(b' ').is_ok() && scanner.state == State::EndTop;
        if !ended {
            return Err(SyntaxError { message: "unexpected end of JSON input".into(), offset: text.len() });
        }
    }
    Ok(())
}

fn describe(byte: u8, context: &str) -> String {
    let mut out = String::from("invalid character '");
    push_go_char(&mut out, byte as char, '\'');
    out.push_str("' ");
    out.push_str(context);
    out
}

type Step = Result<(), &'static str>;

impl Scanner {
    fn push(&mut self, inside: Inside, state: State) -> Step {
        self.stack.push(inside);
        self.state = state;
        if self.stack.len() > JSON_DEPTH_MAX { Err("exceeded max depth") } else { Ok(()) }
    }

    fn pop(&mut self) {
        self.stack.pop();
        self.state = if self.stack.is_empty() { State::EndTop } else { State::EndValue };
    }

    fn go(&mut self, state: State) -> Step {
        self.state = state;
        Ok(())
    }

    fn step(&mut self, c: u8) -> Step {
        let space = matches!(c, b' ' | b'\t' | b'\r' | b'\n');
        match self.state {
            State::BeginValueOrEmpty if c == b']' => self.end_value(c),
            State::BeginValue | State::BeginValueOrEmpty if space => Ok(()),
            State::BeginValue | State::BeginValueOrEmpty => match c {
                b'{' => self.push(Inside::Key, State::BeginStringOrEmpty),
                b'[' => self.push(Inside::Array, State::BeginValueOrEmpty),
                b'"' => self.go(State::InString),
                b'-' => self.go(State::Negative),
                b'0' => self.go(State::Zero),
                b'1'..=b'9' => self.go(State::Digits),
                b't' => self.go(State::Literal("true", 1)),
                b'f' => self.go(State::Literal("false", 1)),
                b'n' => self.go(State::Literal("null", 1)),
                _ => Err("looking for beginning of value"),
            },
            State::BeginString | State::BeginStringOrEmpty if space => Ok(()),
            State::BeginStringOrEmpty if c == b'}' => {
                if let Some(top) = self.stack.last_mut() {
                    *top = Inside::Member;
                }
                self.end_value(c)
            }
            State::BeginString | State::BeginStringOrEmpty => match c {
                b'"' => self.go(State::InString),
                _ => Err("looking for beginning of object key string"),
            },
            State::EndValue => self.end_value(c),
            State::EndTop if space => Ok(()),
            State::EndTop => Err("after top-level value"),
            State::InString => match c {
                b'"' => self.go(State::EndValue),
                b'\\' => self.go(State::Escape),
                0..0x20 => Err("in string literal"),
                _ => Ok(()),
            },
            State::Escape => match c {
                b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.go(State::InString),
                b'u' => self.go(State::Hex(0)),
                _ => Err("in string escape code"),
            },
            State::Hex(n) => match c {
                _ if !c.is_ascii_hexdigit() => Err("in \\u hexadecimal character escape"),
                _ if n == 3 => self.go(State::InString),
                _ => self.go(State::Hex(n + 1)),
            },
            State::Negative => match c {
                b'0' => self.go(State::Zero),
                b'1'..=b'9' => self.go(State::Digits),
                _ => Err("in numeric literal"),
            },
            State::Digits if c.is_ascii_digit() => Ok(()),
            State::Digits | State::Zero => match c {
                b'.' => self.go(State::Point),
                b'e' | b'E' => self.go(State::Exponent),
                _ => self.end_value(c),
            },
            State::Point => match c {
                b'0'..=b'9' => self.go(State::Fraction),
                _ => Err("after decimal point in numeric literal"),
            },
            State::Fraction => match c {
                b'0'..=b'9' => Ok(()),
                b'e' | b'E' => self.go(State::Exponent),
                _ => self.end_value(c),
            },
            State::Exponent if matches!(c, b'+' | b'-') => self.go(State::ExponentSign),
            State::Exponent | State::ExponentSign => match c {
                b'0'..=b'9' => self.go(State::ExponentDigits),
                _ => Err("in exponent of numeric literal"),
            },
            State::ExponentDigits if c.is_ascii_digit() => Ok(()),
            State::ExponentDigits => self.end_value(c),
            State::Literal(word, at) => {
                if word.as_bytes()[at] != c {
                    return Err(literal_context(word, at));
                }
                self.go(if at + 1 == word.len() { State::EndValue } else { State::Literal(word, at + 1) })
            }
        }
    }

    fn end_value(&mut self, c: u8) -> Step {
        let Some(top) = self.stack.last_mut() else {
            self.state = State::EndTop;
            return self.step(c);
        };
        if matches!(c, b' ' | b'\t' | b'\r' | b'\n') {
            self.state = State::EndValue;
            return Ok(());
        }
        match (*top, c) {
            (Inside::Key, b':') => {
                *top = Inside::Member;
                self.go(State::BeginValue)
            }
            (Inside::Key, _) => Err("after object key"),
            (Inside::Member, b',') => {
                *top = Inside::Key;
                self.go(State::BeginString)
            }
            (Inside::Array, b',') => self.go(State::BeginValue),
            (Inside::Member, b'}') | (Inside::Array, b']') => {
                self.pop();
                Ok(())
            }
            (Inside::Member, _) => Err("after object key:value pair"),
            (Inside::Array, _) => Err("after array element"),
        }
    }
}

fn literal_context(word: &str, at: usize) -> &'static str {
    match (word, at) {
        ("true", 1) => "in literal true (expecting 'r')",
        ("true", 2) => "in literal true (expecting 'u')",
        ("true", _) => "in literal true (expecting 'e')",
        ("false", 1) => "in literal false (expecting 'a')",
        ("false", 2) => "in literal false (expecting 'l')",
        ("false", 3) => "in literal false (expecting 's')",
        ("false", _) => "in literal false (expecting 'e')",
        ("null", 1) => "in literal null (expecting 'u')",
        _ => "in literal null (expecting 'l')",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        check(text.as_bytes()).map_or_else(|e| e.message, |()| "ok".into())
    }

    #[test]
    fn texts() {
        for (text, expect) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("tru", "unexpected end of JSON input"),
            ("1", "ok"),
            (" -0.5e+3 ", "ok"),
            ("-", "unexpected end of JSON input"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("01", "invalid character '1' after top-level value"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
            ("'", "invalid character '\\'' looking for beginning of value"),
            ("\u{e9}", "invalid character 'Ã' looking for beginning of value"),
        ] {
            assert_eq!(error(text), expect, "{text:?}");
        }
        let deep = "[".repeat(10_001);
        assert_eq!(error(&deep), "invalid character '[' exceeded max depth");
        assert_eq!(error(&"[".repeat(10_000)), "unexpected end of JSON input");
    }
}
