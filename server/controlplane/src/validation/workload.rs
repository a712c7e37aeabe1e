//! Workloads: pod templates, replication controllers and the apps group.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::{names::dns1123_label_errors, validate_label_selector},
    value::{Map, Value},
};

use super::{
    Errors, at_most_all, declared_name, each_invalid, go, immutable, int_or_percent, non_negative,
    persistent_volume_claim, pod_spec, positive_int_or_percent, selector, with_map, workload_status,
};
use crate::tree::Members;

const STATEFUL_SET: super::Kind = ("apps", "v1", "StatefulSet");

pub(crate) fn validate_pod_template(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "template", |template| pod_spec::validate_template(template, None, "template", errors));
}

fn template_labels<'v, 'a>(spec: &'v Map<'a>) -> Option<&'v Map<'a>> {
    spec.child("template").and_then(|t| t.child("metadata")).and_then(|m| m.child("labels"))
}

fn shown<'a>(map: Option<&Map<'a>>) -> Value<'a> {
    map.map_or(Value::Null, |m| Value::Map(m.clone()))
}

pub(crate) fn validate_replication_controller(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        if spec.lacks("selector") {
            errors.push(FieldError::required("spec.selector", ""));
        }
        match spec.child("template") {
            None => errors.push(FieldError::required("spec.template", "")),
            Some(template) => {
                if let Some(wanted) = spec.child("selector").filter(|s| !s.is_empty())
                    && !selector::plain_matches(wanted, template_labels(spec))
                {
                    let labels = shown(template_labels(spec));
                    let why = "`selector` does not match template `labels`";
                    errors.push(FieldError::invalid("spec.template.metadata.labels", &labels, why));
                }
                pod_spec::validate_template(template, None, "spec.template", errors);
                restart_always(spec, "ReplicationController", errors);
            }
        }
        // What is declared with the fields comes after what is written out.
        declared_name(object, errors);
        if spec.has("replicas") {
            non_negative(spec, "replicas", "spec", errors);
        } else {
            errors.push(FieldError::required("spec.replicas", ""));
        }
        non_negative(spec, "minReadySeconds", "spec", errors);
    });
}

pub(crate) fn validate_replication_controller_update(
    part: Part,
    object: &Value<'_>,
    _: &Value<'_>,
    errors: &mut Errors,
) {
    match part {
        Part::Main => validate_replication_controller(object, errors),
        Part::Status => workload_status::replicas(object, errors),
        Part::Other(_) => {}
    }
}

/// Workloads whose pods run for ever.
fn restart_always(spec: &Map<'_>, owner: &str, errors: &mut Errors) {
    let Some(pod) = spec.child("template").and_then(|t| t.child("spec")) else { return };
    let policy = pod.text("restartPolicy");
    if policy != "Always" {
        errors.push(FieldError::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    if pod.has("activeDeadlineSeconds") {
        let why = format!("activeDeadlineSeconds in {owner} is not Supported");
        errors.push(FieldError::forbidden("spec.template.spec.activeDeadlineSeconds", why));
    }
}

/// The selector of a workload and the labels of its template. `required` is what stands behind `Required value`.
fn check_selector(spec: &Map<'_>, kind: &str, errors: &mut Errors) {
    let Some(wanted) = spec.child("selector") else {
        errors.push(FieldError::required("spec.selector", ""));
        return;
    };
    errors.extend(validate_label_selector(spec.get("selector"), "spec.selector"));
    if selector::is_empty(wanted) {
        let why = format!("empty selector is invalid for {kind}");
        errors.push(FieldError::invalid("spec.selector", selector::shown(Some(wanted)), why));
    }
}

/// `unreadable` is said of a selector that cannot be read, against which no template is held. Answers whether one was.
fn check_template(
    spec: &Map<'_>,
    claimed: pod_spec::Claimed<'_>,
    unreadable: &str,
    errors: &mut Errors,
) -> bool {
    let template = spec.child("template");
    let wanted = spec.child("selector");
    if !validate_label_selector(spec.get("selector"), "spec.selector").is_empty() {
        errors.push(FieldError::invalid("spec.selector", selector::shown(wanted), unreadable));
        return false;
    }
    // No selector selects nothing, an empty one everything.
    if wanted.is_none_or(|s| !selector::is_empty(s) && !selector::matches(s, template_labels(spec))) {
        let labels = shown(template_labels(spec));
        let why = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", &labels, why));
    }
    if let Some(template) = template {
        pod_spec::validate_template(template, claimed, "spec.template", errors);
    }
    true
}

pub(crate) fn validate_deployment(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        non_negative(spec, "replicas", "spec", errors);
        check_selector(spec, "deployment", errors);
        if check_template(spec, None, "invalid label selector", errors) {
            restart_always(spec, "ReplicaSet", errors);
        }
        deployment_strategy(spec, errors);
        non_negative(spec, "minReadySeconds", "spec", errors);
        non_negative(spec, "revisionHistoryLimit", "spec", errors);
        non_negative(spec, "progressDeadlineSeconds", "spec", errors);
        if let Some(deadline) = spec.int("progressDeadlineSeconds")
            && deadline <= spec.int("minReadySeconds").unwrap_or(0)
        {
            let why = "must be greater than minReadySeconds";
            errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, why));
        }
    });
}

fn deployment_strategy(spec: &Map<'_>, errors: &mut Errors) {
    let Some(strategy) = spec.child("strategy") else { return };
    let path = "spec.strategy.rollingUpdate";
    match (strategy.text("type"), strategy.child("rollingUpdate")) {
        ("Recreate", Some(_)) => {
            errors
                .push(FieldError::forbidden(path, "may not be specified when strategy `type` is 'Recreate'"));
        }
        ("RollingUpdate", Some(rolling)) => {
            for key in ["maxUnavailable", "maxSurge"] {
                if let Some(value) = rolling.get(key) {
                    positive_int_or_percent(value, &child(path, key), errors);
                }
            }
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            if int_or_percent(unavailable) == 0 && int_or_percent(surge) == 0 {
                let shown = unavailable.cloned().unwrap_or(Value::Int(0));
                let why = "may not be 0 when `maxSurge` is 0";
                errors.push(FieldError::invalid(child(path, "maxUnavailable"), &shown, why));
            }
            if let Some(value) = unavailable {
                at_most_all(value, &child(path, "maxUnavailable"), errors);
            }
        }
        ("Recreate" | "RollingUpdate", _) => {}
        _ => {
            let shown = go::text("apps", "DeploymentStrategy", Some(&Value::Map(strategy.clone())));
            let supported = ["Recreate", "RollingUpdate"];
            errors.push(FieldError::not_supported("spec.strategy", Verbatim(&shown), &supported));
        }
    }
}

/// Members of the spec that stay what they are.
fn immutable_spec(object: &Value<'_>, old: &Value<'_>, members: &[&str], errors: &mut Errors) {
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| {
            for member in members {
                immutable(new, old, member, "spec", errors);
            }
        });
    });
}

pub(crate) fn validate_deployment_update(
    part: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    match part {
        Part::Main => {
            validate_deployment(object, errors);
            immutable_spec(object, old, &["selector"], errors);
        }
        Part::Status => workload_status::deployment(object, old, errors),
        Part::Other(_) => {}
    }
}

pub(crate) fn validate_replica_set(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        non_negative(spec, "replicas", "spec", errors);
        non_negative(spec, "minReadySeconds", "spec", errors);
        check_selector(spec, "deployment", errors);
        if check_template(spec, None, "invalid label selector", errors) {
            restart_always(spec, "ReplicaSet", errors);
        }
    });
}

pub(crate) fn validate_replica_set_update(
    part: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    match part {
        Part::Main => {
            validate_replica_set(object, errors);
            immutable_spec(object, old, &["selector"], errors);
        }
        Part::Status => workload_status::replicas(object, errors),
        Part::Other(_) => {}
    }
}

pub(crate) fn validate_daemon_set(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let wanted = spec.child("selector");
        let found = validate_label_selector(spec.get("selector"), "spec.selector");
        // A selector that cannot be read is not held against the labels; none at all selects nothing.
        let readable = found.is_empty();
        errors.extend(found);
        let matched = wanted.is_some_and(|s| selector::matches(s, template_labels(spec)));
        if readable && !matched {
            let labels = shown(template_labels(spec));
            let why = "`selector` does not match template `labels`";
            errors.push(FieldError::invalid("spec.template.metadata.labels", &labels, why));
        }
        if let Some(wanted) = wanted.filter(|s| selector::is_empty(s)) {
            let why = "empty selector is invalid for daemonset";
            errors.push(FieldError::invalid("spec.selector", selector::shown(Some(wanted)), why));
        }
        if let Some(template) = spec.child("template") {
            pod_spec::validate_template(template, None, "spec.template", errors);
        }
        restart_always(spec, "DaemonSet", errors);
        non_negative(spec, "minReadySeconds", "spec", errors);
        daemon_set_strategy(spec, errors);
        non_negative(spec, "revisionHistoryLimit", "spec", errors);
    });
}

fn daemon_set_strategy(spec: &Map<'_>, errors: &mut Errors) {
    let Some(strategy) = spec.child("updateStrategy") else { return };
    let path = "spec.updateStrategy.rollingUpdate";
    match strategy.text("type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let Some(rolling) = strategy.child("rollingUpdate") else {
                errors.push(FieldError::required(path, ""));
                return;
            };
            for check in [positive_int_or_percent, at_most_all] {
                for key in ["maxUnavailable", "maxSurge"] {
                    if let Some(value) = rolling.get(key) {
                        check(value, &child(path, key), errors);
                    }
                }
            }
            let unavailable = int_or_percent(rolling.get("maxUnavailable")) != 0;
            let surge = rolling.get("maxSurge");
            match (unavailable, int_or_percent(surge) != 0) {
                (true, true) => {
                    let shown = surge.cloned().unwrap_or(Value::Int(0));
                    let why = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(child(path, "maxSurge"), &shown, why));
                }
                (false, false) => {
                    let why = "cannot be 0 when maxSurge is 0";
                    errors.push(FieldError::required(child(path, "maxUnavailable"), why));
                }
                _ => {}
            }
        }
        _ => {
            let shown = go::text("apps", "DaemonSetUpdateStrategy", Some(&Value::Map(strategy.clone())));
            errors.push(FieldError::not_supported(
                "spec.updateStrategy",
                Verbatim(&shown),
                &["RollingUpdate", "OnDelete"],
            ));
        }
    }
}

pub(crate) fn validate_daemon_set_update(
    part: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    match part {
        Part::Main => {
            immutable_spec(object, old, &["selector"], errors);
            validate_daemon_set(object, errors);
        }
        Part::Status => workload_status::daemon_set(object, old, errors),
        Part::Other(_) => {}
    }
}

pub(crate) fn validate_stateful_set(object: &Value<'_>, errors: &mut Errors) {
    stateful_set(object, true, errors);
}

/// A stateful set; `new` says whether what cannot change is looked at too.
fn stateful_set(object: &Value<'_>, new: bool, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let policy = spec.text("podManagementPolicy");
        if !matches!(policy, "OrderedReady" | "Parallel") {
            let why = "must be 'OrderedReady' or 'Parallel'";
            errors.push(FieldError::invalid("spec.podManagementPolicy", policy, why));
        }
        stateful_set_strategy(spec, errors);
        retention_policy(spec, errors);
        if new {
            for (at, claim) in super::maps(spec.items("volumeClaimTemplates")) {
                let path = index("spec.volumeClaimTemplates", at);
                persistent_volume_claim::claimed(claim, &path, errors);
            }
        }
        non_negative(spec, "replicas", "spec", errors);
        non_negative(spec, "minReadySeconds", "spec", errors);
        if let Some(ordinals) = spec.child("ordinals") {
            non_negative(ordinals, "start", "spec.ordinals", errors);
        }
        let service = spec.text("serviceName");
        if new && !service.is_empty() {
            each_invalid(dns1123_label_errors(service), "spec.serviceName", service, errors);
        }
        check_selector(spec, "statefulset", errors);
        let claims = spec.items("volumeClaimTemplates").iter();
        let claimed: Vec<&str> = claims.map(|c| c.str_at(&["metadata", "name"]).unwrap_or("")).collect();
        let _ = check_template(spec, Some(&claimed), "", errors);
        restart_always(spec, "StatefulSet", errors);
    });
}

fn stateful_set_strategy(spec: &Map<'_>, errors: &mut Errors) {
    let Some(strategy) = spec.child("updateStrategy") else { return };
    let path = "spec.updateStrategy.rollingUpdate";
    match (strategy.text("type"), strategy.child("rollingUpdate")) {
        ("", _) => errors.push(FieldError::required("spec.updateStrategy", "")),
        ("RollingUpdate", Some(rolling)) => {
            non_negative(rolling, "partition", path, errors);
            if let Some(value) = rolling.get("maxUnavailable").filter(|v| !v.is_null()) {
                let path = child(path, "maxUnavailable");
                positive_int_or_percent(value, &path, errors);
                if int_or_percent(Some(value)) == 0 {
                    errors.push(FieldError::invalid(path.clone(), value, "cannot be 0"));
                }
                at_most_all(value, &path, errors);
            }
        }
        ("OnDelete", Some(_)) => {
            let rolling = strategy.get("rollingUpdate");
            let shown = go::text("apps", "RollingUpdateStatefulSetStrategy", rolling);
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(FieldError::invalid(path, Verbatim(&shown), why));
        }
        ("RollingUpdate" | "OnDelete", None) => {}
        _ => {
            let shown = go::text("apps", "StatefulSetUpdateStrategy", Some(&Value::Map(strategy.clone())));
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(FieldError::invalid("spec.updateStrategy", Verbatim(&shown), why));
        }
    }
}

fn retention_policy(spec: &Map<'_>, errors: &mut Errors) {
    let Some(policy) = spec.child("persistentVolumeClaimRetentionPolicy") else { return };
    for key in ["whenDeleted", "whenScaled"] {
        let path = "spec.persistentVolumeClaimRetentionPolicy";
        let given = policy.text(key);
        if !["Delete", "Retain"].contains(&given) {
            // In the order of the real server's list, unlike what is declared.
            errors.push(FieldError::not_supported(child(path, key), given, &["Retain", "Delete"]));
        }
    }
}

/// The claims of a stateful set never change; they are shown as Go holds them.
fn claims_kept(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    const CLAIMS: &[&str] = &["spec", "volumeClaimTemplates"];
    let (new, was) = (object.path(CLAIMS), old.path(CLAIMS));
    if !crate::semantic::field_equal(STATEFUL_SET, CLAIMS, new, was) {
        let shown = go::list("core", "PersistentVolumeClaim", new);
        let why = "field is immutable";
        errors.push(FieldError::invalid("spec.volumeClaimTemplates", Verbatim(&shown), why));
    }
}

pub(crate) fn validate_stateful_set_update(
    part: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    match part {
        Part::Main => {
            stateful_set(object, false, errors);
            immutable_spec(object, old, &["selector"], errors);
            claims_kept(object, old, errors);
            immutable_spec(object, old, &["serviceName", "podManagementPolicy"], errors);
        }
        Part::Status => workload_status::stateful_set(object, old, errors),
        Part::Other(_) => {}
    }
}

pub(crate) fn validate_controller_revision(object: &Value<'_>, errors: &mut Errors) {
    revision_number(object, errors);
    match object.path(&["data"]) {
        None | Some(Value::Null) => errors.push(FieldError::required("data", "data is mandatory")),
        Some(Value::Raw(text)) if text.trim() == "null" => {
            errors.push(FieldError::required("data", "data is mandatory"));
        }
        Some(Value::Raw(text)) if text.trim_start().starts_with('{') => {}
        Some(Value::Map(_)) => {}
        Some(_) => errors.push(FieldError::required("data", "data must be a valid JSON object")),
    }
}

fn revision_number(object: &Value<'_>, errors: &mut Errors) {
    if let Some(map) = object.as_map() {
        non_negative(map, "revision", "", errors);
    }
}

pub(crate) fn validate_controller_revision_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    revision_number(object, errors);
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        immutable(new, old, "data", "", errors);
    }
}
