//! Controllers of pods, their revisions, templates, budgets, and jobs.

use ringbolt_machinery::{
    table::{Row, human_duration, moment, until},
    value::Value,
};

use super::format::{
    NONE, UNSET, condition, containers, has, int, int_or_string, is_deleted, items, labels, map, selector,
    selector_or_none, text,
};

const CONTAINERS: [&str; 4] = ["spec", "template", "spec", "containers"];

fn container_cells(object: &Value<'_>, path: &[&str], row: &mut Row<'_>) {
    let (names, images) = containers(items(object, path));
    row.text(&names);
    row.text(&images);
}

pub(super) fn pod_template(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    container_cells(object, &["template", "spec", "containers"], row);
    row.text(&labels(map(object, &["template", "metadata", "labels"])));
}

pub(super) fn pod_disruption_budget(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    for key in ["minAvailable", "maxUnavailable"] {
        let value = object.path(&["spec", key]).filter(|v| !v.is_null());
        row.text(&value.map_or_else(|| "N/A".to_owned(), int_or_string));
    }
    row.int(int(object, &["status", "disruptionsAllowed"]));
    row.age(object);
}

fn replica_cells(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.int(int(object, &["spec", "replicas"]));
    row.int(int(object, &["status", "replicas"]));
    row.int(int(object, &["status", "readyReplicas"]));
    row.age(object);
    container_cells(object, &CONTAINERS, row);
}

pub(super) fn replication_controller(object: &Value<'_>, row: &mut Row<'_>) {
    replica_cells(object, row);
    row.text(&labels(map(object, &["spec", "selector"])));
}

pub(super) fn replica_set(object: &Value<'_>, row: &mut Row<'_>) {
    replica_cells(object, row);
    row.text(&selector_or_none(object.path(&["spec", "selector"])));
}

fn ready_cell(object: &Value<'_>, row: &mut Row<'_>) {
    row.text(&format!(
        "{}/{}",
        int(object, &["status", "readyReplicas"]),
        int(object, &["spec", "replicas"])
    ));
}

pub(super) fn deployment(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    ready_cell(object, row);
    row.int(int(object, &["status", "updatedReplicas"]));
    row.int(int(object, &["status", "availableReplicas"]));
    row.age(object);
    container_cells(object, &CONTAINERS, row);
    row.text(&selector(object.path(&["spec", "selector"])).unwrap_or_else(|| "<invalid>".to_owned()));
}

pub(super) fn stateful_set(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    ready_cell(object, row);
    row.age(object);
    container_cells(object, &CONTAINERS, row);
}

pub(super) fn daemon_set(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    for key in [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ] {
        row.int(int(object, &["status", key]));
    }
    row.text(&labels(map(object, &["spec", "template", "spec", "nodeSelector"])));
    row.age(object);
    container_cells(object, &CONTAINERS, row);
    row.text(&selector_or_none(object.path(&["spec", "selector"])));
}

pub(super) fn controller_revision(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    let owners = items(object, &["metadata", "ownerReferences"]);
    let controller = owners.iter().find(|o| o.path(&["controller"]).and_then(Value::as_bool) == Some(true));
    row.text(&controller.map_or_else(|| NONE.to_owned(), owner));
    row.int(int(object, &["revision"]));
    row.age(object);
}

/// `daemonset.apps/name`.
fn owner(reference: &Value<'_>) -> String {
    let (kind, name) = (text(reference, &["kind"]), text(reference, &["name"]));
    let group = text(reference, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    match (kind, group) {
        ("", "") => name.to_owned(),
        (kind, "") => format!("{}/{name}", kind.to_lowercase()),
        (kind, group) => format!("{}.{}/{name}", kind.to_lowercase(), group.to_lowercase()),
    }
}

pub(super) fn job(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(job_status(object));
    let succeeded = int(object, &["status", "succeeded"]);
    row.text(&match (has(object, &["spec", "completions"]), int(object, &["spec", "parallelism"])) {
        (true, _) => format!("{succeeded}/{}", int(object, &["spec", "completions"])),
        (false, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (false, _) => format!("{succeeded}/1"),
    });
    let end = text(object, &["status", "completionTime"]);
    let end = if end.is_empty() { Some(row.now()) } else { moment(end) };
    row.text(&match (moment(text(object, &["status", "startTime"])), end) {
        (Some(start), Some(end)) => human_duration(until(start, end)),
        _ => String::new(),
    });
    row.age(object);
    container_cells(object, &CONTAINERS, row);
    row.text(&selector_or_none(object.path(&["spec", "selector"])));
}

fn job_status(object: &Value<'_>) -> &'static str {
    let conditions = items(object, &["status", "conditions"]);
    let is = |ty| condition(conditions, ty) == "True";
    if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if is_deleted(object) {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

pub(super) fn cron_job(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "schedule"]));
    row.text(object.str_at(&["spec", "timeZone"]).unwrap_or(NONE));
    row.text(match object.path(&["spec", "suspend"]).and_then(Value::as_bool) {
        None => UNSET,
        Some(true) => "True",
        Some(false) => "False",
    });
    row.int(items(object, &["status", "active"]).len() as i64);
    match text(object, &["status", "lastScheduleTime"]) {
        "" => row.text(NONE),
        time => row.since(time),
    }
    row.age(object);
    container_cells(object, &["spec", "jobTemplate", "spec", "template", "spec", "containers"], row);
    row.text(&selector_or_none(object.path(&["spec", "jobTemplate", "spec", "selector"])));
}
