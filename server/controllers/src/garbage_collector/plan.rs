//! What is to be done for one object, from its newest state.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::value::Value;
use ringbolt_storage::object::Object;

use super::{
    GarbageCollector, Task,
    graph::Uid,
    one,
    ownership::{FOREGROUND, ORPHAN, OwnerReference, Ownership},
};
use crate::{
    client::{MERGE_PATCH, Request, STRATEGIC_MERGE_PATCH},
    context::Context,
    kinds::Kind,
    limits,
    object::{self, list, map, text},
};

/// What to do.
pub(super) enum Plan {
    /// Nothing, until its state changes.
    Nothing,
    /// Look at these.
    Look(Vec<Uid>),
    /// It cannot be told yet; why.
    Later(String),
    /// Ask for this.
    Send(Vec<Request>),
}

/// How owners stand.
#[derive(Default)]
struct Owners<'o> {
    /// They are there and stay.
    solid: usize,
    /// They are not there.
    dangling: Vec<&'o OwnerReference>,
    /// They wait for their dependents to go.
    waiting: Vec<&'o OwnerReference>,
}

/// The owner that an object names, where it is there and is the one that is meant.
pub(super) fn owner(
    context: &Context,
    dependent: &Object,
    reference: &OwnerReference,
) -> Option<Arc<Object>> {
    let kind = context.kinds.named(&reference.api_version, &reference.kind)?;
    let namespace = if kind.facts.namespaced { dependent.namespace() } else { "" };
    if kind.facts.namespaced && namespace.is_empty() {
        return None;
    }
    let owner = context.get(kind, namespace, &reference.name)?;
    (ringbolt_machinery::scan::identity(&owner.json).uid == reference.uid).then_some(owner)
}

impl GarbageCollector {
    /// What is to be done.
    pub(super) fn plan(&self, context: &Context, task: &Task) -> Plan {
        let (Task::Delete(uid) | Task::Orphan(uid)) = task;
        let Some(node) = self.graph.node(uid) else { return Plan::Nothing };
        let Some(kind) = context.kinds.of(node.resource) else { return Plan::Nothing };
        let Some(object) = context.storage.get(node.resource, &node.key) else { return Plan::Nothing };
        let ownership = Ownership::of(&object);
        if ownership.uid != **uid {
            return Plan::Nothing;
        }
        match task {
            Task::Orphan(_) if ownership.waits_for_orphans() => {
                self.orphan(context, kind, &object, &ownership)
            }
            Task::Orphan(_) => Plan::Nothing,
            Task::Delete(_) if ownership.waits_for_dependents() => self.wait(kind, &object, &ownership),
            // Being deleted is a way without return.
            Task::Delete(_) if ownership.is_being_deleted => Plan::Nothing,
            Task::Delete(_) => self.delete(context, kind, &object, &ownership),
        }
    }

    /// Sets dependents free, some at a time; the owner goes after the last one.
    fn orphan(&self, context: &Context, kind: &Kind, object: &Object, ownership: &Ownership) -> Plan {
        let free = |(uid, node): (&Uid, &super::graph::Node)| {
            let kind = context.kinds.of(node.resource)?;
            let object = context.storage.get(node.resource, &node.key)?;
            Some(without_owners(kind, &object, uid, &[&ownership.uid]))
        };
        let requests: Vec<Request> =
            self.graph.dependents(&ownership.uid).filter_map(free).take(limits::CALLS_AT_ONCE).collect();
        if requests.is_empty() {
            return one(without_finalizer(kind, object, ownership, ORPHAN));
        }
        Plan::Send(requests)
    }

    /// Waits until the last dependent that blocks is gone.
    fn wait(&self, kind: &Kind, object: &Object, ownership: &Ownership) -> Plan {
        let mut blocking = self.graph.blocking(&ownership.uid).peekable();
        if blocking.peek().is_none() {
            return one(without_finalizer(kind, object, ownership, FOREGROUND));
        }
        Plan::Look(blocking.filter(|(_, node)| !node.waits).map(|(uid, _)| uid.clone()).collect())
    }

    /// Deletes what no owner keeps.
    fn delete(&self, context: &Context, kind: &Kind, object: &Object, ownership: &Ownership) -> Plan {
        let mut owners = Owners::default();
        for reference in &ownership.owners {
            let Some(owner_kind) = context.kinds.named(&reference.api_version, &reference.kind) else {
                return Plan::Later(format!("no kind {} in {}", reference.kind, reference.api_version));
            };
            if owner_kind.facts.namespaced && object.namespace_len == 0 {
                // Nothing that happens later makes it right.
                return Plan::Nothing;
            }
            match owner(context, object, reference) {
                None => {
                    self.tell_of_namespace(context, kind, object, ownership, owner_kind, reference);
                    owners.dangling.push(reference);
                }
                Some(owner)
                    if owner.attributes.terminating && Ownership::of(&owner).waits_for_dependents() =>
                {
                    owners.waiting.push(reference);
                }
                Some(_) => owners.solid += 1,
            }
        }
        if owners.solid > 0 {
            if owners.dangling.is_empty() && owners.waiting.is_empty() {
                return Plan::Nothing;
            }
            let gone = owners.dangling.iter().chain(&owners.waiting).map(|owner| &*owner.uid);
            return one(without_owners(kind, object, &ownership.uid, &gone.collect::<Vec<_>>()));
        }
        if ownership.owners.is_empty() {
            return Plan::Nothing;
        }
        let mut policy = ownership.policy();
        if !owners.waiting.is_empty() && self.graph.dependents(&ownership.uid).next().is_some() {
            // Two that wait for each other would wait for ever.
            let circular = self.graph.dependents(&ownership.uid).any(|(_, node)| node.waits);
            if circular && ownership.owners.iter().any(|owner| owner.blocks) {
                return one(without_blocking(kind, object, ownership));
            }
            policy = "Foreground";
        }
        let options = format!(
            r#""preconditions":{{"uid":"{}","resourceVersion":"{}"}},"propagationPolicy":"{policy}""#,
            ownership.uid, object.revision
        );
        one(Request::delete(kind.path_of(object), &options))
    }

    /// An event where the owner that is named lives in another namespace: that is why the dependent goes.
    fn tell_of_namespace(
        &self,
        context: &Context,
        kind: &Kind,
        object: &Object,
        ownership: &Ownership,
        owner_kind: &Kind,
        reference: &OwnerReference,
    ) {
        if !owner_kind.facts.namespaced {
            return;
        }
        let snapshot = context.storage.snapshot(owner_kind.stored);
        let is_meant = |o: &&Arc<Object>| ringbolt_machinery::scan::identity(&o.json).uid == reference.uid;
        if snapshot.named(&reference.name, None).find(is_meant).is_none() {
            return;
        }
        let (arena, namespace) = (Bump::new(), object.namespace());
        let message = format!(
            "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace \"{namespace}\"",
            reference.api_version, reference.kind, reference.name, reference.uid
        );
        let name = format!("{}.{:x}", object.name(), jiff::Timestamp::now().as_nanosecond());
        let time = object::now();
        let involved = map(
            &arena,
            [
                ("kind", text(&arena, &kind.facts.kind)),
                ("namespace", text(&arena, namespace)),
                ("name", text(&arena, object.name())),
                ("uid", text(&arena, &ownership.uid)),
                ("apiVersion", text(&arena, &kind.api_version())),
            ],
        );
        const COMPONENT: &str = "garbage-collector-controller";
        let metadata = [("name", text(&arena, &name)), ("namespace", text(&arena, namespace))];
        let event = map(
            &arena,
            [
                ("apiVersion", Value::String("v1")),
                ("kind", Value::String("Event")),
                ("metadata", map(&arena, metadata)),
                ("involvedObject", involved),
                ("reason", Value::String("OwnerRefInvalidNamespace")),
                ("message", text(&arena, &message)),
                ("source", map(&arena, [("component", Value::String(COMPONENT))])),
                ("firstTimestamp", text(&arena, &time)),
                ("lastTimestamp", text(&arena, &time)),
                ("count", Value::Int(1)),
                ("type", Value::String("Warning")),
                ("reportingComponent", Value::String(COMPONENT)),
            ],
        );
        // As with every recorder of events: one that cannot be told is not told.
        let reply = self.client.send(Request::create(&self.events, namespace, object::body(&event)));
        tracing::debug!(message, ?reply, "garbage collector");
    }
}

/// Takes owner references out of an object, which must still be the one with this uid.
fn without_owners(kind: &Kind, object: &Object, uid: &str, owners: &[&str]) -> Request {
    let arena = Bump::new();
    if kind.facts.is_custom {
        return owner_references(&arena, kind, object, |reference| {
            let is_out = reference.str_at(&["uid"]).is_some_and(|uid| owners.contains(&uid));
            (!is_out).then(|| reference.clone())
        });
    }
    let out = owners
        .iter()
        .map(|owner| map(&arena, [("$patch", Value::String("delete")), ("uid", text(&arena, owner))]));
    let metadata = map(&arena, [("ownerReferences", list(&arena, out)), ("uid", text(&arena, uid))]);
    let patch = map(&arena, [("metadata", metadata)]);
    Request::patch(&kind.path_of(object), STRATEGIC_MERGE_PATCH, object::body(&patch))
}

/// Lets an object's owners go before it.
fn without_blocking(kind: &Kind, object: &Object, ownership: &Ownership) -> Request {
    let arena = Bump::new();
    if kind.facts.is_custom {
        return owner_references(&arena, kind, object, |reference| {
            let mut reference = reference.clone();
            let map = reference.as_map_mut()?;
            if map.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true) {
                map.insert("blockOwnerDeletion", Value::Bool(false));
            }
            Some(reference)
        });
    }
    let unblocked = ownership.owners.iter().filter(|owner| owner.blocks).map(|owner| {
        map(&arena, [("uid", text(&arena, &owner.uid)), ("blockOwnerDeletion", Value::Bool(false))])
    });
    let metadata =
        map(&arena, [("ownerReferences", list(&arena, unblocked)), ("uid", text(&arena, &ownership.uid))]);
    let patch = map(&arena, [("metadata", metadata)]);
    Request::patch(&kind.path_of(object), STRATEGIC_MERGE_PATCH, object::body(&patch))
}

/// Writes the owner references of an object as it was read, as one that takes no strategic merge patch takes them.
fn owner_references<'a>(
    arena: &'a Bump,
    kind: &Kind,
    object: &'a Object,
    keep: impl Fn(&Value<'a>) -> Option<Value<'a>>,
) -> Request {
    let metadata = object::metadata(arena, object);
    let references = metadata.as_ref().and_then(|m| m.path(&["ownerReferences"])).and_then(Value::as_list);
    let kept = references.into_iter().flatten().filter_map(keep);
    let metadata = map(
        arena,
        [
            ("resourceVersion", text(arena, &object.revision.to_string())),
            ("ownerReferences", list(arena, kept)),
        ],
    );
    let patch = map(arena, [("metadata", metadata)]);
    Request::patch(&kind.path_of(object), MERGE_PATCH, object::body(&patch))
}

/// Takes a finalizer off an object as it was read.
fn without_finalizer(kind: &Kind, object: &Object, ownership: &Ownership, finalizer: &str) -> Request {
    let arena = Bump::new();
    let left = ownership.finalizers.iter().filter(|f| *f != finalizer).map(|f| text(&arena, f));
    let metadata = map(
        &arena,
        [("resourceVersion", text(&arena, &object.revision.to_string())), ("finalizers", list(&arena, left))],
    );
    let patch = map(&arena, [("metadata", metadata)]);
    Request::patch(&kind.path_of(object), MERGE_PATCH, object::body(&patch))
}
