//! What a plain scalar means in YAML 1.1, as Go's YAML library takes it.

/// A scalar's meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond `i64`.
    Uint(u64),
    Float(f64),
    String,
}

impl Scalar {
    fn tag(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "bool",
            Scalar::Int(_) | Scalar::Uint(_) => "int",
            Scalar::Float(_) => "float",
            Scalar::String => "str",
        }
    }
}

/// Without a tag.
pub(super) fn plain(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes()[0] {
        b'.' => text.parse().map_or(Scalar::String, Scalar::Float),
        b'0'..=b'9' | b'+' | b'-' => number(text),
        _ => Scalar::String,
    }
}

fn number(text: &str) -> Scalar {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let (sign, size) = match digits.as_bytes().first() {
        Some(b'-') => ("-", &digits[1..]),
        Some(b'+') => ("", &digits[1..]),
        _ => ("", digits.as_str()),
    };
    let (base, tail) = match size.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &size[2..]),
        [b'0', b'b' | b'B', ..] => (2, &size[2..]),
        [b'0', b'o' | b'O', ..] => (8, &size[2..]),
        [b'0', _, ..] => (8, &size[1..]),
        _ => (10, size),
    };
    if tail.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        if let Ok(n) = i64::from_str_radix(&format!("{sign}{tail}"), base) {
            return Scalar::Int(n);
        }
        // Unsigned numbers take no sign, not even a plus.
        if !digits.starts_with(['+', '-'])
            && let Ok(n) = u64::from_str_radix(tail, base)
        {
            return Scalar::Uint(n);
        }
    }
    if is_float(&digits)
        && let Ok(f) = digits.parse::<f64>()
        && f.is_finite()
    {
        return Scalar::Float(f);
    }
    Scalar::String
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let rest = &rest[whole..];
    let rest = match rest.strip_prefix('.') {
        Some(rest) => {
            let fraction = digits(rest);
            if whole + fraction == 0 {
                return false;
            }
            &rest[fraction..]
        }
        None if whole == 0 => return false,
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        None => rest.is_empty(),
    }
}

/// With a tag of the core schema; the error is the library's.
pub(super) fn tagged(tag: &str, text: &str) -> Result<Scalar, String> {
    if !matches!(tag, "bool" | "int" | "float" | "null" | "timestamp") {
        return Ok(Scalar::String);
    }
    let scalar = plain(text);
    match (tag, &scalar) {
        ("float", Scalar::Int(n)) => Ok(Scalar::Float(*n as f64)),
        // Timestamps stay texts.
        ("timestamp", Scalar::String) if looks_like_date(text) => Ok(Scalar::String),
        _ if scalar.tag() == tag => Ok(scalar),
        _ => Err(format!("yaml: cannot decode !!{} `{text}` as a !!{tag}", scalar.tag())),
    }
}

fn looks_like_date(text: &str) -> bool {
    text.bytes().take_while(u8::is_ascii_digit).count() == 4 && text.as_bytes().get(4) == Some(&b'-')
}

/// Whether a text written plain would be read back as that text.
pub(super) fn stays_text(text: &str) -> bool {
    // Dates are timestamps.
    plain(text) == Scalar::String && !is_timestamp(text) && !is_base_60(text)
}

/// The forms of timestamps that the library knows; it reads them leniently, with Go's layouts.
fn is_timestamp(text: &str) -> bool {
    if !looks_like_date(text) {
        return false;
    }
    let number = |s: &str, range: std::ops::RangeInclusive<u32>| {
        matches!(s.len(), 1 | 2)
            && s.bytes().all(|b| b.is_ascii_digit())
            && s.parse::<u32>().is_ok_and(|n| range.contains(&n))
    };
    let Some((year_month, rest)) = text[5..].split_once('-').map(|(month, rest)| ((&text[..4], month), rest))
    else {
        return false;
    };
    let day_len = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (day, rest) = rest.split_at(day_len);
    let (year, month) = year_month;
    if !number(month, 1..=12) || !number(day, 1..=31) || !day_exists(year, month, day) {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let zoned = rest.starts_with(['T', 't']);
    if !zoned && !rest.starts_with(' ') {
        return false;
    }
    let clock = rest[1..].trim_start_matches(if zoned { '\0' } else { ' ' });
    let mut parts = clock.splitn(3, ':');
    let (Some(hour), Some(minute), Some(tail)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let seconds = tail.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (second, tail) = tail.split_at(seconds);
    if !number(hour, 0..=23) || !number(minute, 0..=59) || !number(second, 0..=59) {
        return false;
    }
    let tail = match tail.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        None => tail,
    };
    match (zoned, tail) {
        (false, tail) => tail.is_empty(),
        (true, "Z") => true,
        (true, zone) => {
            let Some(rest) = zone.strip_prefix(['+', '-']) else { return false };
            let Some((hours, minutes)) = rest.split_once(':') else { return false };
            hours.len() == 2 && minutes.len() == 2 && number(hours, 0..=24) && number(minutes, 0..=60)
        }
    }
}

fn day_exists(year: &str, month: &str, day: &str) -> bool {
    let full = format!("{year}-{month:0>2}-{day:0>2}T00:00:00Z");
    crate::time::parse_time(&full).is_ok()
}

/// `190:20:30`, a float to base 60 in YAML 1.1, which the library only ever quotes.
fn is_base_60(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return false;
    }
    let mut groups = whole.split(':');
    let first = groups.next().unwrap_or("");
    let mut any = false;
    let sixty = groups.all(|group| {
        any = true;
        let bytes = group.as_bytes();
        match bytes {
            [d] => d.is_ascii_digit(),
            [t, d] => (b'0'..=b'5').contains(t) && d.is_ascii_digit(),
            _ => false,
        }
    });
    any && sixty && first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}
