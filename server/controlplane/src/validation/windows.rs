//! What pods of one operating system may not say, and the options of Windows.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{Errors, each_invalid, maps};
use crate::tree::Members;

/// Longest credential specification.
const CREDENTIAL_SPEC_MAX: usize = 64 * 1024;
const DOMAIN_MAX: usize = 256;
const USER_MAX: usize = 104;

/// The options of a security context.
pub(crate) fn options(context: &Map<'_>, path: &str, errors: &mut Errors) {
    let Some(options) = context.child("windowsOptions") else { return };
    let path = child(path, "windowsOptions");
    if options.has("gmsaCredentialSpecName") {
        let name = options.text("gmsaCredentialSpecName");
        super::subdomain(name, &child(&path, "gmsaCredentialSpecName"), errors);
    }
    if options.has("gmsaCredentialSpec") {
        let (text, at) = (options.text("gmsaCredentialSpec"), child(&path, "gmsaCredentialSpec"));
        if text.is_empty() {
            errors.push(FieldError::invalid(at, text, "gmsaCredentialSpec cannot be an empty string"));
        } else if text.len() > CREDENTIAL_SPEC_MAX {
            errors.push(FieldError::invalid(at, text, "gmsaCredentialSpec size must be under 64 KiB"));
        }
    }
    if options.has("runAsUserName") {
        let name = options.text("runAsUserName");
        each_invalid(user_name_errors(name), &child(&path, "runAsUserName"), name, errors);
    }
}

fn is_netbios(domain: &str) -> bool {
    let fine = |c: char| !matches!(c, '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    (1..=15).contains(&domain.chars().count()) && domain.chars().all(fine) && !domain.starts_with('.')
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let plain = |b: u8| b.is_ascii_alphanumeric();
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| plain(b) || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

fn user_name_errors(name: &str) -> Vec<String> {
    let one = |why: &str| vec![why.to_owned()];
    if name.is_empty() {
        return one("runAsUserName cannot be an empty string");
    }
    if name.chars().any(|c| c.is_ascii_control()) {
        return one("runAsUserName cannot contain control characters");
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return one("runAsUserName cannot contain more than one backslash"),
    };
    let mut errors = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_MAX {
            errors.push(format!("runAsUserName's Domain length must be under {DOMAIN_MAX} characters"));
        }
        if !is_netbios(domain) && !is_dns(domain) {
            errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        errors.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_MAX {
        errors.push(format!("runAsUserName's User length must not be longer than {USER_MAX} characters"));
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        errors.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        let why = "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]";
        errors.push(why.to_owned());
    }
    errors
}

/// Containers of all lists with their paths, in the order they are looked at.
pub(crate) fn containers<'v, 'a>(
    spec: &'v Map<'a>,
    path: &'v str,
) -> impl Iterator<Item = (String, &'v Map<'a>)> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(move |list| {
        maps(spec.items(list)).map(move |(at, container)| (index(&child(path, list), at), container))
    })
}

/// Either all containers run as processes of the host or none does.
pub(crate) fn host_processes(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let of = |holder: &Map<'_>| -> Option<bool> {
        let options = holder.child("securityContext")?.child("windowsOptions")?;
        options.get("hostProcess")?.as_bool()
    };
    let pod = of(spec);
    let (mut all, mut host) = (0, 0);
    for (path, container) in containers(spec, path) {
        all += 1;
        let own = of(container);
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let why = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            let path = format!("{path}.securityContext.windowsOptions.hostProcess");
            errors.push(FieldError::invalid(path, own, why));
        }
        host += usize::from(own.or(pod) == Some(true));
    }
    if host == 0 {
        return;
    }
    if host != all {
        let why =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(path, "", why));
    }
    if !spec.flag("hostNetwork") {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(child(path, "hostNetwork"), false, why));
    }
}

/// What a pod of Linux may not say.
pub(crate) fn not_on_linux(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    const WHY: &str = "windows options cannot be set for a linux pod";
    let has = |m: &Map<'_>| m.child("securityContext").is_some_and(|c| c.has("windowsOptions"));
    if has(spec) {
        errors.push(FieldError::forbidden(child(path, "securityContext.windowsOptions"), WHY));
    }
    for (path, _) in containers(spec, path).filter(|(_, c)| has(c)) {
        errors.push(FieldError::forbidden(child(&path, "securityContext.windowsOptions"), WHY));
    }
}

/// What a pod of Windows may not say.
pub(crate) fn not_on_windows(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    const WHY: &str = "cannot be set for a windows pod";
    const POD: [&str; 11] = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ];
    const CONTAINER: [&str; 10] = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    let mut forbid = |holder: &Map<'_>, members: &[&str], path: &str| {
        let Some(context) = holder.child("securityContext") else { return };
        for member in members {
            let empty = *member == "sysctls" && context.lacks(member);
            if context.has(member) && !empty {
                let path = child(&child(path, "securityContext"), member);
                errors.push(FieldError::forbidden(path, WHY));
            }
        }
    };
    forbid(spec, &POD, path);
    let mut own = Vec::new();
    for member in ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] {
        let there = match member {
            "hostPID" | "hostIPC" => spec.flag(member),
            _ => spec.has(member),
        };
        if there {
            own.push(FieldError::forbidden(child(path, member), WHY));
        }
    }
    errors.append(&mut own);
    for (path, container) in containers(spec, path) {
        let mut found = Vec::new();
        if let Some(context) = container.child("securityContext") {
            for member in CONTAINER.iter().filter(|m| context.get(m).is_some_and(|v| !Value::is_null(v))) {
                let path = child(&child(&path, "securityContext"), member);
                found.push(FieldError::forbidden(path, WHY));
            }
        }
        errors.append(&mut found);
    }
}

#[cfg(test)]
mod tests {
    use super::user_name_errors;

    #[test]
    fn names_of_users() {
        for (name, count) in [
            ("NT AUTHORITY\\NETWORK SERVICE", 0),
            ("a\\b\\c", 1),
            ("", 1),
            ("...", 1),
            ("us:er", 1),
            ("\\u", 1),
        ] {
            assert_eq!(user_name_errors(name).len(), count, "{name}");
        }
    }
}
