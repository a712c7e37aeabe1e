//! `[]byte` in JSON: standard base64, read as leniently as Go's `base64.StdEncoding` does.

use base64::{Engine, engine::general_purpose::STANDARD};
use bumpalo::Bump;

/// The canonical form of a base64 text, or the offset at which Go finds it corrupt.
pub(crate) fn canonical<'a>(arena: &'a Bump, text: &'a str) -> Result<&'a str, usize> {
    if STANDARD.decode(text).is_ok() {
        return Ok(text);
    }
    decode_lenient(text.as_bytes()).map(|bytes| encode(arena, &bytes))
}

/// Decodes a canonical or lenient text.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    STANDARD.decode(text).or_else(|_| decode_lenient(text.as_bytes()))
}

/// Encodes into the arena.
pub(crate) fn encode<'a>(arena: &'a Bump, bytes: &[u8]) -> &'a str {
    arena.alloc_str(&STANDARD.encode(bytes))
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

fn newline(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Line breaks anywhere, and stray bits before the padding, are let through.
fn decode_lenient(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut group = [0u8; 4];
        let mut have = 0;
        let mut padded = false;
        while have < 4 {
            let Some(&byte) = text.get(at) else {
                if have == 0 {
                    return Ok(out);
                }
                return Err(at - have);
            };
            at += 1;
            if let Some(bits) = sextet(byte) {
                group[have] = bits;
                have += 1;
                continue;
            }
            if newline(byte) {
                continue;
            }
            if byte != b'=' || have < 2 {
                return Err(at - 1);
            }
            let skip = |mut at: usize| {
                while text.get(at).is_some_and(|&b| newline(b)) {
                    at += 1;
                }
                at
            };
            if have == 2 {
                at = skip(at);
                match text.get(at) {
                    None => return Err(text.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return Err(at - 1),
                }
            }
            at = skip(at);
            if at < text.len() {
                return Err(at);
            }
            padded = true;
            break;
        }
        let bits = group.iter().fold(0u32, |n, &b| n << 6 | u32::from(b)).to_be_bytes();
        let take = if padded { have - 1 } else { 3 };
        out.extend_from_slice(&bits[1..1 + take]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient() {
        let arena = Bump::new();
        for (text, expect) in [
            ("", Ok("")),
            ("YWJj", Ok("YWJj")),
            ("YW\nJj\r\n", Ok("YWJj")),
            ("YR==", Ok("YQ==")),
            ("YQ=\n=", Ok("YQ==")),
            ("YWI", Err(0)),
            ("YWJjY", Err(4)),
            ("YW J", Err(2)),
            ("Y===", Err(1)),
            ("YQ=", Err(3)),
            ("YQ==x", Err(4)),
            ("YQ=x", Err(2)),
        ] {
            assert_eq!(canonical(&arena, text), expect, "{text:?}");
        }
    }
}
