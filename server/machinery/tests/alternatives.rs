//! Values that are an object or something else, and any JSON: the schemas of CustomResourceDefinitions.

use bumpalo::Bump;
use ringbolt_machinery::{
    json::{decode_stored, decode_typed, encode, encode_stored},
    protobuf,
    schema::{Schema, StructId},
    strict::Mode,
    value::Value,
};

fn schema_type() -> StructId {
    let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    Schema::builtin().by_openapi_name(name).expect("it is built in").0
}

fn text(ty: StructId, value: &Value<'_>) -> String {
    let mut out = Vec::new();
    encode(Schema::builtin(), ty, value, &mut out);
    String::from_utf8(out).expect("JSON is text")
}

/// What a schema becomes in JSON; the same through protobuf and back.
fn check(sent: &str, expect: &str) {
    let (schema, arena, ty) = (Schema::builtin(), Bump::new(), schema_type());
    let tree = decode_typed(&arena, schema, ty, sent.as_bytes(), Mode::Strict).expect("it is valid");
    assert!(tree.strict_errors.is_empty(), "{sent}: {:?}", tree.strict_errors);
    assert_eq!(text(ty, &tree.value), expect, "{sent}");
    let mut message = Vec::new();
    protobuf::encode(schema, ty, &tree.value, &mut message);
    let message = arena.alloc_slice_copy(&message);
    let back = protobuf::decode(&arena, schema, ty, message).expect("it was encoded");
    assert_eq!(text(ty, &back), expect, "{sent} through protobuf");
}

#[test]
fn an_object_or_something_else() {
    check(r#"{"items":{"type":"string"}}"#, r#"{"items":{"type":"string"}}"#);
    check(r#"{"items":[{"type":"string"},{}]}"#, r#"{"items":[{"type":"string"},{}]}"#);
    check(r#"{"additionalProperties":true}"#, r#"{"additionalProperties":true}"#);
    check(r#"{"additionalProperties":false}"#, r#"{"additionalProperties":false}"#);
    check(r#"{"additionalProperties":{"maxLength":3}}"#, r#"{"additionalProperties":{"maxLength":3}}"#);
    check(r#"{"additionalProperties":null}"#, "{}");
    check(
        r#"{"dependencies":{"b":["x"],"a":{"type":"object"}}}"#,
        r#"{"dependencies":{"a":{"type":"object"},"b":["x"]}}"#,
    );
    // Neither, where that is no error.
    check(r#"{"items":"x"}"#, "{}");
    check(r#"{"items":[]}"#, "{}");
    // What decodes itself is not looked at for strict errors.
    check(r#"{"items":{"nonsense":1,"type":"a","type":"b"}}"#, r#"{"items":{"type":"b"}}"#);
}

#[test]
fn any_value() {
    check(r#"{"default":{"b":[1.0,null],"a":"<"}}"#, r#"{"default":{"a":"\u003c","b":[1,null]}}"#);
    check(r#"{"default":null,"example":false}"#, r#"{"example":false}"#);
    check(r#"{"enum":[null,"a",1,[],{}]}"#, r#"{"enum":[null,"a",1,[],{}]}"#);
}

#[test]
fn errors_name_the_field_that_leads_there() {
    let check = |sent: &str, expect: &str| {
        let arena = Bump::new();
        let error = decode_typed(&arena, Schema::builtin(), schema_type(), sent.as_bytes(), Mode::Lenient);
        assert_eq!(error.unwrap_err().to_string(), expect, "{sent}");
    };
    check(r#"{"additionalProperties":1}"#, "boolean or JSON schema expected");
    check(
        r#"{"properties":{"a":{"items":{"properties":{"b":{"type":1}}}}}}"#,
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.properties.items.properties.type of type \
         string",
    );
    // An error inside ends the decoding, and comes before one that was met earlier.
    check(
        r#"{"type":1,"items":{"maxLength":"x"}}"#,
        "json: cannot unmarshal string into Go struct field JSONSchemaProps.items.maxLength of type int64",
    );
}

#[test]
fn stored_and_read_back() {
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap().ty;
    let sent = r#"{"metadata":{"name":"a.b.c"},"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":
        {"properties":{"a":{"default":{"x": 1},"items":{"additionalProperties":true}}}}}}]}}"#;
    let tree = decode_typed(&arena, schema, ty, sent.as_bytes(), Mode::Lenient).unwrap().value;
    let (stored, _) = encode_stored(schema, ty, &tree);
    let stored = arena.alloc_slice_copy(&stored);
    let back = decode_stored(&arena, schema, ty, stored).unwrap();
    assert_eq!(text(ty, &back), text(ty, &tree));
    // Compact: such an object is stored as it is shown.
    assert!(!schema.holds_opaque(ty));
    let shown = String::from_utf8_lossy(stored);
    assert!(shown.contains(r#""default":{"x":1},"items":{"additionalProperties":true}"#), "{shown}");
}
