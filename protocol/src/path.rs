//! Percent-decoding of request paths and query values.

use std::{borrow::Cow, fmt};

/// A `%` that two hexadecimal digits do not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEscape;

impl fmt::Display for BadEscape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid URL escape")
    }
}

impl std::error::Error for BadEscape {}

/// Decodes `%XX` in a path. Borrows `path` where it has none; otherwise the decoded text is written to
/// `scratch`, whose old content is lost. Bytes that are no UTF-8 become U+FFFD: nothing has such a name.
pub fn decode<'r>(path: &'r str, scratch: &'r mut Vec<u8>) -> Result<&'r str, BadEscape> {
    if memchr::memchr(b'%', path.as_bytes()).is_none() {
        return Ok(path);
    }
    scratch.clear();
    decode_into(path, false, scratch)?;
    if let Cow::Owned(replaced) = String::from_utf8_lossy(scratch) {
        *scratch = replaced.into_bytes();
    }
    std::str::from_utf8(scratch).map_err(|_| BadEscape)
}

/// Appends the decoded bytes of `text`; with `plus`, `+` stands for a space (query strings).
pub(crate) fn decode_into(text: &str, plus: bool, out: &mut Vec<u8>) -> Result<(), BadEscape> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let digit = |i: usize| bytes.get(i).and_then(|b| (*b as char).to_digit(16));
                let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else { return Err(BadEscape) };
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            b'+' if plus => {
                out.push(b' ');
                at += 1;
            }
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: Result<&str, BadEscape>) {
        let mut scratch = b"left over".to_vec();
        assert_eq!(decode(path, &mut scratch), expect, "{path}");
    }

    #[test]
    fn decodes_paths() {
        check("/api/v1/pods", Ok("/api/v1/pods"));
        check("/a%20b", Ok("/a b"));
        check("/a+b", Ok("/a+b"));
        check("/%2e%2E", Ok("/.."));
        check("/%C3%A4", Ok("/ä"));
        check("/%", Err(BadEscape));
        check("/%4", Err(BadEscape));
        check("/%zz", Err(BadEscape));
        check("/%+1", Err(BadEscape));
        check("/%ff/%c3%28", Ok("/\u{fffd}/\u{fffd}("));
    }

    #[test]
    fn borrows_without_escapes() {
        let mut scratch = Vec::new();
        let path = "/api/v1/pods";
        let decoded = decode(path, &mut scratch).expect("no escapes");
        assert!(std::ptr::eq(decoded, path));
        assert_eq!(scratch.capacity(), 0);
    }
}
