//! Jobs and cron jobs.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child},
    value::{Map, Value},
};

use super::{Errors, immutable, non_negative, one_of, one_of_optional, pod_spec, with_map};
use crate::tree::Members;

/// Counts of a job that are never negative.
const COUNTS: [&str; 5] =
    ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];

/// Longest name of a cron job: eleven characters are added for its jobs.
const CRON_JOB_NAME_MAX: usize = 52;

pub(crate) fn validate_job(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        job_spec(spec, "spec", errors);
        if spec.child("selector").is_none() {
            errors.push(FieldError::required("spec.selector", ""));
        }
    });
}

fn job_spec(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    for count in COUNTS {
        non_negative(spec, count, path, errors);
    }
    one_of_optional(spec, "completionMode", path, &["NonIndexed", "Indexed"], errors);
    if spec.text("completionMode") == "Indexed" && !spec.has("completions") {
        let why = "when completion mode is Indexed";
        errors.push(FieldError::required(child(path, "completions"), why));
    }
    let Some(template) = spec.child("template") else { return };
    let path = child(path, "template");
    pod_spec::validate_template(template, None, &path, errors);
    if let Some(pod) = template.child("spec") {
        let policy = pod.text("restartPolicy");
        if policy == "Always" {
            let path = child(&child(&path, "spec"), "restartPolicy");
            errors.push(FieldError::required(path, "valid values: \"OnFailure\", \"Never\""));
        }
    }
}

pub(crate) fn validate_job_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    validate_job(object, errors);
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| {
            immutable(new, old, "selector", "spec", errors);
            if new.int("completions") != old.int("completions") && new.text("completionMode") != "Indexed" {
                immutable(new, old, "completions", "spec", errors);
            }
            immutable(new, old, "completionMode", "spec", errors);
            immutable(new, old, "podFailurePolicy", "spec", errors);
            immutable(new, old, "backoffLimitPerIndex", "spec", errors);
            immutable(new, old, "managedBy", "spec", errors);
        });
    });
}

pub(crate) fn validate_cron_job(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    cron_spec(object, errors);
    if name.len() > CRON_JOB_NAME_MAX {
        let why = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
}

fn cron_spec(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        if spec.text("schedule").is_empty() {
            errors.push(FieldError::required("spec.schedule", ""));
        }
        non_negative(spec, "startingDeadlineSeconds", "spec", errors);
        match spec.text("concurrencyPolicy") {
            "" => errors.push(FieldError::required("spec.concurrencyPolicy", "")),
            _ => one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"], errors),
        }
        if let Some(job) = spec.child("jobTemplate").and_then(|t| t.child("spec")) {
            job_spec(job, "spec.jobTemplate.spec", errors);
            if job.flag("manualSelector") {
                let path = "spec.jobTemplate.spec.manualSelector";
                errors.push(FieldError::not_supported(path, true, &["nil", "false"]));
            }
        }
        non_negative(spec, "successfulJobsHistoryLimit", "spec", errors);
        non_negative(spec, "failedJobsHistoryLimit", "spec", errors);
    });
}

pub(crate) fn validate_cron_job_update(part: Part, object: &Value<'_>, _: &Value<'_>, errors: &mut Errors) {
    if part == Part::Main {
        cron_spec(object, errors);
    }
}
