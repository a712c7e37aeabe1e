//! What OpenAPI documents say of custom resources: written when somebody asks, from the schemas as they were sent.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_apiserver::live::{OpenApiSource, V2Part};
use ringbolt_machinery::{
    json,
    openapi::{
        Contents,
        custom::{self, CustomResource},
    },
    value::Value,
};

use super::compile::Version;

/// Describes the resources of one group-version. Each version is one of a definition.
pub fn describe(versions: Vec<Version>) -> Arc<dyn OpenApiSource> {
    Arc::new(Documents(versions))
}

struct Documents(Vec<Version>);

impl Documents {
    /// Calls `with` with the resources.
    fn with<R>(&self, with: impl FnOnce(&[CustomResource<'_>]) -> R) -> R {
        let arena = Bump::new();
        let resources: Vec<_> = self.0.iter().map(|version| resource(&arena, version)).collect();
        with(&resources)
    }
}

impl OpenApiSource for Documents {
    fn v3(&self, contents: &Contents<'_>) -> Option<Vec<u8>> {
        Some(self.with(|resources| custom::v3(contents, resources)))
    }

    fn v2(&self, contents: &Contents<'_>) -> V2Part {
        self.with(|resources| custom::v2(contents, resources))
    }
}

fn resource<'a>(arena: &'a Bump, version: &'a Version) -> CustomResource<'a> {
    let Version { kind, facts, .. } = version;
    // The text was written from a schema that was read.
    let schema = json::decode_untyped(arena, kind.schema.text()).unwrap_or(Value::Null);
    CustomResource {
        group: facts.group,
        version: facts.version,
        plural: facts.resource,
        kind: facts.kind,
        list_kind: &kind.list_kind,
        namespaced: facts.namespaced,
        status: kind.has_status,
        scale: kind.scale.is_some(),
        schema: Some(arena.alloc(schema)),
        selectable_fields: arena.alloc_slice_fill_iter(kind.selectable.names()),
    }
}
