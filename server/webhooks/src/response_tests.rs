//! Answers of webhooks, good and bad.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use super::*;

fn answer(status: u16, content_type: &'static str, body: &str) -> Answer {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    Answer { status, headers, body: Bytes::copy_from_slice(body.as_bytes()) }
}

fn review_of(version: &str, response: &str) -> String {
    format!(r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/{version}","response":{response}}}"#)
}

fn failure(answer: &Answer, mutating: bool) -> (String, u16) {
    match read(answer, "v1", "u", mutating) {
        Err(Failure::Calling { reason, code }) => (reason, code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn good_answers() {
    let body = review_of(
        "v1",
        r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"W10=","warnings":["w"],"auditAnnotations":{"a":"b"}}"#,
    );
    let found = read(&answer(200, "application/json", &body), "v1", "u", true).unwrap();
    assert!(found.allowed && found.unknown_patch_type().is_none());
    assert_eq!((&*found.patch, &*found.warnings), (&b"[]"[..], &["w".to_owned()][..]));
    assert_eq!(found.audit_annotations, [("a".to_owned(), "b".to_owned())]);
    // The older version is taken without a closer look.
    let body =
        review_of("v1beta1", r#"{"allowed":false,"patch":"W10=","status":{"code":422,"reason":"Own"}}"#);
    let found = read(&answer(201, "", &body), "v1beta1", "u", false).unwrap();
    assert!(!found.allowed && found.patch.is_empty());
    let status = found.result.unwrap().status;
    assert_eq!((status.code, status.reason.as_str()), (422, "Own"));
}

#[test]
fn answers_that_are_no_reviews() {
    let check = |status, content_type, body: &str, code: u16, expect: &str| {
        let found = failure(&answer(status, content_type, body), true);
        assert_eq!(found, (format!("failed to call webhook: {expect}"), code), "{body}");
    };
    check(
        200,
        "application/json",
        "",
        503,
        "0-length response with status code: 200 and content type: application/json",
    );
    check(
        500,
        "text/plain",
        " oh no ",
        500,
        "an error on the server (\"oh no\") has prevented the request from succeeding",
    );
    check(
        500,
        "application/json",
        "{}",
        500,
        "an error on the server (\"unknown\") has prevented the request from succeeding",
    );
    check(404, "", "x", 404, "the server could not find the requested resource");
    check(
        502,
        "application/json",
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"mine","code":409}"#,
        409,
        "mine",
    );
    check(
        200,
        "",
        "not json",
        503,
        "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { \
         APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
    );
    check(
        200,
        "",
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}"#,
        503,
        "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    );
    check(
        200,
        "",
        r#"{"kind":"Foo","apiVersion":"admission.k8s.io/v1"}"#,
        503,
        "no kind \"Foo\" is registered for version \"admission.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
    );
    check(
        200,
        "",
        &review_of("v1", r#"{"allowed":"yes"}"#),
        503,
        "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    );
    check(200, "", &review_of("v1", r#"{"patch":"!"}"#), 503, "illegal base64 data at input byte 0");
}

#[test]
fn answers_to_something_else() {
    let check = |mutating, body: &str, expect: &str| {
        let found = failure(&answer(200, "application/json", body), mutating);
        assert_eq!(found, (format!("received invalid webhook response: {expect}"), 503), "{body}");
    };
    let of = |response: &str| review_of("v1", response);
    check(true, &of("null"), "webhook response was absent");
    check(true, &of(r#"{"uid":"v"}"#), "expected response.uid=\"u\", got \"v\"");
    check(
        true,
        r#"{"response":{"uid":"u"}}"#,
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    );
    let patch = |rest: &str| of(&format!(r#"{{"uid":"u","allowed":true{rest}}}"#));
    check(true, &patch(r#","patch":"W10=""#), "webhook returned response.patch but not response.patchType");
    check(
        true,
        &patch(r#","patchType":"JSONPatch""#),
        "webhook returned response.patchType but not response.patch",
    );
    check(
        true,
        &patch(r#","patch":"W10=","patchType":"""#),
        "webhook returned invalid response.patchType of \"\"",
    );
    check(false, &patch(r#","patch":"W10=""#), "validating webhook may not return response.patch");
    check(false, &patch(r#","patchType":"x""#), "validating webhook may not return response.patchType");
}
