//! ClusterRoles with an aggregation rule have the rules of those that it selects (`ClusterRoleAggregationController`).

use std::time::Instant;

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_apiserver::endpoints::label_selector;
use ringbolt_machinery::value::Value;
use ringbolt_storage::{
    object::{Event, Object},
    snapshot::Snapshot,
};

use crate::{
    client::{Client, Reply, Request},
    context::{Context, Control},
    kinds::Kind,
    object::{self, map, text},
    queue::WorkQueue,
};

/// What managed fields call the writer.
const MANAGER: &str = "clusterrole-aggregation-controller";

/// The controller.
pub(crate) struct ClusterRoleAggregationController {
    client: Client,
    roles: Kind,
    /// Names of roles with a rule. Any role may be selected by any of them, so a change makes all of them due.
    queue: WorkQueue<String>,
    /// A role has changed since the queue was filled.
    changed: bool,
}

impl ClusterRoleAggregationController {
    pub(crate) fn new(context: &Context) -> Self {
        ClusterRoleAggregationController {
            client: context.client(MANAGER),
            roles: context.kinds.built_in("rbac.authorization.k8s.io", "clusterroles"),
            queue: WorkQueue::default(),
            changed: false,
        }
    }

    fn sync(&self, context: &Context, name: &str) -> Result<(), String> {
        let roles = context.storage.snapshot(self.roles.stored);
        let Some(stored) = roles.get(name) else { return Ok(()) };
        let arena = Bump::new();
        let Some(role) = object::tree(&arena, &self.roles, stored) else { return Ok(()) };
        if !is_aggregated(&role) {
            return Ok(());
        }
        let rules = self.rules(&arena, &roles, &role)?;
        let no_rules = ArenaVec::new_in(&arena);
        let now = role.path(&["rules"]).and_then(Value::as_list).unwrap_or(&no_rules);
        if *now == rules {
            return Ok(());
        }
        let head = [
            ("apiVersion", text(&arena, &self.roles.api_version())),
            ("kind", text(&arena, &self.roles.facts.kind)),
            ("metadata", map(&arena, [("name", text(&arena, name))])),
        ];
        // No rules are not applied as none: what others wrote stays, what this controller did goes.
        let rules = (!rules.is_empty()).then_some(("rules", Value::List(rules)));
        let body = map(&arena, head.into_iter().chain(rules));
        match self.client.send(Request::apply(&self.roles.path("", name), MANAGER, object::body(&body))) {
            Reply::Done | Reply::NotFound => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    /// The rules of all roles that are selected, each once: by selector, then by name.
    fn rules<'a>(
        &self,
        arena: &'a Bump,
        roles: &Snapshot,
        role: &Value<'a>,
    ) -> Result<ArenaVec<'a, Value<'a>>, String> {
        let mut rules = ArenaVec::new_in(arena);
        let own = role.str_at(&["metadata", "name"]).unwrap_or("");
        let selectors = role.path(&["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_list);
        for selector in selectors.into_iter().flatten() {
            let selector = label_selector::selector(Some(selector)).map_err(|e| e.to_string())?;
            let Some(selector) = selector else { continue };
            let selects = |role: &Object| {
                selector.matches(|key| role.labels().find(|(k, _)| *k == key).map(|(_, value)| value))
            };
            for other in roles.range("", None).filter(|other| other.name() != own && selects(other)) {
                let Some(other) = object::tree(arena, &self.roles, other) else { continue };
                let others = other.path(&["rules"]).and_then(Value::as_list);
                for rule in others.into_iter().flatten() {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
        }
        Ok(rules)
    }
}

fn is_aggregated(role: &Value<'_>) -> bool {
    role.path(&["aggregationRule"]).is_some_and(|rule| !rule.is_null())
}

impl Control for ClusterRoleAggregationController {
    fn resync(&mut self, _: &Context, _: Instant) {
        self.queue.clear();
        self.changed = true;
    }

    fn observe(&mut self, _: &Context, event: &Event, _: Instant) {
        self.changed |= event.object.resource == self.roles.stored;
    }

    fn work(&mut self, context: &Context, now: Instant) {
        if std::mem::take(&mut self.changed) {
            let roles = context.storage.snapshot(self.roles.stored);
            for role in roles.range("", None) {
                if memchr::memmem::find(&role.json, b"\"aggregationRule\":").is_some() {
                    self.queue.add(role.name().to_owned(), now);
                }
            }
        }
        while let Some(name) = self.queue.pop(now) {
            match self.sync(context, &name) {
                Ok(()) => self.queue.forget(&name),
                Err(why) => {
                    tracing::warn!(role = name, why, "cluster role aggregation controller");
                    self.queue.retry(name, Instant::now());
                }
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        if self.changed { Some(Instant::now()) } else { self.queue.next() }
    }
}
