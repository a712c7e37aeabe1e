//! What the store keeps of an object besides its bytes, read when the journal is read back.

use ringbolt_apiserver::{
    registry::{ServedResource, Shared, Strategy},
    selectable::{NO_FIELDS, Path, Selectable},
};
use ringbolt_machinery::scan;
use ringbolt_storage::object::{Attributes, Inspect, ResourceId, Stamp};

/// What is read of every object.
const DELETION_TIMESTAMP: Path = &["metadata", "deletionTimestamp"];
const LABELS: Path = &["metadata", "labels"];

/// Reads the attributes of stored JSON: those that a write gave the store.
pub struct StoredInspect {
    /// By the number of the resource.
    resources: Vec<OfResource>,
    /// All others: custom ones, which may be asked for later.
    others: OfResource,
}

struct OfResource {
    /// None where nothing can be selected on.
    strategy: Option<Shared<dyn Strategy>>,
    /// The paths of all resources, and then those of its fields: all are found in one walk.
    paths: Vec<Path>,
}

impl OfResource {
    fn new(strategy: Option<Shared<dyn Strategy>>) -> OfResource {
        let mut of = OfResource { strategy, paths: vec![DELETION_TIMESTAMP, LABELS] };
        of.paths.extend(of.selectable().paths().to_vec());
        of
    }

    fn selectable(&self) -> &Selectable {
        self.strategy.as_ref().map_or(&NO_FIELDS, |strategy| strategy.selectable())
    }
}

impl StoredInspect {
    /// For `count` stored resources, some of which are served.
    pub fn new(count: usize, served: &[ServedResource]) -> StoredInspect {
        let of = |number| {
            let served = served.iter().find(|served| usize::from(served.stored.0) == number);
            OfResource::new(served.map(|served| served.strategy.clone()))
        };
        StoredInspect { resources: (0..count).map(of).collect(), others: OfResource::new(None) }
    }
}

/// Room for the paths of any resource.
const PATHS_MAX: usize = 16;

impl Inspect for StoredInspect {
    fn inspect(&self, resource: ResourceId, stored: &[u8]) -> Attributes {
        let of = self.resources.get(usize::from(resource.0)).unwrap_or(&self.others);
        let mut room = [None; PATHS_MAX];
        let found = &mut room[..of.paths.len()];
        scan::positions(stored, &of.paths, found);
        let scalar = |path: usize| scan::scalar_at(stored, found[path]?);
        Attributes {
            labels: found[1].map(|at| scan::labels_at(stored, at)).unwrap_or_default().into(),
            fields: of.selectable().read(|path| scalar(path + 2)),
            indexed: of.selectable().is_indexed(),
            terminating: scalar(0).is_some(),
            stamp: Stamp::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_controlplane::registry;
    use ringbolt_machinery::schema::Schema;

    use super::*;

    #[test]
    fn attributes() {
        let registry = registry::build(Schema::builtin());
        let inspect = StoredInspect::new(registry.stored_names.len(), &registry.served);
        let check = |resource: &str, stored: &str, labels: &str, terminating: bool, first: &str| {
            let number = registry.stored_names.iter().position(|name| name == resource).unwrap();
            let found = inspect.inspect(ResourceId(number as u16), stored.as_bytes());
            assert_eq!((&*found.labels, found.terminating), (labels, terminating), "{stored}");
            assert_eq!(found.fields.get(0), first.as_bytes(), "{stored}");
            assert_eq!(found.indexed, ["pods", "events"].contains(&resource));
        };
        let maps = "configmaps";
        check(maps, r#""metadata":{"name":"a"}}"#, "", false, "");
        let labels = "a\0x\"y\0b\x002\0";
        check(maps, r#""metadata":{"labels":{"b":"2","a":"x\"y"},"name":"a"}}"#, labels, false, "");
        check(maps, r#""metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","labels":{}}}"#, "", true, "");
        check(maps, r#""metadata":{"name":"a"},"spec":{"labels":{"a":"b"}}}"#, "", false, "");
        let pod = r#""metadata":{"labels":{"b":"2"}},"spec":{"nodeName":"n"}}"#;
        check("pods", pod, "b\x002\0", false, "n");
        check("events", r#""metadata":{},"involvedObject":{"kind":"Pod","name":"p"}}"#, "", false, "p");
        check("secrets", r#""metadata":{},"type":"Opaque"}"#, "", false, "Opaque");
        // A resource that nobody has asked for yet.
        let custom =
            r#""metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","labels":{"b":"2"}},"type":"T"}"#;
        let found = inspect.inspect(ResourceId(registry.stored_names.len() as u16), custom.as_bytes());
        let expect = Attributes { labels: "b\x002\0".into(), terminating: true, ..Attributes::default() };
        assert_eq!(found, expect);
    }

    #[test]
    fn there_is_room_for_all_paths() {
        for served in registry::build(Schema::builtin()).served {
            let (resource, paths) =
                (served.facts.resource, OfResource::new(Some(served.strategy)).paths.len());
            assert!(paths <= PATHS_MAX, "{resource}: {paths}");
        }
    }
}
