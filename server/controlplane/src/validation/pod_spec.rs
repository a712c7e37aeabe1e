//! Pod specs, of pods and of templates.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{
        labels::validate_label_name,
        names::{dns1123_label_errors, dns1123_subdomain_errors, inclusive_range_error},
        validate_annotations, validate_labels,
    },
    value::{Map, Value},
};

use super::{
    Errors, container, container::Surroundings, each_invalid, one_of, placement, security_context, volume,
};
use crate::tree::Members;

fn names<'a>(list: &[Value<'a>]) -> Vec<&'a str> {
    list.iter().filter_map(|c| c.str_at(&["name"])).collect()
}

/// What is not a pod's own matter: the volumes that a stateful set adds to its pods. It also chooses their host
/// names, so those of the template are not looked at.
pub(crate) type Claimed<'c> = Option<&'c [&'c str]>;

/// A pod's spec.
pub(crate) fn validate(spec: &Map<'_>, claimed: Claimed<'_>, path: &str, errors: &mut Errors) {
    // What a stateful set claims takes the place of the template's own volume of that name.
    let own = spec.items("volumes");
    let volumes = match claimed {
        None | Some([]) => volume::validate(own, &child(path, "volumes"), errors),
        Some(claimed) => claimed.iter().copied().chain(names(own)).collect(),
    };
    resource_claims(spec, &child(path, "resourceClaims"), errors);
    let (containers, init) = (spec.items("containers"), spec.items("initContainers"));
    let around = Surroundings {
        volumes,
        claims: names(spec.items("resourceClaims")),
        restart_policy: spec.text("restartPolicy"),
    };
    container::validate_regular(containers, &child(path, "containers"), &around, errors);
    container::validate_init(init, containers, &child(path, "initContainers"), &around, errors);
    let others: Vec<&str> = names(containers).into_iter().chain(names(init)).collect();
    let ephemeral = spec.items("ephemeralContainers");
    container::validate_ephemeral(ephemeral, &others, &child(path, "ephemeralContainers"), &around, errors);
    match spec.text("restartPolicy") {
        "" => errors.push(FieldError::required(child(path, "restartPolicy"), "")),
        _ => one_of(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"], errors),
    }
    match spec.text("dnsPolicy") {
        "" => errors.push(FieldError::required(child(path, "dnsPolicy"), "")),
        _ => {
            let supported = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
            one_of(spec, "dnsPolicy", path, &supported, errors);
        }
    }
    errors.extend(validate_labels(spec.get("nodeSelector"), &child(path, "nodeSelector")));
    if let Some(context) = spec.child("securityContext") {
        security_context::validate_pod(context, &child(path, "securityContext"), errors);
    }
    if let Some(affinity) = spec.child("affinity") {
        placement::affinity(affinity, &child(path, "affinity"), errors);
    }
    for (at, gate) in spec.items("readinessGates").iter().enumerate() {
        let path = child(&index(&child(path, "readinessGates"), at), "conditionType");
        errors.extend(validate_label_name(gate.str_at(&["conditionType"]).unwrap_or(""), &path));
    }
    scheduling_gates(spec, &child(path, "schedulingGates"), errors);
    let spread = spec.items("topologySpreadConstraints");
    placement::spread(spread, &child(path, "topologySpreadConstraints"), errors);
    subdomains(spec, &["serviceAccountName", "nodeName"], path, errors);
    let deadline = spec.int("activeDeadlineSeconds");
    if let Some(seconds) = deadline.filter(|s| !(1..=i64::from(i32::MAX)).contains(s)) {
        let why = inclusive_range_error(1, i64::from(i32::MAX));
        errors.push(FieldError::invalid(child(path, "activeDeadlineSeconds"), seconds, why));
    }
    if claimed.is_none() {
        for member in ["hostname", "subdomain"] {
            let name = spec.text(member);
            if !name.is_empty() {
                each_invalid(dns1123_label_errors(name), &child(path, member), name, errors);
            }
        }
    }
    placement::tolerations(spec.items("tolerations"), &child(path, "tolerations"), errors);
    subdomains(spec, &["priorityClassName", "runtimeClassName"], path, errors);
    if spec.has("preemptionPolicy") {
        one_of(spec, "preemptionPolicy", path, &["PreemptLowerPriority", "Never"], errors);
    }
    if let Some(os) = spec.child("os") {
        let (name, path) = (os.text("name"), child(path, "os"));
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else if !matches!(name, "linux" | "windows") {
            errors.push(FieldError::not_supported(path, name, &["linux", "windows"]));
        }
    }
}

/// Members that are names of other objects.
fn subdomains(spec: &Map<'_>, members: &[&str], path: &str, errors: &mut Errors) {
    for member in members {
        let name = spec.text(member);
        if !name.is_empty() {
            each_invalid(dns1123_subdomain_errors(name), &child(path, member), name, errors);
        }
    }
}

fn scheduling_gates(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (at, gate) in spec.items("schedulingGates").iter().enumerate() {
        let (name, path) = (gate.str_at(&["name"]).unwrap_or(""), index(path, at));
        errors.extend(validate_label_name(name, &path));
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(path, name));
        }
        seen.push(name);
    }
}

fn resource_claims(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (at, claim) in spec.items("resourceClaims").iter().enumerate() {
        let Some(claim) = claim.as_map() else { continue };
        let path = index(path, at);
        let name = claim.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else if seen.contains(&name) {
            errors.push(FieldError::duplicate(child(&path, "name"), name));
        } else {
            each_invalid(dns1123_label_errors(name), &child(&path, "name"), name, errors);
            seen.push(name);
        }
        for member in ["resourceClaimName", "resourceClaimTemplateName"] {
            if claim.has(member) {
                let name = claim.text(member);
                each_invalid(dns1123_subdomain_errors(name), &child(&path, member), name, errors);
            }
        }
    }
}

/// A pod template: its labels, annotations and spec.
pub(crate) fn validate_template(template: &Map<'_>, claimed: Claimed<'_>, path: &str, errors: &mut Errors) {
    let meta = |member: &str| template.child("metadata").and_then(|m| m.get(member));
    errors.extend(validate_labels(meta("labels"), &child(path, "labels")));
    errors.extend(validate_annotations(meta("annotations"), &child(path, "annotations")));
    let path = child(path, "spec");
    let Some(spec) = template.get("spec").and_then(Value::as_map) else {
        errors.push(FieldError::required(child(&path, "containers"), ""));
        return;
    };
    validate(spec, claimed, &path, errors);
    if !spec.lacks("ephemeralContainers") {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(child(&path, "ephemeralContainers"), why));
    }
}
