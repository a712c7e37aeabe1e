//! Conditions as all newer kinds have them.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{qualified_name_errors, regex_error},
    value::Map,
};

use super::{Errors, each_invalid, maps, one_of, required};
use crate::tree::Members;

/// What a condition can be.
pub(super) const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const REASON_MAX_BYTES: usize = 1024;
const MESSAGE_MAX_BYTES: usize = 32 * 1024;

/// The conditions of a status.
pub(super) fn conditions(status: &Map<'_>, path: &str, errors: &mut Errors) {
    let (list, path) = (status.items("conditions"), child(path, "conditions"));
    let mut seen: Vec<&str> = Vec::new();
    for (at, condition) in maps(list) {
        let (path, kind) = (index(&path, at), condition.text("type"));
        if seen.contains(&kind) {
            errors.push(FieldError::duplicate(path.clone(), kind));
        } else {
            seen.push(kind);
        }
        one(condition, &path, errors);
    }
}

fn one(condition: &Map<'_>, path: &str, errors: &mut Errors) {
    let (at, kind) = (child(path, "type"), condition.text("type"));
    if kind.is_empty() {
        errors.push(FieldError::required(at, "is required"));
    } else {
        each_invalid(qualified_name_errors(kind), &at, kind, errors);
    }
    if required(condition, "status", path, errors) {
        one_of(condition, "status", path, &STATUSES, errors);
    }
    if let Some(generation) = condition.int("observedGeneration").filter(|g| *g < 0) {
        let why = "must be greater than or equal to zero";
        errors.push(FieldError::invalid(child(path, "observedGeneration"), generation, why));
    }
    required(condition, "lastTransitionTime", path, errors);
    if required(condition, "reason", path, errors) {
        reason(condition.text("reason"), &child(path, "reason"), errors);
    }
    if condition.text("message").len() > MESSAGE_MAX_BYTES {
        errors.push(FieldError::too_long(child(path, "message"), MESSAGE_MAX_BYTES));
    }
}

fn reason(reason: &str, path: &str, errors: &mut Errors) {
    const WORDS: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
    const PATTERN: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
    const EXAMPLES: [&str; 5] = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
    let within = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b',' | b':');
    let bytes = reason.as_bytes();
    let fits = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().all(|b| within(*b))
        && bytes.last().is_some_and(|b| !matches!(b, b',' | b':'));
    if !fits {
        errors.push(FieldError::invalid(path, reason, regex_error(WORDS, PATTERN, &EXAMPLES)));
    }
    if reason.len() > REASON_MAX_BYTES {
        errors.push(FieldError::too_long(path, REASON_MAX_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons() {
        let wrong = |text: &str| {
            let mut errors = Errors::new();
            reason(text, "p", &mut errors);
            !errors.is_empty()
        };
        for good in ["A", "my_name", "ReasonA,ReasonB", "A:B_"] {
            assert!(!wrong(good), "{good}");
        }
        for bad in ["1", "_a", "a,", "a b", "a-b"] {
            assert!(wrong(bad), "{bad}");
        }
    }
}
