//! Base64 as formats have it.

/// Bytes of a text in the URL alphabet with padding, line breaks ignored; `Err` says which byte is none of it.
pub(crate) fn decode_url_base64(text: &str) -> Result<Vec<u8>, usize> {
    decode(text, b'-', b'_')
}

/// Whether a text is base64 in the standard alphabet, as the format `byte` is validated.
pub(crate) fn is_base64(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\r', '\n']) && decode(text, b'+', b'/').is_ok()
}

fn decode(text: &str, char62: u8, char63: u8) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut held, mut padding) = (0u32, 0, 0);
    for (at, b) in text.bytes().enumerate() {
        let sextet = match b {
            b'\r' | b'\n' => continue,
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b if b == char62 => 62,
            b if b == char63 => 63,
            b'=' if held + padding >= 2 && held < 4 => {
                padding += 1;
                if held + padding == 4 {
                    let bytes = (group << (6 * padding)).to_be_bytes();
                    out.extend_from_slice(&bytes[1..4 - padding]);
                    (group, held) = (0, 4);
                }
                continue;
            }
            _ => return Err(at),
        };
        if padding > 0 {
            return Err(at);
        }
        group = group << 6 | u32::from(sextet);
        held += 1;
        if held == 4 {
            out.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, held) = (0, 0);
        }
    }
    if held == 0 || padding > 0 && held == 4 { Ok(out) } else { Err(text.len()) }
}

/// Base64 in the standard alphabet with padding.
pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let sextet = (group >> (18 - 6 * at)) as usize & 63;
            out.push(if at <= chunk.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    out
}
