//! What validation finds, and where: texts are made for what is wrong only.

use std::collections::HashSet;

use crate::{
    field::{FieldError, Verbatim, quote},
    json::encode_untyped,
    limits::{VALIDATION_ERROR_BYTES_MAX, VALIDATION_ERRORS_MAX},
    patch::go_text,
    structural::Json,
    value::Value,
};

/// One step down.
#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Property(&'p str),
    /// A key of a map, or a field that is missing: at the root it has a dot before it, unlike a property.
    Member(&'p str),
    Index(usize),
}

/// Where the validator stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
}

impl<'p> Place<'p> {
    pub(super) const ROOT: Place<'static> = Place { parent: None, step: Step::Root };

    pub(super) fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    fn then<'q>(&'q self, step: Step<'q>) -> Place<'q> {
        Place { parent: Some(self), step }
    }

    pub(super) fn property<'q>(&'q self, name: &'q str) -> Place<'q> {
        self.then(Step::Property(name))
    }

    pub(super) fn member<'q>(&'q self, key: &'q str) -> Place<'q> {
        self.then(Step::Member(key))
    }

    pub(super) fn index(&self, at: usize) -> Place<'_> {
        self.then(Step::Index(at))
    }

    fn text(&self) -> String {
        let mut parent = self.parent.map(Place::text).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Property(name) if parent.is_empty() => parent.push_str(name),
            Step::Property(name) | Step::Member(name) => {
                parent.push('.');
                parent.push_str(name);
            }
            Step::Index(at) => {
                parent.push('[');
                parent.push_str(itoa::Buffer::new().format(at));
                parent.push(']');
            }
        }
        parent
    }
}

/// What kind of field error a fault becomes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    WrongType,
    Required,
    NotEnumerated(Vec<String>),
    TooLong(i64),
    TooMany(i64, i64),
    Invalid,
    /// No field is named, but for where the validation began.
    Unplaced,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fault {
    kind: Kind,
    name: String,
    /// The value as the message shows it.
    value: String,
    message: String,
}

impl Fault {
    fn new(kind: Kind, name: String, value: String, message: String) -> Self {
        Fault { kind, name, value, message }
    }

    /// `name in body must be of type T: "value"`
    pub(super) fn wrong_type(place: &Place<'_>, ty: &str, value: &str) -> Fault {
        let name = place.text();
        let quoted = quote(value);
        let message = format!("{name} in body must be of type {ty}: {quoted}");
        Fault::new(Kind::WrongType, name, quoted, message)
    }

    pub(super) fn required(place: &Place<'_>) -> Fault {
        Fault::new(Kind::Required, place.text(), String::new(), String::new())
    }

    pub(super) fn not_enumerated(place: &Place<'_>, value: &Value<'_>, values: &[Json]) -> Fault {
        let values = values.iter().map(|value| match value {
            Json::String(text) => text.to_string(),
            other => {
                let arena = bumpalo::Bump::new();
                encoded(&other.copy_into(&arena))
            }
        });
        Fault::new(Kind::NotEnumerated(values.collect()), place.text(), bad_value(value), String::new())
    }

    pub(super) fn too_long(place: &Place<'_>, max: i64) -> Fault {
        Fault::new(Kind::TooLong(max), place.text(), String::new(), String::new())
    }

    pub(super) fn too_many(place: &Place<'_>, actual: i64, max: i64) -> Fault {
        Fault::new(Kind::TooMany(actual, max), place.text(), String::new(), String::new())
    }

    /// `name in body should …`
    pub(super) fn bounded(place: &Place<'_>, value: &Value<'_>, text: String) -> Fault {
        let name = place.text();
        let message = format!("{name} in body {text}");
        Fault::new(Kind::Invalid, name, bad_value(value), message)
    }

    /// The same without a value.
    pub(super) fn valueless(place: &Place<'_>, text: &str) -> Fault {
        let name = place.text();
        let message = format!("{name} in body {text}");
        Fault::new(Kind::Invalid, name, "\"\"".into(), message)
    }

    /// A message that names the field itself.
    pub(super) fn factor(place: &Place<'_>, factor: &Value<'_>) -> Fault {
        let name = place.text();
        let text = go_text::plain(factor);
        let message = format!("factor MultipleOf declared for {name} must be positive: {text}");
        Fault::new(Kind::Invalid, name, text, message)
    }

    pub(super) fn forbidden_property(place: &Place<'_>, key: &str) -> Fault {
        let name = place.text();
        let message = format!("{name}.{key} in body is a forbidden property");
        Fault::new(Kind::Invalid, name, quote(key), message)
    }

    /// `"name" must …`, which has no field.
    pub(super) fn composite(place: &Place<'_>, text: &str) -> Fault {
        let message = format!("{} {text}", quote(&place.text()));
        Fault::new(Kind::Unplaced, String::new(), "\"\"".into(), message)
    }

    /// `text in name`, which has no field.
    pub(super) fn unplaced(place: &Place<'_>, text: &str) -> Fault {
        let message = format!("{text} in {}", place.text());
        Fault::new(Kind::Unplaced, String::new(), "\"\"".into(), message)
    }

    fn bytes(&self) -> usize {
        let values = if let Kind::NotEnumerated(values) = &self.kind {
            values.iter().map(String::len).sum()
        } else {
            0
        };
        self.name.len() + self.value.len() + self.message.len() + values
    }

    fn field_error(self, prefix: Option<&str>) -> FieldError {
        let name = self.name.strip_prefix('.').unwrap_or(&self.name);
        let field = match (prefix, name) {
            (None, "") => "<nil>".to_owned(),
            (None, name) => name.to_owned(),
            (Some(prefix), "") => prefix.to_owned(),
            (Some(prefix), name) => format!("{prefix}.{name}"),
        };
        let value = Verbatim(&self.value);
        let size = |n: i64| usize::try_from(n).unwrap_or(0);
        match self.kind {
            Kind::WrongType => FieldError::type_invalid(field, value, self.message),
            Kind::Required => FieldError::required(field, ""),
            Kind::NotEnumerated(values) => FieldError::not_supported(field, value, &values),
            Kind::TooLong(max) => FieldError::too_long(field, size(max)),
            Kind::TooMany(actual, max) => FieldError::too_many(field, size(actual), size(max)),
            Kind::Invalid | Kind::Unplaced => FieldError::invalid(field, value, self.message),
        }
    }
}

/// What was found so far, as much of it as will be told.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
    /// Bytes of the texts.
    bytes: usize,
}

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        if self.list.len() < VALIDATION_ERRORS_MAX && self.bytes < VALIDATION_ERROR_BYTES_MAX {
            self.bytes += fault.bytes();
            self.list.push(fault);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes -= self.list.drain(len..).map(|fault| fault.bytes()).sum::<usize>();
    }

    pub(super) fn into_list(self) -> Vec<Fault> {
        self.list
    }
}

/// The errors of faults, each told once. `prefix` is the field that was validated, where it was not the object itself.
pub(super) fn field_errors(faults: Faults, prefix: Option<&str>) -> Vec<FieldError> {
    let mut seen = HashSet::new();
    let mut errors = Vec::with_capacity(faults.len());
    for fault in faults.into_list() {
        if seen.insert(fault.clone()) {
            errors.push(fault.field_error(prefix));
        }
    }
    errors
}

fn encoded(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    encode_untyped(value, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A value as field errors show it: scalars as Go prints them, anything else as JSON.
pub(in crate::structural) fn bad_value(value: &Value<'_>) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => go_text::plain(value),
        other => encoded(other),
    }
}

/// Whether a value is one of an enumeration. Go converts where it can: floats to integers and back, and an integer to
/// the character of that number.
pub(super) fn is_enumerated(one: &Json, value: &Value<'_>) -> bool {
    match (one, value) {
        (Json::Null, _) | (_, Value::Null) => false,
        (Json::Float(f), Value::Int(n)) => f.get() == *n as f64,
        (Json::Int(n), Value::Float(f)) => *n == super::number::go_int(*f),
        (Json::String(text), Value::Int(n)) => {
            let c = u32::try_from(*n).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.chars().eq([c])
        }
        (one, value) => one.equals(value),
    }
}

/// Whether two items of a list are the same: an integer is no float.
pub(super) fn has_duplicates(items: &[Value<'_>]) -> bool {
    let mut seen = HashSet::new();
    !items.iter().all(|item| {
        let mut key = vec![u8::from(matches!(item, Value::Float(_)))];
        encode_untyped(item, &mut key);
        seen.insert(key)
    })
}
