//! The JSON form of field sets.

use super::*;

#[track_caller]
fn check(text: &str, expect: &str) {
    let arena = Bump::new();
    let set = parse_fields(&arena, text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(printed(set), expect);
    assert_eq!(parse_fields(&arena, expect).unwrap(), set);
}

#[test]
fn reads_and_prints() {
    for same in [
        "{}",
        r#"{"f:a":{}}"#,
        r#"{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}"#,
        r#"{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}"#,
        r#"{"f:finalizers":{".":{},"v:\"example.com/a\"":{}},"f:x":{"v:1":{},"v:true":{},"v:null":{}}}"#,
        r#"{"i:-1":{},"i:0":{},"i:10":{}}"#,
        r#"{"f:":{},"f:a\"b\\c\n\u0001":{},"k:{}":{}}"#,
        r#"{"v:\"q\\\"\"":{}}"#,
    ] {
        check(same, same);
    }
    // Any order, space, unknown kinds of steps, and null for an empty set.
    check(r#" { "f:b" : { } , "f:a" : null } "#, r#"{"f:a":{},"f:b":{}}"#);
    check(r#"{"x:new":{"f:a":{}},"f:a":{}}"#, r#"{"f:a":{}}"#);
    check("null", "{}");
    // Keys of items are sorted.
    check(r#"{"k:{\"b\":1,\"a\":\"x\"}":{}}"#, r#"{"k:{\"a\":\"x\",\"b\":1}":{}}"#);
    // Names come before keys, keys before values, values before positions; numbers go by their worth.
    check(
        r#"{"i:0":{},"v:10":{},"v:9":{},"v:9.5":{},"k:{\"a\":1}":{},"f:z":{}}"#,
        r#"{"f:z":{},"k:{\"a\":1}":{},"v:9":{},"v:9.5":{},"v:10":{},"i:0":{}}"#,
    );
    // A step given twice: members add up, what is below is taken from the last.
    check(r#"{"f:a":{"f:x":{}},"f:a":{".":{}},"f:a":{"f:y":{}}}"#, r#"{"f:a":{".":{},"f:y":{}}}"#);
    // A step with nothing below it is a member, with or without the dot.
    check(r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#);
}

#[test]
fn refuses() {
    let arena = Bump::new();
    for text in [
        "",
        "[]",
        "{}x",
        "{\"f:a\":1}",
        "{\"f\":{}}",
        "{\"fa\":{}}",
        "{\"i:x\":{}}",
        "{\"v:{\":{}}",
        "{\"k:[1]\":{}}",
        "{\"k:{} x\":{}}",
    ] {
        assert!(parse_fields(&arena, text).is_err(), "{text}");
    }
    let deep = format!("{}{}", "{\"f:a\":".repeat(5_000), "}".repeat(5_000));
    assert!(parse_fields(&arena, arena.alloc_str(&deep)).is_err());
}

#[test]
fn paths_as_messages_show_them() {
    let arena = Bump::new();
    let text = r#"{"f:a":{".":{},"f:b":{},"k:{\"n\":\"x\",\"p\":80}":{"f:c":{}},"v:\"s\"":{},"i:3":{}}}"#;
    let mut shown = Vec::new();
    parse_fields(&arena, text).unwrap().for_each(&mut |path| shown.push(Path(path).to_string()));
    assert_eq!(shown, [".a", ".a.b", r#".a[="s"]"#, ".a[3]", r#".a[n="x",p=80].c"#]);
}
