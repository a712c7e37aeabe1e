//! Base64 as Go's JSON decoder takes it.

use base64::{Engine as _, prelude::BASE64_STANDARD};

/// What a text stands for.
///
/// # Errors
/// Where it is none, in Go's words.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, String> {
    let plain: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    BASE64_STANDARD.decode(&plain).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            base64::DecodeError::InvalidLength(at) => at - at % 4,
            base64::DecodeError::InvalidPadding => plain.len(),
        };
        format!("illegal base64 data at input byte {at}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let check = |text: &str, expect: Result<&[u8], &str>| {
            assert_eq!(decode(text), expect.map(<[u8]>::to_vec).map_err(str::to_owned), "{text}");
        };
        check("", Ok(b""));
        check("W10=", Ok(b"[]"));
        check("W1\n0=\r\n", Ok(b"[]"));
        check("W!0=", Err("illegal base64 data at input byte 1"));
        check("W10", Err("illegal base64 data at input byte 3"));
    }
}
