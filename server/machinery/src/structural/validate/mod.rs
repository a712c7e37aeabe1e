//! Whether an object is what its schema says, as kube-openapi tells it: its messages, its order, its choice among the
//! failures of alternatives, and its tolerance of what an update leaves as it was.

mod fault;
mod junctor;
mod number;
mod ratchet;
mod scalar;

pub(super) use fault::bad_value;
use fault::{Fault, Faults, Place};
pub(super) use number::go_int;
use ratchet::Correlated;
pub use ratchet::same_values;
use scalar::{enumeration, string, type_fault};

use super::{AdditionalProperties, Node, Structural, Type, formats};
use crate::{
    field::FieldError,
    value::{Map, Value},
};

impl Structural {
    /// What is wrong with a new object.
    pub fn validate(&self, object: &Value<'_>) -> Vec<FieldError> {
        run(self.root(), object, None, None, Use::Object)
    }

    /// What is wrong with an object that takes the place of `old`, beyond what was wrong before and is the same still.
    pub fn validate_update(&self, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        update(self.root(), object, old, None)
    }

    /// What is wrong with the status of an object whose status takes the place of that of `old`.
    pub fn validate_status_update(&self, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        let Some(status) = object.path(&["status"]) else { return Vec::new() };
        let Some(node) = self.root().property("status") else { return Vec::new() };
        let old = old.path(&["status"]).unwrap_or(&Value::Null);
        update(node, status, old, Some("status"))
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

/// Most objects are in order, and then nobody asks what they were before.
fn update(node: Node<'_>, new: &Value<'_>, old: &Value<'_>, prefix: Option<&str>) -> Vec<FieldError> {
    match run(node, new, None, prefix, Use::Object) {
        errors if errors.is_empty() => errors,
        _ => run(node, new, Some(Correlated { node, old, new }), prefix, Use::Object),
    }
}

fn run(
    node: Node<'_>,
    value: &Value<'_>,
    correlated: Option<Correlated<'_, '_, '_>>,
    prefix: Option<&str>,
    of: Use,
) -> Vec<FieldError> {
    let mut faults = Faults::default();
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

    fn fail(&mut self, faults: &mut Faults, fault: Fault) {
        self.valid = false;
        faults.push(fault);
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
        faults: &mut Faults,
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
        faults: &mut Faults,
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

    fn list(
        &self,
        node: Node<'_>,
        items: &[Value<'_>],
        correlated: Option<Correlated<'_, '_, '_>>,
        place: &Place<'_>,
        faults: &mut Faults,
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
        faults: &mut Faults,
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
