//! Tests of statuses: messages, JSON and protobuf bytes.

use super::*;
use crate::field::FieldError;

fn json(status: &Status) -> String {
    let mut out = Vec::new();
    status.encode_json(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn json_has_gos_field_order() {
    assert_eq!(
        json(&Status::not_found("apps", "deployments", "a")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"a\" not found","reason":"NotFound","details":{"name":"a","group":"apps","kind":"deployments"},"code":404}"#
    );
    assert_eq!(
        json(&Status::deleted("", "configmaps", "a", "u")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","kind":"configmaps","uid":"u"}}"#
    );
    assert_eq!(
        json(&Status::not_found_path()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#
    );
}

#[test]
fn conflict_message() {
    assert_eq!(
        Status::modified("", "configmaps", "a").message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
}

#[test]
fn invalid_joins_and_dedups() {
    let one = FieldError::required("spec.a", "");
    let two = FieldError::invalid("spec.b", "<x>", "bad");
    let status = Status::invalid("", "Pod", "p", &[one.clone(), two, one]);
    assert_eq!(
        status.message,
        "Pod \"p\" is invalid: [spec.a: Required value, spec.b: Invalid value: \"<x>\": bad]"
    );
    assert_eq!(status.details.as_ref().unwrap().causes.len(), 2);
    assert!(json(&status).contains(r#"\"\u003cx\u003e\": bad"#));
}

/// As many errors as a body has room for: what is looked for among all before it would take minutes.
#[test]
fn invalid_with_very_many() {
    const MANY: usize = 100_000;
    let errors: Vec<_> =
        (0..2 * MANY).map(|at| FieldError::required(format!("f{}", at % MANY), "")).collect();
    let status = Status::invalid("", "Pod", "p", &errors);
    assert_eq!(status.details.as_ref().unwrap().causes.len(), MANY);
    assert!(status.message.starts_with("Pod \"p\" is invalid: [f0: Required value, f1: Required value, "));
    assert!(status.message.ends_with(&format!("f{}: Required value]", MANY - 1)));
}

#[test]
fn protobuf_writes_every_value_that_is_no_pointer() {
    let mut out = Vec::new();
    Status::bad_request("m").encode_protobuf(&mut out);
    let mut expect = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12".to_vec();
    let message = b"\x0a\x06\x0a\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x01m\x22\x0aBadRequest\x30\x90\x03";
    expect.push(message.len() as u8);
    expect.extend_from_slice(message);
    expect.extend_from_slice(b"\x1a\x00\x22\x00");
    assert_eq!(out, expect);
}
