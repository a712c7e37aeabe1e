//! Parameters of policies: objects of any kind, read from the store when a request is looked at.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_apiserver::{live::Live, registry::Converter};
use ringbolt_machinery::{
    json,
    schema::{Schema, StructId},
    value::Value,
};
use ringbolt_storage::{
    object::{Object, ResourceId},
    storage::Storage,
};

use super::definition::{ParamKind, ParamRef};
use crate::{dynamic::stored_value, registry::Registry};

/// Which kinds there are.
pub(super) struct ParamKinds {
    built_in: Vec<BuiltIn>,
    live: Live,
}

struct BuiltIn {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    found: Found,
}

/// A kind that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    stored: ResourceId,
    pub(super) namespaced: bool,
    /// How a version that is not stored is made: the type that is, the one that is wanted, and the way.
    convert: Option<(StructId, StructId, Converter)>,
}

/// A parameter: its object, with the namespace and the name that tell it from others.
pub(super) struct Param<'a> {
    pub(super) value: &'a Value<'a>,
    pub(super) key: Box<str>,
}

impl ParamKinds {
    pub(super) fn new(registry: &Registry, live: Live) -> Self {
        let built_in = registry.served.iter().map(|served| BuiltIn {
            group: served.facts.group,
            version: served.facts.version,
            kind: served.facts.kind,
            found: Found {
                stored: served.stored,
                namespaced: served.facts.namespaced,
                convert: served.from_stored.map(|way| (served.stored_type, served.facts.ty, way)),
            },
        });
        ParamKinds { built_in: built_in.collect(), live }
    }

    /// Where objects of a kind are; `None` where there is no such kind.
    pub(super) fn find(&self, wanted: &ParamKind) -> Option<Found> {
        let is = |of: &&BuiltIn| {
            of.group == &*wanted.group && of.version == &*wanted.version && of.kind == &*wanted.kind
        };
        if let Some(built_in) = self.built_in.iter().find(is) {
            return Some(built_in.found);
        }
        let published = self.live.published();
        let version = published.version(&wanted.group, &wanted.version)?;
        let route = version.resources().iter().find(|route| *route.kind == *wanted.kind)?;
        Some(Found { stored: route.stored()?, namespaced: route.namespaced, convert: None })
    }
}

impl Found {
    /// What a binding refers to; one `None` where policies are to look without any.
    ///
    /// # Errors
    /// Why there are none, where that is an error.
    pub(super) fn collect<'a>(
        self,
        arena: &'a Bump,
        schema: &Schema,
        storage: &dyn Storage,
        kind: &ParamKind,
        wanted: &ParamRef,
        namespace: &str,
    ) -> Result<Vec<Param<'a>>, String> {
        let namespace = match (self.namespaced, &*wanted.namespace, namespace) {
            (true, "", "") => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .into(),
                );
            }
            (true, "", of_request) => of_request,
            (true, given, _) => given,
            (false, "", _) => "",
            (false, ..) => {
                return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
            }
        };
        let mut found: Vec<Arc<Object>> = Vec::new();
        if !wanted.name.is_empty() {
            let key = match namespace {
                "" => wanted.name.to_string(),
                namespace => format!("{namespace}/{}", wanted.name),
            };
            found.extend(storage.get(self.stored, &key));
        } else if let Some(selector) = &wanted.selector {
            let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
            let all = storage.snapshot(self.stored);
            let selected = all.range(&prefix, None).filter(|object| {
                selector
                    .matches(|key| object.labels().find(|(label, _)| *label == key).map(|(_, value)| value))
            });
            found.extend(selected.cloned());
        }
        if found.is_empty() && wanted.deny {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
        }
        let params = found.iter().filter_map(|object| {
            let value = self.show(arena, schema, kind, object)?;
            Some(Param { value: arena.alloc(value), key: (*object.key).into() })
        });
        Ok(params.collect())
    }

    fn show<'a>(
        self,
        arena: &'a Bump,
        schema: &Schema,
        kind: &ParamKind,
        object: &Object,
    ) -> Option<Value<'a>> {
        let mut value = match self.convert {
            None => stored_value(arena, object)?,
            Some((stored, wanted, way)) => {
                let text = arena.alloc_slice_copy(&object.json);
                let mut tree = json::decode_stored(arena, schema, stored, text).ok()?;
                way(arena, &mut tree);
                let mut shown = Vec::new();
                json::encode(schema, wanted, &tree, &mut shown);
                json::decode_untyped(arena, arena.alloc_slice_copy(&shown)).ok()?
            }
        };
        let api_version = match &*kind.group {
            "" => kind.version.to_string(),
            group => format!("{group}/{}", kind.version),
        };
        let map = value.as_map_mut()?;
        map.insert("apiVersion", Value::String(arena.alloc_str(&api_version)));
        map.insert("kind", Value::String(arena.alloc_str(&kind.kind)));
        Some(value)
    }
}
