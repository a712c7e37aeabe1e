//! Schedules of cron jobs, read as the library reads them that kube-apiserver uses.

use jiff::tz::TimeZone;
use ringbolt_machinery::field::{FieldError, quote};

use super::Errors;

/// The fields of a schedule: lowest and highest number, and names from the lowest on.
const FIELDS: [(u64, u64, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];
const NAMED: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// A schedule. `zoned` says that the one before named a time zone, `has_zone` that there is a field with one.
pub(crate) fn validate(text: &str, zoned: bool, has_zone: bool, path: &str, errors: &mut Errors) {
    if let Err(why) = parse(text) {
        errors.push(FieldError::invalid(path, text, why));
    }
    if !text.contains("TZ") {
        return;
    }
    if zoned && has_zone {
        let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        errors.push(FieldError::invalid(path, text, why));
    } else if !zoned {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(path, text, why));
    }
}

fn parse(text: &str) -> Result<(), String> {
    let mut text = text;
    if let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) {
        let (zone, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if !known_zone(zone) {
            return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
        }
        text = rest.trim();
    }
    if text.starts_with('@') {
        return match text.strip_prefix("@every ") {
            Some(_) => Ok(()),
            None if NAMED.contains(&text) => Ok(()),
            None => Err(format!("unrecognized descriptor: {text}")),
        };
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            FIELDS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, bounds) in fields.iter().zip(FIELDS) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            range(part, bounds)?;
        }
    }
    Ok(())
}

fn range(text: &str, (min, max, names): (u64, u64, &[&str])) -> Result<(), String> {
    let slashes: Vec<&str> = text.split('/').collect();
    let hyphens: Vec<&str> = slashes[0].split('-').collect();
    let (start, mut end) = match hyphens[0] {
        "*" | "?" => (min, max),
        first => {
            let start = number_or_name(first, min, names)?;
            match hyphens[..] {
                [_] => (start, start),
                [_, last] => (start, number_or_name(last, min, names)?),
                _ => return Err(format!("too many hyphens: {text}")),
            }
        }
    };
    let step = match slashes[..] {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if hyphens.len() == 1 {
                end = max;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < min {
        return Err(format!("beginning of range ({start}) below minimum ({min}): {text}"));
    }
    if end > max {
        return Err(format!("end of range ({end}) above maximum ({max}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, min: u64, names: &[&str]) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match names.iter().position(|name| *name == lower) {
        Some(at) => Ok(min + at as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let failed = |why: &str| {
        Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", quote(text)))
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return failed("invalid syntax");
    }
    match text.parse::<i64>() {
        Err(_) => failed("value out of range"),
        Ok(number) => {
            u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
    }
}

/// Whether a time zone is known. Where there are no time zones at all every one is taken for known.
fn known_zone(name: &str) -> bool {
    matches!(name, "" | "UTC" | "Local")
        || TimeZone::get(name).is_ok()
        || TimeZone::get("America/New_York").is_err()
}

/// The time zone of a schedule.
pub(crate) fn time_zone(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        let why = "timeZone must be nil or non-empty string";
        errors.push(FieldError::invalid(path, name, why));
        return;
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+');
    let sound = name.split('/').all(|part| {
        (1..=14).contains(&part.len())
            && part.bytes().all(plain)
            && !matches!(part, "." | "..")
            && !part.starts_with('-')
    });
    if !sound {
        errors.push(FieldError::invalid(path, name, format!("unknown time zone {name}")));
        return;
    }
    if name.eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(FieldError::invalid(path, name, why));
    }
    if !known_zone(name) {
        errors.push(FieldError::invalid(path, name, format!("unknown time zone {name}")));
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(text: &str, expect: Result<(), &str>) {
        assert_eq!(parse(text), expect.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn schedules() {
        check("*/5 0 1-7,15 jan-mar mon", Ok(()));
        check("@hourly", Ok(()));
        check("@often", Err("unrecognized descriptor: @often"));
        check("* * *", Err("expected exactly 5 fields, found 3: [* * *]"));
        check("60 * * * *", Err("end of range (60) above maximum (59): 60"));
        check("5-1 * * * *", Err("beginning of range (5) beyond end of range (1): 5-1"));
        check("* * 0 * *", Err("beginning of range (0) below minimum (1): 0"));
        check("x * * * *", Err("failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"));
        check("*/0 * * * *", Err("step of range should be a positive number: */0"));
    }
}
