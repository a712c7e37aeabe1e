//! Reads JSON tokens from a text that is valid UTF-8. Says only *that* the syntax is wrong; [`super::syntax`]
//! says how.

use std::borrow::Cow;

use bumpalo::Bump;

use crate::{limits::JSON_DEPTH_MAX, schema::Head};

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

    /// The position in the text.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Passes over a value of so many bytes that is known.
    pub(crate) fn pass(&mut self, len: usize) {
        self.at += len;
    }

    /// The next byte that is not space, not consumed.
    #[inline]
    pub(crate) fn peek(&mut self) -> Read<u8> {
        match self.text.as_bytes().get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => self.peek_behind_space(),
        }
    }

    fn peek_behind_space(&mut self) -> Read<u8> {
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
    #[inline]
    pub(crate) fn key(&mut self, arena: &'a Bump, first: bool) -> Read<Option<&'a str>> {
        if !self.is_at_key(first)? {
            return Ok(None);
        }
        let key = self.string(arena)?;
        self.colon()?;
        Ok(Some(key))
    }

    /// The same with the key's head.
    #[inline]
    pub(crate) fn name(&mut self, arena: &'a Bump, first: bool) -> Read<Option<(&'a str, Head)>> {
        if !self.is_at_key(first)? {
            return Ok(None);
        }
        let block = self.text.as_bytes().get(self.at + 1..).and_then(|rest| rest.first_chunk::<8>());
        let name = self.string(arena)?;
        let head = match block {
            // It stands in the text, unless it had escapes.
            Some(block) if std::ptr::eq(block.as_ptr(), name.as_ptr()) => {
                Head::of_block(u64::from_le_bytes(*block), name)
            }
            _ => Head::of(name),
        };
        self.colon()?;
        Ok(Some((name, head)))
    }

    /// Whether an object has another key, which is next then; consumes the comma, or the end.
    #[inline]
    fn is_at_key(&mut self, first: bool) -> Read<bool> {
        match (self.peek()?, first) {
            (b'}', _) => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            (b',', false) => {
                self.at += 1;
                if self.peek()? == b'"' { Ok(true) } else { Err(Malformed) }
            }
            (b'"', true) => Ok(true),
            _ => Err(Malformed),
        }
    }

    #[inline]
    fn colon(&mut self) -> Read<()> {
        if self.peek()? != b':' {
            return Err(Malformed);
        }
        self.at += 1;
        Ok(())
    }

    /// Whether a list has another item; consumes the comma, or the end.
    #[inline]
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
    #[inline]
    pub(crate) fn string(&mut self, arena: &'a Bump) -> Read<&'a str> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut from = start;
        // Half of all are this short: names of fields for the most part.
        if let Some(block) = bytes.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
            let marks = not_plain(u64::from_le_bytes(*block));
            if marks == 0 {
                from += block.len();
            } else {
                let end = start + marks.trailing_zeros() as usize / 8;
                if bytes.get(end) == Some(&b'"') {
                    self.at = end + 1;
                    return self.text.get(start..end).ok_or(Malformed);
                }
            }
        }
        self.longer_string(arena, start, from)
    }

    /// A string whose content begins at `start` and is plain up to `from`.
    #[inline(never)]
    fn longer_string(&mut self, arena: &'a Bump, start: usize, from: usize) -> Read<&'a str> {
        let bytes = self.text.as_bytes();
        self.at = plain_end(bytes, from);
        match bytes.get(self.at) {
            Some(b'"') => {
                let text = self.text.get(start..self.at).ok_or(Malformed)?;
                self.at += 1;
                Ok(text)
            }
            Some(b'\\') => self.unescape(arena, start),
            _ => Err(Malformed),
        }
    }

    /// The rest of a string that has an escape at the present position.
    #[inline(never)]
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

    /// Skips one value of a text that is known to be JSON, and answers its text: of what stands in it only strings and
    /// brackets are looked at.
    pub(crate) fn skip_trusted(&mut self) -> Read<&'a str> {
        if !matches!(self.peek()?, b'{' | b'[') {
            return self.skip();
        }
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let (mut at, mut depth) = (start, 0usize);
        loop {
            match bytes.get(at) {
                Some(b'"') => at = end_of_string(bytes, at + 1).ok_or(Malformed)?,
                Some(b'{' | b'[') => {
                    at += 1;
                    depth += 1;
                }
                Some(b'}' | b']') => {
                    at += 1;
                    depth -= 1;
                    if depth == 0 {
                        self.at = at;
                        return self.text.get(start..at).ok_or(Malformed);
                    }
                }
                Some(_) => at += 1,
                None => return Err(Malformed),
            }
        }
    }

    fn skip_key(&mut self, first: bool) -> Read<bool> {
        if !self.is_at_key(first)? {
            return Ok(false);
        }
        self.skip_string()?;
        self.colon()?;
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

/// Where a string ends, its quote included, whose content begins at `at`, of a text that is known to be JSON.
#[inline]
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let marks = match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(block) => not_plain(u64::from_le_bytes(*block)),
            // The last few bytes of the text.
            None => 1 << 7,
        };
        if marks == 0 {
            at += 8;
            continue;
        }
        at += marks.trailing_zeros() as usize / 8;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the bytes end, from `at` on, that stand for themselves in a string.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    // Most strings are short, so eight bytes at a time, as one number.
    let (blocks, rest) = bytes.get(at..).unwrap_or_default().as_chunks::<8>();
    for (block, number) in blocks.iter().zip(0..) {
        let marks = not_plain(u64::from_le_bytes(*block));
        if marks != 0 {
            return at + 8 * number + marks.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\')).count();
    at + 8 * blocks.len() + plain
}

/// The top bit of each byte that does not stand for itself in a string. Only the lowest mark is to be believed: it may
/// be carried on to bytes above.
#[inline]
fn not_plain(block: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    // A byte borrows from its top bit where it is below what is taken away, and bytes of more than ASCII have that bit
    // from the start, whatever they are compared with.
    let control = block.wrapping_sub(ONES * 0x20);
    let quote = (block ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (block ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (control | quote | backslash) & !block & TOPS
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |n, &c| Some(n << 4 | (c as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_trusted_is_skipped_as_all_else() {
        for value in [
            r#"{}"#,
            r#"[]"#,
            r#"7"#,
            r#""text \" of }""#,
            r#"{"f:a":{".":{},"k:{\"name\":\"x}\"}":{".":{}}},"f:\\":[1,"é]",null,"]"]}"#,
            "{\"a string longer than two blocks, é\\\\\":\"\",\"b\":{\"\\u00e9\\n\":{}}}",
            "{ \"a\" : [ { } , [ ] ] }",
        ] {
            for tail in ["", "}", ",\"more of the text\":{}}"] {
                let text = format!("{value}{tail}");
                let (mut reader, mut trusted) = (Reader::new(&text), Reader::new(&text));
                assert_eq!(trusted.skip_trusted(), Ok(value), "{text}");
                assert_eq!(reader.skip(), Ok(value), "{text}");
                assert_eq!(trusted.at(), reader.at(), "{text}");
            }
            if value.len() > 1 {
                let cut = &value[..value.len() - 1];
                assert_eq!(Reader::new(cut).skip_trusted(), Err(Malformed), "{cut}");
            }
        }
    }
}
