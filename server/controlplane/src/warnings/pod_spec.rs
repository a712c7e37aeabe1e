//! Pods and templates of pods.

use ringbolt_machinery::{
    field::{child, index, quote},
    validation::names::label_value_errors,
    value::{Map, Value},
};

use super::{
    annotations, containers, fractional_bytes, name_as_label, new_generation, node_label, storage,
    virtual_paths,
};
use crate::{
    network,
    seen::Seen,
    tree::Members,
    validation::{maps, sorted},
};

const DEPRECATED_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    ("security.alpha.kubernetes.io/sysctls", r#"non-functional in v1.11+; use the "sysctls" field instead"#),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
];
const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";

/// Sources of volumes that are gone, with what was said when.
const DEPRECATED_VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Pods are looked at when they come.
pub(crate) fn pod(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if old.is_none() {
        name_as_label(object, "the Pod's hostname", warnings);
        template(object, "", warnings);
    }
}

/// What is to be said of a new pod whose spec is nothing to be warned about, and stands alone.
pub(crate) fn pod_beside_spec(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    name_as_label(object, "the Pod's hostname", warnings);
}

/// What nodes say of pods.
pub(crate) fn pod_status(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    for list in ["podIPs", "hostIPs"] {
        let addresses = object.path(&["status", list]).and_then(Value::as_list);
        for (at, address) in addresses.into_iter().flatten().enumerate() {
            let path = child(&index(&format!("status.{list}"), at), "ip");
            warnings.extend(network::ip_warning(&path, address.str_at(&["ip"]).unwrap_or("")));
        }
    }
}

/// A changed controller is judged by the template it had.
pub(crate) fn replication_controller(
    object: &Value<'_>,
    old: Option<&Value<'_>>,
    warnings: &mut Vec<String>,
) {
    let judged = match old {
        None => {
            name_as_label(object, "Pod names and hostnames", warnings);
            object
        }
        Some(old) if new_generation(object, old) => old,
        Some(_) => return,
    };
    if let Some(found) = judged.path(&["spec", "template"]) {
        template(found, "spec.template", warnings);
    }
}

/// A pod, or a template at a path.
pub(super) fn template(holder: &Value<'_>, path: &str, warnings: &mut Vec<String>) {
    let annotations = annotations(holder);
    let meta = child(path, "metadata.annotations");
    crate::validation::with_map(holder, "spec", |spec| {
        let at = child(path, "spec");
        scheduling(spec, &at, warnings);
        for (name, why) in DEPRECATED_ANNOTATIONS {
            if annotations.is_some_and(|a| a.get(name).is_some()) {
                warnings.push(format!("{meta}[{name}]: {why}"));
            }
        }
        volumes(spec, &child(&at, "volumes"), warnings);
        virtual_paths::overlaps(spec, warnings);
        names(spec, &at, warnings);
        for resource in ["memory", "ephemeral-storage"] {
            fractional_bytes(spec.child("overhead"), resource, || child(&at, "overhead"), warnings);
        }
        let context = spec.child("securityContext");
        if context.is_none_or(|c| !c.has("seccompProfile"))
            && annotations.is_some_and(|a| a.get(SECCOMP).is_some())
        {
            warnings.push(format!(
                "{meta}[{SECCOMP}]: non-functional in v1.27+; use the \"seccompProfile\" field instead"
            ));
        }
        containers::all(spec, annotations, !path.is_empty(), &at, &meta, warnings);
        if spec.int("terminationGracePeriodSeconds").is_some_and(|s| s < 0) {
            warnings.push(format!(
                "{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
            ));
        }
        affinity(spec, &at, warnings);
        let servers = spec.child("dnsConfig").map(|d| d.items("nameservers")).unwrap_or_default();
        for (n, server) in servers.iter().enumerate() {
            let path = index(&child(&at, "dnsConfig.nameservers"), n);
            warnings.extend(network::ip_warning(&path, server.as_str().unwrap_or("")));
        }
        for (n, alias) in maps(spec.items("hostAliases")) {
            let path = child(&index(&child(&at, "hostAliases"), n), "ip");
            warnings.extend(network::ip_warning(&path, alias.text("ip")));
        }
    });
}

fn scheduling(spec: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    for (name, _) in sorted(spec.child("nodeSelector")) {
        if let Some(why) = node_label(name) {
            warnings.push(format!("{path}.nodeSelector[{name}]: {why}"));
        }
    }
    if let Some(nodes) = spec.child("affinity").and_then(|a| a.child("nodeAffinity")) {
        let path = child(path, "affinity.nodeAffinity");
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let terms = nodes.child(required).map(|r| r.items("nodeSelectorTerms")).unwrap_or_default();
        for (at, term) in maps(terms) {
            node_selector_term(
                term,
                false,
                &index(&format!("{path}.{required}.nodeSelectorTerms"), at),
                warnings,
            );
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (at, term) in maps(nodes.items(preferred)) {
            if let Some(preference) = term.child("preference") {
                let path = child(&index(&child(&path, preferred), at), "preference");
                node_selector_term(preference, true, &path, warnings);
            }
        }
    }
    for (at, constraint) in maps(spec.items("topologySpreadConstraints")) {
        let path = index(&child(path, "topologySpreadConstraints"), at);
        let key = constraint.text("topologyKey");
        if let Some(why) = node_label(key) {
            warnings.push(format!("{path}.topologyKey: {key} is {why}"));
        }
        if !constraint.has("labelSelector") {
            warnings.push(format!("{path}.labelSelector: a null labelSelector results in matching no pod"));
        }
    }
}

/// A term that chooses nodes, with or without a look at the values it asks for.
pub(super) fn node_selector_term(term: &Map<'_>, values: bool, path: &str, warnings: &mut Vec<String>) {
    for (at, expression) in maps(term.items("matchExpressions")) {
        let path = index(&child(path, "matchExpressions"), at);
        let key = expression.text("key");
        if let Some(why) = node_label(key) {
            warnings.push(format!("{path}.key: {key} is {why}"));
        }
        if !values {
            continue;
        }
        for (at, value) in expression.items("values").iter().enumerate() {
            let value = value.as_str().unwrap_or("");
            for why in label_value_errors(value) {
                warnings.push(format!("{}: {value} is invalid, {why}", index(&child(&path, "values"), at)));
            }
        }
    }
}

fn volumes(spec: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    let is_told =
        |source: &str| source == "ephemeral" || DEPRECATED_VOLUMES.iter().any(|(d, _)| *d == source);
    for (at, volume) in maps(spec.items("volumes")) {
        if !volume.iter().any(|(source, value)| value.as_str().is_none() && is_told(source)) {
            continue;
        }
        let path = index(path, at);
        for (source, why) in DEPRECATED_VOLUMES {
            if source == "cephfs"
                && let Some(claim) = volume.child("ephemeral").and_then(|e| e.child("volumeClaimTemplate"))
            {
                storage::claim_spec(
                    claim.child("spec"),
                    &child(&path, "ephemeral.volumeClaimTemplate.spec"),
                    warnings,
                );
            }
            if volume.has(source) {
                let shown = if source == "storageos" { "storageOS" } else { source };
                warnings.push(format!("{path}.{shown}: {why}"));
            }
        }
    }
}

/// Aliases of hosts and secrets for images that are there twice, or have no name.
fn names(spec: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    for (list, member) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen = Seen::default();
        for (at, item) in maps(spec.items(list)) {
            if !seen.insert(item.text(member)) {
                let path = child(&index(&child(path, list), at), member);
                warnings.push(format!("{path}: duplicate {member} {}", quote(item.text(member))));
            }
        }
    }
    for (at, item) in maps(spec.items("imagePullSecrets")).filter(|(_, item)| item.lacks("name")) {
        let path = child(&index(&child(path, "imagePullSecrets"), at), "name");
        warnings.push(format!("{path}: invalid empty name {}", quote(item.text("name"))));
    }
}

/// Terms that choose no pod at all.
fn affinity(spec: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.child("affinity").and_then(|a| a.child(kind)) else { continue };
        let path = child(path, &format!("affinity.{kind}"));
        for (list, nested) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            ("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
        ] {
            for (at, item) in maps(affinity.items(list)) {
                let term = if nested.is_empty() { Some(item) } else { item.child(nested) };
                if term.is_none_or(|t| !t.has("labelSelector")) {
                    let at = index(&child(&path, list), at);
                    let at = if nested.is_empty() { at } else { child(&at, nested) };
                    warnings
                        .push(format!("{at}.labelSelector: a null labelSelector results in matching no pod"));
                }
            }
        }
    }
}
