//! Priorities, workloads and groups of pods, evictions.

use ringbolt_machinery::{
    table::{Row, human_duration, moment, until},
    value::Value,
};

use super::format::{NONE, UNKNOWN, UNSET, cut_short, find_condition, flag, has, int, items, map, text};
use crate::tree::Members;

pub(super) fn priority_class(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.int(int(object, &["value"]));
    row.bool(flag(object, &["globalDefault"]));
    row.age(object);
    row.text(text(object, &["preemptionPolicy"]));
}

fn group_cells(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(if has(object, &["spec", "schedulingPolicy", "gang"]) { "Gang" } else { "Basic" });
    row.text(map(object, &["spec", "workloadRef"]).map_or(NONE, |workload| workload.text("workloadName")));
}

pub(super) fn pod_group(object: &Value<'_>, row: &mut Row<'_>) {
    let conditions = items(object, &["status", "conditions"]);
    // Of several conditions of a type, the last counts.
    let last = |ty: &str| conditions.iter().rfind(|c| text(c, &["type"]) == ty);
    let scheduled = match last("PodGroupInitiallyScheduled").map(|c| text(c, &["status"])) {
        None => "Pending",
        Some("True") => "Scheduled",
        Some(_) => "Unschedulable",
    };
    group_cells(object, row);
    row.text(last("DisruptionTarget").map_or(scheduled, |c| text(c, &["reason"])));
    row.age(object);
}

pub(super) fn composite_pod_group(object: &Value<'_>, row: &mut Row<'_>) {
    group_cells(object, row);
    row.age(object);
}

fn eviction_cells(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    match map(object, &["spec", "target", "pod"]) {
        None => {
            row.text(UNSET);
            row.text(UNSET);
        }
        Some(pod) => {
            row.text(pod.text("name"));
            row.text("Pod");
        }
    }
    let conditions = items(object, &["status", "conditions"]);
    let holds = |ty| find_condition(conditions, ty).filter(|c| text(c, &["status"]) == "True");
    row.text(&match holds("TargetEvicted").or_else(|| holds("Failed")) {
        Some(condition) => format!("{} ({})", text(condition, &["type"]), text(condition, &["reason"])),
        None if int(object, &["status", "observedGeneration"]) > 0 => "Progressing".to_owned(),
        None => "Pending".to_owned(),
    });
}

pub(super) fn eviction_request(object: &Value<'_>, row: &mut Row<'_>) {
    eviction_cells(object, row);
    row.text(text(object, &["spec", "requester"]));
    row.text(text(object, &["spec", "intent"]));
    row.age(object);
}

/// What is known of the responder that is at work, or was last.
struct Responder {
    status: String,
    finish: String,
    heartbeat: String,
    message: String,
}

pub(super) fn eviction(object: &Value<'_>, row: &mut Row<'_>) {
    eviction_cells(object, row);
    let targets = items(object, &["status", "targetResponders"]);
    let in_state = |states: &'static [&str]| {
        targets.iter().filter(move |target| states.contains(&text(target, &["state"])))
    };
    let ended = &["Canceled", "Interrupted", "Completed"];
    let current = in_state(&["Active"]).next_back().or_else(|| in_state(ended).next_back());
    let begun = in_state(&["Active"]).count() + in_state(ended).count();
    row.text(&format!("{} ({begun}/{})", current.map_or(UNSET, |c| text(c, &["name"])), targets.len()));
    let responder = responder(object, current, row);
    row.text(&responder.status);
    row.text(&responder.finish);
    row.text(&requesters(items(object, &["status", "requesters"])));
    row.age(object);
    row.text(&responder.heartbeat);
    row.text(&responder.message);
}

fn responder(object: &Value<'_>, current: Option<&Value<'_>>, row: &Row<'_>) -> Responder {
    let mut known = Responder {
        status: UNSET.to_owned(),
        finish: UNKNOWN.to_owned(),
        heartbeat: UNSET.to_owned(),
        message: UNSET.to_owned(),
    };
    let Some(current) = current else { return known };
    let (name, state) = (text(current, &["name"]), text(current, &["state"]));
    let all = items(object, &["status", "responders"]);
    let Some(responder) = all.iter().find(|r| text(r, &["name"]) == name) else { return known };
    let time = |key| text(responder, &[key]);
    known.status = state.to_owned();
    match state {
        "Active" if !time("startTime").is_empty() => {
            known.status = format!("Started ({} ago)", row.since_text(time("startTime")));
            if let Some(end) = moment(time("expectedCompletionTime")) {
                known.finish = if end > row.now() {
                    format!("in {}", human_duration(until(row.now(), end)))
                } else {
                    format!("{} ago", human_duration(until(end, row.now())))
                };
            }
        }
        "Canceled" | "Interrupted" => known.finish = "-".to_owned(),
        "Completed" => {
            if !time("completionTime").is_empty() {
                known.status = format!("{state} ({} ago)", row.since_text(time("completionTime")));
            }
            known.finish = "-".to_owned();
        }
        _ => {}
    }
    if !time("heartbeatTime").is_empty() {
        known.heartbeat = format!("{} ago", row.since_text(time("heartbeatTime")));
    }
    if !time("message").trim().is_empty() {
        known.message = time("message").trim().to_owned();
    }
    known
}

fn requesters(all: &[Value<'_>]) -> String {
    let mut names: Vec<_> =
        all.iter().filter(|r| text(r, &["intent"]) != "Withdrawn").map(|r| text(r, &["name"])).collect();
    names.sort_unstable();
    match (names.first(), all.is_empty()) {
        (Some(first), _) => cut_short(&[(*first).to_owned()], names.len(), 1),
        (None, true) => NONE.to_owned(),
        (None, false) => "<withdrawn>".to_owned(),
    }
}
