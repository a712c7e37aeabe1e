//! Names: DNS labels and subdomains, qualified names, path segments, ports, and what else has a format of its own.
//!
//! Each `…_errors` function answers with every message that applies, none when the value is fine.

use std::borrow::Cow;

use super::pattern::{Class, framed};

/// Longest DNS label (RFC 1035 §2.3.4), and longest name part of a qualified name, label value.
pub const LABEL_MAX: usize = 63;
/// Longest DNS subdomain that leaves room for the dot and the terminating length byte (RFC 1035 §2.3.4).
pub const SUBDOMAIN_MAX: usize = 253;

const LABEL_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_NAME_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The text for a value longer than allowed, as most rules count it.
pub fn max_len_error(length: usize) -> String {
    format!("must be no more than {length} characters")
}

/// The same where the newer rules for label keys and values give it.
fn max_bytes_error(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

/// `must be between 1 and 65535, inclusive`
pub fn inclusive_range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// The text for a value that does not match: rule in words, examples, the expression.
pub fn regex_error(words: &str, pattern: &str, examples: &[&str]) -> String {
    let mut out = String::from(words);
    out.push_str(" (");
    for (at, example) in examples.iter().enumerate() {
        out.push_str(if at == 0 { "e.g. " } else { " or " });
        out.push_str(&format!("'{example}', "));
    }
    out.push_str(&format!("regex used for validation is '{pattern}')"));
    out
}

fn is_label_1123(value: &[u8]) -> bool {
    framed(value, Class::LOWER_ALPHANUMERIC, Class::LOWER_ALPHANUMERIC_DASH, Class::LOWER_ALPHANUMERIC)
}

fn is_subdomain_1123(value: &str) -> bool {
    value.as_bytes().split(|byte| *byte == b'.').all(is_label_1123)
}

/// RFC 1123 label.
pub fn dns1123_label_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_MAX {
        errors.push(max_len_error(LABEL_MAX));
    }
    if !is_label_1123(value.as_bytes()) {
        if is_subdomain_1123(value) {
            errors.push("must not contain dots".to_owned());
        } else {
            errors.push(regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL_1123,
                &["my-name", "123-abc"],
            ));
        }
    }
    errors
}

/// RFC 1123 subdomain.
pub fn dns1123_subdomain_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        errors.push(max_len_error(SUBDOMAIN_MAX));
    }
    if !is_subdomain_1123(value) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN_1123,
            &["example.com"],
        ));
    }
    errors
}

/// RFC 1123 subdomain that may hold underscores (DNS search paths).
pub fn dns1123_subdomain_with_underscore_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        errors.push(max_len_error(SUBDOMAIN_MAX));
    }
    let fits = value.as_bytes().split(|byte| *byte == b'.').all(|label| {
        let label = label.strip_prefix(b"_").unwrap_or(label);
        let middle = Class::LOWER_ALPHANUMERIC_DASH_UNDERSCORE;
        framed(label, Class::LOWER_ALPHANUMERIC, middle, Class::LOWER_ALPHANUMERIC)
    });
    if !fits {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errors
}

/// RFC 1035 label.
pub fn dns1035_label_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_MAX {
        errors.push(max_len_error(LABEL_MAX));
    }
    let middle = Class::LOWER_ALPHANUMERIC_DASH;
    if !framed(value.as_bytes(), Class::LOWER, middle, Class::LOWER_ALPHANUMERIC) {
        errors.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// A wildcard subdomain (`*.example.com`).
pub fn wildcard_dns1123_subdomain_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        errors.push(max_len_error(SUBDOMAIN_MAX));
    }
    if !value.strip_prefix("*.").is_some_and(is_subdomain_1123) {
        errors.push(regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            "\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["*.example.com"],
        ));
    }
    errors
}

fn is_name_part(value: &str) -> bool {
    framed(value.as_bytes(), Class::ALPHANUMERIC, Class::ALPHANUMERIC_EXTENDED, Class::ALPHANUMERIC)
}

/// Whether [`qualified_name_errors`] has nothing to say of a name.
pub fn is_qualified_name(value: &str) -> bool {
    let (prefix, name) = match value.bytes().position(|byte| byte == b'/') {
        None => (None, value),
        Some(at) => (Some(&value[..at]), &value[at + 1..]),
    };
    // A second slash is in no class.
    name.len() <= LABEL_MAX
        && is_name_part(name)
        && prefix.is_none_or(|prefix| prefix.len() <= SUBDOMAIN_MAX && is_subdomain_1123(prefix))
}

/// A qualified name: an optional DNS prefix, a slash, a name (label keys, finalizers, resource names).
pub fn qualified_name_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if is_qualified_name(value) {
        return errors;
    }
    let examples = ["MyName", "my.name", "123-abc"];
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            errors.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                regex_error(QUALIFIED_NAME_WORDS, QUALIFIED_NAME, &examples)
            ));
            return errors;
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > SUBDOMAIN_MAX {
                    errors.push(format!("prefix part {}", max_bytes_error(SUBDOMAIN_MAX)));
                }
                if !is_subdomain_1123(prefix) {
                    let text = dns1123_subdomain_errors(prefix).pop().unwrap_or_default();
                    errors.push(format!("prefix part {text}"));
                }
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        errors.push(format!("name part {}", max_bytes_error(LABEL_MAX)));
    }
    if !is_name_part(name) {
        errors.push(format!("name part {}", regex_error(QUALIFIED_NAME_WORDS, QUALIFIED_NAME, &examples)));
    }
    errors
}

/// Whether nothing is wrong with the value of a label.
pub(crate) fn is_label_value(value: &str) -> bool {
    value.len() <= LABEL_MAX && (value.is_empty() || is_name_part(value))
}

/// A label's value.
pub fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_MAX {
        errors.push(max_bytes_error(LABEL_MAX));
    }
    if !value.is_empty() && !is_name_part(value) {
        errors.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// What can stand in a URL path: not `.` nor `..`, no `/` nor `%`. As a prefix only the characters count.
pub fn path_segment_errors(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && (name == "." || name == "..") {
        return vec![format!("may not be '{name}'")];
    }
    let refused = [b'/', b'%'].into_iter().filter(|refused| name.bytes().any(|byte| byte == *refused));
    refused.map(|byte| format!("may not contain '{}'", char::from(byte))).collect()
}

/// A `generateName` prefix may end in a dash, as more text follows: the rule is checked on a name that cannot.
pub fn mask_trailing_dash(name: &str, prefix: bool) -> Cow<'_, str> {
    if prefix && name.len() > 1 && name.ends_with('-') {
        let mut end = name.len() - 2;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        return format!("{}a", &name[..end]).into();
    }
    name.into()
}

/// The name rule of most kinds.
pub fn name_is_dns_subdomain(name: &str, prefix: bool) -> Vec<String> {
    dns1123_subdomain_errors(&mask_trailing_dash(name, prefix))
}

/// The name rule of namespaces and the like.
pub fn name_is_dns_label(name: &str, prefix: bool) -> Vec<String> {
    dns1123_label_errors(&mask_trailing_dash(name, prefix))
}

/// The name rule that services used to have.
pub fn name_is_dns1035_label(name: &str, prefix: bool) -> Vec<String> {
    dns1035_label_errors(&mask_trailing_dash(name, prefix))
}

/// A port number.
pub fn port_number_errors(port: i64) -> Vec<String> {
    if (1..=65535).contains(&port) { Vec::new() } else { vec![inclusive_range_error(1, 65535)] }
}

/// A port's name (IANA service name, lower case only).
pub fn port_name_errors(port: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if port.len() > 15 {
        errors.push(max_len_error(15));
    }
    if port.is_empty() || !Class::LOWER_ALPHANUMERIC_DASH.has_all(port.as_bytes()) {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !port.bytes().any(|b| b.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if port.as_bytes().windows(2).any(|pair| pair == b"--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if port.starts_with('-') || port.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// A key of a ConfigMap or Secret.
pub fn config_map_key_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        errors.push(max_len_error(SUBDOMAIN_MAX));
    }
    if value.is_empty() || !Class::ALPHANUMERIC_EXTENDED.has_all(value.as_bytes()) {
        errors.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    errors.extend(parent_directory_errors(value));
    errors
}

/// The name of an environment variable, in the relaxed form that 1.37 accepts.
pub fn environment_variable_name_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.is_empty() {
        errors.push("environment variable name must be non-empty".to_owned());
    }
    if !value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=') {
        errors.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    errors
}

/// The name of an HTTP header.
pub fn http_header_name_errors(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// A percentage (`25%`).
pub fn percent_errors(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// A C identifier.
pub fn c_identifier_errors(value: &str) -> Vec<String> {
    let mut bytes = value.bytes();
    let fits = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if fits {
        return Vec::new();
    }
    vec![regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

fn parent_directory_errors(value: &str) -> Vec<String> {
    match value {
        "." | ".." => vec![format!("must not be '{value}'")],
        _ if value.starts_with("..") => vec!["must not start with '..'".to_owned()],
        _ => Vec::new(),
    }
}
