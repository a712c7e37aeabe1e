//! What runs pods by a template; quotas.

use ringbolt_machinery::{
    field::index,
    value::{Map, Value},
};

use super::{name_as_label, new_generation, pod_spec::template, storage};
use crate::{
    quantity,
    tree::Members,
    validation::{maps, with_map},
};

/// More completions than this with more parallelism than the next are not tracked well.
const COMPLETIONS_SOFT_LIMIT: i64 = 100_000;
const PARALLELISM_SOFT_LIMIT: i64 = 10_000;

/// A controller whose template is at a path: looked at when it comes, and with each generation.
fn controller(object: &Value<'_>, old: Option<&Value<'_>>, path: &[&str], warnings: &mut Vec<String>) {
    if old.is_none_or(|old| new_generation(object, old))
        && let Some(found) = object.path(path)
    {
        template(found, &path.join("."), warnings);
    }
}

fn named(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if old.is_none() {
        name_as_label(object, "Pod names and hostnames", warnings);
    }
}

/// Deployments.
pub(crate) fn deployment(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    named(object, old, warnings);
    controller(object, old, &["spec", "template"], warnings);
}

/// Replica sets.
pub(crate) fn replica_set(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    deployment(object, old, warnings);
}

/// Daemon sets.
pub(crate) fn daemon_set(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    controller(object, old, &["spec", "template"], warnings);
}

/// Templates of pods.
pub(crate) fn pod_template(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    controller(object, old, &["template"], warnings);
}

/// Stateful sets.
pub(crate) fn stateful_set(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    controller(object, old, &["spec", "template"], warnings);
    with_map(object, "spec", |spec| {
        for (at, claim) in maps(spec.items("volumeClaimTemplates")) {
            let path = index("spec.volumeClaimTemplates", at);
            let path = if old.is_some() { format!("{path}.Spec") } else { path };
            storage::claim_spec(claim.child("spec"), &path, warnings);
        }
        if spec.int("revisionHistoryLimit").is_some_and(|n| n < 0) {
            warnings.push(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
                 recommended"
                    .to_owned(),
            );
        }
    });
}

fn job_spec(spec: Option<&Map<'_>>, path: &str, warnings: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    let number = |member: &str| spec.int(member).unwrap_or(0);
    if spec.text("completionMode") == "Indexed"
        && number("completions") > COMPLETIONS_SOFT_LIMIT
        && number("parallelism") > PARALLELISM_SOFT_LIMIT
    {
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than \
             10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
    if let Some(found) = spec.get("template") {
        template(found, &format!("{path}.template"), warnings);
    }
}

/// Jobs.
pub(crate) fn job(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    named(object, old, warnings);
    if old.is_none_or(|old| new_generation(object, old)) {
        job_spec(object.path(&["spec"]).and_then(Value::as_map), "spec", warnings);
    }
}

/// Cron jobs.
pub(crate) fn cron_job(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    named(object, old, warnings);
    if old.is_none_or(|old| new_generation(object, old)) {
        let spec = object.path(&["spec", "jobTemplate", "spec"]).and_then(Value::as_map);
        job_spec(spec, "spec.jobTemplate.spec", warnings);
    }
    if old.is_some() && object.str_at(&["spec", "schedule"]).is_some_and(|s| s.contains("TZ")) {
        warnings.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
}

/// Quotas that allow more to be asked for than to be used.
pub(crate) fn quota(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let hard = object.path(&["spec", "hard"]).and_then(Value::as_map);
    let (Some(hard), None) = (hard, old) else { return };
    let get = |name: &str| hard.get(name).and_then(Value::as_str).and_then(quantity::parse);
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let mut name = format!("requests.{resource}");
        let mut request = get(&name);
        if request.is_none() && matches!(resource, "cpu" | "memory") {
            name = resource.to_owned();
            request = get(&name);
        }
        let limited = format!("limits.{resource}");
        if let (Some(request), Some(limit)) = (request, get(&limited))
            && request > limit
        {
            warnings
                .push(format!("ResourceQuota {name} ({request}) should be less than {limited} ({limit})"));
        }
    }
}
