//! Annotations that say something about a pod.

use ringbolt_machinery::{
    field::{FieldError, child, key, quote},
    value::{Map, Value},
};

use super::{Errors, sorted, volume_source, windows};
use crate::tree::Members;

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

fn of<'v, 'a>(object: &'v Value<'a>) -> Option<&'v Map<'a>> {
    object.path(&["metadata", "annotations"]).and_then(Value::as_map)
}

/// Whether an annotation says what containers may do.
fn is_of_profile(name: &str) -> bool {
    name == SECCOMP_POD || name.starts_with(SECCOMP_CONTAINER) || name.starts_with(APP_ARMOR)
}

/// Whether no annotation of a pod is about what its spec is about as well: profiles of containers, and what fields came
/// for since.
pub(crate) fn are_about_none_of(object: &Value<'_>) -> bool {
    of(object).is_none_or(|annotations| {
        annotations.iter().all(|(name, _)| {
            let domain = name.split_once('/').map_or("", |(domain, _)| domain);
            !domain.ends_with(".alpha.kubernetes.io") && !domain.ends_with(".beta.kubernetes.io")
        })
    })
}

/// Whether a pod is the shadow of one that its node was told of otherwise.
pub(crate) fn is_mirror(object: &Value<'_>) -> bool {
    of(object).is_some_and(|a| a.get(MIRROR).is_some())
}

/// The annotations of a pod or template.
pub(crate) fn validate(object: &Value<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let Some(annotations) = of(object) else { return };
    if let Some(value) = annotations.get(MIRROR).filter(|_| spec.text("nodeName").is_empty()) {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(key(path, MIRROR), value, why));
    }
    if let Some(cost) = annotations.get(DELETION_COST).and_then(Value::as_str) {
        let starts = cost == "0" || cost.starts_with(['-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        if !starts || cost.parse::<i32>().is_err() {
            errors.push(FieldError::invalid(key(path, DELETION_COST), cost, "must be a 32bit integer"));
        }
    }
    if !annotations.iter().any(|(name, _)| is_of_profile(name)) {
        return;
    }
    let all = sorted(Some(annotations));
    if let Some((name, profile)) = all.iter().find(|(name, _)| *name == SECCOMP_POD) {
        seccomp(profile, &child(path, name), errors);
    }
    for (name, profile) in all.iter().filter(|(name, _)| name.starts_with(SECCOMP_CONTAINER)) {
        seccomp(profile, &child(path, name), errors);
    }
    for (name, profile) in &all {
        let Some(container) = name.strip_prefix(APP_ARMOR) else { continue };
        if !windows::containers(spec, "").any(|(_, c)| c.text("name") == container) {
            errors.push(FieldError::invalid(key(path, name), container, "container not found"));
        }
        let known = matches!(*profile, "" | "runtime/default" | "unconfined");
        if !known && !profile.starts_with("localhost/") {
            let why = format!("invalid AppArmor profile name: {}", quote(profile));
            errors.push(FieldError::invalid(key(path, name), *profile, why));
        }
    }
}

fn seccomp(profile: &str, path: &str, errors: &mut Errors) {
    match profile.strip_prefix("localhost/") {
        Some(target) => volume_source::descending(target, path, errors),
        None if matches!(profile, "runtime/default" | "docker/default" | "unconfined") => {}
        None => errors.push(FieldError::invalid(path, profile, "must be a valid seccomp profile")),
    }
}

/// Profiles of AppArmor and the mark of a shadow stay as they are.
pub(crate) fn validate_update(object: &Value<'_>, old: &Value<'_>, spec: &Map<'_>, errors: &mut Errors) {
    let path = "metadata.annotations";
    let (new, was) = (sorted(of(object)), sorted(of(old)));
    for (name, value) in &was {
        if new.contains(&(name, value)) {
            continue;
        }
        if name.starts_with(APP_ARMOR) {
            let why = "may not remove or update AppArmor annotations";
            errors.push(FieldError::forbidden(key(path, name), why));
        }
        if *name == MIRROR {
            let why = "may not remove or update mirror pod annotation";
            errors.push(FieldError::forbidden(key(path, name), why));
        }
    }
    for (name, _) in new.iter().filter(|(name, _)| !was.iter().any(|(n, _)| n == name)) {
        if name.starts_with(APP_ARMOR) {
            errors.push(FieldError::forbidden(key(path, name), "may not add AppArmor annotations"));
        }
        if *name == MIRROR {
            errors.push(FieldError::forbidden(key(path, name), "may not add mirror pod annotation"));
        }
    }
    validate(object, spec, path, errors);
}

/// What an annotation says of a profile the field says too.
pub(crate) fn match_fields(object: &Value<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let Some(annotations) = of(object).filter(|a| a.iter().any(|(name, _)| is_of_profile(name))) else {
        return;
    };
    let annotation = |name: &str| annotations.get(name).and_then(Value::as_str);
    let own = spec.child("securityContext");
    if let (Some(said), Some(profile)) =
        (annotation(SECCOMP_POD), own.and_then(|c| c.child("seccompProfile")))
    {
        let defaults = ["runtime/default", "docker/default"];
        profiles_match(
            "seccomp",
            said,
            &defaults,
            profile,
            &child(path, "securityContext.seccompProfile"),
            errors,
        );
    }
    for (path, container) in windows::containers(spec, path) {
        let profile = container.child("securityContext").and_then(|c| c.child("seccompProfile"));
        let name = format!("{SECCOMP_CONTAINER}{}", container.text("name"));
        if let (Some(said), Some(profile)) = (annotation(&name), profile) {
            let defaults = ["runtime/default", "docker/default"];
            let path = child(&path, "securityContext.seccompProfile");
            profiles_match("seccomp", said, &defaults, profile, &path, errors);
        }
    }
    if spec.child("os").is_some_and(|os| os.text("name") == "windows") {
        return;
    }
    for (path, container) in windows::containers(spec, path) {
        let profile = container
            .child("securityContext")
            .and_then(|c| c.child("appArmorProfile"))
            .or_else(|| own.and_then(|c| c.child("appArmorProfile")));
        let name = format!("{APP_ARMOR}{}", container.text("name"));
        if let (Some(said), Some(profile)) = (annotation(&name), profile) {
            let path = child(&path, "securityContext.appArmorProfile");
            profiles_match("apparmor", said, &["runtime/default"], profile, &path, errors);
        }
    }
}

fn profiles_match(
    kind: &str,
    said: &str,
    defaults: &[&str],
    profile: &Map<'_>,
    path: &str,
    errors: &mut Errors,
) {
    let fine = match profile.text("type") {
        "Unconfined" => said == "unconfined",
        "RuntimeDefault" => defaults.contains(&said),
        "Localhost" => match said.strip_prefix("localhost/") {
            None => false,
            Some(target) => {
                if !profile.has("localhostProfile") || profile.text("localhostProfile") != target {
                    let why = format!("{kind} profile in annotation and field must match");
                    errors.push(FieldError::forbidden(child(path, "localhostProfile"), why));
                }
                true
            }
        },
        _ => true,
    };
    if !fine {
        let why = format!("{kind} type in annotation and field must match");
        errors.push(FieldError::forbidden(child(path, "type"), why));
    }
}
