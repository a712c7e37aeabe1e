//! Go durations (`1h30m0s`).

use super::quote;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// One more than the largest size of a duration.
const LIMIT: u64 = 1 << 63;

/// Nanoseconds of a duration text; the error is Go's.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = rest.split_at(digits(rest));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let n: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok().filter(|n| *n <= LIMIT).ok_or_else(invalid)?
        };
        let length = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(length);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text)));
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("time: unknown unit {} in duration {}", quote(unit), quote(text)));
        };
        if n > LIMIT / scale {
            return Err(invalid());
        }
        let value = n * scale + fraction_of(fraction, *scale);
        total = total.checked_add(value).filter(|t| value <= LIMIT && *t <= LIMIT).ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// Digits after the point times a unit. Go keeps as many digits as fit and then computes in floating point.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let (mut n, mut scale): (u64, f64) = (0, 1.0);
    for digit in digits.bytes() {
        if n > (LIMIT - 1) / 10 {
            break;
        }
        let next = n * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        n = next;
        scale *= 10.0;
    }
    if n == 0 { 0 } else { (n as f64 * (unit as f64 / scale)) as u64 }
}

/// The text of a number of nanoseconds, as Go prints a `time.Duration`.
pub fn format_duration(nanoseconds: i64) -> String {
    let size = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let fraction = |n: u64, places: usize| {
        let unit = 10u64.pow(places as u32);
        let mut text = (n / unit).to_string();
        if !n.is_multiple_of(unit) {
            text.push_str(format!(".{:0places$}", n % unit).trim_end_matches('0'));
        }
        text
    };
    match size {
        0 => "0s".into(),
        1..1_000 => format!("{sign}{size}ns"),
        1_000..1_000_000 => format!("{sign}{}\u{b5}s", fraction(size, 3)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", fraction(size, 6)),
        _ => {
            let minutes = size / 60_000_000_000;
            let seconds = fraction(size % 60_000_000_000, 9);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}
