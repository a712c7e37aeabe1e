//! Envelopes, lists and frames, and errors of garbage.

use bumpalo::Bump;

use super::*;
use crate::{
    json::{self, Mode},
    schema::Schema,
};

fn config_map(json: &str) -> Vec<u8> {
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "ConfigMap").unwrap().ty;
    let value = json::decode_typed(&arena, schema, ty, json.as_bytes(), Mode::Strict).unwrap().value;
    let mut out = Vec::new();
    encode(schema, ty, &value, &mut out);
    out
}

fn back(bytes: &[u8]) -> Result<String, ProtobufError> {
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "ConfigMap").unwrap().ty;
    let value = decode(&arena, schema, ty, bytes)?;
    let mut out = Vec::new();
    json::encode(schema, ty, &value, &mut out);
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn lengths_of_more_than_a_byte() {
    for n in [0, 1, 100, 127, 128, 200, 16_383, 16_384, 70_000] {
        let text = format!("{{\"metadata\":{{}},\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(n));
        assert_eq!(back(&config_map(&text)).unwrap(), text, "{n}");
    }
}

#[test]
fn envelope() {
    let mut out = Vec::new();
    encode_unknown("v1", "ConfigMap", b"abc", &mut out);
    assert_eq!(out, b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x03abc\x1a\x00\x22\x00");
    let unknown = decode_unknown(&out).unwrap();
    assert_eq!((unknown.api_version, unknown.kind, unknown.raw), ("v1", "ConfigMap", &b"abc"[..]));
    for (bytes, expect) in [
        (&b""[..], "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\x05abc", "unexpected EOF"),
        (b"k8s\0\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
        (b"k8s\0\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\0\x02\x00", "proto: Unknown: illegal tag 0 (wire type 2)"),
        (
            b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "proto: negative length found during unmarshaling",
        ),
        (b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: integer overflow"),
        (b"k8s\0\x2f\x00", "proto: illegal wireType 7"),
    ] {
        assert_eq!(decode_unknown(bytes).unwrap_err().0, expect, "{bytes:?}");
    }
}

#[test]
fn lists_and_watch_events() {
    let item = config_map(r#"{"metadata":{"name":"a"}}"#);
    let meta = ListMeta { resource_version: "7", continue_token: "t", remaining_item_count: Some(3) };
    let mut out = Vec::new();
    list("v1", "ConfigMapList", meta, [&item[..], &item[..]].into_iter(), &mut out);
    let unknown = decode_unknown(&out).unwrap();
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "ConfigMapList").unwrap().ty;
    let value = decode(&arena, schema, ty, unknown.raw).unwrap();
    let mut json_out = Vec::new();
    json::encode(schema, ty, &value, &mut json_out);
    let expect = r#"{"metadata":{"resourceVersion":"7","continue":"t","remainingItemCount":3},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]}"#;
    assert_eq!(String::from_utf8(json_out).unwrap(), expect);

    let mut frame = Vec::new();
    watch_event("ADDED", &out, &mut frame);
    let length = u32::from_be_bytes(*frame.first_chunk().unwrap()) as usize;
    assert_eq!(length, frame.len() - 4);
    let ty = schema.kind("", "v1", "WatchEvent").map(|k| k.ty);
    if let Some(ty) = ty {
        // Its object is protobuf, which the tree cannot hold: the decoder must say so and not fail otherwise.
        assert!(decode(&arena, schema, ty, &frame[4..]).is_err());
    }
    assert!(frame.ends_with(&out));
}

#[test]
fn garbage() {
    for (bytes, expect) in [
        (&b"\x08\x01"[..], "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"\x12\x05", "unexpected EOF"),
        (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\x33\x08", "unexpected EOF"),
    ] {
        assert_eq!(back(bytes).unwrap_err().0, expect, "{bytes:?}");
    }
    // Unknown fields, a group among them, are skipped.
    assert_eq!(
        back(b"\x32\x01x\x33\x08\x01\x34\x39\x01\x02\x03\x04\x05\x06\x07\x08\x3d\x01\x02\x03\x04").unwrap(),
        r#"{"metadata":{}}"#
    );
    // A message given twice is merged, of map keys given twice the last counts.
    let mut twice = config_map(r#"{"metadata":{"name":"a"},"data":{"k":"1"}}"#);
    twice.extend_from_slice(b"\x0a\x04\x1a\x02ns\x12\x06\x0a\x01k\x12\x012\x12\x03\x0a\x01a");
    assert_eq!(
        back(&twice).unwrap(),
        r#"{"metadata":{"name":"a","namespace":"ns"},"data":{"a":"","k":"2"}}"#
    );
}
