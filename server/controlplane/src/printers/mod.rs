//! Printers: what the rows of a Table say about the built-in kinds.

mod autoscaling;
mod cluster;
mod format;
mod network;
mod pod;
mod policy;
mod resource;
mod scheduling;
mod storage;
#[cfg(test)]
mod tests;
mod workloads;

use ringbolt_machinery::{
    table::{DEFAULT_PRINTER, ListRule, Printer, Row},
    value::Value,
};

const fn plain(row: fn(&Value<'_>, &mut Row<'_>)) -> Printer {
    Printer { row, list: ListRule::Plain }
}

/// Printers by plural name, which no two built-in groups give a different meaning.
#[rustfmt::skip]
static PRINTERS: &[(&str, Printer)] = &[
    ("clusterrolebindings", plain(policy::role_binding)),
    ("certificatesigningrequests", plain(policy::certificate_signing_request)),
    ("clustertrustbundles", plain(policy::cluster_trust_bundle)),
    ("componentstatuses", plain(cluster::component_status)),
    ("compositepodgroups", plain(scheduling::composite_pod_group)),
    ("configmaps", plain(cluster::config_map)),
    ("controllerrevisions", plain(workloads::controller_revision)),
    ("cronjobs", plain(workloads::cron_job)),
    ("csidrivers", plain(storage::csi_driver)),
    ("csinodes", plain(storage::csi_node)),
    ("daemonsets", plain(workloads::daemon_set)),
    ("deployments", plain(workloads::deployment)),
    ("deviceclasses", plain(cluster::name_and_age)),
    ("devicetaintrules", plain(resource::device_taint_rule)),
    ("endpoints", plain(network::endpoints)),
    ("endpointslices", plain(network::endpoint_slice)),
    ("events", plain(cluster::event)),
    ("evictionrequests", plain(scheduling::eviction_request)),
    ("evictions", plain(scheduling::eviction)),
    ("flowschemas", Printer { row: cluster::flow_schema, list: ListRule::Sorted(cluster::matching_precedence) }),
    ("horizontalpodautoscalers", plain(autoscaling::horizontal_pod_autoscaler)),
    ("ingressclasses", plain(network::ingress_class)),
    ("ingresses", plain(network::ingress)),
    ("ipaddresses", plain(network::ip_address)),
    ("jobs", plain(workloads::job)),
    ("leasecandidates", plain(cluster::lease_candidate)),
    ("leases", plain(cluster::lease)),
    ("mutatingadmissionpolicies", plain(policy::mutating_admission_policy)),
    ("mutatingadmissionpolicybindings", plain(policy::admission_policy_binding)),
    ("mutatingwebhookconfigurations", plain(policy::webhook_configuration)),
    ("namespaces", plain(cluster::namespace)),
    ("networkpolicies", plain(network::network_policy)),
    ("nodes", plain(cluster::node)),
    ("persistentvolumeclaims", plain(storage::persistent_volume_claim)),
    ("persistentvolumes", plain(storage::persistent_volume)),
    ("podcertificaterequests", plain(policy::pod_certificate_request)),
    ("poddisruptionbudgets", plain(workloads::pod_disruption_budget)),
    ("podgroups", plain(scheduling::pod_group)),
    ("pods", plain(pod::row)),
    ("podtemplates", plain(workloads::pod_template)),
    ("priorityclasses", plain(scheduling::priority_class)),
    ("prioritylevelconfigurations", plain(cluster::priority_level_configuration)),
    ("replicasets", plain(workloads::replica_set)),
    ("replicationcontrollers", plain(workloads::replication_controller)),
    ("resourceclaims", plain(resource::resource_claim)),
    ("resourceclaimtemplates", plain(cluster::name_and_age)),
    ("resourcepoolstatusrequests", plain(resource::resource_pool_status_request)),
    ("resourcequotas", plain(cluster::resource_quota)),
    ("resourceslices", plain(resource::resource_slice)),
    ("rolebindings", plain(policy::role_binding)),
    ("runtimeclasses", plain(cluster::runtime_class)),
    ("secrets", plain(cluster::secret)),
    ("serviceaccounts", plain(cluster::name_and_age)),
    ("servicecidrs", plain(network::service_cidr)),
    ("services", plain(network::service)),
    ("statefulsets", plain(workloads::stateful_set)),
    ("storageclasses", Printer { row: storage::storage_class, list: ListRule::Elected(storage::default_class) }),
    ("storageversionmigrations", plain(cluster::storage_version_migration)),
    ("storageversions", plain(cluster::storage_version)),
    ("validatingadmissionpolicies", plain(policy::validating_admission_policy)),
    ("validatingadmissionpolicybindings", plain(policy::admission_policy_binding)),
    ("validatingwebhookconfigurations", plain(policy::webhook_configuration)),
    ("volumeattachments", plain(storage::volume_attachment)),
    ("volumeattributesclasses", plain(storage::volume_attributes_class)),
    ("workloads", plain(cluster::name_and_age)),
];

/// The printer of a built-in resource. Both groups of events have one: their objects are stored as one.
pub(crate) fn of(resource: &str) -> &'static Printer {
    PRINTERS.iter().find(|(name, _)| *name == resource).map_or(&DEFAULT_PRINTER, |(_, printer)| printer)
}
