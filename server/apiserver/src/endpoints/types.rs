//! From bytes to trees and back by what a resource's types are: the Schema's for built-in kinds, what its definition says
//! for a custom one. Handlers ask here and need not know which.

use bumpalo::Bump;
use ringbolt_machinery::{
    apply::{self, ResetFields, Root, SetAside},
    field::FieldError,
    json::{self, Decoded, Mode, StrictError},
    patch, scan,
    status::Status,
    strict::StrictKind,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::{reset_fields, resource::ResourceStore};
use crate::registry::CustomKind;

impl ResourceStore {
    /// A stored object as a tree: in the storage version, or for a custom kind in the version of this store.
    #[inline]
    pub(crate) fn decode_stored<'a>(&self, arena: &'a Bump, stored: &'a [u8]) -> Result<Value<'a>, Status> {
        match &self.served.custom {
            None => json::decode_stored(arena, self.schema, self.served.stored_type, stored)
                .map_err(|e| Status::internal_error(e.to_string())),
            Some(kind) => {
                let mut object = self.decode_stored_plainly(arena, stored)?;
                kind.read_stored(arena, &mut object);
                Ok(object)
            }
        }
    }

    /// The same of an object of which it is known in which form it was written: one of another form is looked at with
    /// the schema that there is now.
    pub(crate) fn decode_stored_as<'a>(
        &self,
        arena: &'a Bump,
        stored: &'a [u8],
        stamp: u32,
    ) -> Result<Value<'a>, Status> {
        match &self.served.custom {
            Some(kind) if has_form(&**kind, stamp) => {
                let mut object = self.decode_stored_plainly(arena, stored)?;
                if let Some(map) = object.as_map_mut() {
                    map.insert("apiVersion", Value::String(arena.alloc_str(&self.group_version)));
                }
                Ok(object)
            }
            _ => self.decode_stored(arena, stored),
        }
    }

    /// A stored object of a custom kind as it was written: it says its kind, and the version that it was stored in.
    pub(crate) fn decode_stored_plainly<'a>(
        &self,
        arena: &'a Bump,
        stored: &'a [u8],
    ) -> Result<Value<'a>, Status> {
        let failed = |e: json::DecodeError| Status::internal_error(e.to_string());
        let meta = json::decode_stored(arena, self.schema, self.partial_type, stored).map_err(failed)?;
        let end = scan::metadata_end(stored)
            .ok_or_else(|| Status::internal_error("stored object without metadata"))?;
        // What follows the metadata is `}`, or a comma and the other members: an object but for its brace.
        let rest = stored.get(end..).unwrap_or_default();
        let mut map = match rest.split_first() {
            Some((b',', members)) => {
                let text = arena.alloc_slice_fill_copy(members.len() + 1, b'{');
                text[1..].copy_from_slice(members);
                match json::decode_untyped(arena, text).map_err(failed)? {
                    Value::Map(map) => map,
                    _ => return Err(Status::internal_error("stored object is malformed")),
                }
            }
            _ => Map::new_in(arena),
        };
        map.insert("kind", Value::String(self.kind()));
        if let Value::Map(mut meta) = meta
            && let Some(metadata) = meta.remove("metadata")
        {
            map.insert("metadata", metadata);
        }
        map.sort_keys();
        Ok(Value::Map(map))
    }

    /// Appends the stored form of a tree as [`ResourceStore::decode_stored`] gives it to `out`, which is empty; answers
    /// the offset of the version.
    #[inline]
    pub(crate) fn encode_stored_into(&self, object: &Value<'_>, out: &mut Vec<u8>) -> u32 {
        match &self.served.custom {
            None => json::encode_stored_into(self.schema, self.served.stored_type, object, out),
            Some(kind) if kind.changes_to_store() || holds_null(object) => {
                let arena = Bump::new();
                let mut object = object.copy_into(&arena);
                kind.take_nulls(&mut object);
                if kind.changes_to_store() {
                    kind.to_stored(&arena, &mut object);
                }
                self.encode_custom_into(&object, kind.stored_version(), out)
            }
            Some(kind) => self.encode_custom_into(object, kind.stored_version(), out),
        }
    }

    /// The stored form of a custom object: metadata as the Schema has it, then all else in the order of the keys, and at
    /// last the version that it is stored in.
    pub(crate) fn encode_custom_into(
        &self,
        object: &Value<'_>,
        stored_version: &str,
        out: &mut Vec<u8>,
    ) -> u32 {
        let splice = self.encode_members_into(object, out);
        out.extend_from_slice(STORED_VERSION);
        out.extend_from_slice(stored_version.as_bytes());
        out.extend_from_slice(b"\"}");
        splice
    }

    /// Metadata and all other members of a custom object, without the braces around them.
    fn encode_members_into(&self, object: &Value<'_>, out: &mut Vec<u8>) -> u32 {
        let splice = json::encode_stored_into(self.schema, self.partial_type, object, out);
        out.pop();
        write_members(object, out);
        splice
    }

    /// The number of the form that an object is stored in by this version.
    pub(crate) fn form(&self) -> u32 {
        self.served.custom.as_ref().map_or(0, |kind| kind.form())
    }

    /// Whether stored bytes of an object with this stamp are what this version shows of it.
    pub(crate) fn shows_as_stored(&self, stamp: u32) -> bool {
        match &self.served.custom {
            None => self.serves_stored_bytes(),
            Some(kind) => has_form(&**kind, stamp),
        }
    }

    /// Appends a custom object as this version shows it, without its first brace and what it is.
    pub(crate) fn encode_shown_into(&self, object: &Value<'_>, out: &mut Vec<u8>) {
        let splice = self.encode_members_into(object, out);
        out.push(b'}');
        let version = object.str_at(&["metadata", "resourceVersion"]).unwrap_or("");
        if !version.is_empty() {
            let mut text = Vec::with_capacity(version.len() + 24);
            text.extend_from_slice(b"\"resourceVersion\":");
            json::quote::write_string(&mut text, version);
            text.push(b',');
            let at = (splice as usize).min(out.len());
            out.splice(at..at, text);
        }
    }

    /// Appends an object of this version as JSON, whole.
    pub(crate) fn encode_shown(&self, object: &Value<'_>, out: &mut Vec<u8>) {
        match self.served.custom {
            None => json::encode(self.schema, self.served.facts.ty, object, out),
            Some(_) => json::encode_untyped(object, out),
        }
    }

    /// Gives a tree that was patched the form that decoding its JSON would have given it, defaults included for a custom
    /// kind.
    pub(crate) fn retype<'a>(
        &self,
        arena: &'a Bump,
        value: &Value<'a>,
        mode: Mode,
    ) -> Result<Decoded<'a>, String> {
        match &self.served.custom {
            None => {
                json::retype(arena, self.schema, self.served.facts.ty, value, mode).map_err(|e| e.to_string())
            }
            Some(_) => self.take_in(arena, value.clone(), mode),
        }
    }

    /// Gives what an apply came to the form that decoding its JSON would have given it. Of a custom kind it fits the
    /// schema already, and nulls stay until it was validated: only defaults are filled in.
    pub(crate) fn retype_applied<'a>(&self, arena: &'a Bump, value: &Value<'a>) -> Result<Value<'a>, String> {
        let Some(kind) = &self.served.custom else {
            // What does not fit a field as JSON is converted as values are: numbers wrap around.
            return match self.retype(arena, value, Mode::Lenient) {
                Ok(decoded) => Ok(decoded.value),
                Err(_) => {
                    patch::decode_strategic(arena, self.schema, self.served.facts.ty, value, Mode::Lenient)
                        .map(|decoded| decoded.value)
                        .map_err(|e| e.to_string())
                }
            };
        };
        let mut object = value.clone();
        kind.fill_in(arena, &mut object);
        self.normalize(arena, &mut object).forget();
        Ok(object)
    }

    /// Takes in an object of a custom kind that was decoded without a schema. An object of another kind is not looked
    /// at: validation refuses it.
    pub(crate) fn take_in<'a>(
        &self,
        arena: &'a Bump,
        mut object: Value<'a>,
        mode: Mode,
    ) -> Result<Decoded<'a>, String> {
        let mut strict_errors = Vec::new();
        if let Some(kind) = &self.served.custom {
            let mut unknown = (mode == Mode::Strict).then(Vec::new);
            kind.take_in(arena, &mut object, unknown.as_mut())?;
            let error = |path| StrictError { kind: StrictKind::Unknown, path };
            strict_errors.extend(unknown.into_iter().flatten().map(error));
        }
        Ok(Decoded { value: object, strict_errors })
    }

    /// What the fields of its objects are told by.
    pub(crate) fn root(&self) -> Root<'_> {
        match &self.served.custom {
            None => self.served.facts.ty.into(),
            Some(kind) => kind.root(&self.group_version).unwrap_or(Root::Deduced),
        }
    }

    /// Brings an object that was changed since it was decoded into the form that decoding leaves.
    pub(crate) fn normalize<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) -> SetAside<'a> {
        match &self.served.custom {
            None => apply::normalize(arena, self.schema, self.served.facts.ty, object),
            Some(_) => {
                // Of a custom object its metadata alone has such a form.
                let Some(map) = object.as_map_mut() else { return SetAside::default() };
                let Some(metadata) = map.remove("metadata") else { return SetAside::default() };
                let mut alone = Map::new_in(arena);
                alone.push_unique("metadata", metadata);
                let mut alone = Value::Map(alone);
                apply::normalize(arena, self.schema, self.partial_type, &mut alone).forget();
                if let Some(metadata) = alone.as_map_mut().and_then(|map| map.remove("metadata")) {
                    map.insert("metadata", metadata);
                }
                map.sort_keys();
                SetAside::default()
            }
        }
    }

    /// What a write through a subresource (empty for the object itself) puts back.
    pub(crate) fn reset_fields(&self, subresource: &str) -> ResetFields {
        match &self.served.custom {
            None => reset_fields::of(self.group(), self.resource(), subresource),
            Some(kind) => reset_fields::of_custom(kind.has_status(), subresource),
        }
    }

    /// What it puts back in the other versions of the kind.
    pub(crate) fn reset_fields_elsewhere(&self, subresource: &str) -> ResetFields {
        match &self.served.custom {
            // Of a custom kind, each version knows of its own status alone.
            Some(_) if subresource.is_empty() => ResetFields::Except(&[]),
            _ => self.reset_fields(subresource),
        }
    }

    /// The number of a selectable field of a custom kind.
    pub(crate) fn custom_selectable(&self, field: &str) -> Option<usize> {
        self.served.custom.as_ref()?.selectable().names().position(|name| name == field)
    }

    /// The value of a selectable field of a custom object; empty where there is none.
    pub(crate) fn custom_field(&self, object: &Object, number: usize) -> String {
        let Some(kind) = &self.served.custom else { return String::new() };
        let Some(name) = kind.selectable().names().nth(number) else { return String::new() };
        let arena = Bump::new();
        let Ok(tree) = self.decode_stored_as(&arena, &object.json, object.attributes.stamp.get()) else {
            return String::new();
        };
        kind.selectable().value(name, &tree).and_then(Result::ok).unwrap_or_default()
    }

    /// What is wrong with what an object says it is, where that is not what it must be: nothing else is looked at then,
    /// and the Status names the kind that it says.
    pub(crate) fn type_error(&self, object: &Value<'_>, name: &str) -> Option<Status> {
        self.served.custom.as_ref()?;
        let (kind, version) =
            (object.str_at(&["kind"]).unwrap_or(""), object.str_at(&["apiVersion"]).unwrap_or(""));
        let mut errors = Vec::new();
        if kind != self.kind() {
            errors.push(FieldError::invalid("kind", kind, format!("must be {}", self.kind())));
        }
        if version != self.group_version {
            errors.push(FieldError::invalid(
                "apiVersion",
                version,
                format!("must be {}", self.group_version),
            ));
        }
        let group = version.split_once('/').map_or("", |(group, _)| group);
        (!errors.is_empty()).then(|| Status::invalid(group, kind, name, &errors))
    }
}

/// Whether there is a null in an object besides its metadata.
fn holds_null(object: &Value<'_>) -> bool {
    fn is_or_holds(value: &Value<'_>) -> bool {
        match value {
            Value::Null => true,
            Value::List(list) => list.iter().any(is_or_holds),
            Value::Map(map) => map.iter().any(|(_, value)| is_or_holds(value)),
            _ => false,
        }
    }
    object.as_map().is_some_and(|map| map.iter().any(|(key, value)| key != "metadata" && is_or_holds(value)))
}

/// What stands before the version that a custom object is stored in; what is behind it ends the object.
const STORED_VERSION: &[u8] = b",\"apiVersion\":\"";

/// Where the members end that are shown of a stored custom object.
pub(crate) fn shown_end(stored: &[u8]) -> usize {
    // A version has no quotes in it, so the last two of the text are around it.
    version_start(stored).map_or(stored.len().saturating_sub(1), |start| start - STORED_VERSION.len())
}

/// The version that a stored custom object says; empty where it says none.
pub(crate) fn version_said(stored: &[u8]) -> &str {
    let version = version_start(stored).and_then(|start| stored.get(start..stored.len() - 2));
    version.and_then(|version| std::str::from_utf8(version).ok()).unwrap_or("")
}

/// Where the version itself begins.
fn version_start(stored: &[u8]) -> Option<usize> {
    let end = stored.len().checked_sub(2)?;
    let start = stored[..end].iter().rposition(|b| *b == b'"')? + 1;
    stored[..start].ends_with(STORED_VERSION).then_some(start)
}

fn has_form(kind: &dyn CustomKind, stamp: u32) -> bool {
    stamp != 0 && kind.form() == stamp
}

/// Writes the members of an object behind its metadata: each with a comma before it, in the order of the keys.
fn write_members(object: &Value<'_>, out: &mut Vec<u8>) {
    let Some(map) = object.as_map() else { return };
    let mut members: Vec<_> =
        map.iter().filter(|(key, _)| !matches!(*key, "kind" | "apiVersion" | "metadata")).collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    for (key, value) in members {
        out.push(b',');
        json::quote::write_string(out, key);
        out.push(b':');
        json::encode_untyped(value, out);
    }
}
