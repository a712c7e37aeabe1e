//! `JSONSchemaProps` as errors quote them: Go's encoding of the API server's internal struct, which has no JSON names and
//! leaves nothing out.

use crate::{
    field::{write_json, write_json_string},
    value::Value,
};

/// How a field of the struct is written.
#[derive(Clone, Copy)]
enum Form {
    /// A text, never absent.
    Text,
    /// A bool, never absent.
    Flag,
    /// A pointer or a list of scalars: null where there is none.
    Any,
    /// A pointer to a schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// A schema or a list of them.
    Items,
    /// A schema or a bool.
    OrBool,
    /// Schemas or lists of texts, by name.
    Dependencies,
    /// The external documentation.
    Docs,
    /// The rules.
    Rules,
}

/// Go's fields in their order, each with its JSON name.
const FIELDS: [(&str, &str, Form); 43] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Any),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Any),
    ("Maximum", "maximum", Form::Any),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Any),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Any),
    ("MinLength", "minLength", Form::Any),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Any),
    ("MinItems", "minItems", Form::Any),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Any),
    ("Enum", "enum", Form::Any),
    ("MaxProperties", "maxProperties", Form::Any),
    ("MinProperties", "minProperties", Form::Any),
    ("Required", "required", Form::Any),
    ("Items", "items", Form::Items),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::Named),
    ("AdditionalProperties", "additionalProperties", Form::OrBool),
    ("PatternProperties", "patternProperties", Form::Named),
    ("Dependencies", "dependencies", Form::Dependencies),
    ("AdditionalItems", "additionalItems", Form::OrBool),
    ("Definitions", "definitions", Form::Named),
    ("ExternalDocs", "externalDocs", Form::Docs),
    ("Example", "example", Form::Any),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Any),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Any),
    ("XListType", "x-kubernetes-list-type", Form::Any),
    ("XMapType", "x-kubernetes-map-type", Form::Any),
];

/// Go's fields of a rule.
const RULE: [(&str, &str, Form); 6] = [
    ("Rule", "rule", Form::Text),
    ("Message", "message", Form::Text),
    ("MessageExpression", "messageExpression", Form::Text),
    ("Reason", "reason", Form::Any),
    ("FieldPath", "fieldPath", Form::Text),
    ("OptionalOldSelf", "optionalOldSelf", Form::Any),
];

const DOCS: [(&str, &str, Form); 2] =
    [("Description", "description", Form::Text), ("URL", "url", Form::Text)];

/// The fields of the struct in Go's order, each with its JSON name; `XValidations` is the last.
pub fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIELDS.iter().map(|(go, json, _)| (*go, *json)).chain([("XValidations", "x-kubernetes-validations")])
}

/// Appends a schema.
pub fn write_schema(props: &Value<'_>, out: &mut String) {
    out.push('{');
    write_fields(&FIELDS, props, out);
    out.push_str(",\"XValidations\":");
    write(Form::Rules, get(props, "x-kubernetes-validations"), out);
    out.push('}');
}

/// Appends a rule of `x-kubernetes-validations`.
pub fn write_rule(rule: &Value<'_>, out: &mut String) {
    out.push('{');
    write_fields(&RULE, rule, out);
    out.push('}');
}

/// Appends what `items` may be, a schema or a list of them.
pub fn write_items(items: &Value<'_>, out: &mut String) {
    write(Form::Items, Some(items), out);
}

fn get<'v, 'a>(object: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    object.as_map()?.get(name).filter(|value| !value.is_null())
}

fn write_fields(fields: &[(&str, &str, Form)], object: &Value<'_>, out: &mut String) {
    for (at, (go, json, form)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(go);
        out.push_str("\":");
        write(*form, get(object, json), out);
    }
}

fn list<'a>(value: &Value<'a>, out: &mut String, mut write: impl FnMut(&Value<'a>, &mut String)) {
    out.push('[');
    for (at, item) in value.as_list().into_iter().flatten().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn named<'a>(value: &Value<'a>, out: &mut String, mut write: impl FnMut(&Value<'a>, &mut String)) {
    let mut entries: Vec<_> = value.as_map().into_iter().flat_map(|map| map.iter()).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (at, (key, item)) in entries.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_json_string(key, out);
        out.push(':');
        write(item, out);
    }
    out.push('}');
}

/// A struct with room for a schema and something else.
fn both(first: (&str, &str), second: (&str, &str), out: &mut String) {
    out.push_str(&format!("{{\"{}\":{},\"{}\":{}}}", first.0, first.1, second.0, second.1));
}

fn text_of(write: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    write(&mut out);
    out
}

fn write(form: Form, value: Option<&Value<'_>>, out: &mut String) {
    let value = match (form, value) {
        (Form::Text, value) => return write_json_string(value.and_then(Value::as_str).unwrap_or(""), out),
        (Form::Flag, value) => {
            let flag = value.and_then(Value::as_bool).unwrap_or(false);
            return out.push_str(if flag { "true" } else { "false" });
        }
        (_, None) => return out.push_str("null"),
        (_, Some(value)) => value,
    };
    let is_object = value.as_map().is_some();
    let schema = || if is_object { text_of(|out| write_schema(value, out)) } else { "null".to_owned() };
    match form {
        Form::Schema => write_schema(value, out),
        Form::Schemas => list(value, out, write_schema),
        Form::Named => named(value, out, write_schema),
        Form::Items => {
            let items =
                if is_object { "null".to_owned() } else { text_of(|out| list(value, out, write_schema)) };
            both(("Schema", &schema()), ("JSONSchemas", &items), out);
        }
        Form::OrBool => {
            let allows = value.as_bool().unwrap_or(is_object);
            both(("Allows", if allows { "true" } else { "false" }), ("Schema", &schema()), out);
        }
        Form::Dependencies => named(value, out, |one, out| {
            let is_object = one.as_map().is_some();
            let schema = if is_object { text_of(|out| write_schema(one, out)) } else { "null".to_owned() };
            let names = if is_object { "null".to_owned() } else { text_of(|out| write_json(one, out)) };
            both(("Schema", &schema), ("Property", &names), out);
        }),
        Form::Docs => {
            out.push('{');
            write_fields(&DOCS, value, out);
            out.push('}');
        }
        Form::Rules => list(value, out, write_rule),
        Form::Text | Form::Flag | Form::Any => write_json(value, out),
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::json;

    #[test]
    fn as_go_encodes_the_struct() {
        let arena = Bump::new();
        let props = br#"{"type":"object","items":{"type":"string"},"additionalProperties":true,"maxItems":1,
            "x-kubernetes-validations":[{"rule":"a<b","reason":"FieldValueInvalid"}],"enum":["a",null]}"#;
        let props = json::decode_untyped(&arena, props).unwrap();
        let mut out = String::new();
        write_schema(&props, &mut out);
        let tree: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(tree["Type"], "object");
        assert_eq!(tree["Items"]["Schema"]["Type"], "string");
        assert_eq!(tree["AdditionalProperties"], serde_json::json!({"Allows": true, "Schema": null}));
        assert_eq!(tree["Enum"], serde_json::json!(["a", null]));
        let rule = r#"[{"Rule":"a\u003cb","Message":"","MessageExpression":"","Reason":"FieldValueInvalid","FieldPath":"","OptionalOldSelf":null}]"#;
        assert!(out.ends_with(&format!("\"XMapType\":null,\"XValidations\":{rule}}}")), "{out}");
        assert!(out.starts_with(r#"{"ID":"","Schema":"","Ref":null,"Description":"","#), "{out}");
    }
}
