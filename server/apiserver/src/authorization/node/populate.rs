//! Keeps the graph as objects come, change and go.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bumpalo::Bump;
use memchr::memmem::find;
use ringbolt_machinery::{
    json, scan,
    schema::{Schema, StructId},
    value::Value,
};
use ringbolt_storage::{
    object::{Event, EventKind, Object, ResourceId},
    storage::Storage,
};

use super::{super::hash::Seed, graph::Graph, reach::Reach, references, vertex::Kind};

/// What the graph is made from.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// The Schema of all of it.
    pub schema: &'static Schema,
    /// Pods, and the struct they are stored as.
    pub pods: (ResourceId, StructId),
    /// Persistent volumes, and the struct they are stored as.
    pub persistent_volumes: (ResourceId, StructId),
    /// Volume attachments.
    pub volume_attachments: ResourceId,
    /// Resource slices.
    pub resource_slices: ResourceId,
    /// Requests of certificates for pods.
    pub pod_certificate_requests: ResourceId,
}

/// Members of a pod by which it comes to refer to more than it did when it was bound to its node. As they stand in
/// stored objects; in managed fields they are written otherwise.
const GROWING: [&str; 3] =
    [r#""ephemeralContainers":"#, r#""resourceClaimStatuses":"#, r#""extendedResourceClaimStatus":"#];

/// Follows what the graph is made from.
pub(super) struct Populator {
    resources: Resources,
    graph: Graph,
    published: Arc<ArcSwap<Reach>>,
    arena: Bump,
}

impl Populator {
    pub(super) fn new(resources: Resources, published: Arc<ArcSwap<Reach>>, seed: Seed) -> Self {
        Populator { resources, graph: Graph::new(seed), published, arena: Bump::new() }
    }

    pub(super) fn resources(&self) -> Vec<ResourceId> {
        let of = &self.resources;
        vec![
            of.pods.0,
            of.persistent_volumes.0,
            of.volume_attachments,
            of.resource_slices,
            of.pod_certificate_requests,
        ]
    }

    /// Starts over with what is stored.
    pub(super) fn resync(&mut self, storage: &dyn Storage) {
        self.graph = Graph::new(self.graph.seed());
        for resource in self.resources() {
            for object in storage.snapshot(resource).range("", None) {
                self.put(object);
            }
        }
        // What was published may be of objects that are gone.
        self.published.store(Arc::new(self.graph.take_changed().unwrap_or_default()));
    }

    pub(super) fn observe(&mut self, event: &Event) {
        match event.kind {
            EventKind::Added | EventKind::Modified => self.put(&event.object),
            EventKind::Deleted => self.remove(&event.object),
        }
    }

    /// Lets decisions see what changed.
    pub(super) fn settle(&mut self) {
        if let Some(reach) = self.graph.take_changed() {
            self.published.store(Arc::new(reach));
        }
    }

    fn put(&mut self, object: &Object) {
        let of = self.resources;
        if object.resource == of.pods.0 {
            self.put_pod(object);
        } else if object.resource == of.persistent_volumes.0 {
            self.put_volume(object);
        } else if let Some(kind) = self.kind(object.resource) {
            let node = scan::scalar(&object.json, &["spec", "nodeName"]).filter(|node| !node.is_empty());
            self.graph.set_node(kind, object.namespace(), object.name(), node.as_deref());
        }
    }

    fn remove(&mut self, object: &Object) {
        let of = self.resources;
        if object.resource == of.pods.0 {
            self.graph.remove_pod(&object.key);
        } else if object.resource == of.persistent_volumes.0 {
            self.graph.remove_volume(object.name());
        } else if let Some(kind) = self.kind(object.resource) {
            self.graph.set_node(kind, object.namespace(), object.name(), None);
        }
    }

    /// The kinds that say themselves which node they belong to.
    fn kind(&self, resource: ResourceId) -> Option<Kind> {
        let of = &self.resources;
        let kinds = [
            (of.volume_attachments, Kind::VolumeAttachment),
            (of.resource_slices, Kind::ResourceSlice),
            (of.pod_certificate_requests, Kind::PodCertificateRequest),
        ];
        kinds.into_iter().find(|(of, _)| *of == resource).map(|(_, kind)| kind)
    }

    /// Most that happens to pods changes nothing here: they are created before they run anywhere (what is indexed of a pod
    /// is its node), and then their status is written again and again. Both are told without a look at the whole pod.
    fn put_pod(&mut self, object: &Object) {
        let has = |member: &str| find(&object.json, member.as_bytes()).is_some();
        match self.graph.pod_grows(&object.key) {
            Some(false) if !GROWING.into_iter().any(has) => return,
            None if object.attributes.indexed && object.attributes.fields.get(0).is_empty() => return,
            None if !has(r#""nodeName":"#) => return,
            _ => {}
        }
        let (schema, ty) = (self.resources.schema, self.resources.pods.1);
        with_tree(&mut self.arena, schema, ty, object, |pod| {
            let node = pod.str_at(&["spec", "nodeName"]).unwrap_or("");
            if node.is_empty() {
                return self.graph.remove_pod(&object.key);
            }
            let names = (object.namespace(), object.name());
            let (references, grows) = references::of_pod(pod, names.0, names.1);
            self.graph.put_pod(names, node, &references, grows);
        });
    }

    fn put_volume(&mut self, object: &Object) {
        let (schema, ty) = (self.resources.schema, self.resources.persistent_volumes.1);
        with_tree(&mut self.arena, schema, ty, object, |volume| {
            match references::of_persistent_volume(volume) {
                Some((claim, secrets)) => self.graph.put_volume(object.name(), claim, &secrets),
                None => self.graph.remove_volume(object.name()),
            }
        });
    }
}

/// Reads an object. What the Schema cannot read was never written.
fn with_tree(
    arena: &mut Bump,
    schema: &Schema,
    ty: StructId,
    object: &Object,
    read: impl FnOnce(&Value<'_>),
) {
    if let Ok(tree) = json::decode_stored(arena, schema, ty, &object.json) {
        read(&tree);
    }
    arena.reset();
}

#[cfg(test)]
#[path = "populate_tests.rs"]
mod tests;
