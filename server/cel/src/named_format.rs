//! Formats that have a name: `format.dns1123Label()` and its kind.

use ringbolt_machinery::validation::names::{
    label_value_errors, name_is_dns_label, name_is_dns_subdomain, name_is_dns1035_label,
    qualified_name_errors,
};

use crate::{encoding::is_base64, time::Timestamp, url::Url};

/// A format.
#[derive(Debug)]
pub(crate) struct NamedFormat {
    /// After `format.`
    pub(crate) function: &'static str,
    pub(crate) name: &'static str,
    /// What costs are reckoned by.
    pub(crate) regex_size: u64,
    /// What is wrong with a text.
    pub(crate) errors: fn(&str) -> Vec<String>,
}

fn one(valid: bool, message: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![message.to_owned()] }
}

fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some(part) = rest.get(..length) else { return false };
        if !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        rest = &rest[length..];
    }
    rest.is_empty()
}

/// A date and a time with an offset, as the format `datetime` of schemas has it.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    if text.len() < 4 || time.contains('t') || Timestamp::parse_date(date).is_none() {
        return false;
    }
    let bytes = time.as_bytes();
    let two = |at: usize, max: u8| {
        let pair = bytes.get(at..at + 2).filter(|pair| pair.iter().all(u8::is_ascii_digit));
        pair.is_some_and(|pair| (pair[0] - b'0') * 10 + pair[1] - b'0' <= max)
    };
    if !two(0, 23) || bytes.get(2) != Some(&b':') || !two(3, 59) || bytes.get(5) != Some(&b':') || !two(6, 59)
    {
        return false;
    }
    let mut rest = &time[8..];
    // Any one character may stand before the fraction.
    let mut chars = rest.chars();
    if let Some(c) = chars.next()
        && c != '\n'
    {
        let digits = chars.as_str().bytes().take_while(u8::is_ascii_digit).count();
        let after = &chars.as_str()[digits..];
        if digits > 0 && is_zone(after) {
            rest = after;
        }
    }
    is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    text == "z"
        || text
            .strip_prefix(['+', '-'])
            .and_then(|rest| rest.split_once(':'))
            .is_some_and(|(hours, minutes)| digits(hours) && digits(minutes))
}

/// All of them.
pub(crate) static FORMATS: &[NamedFormat] = &[
    NamedFormat {
        function: "dns1123Label",
        name: "DNS1123Label",
        regex_size: 30,
        errors: |text| name_is_dns_label(text, false),
    },
    NamedFormat {
        function: "dns1123Subdomain",
        name: "DNS1123Subdomain",
        regex_size: 60,
        errors: |text| name_is_dns_subdomain(text, false),
    },
    NamedFormat {
        function: "dns1035Label",
        name: "DNS1035Label",
        regex_size: 30,
        errors: |text| name_is_dns1035_label(text, false),
    },
    NamedFormat {
        function: "qualifiedName",
        name: "QualifiedName",
        regex_size: 60,
        errors: qualified_name_errors,
    },
    NamedFormat {
        function: "dns1123LabelPrefix",
        name: "DNS1123LabelPrefix",
        regex_size: 30,
        errors: |text| name_is_dns_label(text, true),
    },
    NamedFormat {
        function: "dns1123SubdomainPrefix",
        name: "DNS1123SubdomainPrefix",
        regex_size: 60,
        errors: |text| name_is_dns_subdomain(text, true),
    },
    NamedFormat {
        function: "dns1035LabelPrefix",
        name: "DNS1035LabelPrefix",
        regex_size: 30,
        errors: |text| name_is_dns1035_label(text, true),
    },
    NamedFormat { function: "labelValue", name: "LabelValue", regex_size: 40, errors: label_value_errors },
    NamedFormat {
        function: "uri",
        name: "URI",
        regex_size: 1_103,
        errors: |text| Url::is_valid(text).err().into_iter().collect(),
    },
    NamedFormat {
        function: "uuid",
        name: "uuid",
        regex_size: 71,
        errors: |text| one(is_uuid(text), "does not match the UUID format"),
    },
    NamedFormat {
        function: "byte",
        name: "byte",
        regex_size: 84,
        errors: |text| one(is_base64(text), "invalid base64"),
    },
    NamedFormat {
        function: "date",
        name: "date",
        regex_size: 71,
        errors: |text| one(Timestamp::parse_date(text).is_some(), "invalid date"),
    },
    NamedFormat {
        function: "datetime",
        name: "datetime",
        regex_size: 71,
        errors: |text| one(is_date_time(text), "invalid datetime"),
    },
];
