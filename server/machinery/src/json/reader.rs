//! Reads JSON tokens from a text that is valid UTF-8. Says only *that* the syntax is wrong; [`super::syntax`]
//! says how.

use std::borrow::Cow;

use bumpalo::Bump;

use crate::limits::JSON_DEPTH_MAX;

/// The text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type Read<T> = Result<T, Malformed>;

/// A position in a text.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Containers that are open.
    depth: usize,
}

/// The bytes as text, each byte that is not UTF-8 replaced by U+FFFD as Go does in strings. (Outside of strings
/// both are errors.)
pub(crate) fn to_text<'a>(arena: &'a Bump, bytes: &'a [u8]) -> &'a str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => arena.alloc_str(&replace_invalid(bytes)),
    }
}

/// Like `String::from_utf8_lossy`, with one U+FFFD for each wrong byte rather than each wrong sequence.
pub(crate) fn replace_invalid(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(out)
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Reader { text, at: 0, depth: 0 }
    }

    /// A reader that stands right after the opening brace of an object.
    pub(crate) fn inside_object(text: &'a str) -> Self {
        Reader { text, at: 0, depth: 1 }
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The next byte that is not space, not consumed.
    pub(crate) fn peek(&mut self) -> Read<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Malformed)
    }

    /// Nothing but space may follow.
    pub(crate) fn end(&mut self) -> Read<()> {
        if self.peek().is_err() { Ok(()) } else { Err(Malformed) }
    }

    fn open(&mut self) -> Read<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > JSON_DEPTH_MAX { Err(Malformed) } else { Ok(()) }
    }

    /// Consumes `{`.
    pub(crate) fn open_object(&mut self) -> Read<()> {
        self.open()
    }

    /// Consumes `[`.
    pub(crate) fn open_list(&mut self) -> Read<()> {
        self.open()
    }

    /// The next key with its colon, or `None` at the end, which is consumed. `first` right after the brace.
    pub(crate) fn key(&mut self, arena: &'a Bump, first: bool) -> Read<Option<&'a str>> {
        match (self.peek()?, first) {
            (b'}', _) => {
                self.at += 1;
                self.depth -= 1;
                return Ok(None);
            }
            (b',', false) => {
                self.at += 1;
                if self.peek()? != b'"' {
                    return Err(Malformed);
                }
            }
            (b'"', true) => {}
            _ => return Err(Malformed),
        }
        let key = self.string(arena)?;
        if self.peek()? != b':' {
            return Err(Malformed);
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Whether a list has another item; consumes the comma, or the end.
    pub(crate) fn item(&mut self, first: bool) -> Read<bool> {
        match (self.peek()?, first) {
            (b']', _) => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            (b',', false) => {
                self.at += 1;
                Ok(true)
            }
            (_, true) => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// A string; stands at its opening quote.
    pub(crate) fn string(&mut self, arena: &'a Bump) -> Read<&'a str> {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at = plain_end(bytes, start);
        match bytes.get(self.at) {
            Some(b'"') => {
                let text = &self.text[start..self.at];
                self.at += 1;
                Ok(text)
            }
            Some(b'\\') => self.unescape(arena, start),
            _ => Err(Malformed),
        }
    }

    /// The rest of a string that has an escape at the present position.
    fn unescape(&mut self, arena: &'a Bump, start: usize) -> Read<&'a str> {
        let mut out = bumpalo::collections::String::with_capacity_in(self.at - start + 32, arena);
        out.push_str(&self.text[start..self.at]);
        let bytes = self.text.as_bytes();
        loop {
            let from = self.at;
            self.at = plain_end(bytes, from);
            out.push_str(&self.text[from..self.at]);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out.into_bump_str());
                }
                Some(b'\\') => {}
                _ => return Err(Malformed),
            }
            let c = *bytes.get(self.at + 1).ok_or(Malformed)?;
            self.at += 2;
            out.push(match c {
                b'"' => '"',
                b'\\' => '\\',
                b'/' => '/',
                b'b' => '\x08',
                b'f' => '\x0c',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => self.hex_escape()?,
                _ => return Err(Malformed),
            });
        }
    }

    /// The character of `\uXXXX`, after the `u`; a surrogate pair is one, a lone surrogate U+FFFD.
    fn hex_escape(&mut self) -> Read<char> {
        let bytes = self.text.as_bytes();
        let first = hex4(bytes, self.at).ok_or(Malformed)?;
        self.at += 4;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        if first < 0xDC00
            && bytes.get(self.at..self.at + 2) == Some(b"\\u")
            && let Some(second @ 0xDC00..=0xDFFF) = hex4(bytes, self.at + 2)
        {
            self.at += 6;
            return Ok(char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
                .unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    /// A number literal; stands at its first byte.
    pub(crate) fn number(&mut self) -> Read<&'a str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(Malformed),
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Read<()> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(Malformed) } else { Ok(()) }
    }

    /// `true`, `false` or `null`; stands at its first byte.
    pub(crate) fn word(&mut self, word: &str) -> Read<()> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// Skips one value and answers its text.
    pub(crate) fn skip(&mut self) -> Read<&'a str> {
        self.peek()?;
        let start = self.at;
        // The containers opened here, innermost last; true for objects.
        let mut open: Vec<bool> = Vec::new();
        let mut first = false;
        loop {
            if let Some(&object) = open.last() {
                let more = if object { self.skip_key(first)? } else { self.item(first)? };
                if !more {
                    open.pop();
                    first = false;
                    if open.is_empty() {
                        return Ok(&self.text[start..self.at]);
                    }
                    continue;
                }
            }
            first = false;
            match self.peek()? {
                b'{' => {
                    self.open()?;
                    open.push(true);
                    first = true;
                    continue;
                }
                b'[' => {
                    self.open()?;
                    open.push(false);
                    first = true;
                    continue;
                }
                b'"' => self.skip_string()?,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => {
                    self.number()?;
                }
            }
            if open.is_empty() {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    fn skip_key(&mut self, first: bool) -> Read<bool> {
        match (self.peek()?, first) {
            (b'}', _) => {
                self.at += 1;
                self.depth -= 1;
                return Ok(false);
            }
            (b',', false) => {
                self.at += 1;
                if self.peek()? != b'"' {
                    return Err(Malformed);
                }
            }
            (b'"', true) => {}
            _ => return Err(Malformed),
        }
        self.skip_string()?;
        if self.peek()? != b':' {
            return Err(Malformed);
        }
        self.at += 1;
        Ok(true)
    }

    fn skip_string(&mut self) -> Read<()> {
        self.at += 1;
        let bytes = self.text.as_bytes();
        loop {
            self.at = plain_end(bytes, self.at);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => match bytes.get(self.at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                    Some(b'u') if hex4(bytes, self.at + 2).is_some() => self.at += 6,
                    _ => return Err(Malformed),
                },
                _ => return Err(Malformed),
            }
        }
    }
}

/// Where the bytes end, from `at` on, that stand for themselves in a string.
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    // Most strings are short, so eight bytes at a time, as one number.
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let marks = not_plain(u64::from_le_bytes(*block));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += block.len();
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\')) {
        at += 1;
    }
    at
}

/// The top bit of each byte that does not stand for itself in a string. Only the lowest mark is to be believed: it may
/// be carried on to bytes above.
fn not_plain(block: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    // A byte below `least` borrows from its top bit, which bytes of more than ASCII have set from the start.
    let below = |block: u64, least: u8| block.wrapping_sub(ONES * u64::from(least)) & !block & TOPS;
    let is = |byte: u8| below(block ^ (ONES * u64::from(byte)), 1);
    below(block, 0x20) | is(b'"') | is(b'\\')
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |n, &c| Some(n << 4 | (c as char).to_digit(16)?))
}
