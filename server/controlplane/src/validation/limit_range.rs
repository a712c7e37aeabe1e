//! Limit ranges.

use ringbolt_machinery::{
    field::{FieldError, child, index, key},
    quantity::{Format, Quantity},
    validation::names::qualified_name_errors,
    value::{Map, Value},
};

use super::{Errors, each_invalid, maps, resource_name, sorted, with_map};
use crate::{quantity, tree::Members};

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let mut kinds: Vec<&str> = Vec::new();
        for (at, limit) in maps(spec.items("limits")) {
            let path = index("spec.limits", at);
            let kind = limit.text("type");
            limit_type(kind, &child(&path, "type"), errors);
            if kinds.contains(&kind) {
                errors.push(FieldError::duplicate(child(&path, "type"), kind));
            }
            kinds.push(kind);
            one(limit, kind, &path, errors);
        }
    });
}

fn limit_type(kind: &str, path: &str, errors: &mut Errors) {
    let wrong = qualified_name_errors(kind);
    if !wrong.is_empty() {
        each_invalid(wrong, path, kind, errors);
    } else if !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
        let why = "must be a standard limit type or fully qualified";
        errors.push(FieldError::invalid(path, kind, why));
    }
}

/// A named amount of one of the maps.
struct Amount<'a> {
    text: &'a str,
    value: Quantity,
}

fn amount<'a>(limit: &Map<'a>, member: &str, name: &str) -> Option<Amount<'a>> {
    let text = limit.child(member)?.get(name)?.as_str()?;
    Some(Amount { text, value: quantity::parse(text)? })
}

fn one(limit: &Map<'_>, kind: &str, path: &str, errors: &mut Errors) {
    let mut names: Vec<&str> = Vec::new();
    let mut read = |member: &str, errors: &mut Errors| {
        for (name, _) in sorted(limit.child(member)) {
            let path = key(&child(path, member), name);
            match kind {
                "Pod" | "Container" => resource_name::of_container(name, &path, errors),
                _ => {
                    resource_name::any(name, &path, errors);
                }
            }
            names.push(name);
        }
    };
    read("max", errors);
    read("min", errors);
    let of_pods = kind == "Pod";
    for member in ["default", "defaultRequest"] {
        if !of_pods {
            read(member, errors);
        } else if !limit.lacks(member) {
            let why = "may not be specified when `type` is 'Pod'";
            errors.push(FieldError::forbidden(child(path, member), why));
        }
    }
    let bounded = ["min", "max"].iter().any(|m| limit.child(m).is_some_and(|l| l.has("storage")));
    if kind == "PersistentVolumeClaim" && !bounded {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(child(path, "limits"), why));
    }
    read("maxLimitRequestRatio", errors);
    names.sort_unstable();
    names.dedup();
    for name in names {
        relations(limit, name, of_pods, path, errors);
    }
}

/// How the amounts of one resource relate.
fn relations(limit: &Map<'_>, name: &str, of_pods: bool, path: &str, errors: &mut Errors) {
    let read = |member: &str| amount(limit, member, name);
    let (min, max) = (read("min"), read("max"));
    let (default, request) = match of_pods {
        true => (None, None),
        false => (read("default"), read("defaultRequest")),
    };
    let ratio = read("maxLimitRequestRatio");
    let mut greater = |a: &Option<Amount<'_>>,
                       b: &Option<Amount<'_>>,
                       words: [&str; 2],
                       member: &str,
                       shown: &Option<Amount<'_>>| {
        if let (Some(a), Some(b), Some(shown)) = (a, b, shown)
            && a.value > b.value
        {
            let why = format!("{} {} is greater than {} {}", words[0], a.text, words[1], b.text);
            errors.push(FieldError::invalid(key(&child(path, member), name), shown.text, why));
        }
    };
    greater(&min, &max, ["min value", "max value"], "min", &min);
    greater(&min, &request, ["min value", "default request value"], "defaultRequest", &request);
    greater(&request, &max, ["default request value", "max value"], "defaultRequest", &request);
    let words = ["default request value", "default limit value"];
    greater(&request, &default, words, "defaultRequest", &request);
    greater(&min, &default, ["min value", "default value"], "default", &min);
    greater(&default, &max, ["default value", "max value"], "default", &max);
    if let Some(ratio) = &ratio {
        let path = key(&child(path, "maxLimitRequestRatio"), name);
        if ratio.value < Quantity::new(1, Format::DecimalSi) {
            let why = format!("ratio {} is less than 1", ratio.text);
            errors.push(FieldError::invalid(path.clone(), ratio.text, why));
        }
        if let (Some(min), Some(max)) = (&min, &max) {
            // Up to here a number of thousandths fits into 64 bits.
            const FITS: i64 = i64::MAX / 1000;
            let fine = [&ratio.value, &min.value, &max.value].iter().all(|q| q.value() < FITS);
            let (given, low, high) = match fine {
                true => (
                    ratio.value.milli_value() as f64 / 1000.0,
                    min.value.milli_value(),
                    max.value.milli_value(),
                ),
                false => (ratio.value.value() as f64, min.value.value(), max.value.value()),
            };
            let most = high as f64 / low as f64;
            if given > most {
                let shown = if most.is_infinite() { "+Inf".to_owned() } else { format!("{most:.6}") };
                let why = format!("ratio {} is greater than max/min = {shown}", ratio.text);
                errors.push(FieldError::invalid(path, ratio.text, why));
            }
        }
    }
    if let (Some(default), Some(request)) = (&default, &request)
        && !resource_name::may_overcommit(name)
        && default.value != request.value
    {
        let why = format!(
            "default value {} must equal to defaultRequest value {} in {name}",
            default.text, request.text
        );
        errors.push(FieldError::invalid(key(&child(path, "defaultRequest"), name), request.text, why));
    }
}
