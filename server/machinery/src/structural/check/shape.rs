//! What makes a schema structural (KEP-1693 and `ValidateStructural`): types everywhere, nothing but value validations
//! within logical junctors, and those of fields that the structure has.

use crate::{
    field::{FieldError, child, index, key},
    go_regexp::Regexp,
    structural::props::Props,
    value::Value,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// All errors, sorted by their texts.
pub(super) fn errors(props: Props<'_, '_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    structural(props, Level::Root, path, &mut errors);
    complete(props, Some(props), path, path, &mut errors);
    errors.sort_by_cached_key(|error| error.to_string());
    errors
}

/// What a field must not be for a schema to be left as Go makes an empty one.
fn says_something(value: &Value<'_>) -> bool {
    !matches!(value, Value::Null | Value::Bool(false) | Value::String(""))
}

/// The schema of `items`.
fn items<'v, 'a>(props: Props<'v, 'a>) -> Option<Props<'v, 'a>> {
    props.schema("items")
}

fn property_path(path: &str, name: &str) -> String {
    key(&child(path, "properties"), name)
}

/// Whether `anyOf` is an integer or a string, and nothing else.
fn is_int_or_string(props: Props<'_, '_>) -> bool {
    let types: Vec<Option<&str>> = props
        .schemas("anyOf")
        .map(|schema| {
            let mut said = schema.value().as_map()?.iter().filter(|(_, value)| says_something(value));
            match (said.next(), said.next()) {
                (Some(("type", Value::String(ty))), None) => Some(*ty),
                _ => None,
            }
        })
        .collect();
    types == [Some("integer"), Some("string")]
}

fn structural(props: Props<'_, '_>, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let ty = props.text("type");
    let at = |name: &str| child(path, name);
    match items(props) {
        None if ty == "array" => errors.push(FieldError::required(at("items"), "must be specified")),
        None => {}
        Some(items) => structural(items, Level::Item, &at("items"), errors),
    }
    for (name, property) in props.properties() {
        structural(property, Level::Field, &property_path(path, name), errors);
    }
    let additional = props.get("additionalProperties");
    if additional.is_some() {
        if level == Level::Root {
            errors.push(FieldError::forbidden(at("additionalProperties"), "must not be used at the root"));
        }
        if let Some(schema) = props.schema("additionalProperties") {
            structural(schema, Level::Field, &at("additionalProperties"), errors);
        }
    }
    let int_or_string = props.flag("x-kubernetes-int-or-string");
    let preserves = props.flag("x-kubernetes-preserve-unknown-fields");
    let embedded = props.flag("x-kubernetes-embedded-resource");
    for (name, set) in
        [("x-kubernetes-preserve-unknown-fields", preserves), ("x-kubernetes-embedded-resource", embedded)]
    {
        if int_or_string && set {
            let text = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(at(name), true, text));
        }
    }
    let skip_first = props.schemas("allOf").next().is_some_and(is_int_or_string);
    values(props, is_int_or_string(props), skip_first, path, errors);
    if embedded && ty != "object" {
        let text = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match ty {
            "" => FieldError::required(at("type"), text),
            ty => FieldError::invalid(at("type"), ty, text),
        });
    } else if ty.is_empty() && !int_or_string && !preserves {
        let text = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(at("type"), text));
    }
    if embedded && additional.is_some() {
        let text = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(at("additionalProperties"), text));
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        errors.push(FieldError::invalid(at("type"), ty, "must be object at the root"));
    }
    let of_object = level == Level::Root || embedded;
    for name in ["kind", "apiVersion"] {
        if let Some(property) = props.property(name).filter(|_| of_object)
            && property.text("type") != "string"
        {
            let at = child(&property_path(path, name), "type");
            errors.push(FieldError::invalid(at, property.text("type"), "must be string"));
        }
    }
    if let Some(metadata) = props.property("metadata") {
        metadata_errors(metadata, of_object, level, &property_path(path, "metadata"), errors);
    }
    if embedded && !preserves && props.properties().next().is_none() {
        let text = "must not be empty if x-kubernetes-embedded-resource is true without \
                    x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(at("properties"), text));
    }
}

fn metadata_errors(
    metadata: Props<'_, '_>,
    of_object: bool,
    level: Level,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let ty = metadata.text("type");
    if of_object && ty != "object" {
        errors.push(FieldError::invalid(child(path, "type"), ty, "must be object"));
    }
    if level != Level::Root {
        return;
    }
    let more =
        metadata.value().as_map().into_iter().flat_map(|map| map.iter()).any(|(name, value)| match name {
            "type" | "default" => false,
            "properties" => metadata.properties().any(|(name, _)| !matches!(name, "name" | "generateName")),
            _ => says_something(value) && !is_empty_schemas(name, value),
        });
    if more {
        let text = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(path, text));
    }
}

/// Lists that Go copies item by item: an empty one is none.
fn is_empty_schemas(name: &str, value: &Value<'_>) -> bool {
    matches!(name, "enum" | "allOf" | "anyOf" | "oneOf" | "x-kubernetes-validations")
        && value.as_list().is_some_and(|list| list.is_empty())
}

fn values(
    props: Props<'_, '_>,
    skip_any_of: bool,
    skip_first_any_of: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in ["anyOf", "allOf", "oneOf"] {
        if name == "anyOf" && skip_any_of {
            continue;
        }
        for (at, schema) in props.schemas(name).enumerate() {
            let skip = name == "allOf" && skip_first_any_of && at == 0;
            nested(schema, skip, &index(&child(path, name), at), errors);
        }
    }
    if let Some(not) = props.schema("not") {
        nested(not, false, &child(path, "not"), errors);
    }
    let pattern = props.text("pattern");
    if let Err(error) = Regexp::compile(pattern) {
        let text = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(child(path, "pattern"), pattern, text));
    }
}

/// A schema within a logical junctor.
fn nested(props: Props<'_, '_>, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    values(props, skip_any_of, false, path, errors);
    if let Some(items) = items(props) {
        nested(items, false, &child(path, "items"), errors);
    }
    for (name, property) in props.properties() {
        nested(property, false, &property_path(path, name), errors);
    }
    let mut forbid = |name: &str, must: &str| {
        errors.push(FieldError::forbidden(child(path, name), format!("must be {must} to be structural")));
    };
    let some = |name: &str| !props.text(name).is_empty();
    let listed = |name: &str| props.list(name).is_some_and(|list| !list.is_empty());
    if some("type") {
        forbid("type", "empty");
    }
    if matches!(props.get("additionalProperties"), Some(Value::Map(_) | Value::Bool(true))) {
        forbid("additionalProperties", "undefined");
    }
    if props.get("default").is_some() {
        forbid("default", "undefined");
    }
    for name in ["title", "description"] {
        if some(name) {
            forbid(name, "empty");
        }
    }
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if props.flag(name) {
            forbid(name, "false");
        }
    }
    if listed("x-kubernetes-list-map-keys") {
        forbid("x-kubernetes-list-map-keys", "empty");
    }
    for name in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if props.get(name).is_some() {
            forbid(name, "undefined");
        }
    }
    if listed("x-kubernetes-validations") {
        forbid("x-kubernetes-validations", "empty");
    }
    if props.property("metadata").is_some() {
        let text = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(property_path(path, "metadata"), text));
    }
}

/// Value validations are of what the structure has: `within` stands for the structure at `path`, and `value_path` is where
/// the validations do.
fn complete(
    props: Props<'_, '_>,
    within: Option<Props<'_, '_>>,
    path: &str,
    value_path: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = props.schema("not") {
        complete_nested(not, within, path, &child(value_path, "not"), errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (at, schema) in props.schemas(name).enumerate() {
            complete_nested(schema, within, path, &index(&child(value_path, name), at), errors);
        }
    }
}

fn complete_nested(
    props: Props<'_, '_>,
    within: Option<Props<'_, '_>>,
    path: &str,
    value_path: &str,
    errors: &mut Vec<FieldError>,
) {
    let missing = |path: String, value_path: &str| {
        FieldError::required(path, format!("because it is defined in {value_path}"))
    };
    let Some(structure) = within else {
        return errors.push(missing(path.to_owned(), value_path));
    };
    complete(props, within, path, value_path, errors);
    if let Some(nested) = items(props) {
        let (path, value_path) = (child(path, "items"), child(value_path, "items"));
        complete_nested(nested, items(structure), &path, &value_path, errors);
    }
    for (name, property) in props.properties() {
        let (path, value_path) = (property_path(path, name), property_path(value_path, name));
        match structure.property(name) {
            None => errors.push(missing(path, &value_path)),
            found => complete_nested(property, found, &path, &value_path, errors),
        }
    }
}
