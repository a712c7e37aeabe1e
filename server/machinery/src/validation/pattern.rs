//! The few regular expressions of name rules, as plain byte scans.

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const DASH: u8 = 8;
const UNDERSCORE: u8 = 16;
const DOT: u8 = 32;

/// What each byte is: a look here takes the place of several comparisons.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut at = 0;
    while at < 256 {
        kinds[at] = match at as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'-' => DASH,
            b'_' => UNDERSCORE,
            b'.' => DOT,
            _ => 0,
        };
        at += 1;
    }
    kinds
};

/// A class of characters.
#[derive(Clone, Copy)]
pub(super) struct Class(u8);

impl Class {
    /// `[a-z]`
    pub(super) const LOWER: Class = Class(LOWER);
    /// `[a-z0-9]`
    pub(super) const LOWER_ALPHANUMERIC: Class = Class(LOWER | DIGIT);
    /// `[-a-z0-9]`
    pub(super) const LOWER_ALPHANUMERIC_DASH: Class = Class(LOWER | DIGIT | DASH);
    /// `[-_a-z0-9]`
    pub(super) const LOWER_ALPHANUMERIC_DASH_UNDERSCORE: Class = Class(LOWER | DIGIT | DASH | UNDERSCORE);
    /// `[A-Za-z0-9]`
    pub(super) const ALPHANUMERIC: Class = Class(LOWER | UPPER | DIGIT);
    /// `[-A-Za-z0-9_.]`
    pub(super) const ALPHANUMERIC_EXTENDED: Class = Class(LOWER | UPPER | DIGIT | DASH | UNDERSCORE | DOT);

    /// Whether a byte is of the class.
    #[inline]
    pub(super) fn has(self, byte: u8) -> bool {
        KINDS[usize::from(byte)] & self.0 != 0
    }

    /// Whether all bytes are.
    #[inline]
    pub(super) fn has_all(self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.has(*byte))
    }
}

/// `FIRST (MIDDLE* LAST)?`: a non-empty run of middle characters that begins and ends in the stricter classes.
#[inline]
pub(super) fn framed(text: &[u8], first: Class, middle: Class, last: Class) -> bool {
    match text {
        [] => false,
        [only] => first.has(*only),
        [head, body @ .., tail] => first.has(*head) && last.has(*tail) && middle.has_all(body),
    }
}
