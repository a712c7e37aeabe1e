//! What definitions pick out of objects: cells of columns, selectable fields, replicas.

use super::{schema, tree};
use bumpalo::Bump;

use super::super::{Columns, Scale, SelectableFields, check};
use crate::{table::Row, time::Moment, value::Value};

const NOW: Moment = Moment { seconds: 1_700_000_000, nanos: 0 };

/// The cells of an object behind its name.
fn cells(columns: &Value<'_>, object: &Value<'_>) -> String {
    let columns = Columns::of(Some(columns));
    let mut out = Vec::new();
    let mut row = Row::begin(&mut out, NOW, false);
    columns.row(object, &mut row);
    assert_eq!(row.end(), 1 + columns.iter().len());
    let text = String::from_utf8(out).unwrap();
    text.strip_prefix("{\"cells\":[\"n\"").unwrap().trim_end_matches(']').trim_start_matches(',').to_owned()
}

#[test]
fn cells_of_columns() {
    let arena = Bump::new();
    let object = tree(
        &arena,
        r#"{"metadata":{"name":"n","creationTimestamp":"2023-11-14T22:12:20Z","annotations":{"a.b/c":"v"}},
            "spec":{"i":3,"f":2.75,"s":"t<","b":true,"z":null,"d":"2023-11-14T21:13:20Z","e":"","w":"no","l":[1,{"k":"v"}],
            "cs":[{"type":"A","status":"False"},{"type":"Ready","status":"True"}]}}"#,
    );
    for (ty, path, expect) in [
        ("integer", ".spec.i", "3"),
        ("integer", ".spec.f", "2"),
        ("integer", ".spec.s", "null"),
        ("integer", "3", "null"),
        ("number", ".spec.f", "2.75"),
        ("number", ".spec.i", "3"),
        ("number", "1.5", "1.5"),
        ("boolean", ".spec.b", "true"),
        ("boolean", ".spec.i", "null"),
        ("string", ".spec.s", r#""t\u003c""#),
        ("string", ".spec.i", r#""3""#),
        ("string", ".spec.b", r#""true""#),
        ("string", ".spec.z", r#""\u003cno value\u003e""#),
        ("string", ".spec.none", "null"),
        ("string", ".spec.l", r#""[1,{\"k\":\"v\"}]""#),
        ("string", ".spec.l[9]", "null"),
        ("string", ".spec.l[*]", r#""1""#),
        ("string", ".spec.cs[?(@.type==\"Ready\")].status", r#""True""#),
        ("string", ".spec.cs[?(@.type==\"None\")].status", "null"),
        ("string", ".metadata.annotations.a\\.b/c", r#""v""#),
        ("date", ".spec.d", r#""60m""#),
        ("date", ".metadata.creationTimestamp", r#""60s""#),
        ("date", ".spec.e", r#""\u003cunknown\u003e""#),
        ("date", ".spec.w", r#""\u003cinvalid\u003e""#),
        ("date", ".spec.i", "null"),
        ("integer", ".spec.z", "null"),
        ("other", ".spec.i", "null"),
    ] {
        let columns =
            format!(r#"[{{"name":"C","type":"{ty}","jsonPath":{}}}]"#, serde_json::to_string(path).unwrap());
        assert_eq!(cells(&tree(&arena, &columns), &object), expect, "{ty} {path}");
    }
}

#[test]
fn columns_of_definitions() {
    let arena = Bump::new();
    let names = |columns: Option<&Value<'_>>| {
        Columns::of(columns).iter().map(|column| column.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(None), ["Age"]);
    assert_eq!(names(Some(&tree(&arena, "[]"))), ["Age"]);
    // What cannot be parsed ends them.
    let columns = tree(
        &arena,
        r#"[{"name":"A","type":"string","jsonPath":".a","priority":1,"format":"f","description":"d"},
            {"name":"B","type":"string","jsonPath":".b["},{"name":"C","type":"string","jsonPath":".c"}]"#,
    );
    assert_eq!(names(Some(&columns)), ["A"]);
    let definitions = String::from_utf8(Columns::of(Some(&columns)).definitions()).unwrap();
    let expect = r#",{"name":"A","type":"string","format":"f","description":"d","priority":1}]"#;
    assert!(
        definitions
            .starts_with(r#"[{"name":"Name","type":"string","format":"name","description":"Name must"#)
    );
    assert!(definitions.ends_with(expect), "{definitions}");
    let columns = tree(&arena, r#"[{"name":"A","type":"string","jsonPath":".a"}]"#);
    let description = Columns::of(Some(&columns)).iter().next().unwrap().description.clone();
    assert_eq!(&*description, "Custom resource definition column (in JSONPath format): .a");
}

#[test]
fn fields_to_select_by() {
    let arena = Bump::new();
    let fields = SelectableFields::of(Some(&tree(
        &arena,
        r#"[{"jsonPath":".spec.color"},{"jsonPath":".spec.n"},{"jsonPath":".spec.l[*]"},{"jsonPath":".spec["}]"#,
    )));
    assert_eq!(fields.names().collect::<Vec<_>>(), ["spec.color", "spec.n", "spec.l[*]", "spec["]);
    let object = tree(&arena, r#"{"spec":{"color":"red","n":1.5,"l":[1,2]}}"#);
    let value = |name: &str, object: &Value<'_>| fields.value(name, object);
    assert_eq!(value("spec.color", &object), Some(Ok("red".into())));
    assert_eq!(value("spec.n", &object), Some(Ok("1.5".into())));
    assert_eq!(
        value("spec.l[*]", &object),
        Some(Err("unexpectedly received more than one JSON path result".into()))
    );
    assert_eq!(
        value("spec[", &object),
        Some(Err("unexpected error parsing jsonPath: unterminated array".into()))
    );
    assert_eq!(value("spec.other", &object), None);
    for empty in [r#"{"spec":{"color":null}}"#, r#"{"spec":{}}"#, "{}"] {
        assert_eq!(value("spec.color", &tree(&arena, empty)), Some(Ok(String::new())));
    }
}

#[test]
fn replicas() {
    let arena = Bump::new();
    let scale = Scale::of(&tree(
        &arena,
        r#"{"specReplicasPath":".spec.a.n","statusReplicasPath":".status.n","labelSelectorPath":".status.s"}"#,
    ));
    for (object, expect) in [
        (r#"{}"#, &[][..]),
        (r#"{"spec":{"a":{"n":3}},"status":{"n":0,"s":"a=b"}}"#, &[]),
        (
            r#"{"spec":{"a":{"n":-1}},"status":{"n":2147483648}}"#,
            &[
                ".spec.a.n: Invalid value: -1: should be a non-negative integer",
                ".status.n: Invalid value: 2147483648: should be less than or equal to 2147483647",
            ],
        ),
        (
            r#"{"spec":{"a":"x"},"status":{"n":1.5,"s":[1]}}"#,
            &[
                ".spec.a.n: Invalid value: 0: .spec.a.n accessor error: x is of the type string, expected map[string]interface{}",
                ".status.n: Invalid value: 0: .status.n accessor error: 1.5 is of the type float64, expected int64",
                r#".status.s: Invalid value: "": .status.s accessor error: [1] is of the type []interface {}, expected string"#,
            ],
        ),
        (r#"{"spec":{"a":null},"status":null}"#, &[]),
    ] {
        let object = tree(&arena, object);
        let mut found = scale.validate_spec(&object);
        found.extend(scale.validate_status(&object));
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }
    let mut object = tree(&arena, r#"{"status":{"n":2,"s":"a=b"}}"#);
    assert_eq!(scale.spec_replicas(&object), Ok(None));
    scale.set_spec_replicas(&mut object, 5).unwrap();
    assert_eq!(scale.spec_replicas(&object), Ok(Some(5)));
    assert_eq!((scale.status_replicas(&object), scale.selector(&object)), (Ok(Some(2)), Ok("a=b")));
    let mut object = tree(&arena, r#"{"spec":{"a":"x"}}"#);
    let error = scale.set_spec_replicas(&mut object, 5).unwrap_err();
    assert_eq!(error, "value cannot be set because .spec.a is not a map[string]interface{}");
}

#[test]
fn paths_of_fields() {
    let of = schema(
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},
            "m":{"type":"object","additionalProperties":{"type":"integer"}},"x":{"type":"object","additionalProperties":true}}}"#,
    );
    for (path, brackets, expect) in [
        (".a.b", false, Ok("a.b string")),
        (".m.k", false, Ok("m[k] integer")),
        (".m['k.l']", true, Ok("m[k.l] integer")),
        (".m['it\\'s']", true, Ok("m[it's] integer")),
        (".x.y", true, Ok("x[y] ")),
        (".x.y.z", true, Err("does not refer to a valid field")),
        (".a.c", true, Err("does not refer to a valid field")),
        (".a.b.c", true, Err("does not refer to a valid field")),
        (".m['k']", false, Err("array notation is not allowed")),
        (".m[k]", true, Err("expected single quoted string but got k")),
        (".m['k'", true, Err("unexpected end of JSON path")),
        (".m['k'.", true, Err("expected ] but got .")),
        (".m['\\q']", true, Err("invalid string literal: invalid escape char \\q")),
        ("a", true, Err("expected [ or . but got: a")),
        (".", true, Err("unexpected end of JSON path")),
    ] {
        let found = check::field_path(path, of.root(), brackets);
        let found =
            found.map(|found| format!("{} {}", found.text, found.node.map_or("", |node| node.ty().name())));
        assert_eq!(
            found.map_err(|error| error.to_string()),
            expect.map(str::to_owned).map_err(str::to_owned),
            "{path}"
        );
    }
}

#[test]
fn what_is_the_same_is_stored_once() {
    let pod = r#"{"type":"object","properties":{"name":{"type":"string","description":"words"},"env":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"value":{"type":"string","pattern":"^[a-z]+$"}}}}}}"#;
    let properties: Vec<String> = (0..500).map(|n| format!("\"p{n}\":{pod}")).collect();
    let of = schema(&format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(",")));
    assert_eq!(of.root().property_count(), 500);
    // The string, the one with the pattern, the item, the list, the part and the root.
    assert_eq!(of.node_count(), 6);
    assert!(of.memory() < 20_000, "{}", of.memory());
}
