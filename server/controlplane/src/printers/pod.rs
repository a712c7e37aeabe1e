//! Pods: the one word that says how a pod is.

use ringbolt_machinery::{
    table::{Row, human_duration, moment, until},
    time::Moment,
    value::Value,
};

use super::format::{NONE, condition, flag, has, int, is_deleted, items, text};

/// Restarts that count, and when the last of them was.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Moment>,
}

impl Restarts {
    fn add(&mut self, status: &Value<'_>) {
        self.count += int(status, &["restartCount"]);
        self.last = self.last.max(moment(text(status, &["lastState", "terminated", "finishedAt"])));
    }
}

/// What the statuses of init containers say.
struct Initialization {
    /// Restarts of all of them.
    all: Restarts,
    /// Restarts of the sidecars.
    sidecars: Restarts,
    ready: usize,
    /// Why the pod is still in this phase; `None` where it is not.
    reason: Option<String>,
}

pub(super) fn row(pod: &Value<'_>, row: &mut Row<'_>) {
    let phase = text(pod, &["status", "phase"]);
    let conditions = items(pod, &["status", "conditions"]);
    let mut reason = match text(pod, &["status", "reason"]) {
        "" => phase.to_owned(),
        reason => reason.to_owned(),
    };
    let is_gated =
        |c: &Value<'_>| text(c, &["type"]) == "PodScheduled" && text(c, &["reason"]) == "SchedulingGated";
    if conditions.iter().any(is_gated) {
        reason = "SchedulingGated".to_owned();
    }
    match phase {
        "Succeeded" => row.completed("Succeeded", "The pod has completed successfully."),
        "Failed" => row.completed("Failed", "The pod failed."),
        _ => {}
    }

    let init_containers = items(pod, &["spec", "initContainers"]);
    let sidecars = init_containers.iter().filter(|c| is_sidecar(c)).count();
    let total = items(pod, &["spec", "containers"]).len() + sidecars;
    let initialization = initialization(pod, init_containers);
    let (mut restarts, mut ready) = (initialization.all, initialization.ready);
    let initializing = initialization.reason.is_some();
    if let Some(why) = initialization.reason {
        reason = why;
    }
    if !initializing || condition(conditions, "Initialized") == "True" {
        restarts = initialization.sidecars;
        let is_ready =
            conditions.iter().any(|c| text(c, &["type"]) == "Ready" && text(c, &["status"]) == "True");
        run(items(pod, &["status", "containerStatuses"]), is_ready, &mut reason, &mut restarts, &mut ready);
    }
    if is_deleted(pod) {
        if text(pod, &["status", "reason"]) == "NodeLost" {
            reason = "Unknown".to_owned();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            reason = "Terminating".to_owned();
        }
    }

    row.name(pod);
    row.text(&format!("{ready}/{total}"));
    row.text(&reason);
    row.text(&restarts_text(restarts, row.now()));
    row.age(pod);
    row.text_or(items(pod, &["status", "podIPs"]).first().map_or("", |ip| text(ip, &["ip"])), NONE);
    row.text_or(text(pod, &["spec", "nodeName"]), NONE);
    row.text_or(text(pod, &["status", "nominatedNodeName"]), NONE);
    row.text(&readiness_gates(items(pod, &["spec", "readinessGates"]), conditions));
}

/// An init container that runs as long as the pod does.
fn is_sidecar(container: &Value<'_>) -> bool {
    text(container, &["restartPolicy"]) == "Always"
}

fn initialization(pod: &Value<'_>, containers: &[Value<'_>]) -> Initialization {
    let mut found =
        Initialization { all: Restarts::default(), sidecars: Restarts::default(), ready: 0, reason: None };
    for (at, status) in items(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        let name = text(status, &["name"]);
        // Of two containers with one name the last counts.
        let sidecar = containers.iter().rfind(|c| text(c, &["name"]) == name).is_some_and(|c| is_sidecar(c));
        found.all.add(status);
        if sidecar {
            found.sidecars.add(status);
        }
        let terminated = has(status, &["state", "terminated"]);
        if terminated && int(status, &["state", "terminated", "exitCode"]) == 0 {
            continue;
        }
        if sidecar && flag(status, &["started"]) {
            found.ready += usize::from(flag(status, &["ready"]));
            continue;
        }
        let waiting = text(status, &["state", "waiting", "reason"]);
        found.reason = Some(if terminated {
            format!("Init:{}", end(status))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{at}/{}", containers.len())
        });
        break;
    }
    found
}

/// How a terminated container ended.
fn end(status: &Value<'_>) -> String {
    match (text(status, &["state", "terminated", "reason"]), int(status, &["state", "terminated", "signal"]))
    {
        ("", 0) => format!("ExitCode:{}", int(status, &["state", "terminated", "exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// What the containers of a pod that is through its initialization say: the first of them has the last word.
fn run(
    statuses: &[Value<'_>],
    is_ready: bool,
    reason: &mut String,
    restarts: &mut Restarts,
    ready: &mut usize,
) {
    let (mut running, mut failure) = (false, None);
    for status in statuses.iter().rev() {
        restarts.add(status);
        let waiting = text(status, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            *reason = waiting.to_owned();
        } else if has(status, &["state", "terminated"]) {
            *reason = end(status);
            if int(status, &["state", "terminated", "exitCode"]) != 0 {
                failure = Some(reason.clone());
            }
        } else if flag(status, &["ready"]) && has(status, &["state", "running"]) {
            running = true;
            *ready += 1;
        }
    }
    // One container that is done does not make a pod done of which another still runs or has failed.
    if reason == "Completed" {
        if running && is_ready {
            *reason = "Running".to_owned();
        } else if let Some(failure) = failure {
            *reason = failure;
        } else if running {
            *reason = "NotReady".to_owned();
        }
    }
}

fn restarts_text(restarts: Restarts, now: Moment) -> String {
    match restarts {
        Restarts { count: 0, .. } => "0".to_owned(),
        Restarts { count, last: None } => count.to_string(),
        Restarts { count, last: Some(last) } => format!("{count} ({} ago)", human_duration(until(last, now))),
    }
}

fn readiness_gates(gates: &[Value<'_>], conditions: &[Value<'_>]) -> String {
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open =
        gates.iter().filter(|gate| condition(conditions, text(gate, &["conditionType"])) == "True").count();
    format!("{open}/{}", gates.len())
}
