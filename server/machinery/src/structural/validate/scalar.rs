//! Types, texts and enumerations.

use super::{Fault, Faults, Outcome, Place, Types, fault};
use crate::{
    structural::{Node, Type},
    value::Value,
};

/// What Go's numbers are when they are looked at as integers: floats that are whole, or nearly.
pub(super) fn is_json_integer(f: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if !f.is_finite() || f.abs() > MAX {
        return false;
    }
    let rounded = f.round();
    f == rounded || rounded != 0.0 && (f - rounded).abs() < 1e-9 * rounded.abs()
}

pub(super) fn type_fault(
    node: Node<'_>,
    types: Types,
    format: &str,
    value: &Value<'_>,
    place: &Place<'_>,
) -> Option<Fault> {
    let (ty, own_format) = match value {
        Value::Bool(_) => (Type::Boolean, ""),
        Value::String(_) => (Type::String, ""),
        Value::Int(_) => (Type::Integer, "int64"),
        Value::Float(_) => (Type::Number, "float64"),
        Value::List(_) => (Type::Array, ""),
        _ => (Type::Object, ""),
    };
    let whole = matches!(value, Value::Float(f) if is_json_integer(*f)) && types.has(Type::Integer);
    let fits = types.has(ty) || whole || ty == Type::Integer && types.has(Type::Number);
    let textual = matches!(value, Value::String(_) | Value::List(_));
    if !textual && !format.is_empty() && !fits && format != own_format {
        return Some(Fault::wrong_type(place, format, own_format));
    }
    let numeric = types.has(Type::Number) || types.has(Type::Integer);
    if !numeric && !format.is_empty() && textual || fits {
        return None;
    }
    Some(Fault::wrong_type(place, &types.names(node), ty.name()))
}

/// The first of the bounds of a text that does not hold.
pub(super) fn string(node: Node<'_>, text: &str, place: &Place<'_>, faults: &mut Faults) -> Outcome {
    let mut outcome = Outcome::FINE;
    let Some(validation) = node.validation() else { return outcome };
    let value = Value::String(text);
    if validation.max_length().is_some() || validation.min_length().is_some() {
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(max) = validation.max_length()
            && length > max
        {
            outcome.fail(faults, Fault::too_long(place, max));
            return outcome;
        }
        if let Some(min) = validation.min_length()
            && length < min
        {
            outcome
                .fail(faults, Fault::bounded(place, &value, format!("should be at least {min} chars long")));
            return outcome;
        }
    }
    if let Some(pattern) = validation.compiled_pattern() {
        let text_of = match &pattern.regexp {
            Ok(regexp) if regexp.is_match(text) => return outcome,
            Ok(_) => pattern.text.to_string(),
            Err(error) => format!("{}, but pattern is invalid: {error}", pattern.text),
        };
        outcome.fail(faults, Fault::bounded(place, &value, format!("should match '{text_of}'")));
    }
    outcome
}

pub(super) fn enumeration(
    node: Node<'_>,
    value: &Value<'_>,
    place: &Place<'_>,
    faults: &mut Faults,
) -> Outcome {
    let mut outcome = Outcome::FINE;
    let Some(validation) = node.validation() else { return outcome };
    let values = validation.enumeration();
    if !values.is_empty() && !values.iter().any(|one| fault::is_enumerated(one, value)) {
        outcome.fail(faults, Fault::not_enumerated(place, value, values));
    }
    outcome
}
