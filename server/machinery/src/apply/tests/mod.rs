//! Tests of field sets and of the field manager.

mod created;
mod field_manager;
mod fields_v1;
mod laws;
mod lists;
mod schema;
mod structural;

use bumpalo::Bump;

use super::*;
use crate::{
    json::{self, Mode},
    schema::{Schema, StructId},
    value::Value,
    yaml,
};

/// A kind of the built-in Schema.
fn kind(api_version: &str, kind: &str) -> StructId {
    Schema::builtin().kind_of(api_version, kind).expect("a built-in kind").ty
}

/// A tree without types, from YAML.
fn untyped<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
    let loaded = yaml::to_json(text.as_bytes()).unwrap();
    json::decode_untyped(arena, arena.alloc_slice_copy(&loaded.json)).unwrap()
}

/// A decoded object, from YAML.
fn typed<'a>(arena: &'a Bump, ty: StructId, text: &str) -> Value<'a> {
    let decoded = yaml::decode_typed(arena, Schema::builtin(), ty, text.as_bytes(), Mode::Strict).unwrap();
    assert!(decoded.strict_errors.is_empty(), "{:?}", decoded.strict_errors);
    decoded.value
}

fn printed(set: FieldSet<'_>) -> String {
    let mut out = Vec::new();
    print_fields(set, &mut out);
    String::from_utf8(out).unwrap()
}
