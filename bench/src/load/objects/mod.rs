//! Objects for a load: of any size that is asked for, alike on every server.

mod lease;
mod pod;
mod sequence;
mod simple;

use super::error::LoadError;
use clap::ValueEnum;

pub(crate) use lease::renew;
pub(crate) use sequence::{
    DIGITS as SEQUENCE_DIGITS, MARK as SEQUENCE_MARK, STATUS_MARK, set as set_sequence,
};

/// Kinds that a load writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// `v1` ConfigMap: a value that changes, and one that fills it up.
    Configmaps,
    /// `v1` Pod as clusters have them, on one of 100 nodes and without a token.
    Pods,
    /// `v1` Pod as a ReplicaSet posts it: on no node yet, its account and all that goes with it left to admission.
    NewPods,
    /// `apps/v1` Deployment.
    Deployments,
    /// `bench.ringbolt.io/v1` Widget, a custom resource whose definition is there.
    Widgets,
    /// `coordination.k8s.io/v1` Lease, as a kubelet keeps it.
    Leases,
}

impl Kind {
    /// The resource's name in paths.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Kind::Configmaps => "configmaps",
            Kind::Pods | Kind::NewPods => "pods",
            Kind::Deployments => "deployments",
            Kind::Leases => "leases",
            Kind::Widgets => "widgets",
        }
    }

    /// The path of the group and version.
    pub(crate) fn root(self) -> &'static str {
        match self {
            Kind::Configmaps | Kind::Pods | Kind::NewPods => "/api/v1",
            Kind::Deployments => "/apis/apps/v1",
            Kind::Leases => "/apis/coordination.k8s.io/v1",
            Kind::Widgets => "/apis/bench.ringbolt.io/v1",
        }
    }

    /// Whether it has a status of its own.
    pub(crate) fn has_status(self) -> bool {
        matches!(self, Kind::Deployments) || self.is_pods()
    }

    /// Whether its objects are pods.
    pub(crate) fn is_pods(self) -> bool {
        matches!(self, Kind::Pods | Kind::NewPods)
    }

    /// A merge patch of one value, which [`set_sequence`] changes.
    pub(crate) fn merge_patch(self) -> Vec<u8> {
        let sequence = sequence::first();
        match self {
            Kind::Configmaps => format!(r#"{{"data":{{"sequence":"{sequence}"}}}}"#),
            Kind::Widgets => format!(r#"{{"spec":{{"sequence":"{sequence}"}}}}"#),
            _ => format!(r#"{{"metadata":{{"annotations":{{"{ANNOTATION}":"{sequence}"}}}}}}"#),
        }
        .into_bytes()
    }

    /// A JSON patch of one value, which [`set_sequence`] changes.
    pub(crate) fn json_patch(self) -> Vec<u8> {
        let sequence = sequence::first();
        let path = match self {
            Kind::Configmaps => "/data/sequence".to_owned(),
            Kind::Widgets => "/spec/sequence".to_owned(),
            _ => format!("/metadata/annotations/{}", ANNOTATION.replace('/', "~1")),
        };
        format!(r#"[{{"op":"replace","path":"{path}","value":"{sequence}"}}]"#).into_bytes()
    }

    /// A merge patch of the status, so that there is one to be updated.
    pub(crate) fn status_patch(self) -> Option<Vec<u8>> {
        match self {
            Kind::Pods | Kind::NewPods => Some(pod::status_patch()),
            Kind::Deployments => Some(simple::deployment_status_patch()),
            Kind::Configmaps | Kind::Leases | Kind::Widgets => None,
        }
    }
}

/// The annotation with the value that changes, of kinds without data.
const ANNOTATION: &str = "bench.ringbolt.io/sequence";

/// Digits of an object's number: all objects of a load are of the same length.
const NUMBER_DIGITS: usize = 8;

/// Makes the objects of a load. The n-th is the same however often it is made.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    pub(crate) kind: Kind,
    prefix: String,
    namespaces: usize,
    namespace_prefix: String,
    padding: String,
}

impl Generator {
    /// Objects of `bytes` bytes as they are sent; an error if the kind does not go that small.
    pub(crate) fn new(
        kind: Kind,
        bytes: usize,
        prefix: &str,
        namespaces: usize,
        namespace_prefix: &str,
    ) -> Result<Generator, LoadError> {
        let mut generator = Generator {
            kind,
            prefix: prefix.to_owned(),
            namespaces: namespaces.max(1),
            namespace_prefix: namespace_prefix.to_owned(),
            padding: String::new(),
        };
        let least = generator.object(0).len();
        // A Lease has nothing to be filled up with, and needs it not.
        if kind != Kind::Leases {
            let missing = bytes.checked_sub(least).ok_or_else(|| {
                LoadError::new(format!("--object-bytes {bytes}: {} have at least {least}", kind.resource()))
            })?;
            generator.padding = padding(missing);
        }
        Ok(generator)
    }

    /// The namespaces of the objects.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.namespaces).map(|n| format!("{}{n}", self.namespace_prefix))
    }

    /// The n-th object's namespace.
    pub(crate) fn namespace(&self, number: u64) -> String {
        format!("{}{}", self.namespace_prefix, number % self.namespaces as u64)
    }

    /// The n-th object's name.
    pub(crate) fn name(&self, number: u64) -> String {
        format!("{}-{number:0width$}", self.prefix, width = NUMBER_DIGITS)
    }

    /// The path that objects like the n-th are created at.
    pub(crate) fn collection(&self, number: u64) -> String {
        format!("{}/namespaces/{}/{}", self.kind.root(), self.namespace(number), self.kind.resource())
    }

    /// The n-th object's path.
    pub(crate) fn path(&self, number: u64) -> String {
        format!("{}/{}", self.collection(number), self.name(number))
    }

    /// The n-th object in JSON.
    pub(crate) fn object(&self, number: u64) -> Vec<u8> {
        let (name, namespace) = (self.name(number), self.namespace(number));
        let text = match self.kind {
            Kind::Configmaps => simple::config_map(&name, &namespace, &self.padding),
            Kind::Deployments => simple::deployment(&name, &namespace, &self.padding),
            Kind::Leases => lease::lease(&name, &namespace),
            Kind::Widgets => simple::widget(&name, &namespace, &self.padding),
            Kind::Pods => pod::pod(&name, &namespace, number, &self.padding, true),
            Kind::NewPods => pod::pod(&name, &namespace, number, &self.padding, false),
        };
        text.into_bytes()
    }
}

/// Text that fills an object up: varied, so that nothing is won by compressing it, and without anything to escape.
fn padding(length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(LETTERS[(state >> 59) as usize])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn objects_are_as_large_as_asked_and_what_they_say_they_are() {
        for (kind, name, sizes) in [
            (Kind::Configmaps, "ConfigMap", [512, 1024, 65_536]),
            (Kind::Pods, "Pod", [3072, 4096, 16_384]),
            (Kind::NewPods, "Pod", [3072, 4096, 16_384]),
            (Kind::Deployments, "Deployment", [2048, 4096, 8192]),
            (Kind::Widgets, "Widget", [512, 1024, 4096]),
        ] {
            for bytes in sizes {
                let generator = Generator::new(kind, bytes, "bench", 10, "bench-").unwrap();
                for number in [0, 7, 12_345_678] {
                    let object = generator.object(number);
                    let off = object.len().abs_diff(bytes) as f64 / bytes as f64;
                    assert!(off <= 0.02, "{name} {number}: {} of {bytes}", object.len());
                    let value: Value = serde_json::from_slice(&object).unwrap();
                    assert_eq!(value["kind"], name);
                    assert_eq!(value["metadata"]["name"], generator.name(number));
                    assert_eq!(value["metadata"]["namespace"], format!("bench-{}", number % 10));
                }
            }
        }
    }

    #[test]
    fn what_does_not_go_that_small_is_said() {
        let error = Generator::new(Kind::Pods, 100, "bench", 1, "bench-").unwrap_err().to_string();
        assert!(error.contains("pods have at least"), "{error}");
    }

    #[test]
    fn leases_are_leases() {
        let generator = Generator::new(Kind::Leases, 0, "node", 1, "bench-").unwrap();
        let value: Value = serde_json::from_slice(&generator.object(3)).unwrap();
        assert_eq!(value["kind"], "Lease");
        assert_eq!(value["spec"]["holderIdentity"], "node-00000003");
        assert_eq!(generator.path(3), "/apis/coordination.k8s.io/v1/namespaces/bench-0/leases/node-00000003");
    }

    #[test]
    fn pods_spread_over_labels_and_nodes() {
        let generator = Generator::new(Kind::Pods, 4096, "bench", 1, "bench-").unwrap();
        let pods: Vec<Value> =
            (0..1000).map(|number| serde_json::from_slice(&generator.object(number)).unwrap()).collect();
        let distinct = |pointer: &str| {
            let values = pods.iter().map(|pod| pod.pointer(pointer).unwrap().to_string());
            values.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(distinct("/spec/nodeName"), 100);
        assert!((3..=20).contains(&distinct("/metadata/labels/app")));
        assert!((2..=5).contains(&distinct("/metadata/labels/tier")));
    }

    #[test]
    fn new_pods_leave_to_admission_what_is_its_matter() {
        let generator = Generator::new(Kind::NewPods, 4096, "bench", 1, "bench-").unwrap();
        let pod: Value = serde_json::from_slice(&generator.object(0)).unwrap();
        assert_eq!(pod.pointer("/metadata/ownerReferences/0/kind"), Some(&Value::from("ReplicaSet")));
        for field in ["nodeName", "serviceAccountName", "automountServiceAccountToken", "tolerations"] {
            assert!(pod["spec"].get(field).is_none(), "{field}");
        }
        assert_eq!(generator.collection(0), "/api/v1/namespaces/bench-0/pods");
    }

    #[test]
    fn patches_are_json_with_a_value_that_changes() {
        for kind in
            [Kind::Configmaps, Kind::Pods, Kind::NewPods, Kind::Deployments, Kind::Leases, Kind::Widgets]
        {
            for patch in
                [Some(kind.merge_patch()), Some(kind.json_patch()), kind.status_patch()].into_iter().flatten()
            {
                let mut changed = patch.clone();
                assert!(
                    set_sequence(&mut changed, SEQUENCE_MARK, 42)
                        != set_sequence(&mut changed, STATUS_MARK, 42)
                );
                assert_ne!(patch, changed);
                serde_json::from_slice::<Value>(&changed).unwrap();
            }
        }
    }
}
