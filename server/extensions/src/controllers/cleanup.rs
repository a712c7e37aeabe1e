//! The end of a definition: its objects go first.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use ringbolt_apiserver::serving::loopback::Loopback;
use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::scan;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::ResourceId,
    storage::Storage,
};

use super::writer::{Reply, delete_all};
use crate::{
    definition::{Condition, Definition},
    limits::CLEANUP_WAIT_MAX,
};

/// Resources that are built in, whatever a definition says of them.
const BUILT_IN: [(&str, &str); 2] =
    [("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")];

const IN_PROGRESS: &str = "InstanceDeletionInProgress";

/// A definition whose objects are on their way out.
#[derive(Debug)]
pub(super) struct Cleanup {
    /// Of which definition.
    pub(super) uid: String,
    /// Since when.
    since: Instant,
    /// Deletes were made.
    asked: bool,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To set a condition.
    Note(Condition),
    /// To set a condition and let the definition go.
    Release(Condition),
    /// To look again.
    Wait,
}

impl Cleanup {
    pub(super) fn new(uid: &str, now: Instant) -> Cleanup {
        Cleanup { uid: uid.to_owned(), since: now, asked: false }
    }

    /// Goes on with a definition that is being deleted.
    pub(super) fn step(
        &mut self,
        definition: Definition<'_, '_>,
        storage: &Arc<dyn Storage>,
        loopback: &Arc<Loopback>,
        now: Instant,
    ) -> Step {
        let condition =
            |status, reason, message: String| Condition::new("Terminating", status, reason, message);
        let in_progress = condition("True", IN_PROGRESS, "CustomResource deletion is in progress".to_owned());
        if !in_progress.is_in(definition.0) {
            (self.since, self.asked) = (now, false);
            return Step::Note(in_progress);
        }
        let names = definition.names();
        if BUILT_IN.contains(&(definition.group(), &names.plural)) {
            let why = "instances overlap with built-in resources in storage";
            return Step::Release(condition("False", "OverlappingBuiltInResource", why.to_owned()));
        }
        if !definition.is_condition_true("Established") {
            let why = "resource was never established";
            return Step::Release(condition("False", "NeverEstablished", why.to_owned()));
        }
        let Ok(stored) = storage.resource(definition.name()) else {
            // What the store has no number for it has no objects of.
            return Step::Release(condition(
                "False",
                "InstanceDeletionCompleted",
                "removed all instances".to_owned(),
            ));
        };
        if !std::mem::replace(&mut self.asked, true) {
            let errors = delete_instances(definition, stored, storage, loopback);
            if !errors.is_empty() {
                self.asked = false;
                let why = format!("could not issue all deletes: {}", joined(errors));
                return Step::Note(condition("True", "InstanceDeletionFailed", why));
            }
        }
        if storage.count(stored) == 0 {
            let why = "removed all instances";
            return Step::Release(condition("False", "InstanceDeletionCompleted", why.to_owned()));
        }
        if now.saturating_duration_since(self.since) < CLEANUP_WAIT_MAX {
            return Step::Wait;
        }
        let why = "could not confirm zero CustomResources remaining: context deadline exceeded";
        Step::Note(condition("True", "InstanceDeletionCheck", why.to_owned()))
    }
}

/// As Go's aggregate of errors.
fn joined(mut errors: Vec<String>) -> String {
    errors.dedup();
    match errors.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

/// Deletes all objects, by namespace. What has finalizers stays for now.
fn delete_instances(
    definition: Definition<'_, '_>,
    stored: ResourceId,
    storage: &Arc<dyn Storage>,
    loopback: &Arc<Loopback>,
) -> Vec<String> {
    let snapshot = storage.snapshot(stored);
    let namespaces: BTreeSet<String> =
        snapshot.range("", None).map(|object| object.namespace().to_owned()).collect();
    // In the version that is stored nobody has to convert them.
    let served = || definition.versions().filter(|version| version.flag("served"));
    let served = served().find(|version| version.flag("storage")).or_else(|| served().next());
    let Some(version) = served.map(|version| version.text("name")) else {
        return remove_unserved(stored, storage);
    };
    let (group, plural) = (definition.group(), definition.names().plural);
    let targets = namespaces.iter().map(|namespace| match namespace.as_str() {
        "" => format!("/apis/{group}/{version}/{plural}"),
        _ => format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}"),
    });
    delete_all(loopback, targets.collect())
        .into_iter()
        .filter_map(|reply| match reply {
            Reply::Failed(why) => Some(why),
            Reply::Done | Reply::Overtaken => None,
        })
        .collect()
}

/// No version is served: what nobody holds is taken out of the store.
fn remove_unserved(stored: ResourceId, storage: &Arc<dyn Storage>) -> Vec<String> {
    for object in storage.snapshot(stored).range("", None) {
        // Such a member is in no text: quotes in texts are escaped.
        const HELD: &[u8] = b"\"finalizers\":";
        let metadata = scan::metadata(&object.json).unwrap_or_default();
        if metadata.windows(HELD.len()).any(|part| part == HELD) {
            continue;
        }
        let write = Write {
            resource: stored,
            key: object.key.clone(),
            namespace_len: object.namespace_len,
            precondition: Precondition::Revision(object.revision),
            needs_namespace: false,
            action: Action::Delete { last: None },
        };
        // Who was quicker is seen by the count that follows.
        drop(storage.submit(write));
    }
    Vec::new()
}
