//! The pods that are in a namespace when its level gets stricter: which of them it would refuse.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
    time::Instant,
};

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Survey};
use ringbolt_machinery::{
    json,
    schema::{Schema, StructId},
};
use ringbolt_storage::{object::Object, snapshot::Snapshot};

use super::{Configuration, checks::evaluate, exempts, pod::Pod, policy::LevelVersion, violation::reasons};
use crate::{
    admission::objects::{Objects, scalar},
    limits::{
        POD_SECURITY_CHECK_TIME, POD_SECURITY_CHECKED_PODS, POD_SECURITY_PODS_PER_STEP,
        POD_SECURITY_SORTED_PER_STEP,
    },
};

/// The look at them, in slices: all pods of the namespace as they were when it began.
pub(super) struct ExistingPods {
    schema: &'static Schema,
    ty: StructId,
    namespace: String,
    asked: LevelVersion,
    /// Classes whose pods nothing is asked of.
    runtime_classes: Vec<String>,
    /// The pods, while they are put in order.
    snapshot: Option<Snapshot>,
    /// The key of the last one that was.
    after: Option<Arc<str>>,
    controllers: BTreeSet<String>,
    /// The pods to look at.
    pods: Vec<Arc<Object>>,
    /// Those that another of the same controller stands for: they are looked at last.
    others: Vec<Arc<Object>>,
    checked: usize,
    faults: BTreeMap<String, Alike>,
    arena: Bump,
    end: Instant,
}

/// Pods with the same faults.
struct Alike {
    /// The first by name.
    first: String,
    count: usize,
}

impl ExistingPods {
    /// Those of the namespace that a request is about.
    pub(super) fn new(
        configuration: &Configuration,
        objects: &Objects,
        attributes: &Attributes<'_>,
        asked: LevelVersion,
    ) -> Self {
        ExistingPods {
            schema: objects.schema(),
            ty: objects.pods.ty(),
            namespace: attributes.name.to_owned(),
            asked,
            runtime_classes: configuration.runtime_classes.clone(),
            snapshot: Some(objects.all(attributes, objects.pods)),
            after: None,
            controllers: BTreeSet::new(),
            pods: Vec::new(),
            others: Vec::new(),
            checked: 0,
            faults: BTreeMap::new(),
            arena: Bump::new(),
            end: Instant::now() + POD_SECURITY_CHECK_TIME,
        }
    }

    /// Puts the next pods in order.
    fn sort(&mut self, snapshot: Snapshot) {
        let prefix = format!("{}/", self.namespace);
        let after = self.after.take();
        let mut rest = snapshot.range(&prefix, after.as_deref());
        for pod in rest.by_ref().take(POD_SECURITY_SORTED_PER_STEP) {
            self.after = Some(pod.key.clone());
            let class = scalar(pod, &["spec", "runtimeClassName"]);
            if class.is_some_and(|class| exempts(&self.runtime_classes, &class)) {
                continue;
            }
            let is_first = controller(pod).is_none_or(|uid| self.controllers.insert(uid));
            if is_first { &mut self.pods } else { &mut self.others }.push(pod.clone());
        }
        if rest.next().is_some() {
            self.snapshot = Some(snapshot);
        } else {
            self.pods.append(&mut self.others);
            self.controllers.clear();
        }
    }

    /// Looks at one pod; false when there is none left to look at, or no time.
    fn check(&mut self) -> bool {
        let Some(pod) = self.pods.get(self.checked).filter(|_| self.checked < POD_SECURITY_CHECKED_PODS)
        else {
            return false;
        };
        self.checked += 1;
        self.arena.reset();
        if let Ok(tree) = json::decode_stored(&self.arena, self.schema, self.ty, &pod.json) {
            let violations = evaluate(self.asked, &Pod::of(&tree));
            if !violations.is_empty() {
                let name = pod.name();
                let alike = self
                    .faults
                    .entry(reasons(&violations))
                    .or_insert_with(|| Alike { first: name.to_owned(), count: 0 });
                alike.count += 1;
                if name < alike.first.as_str() {
                    name.clone_into(&mut alike.first);
                }
            }
        }
        Instant::now() < self.end
    }

    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        let (checked, pods) = (self.checked, self.pods.len());
        if checked < pods {
            warnings.push(format!(
                "new PodSecurity enforce level only checked against the first {checked} of {pods} existing pods"
            ));
        }
        let faults = mem::take(&mut self.faults);
        if !faults.is_empty() {
            warnings.push(format!(
                "existing pods in namespace {:?} violate the new PodSecurity enforce level \"{}\"",
                self.namespace, self.asked
            ));
        }
        let mut of_pods: Vec<String> = faults.iter().map(|(faults, alike)| alike.text(faults)).collect();
        of_pods.sort_unstable();
        warnings.extend(of_pods);
        warnings
    }
}

impl Survey for ExistingPods {
    fn step(&mut self) -> Option<Vec<String>> {
        if let Some(snapshot) = self.snapshot.take() {
            self.sort(snapshot);
            return None;
        }
        let has_more = (0..POD_SECURITY_PODS_PER_STEP).all(|_| self.check());
        (!has_more).then(|| self.warnings())
    }
}

impl Alike {
    fn text(&self, faults: &str) -> String {
        let first = &self.first;
        match self.count {
            0 | 1 => format!("{first}: {faults}"),
            2 => format!("{first} (and 1 other pod): {faults}"),
            count => format!("{first} (and {} other pods): {faults}", count - 1),
        }
    }
}

/// The uid of a pod's controller.
fn controller(pod: &Object) -> Option<String> {
    for at in 0.. {
        let at = at.to_string();
        let member = |name| scalar(pod, &["metadata", "ownerReferences", &at, name]);
        let uid = member("uid")?;
        if member("controller").as_deref() == Some("true") {
            return Some(uid.into_owned());
        }
    }
    None
}
