//! The few regular expressions of name rules, as plain byte scans.

/// `FIRST (MIDDLE* LAST)?`: a non-empty run of middle characters that begins and ends in the stricter classes.
pub(super) fn framed(
    text: &str,
    first: fn(u8) -> bool,
    middle: fn(u8) -> bool,
    last: fn(u8) -> bool,
) -> bool {
    let bytes = text.as_bytes();
    match bytes {
        [] => false,
        [only] => first(*only),
        [head, body @ .., tail] => first(*head) && last(*tail) && body.iter().all(|b| middle(*b)),
    }
}

/// `[a-z0-9]`
pub(super) fn lower_alphanumeric(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// `[-a-z0-9]`
pub(super) fn lower_alphanumeric_dash(b: u8) -> bool {
    lower_alphanumeric(b) || b == b'-'
}

/// `[-_a-z0-9]`
pub(super) fn lower_alphanumeric_dash_underscore(b: u8) -> bool {
    lower_alphanumeric_dash(b) || b == b'_'
}

/// `[A-Za-z0-9]`
pub(super) fn alphanumeric(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

/// `[-A-Za-z0-9_.]`
pub(super) fn alphanumeric_extended(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
}
