//! Defaults of every served version: what a server fills in right after decoding (`SetDefaults_*`, `+default`
//! markers), together with the little that decoding itself moves around (`stringData`, `podCIDR`).

mod admissionregistration;
mod apps;
mod autoscaling;
mod batch;
mod container;
mod core;
mod flowcontrol;
mod networking;
mod persistent_volume;
mod pod;
mod resource;
mod service;
mod storage;
mod volume;

use bumpalo::Bump;
use ringbolt_apiserver::registry::Defaulter;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::{Members, root};

/// A defaulter written for maps.
type Fill = for<'a> fn(&'a Bump, &mut Map<'a>);

macro_rules! defaulter {
    ($fill:path) => {{
        fn run<'a>(arena: &'a Bump, object: &mut Value<'a>) {
            let fill: Fill = $fill;
            fill(arena, root(arena, object));
        }
        run
    }};
}

/// The defaulter of a resource in one version. Kinds without defaults get one that does nothing.
pub(crate) fn of(group: &str, version: &str, resource: &str) -> Defaulter {
    match (group, version, resource) {
        ("", "v1", "configmaps") => defaulter!(core::config_map),
        ("", "v1", "endpoints") => defaulter!(core::endpoints),
        ("", "v1", "limitranges") => defaulter!(core::limit_range),
        ("", "v1", "namespaces") => defaulter!(core::namespace),
        ("", "v1", "nodes") => defaulter!(core::node),
        ("", "v1", "persistentvolumeclaims") => defaulter!(core::persistent_volume_claim),
        ("", "v1", "persistentvolumes") => defaulter!(persistent_volume::persistent_volume),
        ("", "v1", "pods") => defaulter!(pod::pod),
        ("", "v1", "podtemplates") => defaulter!(pod::pod_template),
        ("", "v1", "replicationcontrollers") => defaulter!(core::replication_controller),
        ("", "v1", "resourcequotas") => defaulter!(core::resource_quota),
        ("", "v1", "secrets") => defaulter!(core::secret),
        ("", "v1", "services") => defaulter!(service::service),
        ("admissionregistration.k8s.io", "v1", resource) => match resource {
            "mutatingwebhookconfigurations" => defaulter!(admissionregistration::mutating_webhooks),
            "validatingwebhookconfigurations" => defaulter!(admissionregistration::validating_webhooks),
            "validatingadmissionpolicies" | "mutatingadmissionpolicies" => {
                defaulter!(admissionregistration::policy)
            }
            "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings" => {
                defaulter!(admissionregistration::binding)
            }
            _ => defaulter!(nothing),
        },
        ("apps", "v1", "daemonsets") => defaulter!(apps::daemon_set),
        ("apps", "v1", "deployments") => defaulter!(apps::deployment),
        ("apps", "v1", "replicasets") => defaulter!(apps::replica_set),
        ("apps", "v1", "statefulsets") => defaulter!(apps::stateful_set),
        ("autoscaling", "v1", "horizontalpodautoscalers") => defaulter!(autoscaling::v1),
        ("autoscaling", "v2", "horizontalpodautoscalers") => defaulter!(autoscaling::v2),
        ("batch", "v1", "jobs") => defaulter!(batch::job),
        ("batch", "v1", "cronjobs") => defaulter!(batch::cron_job),
        ("certificates.k8s.io", "v1", "podcertificaterequests") => defaulter!(core::pod_certificate_request),
        ("discovery.k8s.io", "v1", "endpointslices") => defaulter!(networking::endpoint_slice),
        ("flowcontrol.apiserver.k8s.io", "v1", "flowschemas") => defaulter!(flowcontrol::flow_schema),
        ("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations") => {
            defaulter!(flowcontrol::priority_level)
        }
        ("networking.k8s.io", "v1", "ingressclasses") => defaulter!(networking::ingress_class),
        ("networking.k8s.io", "v1", "networkpolicies") => defaulter!(networking::network_policy),
        ("node.k8s.io", "v1", "runtimeclasses") => defaulter!(core::runtime_class),
        ("rbac.authorization.k8s.io", "v1", "rolebindings" | "clusterrolebindings") => {
            defaulter!(core::role_binding)
        }
        ("resource.k8s.io", "v1", "resourceclaims") => defaulter!(resource::claim),
        ("resource.k8s.io", "v1", "resourceclaimtemplates") => defaulter!(resource::claim_template),
        ("resource.k8s.io", "v1", "resourceslices") => defaulter!(resource::slice),
        ("resource.k8s.io", "v1", "devicetaintrules") => defaulter!(resource::taint_rule),
        ("scheduling.k8s.io", "v1", "priorityclasses") => defaulter!(core::priority_class),
        ("storage.k8s.io", "v1", "csidrivers") => defaulter!(storage::csi_driver),
        ("storage.k8s.io", "v1", "storageclasses") => defaulter!(storage::storage_class),
        ("storage.k8s.io", "v1", "volumeattachments") => defaulter!(storage::volume_attachment),
        _ => defaulter!(nothing),
    }
}

fn nothing<'a>(_: &'a Bump, _: &mut Map<'a>) {}

/// Copies entries that `to` has not.
fn complete<'a>(to: &mut Map<'a>, from: &Map<'a>) {
    for (key, value) in from.iter() {
        to.default_nil(key, value.clone());
    }
}
