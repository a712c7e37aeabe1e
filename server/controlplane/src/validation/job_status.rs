//! Statuses of jobs.

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    value::{Map, Value},
};

use super::{Errors, go, job_indexes, maps, non_negative, with_map};
use crate::tree::Members;

const CONDITIONS: &str = "status.conditions";

/// Whether a condition holds.
fn is(status: &Map<'_>, kind: &str) -> bool {
    maps(status.items("conditions")).any(|(_, c)| c.text("type") == kind && c.text("status") == "True")
}

pub(super) fn validate_update(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        with_map(object, "status", |new| {
            with_map(old, "status", |was| {
                let differ = |member: &str| new.get(member) != was.get(member);
                state(spec, new, was, &differ, errors);
                changes(spec, new, was, errors);
            });
        });
    });
}

fn counts(status: &Map<'_>, errors: &mut Errors) {
    for member in ["active", "succeeded", "failed", "ready", "terminating"] {
        non_negative(status, member, "status", errors);
    }
    let Some(uncounted) = status.child("uncountedTerminatedPods") else { return };
    let mut seen: Vec<&str> = Vec::new();
    for list in ["succeeded", "failed"] {
        for (at, uid) in uncounted.items(list).iter().enumerate() {
            let (uid, path) = (uid.as_str().unwrap_or(""), format!("status.uncountedTerminatedPods.{list}"));
            if uid.is_empty() {
                errors.push(FieldError::invalid(index(&path, at), uid, "must not be empty"));
            } else if seen.contains(&uid) {
                errors.push(FieldError::duplicate(index(&path, at), uid));
            } else {
                seen.push(uid);
            }
        }
    }
}

/// What a status says, looked at where the update could have made it wrong.
fn state(spec: &Map<'_>, new: &Map<'_>, was: &Map<'_>, differ: &dyn Fn(&str) -> bool, errors: &mut Errors) {
    counts(new, errors);
    let condition = |errors: &mut Errors, why: &str| {
        errors.push(FieldError::invalid(CONDITIONS, Verbatim(""), why));
    };
    let [complete, failed, target, met] =
        ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"].map(|kind| is(new, kind));
    let became = |kind: &str| is(new, kind) != is(was, kind);
    let finished = complete || failed;
    let finishing = became("Complete") || became("Failed");
    if complete && failed && finishing {
        condition(errors, "cannot set Complete=True and Failed=true conditions");
    }
    if complete && target && (became("Complete") || became("FailureTarget")) {
        condition(errors, "cannot set Complete=True and FailureTarget=true conditions");
    }
    let (start, end) = (new.text("startTime"), new.text("completionTime"));
    let null = Value::Null;
    let shown = |member: &str| new.get(member).unwrap_or(&null).clone();
    if !end.is_empty() && !complete && (became("Complete") || differ("completionTime")) {
        let why = "cannot set completionTime when there is no Complete=True condition";
        errors.push(FieldError::invalid("status.completionTime", shown("completionTime"), why));
    }
    if end.is_empty() && complete && (became("Complete") || differ("completionTime")) {
        let why = "completionTime is required for Complete jobs";
        errors.push(FieldError::required("status.completionTime", why));
    }
    let times = differ("startTime") || differ("completionTime");
    if !start.is_empty() && !end.is_empty() && end < start && times {
        let why = "must be equal to or after `startTime`";
        errors.push(FieldError::invalid("status.completionTime", shown("completionTime"), why));
    }
    if failed && !target && became("Failed") {
        condition(errors, "cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if complete && !met && became("Complete") {
        condition(errors, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
    let count = |member: &str| new.int(member).unwrap_or(0);
    if count("active") > 0 && finished && (finishing || differ("active")) {
        let why = "active>0 is invalid for finished job";
        errors.push(FieldError::invalid("status.active", count("active"), why));
    }
    if start.is_empty() && finished && (finishing || differ("startTime")) {
        errors.push(FieldError::required("status.startTime", "startTime is required for finished job"));
    }
    let uncounted = new.child("uncountedTerminatedPods");
    let any = uncounted.is_some_and(|u| !u.lacks("succeeded") || !u.lacks("failed"));
    if finished && any && (finishing || differ("uncountedTerminatedPods")) {
        let shown = go::text("batch", "UncountedTerminatedPods", new.get("uncountedTerminatedPods"));
        let why = "must be empty for finished job";
        errors.push(FieldError::invalid("status.uncountedTerminatedPods", Verbatim(&shown), why));
    }
    indexes(spec, new, differ, errors);
    if count("terminating") > 0 && finished && (finishing || differ("terminating")) {
        let why = "terminating>0 is invalid for finished job";
        errors.push(FieldError::invalid("status.terminating", count("terminating"), why));
    }
    if new.has("ready") && count("ready") > count("active") && (differ("ready") || differ("active")) {
        let why = "cannot set more ready pods than active";
        errors.push(FieldError::invalid("status.ready", count("ready"), why));
    }
    if met && failed {
        condition(errors, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if met && target {
        condition(errors, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
    if spec.has("successPolicy") && !met && complete {
        let why = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        condition(errors, why);
    }
}

fn indexes(spec: &Map<'_>, new: &Map<'_>, differ: &dyn Fn(&str) -> bool, errors: &mut Errors) {
    let completions = spec.int("completions");
    let (done, failed) = (new.text("completedIndexes"), new.text("failedIndexes"));
    let (done_differs, failed_differs) = (differ("completedIndexes"), differ("failedIndexes"));
    let has_failed = new.has("failedIndexes");
    let per_index = spec.has("backoffLimitPerIndex");
    let mut check = |member: &str, text: &str| {
        if let Some(Err(why)) = completions.map(|c| job_indexes::count(text, c)) {
            let why = format!("error parsing {member}: {why}");
            errors.push(FieldError::invalid(child("status", member), text, why));
        }
    };
    if done_differs {
        check("completedIndexes", done);
    }
    if failed_differs && per_index && has_failed {
        check("failedIndexes", failed);
    }
    if !done.is_empty() && spec.text("completionMode") != "Indexed" && done_differs {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(FieldError::invalid("status.completedIndexes", done, why));
    }
    if has_failed && !per_index && failed_differs {
        let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(FieldError::invalid("status.failedIndexes", failed, why));
    }
    if let Some(completions) = completions.filter(|_| has_failed && (done_differs || failed_differs))
        && let Some(at) = job_indexes::overlap(done, failed, completions).filter(|_| !done.is_empty())
    {
        let why = format!("failedIndexes and completedIndexes overlap at index: {at}");
        errors.push(FieldError::invalid("status.failedIndexes", failed, why));
    }
}

/// What a status may not become, given what it was.
fn changes(spec: &Map<'_>, new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let condition = |errors: &mut Errors, why: &str| {
        errors.push(FieldError::invalid(CONDITIONS, Verbatim(""), why));
    };
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is(was, kind) && !is(new, kind) {
            condition(errors, &format!("cannot disable the terminal {kind}=True condition"));
        }
    }
    for member in ["failed", "succeeded"] {
        let (now, before) = (new.int(member).unwrap_or(0), was.int(member).unwrap_or(0));
        if now < before {
            let why = format!("cannot decrease the {member} counter");
            errors.push(FieldError::invalid(child("status", member), now, why));
        }
    }
    let null = Value::Null;
    let (end, before) = (new.text("completionTime"), was.text("completionTime"));
    if !end.is_empty() && !before.is_empty() && end != before {
        let shown = new.get("completionTime").unwrap_or(&null);
        errors.push(FieldError::invalid("status.completionTime", shown, "field is immutable"));
    }
    let (start, before) = (new.text("startTime"), was.text("startTime"));
    if !before.is_empty() && start != before && !spec.flag("suspend") {
        let shown = new.get("startTime").unwrap_or(&null);
        let why = "field is immutable for unsuspended job once set";
        errors.push(FieldError::invalid("status.startTime", shown, why));
    }
    const MET: &str = "SuccessCriteriaMet";
    if is(was, MET) && !is(new, MET) {
        condition(errors, "cannot disable the SuccessCriteriaMet=True condition");
    }
    if is(was, "Complete") && !is(was, MET) && is(new, MET) {
        let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        condition(errors, why);
    }
}
