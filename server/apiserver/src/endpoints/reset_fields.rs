//! Fields that a strategy puts back, whatever a write says (`GetResetFields`): nobody comes to own them that way.

use ringbolt_machinery::apply::ResetFields;

type Paths = &'static [&'static [&'static str]];

const NONE: Paths = &[];
const SPEC: Paths = &[&["spec"]];
const STATUS: Paths = &[&["status"]];
const SPEC_AND_METADATA: Paths = &[&["spec"], &["metadata"]];

/// What a write through a subresource (empty for the object itself) puts back.
pub(crate) fn of(group: &str, resource: &str, subresource: &str) -> ResetFields {
    match (group, resource, subresource) {
        ("", "pods", "ephemeralcontainers") => ResetFields::Only(&[&["spec", "ephemeralContainers"]]),
        ("", "pods", "resize") => ResetFields::Only(&[
            &["spec", "containers", "*", "resources"],
            &["spec", "containers", "*", "resizePolicy"],
            &["spec", "initContainers", "*", "resources"],
            &["spec", "initContainers", "*", "resizePolicy"],
        ]),
        ("", "namespaces", "finalize") => ResetFields::Except(STATUS),
        ("certificates.k8s.io", "certificatesigningrequests", subresource) => {
            ResetFields::Except(match subresource {
                "" => &[&["spec"], &["status"]],
                "status" => &[&["spec"], &["status", "conditions"]],
                "approval" => &[&["spec"], &["status", "certificate"]],
                _ => NONE,
            })
        }
        (_, _, "") if has_reset_status(group, resource) => ResetFields::Except(STATUS),
        (_, _, "status") => ResetFields::Except(through_status(group, resource)),
        _ => ResetFields::Except(NONE),
    }
}

/// The same of a custom resource, by whether its status is a subresource.
pub(crate) fn of_custom(has_status: bool, subresource: &str) -> ResetFields {
    ResetFields::Except(match subresource {
        "" if has_status => STATUS,
        "status" => SPEC_AND_METADATA,
        _ => NONE,
    })
}

/// Kinds whose status a write of the object itself leaves alone.
fn has_reset_status(group: &str, resource: &str) -> bool {
    match group {
        "" => matches!(
            resource,
            "namespaces"
                | "nodes"
                | "persistentvolumeclaims"
                | "persistentvolumes"
                | "pods"
                | "replicationcontrollers"
                | "resourcequotas"
                | "services"
        ),
        "admissionregistration.k8s.io" => resource == "validatingadmissionpolicies",
        "apiextensions.k8s.io" => resource == "customresourcedefinitions",
        "apiregistration.k8s.io" => resource == "apiservices",
        "apps" => matches!(resource, "daemonsets" | "deployments" | "replicasets" | "statefulsets"),
        "autoscaling" => resource == "horizontalpodautoscalers",
        "batch" => matches!(resource, "cronjobs" | "jobs"),
        "certificates.k8s.io" => resource == "podcertificaterequests",
        "flowcontrol.apiserver.k8s.io" => {
            matches!(resource, "flowschemas" | "prioritylevelconfigurations")
        }
        "internal.apiserver.k8s.io" => resource == "storageversions",
        "lifecycle.k8s.io" => matches!(resource, "evictions" | "evictionrequests"),
        "networking.k8s.io" => matches!(resource, "ingresses" | "servicecidrs"),
        "policy" => resource == "poddisruptionbudgets",
        "resource.k8s.io" => {
            matches!(resource, "devicetaintrules" | "resourceclaims" | "resourcepoolstatusrequests")
        }
        "scheduling.k8s.io" => matches!(resource, "compositepodgroups" | "podgroups"),
        "storage.k8s.io" => matches!(resource, "csinodes" | "volumeattachments"),
        "storagemigration.k8s.io" => resource == "storageversionmigrations",
        _ => false,
    }
}

/// What a write of the status leaves alone.
fn through_status(group: &str, resource: &str) -> Paths {
    match (group, resource) {
        ("apiextensions.k8s.io", _) => SPEC,
        ("", "pods") => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
        ("apps", "deployments") => &[&["spec"], &["metadata", "labels"]],
        ("" | "apps" | "autoscaling" | "batch" | "policy", _) | ("networking.k8s.io", "ingresses") => SPEC,
        _ if has_reset_status(group, resource) => SPEC_AND_METADATA,
        _ => NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        let check = |path: (&str, &str, &str), expect: Paths| {
            assert_eq!(of(path.0, path.1, path.2), ResetFields::Except(expect), "{path:?}");
        };
        check(("", "configmaps", ""), NONE);
        check(("", "services", ""), STATUS);
        check(("", "services", "status"), SPEC);
        check(("apps", "deployments", "scale"), NONE);
        check(("apps", "deployments", "status"), &[&["spec"], &["metadata", "labels"]]);
        check(("networking.k8s.io", "servicecidrs", "status"), SPEC_AND_METADATA);
        check(("certificates.k8s.io", "certificatesigningrequests", ""), &[&["spec"], &["status"]]);
        check(("events.k8s.io", "events", ""), NONE);
        assert!(matches!(of("", "pods", "resize"), ResetFields::Only(_)));
    }
}
