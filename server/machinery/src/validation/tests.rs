//! Tests of names and metadata against the texts clients see.

use bumpalo::Bump;

use super::{names::*, *};
use crate::value::{Map, Value};

fn fits(errors: Vec<String>) {
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn subdomains() {
    for good in ["a", "a-b.c", "0", "example.com", &"a".repeat(253)] {
        fits(dns1123_subdomain_errors(good));
    }
    for bad in ["", ".", "a.", "A", "-a", "a-", "a_b", "a..b", "ä"] {
        assert_eq!(dns1123_subdomain_errors(bad).len(), 1, "{bad}");
    }
    assert_eq!(dns1123_subdomain_errors(&"a".repeat(254)), ["must be no more than 253 characters"]);
}

#[test]
fn labels_and_prefixes() {
    fits(name_is_dns_label("gen-", true));
    assert_eq!(name_is_dns_label("gen-", false).len(), 1);
    assert_eq!(dns1123_label_errors("a.b"), ["must not contain dots"]);
    fits(dns1035_label_errors("a-1"));
    assert_eq!(dns1035_label_errors("1a").len(), 1);
}

#[test]
fn qualified_names() {
    for good in ["a", "example.com/Name", "A_b.c-d"] {
        fits(qualified_name_errors(good));
    }
    assert_eq!(qualified_name_errors("/a"), ["prefix part must be non-empty"],);
    assert_eq!(qualified_name_errors("a/").len(), 2);
    assert!(qualified_name_errors("a/b/c")[0].ends_with("(e.g. 'example.com/MyName')"));
    assert_eq!(qualified_name_errors(&"x".repeat(64)), ["name part must be no more than 63 bytes"]);
}

#[test]
fn path_segments() {
    assert_eq!(path_segment_errors("..", false), ["may not be '..'"]);
    fits(path_segment_errors("..", true));
    assert_eq!(path_segment_errors("a/%", false), ["may not contain '/'", "may not contain '%'"]);
    fits(path_segment_errors("system:node", false));
}

fn meta<'a>(arena: &'a Bump, entries: &[(&'a str, Value<'a>)]) -> Map<'a> {
    let mut map = Map::new_in(arena);
    for (key, value) in entries {
        map.insert(key, value.clone());
    }
    map
}

/// An object with this metadata.
fn object<'a>(arena: &'a Bump, meta: &Map<'a>) -> Value<'a> {
    let mut map = Map::new_in(arena);
    map.insert("metadata", Value::Map(meta.clone()));
    Value::Map(map)
}

fn texts(errors: Vec<crate::field::FieldError>) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn create_needs_a_name_and_the_right_scope() {
    let arena = Bump::new();
    let empty = meta(&arena, &[]);
    assert_eq!(
        texts(validate_object_meta(&object(&arena, &empty), true, &name_is_dns_subdomain, "metadata")),
        [
            "metadata.name: Required value: name or generateName is required",
            "metadata.namespace: Required value"
        ]
    );
    let cluster = meta(&arena, &[("name", Value::String("a")), ("namespace", Value::String("n"))]);
    assert_eq!(
        texts(validate_object_meta(&object(&arena, &cluster), false, &name_is_dns_subdomain, "metadata")),
        ["metadata.namespace: Forbidden: not allowed on this type"]
    );
    fits(texts(validate_object_meta(&object(&arena, &cluster), true, &name_is_dns_subdomain, "metadata")));
}

#[test]
fn update_keeps_what_the_server_set() {
    let arena = Bump::new();
    let old = meta(
        &arena,
        &[("name", Value::String("a")), ("uid", Value::String("u")), ("resourceVersion", Value::String("1"))],
    );
    fits(texts(validate_object_meta_update(&object(&arena, &old), &object(&arena, &old), false, "metadata")));
    let mut new = old.clone();
    new.insert("uid", Value::String("x"));
    new.insert("deletionTimestamp", Value::String("2024-01-01T00:00:00Z"));
    assert_eq!(
        texts(validate_object_meta_update(&object(&arena, &new), &object(&arena, &old), false, "metadata")),
        [
            "metadata.uid: Invalid value: \"x\": field is immutable",
            "metadata.deletionTimestamp: Invalid value: \"2024-01-01T00:00:00Z\": field is immutable",
        ]
    );
}

#[test]
fn finalizers_of_a_dying_object_only_shrink() {
    let arena = Bump::new();
    let list = |names: &[&'static str]| {
        let mut list = bumpalo::collections::Vec::new_in(&arena);
        list.extend(names.iter().map(|n| Value::String(n)));
        Value::List(list)
    };
    let mut old = meta(&arena, &[("name", Value::String("a")), ("resourceVersion", Value::String("1"))]);
    old.insert("deletionTimestamp", Value::String("2024-01-01T00:00:00Z"));
    old.insert("finalizers", list(&["a/b"]));
    let mut new = old.clone();
    new.insert("finalizers", list(&["a/b", "a/d", "a/c"]));
    assert_eq!(
        texts(validate_object_meta_update(&object(&arena, &new), &object(&arena, &old), false, "metadata")),
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a/c\", \"a/d\"}"
        ]
    );
}

#[test]
fn one_controller() {
    let arena = Bump::new();
    let owner = |name: &'static str| {
        let mut map = meta(
            &arena,
            &[
                ("apiVersion", Value::String("apps/v1")),
                ("kind", Value::String("Deployment")),
                ("name", Value::String(name)),
                ("uid", Value::String("u")),
            ],
        );
        map.insert("controller", Value::Bool(true));
        Value::Map(map)
    };
    let mut list = bumpalo::collections::Vec::new_in(&arena);
    list.push(owner("a"));
    list.push(owner("b"));
    let errors = texts(validate_owner_references(Some(&Value::List(list)), "metadata.ownerReferences"));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].ends_with("in references for Deployment/a and Deployment/b"), "{}", errors[0]);
}

#[test]
fn selectors() {
    let arena = Bump::new();
    let requirement = meta(&arena, &[("key", Value::String("a")), ("operator", Value::String("In"))]);
    let mut list = bumpalo::collections::Vec::new_in(&arena);
    list.push(Value::Map(requirement));
    let selector = Value::Map(meta(&arena, &[("matchExpressions", Value::List(list))]));
    assert_eq!(
        texts(validate_label_selector(Some(&selector), "spec.selector")),
        [
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
        ]
    );
}

#[test]
fn annotations_have_a_size() {
    let arena = Bump::new();
    let big = arena.alloc_str(&"x".repeat(256 * 1024));
    let annotations = Value::Map(meta(&arena, &[("a", Value::String(big))]));
    assert_eq!(
        texts(validate_annotations(Some(&annotations), "metadata.annotations")),
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
}
