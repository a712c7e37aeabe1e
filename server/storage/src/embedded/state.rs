//! The live objects as the sequencer and recovery see them: committed, and what the batch at hand adds.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::record;
use crate::{
    object::{Object, ResourceId},
    objects::Objects,
    snapshot::Root,
};

/// One resource's live objects.
#[derive(Clone, Debug)]
pub(crate) struct ResourceState {
    pub(crate) name: Arc<str>,
    pub(crate) objects: Objects,
    /// Revision of the last change.
    pub(crate) revision: u64,
}

/// All live objects.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Those listed at open first, then those that only the journal knew and those that were asked for since. Nothing
    /// is lost of one that nobody asks for: it is served again once someone does.
    resources: Vec<ResourceState>,
    numbers: HashMap<Arc<str>, u16>,
    /// Revision of the last write.
    pub(crate) revision: u64,
    /// Bytes of all objects and keys.
    pub(crate) bytes: u64,
    /// What expires, by time and revision.
    pub(crate) expiry: BTreeMap<(u64, u64), (ResourceId, Arc<Object>)>,
}

impl State {
    /// An empty state of the given resources.
    pub(crate) fn new(resources: &[String]) -> State {
        let mut state = State::default();
        for name in resources {
            state.add_resource(name.as_str().into());
        }
        state
    }
    /// The number of a resource; one never heard of is added.
    pub(crate) fn resource(&mut self, name: &str) -> ResourceId {
        let known = self.numbers.get(name).copied();
        ResourceId(known.unwrap_or_else(|| self.add_resource(name.into())))
    }
    /// Adds one more, under a name that none has; its number is the next.
    pub(crate) fn add_resource(&mut self, name: Arc<str>) -> u16 {
        let number = self.resources.len() as u16;
        self.numbers.insert(name.clone(), number);
        self.resources.push(ResourceState { name, objects: Objects::default(), revision: 0 });
        number
    }
    /// All resources, by number.
    pub(crate) fn resources(&self) -> &[ResourceState] {
        &self.resources
    }
    /// The live object.
    pub(crate) fn get(&self, resource: ResourceId, key: &str) -> Option<&Arc<Object>> {
        self.resources.get(resource.0 as usize)?.objects.get(key)
    }
    /// Stores an object; what was there before.
    pub(crate) fn put(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let is_there = self.get(object.resource, &object.key).is_some();
        self.put_known(object, is_there)
    }
    /// As [`State::put`], by a caller who knows whether there is something under the key.
    pub(crate) fn put_known(&mut self, object: Arc<Object>, is_there: bool) -> Option<Arc<Object>> {
        let resource = self.resources.get_mut(object.resource.0 as usize)?;
        resource.revision = resource.revision.max(object.revision);
        self.revision = self.revision.max(object.revision);
        self.bytes += object_bytes(&object);
        if object.expires > 0 {
            self.expiry.insert((object.expires, object.revision), (object.resource, object.clone()));
        }
        let previous = resource.objects.put_known(object, is_there);
        if let Some(previous) = &previous {
            self.forget(previous);
        }
        previous
    }
    /// Removes an object by a deletion at `revision`.
    pub(crate) fn delete(&mut self, resource: ResourceId, key: &str, revision: u64) -> Option<Arc<Object>> {
        let resource = self.resources.get_mut(resource.0 as usize)?;
        let previous = resource.objects.remove(key)?;
        resource.revision = resource.revision.max(revision);
        self.revision = self.revision.max(revision);
        self.forget(&previous);
        Some(previous)
    }
    fn forget(&mut self, object: &Object) {
        self.bytes -= object_bytes(object);
        if object.expires > 0 {
            self.expiry.remove(&(object.expires, object.revision));
        }
    }
    /// The first object that has expired.
    pub(crate) fn expired(&self, now_seconds: u64) -> Option<(ResourceId, &Arc<Object>)> {
        let ((expires, _), (resource, object)) = self.expiry.first_key_value()?;
        (*expires <= now_seconds).then_some((*resource, object))
    }
    /// The root to publish of a resource.
    pub(crate) fn root(&self, resource: ResourceId) -> Root {
        self.resources.get(resource.0 as usize).map_or_else(Root::default, |resource| Root {
            revision: resource.revision,
            objects: resource.objects.clone(),
        })
    }
    /// Bytes of the records of all live objects.
    pub(crate) fn record_bytes(&self) -> u64 {
        let fixed = |r: &ResourceState| r.objects.len() as u64 * record::size(&r.name, "", 0) as u64;
        self.bytes + self.resources.iter().map(fixed).sum::<u64>()
    }
}

/// What an object counts for in sizes and quotas.
pub(crate) fn object_bytes(object: &Object) -> u64 {
    (object.json.len() + object.key.len()) as u64
}
