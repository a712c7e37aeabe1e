//! Jobs and cron jobs.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::{
        names::{dns1123_label_errors, qualified_name_errors},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{
    Errors, each_invalid, go, ingress, job_indexes, job_status, maps, non_negative, one_of, one_of_optional,
    pod_spec, required, schedule, selector, with_map,
};
use crate::{semantic, tree::Members};

/// Counts of a job that are never negative.
const COUNTS: [&str; 6] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
];

/// Longest name of a cron job: eleven characters are added for its jobs.
const CRON_JOB_NAME_MAX: usize = 52;
/// Longest name of who manages a job, and bounds of indexed jobs: `batch` limits of the API.
const MANAGED_BY_MAX: usize = 63;
const INDEXED_PARALLELISM_MAX: i64 = 100_000;
const FAILED_INDEXES_MAX: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const MANY_PARALLELISM_MAX: i64 = 10_000;
const MANY_FAILED_INDEXES_MAX: i64 = 10_000;
const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const CONDITIONS_MAX: usize = 20;
const SUCCEEDED_INDEXES_MAX: usize = 64 * 1024;
const KIND: super::Kind = ("batch", "v1", "Job");

pub(crate) fn validate_job(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        generated_selector(object, spec, errors);
        job(spec, errors);
        name_allows_completions(object, spec, errors);
    });
}

/// The labels that a job without a selector of its own gets.
fn generated_selector(object: &Value<'_>, spec: &Map<'_>, errors: &mut Errors) {
    if spec.flag("manualSelector") || !spec.has("selector") {
        return;
    }
    let part = |member: &str| object.str_at(&["metadata", member]).unwrap_or("");
    let (name, uid) = (part("name"), part("uid"));
    if uid.is_empty() {
        errors.push(FieldError::required("metadata.uid", ""));
    }
    let labels = spec.child("template").and_then(|t| t.child("metadata")).and_then(|m| m.child("labels"));
    for (key, expected) in [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ] {
        let path = format!("spec.template.metadata.labels[{key}]");
        let why = format!("must be '{expected}'");
        match labels.and_then(|l| l.get(key)).and_then(Value::as_str) {
            None => errors.push(FieldError::required(path, why)),
            Some(value) if value != expected => {
                let shown = labels.map_or(Value::Null, |l| Value::Map(l.clone()));
                errors.push(FieldError::invalid(path, &shown, why));
            }
            Some(_) => {}
        }
    }
    if let Some(wanted) = spec.child("selector") {
        let mut expected = Map::new_in(spec.arena());
        for (key, value) in [
            ("controller-uid", uid),
            ("job-name", name),
            ("batch.kubernetes.io/controller-uid", uid),
            ("batch.kubernetes.io/job-name", name),
        ] {
            expected.insert(key, Value::String(spec.arena().alloc_str(value)));
        }
        let readable = validate_label_selector(spec.get("selector"), "").is_empty();
        if readable && !selector::matches(wanted, Some(&expected)) {
            let shown = selector::shown(Some(wanted));
            errors.push(FieldError::invalid("spec.selector", &shown, "`selector` not auto-generated"));
        }
    }
}

fn job(spec: &Map<'_>, errors: &mut Errors) {
    job_spec(spec, "spec", errors);
    let wanted = spec.child("selector");
    let found = validate_label_selector(spec.get("selector"), "spec.selector");
    if wanted.is_none() {
        errors.push(FieldError::required("spec.selector", ""));
    }
    // A selector that cannot be read is not held against the labels; none at all selects nothing.
    let readable = found.is_empty();
    errors.extend(found);
    let template = spec.child("template").and_then(|t| t.child("metadata"));
    let labels = template.and_then(|m| m.child("labels"));
    if readable && !wanted.is_some_and(|s| selector::matches(s, labels)) {
        let shown = labels.map_or(Value::Null, |l| Value::Map(l.clone()));
        let why = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", &shown, why));
    }
}

/// The highest pod of an indexed job has a name that can be its host's.
fn name_allows_completions(object: &Value<'_>, spec: &Map<'_>, errors: &mut Errors) {
    let completions = spec.int("completions").unwrap_or(0);
    if spec.text("completionMode") != "Indexed" || completions <= 0 {
        return;
    }
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    let host = format!("{name}-{}", completions - 1);
    if !dns1123_label_errors(&host).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {host}");
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
}

fn job_spec(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    for count in COUNTS {
        non_negative(spec, count, path, errors);
    }
    non_negative(spec, "maxFailedIndexes", path, errors);
    if spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex") {
        let why = "when maxFailedIndexes is specified";
        errors.push(FieldError::required(child(path, "backoffLimitPerIndex"), why));
    }
    if spec.has("managedBy") {
        let (manager, at) = (spec.text("managedBy"), child(path, "managedBy"));
        ingress::domain_prefixed_path(manager, &at, errors);
        if manager.len() > MANAGED_BY_MAX {
            errors.push(FieldError::too_long(at, MANAGED_BY_MAX));
        }
    }
    one_of_optional(spec, "completionMode", path, &["NonIndexed", "Indexed"], errors);
    let indexed = spec.text("completionMode") == "Indexed";
    if indexed {
        bounds_of_indexed(spec, path, errors);
    }
    if !spec.has("completionMode") || spec.text("completionMode") == "NonIndexed" {
        for member in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(n) = spec.int(member) {
                let why = "requires indexed completion mode";
                errors.push(FieldError::invalid(child(path, member), n, why));
            }
        }
    }
    if let Some(policy) = spec.child("podFailurePolicy") {
        failure_policy(policy, spec, &child(path, "podFailurePolicy"), errors);
    }
    if let Some(policy) = spec.child("successPolicy") {
        let at = child(path, "successPolicy");
        if indexed {
            success_policy(policy, spec, &at, errors);
        } else {
            let shown = go::text("batch", "SuccessPolicy", Some(&Value::Map(policy.clone())));
            errors.push(FieldError::invalid(at, Verbatim(&shown), "requires indexed completion mode"));
        }
    }
    match spec.has("podFailurePolicy") {
        true => one_of_optional(spec, "podReplacementPolicy", path, &["Failed"], errors),
        false => {
            let supported = ["Failed", "TerminatingOrFailed"];
            one_of_optional(spec, "podReplacementPolicy", path, &supported, errors);
        }
    }
    let nothing = Map::new_in(spec.arena());
    let template = spec.child("template").unwrap_or(&nothing);
    let at = child(path, "template");
    pod_spec::validate_template(template, None, &at, errors);
    restart_policy(spec, template, &child(&at, "spec.restartPolicy"), errors);
}

fn restart_policy(spec: &Map<'_>, template: &Map<'_>, path: &str, errors: &mut Errors) {
    match template.child("spec").map_or("", |pod| pod.text("restartPolicy")) {
        "Always" | "" => {
            errors.push(FieldError::required(path, "valid values: \"OnFailure\", \"Never\""));
        }
        "Never" => {}
        policy @ "OnFailure" => {
            if spec.has("podFailurePolicy") {
                let why = "only \"Never\" is supported when podFailurePolicy is specified";
                errors.push(FieldError::invalid(path, policy, why));
            }
        }
        policy => errors.push(FieldError::not_supported(path, policy, &["OnFailure", "Never"])),
    }
}

fn bounds_of_indexed(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let [completions, parallelism, failed] =
        ["completions", "parallelism", "maxFailedIndexes"].map(|m| spec.int(m));
    if completions.is_none() {
        let why = "when completion mode is Indexed";
        errors.push(FieldError::required(child(path, "completions"), why));
    }
    let mut above = |member: &str, n: Option<i64>, most: i64, why: String| {
        if let Some(n) = n.filter(|n| *n > most) {
            errors.push(FieldError::invalid(child(path, member), n, why));
        }
    };
    let why =
        format!("must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is Indexed");
    above("parallelism", parallelism, INDEXED_PARALLELISM_MAX, why);
    if let Some(completions) = completions {
        let why = "must be less than or equal to completions".to_owned();
        above("maxFailedIndexes", failed, completions, why);
    }
    let why = format!("must be less than or equal to {FAILED_INDEXES_MAX}");
    above("maxFailedIndexes", failed, FAILED_INDEXES_MAX, why);
    if completions.is_none_or(|c| c <= MANY_COMPLETIONS) || !spec.has("backoffLimitPerIndex") {
        return;
    }
    if failed.is_none() {
        let why = format!("must be specified when completions is above {MANY_COMPLETIONS}");
        errors.push(FieldError::required(child(path, "maxFailedIndexes"), why));
    }
    for (member, n, most) in [
        ("parallelism", parallelism, MANY_PARALLELISM_MAX),
        ("maxFailedIndexes", failed, MANY_FAILED_INDEXES_MAX),
    ] {
        if let Some(n) = n.filter(|n| *n > most) {
            let why = format!(
                "must be less than or equal to {most} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
            );
            errors.push(FieldError::invalid(child(path, member), n, why));
        }
    }
}

/// A list of quoted values as Go prints one.
fn quoted(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|v| ringbolt_machinery::field::quote(v)).collect();
    format!("[{}]", quoted.join(" "))
}

fn failure_policy(policy: &Map<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
    let path = child(path, "rules");
    let rules = policy.items("rules");
    if rules.len() > RULES_MAX {
        errors.push(FieldError::too_many(path.clone(), rules.len(), RULES_MAX));
    }
    for (at, rule) in maps(rules) {
        let path = index(&path, at);
        let at = child(&path, "action");
        match rule.text("action") {
            "" => errors.push(FieldError::required(at, format!("valid values: {}", quoted(&ACTIONS)))),
            "FailIndex" if !spec.has("backoffLimitPerIndex") => {
                let why = "requires the backoffLimitPerIndex to be set";
                errors.push(FieldError::invalid(at, "FailIndex", why));
            }
            _ => one_of(rule, "action", &path, &ACTIONS, errors),
        }
        let (codes, conditions) = (rule.child("onExitCodes"), rule.items("onPodConditions"));
        if let Some(codes) = codes {
            exit_codes(codes, spec, &child(&path, "onExitCodes"), errors);
        }
        if !conditions.is_empty() {
            pod_conditions(conditions, &child(&path, "onPodConditions"), errors);
        }
        let why = match (codes.is_some(), conditions.is_empty()) {
            (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        errors.push(FieldError::invalid(path, Verbatim(""), why));
    }
}

fn pod_conditions(conditions: &[Value<'_>], path: &str, errors: &mut Errors) {
    const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
    if conditions.len() > CONDITIONS_MAX {
        errors.push(FieldError::too_many(path, conditions.len(), CONDITIONS_MAX));
    }
    for (at, condition) in maps(conditions) {
        let path = index(path, at);
        let kind = condition.text("type");
        each_invalid(qualified_name_errors(kind), &child(&path, "type"), kind, errors);
        match condition.text("status") {
            "" => {
                let why = format!("valid values: {}", quoted(&STATUSES));
                errors.push(FieldError::required(child(&path, "status"), why));
            }
            _ => one_of(condition, "status", &path, &STATUSES, errors),
        }
    }
}

fn exit_codes(codes: &Map<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    const OPERATORS: [&str; 2] = ["In", "NotIn"];
    match codes.text("operator") {
        "" => {
            let why = format!("valid values: {}", quoted(&OPERATORS));
            errors.push(FieldError::required(child(path, "operator"), why));
        }
        _ => one_of(codes, "operator", path, &OPERATORS, errors),
    }
    if codes.has("containerName") {
        let name = codes.text("containerName");
        let pod = spec.child("template").and_then(|t| t.child("spec"));
        let known = pod.is_some_and(|pod| {
            ["containers", "initContainers"]
                .iter()
                .any(|list| maps(pod.items(list)).any(|(_, c)| c.text("name") == name))
        });
        if !known {
            let why = "must be one of the container or initContainer names in the pod template";
            errors.push(FieldError::invalid(child(path, "containerName"), name, why));
        }
    }
    let at = child(path, "values");
    let values: Vec<i64> = codes.items("values").iter().map(|v| v.as_i64().unwrap_or(0)).collect();
    let shown = codes.get("values").unwrap_or(&Value::Null);
    if values.is_empty() {
        errors.push(FieldError::invalid(at.clone(), shown, "at least one value is required"));
    } else if values.len() > EXIT_CODES_MAX {
        errors.push(FieldError::too_many(at.clone(), values.len(), EXIT_CODES_MAX));
    }
    for (i, code) in values.iter().enumerate() {
        if *code == 0 && codes.text("operator") == "In" {
            errors.push(FieldError::invalid(index(&at, i), 0i64, "must not be 0 for the In operator"));
        }
        if values[..i].contains(code) {
            errors.push(FieldError::duplicate(index(&at, i), *code));
        }
    }
    if values.windows(2).any(|pair| pair[0] > pair[1]) {
        errors.push(FieldError::invalid(at, shown, "must be ordered"));
    }
}

fn success_policy(policy: &Map<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    // Without a number of completions kube-apiserver falls over here: the error about them stands alone.
    let Some(completions) = spec.int("completions") else { return };
    let path = child(path, "rules");
    let rules = policy.items("rules");
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(path.clone(), why));
    }
    if rules.len() > RULES_MAX {
        errors.push(FieldError::too_many(path.clone(), rules.len(), RULES_MAX));
    }
    for (at, rule) in maps(rules) {
        let path = index(&path, at);
        let (count, indexes) = (rule.int("succeededCount"), rule.has("succeededIndexes"));
        if count.is_none() && !indexes {
            let why = "at least one of succeededCount or succeededIndexes must be specified";
            errors.push(FieldError::required(path.clone(), why));
        }
        let mut total = 0;
        if indexes {
            let (text, at) = (rule.text("succeededIndexes"), child(&path, "succeededIndexes"));
            if text.len() > SUCCEEDED_INDEXES_MAX {
                errors.push(FieldError::too_long(at.clone(), SUCCEEDED_INDEXES_MAX));
            }
            match job_indexes::count(text, completions) {
                Ok(n) => total = n,
                Err(why) => {
                    let why = format!("error parsing succeededIndexes: {why}");
                    errors.push(FieldError::invalid(at, text, why));
                }
            }
        }
        let Some(count) = count else { continue };
        non_negative(rule, "succeededCount", &path, errors);
        let at = child(&path, "succeededCount");
        if count > completions {
            let why =
                format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.push(FieldError::invalid(at.clone(), count, why));
        }
        if indexes && count > total {
            let why = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.push(FieldError::invalid(at, count, why));
        }
    }
}

pub(crate) fn validate_job_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Status {
        return job_status::validate_update(object, old, errors);
    }
    with_map(object, "spec", |new| {
        with_map(old, "spec", |was| {
            job(new, errors);
            completions(new, was, errors);
            fixed(new, was, "selector", errors);
            template(old, new, was, errors);
            for member in
                ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
            {
                fixed(new, was, member, errors);
            }
            name_allows_completions(object, new, errors);
        });
    });
}

/// A member that never changes, shown as Go holds it.
fn fixed(new: &Map<'_>, was: &Map<'_>, member: &str, errors: &mut Errors) {
    let (now, before) = (new.get(member), was.get(member));
    if semantic::field_equal(KIND, &["spec", member], now, before) {
        return;
    }
    let why = "field is immutable";
    let name = match member {
        "podFailurePolicy" => "PodFailurePolicy",
        "successPolicy" => "SuccessPolicy",
        "selector" => {
            let shown = selector::shown(now.and_then(Value::as_map));
            errors.push(FieldError::invalid(child("spec", member), &shown, why));
            return;
        }
        _ => {
            let shown = now.unwrap_or(&Value::Null);
            errors.push(FieldError::invalid(child("spec", member), shown, why));
            return;
        }
    };
    let shown = go::text("batch", name, now);
    errors.push(FieldError::invalid(child("spec", member), Verbatim(&shown), why));
}

/// The number of completions of an indexed job moves with its parallelism.
fn completions(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    if new.text("completionMode") != "Indexed" {
        return fixed(new, was, "completions", errors);
    }
    let (now, before) = (new.int("completions"), was.int("completions"));
    if let Some(now) = now.filter(|now| Some(*now) != before)
        && Some(now) != new.int("parallelism")
    {
        let why = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid("spec.completions", now, why));
    }
}

fn condition(object: &Value<'_>, kind: &str) -> bool {
    let list = object.path(&["status", "conditions"]).and_then(Value::as_list);
    maps(list.map_or(&[], |l| l.as_slice()))
        .any(|(_, c)| c.text("type") == kind && c.text("status") == "True")
}

/// While a job is suspended, and no pod of it runs, what decides on nodes and resources may change.
fn template(old: &Value<'_>, new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let suspended = was.flag("suspend");
    let started = old.path(&["status", "startTime"]).is_some_and(|t| !t.is_null());
    let idle = old.path(&["status", "active"]).and_then(Value::as_i64).unwrap_or(0) == 0;
    let free = suspended && (!started || (idle && condition(old, "Suspended")));
    let empty = Map::new_in(new.arena());
    let now = new.child("template").unwrap_or(&empty);
    let mut before = was.child("template").cloned().unwrap_or_else(|| Map::new_in(was.arena()));
    if free {
        let given = now.child("metadata");
        let metadata = before.map_mut("metadata");
        for member in ["labels", "annotations"] {
            metadata.put(member, given.and_then(|m| m.get(member)).map(|v| v.copy_into(metadata.arena())));
        }
        let given = now.child("spec");
        let spec = before.map_mut("spec");
        let arena = spec.arena();
        for member in ["nodeSelector", "tolerations", "schedulingGates"] {
            spec.put(member, given.and_then(|s| s.get(member)).map(|v| v.copy_into(arena)));
        }
        node_affinity(given, spec);
    }
    if !free {
        let changed = !semantic::field_equal(
            KIND,
            &["spec", "template"],
            Some(&Value::Map(now.clone())),
            Some(&Value::Map(before)),
        );
        if changed {
            let shown = go::text("core", "PodTemplateSpec", Some(&Value::Map(now.clone())));
            errors.push(FieldError::invalid("spec.template", Verbatim(&shown), "field is immutable"));
        }
        return;
    }
    let given = now.child("spec").unwrap_or(&empty);
    let spec = before.map_mut("spec");
    let arena = spec.arena();
    for list in ["containers", "initContainers"] {
        if given.items(list).len() != spec.items(list).len() {
            continue;
        }
        let mut others = given.items(list).iter().filter_map(Value::as_map);
        spec.each_mut(list, |container| {
            let Some(other) = others.next() else { return };
            if other.text("name") == container.text("name") {
                container.put("resources", other.get("resources").map(|v| v.copy_into(arena)));
            }
        });
    }
    let path = ["spec", "template", "spec"];
    if !semantic::field_equal(KIND, &path, Some(&Value::Map(given.clone())), before.get("spec")) {
        let shown = go::text("core", "PodSpec", Some(&Value::Map(given.clone())));
        errors.push(FieldError::invalid("spec.template.spec", Verbatim(&shown), "field is immutable"));
    }
}

/// Takes the affinity to nodes over from another spec.
fn node_affinity(given: Option<&Map<'_>>, spec: &mut Map<'_>) {
    let arena = spec.arena();
    let affinity = given.and_then(|s| s.child("affinity"));
    let nodes = affinity.and_then(|a| a.get("nodeAffinity")).map(|v| v.copy_into(arena));
    match (affinity.is_some(), spec.child_mut("affinity")) {
        (_, Some(own)) => {
            own.put("nodeAffinity", nodes);
            if affinity.is_none() && own.iter().all(|(_, v)| v.is_null()) {
                spec.remove("affinity");
            }
        }
        (true, None) => {
            let mut own = Map::new_in(arena);
            own.put("nodeAffinity", nodes);
            spec.insert("affinity", Value::Map(own));
        }
        (false, None) => {}
    }
}

pub(crate) fn validate_cron_job(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    cron_spec(object, None, errors);
    if name.len() > CRON_JOB_NAME_MAX {
        let why = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    cron_declared(object, errors);
}

/// What is declared with the fields of a cron job comes after what is written out.
fn cron_declared(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        required(spec, "schedule", "spec", errors);
    });
}

fn cron_spec(object: &Value<'_>, old: Option<&Map<'_>>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let text = spec.text("schedule");
        if !text.is_empty() {
            let zoned = old.is_some_and(|o| o.text("schedule").contains("TZ"));
            schedule::validate(text, zoned, spec.has("timeZone"), "spec.schedule", errors);
        }
        non_negative(spec, "startingDeadlineSeconds", "spec", errors);
        let zone = |m: &Map<'_>| (m.has("timeZone"), m.text("timeZone").to_owned());
        if old.is_none_or(|o| zone(o) != zone(spec)) && spec.has("timeZone") {
            schedule::time_zone(spec.text("timeZone"), "spec.timeZone", errors);
        }
        match spec.text("concurrencyPolicy") {
            "" => errors.push(FieldError::required("spec.concurrencyPolicy", "")),
            _ => one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"], errors),
        }
        let path = "spec.jobTemplate.spec";
        let nothing = Map::new_in(spec.arena());
        let job = spec.child("jobTemplate").and_then(|t| t.child("spec")).unwrap_or(&nothing);
        job_spec(job, path, errors);
        if let Some(selector) = job.get("selector").filter(|s| !s.is_null()) {
            let why = "`selector` will be auto-generated";
            errors.push(FieldError::invalid(child(path, "selector"), selector, why));
        }
        if job.flag("manualSelector") {
            errors.push(FieldError::not_supported(child(path, "manualSelector"), true, &["nil", "false"]));
        }
        non_negative(spec, "successfulJobsHistoryLimit", "spec", errors);
        non_negative(spec, "failedJobsHistoryLimit", "spec", errors);
    });
}

pub(crate) fn validate_cron_job_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Main {
        cron_spec(object, old.path(&["spec"]).and_then(Value::as_map), errors);
        cron_declared(object, errors);
    }
}
