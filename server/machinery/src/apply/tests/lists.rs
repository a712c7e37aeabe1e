//! Lists: how items are told apart, compared and merged.

use super::*;

/// Merges two lists of a Pod's volumes, given as their names of one letter. What is expected is what the library's own
/// `Merge` answers.
#[track_caller]
fn check_order(live: &str, config: &str, expect: &str) {
    let arena = Bump::new();
    let (schema, ty) = (Schema::builtin(), kind("v1", "Pod"));
    let pod = |names: &str| {
        let items = names.chars().map(|c| format!("{{name: '{c}'}}")).collect::<Vec<_>>().join(", ");
        untyped(&arena, &format!("spec: {{volumes: [{items}]}}"))
    };
    let (live, config) = (pod(live), pod(config));
    let merged = merge(&arena, schema, ty, &live, &config).unwrap();
    let names = |object: &Value<'_>| {
        let list = object.path(&["spec", "volumes"]).and_then(Value::as_list).expect("a list");
        list.iter().map(|v| v.str_at(&["name"]).unwrap_or("?").to_owned()).collect::<String>()
    };
    assert_eq!(names(&merged), expect);
}

#[test]
fn order_of_merged_items() {
    check_order("abc", "abc", "abc");
    check_order("abc", "cba", "cba");
    check_order("abcd", "d", "abcd");
    check_order("abc", "x", "abcx");
    check_order("abc", "xa", "xabc");
    check_order("abcd", "dxcyb", "adxcyb");
    check_order("abc", "cxa", "bcxa");
    check_order("abcd", "xbya", "xbcdya");
    check_order("ab", "dbca", "dbca");
    check_order("abc", "bxa", "bcxa");
    check_order("aabb", "bx", "aabx");
    check_order("aab", "ab", "ab");
    check_order("cabac", "axb", "caxbc");
    check_order("abab", "bxa", "bxa");
    check_order("abba", "ba", "ba");
    check_order("", "bx", "bx");
    check_order("ab", "", "ab");
    check_order("bcda", "adcb", "adcb");
    check_order("dacb", "bdc", "abdc");
    check_order("adbc", "cxa", "dbcxa");
}

#[track_caller]
fn check_compare(ty: StructId, old: &str, new: &str, added: &str, modified: &str, removed: &str) {
    let arena = Bump::new();
    let (old, new) = (untyped(&arena, old), untyped(&arena, new));
    let found = compare(&arena, Schema::builtin(), ty, &old, &new).expect("items with keys");
    assert_eq!(
        (printed(found.added), printed(found.modified), printed(found.removed)),
        (added.to_owned(), modified.to_owned(), removed.to_owned())
    );
}

#[test]
fn comparisons() {
    let service = kind("v1", "Service");
    let ports = |list: &str| format!("spec: {{ports: [{list}]}}");
    // A protocol that is not given is TCP to the key.
    check_compare(
        service,
        &ports("{port: 80}"),
        &ports("{port: 80, name: a}"),
        r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}}}}"#,
        "{}",
        "{}",
    );
    // Two items with one key are one value, and so is what becomes of them.
    check_compare(
        service,
        &ports("{port: 80, name: a}"),
        &ports("{port: 80, name: a}, {port: 80, name: b}"),
        r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}}}"#,
        "{}",
        r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}}"#,
    );
    check_compare(
        service,
        &ports("{port: 80, name: a}, {port: 80, name: b}"),
        &ports("{port: 80, name: a}, {port: 80, name: c}"),
        "{}",
        r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}}}"#,
        "{}",
    );
    // A list without items is a value of its own; a selector is owned as a whole.
    check_compare(
        service,
        "spec: {ports: [], selector: {a: b}}",
        "spec: {ports: null, selector: {a: c}}",
        "{}",
        r#"{"f:spec":{"f:ports":{},"f:selector":{}}}"#,
        "{}",
    );
    // Sets.
    check_compare(
        service,
        "metadata: {finalizers: [a/b, c/d]}",
        "metadata: {finalizers: [c/d, e/f]}",
        r#"{"f:metadata":{"f:finalizers":{"v:\"e/f\"":{}}}}"#,
        "{}",
        r#"{"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}}}}"#,
    );
    // Nobody looks at the kind, or at managed fields.
    check_compare(
        service,
        "{apiVersion: v1, kind: A, metadata: {managedFields: [{}]}}",
        "{apiVersion: v2, kind: B, metadata: {}}",
        "{}",
        "{}",
        "{}",
    );
    // Another value, in one place and in maps.
    check_compare(
        kind("v1", "ConfigMap"),
        "{data: {a: '1', b: '2', c: '3'}, immutable: true}",
        "{data: {b: '2', c: x, d: '4'}, binaryData: {}}",
        r#"{"f:binaryData":{},"f:data":{"f:d":{}}}"#,
        r#"{"f:data":{"f:c":{}}}"#,
        r#"{"f:data":{"f:a":{}},"f:immutable":{}}"#,
    );
}

/// An item that names none of its key fields, and has no default for them, cannot be compared; whether it is new, old
/// or in both.
#[test]
fn items_without_keys() {
    let arena = Bump::new();
    let ty = kind("v1", "ServiceAccount");
    let (good, bad) = (untyped(&arena, "secrets: [{name: a}]"), untyped(&arena, "secrets: [{name: a}, {}]"));
    let compared = |old, new| compare(&arena, Schema::builtin(), ty, old, new).is_some();
    assert_eq!([compared(&good, &good), compared(&good, &bad), compared(&bad, &bad)], [true, false, false]);
}

#[track_caller]
fn check_problems(ty: StructId, object: &str, expect: &str) {
    let arena = Bump::new();
    let object = untyped(&arena, object);
    let problems = validate(&arena, Schema::builtin(), ty, &object, Duplicates::Refused);
    let text = if problems.is_empty() { String::new() } else { problems_text(&problems) };
    assert_eq!(text, expect);
}

#[test]
fn configurations_that_do_not_fit() {
    let (config_map, pod) = (kind("v1", "ConfigMap"), kind("v1", "Pod"));
    check_problems(config_map, "{data: {k: v}, immutable: null}", "");
    check_problems(
        config_map,
        "data: {k: 5}",
        ".data.k: expected string, got &value.valueUnstructured{Value:5}",
    );
    check_problems(config_map, "bogus: {}", ".bogus: field not declared in schema");
    check_problems(
        config_map,
        "data: {k: [1, {b: x, a: null}]}",
        concat!(
            ".data.k: expected string, got &value.valueUnstructured{Value:[]interface {}{1, map[string]interface {}",
            r#"{"a":interface {}(nil), "b":"x"}}}"#
        ),
    );
    check_problems(config_map, "data: x", ".data: expected map, got &{x}");
    check_problems(pod, "spec: {hostNetwork: 'no'}", ".spec.hostNetwork: expected boolean, got &{no}");
    check_problems(pod, "spec: {priority: x}", ".spec.priority: expected numeric (int or float), got string");
    check_problems(
        pod,
        "spec: {containers: [{name: a}, {name: a}]}",
        r#".spec.containers: duplicate entries for key [name="a"]"#,
    );
    check_problems(pod, "spec: {tolerations: [{key: a}, {key: a}], containers: [{image: x}]}", "");
    check_problems(
        pod,
        "spec: {containers: [null]}",
        ".spec.containers: element 0: associative list with keys may not have a null element",
    );
    check_problems(
        pod,
        "metadata: {finalizers: [{}]}",
        ".metadata.finalizers: element 0: associative list without keys has an element that's a map type",
    );
    check_problems(
        pod,
        "{spec: {priority: x}, metadata: {labels: {a: 1}}}",
        "errors:\n  .metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}\n  .spec.priority: \
         expected numeric (int or float), got string",
    );
}
