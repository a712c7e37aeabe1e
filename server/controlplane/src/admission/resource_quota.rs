//! ResourceQuota: what an object counts for must fit into the quotas of its namespace, and is charged to them in the
//! same step that stores the object. So a usage is never taken twice, and never for an object that is not made.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    apply::{self, FieldManager, NoOtherVersion, ResetFields},
    json,
    status::Status,
    value::Value,
};
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::{EncodedObject, Object},
};

use super::objects::Objects;
use crate::{
    clock,
    quota::{Evaluator, ResourceList, selectors},
    tree::root,
};

/// What managed fields call the writer of a usage.
const MANAGER: &str = "kube-apiserver";

/// The writes that charge an object to the quotas of its namespace, or the refusal of the first that it does not fit
/// into.
pub(super) fn charge(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &Bump,
    object: &Value<'_>,
    old: Option<&Value<'_>>,
) -> Result<Vec<Write>, Status> {
    if attributes.namespace.is_empty() {
        return Ok(Vec::new());
    }
    let quotas = objects.in_namespace(attributes, objects.resource_quotas);
    if quotas.is_empty() {
        return Ok(Vec::new());
    }
    let facts = attributes.served.facts;
    let Some(evaluator) = Evaluator::of(facts.group, facts.resource) else { return Ok(Vec::new()) };
    if !evaluator.handles(attributes.operation, attributes.subresource, object, old) {
        return Ok(Vec::new());
    }
    let mut concerned = Vec::new();
    for stored in &quotas {
        let Some(tree) = objects.tree(arena, objects.resource_quotas, stored) else { continue };
        if let Some(quota) = Quota::of(attributes, &evaluator, stored, tree, object)? {
            concerned.push(quota);
        }
    }
    let usage = evaluator.usage(object);
    let negative = usage.negative();
    if !negative.is_empty() {
        let why = format!("quota usage is negative for resource(s): {}", negative.join(","));
        return Err(attributes.forbidden(&why));
    }
    let mut charges = Vec::new();
    for quota in concerned {
        // What was in the quota before is counted already.
        let before =
            old.filter(|old| attributes.operation == Operation::Update && quota.matches(&evaluator, old));
        let delta = match before {
            Some(old) => usage.more_than(&evaluator.usage(old)),
            None => usage.clone(),
        };
        charges.extend(quota.charge(objects, attributes, arena, &delta.without_zeros())?);
    }
    Ok(charges)
}

/// A quota that says something about the object.
struct Quota<'q, 'a> {
    stored: &'q Arc<Object>,
    tree: Value<'a>,
    hard: ResourceList,
    used: ResourceList,
}

impl<'q, 'a> Quota<'q, 'a> {
    /// The quota, where it is about the object, with what it asks of the object checked.
    fn of(
        attributes: &Attributes<'_>,
        evaluator: &Evaluator,
        stored: &'q Arc<Object>,
        tree: Value<'a>,
        object: &Value<'_>,
    ) -> Result<Option<Self>, Status> {
        let list = |name: &str| ResourceList::read(tree.path(&["status", name]).and_then(Value::as_map));
        let (hard, used) = (list("hard"), list("used"));
        let quota = Quota { stored, tree, hard, used };
        if !quota.matches(evaluator, object) {
            return Ok(None);
        }
        let name = quota.stored.name();
        let limited = || quota.hard.names().filter(|name| evaluator.counts(name));
        evaluator
            .constraints(limited(), object)
            .map_err(|why| attributes.forbidden(&format!("failed quota: {name}: {why}")))?;
        if limited().any(|name| quota.used.get(name).is_none()) {
            let names: Vec<&str> = limited().collect();
            let why = format!("status unknown for quota: {name}, resources: {}", names.join(","));
            return Err(attributes.forbidden(&why));
        }
        Ok(Some(quota))
    }

    /// Whether it limits something that the object counts for, and the object is in its scopes.
    fn matches(&self, evaluator: &Evaluator, object: &Value<'_>) -> bool {
        self.hard.names().any(|name| evaluator.counts(name))
            && selectors(&self.tree).iter().all(|selector| evaluator.is_in(selector, object))
    }

    /// The write that takes `delta`; none where the quota does not limit any of it.
    fn charge(
        mut self,
        objects: &Objects,
        attributes: &Attributes<'_>,
        arena: &'a Bump,
        delta: &ResourceList,
    ) -> Result<Option<Write>, Status> {
        let requested = delta.only(|name| self.hard.get(name).is_some());
        if requested.is_empty() {
            return Ok(None);
        }
        let mut used = self.used.clone();
        used.add(&requested);
        // What a status says has happened already.
        if attributes.subresource != "status" {
            let wanted = used.only(|name| requested.get(name).is_some());
            let beyond = wanted.beyond(&self.hard);
            if !beyond.is_empty() {
                let of = |list: &ResourceList| list.only(|name| beyond.contains(&name));
                let why = format!(
                    "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                    self.stored.name(),
                    of(&requested),
                    of(&self.used),
                    of(&self.hard)
                );
                return Err(attributes.forbidden(&why));
            }
        }
        let old = self.tree.clone();
        let tree = &mut self.tree;
        root(arena, tree).map_mut("status").insert("used", used.write(arena));
        let (schema, ty) = (objects.schema(), objects.resource_quotas.ty());
        let manager = FieldManager {
            schema,
            root: ty.into(),
            kind: "ResourceQuota",
            api_version: "v1",
            subresource: "status",
            reset: ResetFields::Except(&[&["spec"]]),
            reset_elsewhere: ResetFields::Except(&[&["spec"]]),
            versions: &NoOtherVersion,
        };
        let empties = apply::normalize(arena, schema, ty, tree);
        if let Some(managed) = manager.update(arena, &old, tree, MANAGER, clock::now_seconds(arena)) {
            root(arena, tree).map_mut("metadata").insert("managedFields", managed);
        }
        empties.put_back(tree);
        let (json, splice) = json::encode_stored(schema, ty, tree);
        Ok(Some(Write {
            resource: self.stored.resource,
            key: self.stored.key.clone(),
            namespace_len: self.stored.namespace_len,
            precondition: Precondition::Revision(self.stored.revision),
            needs_namespace: false,
            action: Action::Put {
                object: EncodedObject { json: Bytes::from(json), splice },
                // Labels and what can be selected by are as they were.
                attributes: self.stored.attributes.clone(),
                ttl: None,
            },
        }))
    }
}
