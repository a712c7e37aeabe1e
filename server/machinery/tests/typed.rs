//! Typed decoding against what Kubernetes' own decoder, types and encoders gave for the same texts
//! (`data/typed.jsonl`, one case a line: version, kind, text, outcome, strict errors, protobuf).

use base64::{Engine, engine::general_purpose::STANDARD};
use bumpalo::Bump;
use ringbolt_machinery::{
    json::{self, DecodeError, Mode},
    protobuf,
    schema::Schema,
    value::Value,
};
use serde_json::Value as Json;

fn text(case: &Json, name: &str) -> String {
    case[name].as_str().unwrap_or_default().to_owned()
}

#[test]
fn as_recorded() {
    let schema = Schema::builtin();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for line in include_str!("data/typed.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let (version, kind, input) = (text(&case, "gv"), text(&case, "kind"), text(&case, "in"));
        let Some(ty) = schema.kind_of(&version, &kind).map(|k| k.ty) else {
            panic!("{version} {kind} has no schema");
        };
        checked += 1;
        let arena = Bump::new();
        let mut pb = Vec::new();
        let (out, strict) = match json::decode_typed(&arena, schema, ty, input.as_bytes(), Mode::Strict) {
            Ok(decoded) => {
                let mut out = Vec::new();
                json::encode(schema, ty, &decoded.value, &mut out);
                protobuf::encode(schema, ty, &decoded.value, &mut pb);
                let strict: Vec<String> = decoded.strict_errors.iter().map(ToString::to_string).collect();
                (String::from_utf8(out).unwrap(), strict)
            }
            Err(error) => (format!("error: {error}"), Vec::new()),
        };
        let expect: Vec<String> = case["strict"]
            .as_array()
            .map(|list| list.iter().map(|s| s.as_str().unwrap().to_owned()).collect())
            .unwrap_or_default();
        if out != text(&case, "out") || strict != expect {
            wrong.push(format!(
                "{kind} {input}\n  got      {out} {strict:?}\n  expected {} {expect:?}",
                text(&case, "out")
            ));
        }
        let expect = STANDARD.decode(text(&case, "pb")).unwrap();
        if !expect.is_empty() && pb != expect {
            wrong.push(format!("{kind} {input}\n  protobuf {pb:?}\n  expected {expect:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 150, "only {checked} cases");
}

fn decode(input: &str, mode: Mode) -> Result<String, DecodeError> {
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "ConfigMap").expect("a built-in kind").ty;
    let decoded = json::decode_typed(&arena, schema, ty, arena.alloc_slice_copy(input.as_bytes()), mode)?;
    let mut out = Vec::new();
    json::encode(schema, ty, &decoded.value, &mut out);
    assert!(mode == Mode::Strict || decoded.strict_errors.is_empty());
    Ok(String::from_utf8(out).expect("encoders write UTF-8"))
}

#[test]
fn errors_rank() {
    // Syntax, wherever it is, before a text without meaning, before a value of the wrong type.
    let error = |input: &str| decode(input, Mode::Strict).unwrap_err();
    let wrong_type = r#"{"data":1,"metadata":{"creationTimestamp":"x"}"#;
    assert_eq!(error(wrong_type), DecodeError::Syntax("unexpected end of JSON input".into()));
    let closed = format!("{wrong_type}}}");
    assert!(matches!(error(&closed), DecodeError::Type(text) if text.starts_with("parsing time")));
    assert!(matches!(error(r#"{"data":1}"#), DecodeError::Type(text) if text.contains("ConfigMap.data")));
}

#[test]
fn depth() {
    // Opaque text may nest as deep as Go lets it; nothing overflows the stack.
    let nested = |n: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    assert_eq!(decode(&nested(9_999), Mode::Lenient).unwrap(), r#"{"metadata":{}}"#);
    assert_eq!(
        decode(&nested(10_000), Mode::Lenient).unwrap_err(),
        DecodeError::Syntax("invalid character '[' exceeded max depth".into())
    );
    let arena = Bump::new();
    let deep = "[".repeat(100_000);
    assert!(json::decode_untyped(&arena, deep.as_bytes()).is_err());
}

#[test]
fn large_maps_find_their_keys_in_any_order() {
    let arena = Bump::new();
    let text = |order: &mut dyn Iterator<Item = u32>| {
        let members: Vec<_> = order.map(|n| format!(r#""k{n}":{n}"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    let (up, down) = (text(&mut (100..300)), text(&mut (100..300).rev()));
    for text in [&up, &down] {
        let mut value = json::decode_untyped(&arena, text.as_bytes()).unwrap();
        let map = value.as_map_mut().unwrap();
        for n in 100..300_i64 {
            let key = format!("k{n}");
            assert_eq!(map.get(&key), Some(&Value::Int(n)));
            assert_eq!(map.get_mut(&key), Some(&mut Value::Int(n)));
            assert_eq!(map.get_near(n as usize - 100, &key), Some(&Value::Int(n)));
        }
        assert_eq!((map.get("k1"), map.get_near(0, "k1")), (None, None));
        assert_eq!(map.remove("k1"), None);
        assert_eq!(map.remove("k200"), Some(Value::Int(200)));
        assert_eq!((map.get("k200"), map.len()), (None, 199));
    }
}

#[test]
fn many_keys_in_any_order() {
    let mut keys: Vec<String> = (0..5_000).map(|i| format!("k{}", i * 7_919 % 5_000)).collect();
    keys.push("k1".into());
    let data: Vec<String> = keys.iter().map(|k| format!(r#""{k}":"v""#)).collect();
    let input = format!(r#"{{"data":{{{}}}}}"#, data.join(","));
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "ConfigMap").unwrap().ty;
    let decoded = json::decode_typed(&arena, schema, ty, input.as_bytes(), Mode::Strict).unwrap();
    let errors: Vec<String> = decoded.strict_errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, [r#"duplicate field "data.k1""#]);
    let map = decoded.value.path(&["data"]).unwrap().as_map().unwrap();
    assert_eq!(map.len(), 5_000);
    assert!(map.is_sorted());
}
