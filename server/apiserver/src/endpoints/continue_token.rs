//! Continue tokens of paged lists: base64url of `{"v":"meta.k8s.io/v1","rv":N,"start":"KEY\u0000"}`, as
//! kube-apiserver makes them. The key is relative to the list's prefix.

use base64::{
    Engine,
    alphabet::URL_SAFE,
    engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD},
};
use bumpalo::Bump;
use ringbolt_machinery::json;

const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// Where a list goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// Revision of the first page; negative for "the newest", from an inconsistent token.
    pub(crate) revision: i64,
    /// The key to start at, relative to the prefix.
    pub(crate) start: String,
}

/// Makes the token for a list that stopped after `last` (a key relative to the prefix).
pub(crate) fn encode(revision: i64, last: &str) -> String {
    let mut text = format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{revision},\"start\":");
    let mut quoted = Vec::new();
    json::quote::write_string(&mut quoted, &format!("{last}\0"));
    text.push_str(&String::from_utf8_lossy(&quoted));
    text.push('}');
    URL_SAFE_NO_PAD.encode(text)
}

/// Reads a token; the error is what follows `continue key is not valid: `.
pub(crate) fn decode(token: &str) -> Result<ContinueToken, String> {
    let bytes = decode_base64(token)?;
    let arena = Bump::new();
    let value = json::decode_untyped(&arena, &bytes).map_err(|e| e.to_string())?;
    match value.str_at(&["v"]).unwrap_or("") {
        "meta.k8s.io/v1" => {}
        other => return Err(format!("server does not recognize this encoded version {other}")),
    }
    let revision = value.path(&["rv"]).and_then(|v| v.as_i64()).unwrap_or(0);
    if revision == 0 {
        return Err("incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned());
    }
    let start = value.str_at(&["start"]).unwrap_or("");
    if start.is_empty() {
        return Err("encoded start key empty (version meta.k8s.io/v1)".to_owned());
    }
    // A key that is another one when cleaned as a path may leave the prefix: it is not one of ours.
    let key = start.strip_prefix('/').unwrap_or(start);
    if !key.is_empty() && key.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(start.to_owned());
    }
    Ok(ContinueToken { revision, start: key.to_owned() })
}

/// As Go's `RawURLEncoding` decodes: line ends are ignored, bits that fill no byte are too, and an error names the
/// offset of the first byte that cannot be used.
fn decode_base64(token: &str) -> Result<Vec<u8>, String> {
    let cleaned: Vec<u8> = token.bytes().filter(|b| !matches!(b, b'\r' | b'\n')).collect();
    let is_digit = |b: &u8| matches!(b, b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z');
    let bad = match token.bytes().position(|b| !is_digit(&b) && !matches!(b, b'\r' | b'\n')) {
        Some(at) => at,
        // Six bits make no byte.
        None if cleaned.len() % 4 == 1 => token.len() - 1,
        None => return LENIENT.decode(&cleaned).map_err(|e| e.to_string()),
    };
    Err(format!("illegal base64 data at input byte {bad}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip() {
        for (revision, key) in [(7, "default/a"), (i64::MAX, "x"), (-1, "ns/ü\"")] {
            let token = decode(&encode(revision, key)).unwrap();
            assert_eq!(token, ContinueToken { revision, start: format!("{key}\0") });
        }
    }

    #[test]
    fn bad_tokens_say_what_is_wrong() {
        let check = |text: &str, want: &str| {
            assert_eq!(decode(&URL_SAFE_NO_PAD.encode(text)).unwrap_err(), want, "{text}");
        };
        check("{}", "server does not recognize this encoded version ");
        check(r#"{"v":"x"}"#, "server does not recognize this encoded version x");
        check(
            r#"{"v":"meta.k8s.io/v1","rv":0}"#,
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        );
        check(r#"{"v":"meta.k8s.io/v1","rv":5}"#, "encoded start key empty (version meta.k8s.io/v1)");
        check(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"../x"}"#, "../x");
        check(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"a//b"}"#, "a//b");
        check(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"a/"}"#, "a/");
        assert_eq!(decode("***").unwrap_err(), "illegal base64 data at input byte 0");
        assert_eq!(decode("ab\n*").unwrap_err(), "illegal base64 data at input byte 3");
        assert_eq!(decode("abcde").unwrap_err(), "illegal base64 data at input byte 4");
        // Bits that fill no byte are passed over.
        assert_eq!(
            decode("garbage").unwrap_err(),
            "invalid character '\\u0081' looking for beginning of value"
        );
    }

    #[test]
    fn keys_start_below_the_prefix() {
        let check = |start: &str, expect: &str| {
            let text = format!(r#"{{"v":"meta.k8s.io/v1","rv":-5,"start":"{start}"}}"#);
            let token = decode(&URL_SAFE_NO_PAD.encode(text)).unwrap();
            assert_eq!(token, ContinueToken { revision: -5, start: expect.to_owned() });
        };
        check("a", "a");
        check("/a", "a");
        check("ns/a", "ns/a");
    }
}
