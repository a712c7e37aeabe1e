//! Bearer tokens in the `Authorization` header (RFC 6750).

use ringbolt_protocol::head::Head;

/// What the headers say of a bearer token. Not text yet: a token that is none is a bad one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bearer<'h> {
    None,
    /// More than one blank in front of the token: it is ignored, with a warning.
    ExtraSpace,
    Token(&'h [u8]),
}

pub(super) const EXTRA_SPACE: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// The bearer token of the first `Authorization` header.
pub(super) fn of_head<'h>(head: &Head<'h>) -> Bearer<'h> {
    head.header("authorization").map_or(Bearer::None, parse)
}

/// The bearer token in the value of an `Authorization` header.
pub(super) fn parse(value: &[u8]) -> Bearer<'_> {
    let mut words = value.trim_ascii().splitn(3, |byte| *byte == b' ');
    match (words.next(), words.next(), words.next()) {
        (Some(scheme), Some(token), third) if scheme.eq_ignore_ascii_case(b"bearer") => {
            match (token, third) {
                (b"", Some(_)) => Bearer::ExtraSpace,
                (b"", None) => Bearer::None,
                (token, _) => Bearer::Token(token),
            }
        }
        _ => Bearer::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_tokens() {
        let check =
            |value: &str, expect: Bearer<'_>| assert_eq!(parse(value.as_bytes()), expect, "{value:?}");
        check("Bearer t", Bearer::Token(b"t"));
        check("bearer t", Bearer::Token(b"t"));
        check("BEARER t more", Bearer::Token(b"t"));
        check(" Bearer t", Bearer::Token(b"t"));
        check("Bearer", Bearer::None);
        check("Bearer ", Bearer::None);
        check("Bearer  t", Bearer::ExtraSpace);
        check("Bearer\tt", Bearer::None);
        check("Basic t", Bearer::None);
        check("", Bearer::None);
        assert_eq!(parse(b"Bearer \xff"), Bearer::Token(b"\xff"));
    }
}
