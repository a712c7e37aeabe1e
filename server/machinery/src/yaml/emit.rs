//! A tree to YAML, laid out as Go's YAML library does: block style, lists not indented under their key, texts plain
//! where they may be, lines broken at blanks past column 80.

use std::cmp::Ordering;

use super::{float, resolve};
use crate::{
    json,
    value::{Map, Value},
};

/// Past this column a blank in a text becomes a line break.
const WIDTH: usize = 80;
const INDENT: usize = 2;
/// Longer keys are written with a question mark.
const SIMPLE_KEY_MAX: usize = 128;

/// Appends a tree as one document.
pub fn encode(value: &Value<'_>, out: &mut Vec<u8>) {
    let mut emitter =
        Emitter { out: String::new(), column: 0, indent: None, whitespace: true, indention: true };
    emitter.node(value, Place::Root);
    emitter.write_indent();
    out.extend_from_slice(emitter.out.as_bytes());
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Item,
    Value,
    Key,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

struct Emitter {
    out: String,
    /// In characters.
    column: usize,
    /// None before the first collection.
    indent: Option<usize>,
    /// The last character was a blank.
    whitespace: bool,
    /// Only indentation stands on this line.
    indention: bool,
}

impl Emitter {
    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, need_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    /// Indentation within the node that begins here.
    fn deeper(&self, indentless: bool) -> Option<usize> {
        match self.indent {
            None => Some(0),
            Some(indent) if indentless => Some(indent),
            Some(indent) => Some(indent + INDENT),
        }
    }

    fn node(&mut self, value: &Value<'_>, place: Place) {
        match value {
            Value::Null => self.scalar("null", place, true),
            Value::Bool(b) => self.scalar(if *b { "true" } else { "false" }, place, true),
            Value::Int(n) => self.scalar(&n.to_string(), place, true),
            Value::Float(f) => self.float(*f, place),
            Value::String(s) => self.scalar(s, place, resolve::stays_text(s)),
            Value::List(list) if list.is_empty() => self.empty("[", "]"),
            Value::Map(map) if map.is_empty() => self.empty("{", "}"),
            Value::List(list) => {
                let outer = self.indent;
                self.indent = self.deeper(place == Place::Value && !self.indention);
                for item in list {
                    self.write_indent();
                    self.indicator("-", true, false, true);
                    self.node(item, Place::Item);
                }
                self.indent = outer;
            }
            Value::Map(map) => self.map(map),
            Value::Raw(text) => {
                let arena = bumpalo::Bump::new();
                match json::decode_untyped(&arena, text.as_bytes()) {
                    Ok(value) => self.node(&value, place),
                    // What is no JSON came from no decoder of ours; it is shown as the text that it is.
                    Err(_) => self.scalar(text, place, resolve::stays_text(text)),
                }
            }
        }
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    /// The library sees the JSON text of a float: a whole one is an integer to it.
    fn float(&mut self, f: f64, place: Place) {
        let mut text = Vec::new();
        json::quote::write_float(&mut text, f);
        let text = String::from_utf8_lossy(&text).into_owned();
        let text =
            if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() { text } else { float::double(f) };
        self.scalar(if text == "-0" { "0" } else { &text }, place, true);
    }

    fn map(&mut self, map: &Map<'_>) {
        let outer = self.indent;
        self.indent = self.deeper(false);
        for (key, value) in sort(map.iter().collect()) {
            self.write_indent();
            let simple = key.len() <= SIMPLE_KEY_MAX && !key.contains(is_break);
            let plain = resolve::stays_text(key);
            if simple {
                self.scalar(key, Place::Key, plain);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.scalar(key, Place::Value, plain);
                self.write_indent();
                self.indicator(":", true, false, true);
            }
            self.node(value, Place::Value);
        }
        self.indent = outer;
    }

    fn scalar(&mut self, text: &str, place: Place, can_be_plain: bool) {
        let key = place == Place::Key;
        let facts = Facts::of(text);
        let mut style = if text.contains('\n') {
            Style::Literal
        } else if can_be_plain {
            Style::Plain
        } else {
            Style::Double
        };
        if key && facts.multiline {
            style = Style::Double;
        }
        if style == Style::Plain && (!facts.plain || text.is_empty() && key) {
            style = Style::Single;
        }
        if style == Style::Single && !facts.single {
            style = Style::Double;
        }
        if style == Style::Literal && (!facts.block || key) {
            style = Style::Double;
        }
        let outer = self.indent;
        self.indent = Some(self.indent.map_or(INDENT, |indent| indent + INDENT));
        match style {
            Style::Plain => self.plain(text, !key),
            Style::Single => self.single(text, !key),
            Style::Double => self.double(text, !key),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, allow_breaks: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.folded(text, allow_breaks, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn single(&mut self, text: &str, allow_breaks: bool) {
        self.indicator("'", true, false, false);
        self.folded(text, allow_breaks, true);
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// The body of a plain or single-quoted text. Line breaks in one are doubled, so that they are read back.
    fn folded(&mut self, text: &str, allow_breaks: bool, quoted: bool) {
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            if c == ' ' {
                let inside = !quoted || at > 0 && next.is_some();
                if allow_breaks && !spaces && self.column > WIDTH && inside && next != Some(' ') {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.line_break();
                }
                self.write_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if quoted && c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
        }
    }

    fn write_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn double(&mut self, text: &str, allow_breaks: bool) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let all = text.starts_with('\u{feff}');
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            if all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.escape(c);
                spaces = false;
            } else if c == ' ' {
                if allow_breaks && !spaces && self.column > WIDTH && at > 0 && next.is_some() {
                    self.write_indent();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, c: char) {
        let text = match c {
            '\0' => "\\0".to_owned(),
            '\x07' => "\\a".to_owned(),
            '\x08' => "\\b".to_owned(),
            '\t' => "\\t".to_owned(),
            '\n' => "\\n".to_owned(),
            '\x0b' => "\\v".to_owned(),
            '\x0c' => "\\f".to_owned(),
            '\r' => "\\r".to_owned(),
            '\x1b' => "\\e".to_owned(),
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\u{85}' => "\\N".to_owned(),
            '\u{a0}' => "\\_".to_owned(),
            '\u{2028}' => "\\L".to_owned(),
            '\u{2029}' => "\\P".to_owned(),
            c if (c as u32) <= 0xff => format!("\\x{:02X}", c as u32),
            c if (c as u32) <= 0xffff => format!("\\u{:04X}", c as u32),
            c => format!("\\U{:08X}", c as u32),
        };
        text.chars().for_each(|c| self.put(c));
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator("2", false, false, false);
        }
        let mut last = text.chars().rev();
        match (last.next(), last.next()) {
            (Some(c), _) if !is_break(c) => self.indicator("-", false, false, false),
            (Some(_), None) => self.indicator("+", false, false, false),
            (Some(_), Some(c)) if is_break(c) => self.indicator("+", false, false, false),
            _ => {}
        }
        self.line_break();
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.write_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                self.put(c);
                self.indention = false;
                breaks = false;
            }
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// As the library has it: no tab, and nothing beyond the basic plane.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='\x7e' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// What a text allows.
struct Facts {
    multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

impl Facts {
    fn of(text: &str) -> Facts {
        if text.is_empty() {
            return Facts { multiline: false, plain: true, single: true, block: false };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut multiline, mut special) = (false, false);
        let (mut break_space, mut space_break) = (false, false);
        let mut before: Option<char> = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let blank_follows = chars.peek().is_none_or(|c| matches!(c, ' ' | '\t'));
            let blank_before = before.is_none_or(|c| matches!(c, ' ' | '\t' | '\0') || is_break(c));
            indicators |= match (before, c) {
                (
                    None,
                    '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                    | '`',
                ) => true,
                (None, '?' | '-') | (_, ':') => blank_follows,
                (Some(_), '#') => blank_before,
                _ => false,
            };
            special |= !is_printable(c);
            if c == ' ' {
                break_space |= before.is_some_and(is_break);
            } else if is_break(c) {
                multiline = true;
                space_break |= before == Some(' ');
            }
            before = Some(c);
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let edges = edge(text.chars().next()) || edge(before);
        Facts {
            multiline,
            plain: !(edges || break_space || space_break || special || multiline || indicators),
            single: !(break_space || space_break || special),
            block: !(before == Some(' ') || space_break || special),
        }
    }
}

/// Merge sort. The order below is not transitive for odd keys, and the sort of the standard library may panic then.
fn sort<T: Copy>(mut entries: Vec<(&str, T)>) -> Vec<(&str, T)> {
    if entries.len() < 2 {
        return entries;
    }
    let right = sort(entries.split_off(entries.len() / 2));
    let left = sort(entries);
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let take_right = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => natural_order(b.0, a.0) == Ordering::Less,
            (None, None) => return out,
            (left, _) => left.is_none(),
        };
        out.extend(if take_right { right.next() } else { left.next() });
    }
}

/// Keys in the library's order: runs of digits by number, other characters before letters.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(i) = a.iter().zip(&b).position(|(x, y)| x != y) else { return a.len().cmp(&b.len()) };
    match (a[i].is_alphabetic(), b[i].is_alphabetic()) {
        (true, true) => return a[i].cmp(&b[i]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero inside a number counts as a digit of it.
    let zero = a[i] == '0' || b[i] == '0';
    let digits = a[..i].iter().rev().take_while(|c| c.is_numeric());
    let start = if zero { i64::from(digits.into_iter().any(|c| *c != '0')) } else { 0 };
    let number = |chars: &[char]| {
        let run = chars[i..].iter().take_while(|c| c.is_numeric());
        let (n, length) = run.fold((start, 0), |(n, length), c| {
            (n.wrapping_mul(10i64).wrapping_add(i64::from(*c as u32) - 48), length + 1)
        });
        (n, length)
    };
    let ((an, al), (bn, bl)) = (number(&a), number(&b));
    an.cmp(&bn).then(al.cmp(&bl)).then(a[i].cmp(&b[i]))
}
