//! `metav1.Time`, `MicroTime` and `Duration`: read as Go's `time` package reads them, with its error texts, and
//! written in the canonical form of Kubernetes.

mod duration;

use std::fmt::Write;

use bumpalo::Bump;

pub use duration::{format_duration, parse_duration};

/// A moment: seconds since the epoch, and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

/// Seconds of Go's zero time, 0001-01-01T00:00:00Z.
pub const ZERO_SECONDS: i64 = -62_135_596_800;

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Moment { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() }
    }

    /// Whether it is Go's zero time, which JSON shows as null.
    pub fn is_zero(&self) -> bool {
        self.seconds == ZERO_SECONDS && self.nanos == 0
    }

    /// RFC 3339 to the second, UTC: a `metav1.Time`.
    pub fn to_time(self) -> String {
        let mut out = String::with_capacity(20);
        write_date(&mut out, self.seconds);
        out.push('Z');
        out
    }

    /// RFC 3339 with six digits, UTC: a `metav1.MicroTime`.
    pub fn to_micro_time(self) -> String {
        let mut out = String::with_capacity(27);
        write_date(&mut out, self.seconds);
        // Writing to a string does not fail.
        let _ = write!(out, ".{:06}Z", self.nanos / 1000);
        out
    }
}

/// Days from 1970-01-01 of a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March put the leap day last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a day since 1970-01-01.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn write_date(out: &mut String, seconds: i64) {
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let sign = if year < 0 { "-" } else { "" };
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "{sign}{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        year.unsigned_abs(),
        second / 3600,
        second / 60 % 60,
        second % 60
    );
}

/// Layout of a `Time` in Go's notation.
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
/// Layout of a `MicroTime`.
const LAYOUT_MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Reads a `Time`; the error is Go's text.
pub fn parse_time(text: &str) -> Result<Moment, String> {
    parse(text, LAYOUT, false)
}

/// Reads a `MicroTime`: six digits of fraction, no more and no fewer.
pub fn parse_micro_time(text: &str) -> Result<Moment, String> {
    parse(text, LAYOUT_MICRO, true)
}

/// Why an element of the layout does not match.
enum Wrong {
    /// The text is not of its form.
    Form,
    /// The number is out of range.
    Range(&'static str),
}

fn digit(text: &[u8], at: usize) -> Option<u32> {
    text.get(at).filter(|b| b.is_ascii_digit()).map(|b| u32::from(b - b'0'))
}

/// One or two digits; two where `fixed`.
fn number(text: &mut &[u8], fixed: bool) -> Result<u32, Wrong> {
    let first = digit(text, 0).ok_or(Wrong::Form)?;
    match digit(text, 1) {
        Some(second) => {
            *text = &text[2..];
            Ok(first * 10 + second)
        }
        None if fixed => Err(Wrong::Form),
        None => {
            *text = &text[1..];
            Ok(first)
        }
    }
}

fn ranged(
    text: &mut &[u8],
    fixed: bool,
    range: std::ops::Range<u32>,
    what: &'static str,
) -> Result<u32, Wrong> {
    let n = number(text, fixed)?;
    if range.contains(&n) { Ok(n) } else { Err(Wrong::Range(what)) }
}

/// Nanoseconds of a fraction whose first byte is its point; digits beyond nine are cut.
fn nanoseconds(fraction: &[u8]) -> Result<u32, Wrong> {
    if !matches!(fraction.first(), Some(b'.' | b',')) {
        return Err(Wrong::Form);
    }
    let digits = &fraction[1..fraction.len().min(10)];
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Wrong::Form);
    }
    let n = digits.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
    Ok(n * 10u32.pow(9 - digits.len() as u32))
}

#[derive(Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
    offset: i64,
}

fn parse(whole: &str, layout: &str, micro: bool) -> Result<Moment, String> {
    let mut fields = Fields::default();
    let mut rest = whole.as_bytes();
    // The layout's elements, each after the text that must stand before it.
    let elements: &[(&str, &str)] = if micro {
        &[
            ("", "2006"),
            ("-", "01"),
            ("-", "02"),
            ("T", "15"),
            (":", "04"),
            (":", "05"),
            ("", ".000000"),
            ("", "Z07:00"),
        ]
    } else {
        &[("", "2006"), ("-", "01"), ("-", "02"), ("T", "15"), (":", "04"), (":", "05"), ("", "Z07:00")]
    };
    let remaining = |rest: &[u8]| whole[whole.len() - rest.len()..].to_owned();
    for (prefix, element) in elements {
        if !prefix.is_empty() {
            match rest.split_first() {
                Some((byte, after)) if [*byte] == *prefix.as_bytes() => rest = after,
                _ => return Err(cannot_parse(whole, layout, &lossless(whole, rest, remaining), prefix)),
            }
        }
        let hold = rest;
        match fields.element(element, &mut rest, micro) {
            Ok(()) => {}
            Err(Wrong::Range(what)) => {
                return Err(format!("parsing time {}: {what} out of range", quote(whole)));
            }
            Err(Wrong::Form) => {
                return Err(cannot_parse(whole, layout, &lossless(whole, hold, remaining), element));
            }
        }
    }
    if !rest.is_empty() {
        let extra = lossless(whole, rest, remaining);
        return Err(format!("parsing time {}: extra text: {}", quote(whole), quote(&extra)));
    }
    fields.moment().ok_or_else(|| format!("parsing time {}: day out of range", quote(whole)))
}

/// The rest of the text; a cut inside a character gives up exactness.
fn lossless(whole: &str, rest: &[u8], remaining: impl Fn(&[u8]) -> String) -> String {
    if whole.is_char_boundary(whole.len() - rest.len()) {
        remaining(rest)
    } else {
        String::from_utf8_lossy(rest).into_owned()
    }
}

fn cannot_parse(whole: &str, layout: &str, rest: &str, element: &str) -> String {
    format!(
        "parsing time {} as {}: cannot parse {} as {}",
        quote(whole),
        quote(layout),
        quote(rest),
        quote(element)
    )
}

impl Fields {
    fn element(&mut self, element: &str, rest: &mut &[u8], micro: bool) -> Result<(), Wrong> {
        match element {
            "2006" => {
                let digits = rest.get(..4).filter(|d| d.iter().all(u8::is_ascii_digit)).ok_or(Wrong::Form)?;
                self.year = digits.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
                *rest = &rest[4..];
            }
            "01" => self.month = ranged(rest, true, 1..13, "month")?,
            "02" => self.day = number(rest, true)?,
            "15" => self.hour = ranged(rest, false, 0..24, "hour")?,
            "04" => self.minute = ranged(rest, true, 0..60, "minute")?,
            "05" => {
                self.second = ranged(rest, true, 0..60, "second")?;
                if !micro && matches!(rest.first(), Some(b'.' | b',')) && digit(rest, 1).is_some() {
                    let length = 1 + rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
                    self.nanos = nanoseconds(&rest[..length])?;
                    *rest = &rest[length..];
                }
            }
            ".000000" => {
                self.nanos = nanoseconds(rest.get(..7).ok_or(Wrong::Form)?)?;
                *rest = &rest[7..];
            }
            _ => self.zone(rest)?,
        }
        Ok(())
    }

    fn zone(&mut self, rest: &mut &[u8]) -> Result<(), Wrong> {
        if rest.first() == Some(&b'Z') {
            *rest = &rest[1..];
            return Ok(());
        }
        let zone = rest.get(..6).filter(|z| z[3] == b':').ok_or(Wrong::Form)?;
        let pair = |at: usize| Some(digit(zone, at)? * 10 + digit(zone, at + 1)?);
        let (hours, minutes) = (pair(1), pair(4));
        if hours.is_some_and(|h| h > 24) {
            return Err(Wrong::Range("time zone offset hour"));
        }
        if hours.is_some() && minutes.is_some_and(|m| m > 60) {
            return Err(Wrong::Range("time zone offset minute"));
        }
        let offset = i64::from((hours.ok_or(Wrong::Form)? * 60 + minutes.ok_or(Wrong::Form)?) * 60);
        self.offset = match zone[0] {
            b'+' => offset,
            b'-' => -offset,
            _ => return Err(Wrong::Form),
        };
        *rest = &rest[6..];
        Ok(())
    }

    /// `None` where the month has no such day.
    fn moment(&self) -> Option<Moment> {
        let leap =
            self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if !(1..=days).contains(&self.day) {
            return None;
        }
        let days = days_from_civil(self.year.into(), self.month.into(), self.day.into());
        let time = i64::from(self.hour * 3600 + self.minute * 60 + self.second);
        Some(Moment { seconds: days * 86_400 + time - self.offset, nanos: self.nanos })
    }
}

/// Quotes as the `time` package does in its errors.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='\x7f' => out.push(c),
            c => {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(out, "\\x{byte:02x}");
                }
            }
        }
    }
    out.push('"');
    out
}

/// The canonical text of a `Time`; `None` is the zero time.
pub(crate) fn canonical_time<'a>(arena: &'a Bump, text: &'a str) -> Result<Option<&'a str>, String> {
    canonical(arena, text, parse_time(text)?, Moment::to_time)
}

/// The canonical text of a `MicroTime`; `None` is the zero time.
pub(crate) fn canonical_micro_time<'a>(arena: &'a Bump, text: &'a str) -> Result<Option<&'a str>, String> {
    canonical(arena, text, parse_micro_time(text)?, Moment::to_micro_time)
}

fn canonical<'a>(
    arena: &'a Bump,
    text: &'a str,
    moment: Moment,
    write: impl Fn(Moment) -> String,
) -> Result<Option<&'a str>, String> {
    if moment.is_zero() {
        return Ok(None);
    }
    let canonical = write(moment);
    Ok(Some(if canonical == text { text } else { arena.alloc_str(&canonical) }))
}

/// The canonical text of a `Duration`.
pub(crate) fn canonical_duration<'a>(arena: &'a Bump, text: &'a str) -> Result<&'a str, String> {
    let canonical = format_duration(parse_duration(text)?);
    Ok(if canonical == text { text } else { arena.alloc_str(&canonical) })
}

#[cfg(test)]
mod tests;
