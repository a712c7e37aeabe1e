//! Table tests of the three patch types.

use bumpalo::Bump;

use super::*;
use crate::{json, schema::Schema, value::Value};

fn tree<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
    json::decode_untyped(arena, arena.alloc_slice_copy(text.as_bytes())).unwrap()
}

fn text(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    json::encode_untyped(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn check_merge(target: &str, patch: &str, want: &str) {
    let arena = Bump::new();
    let mut object = tree(&arena, target);
    apply_merge(&arena, &mut object, &tree(&arena, patch)).unwrap();
    assert_eq!(text(&object), want, "{target} + {patch}");
}

#[test]
fn merge_patches() {
    check_merge(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
    check_merge(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
    check_merge(r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#);
    check_merge(r#"{"a":[1]}"#, r#"{"a":{"b":{"c":null}}}"#, r#"{"a":{"b":{}}}"#);
    let arena = Bump::new();
    let refused = apply_merge(&arena, &mut tree(&arena, "{}"), &Value::Null).unwrap_err();
    assert_eq!(refused.into_status().code, 400);
}

fn json_patch(target: &str, patch: &str) -> Result<String, PatchError> {
    let arena = Bump::new();
    let mut object = tree(&arena, target);
    apply_json(&arena, &mut object, &tree(&arena, patch))?;
    Ok(text(&object))
}

#[test]
fn json_patches() {
    let check = |target: &str, patch: &str, want: &str| {
        assert_eq!(json_patch(target, patch).unwrap(), want, "{target} + {patch}");
    };
    check(r#"{"a":[1,2]}"#, r#"[{"op":"add","path":"/a/1","value":9}]"#, r#"{"a":[1,9,2]}"#);
    check(r#"{"a":[1,2]}"#, r#"[{"op":"add","path":"/a/-","value":3}]"#, r#"{"a":[1,2,3]}"#);
    check(r#"{"a":[1,2]}"#, r#"[{"op":"remove","path":"/a/-1"}]"#, r#"{"a":[1]}"#);
    check(
        r#"{"a/b":1,"c~d":2}"#,
        r#"[{"op":"remove","path":"/a~1b"},{"op":"test","path":"/c~0d","value":2}]"#,
        r#"{"c~d":2}"#,
    );
    check(r#"{"a":{"b":1}}"#, r#"[{"op":"move","from":"/a/b","path":"/c"}]"#, r#"{"a":{},"c":1}"#);
    check(r#"{"a":1}"#, r#"[{"op":"copy","from":"/a","path":"/b"}]"#, r#"{"a":1,"b":1}"#);
    for bad in [
        r#"[{"op":"test","path":"/a","value":2}]"#,
        r#"[{"op":"remove","path":"/x"}]"#,
        r#"[{"op":"replace","path":"/x/y","value":1}]"#,
        r#"[{"op":"add","path":"/x/y","value":1}]"#,
        r#"[{"op":"bogus","path":"/a"}]"#,
    ] {
        let status = json_patch(r#"{"a":1}"#, bad).unwrap_err().into_status();
        assert_eq!(status.code, 422, "{bad}");
        assert_eq!(status.message, "the server rejected our request due to an error in our request", "{bad}");
    }
    let many = format!("[{}]", vec![r#"{"op":"test","path":"/a","value":1}"#; 10_001].join(","));
    assert_eq!(json_patch(r#"{"a":1}"#, &many).unwrap_err().into_status().code, 413);
    let doubling: Vec<String> =
        (0..23).map(|i| format!(r#"{{"op":"copy","from":"/a","path":"/a/c{i}"}}"#)).collect();
    let doubled = json_patch(r#"{"a":{"b":"0123456789"}}"#, &format!("[{}]", doubling.join(",")));
    assert!(matches!(doubled, Err(PatchError::NotApplicable(_))));
}

fn strategic(kind: &str, target: &str, patch: &str) -> Result<String, PatchError> {
    let schema = Schema::builtin();
    let ty = schema.kind("", "v1", kind).unwrap().ty;
    let arena = Bump::new();
    let mut object = tree(&arena, target);
    apply_strategic(&arena, schema, ty, &mut object, &tree(&arena, patch))?;
    Ok(text(&object))
}

#[test]
fn strategic_patches() {
    let check = |target: &str, patch: &str, want: &str| {
        assert_eq!(strategic("Pod", target, patch).unwrap(), want, "{target} + {patch}");
    };
    let pod = r#"{"spec":{"containers":[{"image":"1","name":"a"},{"image":"2","name":"b"}]}}"#;
    check(
        pod,
        r#"{"spec":{"containers":[{"name":"b","image":"3"}]}}"#,
        r#"{"spec":{"containers":[{"image":"1","name":"a"},{"image":"3","name":"b"}]}}"#,
    );
    check(
        pod,
        r#"{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}"#,
        r#"{"spec":{"containers":[{"image":"2","name":"b"}]}}"#,
    );
    check(
        pod,
        r#"{"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}}"#,
        r#"{"spec":{"containers":[{"name":"c"}]}}"#,
    );
    check(
        pod,
        r#"{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a","image":"9"}]}}"#,
        r#"{"spec":{"containers":[{"image":"2","name":"b"},{"image":"9","name":"a"}]}}"#,
    );
    check(
        r#"{"metadata":{"finalizers":["a","b","c"]}}"#,
        r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}}"#,
        r#"{"metadata":{"finalizers":["a","c"]}}"#,
    );
    check(
        r#"{"metadata":{"labels":{"a":"1","b":"2"}}}"#,
        r#"{"metadata":{"labels":{"a":null,"c":"3"}}}"#,
        r#"{"metadata":{"labels":{"b":"2","c":"3"}}}"#,
    );
    check(
        r#"{"spec":{"volumes":[{"emptyDir":{},"name":"v"}]}}"#,
        r#"{"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/x"}}]}}"#,
        r#"{"spec":{"volumes":[{"hostPath":{"path":"/x"},"name":"v"}]}}"#,
    );
    check(r#"{"spec":{"nodeName":"n"}}"#, r#"{"spec":{"$patch":"delete"}}"#, r#"{"spec":{}}"#);
    for (bad, code, message) in [
        (r#"{"spec":{"$patch":"huh"}}"#, 500, "unknown patch type: huh in map: map[$patch:huh]"),
        (
            r#"{"spec":{"containers":[{"image":"x"}]}}"#,
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (r#"{"spec":{"$retainKeys":"x"}}"#, 400, "invalid patch format of retainKeys"),
    ] {
        let status = strategic("Pod", pod, bad).unwrap_err().into_status();
        assert_eq!((status.code, status.message.as_str()), (code, message), "{bad}");
    }
}

/// Object, patch and what the API server's library made of them: the object, or an error.
fn recorded(lines: &str) -> Vec<(String, String, String)> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn json_patches_as_recorded() {
    for (target, patch, expect) in recorded(include_str!("json_patch.jsonl")) {
        let got = match json_patch(&target, &patch) {
            Ok(text) => text,
            Err(PatchError::NotApplicable(message)) => format!("error: {message}"),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(got, expect, "{target} + {patch}");
    }
}

#[test]
fn merge_patches_as_recorded() {
    for (target, patch, expect) in recorded(include_str!("merge.jsonl")) {
        check_merge(&target, &patch, &expect);
    }
}

#[test]
fn bodies_of_json_patches() {
    let decode = |text: &str| {
        let arena = Bump::new();
        match decode_json(&arena, arena.alloc_slice_copy(text.as_bytes()), crate::strict::Mode::Strict) {
            Ok(patch) => patch.strict_errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            Err(error) => error.into_status().message,
        }
    };
    for (text, expect) in [
        ("[]", ""),
        ("null", ""),
        ("{", "invalid JSON patch"),
        (
            "{}",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            "[1]",
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            r#"[{"op":"add","path":5}]"#,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        (
            r#"[{"op":"test","path":"/a","value":1,"x":2,"op":"add"}]"#,
            "json patch duplicate field \"[0].op\"; json patch unknown field \"[0].x\"",
        ),
    ] {
        assert_eq!(decode(text), expect, "{text}");
    }
}

#[test]
fn strategic_patches_as_recorded() {
    let mut wrong = Vec::new();
    for (target, patch, expect) in recorded(include_str!("strategic.jsonl")) {
        let got = match strategic("Pod", &target, &patch) {
            Ok(text) => text,
            Err(
                PatchError::Malformed(message)
                | PatchError::NotApplicable(message)
                | PatchError::Unclassified(message)
                | PatchError::TooLarge(message),
            ) => format!("error: {message}"),
        };
        if got != expect {
            wrong.push(format!("{target}\n+ {patch}\ngot      {got}\nexpected {expect}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn outcomes_of_strategic_patches() {
    let convert = |text: &str| {
        let (schema, arena) = (Schema::builtin(), Bump::new());
        let ty = schema.kind("", "v1", "Pod").unwrap().ty;
        match decode_strategic(&arena, schema, ty, &tree(&arena, text), crate::strict::Mode::Strict) {
            Ok(decoded) => {
                let mut out = Vec::new();
                json::encode(schema, ty, &decoded.value, &mut out);
                let strict: Vec<String> = decoded.strict_errors.iter().map(ToString::to_string).collect();
                format!("{} {}", String::from_utf8(out).unwrap(), strict.join(", "))
            }
            Err(error) => error.to_string(),
        }
    };
    for (text, expect) in [
        (r#"{"metadata":{"name":5,"labels":"x"}}"#, "cannot convert int64 to string"),
        (r#"{"metadata":{"labels":"x"}}"#, "cannot restore map from string"),
        (r#"{"metadata":{"labels":{"a":true}}}"#, "unrecognized type: string"),
        (r#"{"metadata":{"finalizers":{}}}"#, "cannot restore slice from map"),
        (r#"{"metadata":[]}"#, "cannot restore struct from: slice"),
        (r#"{"spec":{"hostNetwork":"x"}}"#, "unrecognized type: bool"),
        (r#"{"spec":{"priority":1.5}}"#, "cannot convert float64 to int32"),
        (r#"{"spec":{"restartPolicy":1}}"#, "cannot convert int64 to v1.RestartPolicy"),
        // What is too large wraps around, and so does what no integer of 64 bits holds.
        (
            r#"{"spec":{"priority":4294967298}}"#,
            r#"{"metadata":{},"spec":{"containers":null,"priority":2},"status":{}} "#,
        ),
        (
            r#"{"spec":{"priority":9223372036854775808}}"#,
            r#"{"metadata":{},"spec":{"containers":null,"priority":0},"status":{}} "#,
        ),
        (
            r#"{"spec":{"containers":[{"livenessProbe":{"tcpSocket":{"port":1.5}}}]}}"#,
            "json: cannot unmarshal number 1.5 into Go value of type int32",
        ),
        (
            r#"{"metadata":{"creationTimestamp":5}}"#,
            "json: cannot unmarshal number into Go value of type string",
        ),
        (
            r#"{"spec":{"priority":2.0,"x":1,"containers":[{"b":1},{"a":1}]}}"#,
            r#"{"metadata":{},"spec":{"containers":[{"name":"","resources":{}},{"name":"","resources":{}}],"priority":2},"status":{}} unknown field "spec.containers[0].b", unknown field "spec.containers[1].a", unknown field "spec.x""#,
        ),
    ] {
        assert_eq!(convert(text), expect, "{text}");
    }
    let arena = Bump::new();
    assert_eq!(show(&tree(&arena, r#"{"b":{"c":[1,"x"]},"a":null}"#)), "map[a:<nil> b:map[c:[1 x]]]");
}

#[test]
fn texts_show_what_a_patch_went_through_sorted_and_the_rest_as_it_was() {
    let target =
        r#"{"kind":"K","metadata":{"name":"n","labels":{"z":"1","a":"2"}},"data":{"b":1,"a":{"y":1,"x":2}}}"#;
    let merged = |patch: &str| merged_text(target.as_bytes(), patch.as_bytes()).unwrap();
    assert_eq!(
        merged(r#"{"data":{"a":{"x":{"z":1,"b":[{"d":1,"c":null}]}}},"zeta":null}"#),
        r#"{"data":{"a":{"x":{"b":[{"d":1}],"z":1},"y":1},"b":1},"kind":"K","metadata":{"name":"n","labels":{"z":"1","a":"2"}}}"#,
    );
    // What takes the place of an object stays as it came.
    assert_eq!(
        merged(r#"{"data":[{"d":1,"c":2}]}"#),
        r#"{"data":[{"d":1,"c":2}],"kind":"K","metadata":{"name":"n","labels":{"z":"1","a":"2"}}}"#,
    );
    let patched = |patch: &str| json_patched_text(target.as_bytes(), patch.as_bytes()).unwrap();
    assert_eq!(
        patched(r#"[{"op":"add","path":"/data/c","value":{"f": 1.50, "e":2}}]"#),
        r#"{"data":{"a":{"y":1,"x":2},"b":1,"c":{"f":1.50,"e":2}},"kind":"K","metadata":{"name":"n","labels":{"z":"1","a":"2"}}}"#,
    );
    assert_eq!(
        patched(
            r#"[{"op":"move","from":"/metadata/labels","path":"/l"},{"op":"test","path":"/data/a","value":{"x":2,"y":1}}]"#
        ),
        r#"{"data":{"a":{"x":2,"y":1},"b":1},"kind":"K","l":{"z":"1","a":"2"},"metadata":{"name":"n"}}"#,
    );
}

#[test]
fn what_a_patch_does_not_go_through_keeps_its_text() {
    let object = r#"{"a":{"x":1.0,"x":2,"b":"\u00e9\/"},"c":{"z":1,"d":"\u003c"}}"#;
    let merged = |patch: &str| merged_text(object.as_bytes(), patch.as_bytes()).unwrap();
    let patched = |patch: &str| json_patched_text(object.as_bytes(), patch.as_bytes());
    let untouched = r#""a":{"x":1.0,"x":2,"b":"\u00e9\/"}"#;
    assert_eq!(
        merged(r#"{"c":{"d":"\u0041","e":{"f":null,"g":1e0}}}"#),
        format!(r#"{{{untouched},"c":{{"d":"\u0041","e":{{"g":1e0}},"z":1}}}}"#)
    );
    assert_eq!(merged(r#"{"a":{"y":3},"c":null}"#), r#"{"a":{"b":"\u00e9\/","x":2,"y":3}}"#);
    assert_eq!(
        patched(r#"[{"op":"add","path":"/c/e","value":{"k":"\u0041", "i":0.10}}]"#).unwrap(),
        format!(r#"{{{untouched},"c":{{"d":"\u003c","e":{{"k":"\u0041","i":0.10}},"z":1}}}}"#)
    );
    assert!(patched(r#"[{"op":"test","path":"/c","value":{"d":"\u003c","z":1}}]"#).is_ok());
    // The texts differ, whatever they mean.
    assert!(patched(r#"[{"op":"test","path":"/c/d","value":"<"}]"#).is_err());
    assert!(patched(r#"[{"op":"test","path":"/c/z","value":1.0}]"#).is_err());
}

/// Many additions to one list or object are made at once: the outcome is that of one after the other.
#[test]
fn runs_of_additions() {
    let check = |target: &str, paths: &[&str], want: &str| {
        let operations = paths.iter().enumerate();
        let operations = operations.map(|(i, path)| format!(r#"{{"op":"add","path":"{path}","value":{i}}}"#));
        let patch = format!("[{}]", operations.collect::<Vec<_>>().join(","));
        assert_eq!(json_patch(target, &patch).unwrap(), want, "{target} {paths:?}");
    };
    check(r#"{"a":[7,8]}"#, &["/a/0", "/a/0", "/a/3", "/a/-", "/a/-1", "/a/1"], r#"{"a":[1,5,0,7,2,8,3,4]}"#);
    check(r#"{"a":{"m":7}}"#, &["/a/z", "/a/b", "/a/z", "/a/m"], r#"{"a":{"b":1,"m":3,"z":2}}"#);
    check(r#"{"a":[],"b":[]}"#, &["/a/0", "/b/0", "/a/0", "/a/0"], r#"{"a":[3,2,0],"b":[1]}"#);
    let outside = r#"[{"op":"add","path":"/a/0","value":1},{"op":"add","path":"/a/2","value":1}]"#;
    let refused = json_patch(r#"{"a":[]}"#, outside).unwrap_err();
    assert_eq!(
        refused,
        PatchError::NotApplicable(
            "error in add for path: '/a/2': Unable to access invalid index: 2: invalid index referenced"
                .into()
        )
    );
}
