//! The admission pipeline on a store: what plugins fill in and what they refuse.

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::{
    admission::{Admission, Attributes, Operation},
    authentication::UserInfo,
    authorization::{Authorizers, Mode},
};
use ringbolt_controlplane::{
    admission::{Config, Configurations, Enabled, Pipeline},
    registry::{self, Registry},
};
use ringbolt_machinery::{json, schema::Schema, status::Status};
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::{Attributes as Stored, EncodedObject, Inspect, ResourceId},
    storage::Storage,
};

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Stored {
        Stored::default()
    }
}

pub(crate) struct Rig {
    pub(crate) schema: &'static Schema,
    pub(crate) registry: Registry,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) pipeline: Pipeline,
}

/// With the plugins that are on by default, but for the one that wants an account for each pod.
fn rig() -> Rig {
    let rig = rig_without(&["ServiceAccount"]);
    rig.store("/v1/namespaces", "", r#"{"metadata":{"name":"ns"}}"#);
    rig
}

/// With the plugins that are on by default, but for these.
pub(crate) fn rig_without(disabled: &[&str]) -> Rig {
    // What a plugin asks the authorizers is another matter.
    rig_with(disabled, Authorizers::of_modes(&[Mode::AlwaysDeny]))
}

/// With authorizers to ask.
pub(crate) fn rig_with(disabled: &[&str], authorizers: Authorizers) -> Rig {
    let disabled: Vec<String> = disabled.iter().map(|name| (*name).to_owned()).collect();
    let schema = Schema::builtin();
    let registry = registry::build(schema);
    let options = EmbeddedOptions::new(registry.stored_names.clone(), None, Arc::new(NoAttributes));
    let storage = Embedded::open(options, Box::new(MemoryDisk::default())).unwrap();
    let config = Config {
        enabled: Enabled::new(&[], &disabled),
        not_ready_seconds: 300,
        unreachable_seconds: 60,
        configurations: Configurations::default(),
    };
    let pipeline = Pipeline::new(schema, &registry, config, Arc::new(authorizers));
    Rig { schema, registry, storage, pipeline }
}

impl Rig {
    /// Stores an object of `resource` (`group/version/plural`, `/version/plural` for core).
    pub(crate) fn store(&self, resource: &str, namespace: &str, text: &str) {
        let served = self.served(resource);
        let arena = Bump::new();
        let object =
            json::decode_typed(&arena, self.schema, served.facts.ty, text.as_bytes(), json::Mode::Strict)
                .unwrap();
        let name = object.value.str_at(&["metadata", "name"]).unwrap();
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let (json, splice) = json::encode_stored(self.schema, served.stored_type, &object.value);
        let labels = object.value.path(&["metadata", "labels"]).and_then(|labels| labels.as_map());
        let labels = labels.into_iter().flat_map(|labels| labels.iter());
        let labels = labels.map(|(key, value)| format!("{key}\0{}\0", value.as_str().unwrap_or("")));
        let labels = labels.collect::<String>().into_boxed_str();
        let write = Write {
            resource: served.stored,
            key: key.into(),
            namespace_len: namespace.len() as u16,
            precondition: Precondition::Absent,
            needs_namespace: false,
            action: Action::Put {
                object: EncodedObject { json: Bytes::from(json), splice },
                attributes: Stored { labels, ..Stored::default() },
                ttl: None,
            },
        };
        self.storage.submit(write).wait().unwrap();
    }

    /// Removes what is stored.
    pub(crate) fn remove(&self, resource: &str, namespace: &str, name: &str) {
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let stored = self.storage.get(self.served(resource).stored, &key).unwrap();
        let write = Write {
            resource: stored.resource,
            key: key.into(),
            namespace_len: namespace.len() as u16,
            precondition: Precondition::Revision(stored.revision),
            needs_namespace: false,
            action: Action::Delete { last: None },
        };
        self.storage.submit(write).wait().unwrap();
    }

    /// What is stored.
    pub(crate) fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<serde_json::Value> {
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let stored = self.storage.get(self.served(resource).stored, &key)?;
        let text = [b"{", &stored.json[..]].concat();
        Some(serde_json::from_slice(&text).unwrap())
    }

    pub(crate) fn served(&self, resource: &str) -> &ringbolt_apiserver::registry::ServedResource {
        let parts: Vec<_> = resource.split('/').collect();
        self.registry.find(parts[0], parts[1], parts[2]).unwrap()
    }

    /// What both halves make of a new object in the namespace `ns`, or of a change.
    fn write(&self, resource: &str, text: &str, old: Option<&str>) -> Result<serde_json::Value, Status> {
        self.write_part(resource, "", text, old)
    }

    /// The same of a subresource.
    pub(crate) fn write_part(
        &self,
        resource: &str,
        subresource: &'static str,
        text: &str,
        old: Option<&str>,
    ) -> Result<serde_json::Value, Status> {
        let (served, arena, user) = (self.served(resource), Bump::new(), UserInfo::anonymous());
        let decode = |text: &'static str| {
            json::decode_typed(&arena, self.schema, served.facts.ty, text.as_bytes(), json::Mode::Strict)
                .unwrap()
                .value
        };
        // Leaked: a test's texts, which the arena's trees borrow from.
        let leak = |text: &str| -> &'static str { text.to_owned().leak() };
        let mut object = decode(leak(text));
        let old = old.map(|text| decode(leak(text)));
        let warnings = RefCell::default();
        let attributes = Attributes {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            served,
            subresource,
            namespace: if served.facts.namespaced { "ns" } else { "" },
            name: "a",
            user: &user,
            dry_run: false,
            storage: &*self.storage,
            warnings: &warnings,
        };
        self.pipeline.admit(&attributes, &arena, &mut object, old.as_ref())?;
        self.pipeline.validate(&attributes, &arena, Some(&object), old.as_ref())?;
        let mut out = Vec::new();
        json::encode(self.schema, served.facts.ty, &object, &mut out);
        Ok(serde_json::from_slice(&out).unwrap())
    }

    /// What must be stored before a new object of `ns`, or a change of one.
    pub(crate) fn charges(&self, resource: &str, text: &str, old: Option<&str>) -> Vec<Write> {
        let (served, arena, user) = (self.served(resource), Bump::new(), UserInfo::anonymous());
        let decode = |text: &str| {
            let text = arena.alloc_slice_copy(text.as_bytes());
            json::decode_typed(&arena, self.schema, served.facts.ty, text, json::Mode::Strict).unwrap().value
        };
        let (object, old) = (decode(text), old.map(decode));
        let warnings = RefCell::default();
        let attributes = Attributes {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            served,
            subresource: "",
            namespace: "ns",
            name: "a",
            user: &user,
            dry_run: false,
            storage: &*self.storage,
            warnings: &warnings,
        };
        self.pipeline.charge(&attributes, &arena, &object, old.as_ref()).unwrap()
    }

    pub(crate) fn refused(&self, resource: &str, text: &str, old: Option<&str>, expect: &str) {
        let status = self.write(resource, text, old).expect_err(text);
        assert_eq!((status.code, status.message.as_str()), (403, expect), "{text}");
    }
}

const POD: &str = r#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;

fn pod(more: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a"}},"spec":{{{more},"containers":[{{"name":"c","image":"i"}}]}}}}"#)
}

#[test]
fn a_pod_gets_priority_and_tolerations() {
    let rig = rig();
    let spec = rig.write("/v1/pods", POD, None).unwrap()["spec"].clone();
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&0.into(), &"PreemptLowerPriority".into()));
    let seconds: Vec<_> =
        spec["tolerations"].as_array().unwrap().iter().map(|t| t["tolerationSeconds"].as_i64()).collect();
    assert_eq!(seconds, [Some(300), Some(60)]);

    let tolerant = pod(r#""tolerations":[{"operator":"Exists"}]"#);
    let spec = rig.write("/v1/pods", &tolerant, None).unwrap()["spec"].clone();
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 1, "every taint is tolerated already");

    rig.refused(
        "/v1/pods",
        &pod(r#""priorityClassName":"high""#),
        None,
        r#"pods "a" is forbidden: no PriorityClass with name high was found"#,
    );
    let high = r#"{"metadata":{"name":"high"},"value":7,"globalDefault":true,"preemptionPolicy":"Never"}"#;
    rig.store("scheduling.k8s.io/v1/priorityclasses", "", high);
    let spec = rig.write("/v1/pods", POD, None).unwrap()["spec"].clone();
    assert_eq!(
        (&spec["priorityClassName"], &spec["priority"], &spec["preemptionPolicy"]),
        (&"high".into(), &7.into(), &"Never".into())
    );
    rig.refused(
        "/v1/pods",
        &pod(r#""priority":8"#),
        None,
        "pods \"a\" is forbidden: the integer value of priority (8) must not be provided in pod spec; priority \
         admission controller computed 7 from the given PriorityClass name",
    );
    rig.refused(
        "scheduling.k8s.io/v1/priorityclasses",
        r#"{"metadata":{"name":"a"},"value":1,"globalDefault":true}"#,
        None,
        "priorityclasses.scheduling.k8s.io \"a\" is forbidden: PriorityClass high is already marked as default. \
         Only one default can exist",
    );
}

#[test]
fn limits_of_a_namespace() {
    let rig = rig();
    let range = r#"{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"500m"},
        "defaultRequest":{"cpu":"250m"},"max":{"cpu":"1"}},
        {"type":"PersistentVolumeClaim","max":{"storage":"1Gi"}}]}}"#;
    rig.store("/v1/limitranges", "ns", range);
    let pod = rig.write("/v1/pods", POD, None).unwrap();
    assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"], "500m");
    assert_eq!(
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    );
    rig.refused(
        "/v1/pods",
        r#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}}"#,
        None,
        r#"pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2"#,
    );
    rig.refused(
        "/v1/persistentvolumeclaims",
        r#"{"metadata":{"name":"a"},"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#,
        None,
        r#"persistentvolumeclaims "a" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"#,
    );
}

#[test]
fn classes_nodes_and_claims() {
    let rig = rig();
    let node = rig.write("/v1/nodes", r#"{"metadata":{"name":"a"}}"#, None).unwrap();
    assert_eq!(node["spec"]["taints"][0]["key"], "node.kubernetes.io/not-ready");

    for (name, made) in [("old", "2020-01-01T00:00:00Z"), ("new", "2021-01-01T00:00:00Z")] {
        let class = format!(
            r#"{{"metadata":{{"name":"{name}","creationTimestamp":"{made}",
            "annotations":{{"storageclass.kubernetes.io/is-default-class":"true"}}}},"provisioner":"p"}}"#
        );
        rig.store("storage.k8s.io/v1/storageclasses", "", &class);
    }
    let claim = |size: &str| {
        format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}"#
        )
    };
    let made = rig.write("/v1/persistentvolumeclaims", &claim("1Gi"), None).unwrap();
    assert_eq!(made["spec"]["storageClassName"], "new");
    assert_eq!(made["metadata"]["finalizers"][0], "kubernetes.io/pvc-protection");
    rig.refused(
        "/v1/persistentvolumeclaims",
        &claim("2Gi"),
        Some(&claim("1Gi")),
        r#"persistentvolumeclaims "a" is forbidden: Only bound persistent volume claims can be expanded"#,
    );

    rig.refused(
        "/v1/pods",
        &pod(r#""runtimeClassName":"gone""#),
        None,
        r#"pods "a" is forbidden: pod rejected: RuntimeClass "gone" not found"#,
    );
    let class = r#"{"metadata":{"name":"vm"},"handler":"h","overhead":{"podFixed":{"cpu":"1"}},
        "scheduling":{"nodeSelector":{"kind":"vm"}}}"#;
    rig.store("node.k8s.io/v1/runtimeclasses", "", class);
    let spec = rig.write("/v1/pods", &pod(r#""runtimeClassName":"vm""#), None).unwrap()["spec"].clone();
    assert_eq!((&spec["overhead"]["cpu"], &spec["nodeSelector"]["kind"]), (&"1".into(), &"vm".into()));
    rig.refused(
        "/v1/pods",
        &pod(r#""runtimeClassName":"vm","nodeSelector":{"kind":"metal"}"#),
        None,
        "pods \"a\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[kind] = vm; \
         pod.spec.nodeSelector[kind] = metal",
    );
}
