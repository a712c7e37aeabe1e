//! Durations as Go writes and reads them (`1h15m30.918273645s`): in flags and in the `timeout` parameter.

use std::{fmt::Write as _, time::Duration};

use ringbolt_machinery::field::quote;

/// A Go duration: nanoseconds, which may be negative.
pub type Nanoseconds = i64;

/// Reads a duration with Go's own error messages.
pub fn parse(text: &str) -> Result<Nanoseconds, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let (unit, after) =
            after.split_at(after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len()));
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text)));
        }
        let scale: u64 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(format!("time: unknown unit {} in duration {}", quote(unit), quote(text))),
        };
        let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| invalid())? };
        let part = fraction_of(fraction, scale);
        total = whole
            .checked_mul(scale)
            .and_then(|n| n.checked_add(part))
            .and_then(|n| n.checked_add(total))
            .filter(|&n| n <= 1 << 63)
            .ok_or_else(invalid)?;
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (false, Ok(n)) => Ok(n),
        (true, Ok(n)) => Ok(-n),
        (true, Err(_)) => Ok(i64::MIN),
        (false, Err(_)) => Err(invalid()),
    }
}

/// `0.fraction` of `scale`, cut off; digits beyond what a number holds do not count.
fn fraction_of(fraction: &str, scale: u64) -> u64 {
    let (mut value, mut divisor) = (0_u64, 1_u64);
    for digit in fraction.bytes().take(18) {
        value = value * 10 + u64::from(digit - b'0');
        divisor *= 10;
    }
    (u128::from(value) * u128::from(scale) / u128::from(divisor)) as u64
}

/// Writes a duration as Go prints it.
pub fn format(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let mut text = String::new();
    let decimal = |text: &mut String, value: u128, scale: u128, unit: &str| {
        let _ = write!(text, "{}", value / scale);
        let mut fraction = value % scale;
        if fraction > 0 {
            let mut digits = scale.ilog10() as usize;
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                digits -= 1;
            }
            let _ = write!(text, ".{fraction:0digits$}");
        }
        text.push_str(unit);
    };
    match nanoseconds {
        0 => text.push_str("0s"),
        1..1_000 => decimal(&mut text, nanoseconds, 1, "ns"),
        1_000..1_000_000 => decimal(&mut text, nanoseconds, 1_000, "\u{b5}s"),
        1_000_000..1_000_000_000 => decimal(&mut text, nanoseconds, 1_000_000, "ms"),
        _ => {
            let minutes = nanoseconds / 60_000_000_000;
            if minutes >= 60 {
                let _ = write!(text, "{}h", minutes / 60);
            }
            if minutes > 0 {
                let _ = write!(text, "{}m", minutes % 60);
            }
            decimal(&mut text, nanoseconds % 60_000_000_000, 1_000_000_000, "s");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        let check = |text: &str, expect: Result<i64, &str>| {
            assert_eq!(parse(text), expect.map_err(str::to_owned), "{text:?}");
        };
        check("0", Ok(0));
        check("1m0s", Ok(60_000_000_000));
        check("1h15m30.918273645s", Ok(4_530_918_273_645));
        check("-1.5h", Ok(-5_400_000_000_000));
        check("+.5s", Ok(500_000_000));
        check("1.s", Ok(1_000_000_000));
        check("10us", Ok(10_000));
        check("10\u{b5}s", Ok(10_000));
        check("9223372036854775807ns", Ok(i64::MAX));
        check("-9223372036854775808ns", Ok(i64::MIN));
        check("9223372036854775808ns", Err("time: invalid duration \"9223372036854775808ns\""));
        check("", Err("time: invalid duration \"\""));
        check("abc", Err("time: invalid duration \"abc\""));
        check(".s", Err("time: invalid duration \".s\""));
        check("5", Err("time: missing unit in duration \"5\""));
        check("5x", Err("time: unknown unit \"x\" in duration \"5x\""));
        check("3000000h", Err("time: invalid duration \"3000000h\""));
    }

    #[test]
    fn formats() {
        let check = |nanoseconds: u64, expect: &str| {
            assert_eq!(format(Duration::from_nanos(nanoseconds)), expect);
        };
        check(0, "0s");
        check(1, "1ns");
        check(1_100, "1.1\u{b5}s");
        check(2_200_000, "2.2ms");
        check(3_300_000_000, "3.3s");
        check(60_000_000_000, "1m0s");
        check(3_600_000_000_000, "1h0m0s");
        check(4_530_001_000_000, "1h15m30.001s");
    }
}
