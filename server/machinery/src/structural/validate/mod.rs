//! Whether an object is what its schema says, as kube-openapi tells it: its messages, its order, its choice among the
//! failures of alternatives, and its tolerance of what an update leaves as it was.

mod fault;
mod number;
mod ratchet;

pub(super) use fault::bad_value;
use fault::{Fault, Place};
pub(super) use number::go_int;
use ratchet::Correlated;
pub use ratchet::same_values;

use super::{AdditionalProperties, Node, Structural, Type, formats};
use crate::{
    field::FieldError,
    limits::VALIDATION_ERRORS_MAX,
    value::{Map, Value},
};

impl Structural {
    /// What is wrong with a new object.
    pub fn validate(&self, object: &Value<'_>) -> Vec<FieldError> {
        run(self.root(), object, None, None, Use::Object)
    }

    /// What is wrong with an object that takes the place of `old`, beyond what was wrong before and is the same still.
    pub fn validate_update(&self, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        let root = self.root();
        run(root, object, Some(Correlated { node: root, old, new: object }), None, Use::Object)
    }

    /// What is wrong with the status of an object whose status takes the place of that of `old`.
    pub fn validate_status_update(&self, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        let Some(status) = object.path(&["status"]) else { return Vec::new() };
        let Some(node) = self.root().property("status") else { return Vec::new() };
        let old = old.path(&["status"]).unwrap_or(&Value::Null);
        run(node, status, Some(Correlated { node, old, new: status }), Some("status"), Use::Object)
    }
}

/// What a default of the schema is, checked as a value of its node. `path` is where it stands.
pub(super) fn default_errors(node: Node<'_>, value: &Value<'_>, path: &str) -> Vec<FieldError> {
    run(node, value, None, Some(path), Use::Default)
}

/// What is validated: the two come to the schema on different ways in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// An object: formats that are not known count for nothing.
    Object,
    /// A default: all formats count, and an integer or a string may be anything that nothing else forbids.
    Default,
}

fn run(
    node: Node<'_>,
    value: &Value<'_>,
    correlated: Option<Correlated<'_, '_, '_>>,
    prefix: Option<&str>,
    of: Use,
) -> Vec<FieldError> {
    let mut faults = Vec::new();
    Validator { of }.correlated(node, value, correlated, &Place::ROOT, &mut faults);
    fault::field_errors(faults, prefix)
}

/// What a validation came to: how much of it matched, by which the best of several failures is chosen, and whether it
/// found nothing wrong.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    matches: usize,
    valid: bool,
}

impl Outcome {
    const FINE: Outcome = Outcome { matches: 0, valid: true };

    fn merge(&mut self, other: Outcome) {
        self.matches += other.matches;
        self.valid &= other.valid;
    }

    fn fail(&mut self, faults: &mut Vec<Fault>, fault: Fault) {
        self.valid = false;
        if faults.len() < VALIDATION_ERRORS_MAX {
            faults.push(fault);
        }
    }
}

/// The types a node takes; none is any.
#[derive(Clone, Copy)]
struct Types(&'static [Type]);

impl Types {
    fn has(self, ty: Type) -> bool {
        self.0.contains(&ty)
    }

    fn names(self, node: Node<'_>) -> String {
        match self.0 {
            [Type::Unknown] => node.type_name().to_owned(),
            types => types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(","),
        }
    }
}

fn types(node: Node<'_>, of: Use) -> Types {
    if of == Use::Object && node.is_int_or_string() {
        return Types(&[Type::Integer, Type::String]);
    }
    Types(match node.ty() {
        Type::Any => &[],
        Type::Object => &[Type::Object],
        Type::Array => &[Type::Array],
        Type::String => &[Type::String],
        Type::Integer => &[Type::Integer],
        Type::Number => &[Type::Number],
        Type::Boolean => &[Type::Boolean],
        Type::Null => &[Type::Null],
        Type::Unknown => &[Type::Unknown],
    })
}

struct Validator {
    of: Use,
}

impl Validator {
    /// A value, and whether it is as it was where something is wrong with it.
    fn correlated(
        &self,
        node: Node<'_>,
        value: &Value<'_>,
        correlated: Option<Correlated<'_, '_, '_>>,
        place: &Place<'_>,
        faults: &mut Vec<Fault>,
    ) -> Outcome {
        let before = faults.len();
        let mut outcome = self.value(node, value, correlated, place, faults);
        if !outcome.valid && correlated.is_some_and(|correlated| correlated.unchanged()) {
            faults.truncate(before);
            outcome.valid = true;
        }
        outcome
    }

    fn value(
        &self,
        node: Node<'_>,
        value: &Value<'_>,
        correlated: Option<Correlated<'_, '_, '_>>,
        place: &Place<'_>,
        faults: &mut Vec<Fault>,
    ) -> Outcome {
        let mut outcome = Outcome::FINE;
        let types = types(node, self.of);
        if value.is_null() {
            if types.0.is_empty() || types.has(Type::Null) || node.nullable() {
                outcome.matches += 1;
            } else {
                outcome.fail(faults, Fault::wrong_type(place, &types.names(node), "null"));
            }
            outcome.merge(enumeration(node, value, place, faults));
            return outcome;
        }
        let format = self.format(node, types);
        if !types.0.is_empty() || !format.is_empty() {
            match type_fault(node, types, format, value, place) {
                Some(fault) => outcome.fail(faults, fault),
                None => outcome.matches += 1,
            }
            outcome.matches += 1;
        }
        outcome.merge(self.junctors(node, value, place, faults));
        outcome.matches += 1;
        match value {
            Value::String(text) => {
                outcome.merge(string(node, text, place, faults));
                outcome.matches += 1;
                if let Some(fits) = formats::fits(format, text) {
                    if !fits {
                        outcome.fail(faults, Fault::wrong_type(place, format, text));
                    }
                    outcome.matches += 1;
                }
            }
            Value::Int(_) | Value::Float(_) => {
                outcome.merge(number::validate(node, types, format, value, place, faults));
                outcome.matches += 1;
            }
            Value::List(items) => {
                outcome.merge(self.list(node, items, correlated, place, faults));
                outcome.matches += 1;
            }
            _ => {}
        }
        outcome.merge(enumeration(node, value, place, faults));
        outcome.matches += 1;
        if let Value::Map(map) = value {
            outcome.merge(self.object(node, map, correlated, place, faults));
            outcome.matches += 1;
        }
        outcome.matches += 1;
        outcome
    }

    /// The format that counts.
    fn format<'s>(&self, node: Node<'s>, types: Types) -> &'s str {
        let format = node.validation().map_or("", |validation| validation.format());
        if format.is_empty() || self.of == Use::Default {
            return format;
        }
        let ty = if let [ty] = types.0 { *ty } else { Type::Any };
        if formats::is_recognized(ty, format) { format } else { "" }
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`.
    fn junctors(
        &self,
        node: Node<'_>,
        value: &Value<'_>,
        place: &Place<'_>,
        faults: &mut Vec<Fault>,
    ) -> Outcome {
        let mut outcome = Outcome { matches: 1, valid: true };
        let Some(validation) = node.validation() else { return outcome };
        if validation.any_of().len() > 0 {
            self.any_of(validation.any_of(), value, place, &mut outcome, faults);
        }
        if validation.one_of().len() > 0 {
            self.one_of(validation.one_of(), value, place, &mut outcome, faults);
        }
        if validation.all_of().len() > 0 {
            let mut validated = 0;
            for schema in validation.all_of() {
                let result = self.value(schema, value, None, place, faults);
                validated += usize::from(result.valid);
                outcome.merge(result);
            }
            if validated != validation.all_of().len() {
                let none = if validated == 0 { ". None validated" } else { "" };
                outcome.fail(
                    faults,
                    Fault::composite(place, &format!("must validate all the schemas (allOf){none}")),
                );
            }
        }
        if let Some(not) = validation.not()
            && self.value(not, value, None, place, &mut Vec::new()).valid
        {
            outcome.fail(faults, Fault::composite(place, "must not validate the schema (not)"));
        }
        outcome
    }

    fn any_of<'s>(
        &self,
        schemas: impl Iterator<Item = Node<'s>>,
        value: &Value<'_>,
        place: &Place<'_>,
        outcome: &mut Outcome,
        faults: &mut Vec<Fault>,
    ) {
        let mut best: Option<(usize, Vec<Fault>)> = None;
        for schema in schemas {
            let mut found = Vec::new();
            let result = self.value(schema, value, None, place, &mut found);
            if result.valid {
                outcome.matches += result.matches;
                return;
            }
            if best.as_ref().is_none_or(|(matches, _)| result.matches > *matches) {
                best = Some((result.matches, found));
            }
        }
        outcome.fail(faults, Fault::composite(place, "must validate at least one schema (anyOf)"));
        self.keep(best, outcome, faults);
    }

    fn one_of<'s>(
        &self,
        schemas: impl Iterator<Item = Node<'s>>,
        value: &Value<'_>,
        place: &Place<'_>,
        outcome: &mut Outcome,
        faults: &mut Vec<Fault>,
    ) {
        let mut best: Option<(usize, Vec<Fault>)> = None;
        let mut first = None;
        let mut validated = 0;
        for schema in schemas {
            let mut found = Vec::new();
            let result = self.value(schema, value, None, place, &mut found);
            if result.valid {
                validated += 1;
                best = None;
                first.get_or_insert(result.matches);
            } else if validated == 0 && best.as_ref().is_none_or(|(matches, _)| result.matches > *matches) {
                best = Some((result.matches, found));
            }
        }
        let how_many = match validated {
            1 => {
                outcome.matches += first.unwrap_or(0);
                return;
            }
            0 => "Found none valid".to_owned(),
            n => format!("Found {n} valid alternatives"),
        };
        let text = format!("must validate one and only one schema (oneOf). {how_many}");
        outcome.fail(faults, Fault::composite(place, &text));
        self.keep(best, outcome, faults);
    }

    /// The failure with the most matches is the one that is told.
    fn keep(&self, best: Option<(usize, Vec<Fault>)>, outcome: &mut Outcome, faults: &mut Vec<Fault>) {
        let Some((matches, found)) = best else { return };
        outcome.matches += matches;
        for fault in found {
            outcome.fail(faults, fault);
        }
    }

    fn list(
        &self,
        node: Node<'_>,
        items: &[Value<'_>],
        correlated: Option<Correlated<'_, '_, '_>>,
        place: &Place<'_>,
        faults: &mut Vec<Fault>,
    ) -> Outcome {
        let mut outcome = Outcome::FINE;
        if let Some(schema) = node.items() {
            let old = correlated.map(|correlated| correlated.items());
            for (at, item) in items.iter().enumerate() {
                let below = old.as_ref().and_then(|old| old.get(item));
                outcome.merge(self.correlated(schema, item, below, &place.index(at), faults));
            }
        }
        if let Some(validation) = node.validation() {
            let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
            if let Some(min) = validation.min_items()
                && size < min
            {
                outcome.fail(
                    faults,
                    Fault::bounded(place, &Value::Int(size), format!("should have at least {min} items")),
                );
            }
            if let Some(max) = validation.max_items()
                && size > max
            {
                outcome.fail(faults, Fault::too_many(place, size, max));
            }
            if validation.unique_items() && fault::has_duplicates(items) {
                outcome.fail(faults, Fault::valueless(place, "shouldn't contain duplicates"));
            }
        }
        outcome.matches += 1;
        outcome
    }

    fn object(
        &self,
        node: Node<'_>,
        map: &Map<'_>,
        correlated: Option<Correlated<'_, '_, '_>>,
        place: &Place<'_>,
        faults: &mut Vec<Fault>,
    ) -> Outcome {
        let mut outcome = Outcome::FINE;
        let validation = node.validation();
        if let Some(validation) = validation {
            let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
            if let Some(min) = validation.min_properties()
                && size < min
            {
                let text = format!("should have at least {min} properties");
                outcome.fail(faults, Fault::bounded(place, &Value::Int(size), text));
            }
            if let Some(max) = validation.max_properties()
                && size > max
            {
                outcome.fail(faults, Fault::too_many(place, size, max));
            }
        }
        match node.additional_properties() {
            AdditionalProperties::Bool(false) => {
                for (key, _) in map.iter().filter(|(key, _)| node.property(key).is_none()) {
                    outcome.fail(faults, Fault::forbidden_property(place, key));
                }
            }
            AdditionalProperties::Schema(schema) => {
                for (key, value) in map.iter().filter(|(key, _)| node.property(key).is_none()) {
                    let below = self.below(correlated, key, place);
                    outcome.merge(self.correlated(schema, value, below, &place.member(key), faults));
                }
            }
            AdditionalProperties::None | AdditionalProperties::Bool(true) => {}
        }
        if node.property_count() > 0 {
            for (key, value) in map.iter() {
                let Some(property) = node.property(key) else { continue };
                let below = self.below(correlated, key, place);
                outcome.merge(self.correlated(property, value, below, &place.property(key), faults));
            }
        }
        for name in validation.into_iter().flat_map(|validation| validation.required()) {
            if map.get(name).is_none() {
                outcome.fail(faults, Fault::required(&place.member(name)));
            }
        }
        outcome
    }

    /// The old value of a member; the type of an object is always the same, whatever it was stored as.
    fn below<'n, 'o, 'v>(
        &self,
        correlated: Option<Correlated<'n, 'o, 'v>>,
        key: &str,
        place: &Place<'_>,
    ) -> Option<Correlated<'n, 'o, 'v>> {
        if place.is_root() && matches!(key, "kind" | "apiVersion") {
            return None;
        }
        correlated?.member(key)
    }
}

/// What Go's numbers are when they are looked at as integers: floats that are whole, or nearly.
fn is_json_integer(f: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if !f.is_finite() || f.abs() > MAX {
        return false;
    }
    let rounded = f.round();
    f == rounded || rounded != 0.0 && (f - rounded).abs() < 1e-9 * rounded.abs()
}

fn type_fault(
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
fn string(node: Node<'_>, text: &str, place: &Place<'_>, faults: &mut Vec<Fault>) -> Outcome {
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

fn enumeration(node: Node<'_>, value: &Value<'_>, place: &Place<'_>, faults: &mut Vec<Fault>) -> Outcome {
    let mut outcome = Outcome::FINE;
    let Some(validation) = node.validation() else { return outcome };
    let values = validation.enumeration();
    if !values.is_empty() && !values.iter().any(|one| fault::is_enumerated(one, value)) {
        outcome.fail(faults, Fault::not_enumerated(place, value, values));
    }
    outcome
}
