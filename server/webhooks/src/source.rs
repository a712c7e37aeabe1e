//! Follows the configurations, and publishes the webhooks in them.

use std::{collections::BTreeMap, sync::Arc};

use bumpalo::Bump;
use ringbolt_apiserver::{admission::dynamic::Switch, informer::Follower};
use ringbolt_machinery::value::Value;
use ringbolt_outgoing::{Outgoing, ServiceResolver};
use ringbolt_storage::{
    object::{Event, EventKind, Object, ResourceId},
    storage::Storage,
};

use crate::stored;
use crate::{Hooks, configuration::Webhook};

/// Keeps the webhooks of one kind.
pub(crate) struct Source {
    resource: ResourceId,
    outgoing: Outgoing,
    services: Arc<dyn ServiceResolver>,
    hooks: Hooks,
    switch: Switch,
    /// By the names of their configurations.
    known: BTreeMap<String, Vec<Arc<Webhook>>>,
}

impl Source {
    pub(crate) fn new(
        resource: ResourceId,
        outgoing: Outgoing,
        services: Arc<dyn ServiceResolver>,
        hooks: Hooks,
        switch: Switch,
    ) -> Self {
        Source { resource, outgoing, services, hooks, switch, known: BTreeMap::new() }
    }

    fn see(&mut self, object: &Object) {
        let name = object.name();
        let before = self.known.remove(name).unwrap_or_default();
        let arena = Bump::new();
        let Some(tree) = stored::tree(&arena, object) else {
            tracing::error!(name, "a stored webhook configuration is malformed");
            return;
        };
        let list = tree.path(&["webhooks"]).and_then(Value::as_list).into_iter().flatten();
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        let mut hooks = Vec::new();
        for hook in list.filter_map(Value::as_map) {
            let nth = named.entry(hook.get("name").and_then(Value::as_str).unwrap_or("")).or_default();
            let ways = (&self.outgoing, &self.services);
            hooks.push(Arc::new(Webhook::read(name, *nth, hook, ways, &before)));
            *nth += 1;
        }
        self.known.insert(name.to_owned(), hooks);
    }
}

impl Follower for Source {
    fn resources(&self) -> Vec<ResourceId> {
        vec![self.resource]
    }

    fn resync(&mut self, storage: &dyn Storage) {
        let snapshot = storage.snapshot(self.resource);
        let before = std::mem::take(&mut self.known);
        for object in snapshot.range("", None) {
            // Whatever is still there keeps its connections.
            if let Some(hooks) = before.get(object.name()) {
                self.known.insert(object.name().to_owned(), hooks.clone());
            }
            self.see(object);
        }
    }

    fn observe(&mut self, event: &Event) {
        match event.kind {
            EventKind::Deleted => _ = self.known.remove(event.object.name()),
            _ => self.see(&event.object),
        }
    }

    fn settle(&mut self) {
        let hooks: Vec<_> = self.known.values().flatten().cloned().collect();
        let any = !hooks.is_empty();
        self.hooks.store(Arc::new(hooks));
        self.switch.set(any);
    }
}
