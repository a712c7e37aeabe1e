//! Priority levels.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    value::{Map, Value},
};

use super::{Errors, go, required, with_map};
use crate::tree::{Members, same};

const QUEUES_MAX: i64 = 10_000_000;
/// Bits that a hash of a flow has.
const HASH_BITS: f64 = 60.0;
/// The level that never changes.
const CATCH_ALL: &str = r#"{"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"},"lendablePercent":0}}"#;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    const PRESERVE: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    if object.str_at(&["metadata", "annotations", PRESERVE]).is_some() {
        let why = format!("annotation '{PRESERVE}' is forbidden");
        errors.push(FieldError::forbidden("metadata.annotations", why));
    }
    with_map(object, "spec", |spec| level(name, spec, errors));
    fixed(name, object, errors);
    conditions(object, errors);
    with_map(object, "spec", |spec| declared(spec, errors));
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, _: &Value<'_>, errors: &mut Errors) {
    match part {
        Part::Status => conditions(object, errors),
        _ => validate(object, errors),
    }
}

/// Conditions: one of each type.
pub(super) fn conditions(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "status", |status| {
        let mut seen: Vec<&str> = Vec::new();
        for (at, condition) in status.items("conditions").iter().enumerate() {
            let kind = condition.str_at(&["type"]).unwrap_or("");
            let path = child(&index("status.conditions", at), "type");
            if seen.contains(&kind) {
                errors.push(FieldError::duplicate(path.clone(), kind));
            }
            seen.push(kind);
            if kind.is_empty() {
                errors.push(FieldError::required(path, ""));
            }
        }
    });
}

/// Levels that must be there are what they must be.
fn fixed(name: &str, object: &Value<'_>, errors: &mut Errors) {
    let spec = object.path(&["spec"]);
    let (differs, except) = match name {
        "exempt" => {
            let kind = spec.and_then(|s| s.str_at(&["type"]));
            let limited = spec.and_then(|s| s.path(&["limited"])).is_some_and(|l| !l.is_null());
            (kind != Some("Exempt") || limited, " except the 'spec.exempt' field")
        }
        "catch-all" => {
            let arena = bumpalo::Bump::new();
            let fixed = ringbolt_machinery::json::decode_untyped(&arena, CATCH_ALL.as_bytes()).ok();
            (!same(spec, fixed.as_ref()), "")
        }
        _ => return,
    };
    if differs {
        let shown = go::zero_or_text("flowcontrol", "PriorityLevelConfigurationSpec", spec);
        let why = format!("spec of '{name}'{except} must equal the fixed value");
        errors.push(FieldError::invalid("spec", Verbatim(&shown), why));
    }
}

fn level(name: &str, spec: &Map<'_>, errors: &mut Errors) {
    let kind = spec.text("type");
    if (name == "exempt") != (kind == "Exempt") {
        let why = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(FieldError::invalid("spec.type", kind, why));
    }
    match kind {
        "Exempt" => {
            if let Some(exempt) = spec.child("exempt") {
                shares(exempt, "spec.exempt", errors);
                lendable(exempt, "spec.exempt", errors);
            }
        }
        "Limited" => {
            if let Some(limited) = spec.child("limited") {
                validate_limited(limited, errors);
            }
        }
        "" => {}
        kind => errors.push(FieldError::not_supported("spec.type", kind, &["Exempt", "Limited"])),
    }
}

fn shares(level: &Map<'_>, path: &str, errors: &mut Errors) {
    if let Some(shares) = level.int("nominalConcurrencyShares").filter(|s| *s < 0) {
        let why = "must be a non-negative integer";
        errors.push(FieldError::invalid(child(path, "nominalConcurrencyShares"), shares, why));
    }
}

fn lendable(level: &Map<'_>, path: &str, errors: &mut Errors) {
    if let Some(percent) = level.int("lendablePercent").filter(|p| !(0..=100).contains(p)) {
        let why = "must be between 0 and 100, inclusive";
        errors.push(FieldError::invalid(child(path, "lendablePercent"), percent, why));
    }
}

fn validate_limited(limited: &Map<'_>, errors: &mut Errors) {
    const PATH: &str = "spec.limited";
    shares(limited, PATH, errors);
    if let Some(response) = limited.child("limitResponse") {
        let path = "spec.limited.limitResponse";
        match response.text("type") {
            "Queue" => {
                if let Some(queuing) = response.child("queuing") {
                    validate_queuing(queuing, &child(path, "queuing"), errors);
                }
            }
            "" | "Reject" => {}
            kind => errors.push(FieldError::not_supported(child(path, "type"), kind, &["Queue", "Reject"])),
        }
    }
    lendable(limited, PATH, errors);
    if let Some(limit) = limited.int("borrowingLimitPercent").filter(|l| *l < 0) {
        let why = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid(child(PATH, "borrowingLimitPercent"), limit, why));
    }
}

fn validate_queuing(queuing: &Map<'_>, path: &str, errors: &mut Errors) {
    let number = |member: &str| queuing.int(member).unwrap_or(0);
    let mut wrong = |member: &str, why: String| {
        errors.push(FieldError::invalid(child(path, member), number(member), why))
    };
    let positive = || "must be positive".to_owned();
    if number("queueLengthLimit") <= 0 {
        wrong("queueLengthLimit", positive());
    }
    let (queues, hand) = (number("queues"), number("handSize"));
    if queues <= 0 {
        wrong("queues", positive());
    } else if queues > QUEUES_MAX {
        wrong("queues", format!("must not be greater than {QUEUES_MAX}"));
    }
    if hand <= 0 {
        wrong("handSize", positive());
    } else if hand > queues {
        wrong("handSize", format!("should not be greater than queues ({queues})"));
    } else if ((queues as f64).log2() * hand as f64).ceil() > HASH_BITS {
        wrong(
            "handSize",
            format!(
                "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
            ),
        );
    }
}

/// What the fields' own declarations ask for; that is told after all else.
fn declared(spec: &Map<'_>, errors: &mut Errors) {
    let forbid = |there: bool, path: &str, errors: &mut Errors| {
        if there {
            errors.push(FieldError::forbidden(path, ""));
        }
    };
    let kind = spec.text("type");
    forbid(kind != "Exempt" && spec.has("exempt"), "spec.exempt", errors);
    if kind == "Limited" && !spec.has("limited") {
        errors.push(FieldError::required("spec.limited", ""));
    }
    forbid(kind != "Limited" && spec.has("limited"), "spec.limited", errors);
    required(spec, "type", "spec", errors);
    let Some(limited) = spec.child("limited") else { return };
    let path = "spec.limited.limitResponse";
    let response = limited.child("limitResponse");
    let kind = response.map_or("", |r| r.text("type"));
    let queuing = response.is_some_and(|r| r.has("queuing"));
    if kind == "Queue" && !queuing {
        errors.push(FieldError::required(child(path, "queuing"), ""));
    }
    forbid(kind != "Queue" && queuing, &child(path, "queuing"), errors);
    if kind.is_empty() {
        errors.push(FieldError::required(child(path, "type"), ""));
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn levels_that_must_be_there() {
        let check = |text: &str, expect: usize| {
            let arena = Bump::new();
            let object = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            let mut errors = Errors::new();
            validate(&object, &mut errors);
            assert_eq!(errors.len(), expect, "{text}: {errors:?}");
        };
        check(&format!(r#"{{"metadata":{{"name":"catch-all"}},"spec":{CATCH_ALL}}}"#), 0);
        check(
            r#"{"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{"lendablePercent":50}}}"#,
            0,
        );
        check(r#"{"metadata":{"name":"other"},"spec":{"type":"Exempt"}}"#, 1);
        check(
            r#"{"metadata":{"name":"catch-all"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":9,"limitResponse":{"type":"Reject"}}}}"#,
            1,
        );
    }
}
