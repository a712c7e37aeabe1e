//! Compiling, pruning, defaults and metadata.

mod cases;
mod picked;
mod rules;

use bumpalo::Bump;

use super::*;
use crate::{json as codec, value::Value};

fn tree<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
    codec::decode_untyped(arena, arena.alloc_str(text).as_bytes()).unwrap()
}

fn text(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    codec::encode_untyped(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn schema(text: &str) -> Structural {
    let arena = Bump::new();
    Structural::compile(&tree(&arena, text)).unwrap()
}

/// An object is taken in as from a client and gets its defaults; then the fields that were unknown.
fn taken_in(of: &str, object: &str) -> (String, Vec<String>) {
    let arena = Bump::new();
    let schema = schema(of);
    let mut object = tree(&arena, object);
    let mut unknown = Vec::new();
    match schema.coerce(&arena, &mut object, Metadata::Refuse, Some(&mut unknown)) {
        Ok(()) => schema.apply_defaults(&arena, &mut object),
        Err(error) => return (error.to_string(), unknown),
    }
    (text(&object), unknown)
}

#[test]
fn takes_in() {
    let open = r#""x-kubernetes-preserve-unknown-fields":true"#;
    let cases: &[(&str, &str, &str, &[&str])] = &[
        (
            r#"{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}}"#,
            r#"{"kind":"K","apiVersion":"g/v1","spec":{"a":"x","b":1,"c":{"d":[{}]}},"other":1}"#,
            r#"{"apiVersion":"g/v1","kind":"K","spec":{"a":"x"}}"#,
            &["other", "spec.b", "spec.c"],
        ),
        // Lists without a schema of their items lose what is in them; scalars stay whatever they are.
        (
            r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}}},"s":{"type":"string"}}}"#,
            r#"{"l":[{"a":1,"b":{}},[{"z":1}],3],"s":{"x":1}}"#,
            r#"{"l":[{"a":1},[{}],3],"s":{}}"#,
            &["l[0].b", "l[1][0].z", "s.x"],
        ),
        (
            &format!(
                r#"{{"type":"object","properties":{{"spec":{{"type":"object",{open},"properties":{{"in":{{"type":"object"}}}}}}}}}}"#
            ),
            r#"{"spec":{"any":{"b":null},"in":{"x":1}}}"#,
            r#"{"spec":{"any":{"b":null},"in":{}}}"#,
            &["spec.in.x"],
        ),
        // `additionalProperties: true` keeps the keys, and nothing below them.
        (
            r#"{"type":"object","properties":{"m":{"type":"object","additionalProperties":true},"n":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}}}"#,
            r#"{"m":{"x":{"y":1},"z":2},"n":{"k.l":{"a":"","b":""}}}"#,
            r#"{"m":{"x":{},"z":2},"n":{"k.l":{"a":""}}}"#,
            &["m.x.y", "n.k.l.b"],
        ),
        // Nulls go where they may not be and no default takes their place, but not out of lists.
        (
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","nullable":true,"default":"d"},"c":{"type":"string","default":"d"},"l":{"type":"array","items":{"type":"string","default":"i"}},"n":{"type":"array","items":{"type":"string"}},"m":{"type":"object","additionalProperties":{"type":"string","default":"v"}}}}"#,
            r#"{"a":null,"b":null,"c":null,"l":[null,"x"],"n":[null],"m":{"k":null}}"#,
            r#"{"b":null,"c":"d","l":["i","x"],"m":{"k":"v"},"n":[null]}"#,
            &[],
        ),
        // Defaults are applied below what they put there.
        (
            r#"{"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{"a":{"type":"integer","default":1},"l":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","default":"x"}}}}}}}}"#,
            r#"{}"#,
            r#"{"spec":{"a":1}}"#,
            &[],
        ),
        (
            r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","default":"x"}}}}}}"#,
            r#"{"l":[{},{"b":"y"}]}"#,
            r#"{"l":[{"b":"x"},{"b":"y"}]}"#,
            &[],
        ),
        // Metadata.
        (
            r#"{"type":"object"}"#,
            r#"{"metadata":{"name":"a","labels":{},"foo":1,"creationTimestamp":null,"ownerReferences":[{"bar":1}]}}"#,
            r#"{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]}}"#,
            &["metadata.foo", "metadata.ownerReferences[0].bar"],
        ),
        (
            r#"{"type":"object"}"#,
            r#"{"metadata":{"name":5}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
            &[],
        ),
        (
            r#"{"type":"object"}"#,
            r#"{"metadata":"x"}"#,
            "json: cannot unmarshal string into Go value of type v1.ObjectMeta",
            &[],
        ),
        (
            r#"{"type":"object"}"#,
            r#"{"kind":5}"#,
            ".kind accessor error: 5 is of the type int64, expected string",
            &[],
        ),
        // Embedded objects.
        (
            &format!(
                r#"{{"type":"object","properties":{{"t":{{"type":"object","x-kubernetes-embedded-resource":true,{open}}}}}}}"#
            ),
            r#"{"t":{"kind":"K","apiVersion":"v1","metadata":{"name":"x","zap":1,"labels":{"a":"b"}},"any":{"x":null}}}"#,
            r#"{"t":{"any":{"x":null},"apiVersion":"v1","kind":"K","metadata":{"labels":{"a":"b"},"name":"x"}}}"#,
            &["t.metadata.zap"],
        ),
        (
            r#"{"type":"object","properties":{"t":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}"#,
            r#"{"t":{"kind":5,"apiVersion":"v1"}}"#,
            "t.kind: Invalid value: 5: must be a string",
            &[],
        ),
        (
            r#"{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}}"#,
            r#"{"m":{"k":{"metadata":{"labels":{"a":1}}}}}"#,
            r#"m[k].metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"#,
            &[],
        ),
    ];
    for (of, object, expect, unknown) in cases {
        let found = taken_in(of, object);
        assert_eq!(
            (found.0.as_str(), found.1.iter().map(String::as_str).collect::<Vec<_>>()),
            (*expect, unknown.to_vec()),
            "{object}"
        );
    }
}

#[test]
fn reads_from_storage() {
    let arena = Bump::new();
    let schema = schema(
        r#"{"type":"object","properties":{"t":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}"#,
    );
    for (object, expect) in [
        (r#"{"metadata":{"name":"a","labels":{"x":1}}}"#, r#"{"metadata":{"generation":1,"name":"a"}}"#),
        (
            r#"{"metadata":{"generation":3},"t":{"kind":1,"metadata":{"name":5,"uid":"u"}}}"#,
            r#"{"metadata":{"generation":3},"t":{"metadata":{"uid":"u"}}}"#,
        ),
        (r#"{"t":{"metadata":"x"}}"#, r#"{"t":{"metadata":"x"}}"#),
    ] {
        let mut value = tree(&arena, object);
        schema.coerce(&arena, &mut value, Metadata::Drop, None).unwrap();
        assert_eq!(text(&value), expect);
    }
    let mut value = tree(&arena, r#"{"metadata":"x"}"#);
    let error = schema.coerce(&arena, &mut value, Metadata::Drop, None).unwrap_err();
    assert_eq!(error.to_string(), "invalid metadata: expected object, got string");
}

#[test]
fn compiles() {
    let of = schema(
        r#"{"type":"object","properties":{
            "spec":{"type":"object","required":["a"],"properties":{
                "a":{"type":"string","pattern":"^x$","format":"date","maxLength":5},
                "b":{"type":"string","pattern":"^x$","format":"date","maxLength":5},
                "l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","j"],"items":{"type":"object","properties":{"k":{"type":"string"},"j":{"type":"integer"}}}},
                "i":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
                "m":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"number","minimum":1,"exclusiveMinimum":true}}},
              "x-kubernetes-validations":[{"rule":"self.a != ''","message":"m","reason":"FieldValueRequired","fieldPath":".a","optionalOldSelf":true}]}}}"#,
    );
    let spec = of.root().property("spec").unwrap();
    assert_eq!(spec.properties().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "i", "l", "m"]);
    assert!(spec.property("c").is_none() && spec.validation().unwrap().requires("a"));
    let (a, b) = (spec.property("a").unwrap(), spec.property("b").unwrap());
    assert_eq!(a.id(), b.id());
    let values = a.validation().unwrap();
    assert_eq!((values.pattern(), values.format(), values.max_length()), (Some("^x$"), "date", Some(5)));
    let list = spec.property("l").unwrap();
    assert_eq!(
        (list.list_type(), list.list_map_keys().collect::<Vec<_>>()),
        (Some(ListType::Map), vec!["k", "j"])
    );
    assert_eq!(list.items().unwrap().property("j").unwrap().ty(), Type::Integer);
    let int = spec.property("i").unwrap();
    assert!(int.is_int_or_string() && int.ty() == Type::Any);
    assert_eq!(
        int.validation().unwrap().any_of().map(|of| of.ty()).collect::<Vec<_>>(),
        [Type::Integer, Type::String]
    );
    let map = spec.property("m").unwrap();
    assert_eq!(map.map_type(), Some(MapType::Atomic));
    let member = map.member("any").unwrap().validation().unwrap();
    assert_eq!((member.minimum(), member.exclusive_minimum()), (Some(1.0), true));
    let rule = &spec.rules()[0];
    assert_eq!((&*rule.rule, &*rule.message, &*rule.field_path), ("self.a != ''", "m", ".a"));
    assert_eq!((rule.reason.as_deref(), rule.optional_old_self), (Some("FieldValueRequired"), Some(true)));
}

#[test]
fn refuses_to_compile() {
    for (of, expect) in [
        (r##"{"$ref":"#/x"}"##, "OpenAPIV3Schema '$ref' is not supported"),
        (
            r#"{"properties":{"a":{"definitions":{"x":{}}}}}"#,
            "OpenAPIV3Schema 'definitions' is not supported",
        ),
        (r#"{"items":[{}]}"#, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        (
            r#"{"x-kubernetes-preserve-unknown-fields":false}"#,
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
    ] {
        let arena = Bump::new();
        assert_eq!(Structural::compile(&tree(&arena, of)).unwrap_err().to_string(), expect);
    }
}
