//! The checks of the Pod Security Standards as one table: which is part of which level, since which version, and which
//! takes another's place.

mod app_armor_profile;
mod capabilities;
mod host_namespaces;
mod host_path_volumes;
mod host_ports;
mod host_probes;
mod privilege_escalation;
mod privileged;
mod proc_mount;
mod restricted_volumes;
mod run_as_non_root;
mod run_as_user;
mod se_linux_options;
mod seccomp_profile;
mod sysctls;
#[cfg(test)]
mod tests;
mod windows_host_process;

use super::{
    pod::Pod,
    policy::{Level, LevelVersion, Version},
    violation::Violation,
};

/// The newest version that the table knows: `latest` is this one, and so is what comes after it.
pub(super) const NEWEST: u64 = 37;

/// Looks at one thing of a pod.
type CheckPod = fn(&Pod<'_, '_>) -> Option<Violation>;

/// A check, in all of its versions.
struct Check {
    /// Its name; the order of names is that of messages.
    id: &'static str,
    /// The level it is part of, and with it of those above.
    level: Level,
    /// From the oldest to the newest.
    revisions: &'static [Revision],
}

/// A check as it is from one version on.
struct Revision {
    /// The first minor version that has it so.
    since: u64,
    /// The check of a lower level that this one covers.
    overrides: Option<&'static str>,
    check: CheckPod,
}

impl Check {
    /// As it is in a version, where that has it.
    fn at(&self, minor: u64) -> Option<&Revision> {
        self.revisions.iter().rev().find(|revision| revision.since <= minor)
    }
}

const fn baseline(id: &'static str, revisions: &'static [Revision]) -> Check {
    Check { id, level: Level::Baseline, revisions }
}

const fn restricted(id: &'static str, revisions: &'static [Revision]) -> Check {
    Check { id, level: Level::Restricted, revisions }
}

const fn since(since: u64, check: CheckPod) -> Revision {
    Revision { since, overrides: None, check }
}

const fn since_instead(since: u64, overrides: &'static str, check: CheckPod) -> Revision {
    Revision { since, overrides: Some(overrides), check }
}

/// Sorted by level, then by name.
const CHECKS: &[Check] = &[
    baseline("appArmorProfile", &[since(0, app_armor_profile::check)]),
    baseline("capabilities_baseline", &[since(0, capabilities::baseline)]),
    baseline("hostNamespaces", &[since(0, host_namespaces::check)]),
    baseline("hostPathVolumes", &[since(0, host_path_volumes::check)]),
    baseline("hostPorts", &[since(0, host_ports::check)]),
    baseline("hostProbesAndHostLifecycle", &[since(34, host_probes::check)]),
    baseline("privileged", &[since(0, privileged::check)]),
    baseline("procMount", &[since(0, proc_mount::check), since(35, |pod| by_users(pod, proc_mount::check))]),
    baseline(
        "seLinuxOptions",
        &[since(0, |pod| se_linux_options::check(pod, 0)), since(31, |pod| se_linux_options::check(pod, 31))],
    ),
    baseline(
        "seccompProfile_baseline",
        &[since(0, seccomp_profile::annotations), since(19, seccomp_profile::baseline)],
    ),
    baseline(
        "sysctls",
        &[
            since(0, |pod| sysctls::check(pod, 0)),
            since(27, |pod| sysctls::check(pod, 27)),
            since(29, |pod| sysctls::check(pod, 29)),
            since(32, |pod| sysctls::check(pod, 32)),
            since(37, |pod| sysctls::check(pod, 37)),
        ],
    ),
    baseline("windowsHostProcess", &[since(0, windows_host_process::check)]),
    restricted(
        "allowPrivilegeEscalation",
        &[
            since(8, privilege_escalation::check),
            since(25, |pod| but_windows(pod, privilege_escalation::check)),
        ],
    ),
    restricted(
        "capabilities_restricted",
        &[
            since_instead(22, "capabilities_baseline", capabilities::restricted),
            since_instead(25, "capabilities_baseline", |pod| but_windows(pod, capabilities::restricted)),
        ],
    ),
    restricted("procMount_restricted", &[since_instead(35, "procMount", proc_mount::check)]),
    restricted("restrictedVolumes", &[since_instead(0, "hostPathVolumes", restricted_volumes::check)]),
    restricted(
        "runAsNonRoot",
        &[since(0, run_as_non_root::check), since(35, |pod| by_users(pod, run_as_non_root::check))],
    ),
    restricted(
        "runAsUser",
        &[since(23, run_as_user::check), since(35, |pod| by_users(pod, run_as_user::check))],
    ),
    restricted(
        "seccompProfile_restricted",
        &[
            since_instead(19, "seccompProfile_baseline", seccomp_profile::restricted),
            since_instead(25, "seccompProfile_baseline", |pod| but_windows(pod, seccomp_profile::restricted)),
        ],
    ),
];

/// A check that asks nothing of pods with users of their own.
fn by_users(pod: &Pod<'_, '_>, check: CheckPod) -> Option<Violation> {
    if pod.has_own_users() { None } else { check(pod) }
}

/// A check of what Windows does not have: validation holds such a pod to not setting it.
fn but_windows(pod: &Pod<'_, '_>, check: CheckPod) -> Option<Violation> {
    if pod.is_for_windows() { None } else { check(pod) }
}

/// The checks of a level in a version, in the order of their messages.
fn of(
    LevelVersion { level, version }: LevelVersion,
) -> impl Iterator<Item = (&'static Check, &'static Revision)> {
    let minor = match version {
        Version::Minor(minor) => minor.min(NEWEST),
        Version::Latest => NEWEST,
    };
    let active = move || {
        let checks = CHECKS.iter().filter(move |check| check.level <= level);
        checks.filter_map(move |check| Some((check, check.at(minor)?)))
    };
    active().filter(move |(check, _)| !active().any(|(_, other)| other.overrides == Some(check.id)))
}

/// What a level in a version finds wrong with a pod.
pub(super) fn evaluate(asked: LevelVersion, pod: &Pod<'_, '_>) -> Vec<Violation> {
    of(asked).filter_map(|(_, revision)| (revision.check)(pod)).collect()
}
