//! Objects between their forms: JSON, protobuf, trees, and what is read of stored bytes alone.

use std::hint::black_box;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::registry::Defaulter;
use ringbolt_controlplane::registry;
use ringbolt_machinery::{
    json::{self, Mode},
    protobuf, scan as scanner,
    schema::{Schema, StructId},
    value::Value,
};

use crate::{Run, Scale, objects, server::Server};

/// The struct of a core kind.
fn ty(kind: &str) -> StructId {
    Schema::builtin().kind("", "v1", kind).expect("it is built in").ty
}

/// A tree that lasts as long as the process: scenarios are made a few times.
fn tree(ty: StructId, text: &str) -> Value<'static> {
    let arena: &'static Bump = Box::leak(Box::default());
    let text = arena.alloc_str(text);
    json::decode_typed(arena, Schema::builtin(), ty, text.as_bytes(), Mode::Strict)
        .expect("a good object")
        .value
}

/// Work in an arena that is emptied after each run, as the core's are.
fn in_arena(mut work: impl FnMut(&Bump) + 'static) -> Run {
    let mut arena = Bump::with_capacity(256 << 10);
    Box::new(move || {
        work(&arena);
        arena.reset();
    })
}

fn stored_pod() -> Bytes {
    Server::new().with_pod().json.clone()
}

pub(super) fn scan(_: Scale) -> Run {
    let pod = stored_pod();
    Box::new(move || {
        let identity = scanner::identity(black_box(&pod));
        assert!(scanner::scalar(&pod, &["spec", "nodeName"]).is_some());
        black_box(identity);
    })
}

fn json_decode(kind: &'static str, text: String) -> Run {
    let (schema, ty) = (Schema::builtin(), ty(kind));
    in_arena(move |arena| {
        let meta = json::interpret(text.as_bytes()).expect("a good object");
        assert_eq!(meta.kind, kind);
        let decoded =
            json::decode_typed(arena, schema, ty, text.as_bytes(), Mode::Strict).expect("a good object");
        assert!(decoded.strict_errors.is_empty());
    })
}

pub(super) fn json_decode_pod(_: Scale) -> Run {
    json_decode("Pod", objects::pod("web-00000"))
}

pub(super) fn json_decode_config_map(_: Scale) -> Run {
    json_decode("ConfigMap", objects::config_map("settings"))
}

pub(super) fn default_pod(_: Scale) -> Run {
    let schema = Schema::builtin();
    let defaulter: Defaulter =
        registry::build(schema).find("", "v1", "pods").expect("it is built in").defaulter;
    let (ty, text) = (ty("Pod"), objects::pod("web-00000"));
    in_arena(move |arena| {
        let decoded = json::decode_typed(arena, schema, ty, text.as_bytes(), Mode::Lenient);
        let mut pod = decoded.expect("a good object").value;
        defaulter(arena, &mut pod);
        black_box(pod);
    })
}

fn json_encode(kind: &str, text: &str) -> Run {
    let ty = ty(kind);
    let object = tree(ty, text);
    Box::new(move || {
        let (stored, splice) = json::encode_stored(Schema::builtin(), ty, &object);
        assert!(stored.len() > splice as usize);
    })
}

pub(super) fn json_encode_pod(_: Scale) -> Run {
    json_encode("Pod", &objects::pod("web-00000"))
}

pub(super) fn json_encode_config_map(_: Scale) -> Run {
    json_encode("ConfigMap", &objects::config_map("settings"))
}

pub(super) fn stored_decode_pod(_: Scale) -> Run {
    let (pod, ty) = (stored_pod(), ty("Pod"));
    in_arena(move |arena| {
        black_box(json::decode_stored(arena, Schema::builtin(), ty, &pod).expect("it was stored"));
    })
}

pub(super) fn protobuf_decode_pod(_: Scale) -> Run {
    let (schema, ty) = (Schema::builtin(), ty("Pod"));
    let mut message = Vec::new();
    protobuf::encode(schema, ty, &tree(ty, &objects::pod("web-00000")), &mut message);
    in_arena(move |arena| {
        black_box(protobuf::decode(arena, schema, ty, &message).expect("a good message"));
    })
}

fn protobuf_encode(kind: &str, text: &str) -> Run {
    let ty = ty(kind);
    let object = tree(ty, text);
    Box::new(move || {
        let mut message = Vec::new();
        protobuf::encode(Schema::builtin(), ty, &object, &mut message);
        assert!(!message.is_empty());
    })
}

pub(super) fn protobuf_encode_pod(_: Scale) -> Run {
    protobuf_encode("Pod", &objects::pod("web-00000"))
}

pub(super) fn protobuf_encode_config_map(_: Scale) -> Run {
    protobuf_encode("ConfigMap", &objects::config_map("settings"))
}
