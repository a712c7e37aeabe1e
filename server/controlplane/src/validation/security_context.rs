//! Security contexts of pods and containers.

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    value::{Map, Value},
};

use super::{Errors, go, id, maps, one_of_optional, subdomain, volume_source, windows};
use crate::tree::Members;

/// Longest path of a profile: `PATH_MAX` without its end.
const PROFILE_MAX: usize = 4095;
const PROFILE_TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
/// Longest name of a kernel parameter.
const SYSCTL_MAX: usize = 253;
const SYSCTL_PATTERN: &str = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// A container's. `host_users` says whether the pod is in the user namespace of its node.
pub(crate) fn validate_container(context: &Map<'_>, host_users: bool, path: &str, errors: &mut Errors) {
    for member in ["runAsUser", "runAsGroup"] {
        id(context.get(member), child(path, member), errors);
    }
    if context.has("procMount") {
        let at = child(path, "procMount");
        match context.text("procMount") {
            "Unmasked" if host_users => {
                let why = "`hostUsers` must be false to use `Unmasked`";
                errors.push(FieldError::invalid(at, "Unmasked", why));
            }
            "Default" | "Unmasked" => {}
            other => errors.push(FieldError::not_supported(at, other, &["Default", "Unmasked"])),
        }
    }
    seccomp(context, path, errors);
    if context.get("allowPrivilegeEscalation").and_then(Value::as_bool) == Some(false) {
        let shown = || go::text("core", "SecurityContext", Some(&Value::Map(context.clone())));
        if context.flag("privileged") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.push(FieldError::invalid(path, Verbatim(&shown()), why));
        }
        let added = context.child("capabilities").map(|c| c.items("add")).unwrap_or_default();
        for _ in added.iter().filter(|c| c.as_str() == Some("CAP_SYS_ADMIN")) {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.push(FieldError::invalid(path, Verbatim(&shown()), why));
        }
    }
    windows::options(context, path, errors);
    app_armor(context, path, errors);
}

/// A pod's.
pub(crate) fn validate_pod(context: &Map<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    for member in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(context.get(member), child(path, member), errors);
    }
    for (at, group) in context.items("supplementalGroups").iter().enumerate() {
        id(Some(group), index(&child(path, "supplementalGroups"), at), errors);
    }
    sysctls(context, spec, &child(path, "sysctls"), errors);
    one_of_optional(context, "fsGroupChangePolicy", path, &["Always", "OnRootMismatch"], errors);
    seccomp(context, path, errors);
    windows::options(context, path, errors);
    app_armor(context, path, errors);
    one_of_optional(context, "supplementalGroupsPolicy", path, &["Merge", "Strict"], errors);
    one_of_optional(context, "seLinuxChangePolicy", path, &["MountOption", "Recursive"], errors);
}

/// `[a-z0-9]([-_a-z0-9]*[a-z0-9])?`
fn is_segment(segment: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = segment.bytes().next().is_some_and(plain) && segment.bytes().last().is_some_and(plain);
    ends && segment.bytes().all(|b| plain(b) || matches!(b, b'-' | b'_'))
}

fn sysctls(context: &Map<'_>, spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (at, parameter) in maps(context.items("sysctls")) {
        let (name, at) = (parameter.text("name"), child(&index(path, at), "name"));
        if name.is_empty() {
            errors.push(FieldError::required(at.clone(), ""));
        } else if name.len() > SYSCTL_MAX || !name.split(['.', '/']).all(is_segment) {
            let why = format!("must have at most {SYSCTL_MAX} characters and match regex {SYSCTL_PATTERN}");
            errors.push(FieldError::invalid(at.clone(), name, why));
        } else if seen.contains(&name) {
            errors.push(FieldError::duplicate(at.clone(), name));
        }
        let name_with_dots = with_dots(name);
        let of_ipc = ["kernel.sem", "kernel.shm_rmid_forced"].contains(&name_with_dots.as_str())
            || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|p| name_with_dots.starts_with(p));
        if spec.flag("hostNetwork") && name_with_dots.starts_with("net.") {
            errors.push(FieldError::invalid(at, name, "may not be specified when 'hostNetwork' is true"));
        } else if spec.flag("hostIPC") && of_ipc {
            errors.push(FieldError::invalid(at, name, "may not be specified when 'hostIPC' is true"));
        }
        seen.push(name);
    }
}

/// The name of a parameter with dots between its parts, however it is written.
fn with_dots(name: &str) -> String {
    let slash_first = name.find(['.', '/']).is_some_and(|at| name.as_bytes()[at] == b'/');
    if !slash_first {
        return name.to_owned();
    }
    name.chars()
        .map(|c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        })
        .collect()
}

fn seccomp(context: &Map<'_>, path: &str, errors: &mut Errors) {
    let Some(profile) = context.child("seccompProfile") else { return };
    let path = child(path, "seccompProfile");
    let kind = profile.text("type");
    if kind.is_empty() {
        let why = "type is required when seccompProfile is set";
        errors.push(FieldError::required(child(&path, "type"), why));
    } else {
        super::one_of(profile, "type", &path, &PROFILE_TYPES, errors);
    }
    let at = child(&path, "localhostProfile");
    match (kind == "Localhost", profile.has("localhostProfile")) {
        (true, false) => {
            errors.push(FieldError::required(at, "must be set when seccomp type is Localhost"));
        }
        (true, true) => volume_source::descending(profile.text("localhostProfile"), &at, errors),
        (false, true) => {
            let shown = go::text("core", "SeccompProfile", Some(&Value::Map(profile.clone())));
            let why = "can only be set when seccomp type is Localhost";
            errors.push(FieldError::invalid(at, Verbatim(&shown), why));
        }
        (false, false) => {}
    }
}

fn app_armor(context: &Map<'_>, path: &str, errors: &mut Errors) {
    const NEEDED: &str = "must be set when AppArmor type is Localhost";
    let Some(profile) = context.child("appArmorProfile") else { return };
    let path = child(path, "appArmorProfile");
    let at = child(&path, "localhostProfile");
    let name = profile.text("localhostProfile");
    match profile.text("type") {
        "Localhost" if !profile.has("localhostProfile") => errors.push(FieldError::required(at, NEEDED)),
        "Localhost" => {
            if name.trim() != name {
                errors.push(FieldError::invalid(at.clone(), name, "must not be padded with whitespace"));
            } else if name.is_empty() {
                errors.push(FieldError::required(at.clone(), NEEDED));
            }
            if name.len() > PROFILE_MAX {
                errors.push(FieldError::too_long(at, PROFILE_MAX));
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if profile.has("localhostProfile") {
                errors.push(FieldError::invalid(at, name, "can only be set when AppArmor type is Localhost"));
            }
        }
        "" => {
            let why = "type is required when appArmorProfile is set";
            errors.push(FieldError::required(child(&path, "type"), why));
        }
        other => errors.push(FieldError::not_supported(child(&path, "type"), other, &PROFILE_TYPES)),
    }
}

/// The name that a host's other override has.
pub(crate) fn hostname_override(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    if !spec.has("hostnameOverride") {
        return;
    }
    let at = child(path, "hostnameOverride");
    for (member, why) in [
        ("setHostnameAsFQDN", "may not be specified when setHostnameAsFQDN is true"),
        ("hostNetwork", "may not be specified when hostNetwork is true"),
    ] {
        if spec.flag(member) {
            errors.push(FieldError::forbidden(at.clone(), why));
        }
    }
    let name = spec.text("hostnameOverride");
    if name.len() > 64 {
        errors.push(FieldError::too_long(at.clone(), 64));
    }
    subdomain(name, &at, errors);
}

#[cfg(test)]
mod tests {
    use super::{is_segment, with_dots};

    #[test]
    fn names_of_parameters() {
        assert!(is_segment("a-b_c") && !is_segment("-a") && !is_segment("") && !is_segment("A"));
        assert_eq!(with_dots("net/ipv4/conf.all"), "net.ipv4.conf/all");
        assert_eq!(with_dots("net.ipv4"), "net.ipv4");
    }
}
