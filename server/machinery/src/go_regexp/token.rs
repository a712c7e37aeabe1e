//! The smallest parts of an expression: characters, escapes and counts.

use super::RegexpError;
use crate::limits::REGEXP_REPEAT_MAX;

pub(super) type Parsed<T> = Result<T, RegexpError>;

pub(super) fn fail<T>(code: &'static str, expr: &str) -> Parsed<T> {
    Err(RegexpError { code, expr: expr.to_owned() })
}

pub(super) const INVALID_ESCAPE: &str = "invalid escape sequence";

/// The part of `all` before `rest`, which is its end.
pub(super) fn before<'e>(all: &'e str, rest: &str) -> &'e str {
    &all[..all.len() - rest.len()]
}

pub(super) fn next(text: &str) -> Option<(u32, &str)> {
    let mut chars = text.chars();
    let c = chars.next()?;
    Some((u32::from(c), chars.as_str()))
}

pub(super) fn class_char<'e>(rest: &'e str, whole: &str) -> Parsed<(u32, &'e str)> {
    match next(rest) {
        None => fail("missing closing ]", whole),
        Some((c, _)) if c == u32::from(b'\\') => escaped(rest),
        Some(found) => Ok(found),
    }
}

/// A character behind a backslash.
pub(super) fn escaped(at: &str) -> Parsed<(u32, &str)> {
    let Some((c, mut rest)) = next(&at[1..]) else {
        return fail("trailing backslash at end of expression", "");
    };
    let octal =
        |text: &str| text.bytes().next().filter(|b| (b'0'..=b'7').contains(b)).map(|b| u32::from(b - b'0'));
    let simple = match char::from_u32(c) {
        Some(digit @ '0'..='7') if digit == '0' || octal(rest).is_some() => {
            let mut value = c - u32::from(b'0');
            for _ in 1..3 {
                let Some(digit) = octal(rest) else { break };
                value = value * 8 + digit;
                rest = &rest[1..];
            }
            return Ok((value, rest));
        }
        Some('x') => {
            let (value, rest) = hex(rest);
            return match value {
                Some(value) => Ok((value, rest)),
                None => fail(INVALID_ESCAPE, before(at, rest)),
            };
        }
        Some('a') => 7,
        Some('f') => 12,
        Some('n') => 10,
        Some('r') => 13,
        Some('t') => 9,
        Some('v') => 11,
        Some(c) if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
        _ => return fail(INVALID_ESCAPE, before(at, rest)),
    };
    Ok((simple, rest))
}

/// What follows `\x`: the value, where there is one, and the text behind what was read.
fn hex(rest: &str) -> (Option<u32>, &str) {
    let digit = |c: u32| char::from_u32(c).and_then(|c| c.to_digit(16));
    let Some((first, mut rest)) = next(rest) else { return (None, rest) };
    if first != u32::from(b'{') {
        let Some((second, after)) = next(rest) else { return (None, rest) };
        return (digit(first).zip(digit(second)).map(|(high, low)| high * 16 + low), after);
    }
    let (mut value, mut digits) = (0, 0);
    loop {
        let Some((c, after)) = next(rest) else { return (None, rest) };
        rest = after;
        if c == u32::from(b'}') {
            return ((digits > 0).then_some(value), rest);
        }
        let Some(digit) = digit(c) else { return (None, rest) };
        value = value * 16 + digit;
        digits += 1;
        if value > 0x10_FFFF {
            return (None, rest);
        }
    }
}

/// How often: at least, and at most.
pub(super) type Counts = (u32, Option<u32>);

/// `{2}`, `{2,}` or `{2,3}`: the counts, `None` where they are out of bounds, and what follows. `None` where it is
/// nothing of that form.
pub(super) fn repeat_counts(at: &str) -> Option<(Option<Counts>, &str)> {
    let (min, rest) = integer(&at[1..])?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => {
            let (max, rest) = integer(rest)?;
            (Some(max), rest)
        }
    };
    let rest = rest.strip_prefix('}')?;
    let fits = min <= REGEXP_REPEAT_MAX && max.is_none_or(|max| max <= REGEXP_REPEAT_MAX && min <= max);
    Some((fits.then_some((min, max)), rest))
}

/// A decimal number without leading zeros.
fn integer(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits >= 2 && text.starts_with('0') {
        return None;
    }
    let (number, rest) = text.split_at(digits);
    Some((number.parse().unwrap_or(u32::MAX), rest))
}
