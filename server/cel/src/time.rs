//! Timestamps and durations, and their texts.

use ringbolt_machinery::time::parse_duration as go_duration;

/// Seconds of the first moment of year 1, and of the last of year 9999.
const SECONDS_MIN: i64 = -62_135_596_800;
const SECONDS_MAX: i64 = 253_402_300_799;
const NANOS: i128 = 1_000_000_000;

/// A moment, with the offset that its text had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamp {
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// A day and the time of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// From 0, Sunday.
    pub(crate) weekday: i64,
    /// From 0.
    pub(crate) year_day: i64,
}

pub(crate) fn in_range(seconds: i64) -> bool {
    (SECONDS_MIN..=SECONDS_MAX).contains(&seconds)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.nanoseconds() == other.nanoseconds()
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.nanoseconds().partial_cmp(&other.nanoseconds())
    }
}

impl Timestamp {
    pub(crate) fn from_seconds(seconds: i64) -> Option<Timestamp> {
        in_range(seconds).then_some(Timestamp { seconds, nanos: 0, offset: 0 })
    }

    fn nanoseconds(&self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    /// A moment that is `nanoseconds` later, where there is such a year.
    pub(crate) fn plus(&self, nanoseconds: i128) -> Option<Timestamp> {
        let total = self.nanoseconds() + nanoseconds;
        let seconds = i64::try_from(total.div_euclid(NANOS)).ok()?;
        let nanos = total.rem_euclid(NANOS) as u32;
        in_range(seconds).then_some(Timestamp { seconds, nanos, offset: self.offset })
    }

    /// Nanoseconds since another moment, where they fit.
    pub(crate) fn since(&self, other: &Timestamp) -> Option<i64> {
        i64::try_from(self.nanoseconds() - other.nanoseconds()).ok()
    }

    /// As Go reads RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let (date, rest) = date(text)?;
        let (time, rest) = clock(rest.strip_prefix('T')?)?;
        let offset = offset(rest)?;
        let seconds = date * 86_400 + time.0 - i64::from(offset);
        in_range(seconds).then_some(Timestamp { seconds, nanos: time.1, offset })
    }

    /// As strings of format `date-time` are read: an empty one is the epoch, the offset may be missing.
    pub(crate) fn parse_date_time(text: &str) -> Option<Timestamp> {
        if text.is_empty() {
            return Timestamp::from_seconds(0);
        }
        Timestamp::parse(text).or_else(|| {
            let (date, rest) = date(text)?;
            let (time, rest) = clock(rest.strip_prefix('T')?)?;
            rest.is_empty().then_some(Timestamp { seconds: date * 86_400 + time.0, nanos: time.1, offset: 0 })
        })
    }

    /// As strings of format `date` are read.
    pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
        let (date, rest) = date(text)?;
        rest.is_empty().then_some(Timestamp { seconds: date * 86_400, nanos: 0, offset: 0 })
    }

    /// The day and time at an offset.
    pub(crate) fn civil(&self, offset: i32) -> Civil {
        let local = self.seconds + i64::from(offset);
        let (days, of_day) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let of_era = z.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Civil {
            year,
            month,
            day,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            weekday: (days + 4).rem_euclid(7),
            year_day: days - days_from_civil(year, 1, 1),
        }
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let c = self.civil(self.offset);
        write!(f, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", c.year, c.month, c.day, c.hour, c.minute, c.second)?;
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let part = text.get(..digits)?;
    if !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((part.parse().ok()?, &text[digits..]))
}

/// Days since the epoch of `2006-01-02`.
fn date(text: &str) -> Option<(i64, &str)> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 2)?;
    let valid = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    valid.then(|| (days_from_civil(year, month, day), rest))
}

/// Seconds and nanoseconds of `15:04:05.999`.
fn clock(text: &str) -> Option<((i64, u32), &str)> {
    let (hour, rest) = number(text, 2)?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (second, mut rest) = number(rest.strip_prefix(':')?, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        let kept = &fraction[..digits.min(9)];
        nanos = kept.parse::<u32>().ok()? * 10u32.pow(9 - kept.len() as u32);
        rest = &fraction[digits..];
    }
    Some(((hour * 3_600 + minute * 60 + second, nanos), rest))
}

fn offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let negative = text.starts_with('-');
    let (hours, rest) = number(text.strip_prefix(['+', '-'])?, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
    if !rest.is_empty() || hours > 24 || minutes > 60 {
        return None;
    }
    let seconds = (hours * 3_600 + minutes * 60) as i32;
    Some(if negative { -seconds } else { seconds })
}

/// Nanoseconds of a Go duration.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    go_duration(text)
}

/// Strings of format `duration` may be in words as well: `3 days`.
pub(crate) fn parse_duration_words(text: &str) -> Option<i64> {
    if let Ok(nanoseconds) = parse_duration(text) {
        return Some(nanoseconds);
    }
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "\u{b5}s", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    let mut total: Option<i64> = None;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest[digits..].trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let unit_len =
            after.find(|c: char| !(c.is_ascii_alphabetic() || c == '\u{b5}')).unwrap_or(after.len());
        if unit_len == 0 {
            rest = &rest[digits..];
            continue;
        }
        let factor: i64 = rest[..digits].parse().ok()?;
        let unit = after[..unit_len].to_lowercase();
        for (names, scale) in UNITS {
            let (last, others) = names.split_last()?;
            let hits =
                usize::from(unit.starts_with(last)) + others.iter().filter(|name| unit == **name).count();
            for _ in 0..hits {
                total = Some(total.unwrap_or(0).wrapping_add(factor.wrapping_mul(scale)));
            }
        }
        rest = &after[unit_len..];
    }
    total
}

/// The offset of a time zone at a moment: `America/New_York`, `-05:30`, and empty for UTC.
pub(crate) fn zone_offset(zone: &str, at: &Timestamp) -> Result<i32, String> {
    let Some(colon) = zone.find(':') else {
        if matches!(zone, "" | "UTC") {
            return Ok(0);
        }
        let unknown = || format!("unknown time zone {zone}");
        let zone = jiff::tz::TimeZone::get(zone).map_err(|_| unknown())?;
        let moment = jiff::Timestamp::from_second(at.seconds).map_err(|_| unknown())?;
        return Ok(zone.to_offset(moment).seconds());
    };
    let number = |text: &str| {
        let parsed: Result<i64, _> = text.strip_prefix('+').unwrap_or(text).parse();
        parsed.map_err(|_| {
            format!("strconv.Atoi: parsing {}: invalid syntax", ringbolt_machinery::field::quote(text))
        })
    };
    let hours = number(&zone[..colon])?;
    let minutes = number(&zone[colon + 1..])?;
    let total = if zone.starts_with('-') { hours * 60 - minutes } else { hours * 60 + minutes };
    i32::try_from(total * 60).map_err(|_| format!("unknown time zone {zone}"))
}
