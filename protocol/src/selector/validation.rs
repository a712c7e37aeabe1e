//! What label keys, label values and path segments may look like, with apimachinery's messages.

const KEY_MAX: usize = 63;
const VALUE_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const KEY_MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                           alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                           validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_MESSAGE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
                             or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                             'my_value',  or '12345', regex used for validation is \
                             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                                 '-' or '.', and must start and end with an alphanumeric character (e.g. \
                                 'example.com', regex used for validation is \
                                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a label key (`prefix/name`); empty when nothing is.
pub fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut parts = key.split('/');
    let (first, second) = (parts.next().unwrap_or(""), parts.next());
    if parts.next().is_some() {
        errors.push(format!(
            "a valid label key {KEY_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ));
        return errors;
    }
    let name = match second {
        None => first,
        Some(name) => {
            if first.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(subdomain_errors(first).into_iter().map(|e| format!("prefix part {e}")));
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > KEY_MAX {
        errors.push(format!("name part must be no more than {KEY_MAX} bytes"));
    }
    if !is_key_name(name) {
        errors.push(format!("name part {KEY_MESSAGE}"));
    }
    errors
}

/// What is wrong with a label value; empty when nothing is.
pub fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > VALUE_MAX {
        errors.push(format!("must be no more than {VALUE_MAX} bytes"));
    }
    if !value.is_empty() && !is_key_name(value) {
        errors.push(VALUE_MESSAGE.to_owned());
    }
    errors
}

/// What is wrong with an RFC 1123 subdomain; empty when nothing is.
pub fn subdomain_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        errors.push(format!("must be no more than {SUBDOMAIN_MAX} bytes"));
    }
    let label = |l: &str| {
        let b = l.as_bytes();
        let alphanumeric = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        b.first().is_some_and(|c| alphanumeric(*c))
            && b.last().is_some_and(|c| alphanumeric(*c))
            && b.iter().all(|c| alphanumeric(*c) || *c == b'-')
    };
    if !value.split('.').all(label) {
        errors.push(SUBDOMAIN_MESSAGE.to_owned());
    }
    errors
}

/// Whether a name can be a segment of a path: not `.` or `..`, and without `/` and `%`.
pub fn is_path_segment_name(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '%'])
}

fn is_key_name(name: &str) -> bool {
    let b = name.as_bytes();
    b.first().is_some_and(u8::is_ascii_alphanumeric)
        && b.last().is_some_and(u8::is_ascii_alphanumeric)
        && b.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}
