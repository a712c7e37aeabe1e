//! Server-side apply of custom resources, their owners through `/status` and `/scale`, and what OpenAPI says of them.

use ringbolt_extensions::custom_resource;
use ringbolt_machinery::{json, openapi::Contents, schema::Schema};

use crate::custom::{DEFINITION, JSON, MERGE, V1, compile, server, widget};

const APPLY: &str = "content-type: application/apply-patch+yaml\r\n";

/// The answer's managed fields as it shows them, without times.
fn owners(body: &str) -> Vec<String> {
    let arena = bumpalo::Bump::new();
    let object = json::decode_untyped(&arena, arena.alloc_slice_copy(body.as_bytes())).expect("it is JSON");
    let list = object.path(&["metadata", "managedFields"]).and_then(|list| list.as_list());
    let entry = |entry: &ringbolt_machinery::value::Value<'_>| {
        let text = |name: &str| entry.str_at(&[name]).unwrap_or("").to_owned();
        let mut fields = Vec::new();
        json::encode_untyped(entry.path(&["fieldsV1"]).expect("fields"), &mut fields);
        let fields = String::from_utf8(fields).expect("text");
        format!(
            "{} {} {}{} {fields}",
            text("manager"),
            text("operation"),
            text("apiVersion"),
            match text("subresource") {
                none if none.is_empty() => String::new(),
                subresource => format!("/{subresource}"),
            }
        )
    };
    list.into_iter().flatten().map(entry).collect()
}

#[test]
fn configurations_are_applied() {
    let mut server = server(&compile(DEFINITION, None));
    let at = |manager: &str| format!("{V1}/a?fieldManager={manager}");
    let made = server.ask("PATCH", &at("a"), APPLY, &widget("a", r#","spec":{"color":"red","replicas":1}"#));
    assert_eq!(
        (made.status, made.body.contains(r#""spec":{"color":"red","replicas":1,"size":3}"#)),
        (201, true)
    );
    let of_a = r#"a Apply ex.io/v1 {"f:spec":{"f:color":{},"f:replicas":{}}}"#;
    assert_eq!(owners(&made.body), [of_a]);
    // The same again changes nothing.
    let again = server.ask("PATCH", &at("a"), APPLY, &widget("a", r#","spec":{"color":"red","replicas":1}"#));
    assert_eq!((again.status, again.body == made.body), (200, true), "{} {}", made.body, again.body);
    let blue = widget("a", r#","spec":{"color":"blue"}"#);
    let conflict = server.ask("PATCH", &at("b"), APPLY, &blue);
    assert_eq!(
        (conflict.status, conflict.message().as_str()),
        (409, "Apply failed with 1 conflict: conflict with \"a\": .spec.color")
    );
    let forced = server.ask("PATCH", &format!("{}&force=true", at("b")), APPLY, &blue);
    assert_eq!(
        owners(&forced.body),
        [r#"a Apply ex.io/v1 {"f:spec":{"f:replicas":{}}}"#, r#"b Apply ex.io/v1 {"f:spec":{"f:color":{}}}"#]
    );
    // What is not named any more goes, and its default comes in its place.
    let less = server.ask("PATCH", &at("a"), APPLY, &widget("a", ""));
    assert_eq!(
        (less.status, less.body.contains(r#""spec":{"color":"blue","size":3}"#)),
        (200, true),
        "{}",
        less.body
    );
    assert_eq!(server.get(&format!("{V1}/a"), "").stable(), less.stable());
}

#[test]
fn configurations_that_are_refused() {
    let mut server = server(&compile(DEFINITION, None));
    let mut check = |rest: &str, status: u16, why: &str| {
        let refused = server.ask("PATCH", &format!("{V1}/a?fieldManager=a"), APPLY, &widget("a", rest));
        assert_eq!((refused.status, refused.message().as_str()), (status, why), "{rest}");
    };
    let typed = |why: &str| format!("failed to create typed patch object (/a; ex.io/v1, Kind=Widget): {why}");
    check(r#","bogus":1"#, 500, &typed(".bogus: field not declared in schema"));
    check(r#","spec":{"size":"x"}"#, 500, &typed(".spec.size: expected numeric (int or float), got string"));
    // Nulls stay until the object is validated: a default takes the place of some.
    check(
        r#","spec":{"color":null,"size":null}"#,
        422,
        "Widget.ex.io \"a\" is invalid: spec.color: Invalid value: \"null\": spec.color in body must be of type string: \
         \"null\"",
    );
}

#[test]
fn nulls_that_may_be_are_stored_and_others_are_not() {
    let text = DEFINITION
        .replace(
            r#""color": {"type": "string"}, "size""#,
            r#""color": {"type": "string", "nullable": true}, "size""#,
        )
        .replace(
            r#""status": {"type": "object", "properties""#,
            r#""status": {"type": "object", "default": {"replicas": 5}, "properties""#,
        );
    let mut server = server(&compile(&text, None));
    let made = server.ask(
        "PATCH",
        &format!("{V1}/a?fieldManager=a"),
        APPLY,
        &widget("a", r#","spec":{"color":null,"size":null},"status":{"replicas":1}"#),
    );
    // A status that is taken away has its default when it is read.
    let shown = r#""spec":{"color":null,"size":3},"status":{"replicas":5}"#;
    assert_eq!((made.status, made.body.contains(shown)), (201, true), "{}", made.body);
    let read = server.get(&format!("{V1}/a"), "");
    assert!(read.body.contains(shown), "{}", read.body);
    // Through the status only that is written, and nobody is in the way for what else is said.
    let applied = server.ask(
        "PATCH",
        &format!("{V1}/a/status?fieldManager=s"),
        APPLY,
        &widget("a", r#","spec":{"color":"x"},"status":{"replicas":2}"#),
    );
    assert!(
        applied.body.contains(r#""spec":{"color":null,"size":3},"status":{"replicas":2}"#),
        "{}",
        applied.body
    );
}

#[test]
fn owners_through_the_scale() {
    let mut server = server(&compile(DEFINITION, None));
    server.ask("POST", &format!("{V1}?fieldManager=c"), JSON, &widget("a", r#","spec":{"color":"red"}"#));
    let scale =
        r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":2}}"#;
    let at = format!("{V1}/a/scale?fieldManager=s");
    // The real server takes the Scale for an object of the custom resource.
    let refused = server.ask("PATCH", &at, APPLY, scale);
    let invalid = "request to convert CR to an invalid group/version: autoscaling/v1";
    assert_eq!(
        (refused.status, refused.message()),
        (
            500,
            format!(
                "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, \
                 Kind=Scale) to proper version: {invalid}"
            )
        )
    );
    server.ask("POST", &format!("{V1}?fieldManager=c"), JSON, &widget("b", r#","spec":{"replicas":1}"#));
    let (at, scale) = (at.replace("/a/", "/b/"), scale.replace(r#""a""#, r#""b""#));
    let conflict = server.ask("PATCH", &at, APPLY, &scale);
    assert_eq!(
        (conflict.status, conflict.message().as_str()),
        (409, "Apply failed with 1 conflict: conflict with \"c\" using autoscaling/v1: .spec.replicas")
    );
    let refused = server.ask("PATCH", &format!("{at}&force=true"), APPLY, &scale);
    assert_eq!(
        (refused.status, refused.message()),
        (
            500,
            format!(
                "failed to convert new object (/b; autoscaling/v1, Kind=Scale) to proper version: {invalid}"
            )
        )
    );
    let patched = server.ask("PATCH", &at, MERGE, r#"{"spec":{"replicas":4}}"#);
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert_eq!(
        owners(&server.get(&format!("{V1}/b"), "").body),
        [
            r#"s Update ex.io/v1/scale {"f:spec":{"f:replicas":{}}}"#,
            r#"c Update ex.io/v1 {"f:spec":{".":{},"f:size":{}}}"#
        ]
    );
}

#[test]
fn openapi_documents_of_a_definition() {
    let resource = compile(DEFINITION, None);
    let describe = |_: &str, _: Option<&str>| None;
    let contents = Contents { schema: Schema::builtin(), groups: &[], openid: false, describe: &describe };
    let arena = bumpalo::Bump::new();
    for (version, has_scale) in [("v1", true), ("v2", false)] {
        let versions = resource.versions.iter().filter(|known| known.name == version).cloned().collect();
        let source = custom_resource::describe(versions);
        let document = source.v3(&contents).expect("there is a document");
        let document = json::decode_untyped(&arena, arena.alloc_slice_copy(&document)).expect("it is JSON");
        let kind = format!("io.ex.{version}.Widget");
        let of_kind = document.path(&["components", "schemas", &kind]).expect("a schema");
        let default = of_kind.path(&["properties", "spec", "properties", "size", "default"]);
        assert_eq!(default.and_then(|default| default.as_i64()), has_scale.then_some(3));
        let selectable = of_kind.path(&["x-kubernetes-selectable-fields"]).and_then(|list| list.as_list());
        let selectable: Vec<_> =
            selectable.into_iter().flatten().filter_map(|field| field.str_at(&["fieldPath"])).collect();
        assert_eq!(selectable, if has_scale { vec!["spec.color"] } else { vec![] });
        let scale = format!("/apis/ex.io/{version}/namespaces/{{namespace}}/widgets/{{name}}/scale");
        assert_eq!(document.path(&["paths", &scale]).is_some(), has_scale);
        let part = source.v2(&contents);
        assert_eq!(part.paths.iter().any(|(path, _)| *path == scale), has_scale);
        let (_, of_v2) = part.definitions.iter().find(|(name, _)| *name == kind).expect("a definition");
        assert!(!String::from_utf8_lossy(of_v2).contains("default"));
    }
}

/// What a body says is read, and warned of, before anyone looks whether there is such an object.
#[test]
fn bodies_for_objects_that_are_not_there() {
    let mut server = server(&compile(DEFINITION, None));
    let put = server.ask("PUT", &format!("{V1}/a"), JSON, &widget("a", r#","spec":{"junk":1}"#));
    assert_eq!((put.status, put.warnings()), (404, vec![r#""unknown field \"spec.junk\"""#]));
    let patched = server.ask("PATCH", &format!("{V1}/a"), MERGE, r#"{"spec":{"junk":1}}"#);
    assert_eq!((patched.status, patched.warnings().len()), (404, 0));
}

/// Metadata that changes is looked at three times, but for finalizers.
#[test]
fn malformed_metadata_is_told_as_often_as_it_is_found() {
    let mut server = server(&compile(DEFINITION, None));
    let made = server.ask("POST", V1, JSON, &widget("a", ""));
    assert_eq!(made.status, 201);
    let mut causes = |patch: &str| {
        let refused = server.ask("PATCH", &format!("{V1}/a"), MERGE, patch);
        assert_eq!(refused.status, 422, "{}", refused.body);
        refused.body.matches(r#""reason":"FieldValue"#).count()
    };
    assert_eq!(causes(r#"{"metadata":{"labels":{"-a-":"b"}}}"#), 3);
    assert_eq!(
        causes(r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"P","name":"p","uid":""}]}}"#),
        3
    );
    assert_eq!(causes(r#"{"metadata":{"finalizers":["a b"]}}"#), 1);
}
