//! Formats of strings: those that schemas may ask for, and whether a text is of one.

mod email;
mod net;

use std::sync::LazyLock;

use super::Type;
use crate::{go_regexp::Regexp, time};

/// The formats of strings, without the dashes that their names may have.
const NAMES: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

fn normalized(format: &str) -> Option<&'static str> {
    let plain: std::borrow::Cow<'_, str> =
        if format.contains('-') { format.replace('-', "").into() } else { format.into() };
    NAMES.binary_search(&&*plain).ok().map(|at| NAMES[at])
}

/// Whether a format counts for a type. Others are told of in a warning and count for nothing.
pub(crate) fn is_recognized(ty: Type, format: &str) -> bool {
    match ty {
        Type::Any | Type::String => normalized(format).is_some(),
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether a format counts for the type that a schema names, which may be none. Writers are warned of others.
pub fn is_known_format(ty: &str, format: &str) -> bool {
    let ty = match ty {
        "" => Type::Any,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        _ => return false,
    };
    is_recognized(ty, format)
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regexp>> = LazyLock::new(|| Regexp::compile($text).ok());
    };
}

pattern!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
pattern!(
    CREDIT_CARD,
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
);
pattern!(SSN, r"^\d{3}[- ]?\d{2}[- ]?\d{4}$");
pattern!(
    RGB_COLOR,
    r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$"
);
pattern!(TIME, r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$");

fn matches(pattern: &LazyLock<Option<Regexp>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regexp| regexp.is_match(text))
}

/// Whether a text is of a format; `None` where there is no such format.
pub(crate) fn fits(format: &str, text: &str) -> Option<bool> {
    if format.is_empty() {
        return None;
    }
    Some(match normalized(format)? {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "byte" => is_base64(text),
        "cidr" => net::is_cidr(text),
        "creditcard" => is_credit_card(text),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "email" => email::is_email(text),
        "hexcolor" => is_hex_color(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && net::is_ip_sloppy(text),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "k8slongname" => text.len() <= 253 && text.split('.').all(is_label),
        "k8sshortname" => text.len() <= 63 && is_label(text),
        "mac" => net::is_mac(text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "ssn" => text.len() == 11 && matches(&SSN, text),
        "uri" => net::is_request_uri(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some(b'3')),
        "uuid4" => is_uuid(text, Some(b'4')),
        "uuid5" => is_uuid(text, Some(b'5')),
        // Any text.
        _ => true,
    })
}

fn is_label(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|b| plain(*b) || *b == b'-')
        && bytes.first().is_some_and(|b| plain(*b))
        && bytes.last().is_some_and(|b| plain(*b))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, u32::from(digit - b'0')) {
            (0, digit) => digit,
            (_, digit) if digit >= 5 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    matches(&CREDIT_CARD, &digits) && sum.is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.is_ascii() && time::parse_time(&format!("{text}T00:00:00Z")).is_ok()
}

fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && matches(&TIME, time) && time[..2] <= *"23" && time[3..5] <= *"59" && time[6..8] <= *"59"
}

/// As Go's, or a number of units by Scala's names anywhere in the text.
fn is_duration(text: &str) -> bool {
    if time::parse_duration(text).is_ok() {
        return true;
    }
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "\u{b5}s"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let unit_at = rest[number..].trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let letters =
            unit_at.find(|c: char| !c.is_ascii_alphabetic() && c != '\u{b5}').unwrap_or(unit_at.len());
        let unit = unit_at[..letters].to_lowercase();
        if !unit.is_empty() {
            if rest[..number].parse::<i64>().is_err() {
                return false;
            }
            found |= UNITS.iter().any(|(names, prefix)| names.contains(&&*unit) || unit.starts_with(prefix));
        }
        rest = &unit_at[letters..];
    }
    found
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(&HOSTNAME, text)
}

fn without_spaces_and_dashes(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    let digit = |(at, b): (usize, u8)| match b {
        b'X' if at == 9 => Some(10),
        b if b.is_ascii_digit() => Some(u32::from(b - b'0')),
        _ => None,
    };
    let digits: Option<Vec<u32>> = text.bytes().enumerate().map(digit).collect();
    digits.is_some_and(|digits| {
        digits.len() == 10
            && (1..).zip(digits).map(|(weight, digit)| weight * digit).sum::<u32>().is_multiple_of(11)
    })
}

fn is_isbn13(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    text.len() == 13
        && text.bytes().all(|b| b.is_ascii_digit())
        && text
            .bytes()
            .enumerate()
            .map(|(at, b)| u32::from(b - b'0') * if at % 2 == 0 { 1 } else { 3 })
            .sum::<u32>()
            .is_multiple_of(10)
}

/// Dashes may be left out, each by itself.
fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let mut rest = text.as_bytes();
    for (part, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if part > 0
            && let Some(after) = rest.strip_prefix(b"-")
        {
            rest = after;
        }
        let Some((digits, after)) = rest.split_at_checked(length) else { return false };
        let kind = match (part, version) {
            (2, Some(version)) => digits[0] == version,
            (3, Some(b'4' | b'5')) => matches!(digits[0].to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b'),
            _ => true,
        };
        if !kind || !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}
