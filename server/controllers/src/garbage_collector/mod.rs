//! The garbage collector: dependents of owners that are gone go too, in the background; an owner that is deleted in the
//! foreground waits for them; one that is orphaned sets them free (`GarbageCollector` and `GraphBuilder`).
//!
//! Kubernetes keeps every object of the cluster in its graph, because it learns of owners from watches that may come in
//! any order. Here an owner is a look-up in the store, so the graph has those that have owners and those that wait.

mod graph;
mod ownership;
mod plan;

use std::{collections::HashSet, time::Instant};

use ringbolt_machinery::scan;
use ringbolt_storage::object::{Event, EventKind, Object, ResourceId};

use self::{
    graph::{Graph, Uid},
    ownership::Ownership,
    plan::Plan,
};
use crate::{
    client::{Client, Reply, Request},
    context::{Context, Control},
    kinds::Kind,
    limits,
    queue::WorkQueue,
};

/// Something to do for one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Task {
    /// Look whether it must go, and how its deletion gets on (`attemptToDelete`).
    Delete(Uid),
    /// Set its dependents free (`attemptToOrphan`).
    Orphan(Uid),
}

/// The controller.
pub(crate) struct GarbageCollector {
    client: Client,
    /// Events are nobody's dependents.
    events: Kind,
    graph: Graph,
    queue: WorkQueue<Task>,
    /// Objects with owners of kinds that nobody knows.
    puzzled: HashSet<Uid>,
}

impl GarbageCollector {
    pub(crate) fn new(context: &Context) -> Self {
        GarbageCollector {
            client: context.client("generic-garbage-collector"),
            events: context.kinds.built_in("", "events"),
            graph: Graph::default(),
            queue: WorkQueue::default(),
            puzzled: HashSet::new(),
        }
    }

    /// Takes in all objects of a resource.
    fn read(&mut self, context: &Context, stored: ResourceId, now: Instant) {
        let snapshot = context.storage.snapshot(stored);
        for object in snapshot.range("", None).filter(|object| Ownership::is_any(object)) {
            self.put(context, object, now);
        }
    }

    /// Takes in what an object is now.
    fn put(&mut self, context: &Context, object: &Object, now: Instant) {
        let ownership = Ownership::of(object);
        let before = self.graph.put(object, &ownership);
        let uid = Uid::from(&*ownership.uid);
        let blocks = |owner: &str| ownership.owners.iter().any(|o| o.blocks && o.uid == *owner);
        let had = |owner: &str| before.as_ref().is_some_and(|b| b.owners.iter().any(|(u, _)| **u == *owner));
        // Owners that it does not hold up any longer.
        for (owner, blocked) in before.iter().flat_map(|node| &node.owners) {
            if *blocked && !blocks(owner) && self.graph.node(owner).is_some_and(|node| node.waits) {
                self.queue.add(Task::Delete(owner.clone()), now);
            }
        }
        let new_owners = ownership.owners.iter().filter(|owner| !had(&owner.uid));
        if new_owners.into_iter().any(|owner| plan::owner(context, object, owner).is_none()) {
            self.queue.add(Task::Delete(uid.clone()), now);
        }
        if ownership.waits_for_orphans() {
            self.queue.add(Task::Orphan(uid), now);
        } else if ownership.waits_for_dependents() && !before.is_some_and(|node| node.waits) {
            for (dependent, _) in self.graph.dependents(&uid) {
                self.queue.add(Task::Delete(dependent.clone()), now);
            }
            self.queue.add(Task::Delete(uid), now);
        } else if ownership.waits_for_dependents() {
            self.queue.add(Task::Delete(uid), now);
        }
    }

    /// Takes in that an object is gone.
    fn remove(&mut self, object: &Object, now: Instant) {
        let uid = scan::identity(&object.json).uid;
        let uid = Uid::from(&*uid);
        for (dependent, _) in self.graph.dependents(&uid) {
            self.queue.add(Task::Delete(dependent.clone()), now);
        }
        let Some(node) = self.graph.remove(&uid) else { return };
        for (owner, _) in node.owners {
            if self.graph.node(&owner).is_some_and(|node| node.waits) {
                self.queue.add(Task::Delete(owner), now);
            }
        }
        self.puzzled.remove(&uid);
        self.queue.remove(&Task::Delete(uid.clone()));
        self.queue.remove(&Task::Orphan(uid));
    }

    /// Settles what became of a task's requests.
    fn settle(&mut self, task: Task, replies: &[Reply]) {
        let failed = replies.iter().find_map(|reply| match reply {
            Reply::Failed(why) => Some(why),
            _ => None,
        });
        let now = Instant::now();
        if let Some(why) = failed {
            tracing::warn!(?task, why, "garbage collector");
            self.queue.retry(task, now);
            return;
        }
        // The object has changed by it, or has been changed by somebody else: what is next shows with its newest
        // state. One that is gone is found out then, too.
        match task {
            Task::Delete(_) => self.queue.retry(task, now),
            Task::Orphan(_) => {
                self.queue.forget(&task);
                self.queue.add(task, now);
            }
        }
    }
}

impl Control for GarbageCollector {
    fn resync(&mut self, context: &Context, now: Instant) {
        self.queue.clear();
        self.puzzled.clear();
        self.graph = Graph::default();
        let mut seen: Vec<ResourceId> = vec![self.events.stored];
        for kind in context.kinds.deletable() {
            if seen.contains(&kind.stored) {
                continue;
            }
            seen.push(kind.stored);
            self.read(context, kind.stored, now);
        }
    }

    fn kinds_changed(&mut self, context: &Context, new: &[Kind], now: Instant) {
        for kind in new {
            self.read(context, kind.stored, now);
        }
        for uid in self.puzzled.drain() {
            let task = Task::Delete(uid);
            self.queue.forget(&task);
            self.queue.add(task, now);
        }
    }

    fn observe(&mut self, context: &Context, event: &Event, now: Instant) {
        if event.object.resource == self.events.stored {
            return;
        }
        if event.kind == EventKind::Deleted {
            self.remove(&event.object, now);
        } else if Ownership::is_any(&event.object)
            || event.previous.as_ref().is_some_and(|previous| Ownership::is_any(previous))
        {
            self.put(context, &event.object, now);
        }
    }

    fn work(&mut self, context: &Context, now: Instant) {
        let (mut tasks, mut requests) = (Vec::new(), Vec::new());
        for _ in 0..limits::EVENTS_A_TURN {
            if requests.len() >= limits::CALLS_AT_ONCE {
                break;
            }
            let Some(task) = self.queue.pop(now) else { break };
            match self.plan(context, &task) {
                Plan::Nothing => self.queue.forget(&task),
                Plan::Look(others) => {
                    self.queue.forget(&task);
                    for other in others {
                        self.queue.add(Task::Delete(other), now);
                    }
                }
                Plan::Later(why) => {
                    tracing::debug!(?task, why, "garbage collector");
                    let (Task::Delete(uid) | Task::Orphan(uid)) = &task;
                    self.puzzled.insert(uid.clone());
                    self.queue.retry(task, now);
                }
                Plan::Send(all) => {
                    tasks.push((task, all.len()));
                    requests.extend(all);
                }
            }
        }
        let replies = self.client.send_all(requests);
        let mut replies = replies.as_slice();
        for (task, count) in tasks {
            let (own, rest) = replies.split_at(count.min(replies.len()));
            replies = rest;
            self.settle(task, own);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.queue.next()
    }
}

/// The requests of a plan, for what is not a plan of its own.
fn one(request: Request) -> Plan {
    Plan::Send(vec![request])
}
