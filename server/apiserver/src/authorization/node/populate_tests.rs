//! From what is stored to what is decided.

use bytes::Bytes;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    fields::Fields,
    memory_disk::MemoryDisk,
    object::{Attributes, EncodedObject, Inspect},
};

use super::*;

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

const KINDS: [(&str, &str, &str); 5] = [
    ("", "v1", "Pod"),
    ("", "v1", "PersistentVolume"),
    ("storage.k8s.io", "v1", "VolumeAttachment"),
    ("resource.k8s.io", "v1", "ResourceSlice"),
    ("certificates.k8s.io", "v1", "PodCertificateRequest"),
];

struct Rig {
    storage: Arc<dyn Storage>,
    populator: Populator,
    published: Arc<ArcSwap<Reach>>,
    seen: u64,
}

fn ty(kind: usize) -> StructId {
    let (group, version, kind) = KINDS[kind];
    Schema::builtin().kind(group, version, kind).unwrap().ty
}

fn rig() -> Rig {
    let names = KINDS.map(|(.., kind)| kind.to_owned()).to_vec();
    let options = EmbeddedOptions::new(names, None, Arc::new(NoAttributes));
    let storage = Embedded::open(options, Box::new(MemoryDisk::default())).unwrap();
    let resources = Resources {
        schema: Schema::builtin(),
        pods: (ResourceId(0), ty(0)),
        persistent_volumes: (ResourceId(1), ty(1)),
        volume_attachments: ResourceId(2),
        resource_slices: ResourceId(3),
        pod_certificate_requests: ResourceId(4),
    };
    let published = Arc::new(ArcSwap::from_pointee(Reach::default()));
    Rig {
        storage,
        populator: Populator::new(resources, published.clone(), Seed::fixed(7)),
        published,
        seen: 0,
    }
}

impl Rig {
    /// Stores an object, or a new state of it.
    fn put(&self, kind: usize, key: &str, text: &str) {
        let (arena, schema) = (Bump::new(), Schema::builtin());
        let bytes = arena.alloc_slice_copy(text.as_bytes());
        let tree = json::decode_typed(&arena, schema, ty(kind), bytes, json::Mode::Strict).unwrap();
        assert!(tree.strict_errors.is_empty(), "{:?}", tree.strict_errors);
        let (json, splice) = json::encode_stored(schema, ty(kind), &tree.value);
        let object = EncodedObject { json: Bytes::from(json), splice };
        // As the server stores a pod: its node is the indexed value.
        let node = tree.value.str_at(&["spec", "nodeName"]).unwrap_or("");
        let attributes = match kind {
            0 => Attributes { fields: Fields::new([node]), indexed: true, ..Attributes::default() },
            _ => Attributes::default(),
        };
        self.write(kind, key, Action::Put { object, attributes, ttl: None });
    }

    fn delete(&self, kind: usize, key: &str) {
        self.write(kind, key, Action::Delete { last: None });
    }

    fn write(&self, kind: usize, key: &str, action: Action) {
        let resource = ResourceId(kind as u16);
        let stored = self.storage.get(resource, key);
        let precondition = stored.map_or(Precondition::Absent, |o| Precondition::Revision(o.revision));
        let namespace_len = key.find('/').unwrap_or(0) as u16;
        let write =
            Write { resource, key: key.into(), namespace_len, precondition, needs_namespace: false, action };
        self.storage.submit(write).wait().unwrap();
    }

    /// Shows what was committed since the last time; whether anything new was published.
    fn follow(&mut self) -> bool {
        let before = self.published.load_full();
        let mut events = self.storage.events_after(self.seen).unwrap();
        while let Some(event) = events.next(self.storage.revision()) {
            self.seen = event.revision;
            self.populator.observe(&event);
        }
        self.populator.settle();
        !Arc::ptr_eq(&before, &self.published.load_full())
    }

    fn check(&self, kind: Kind, key: &str, node: &str, expect: bool) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let found = self.published.load().has_path(kind, namespace, name, node);
        assert_eq!(found, expect, "{kind:?} {key} {node}");
    }
}

fn pod(spec: &str, status: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"p","namespace":"ns","uid":"u"}},"spec":{{{spec}}},"status":{{{status}}}}}"#
    )
}

const SECRET: &str = r#""volumes":[{"name":"v","secret":{"secretName":"s"}}]"#;

#[test]
fn pods_are_bound_run_and_go() {
    let mut rig = rig();
    rig.put(0, "ns/p", &pod(SECRET, ""));
    assert!(!rig.follow(), "a pod that runs nowhere is no matter of any node");
    let bound = format!(r#"{SECRET},"nodeName":"n""#);
    rig.put(0, "ns/p", &pod(&bound, ""));
    assert!(rig.follow());
    rig.check(Kind::Secret, "ns/s", "n", true);
    rig.check(Kind::Secret, "ns/s", "m", false);
    rig.check(Kind::Secret, "other/s", "n", false);
    rig.check(Kind::Pod, "ns/p", "n", true);
    rig.put(0, "ns/p", &pod(&bound, r#""phase":"Running""#));
    assert!(!rig.follow(), "its status opens nothing");

    let more = r#""ephemeralContainers":[{"name":"e","envFrom":[{"configMapRef":{"name":"c"}}]}]"#;
    rig.put(0, "ns/p", &pod(&format!("{bound},{more}"), ""));
    assert!(rig.follow());
    rig.check(Kind::ConfigMap, "ns/c", "n", true);
    rig.delete(0, "ns/p");
    assert!(rig.follow());
    rig.check(Kind::Secret, "ns/s", "n", false);
    rig.check(Kind::ConfigMap, "ns/c", "n", false);
    rig.check(Kind::Pod, "ns/p", "n", false);
}

#[test]
fn claims_are_made_for_a_pod_that_runs() {
    let mut rig = rig();
    let spec = r#""nodeName":"n","resourceClaims":[{"name":"d","resourceClaimTemplateName":"t"}]"#;
    rig.put(0, "ns/p", &pod(spec, ""));
    rig.follow();
    rig.check(Kind::ResourceClaim, "ns/made", "n", false);
    rig.put(0, "ns/p", &pod(spec, r#""resourceClaimStatuses":[{"name":"d","resourceClaimName":"made"}]"#));
    assert!(rig.follow());
    rig.check(Kind::ResourceClaim, "ns/made", "n", true);
    rig.put(0, "ns/p", &pod(spec, r#""resourceClaimStatuses":[{"name":"d"}]"#));
    assert!(rig.follow());
    rig.check(Kind::ResourceClaim, "ns/made", "n", false);
    let extended = r#""extendedResourceClaimStatus":{"resourceClaimName":"e","requestMappings":[]}"#;
    rig.put(0, "ns/p", &pod(r#""nodeName":"n""#, extended));
    assert!(rig.follow());
    rig.check(Kind::ResourceClaim, "ns/e", "n", true);
}

#[test]
fn volumes_behind_claims() {
    let mut rig = rig();
    let volume = |claim: &str| {
        format!(
            r#"{{"metadata":{{"name":"v"}},"spec":{{{claim}"csi":{{"driver":"d","volumeHandle":"h",
                "nodeStageSecretRef":{{"namespace":"system","name":"key"}}}}}}}}"#
        )
    };
    let claim = r#""claimRef":{"namespace":"ns","name":"c"},"#;
    rig.put(1, "v", &volume(""));
    rig.put(
        0,
        "ns/p",
        &pod(r#""nodeName":"n","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]"#, ""),
    );
    rig.follow();
    rig.check(Kind::PersistentVolumeClaim, "ns/c", "n", true);
    rig.check(Kind::PersistentVolume, "v", "n", false);
    rig.put(1, "v", &volume(claim));
    assert!(rig.follow());
    rig.check(Kind::PersistentVolume, "v", "n", true);
    rig.check(Kind::Secret, "system/key", "n", true);
    rig.put(1, "v", &volume(""));
    assert!(rig.follow());
    rig.check(Kind::PersistentVolume, "v", "n", false);
    rig.check(Kind::Secret, "system/key", "n", false);
    rig.put(1, "v", &volume(claim));
    rig.follow();
    rig.delete(1, "v");
    assert!(rig.follow());
    rig.check(Kind::Secret, "system/key", "n", false);
}

#[test]
fn what_belongs_to_one_node() {
    let mut rig = rig();
    rig.put(2, "a", r#"{"metadata":{"name":"a"},"spec":{"attacher":"x","nodeName":"n","source":{}}}"#);
    rig.put(3, "s", r#"{"metadata":{"name":"s"},"spec":{"driver":"x","nodeName":"n","pool":{"name":"p","generation":1,"resourceSliceCount":1}}}"#);
    rig.put(3, "all", r#"{"metadata":{"name":"all"},"spec":{"driver":"x","allNodes":true,"pool":{"name":"p","generation":1,"resourceSliceCount":1}}}"#);
    rig.put(4, "ns/r", r#"{"metadata":{"name":"r","namespace":"ns"},"spec":{"nodeName":"n"}}"#);
    assert!(rig.follow());
    for (kind, key) in
        [(Kind::VolumeAttachment, "a"), (Kind::ResourceSlice, "s"), (Kind::PodCertificateRequest, "ns/r")]
    {
        rig.check(kind, key, "n", true);
        rig.check(kind, key, "m", false);
    }
    rig.check(Kind::ResourceSlice, "all", "n", false);
    rig.put(2, "a", r#"{"metadata":{"name":"a"},"spec":{"attacher":"x","nodeName":"m","source":{}}}"#);
    rig.delete(3, "s");
    rig.delete(4, "ns/r");
    assert!(rig.follow());
    rig.check(Kind::VolumeAttachment, "a", "n", false);
    rig.check(Kind::VolumeAttachment, "a", "m", true);
    rig.check(Kind::ResourceSlice, "s", "n", false);
    rig.check(Kind::PodCertificateRequest, "ns/r", "n", false);
}

#[test]
fn starting_over_is_the_same_as_following() {
    let mut rig = rig();
    rig.put(0, "ns/gone", &pod(r#""nodeName":"n","serviceAccountName":"a""#, ""));
    rig.follow();
    rig.check(Kind::ServiceAccount, "ns/a", "n", true);
    rig.delete(0, "ns/gone");
    rig.put(0, "ns/p", &pod(&format!(r#"{SECRET},"nodeName":"n""#), ""));
    rig.put(2, "a", r#"{"metadata":{"name":"a"},"spec":{"attacher":"x","nodeName":"n","source":{}}}"#);
    let storage = rig.storage.clone();
    rig.populator.resync(&*storage);
    rig.check(Kind::ServiceAccount, "ns/a", "n", false);
    rig.check(Kind::Secret, "ns/s", "n", true);
    rig.check(Kind::VolumeAttachment, "a", "n", true);
    rig.delete(0, "ns/p");
    rig.delete(2, "a");
    rig.populator.resync(&*storage);
    rig.check(Kind::Secret, "ns/s", "n", false);
    rig.check(Kind::VolumeAttachment, "a", "n", false);
}
