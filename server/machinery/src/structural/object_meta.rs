//! `kind`, `apiVersion` and `metadata` of objects of the API, at the root and embedded: made what decoding into Go's
//! structs would make of them.

use std::fmt;

use bumpalo::Bump;

use super::{Node, Structural, path::Path};
use crate::{
    field::FieldError,
    json::{self, DecodeError, zero},
    patch::go_text,
    schema::{Composite, Schema, StructId, Type},
    strict::{Mode, StrictKind},
    value::{Map, Value},
};

/// What becomes of metadata that is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// It is an error: what clients send.
    Refuse,
    /// The fields at fault are dropped, and a `generation` that is missing is 1: what is read from storage.
    Drop,
}

/// Why an object cannot be taken in; `Display` is Kubernetes' text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoerceError {
    /// A text alone.
    Text(String),
    /// A field of an embedded object.
    Field(FieldError),
}

impl fmt::Display for CoerceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoerceError::Text(text) => f.write_str(text),
            CoerceError::Field(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CoerceError {}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl Structural {
    /// Takes in an object that was decoded without a schema: its metadata and that of embedded objects get the form
    /// that the Schema's `ObjectMeta` gives, and what the schema does not have is pruned, nulls with it. Paths of
    /// unknown fields go to `unknown`, as field validation tells them.
    pub fn coerce<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        metadata: Metadata,
        mut unknown: Option<&mut Vec<String>>,
    ) -> Result<(), CoerceError> {
        let Value::Map(map) = object else {
            return Err(CoerceError::Text("object root must be of object type".into()));
        };
        for key in ["kind", "apiVersion"] {
            match map.get(key) {
                None | Some(Value::String(_)) => {}
                Some(other) => {
                    let (text, ty) = (go_text::plain(other), go_text::type_of(other));
                    return Err(CoerceError::Text(format!(
                        ".{key} accessor error: {text} is of the type {ty}, expected string"
                    )));
                }
            }
        }
        let meta = match map.get("metadata") {
            None => None,
            Some(value) => Some(
                object_meta(arena, value, metadata, &Path::ROOT, unknown.as_deref_mut())
                    .map_err(CoerceError::Text)?,
            ),
        };
        self.prune(object, unknown.as_deref_mut());
        self.prune_nulls(object);
        coerce_part(arena, self.root(), object, false, metadata, unknown, &Path::ROOT)
            .map_err(CoerceError::Field)?;
        if let (Some(mut meta), Value::Map(map)) = (meta, object) {
            if metadata == Metadata::Drop
                && let Value::Map(meta) = &mut meta
                && meta.get("generation").is_none()
            {
                meta.insert_sorted("generation", Value::Int(1));
            }
            map.insert("metadata", meta);
        }
        Ok(())
    }
}

/// Coerces the metadata of embedded objects, and of the part itself where `resource` says that it is one.
pub(super) fn coerce_part<'a>(
    arena: &'a Bump,
    node: Node<'_>,
    value: &mut Value<'a>,
    resource: bool,
    metadata: Metadata,
    unknown: Option<&mut Vec<String>>,
    path: &Path<'_>,
) -> Result<(), FieldError> {
    let mut found = Vec::new();
    let tracked = unknown.is_some();
    let mut coercer = Coercer { arena, metadata, unknown: tracked.then_some(&mut found) };
    coercer.part(node, value, resource, path)?;
    if let Some(unknown) = unknown {
        found.sort_unstable();
        unknown.append(&mut found);
    }
    Ok(())
}

struct Coercer<'a, 'u> {
    arena: &'a Bump,
    metadata: Metadata,
    unknown: Option<&'u mut Vec<String>>,
}

impl<'a> Coercer<'a, '_> {
    fn part(
        &mut self,
        node: Node<'_>,
        value: &mut Value<'a>,
        resource: bool,
        path: &Path<'_>,
    ) -> Result<(), FieldError> {
        match value {
            Value::Map(map) => {
                if resource || node.is_embedded_resource() {
                    self.embedded(map, path)?;
                }
                for (key, value) in map.iter_mut() {
                    if let Some(property) = node.property(key) {
                        self.part(property, value, false, &path.child(key))?;
                    } else if let Some(schema) = node.additional_schema() {
                        self.part(schema, value, false, &path.key(key))?;
                    }
                }
            }
            Value::List(list) => {
                let Some(items) = node.items() else { return Ok(()) };
                for (at, item) in list.iter_mut().enumerate() {
                    self.part(items, item, false, &path.index(at))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn embedded(&mut self, map: &mut Map<'a>, path: &Path<'_>) -> Result<(), FieldError> {
        for key in ["apiVersion", "kind"] {
            match map.get(key) {
                None | Some(Value::String(_)) => {}
                Some(_) if self.metadata == Metadata::Drop => {
                    map.remove(key);
                }
                Some(other) => {
                    return Err(FieldError::invalid(path.child(key).field(), other, "must be a string"));
                }
            }
        }
        let Some(value) = map.get_mut("metadata") else { return Ok(()) };
        match object_meta(self.arena, value, self.metadata, path, self.unknown.as_deref_mut()) {
            Ok(meta) => *value = meta,
            Err(_) if self.metadata == Metadata::Drop => {}
            Err(text) => return Err(FieldError::invalid(path.child("metadata").field(), &*value, text)),
        }
        Ok(())
    }
}

/// What decoding `metadata` into Go's `ObjectMeta` and encoding it again gives. `path` is that of the object.
pub(super) fn object_meta<'a>(
    arena: &'a Bump,
    value: &Value<'a>,
    metadata: Metadata,
    path: &Path<'_>,
    unknown: Option<&mut Vec<String>>,
) -> Result<Value<'a>, String> {
    let mode = if unknown.is_some() { Mode::Strict } else { Mode::Lenient };
    let (ty, schema) = (object_meta_type(), Schema::builtin());
    let decode = |value: &Value<'_>| json::retype(arena, schema, ty, value, mode);
    let decoded = match decode(value) {
        Err(_) if metadata == Metadata::Drop => match value {
            Value::Map(map) => {
                let mut kept = Map::new_in(arena);
                for (key, value) in map.iter() {
                    let mut single = Map::new_in(arena);
                    single.push_unique(key, value.clone());
                    if decode(&Value::Map(single)).is_ok() {
                        kept.push_unique(key, value.clone());
                    }
                }
                decode(&Value::Map(kept)).map_err(|error| error.to_string())?
            }
            other => {
                return Err(format!("invalid metadata: expected object, got {}", go_text::type_of(other)));
            }
        },
        decoded => decoded.map_err(|error: DecodeError| error.to_string())?,
    };
    if let Some(unknown) = unknown {
        let prefix = path.child("metadata").field();
        let fields = decoded.strict_errors.iter().filter(|error| !matches!(error.kind, StrictKind::Other(_)));
        unknown.extend(fields.map(|error| format!("{prefix}.{}", error.path)));
    }
    let mut meta = decoded.value;
    strip(schema, Type::Struct(ty), &mut meta);
    Ok(meta)
}

fn object_meta_type() -> StructId {
    static FOUND: std::sync::LazyLock<StructId> = std::sync::LazyLock::new(|| {
        let found = Schema::builtin().by_openapi_name(OBJECT_META);
        found.expect("the built-in Schema has ObjectMeta").0
    });
    *FOUND
}

/// Takes out of a decoded tree what encoding leaves out, and sorts keys: what is stored of a custom resource is a tree
/// without types.
fn strip(schema: &Schema, ty: Type, value: &mut Value<'_>) {
    match (ty, value) {
        (Type::Struct(id), Value::Map(map)) => {
            let of = schema.get(id);
            map.retain(|key, value| match of.field(key) {
                Some((_, field)) if !zero::left_out(schema, field, value) => {
                    strip(schema, field.ty, value);
                    true
                }
                _ => false,
            });
            map.sort_keys();
        }
        (Type::Composite(id), Value::List(list)) => {
            if let Composite::List(element) = schema.composite(id) {
                list.iter_mut().for_each(|item| strip(schema, element.ty, item));
            }
        }
        (Type::Composite(id), Value::Map(map)) => {
            if let Composite::Map(element) = schema.composite(id) {
                map.iter_mut().for_each(|(_, item)| strip(schema, element.ty, item));
            }
            map.sort_keys();
        }
        _ => {}
    }
}
