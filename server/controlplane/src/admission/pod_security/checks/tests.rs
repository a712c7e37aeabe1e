//! Each check by version: what it says of a pod, and since when.

use bumpalo::Bump;
use ringbolt_machinery::json::decode_untyped;

use super::{CHECKS, NEWEST, evaluate, of};
use crate::admission::pod_security::{
    pod::Pod,
    policy::{Level, LevelVersion, Version},
    violation::details,
};

/// What a level in a version says of the pod with this spec and these annotations.
fn said(level: Level, version: Version, annotations: &str, spec: &str) -> String {
    let arena = Bump::new();
    let text = arena.alloc_str(&format!(r#"{{"metadata":{{"annotations":{annotations}}},"spec":{spec}}}"#));
    let object = decode_untyped(&arena, text.as_bytes()).unwrap();
    details(&evaluate(LevelVersion { level, version }, &Pod::of(&object)))
}

/// Holds what is said of a pod to a list of (first minor version, text); what comes first is said from 0 on.
fn check_annotated(level: Level, annotations: &str, spec: &str, expect: &[(u64, &str)]) {
    for minor in 0..=NEWEST {
        let (_, text) = expect.iter().rev().find(|(since, _)| *since <= minor).unwrap();
        let version = Version::Minor(minor);
        assert_eq!(
            said(level, version, annotations, spec),
            *text,
            "{level:?} v1.{minor} of {annotations} {spec}"
        );
    }
    // What is still to come is judged by the newest.
    let (_, newest) = expect.last().unwrap();
    for version in [Version::Latest, Version::Minor(NEWEST + 1), Version::Minor(u64::MAX)] {
        assert_eq!(said(level, version, annotations, spec), *newest, "{level:?} {version} of {spec}");
    }
    assert_eq!(said(Level::Privileged, Version::Latest, annotations, spec), "");
}

fn check(level: Level, spec: &str, expect: &[(u64, &str)]) {
    check_annotated(level, "{}", spec, expect);
}

fn baseline(spec: &str, expect: &[(u64, &str)]) {
    check(Level::Baseline, spec, expect);
}

/// A spec that the restricted level says nothing of, but for what is put in: members of the spec, and of the container.
fn hardened(pod: &str, container: &str) -> String {
    format!(
        r#"{{"securityContext":{{"runAsNonRoot":true,"seccompProfile":{{"type":"RuntimeDefault"}}}},
        "containers":[{{"name":"a","securityContext":{{"allowPrivilegeEscalation":false,
        "capabilities":{{"drop":["ALL"]}}{container}}}}}]{pod}}}"#
    )
}

fn restricted(pod: &str, container: &str, expect: &[(u64, &str)]) {
    check(Level::Restricted, &hardened(pod, container), expect);
}

/// Two containers with the same security context, of different sorts.
fn both(context: &str) -> String {
    format!(
        r#"{{"initContainers":[{{"name":"i","securityContext":{context}}}],"containers":[{{"name":"c"}}],
        "ephemeralContainers":[{{"name":"e","securityContext":{context}}}]}}"#
    )
}

#[test]
fn the_table_is_in_order() {
    let key = |check: &super::Check| (check.level, check.id);
    assert!(CHECKS.is_sorted_by(|a, b| key(a) < key(b)));
    for check in CHECKS {
        assert!(check.revisions.is_sorted_by(|a, b| a.since < b.since), "{}", check.id);
        assert!(check.revisions.iter().all(|revision| revision.since <= NEWEST), "{}", check.id);
        for overridden in check.revisions.iter().filter_map(|revision| revision.overrides) {
            let found = CHECKS.iter().find(|other| other.id == overridden).unwrap();
            assert_eq!((check.level, found.level), (Level::Restricted, Level::Baseline), "{}", check.id);
        }
    }
}

#[test]
fn checks_of_a_level() {
    let count = |level, minor| of(LevelVersion { level, version: Version::Minor(minor) }).count();
    let check = |minor, expect: (usize, usize)| {
        assert_eq!((count(Level::Baseline, minor), count(Level::Restricted, minor)), expect, "v1.{minor}");
    };
    check(0, (11, 12));
    check(8, (11, 13));
    check(19, (11, 13));
    check(22, (11, 13));
    check(23, (11, 14));
    check(34, (12, 15));
    check(37, (12, 15));
    assert_eq!(count(Level::Privileged, 37), 0);
}

#[test]
fn a_hardened_pod_is_told_nothing() {
    restricted("", "", &[(0, "")]);
    baseline("{}", &[(0, "")]);
    // A template without a spec has no containers that could be wrong.
    check(Level::Restricted, "null", &[(0, "")]);
}

#[test]
fn app_armor() {
    let setters = r#"{"securityContext":{"appArmorProfile":{"type":"Unconfined"}},"containers":[
        {"name":"a","securityContext":{"appArmorProfile":{"type":"Other"}}},
        {"name":"b","securityContext":{"appArmorProfile":{"type":"Localhost"}}}]}"#;
    let text = r#"forbidden AppArmor profiles (pod and container "a" must not set AppArmor profile type to "Other", "Unconfined")"#;
    baseline(setters, &[(0, text)]);
    let annotations = r#"{"container.apparmor.security.beta.kubernetes.io/a":"un\"confined",
        "container.apparmor.security.beta.kubernetes.io/b":"localhost/x",
        "container.apparmor.security.beta.kubernetes.io/c":"runtime/default",
        "container.apparmor.security.beta.kubernetes.io/d":"","other":"unconfined"}"#;
    let text = r#"forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/a="un\"confined"")"#;
    check_annotated(Level::Baseline, annotations, "{}", &[(0, text)]);
    let annotations = r#"{"container.apparmor.security.beta.kubernetes.io/z":"y",
        "container.apparmor.security.beta.kubernetes.io/a":"x"}"#;
    let text = r#"forbidden AppArmor profiles (annotations must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/a="x"", "container.apparmor.security.beta.kubernetes.io/z="y"")"#;
    check_annotated(Level::Baseline, annotations, "{}", &[(0, text)]);
}

#[test]
fn capabilities() {
    let spec = both(r#"{"capabilities":{"add":["SYS_ADMIN","CHOWN","NET_RAW"]}}"#);
    let text = r#"non-default capabilities (containers "i", "e" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)"#;
    baseline(&spec, &[(0, text)]);
    baseline(&both(r#"{"capabilities":{"add":["CHOWN","NET_BIND_SERVICE"]}}"#), &[(0, "")]);
    let add = r#","capabilities":{"drop":["CHOWN"],"add":["NET_BIND_SERVICE","CHOWN"]}"#;
    let text = r#"unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "CHOWN" in securityContext.capabilities.add)"#;
    // The last member of a name counts.
    restricted("", add, &[(0, ""), (22, text)]);
    restricted(r#","os":{"name":"windows"}"#, add, &[(0, ""), (22, text), (25, "")]);
    restricted(r#","os":{"name":"linux"}"#, add, &[(0, ""), (22, text)]);
    // In its place the baseline's is heard until then.
    let add = r#","capabilities":{"drop":["ALL"],"add":["NET_RAW"]}"#;
    let what = r#"container "a" must not include "NET_RAW" in securityContext.capabilities.add"#;
    let (old, new) =
        (format!("non-default capabilities ({what})"), format!("unrestricted capabilities ({what})"));
    restricted("", add, &[(0, &old), (22, &new)]);
    let bare =
        r#"unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])"#;
    restricted("", r#","capabilities":null"#, &[(0, ""), (22, bare)]);
}

#[test]
fn what_is_the_hosts() {
    let spec = r#"{"hostNetwork":true,"hostPID":true,"hostIPC":true,"containers":[]}"#;
    baseline(spec, &[(0, "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)")]);
    baseline(r#"{"hostNetwork":false,"hostIPC":true}"#, &[(0, "host namespaces (hostIPC=true)")]);
    let volumes = r#"{"volumes":[{"name":"a","hostPath":{"path":"/"}},{"name":"b","emptyDir":{}},
        {"name":"c","hostPath":{"path":"/"}}]}"#;
    baseline(volumes, &[(0, r#"hostPath volumes (volumes "a", "c")"#)]);
    let ports = r#"{"containers":[{"name":"a","ports":[{"hostPort":80},{"hostPort":9},{"hostPort":0}]},
        {"name":"b","ports":[{"containerPort":1}]},{"name":"c","ports":[{"hostPort":80}]}]}"#;
    baseline(ports, &[(0, r#"hostPort (containers "a", "c" use hostPorts 80, 9)"#)]);
    let port = r#"{"initContainers":[{"name":"a","ports":[{"hostPort":80}]}]}"#;
    baseline(port, &[(0, r#"hostPort (container "a" uses hostPort 80)"#)]);
    let windows = r#"{"securityContext":{"windowsOptions":{"hostProcess":true}},
        "containers":[{"name":"a","securityContext":{"windowsOptions":{"hostProcess":true}}},
        {"name":"b","securityContext":{"windowsOptions":{"hostProcess":false}}}]}"#;
    let text =
        r#"hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)"#;
    baseline(windows, &[(0, text)]);
}

#[test]
fn hosts_of_probes() {
    let spec = r#"{"containers":[
        {"name":"z","livenessProbe":{"httpGet":{"host":"h"}},"lifecycle":{"preStop":{"tcpSocket":{"host":"b"}}}},
        {"name":"a","startupProbe":{"tcpSocket":{"host":"h"}},"readinessProbe":{"httpGet":{"host":""}}},
        {"name":"c","livenessProbe":{"exec":{}}}]}"#;
    let text = r#"probe or lifecycle host (containers "a", "z" use probe or lifecycle hosts "b", "h")"#;
    baseline(spec, &[(0, ""), (34, text)]);
    let spec = r#"{"containers":[{"name":"a","lifecycle":{"postStart":{"httpGet":{"host":"h"}}}}]}"#;
    baseline(
        spec,
        &[(0, ""), (34, r#"probe or lifecycle host (container "a" uses probe or lifecycle host "h")"#)],
    );
}

#[test]
fn privilege() {
    let text = r#"privileged (containers "i", "e" must not set securityContext.privileged=true)"#;
    baseline(&both(r#"{"privileged":true}"#), &[(0, text)]);
    baseline(&both(r#"{"privileged":false}"#), &[(0, "")]);
    let text = r#"allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)"#;
    for value in ["true", "null"] {
        let member = format!(r#","allowPrivilegeEscalation":{value}"#);
        restricted("", &member, &[(0, ""), (8, text)]);
        restricted(r#","os":{"name":"windows"}"#, &member, &[(0, ""), (8, text), (25, "")]);
    }
}

#[test]
fn proc_mount() {
    let spec = |users: &str| {
        format!(r#"{{"containers":[{{"name":"a","securityContext":{{"procMount":"Unmasked"}}}}]{users}}}"#)
    };
    let text = r#"procMount (container "a" must not set securityContext.procMount to "Unmasked")"#;
    baseline(&spec(""), &[(0, text)]);
    baseline(&spec(r#","hostUsers":true"#), &[(0, text)]);
    baseline(&spec(r#","hostUsers":false"#), &[(0, text), (35, "")]);
    baseline(&both(r#"{"procMount":"Default"}"#), &[(0, "")]);
    // The stricter level is not milder to pods with users of their own, and says it but once.
    restricted(r#","hostUsers":false"#, r#","procMount":"Unmasked""#, &[(0, text)]);
}

#[test]
fn volumes() {
    let volumes = r#","volumes":[{"name":"a","nfs":{}},{"name":"b","secret":{}},{"name":"c","hostPath":{}},
        {"name":"d","iscsi":{}},{"name":"e","image":{}},{"name":"f","new":{}},{"name":"g","nfs":{}}]"#;
    let text = r#"restricted volume types (volumes "a", "c", "d", "f", "g" use restricted volume types "hostPath", "iscsi", "nfs", "unknown")"#;
    restricted(volumes, "", &[(0, text)]);
    let volume = r#","volumes":[{"name":"a","flexVolume":{}}]"#;
    restricted(
        volume,
        "",
        &[(0, r#"restricted volume types (volume "a" uses restricted volume type "flexVolume")"#)],
    );
}

#[test]
fn root() {
    let implicit = r#"{"containers":[{"name":"a","securityContext":{"runAsNonRoot":true,
        "allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}},
        {"name":"b","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}],
        "securityContext":{"seccompProfile":{"type":"Localhost"}}USERS}"#;
    let text = r#"runAsNonRoot != true (pod or container "b" must set securityContext.runAsNonRoot=true)"#;
    check(Level::Restricted, &implicit.replace("USERS", ""), &[(0, text)]);
    let own = implicit.replace("}USERS", r#"},"hostUsers":false"#);
    check(Level::Restricted, &own, &[(0, text), (35, "")]);
    let text = r#"runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)"#;
    restricted("", r#","runAsNonRoot":false"#, &[(0, text)]);
    let both = r#","securityContext":{"runAsNonRoot":false,"seccompProfile":{"type":"RuntimeDefault"}}"#;
    let text =
        r#"runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false)"#;
    restricted(both, r#","runAsNonRoot":false"#, &[(0, text)]);
    let text = r#"runAsUser=0 (container "a" must not set runAsUser=0)"#;
    restricted("", r#","runAsUser":0"#, &[(0, ""), (23, text)]);
    restricted(r#","hostUsers":false"#, r#","runAsUser":0"#, &[(0, ""), (23, text), (35, "")]);
    restricted("", r#","runAsUser":1"#, &[(0, "")]);
}

#[test]
fn se_linux() {
    let spec = r#"{"securityContext":{"seLinuxOptions":{"type":"x","user":"u"}},"containers":[
        {"name":"a","securityContext":{"seLinuxOptions":{"role":"r"}}},
        {"name":"b","securityContext":{"seLinuxOptions":{"type":"y"}}},
        {"name":"c","securityContext":{"seLinuxOptions":{"type":"container_t"}}}]}"#;
    let text = r#"seLinuxOptions (pod and containers "a", "b" set forbidden securityContext.seLinuxOptions: types "x", "y"; user may not be set; role may not be set)"#;
    baseline(spec, &[(0, text)]);
    let engine =
        r#"{"containers":[{"name":"a","securityContext":{"seLinuxOptions":{"type":"container_engine_t"}}}]}"#;
    let text = r#"seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "container_engine_t")"#;
    baseline(engine, &[(0, text), (31, "")]);
    let user = r#"{"securityContext":{"seLinuxOptions":{"user":"u"}}}"#;
    let text = "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)";
    baseline(user, &[(0, text)]);
}

#[test]
fn seccomp() {
    let annotations = r#"{"seccomp.security.alpha.kubernetes.io/pod":"unconfined",
        "container.seccomp.security.alpha.kubernetes.io/a":"x","container.seccomp.security.alpha.kubernetes.io/b":"y",
        "container.seccomp.security.alpha.kubernetes.io/c":"localhost/z"}"#;
    let spec = r#"{"containers":[{"name":"a"},{"name":"c"}]}"#;
    let text = r#"seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/a="x", seccomp.security.alpha.kubernetes.io/pod="unconfined")"#;
    check_annotated(Level::Baseline, annotations, spec, &[(0, text), (19, "")]);
    let annotation = r#"{"seccomp.security.alpha.kubernetes.io/pod":"docker/default"}"#;
    check_annotated(Level::Baseline, annotation, spec, &[(0, "")]);
    let spec = r#"{"securityContext":{"seccompProfile":{"type":"Unconfined"}},"containers":[
        {"name":"a","securityContext":{"seccompProfile":{"type":"Unconfined"}}}]}"#;
    let text = r#"seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")"#;
    baseline(spec, &[(0, ""), (19, text)]);
    let silent = r#","securityContext":{"runAsNonRoot":true}"#;
    let text = r#"seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
    restricted(silent, "", &[(0, ""), (19, text)]);
    restricted(&format!(r#"{silent},"os":{{"name":"windows"}}"#), "", &[(0, ""), (19, text), (25, "")]);
    restricted(silent, r#","seccompProfile":{"type":"Localhost"}"#, &[(0, "")]);
}

#[test]
fn sysctls() {
    let spec = r#"{"securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced"},{"name":"z"},
        {"name":"net.ipv4.ip_local_reserved_ports"},{"name":"net.ipv4.tcp_fin_timeout"},
        {"name":"net.ipv4.tcp_rmem"},{"name":"net.ipv4.tcp_notsent_lowat"}]}}"#;
    let all = [
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_notsent_lowat",
    ];
    let text = |from: usize| {
        let names = ["z"].into_iter().chain(all[from..].iter().copied()).collect::<Vec<_>>().join(", ");
        format!("forbidden sysctls ({names})")
    };
    let texts = [text(0), text(1), text(2), text(3), text(4)];
    baseline(spec, &[(0, &texts[0]), (27, &texts[1]), (29, &texts[2]), (32, &texts[3]), (37, &texts[4])]);
}

#[test]
fn reasons_come_in_the_order_of_names() {
    let spec = r#"{"hostPID":true,"containers":[{"name":"a","securityContext":{"privileged":true,"runAsUser":0},
        "ports":[{"hostPort":1}]}],"volumes":[{"name":"v","hostPath":{}}]}"#;
    let text = r#"host namespaces (hostPID=true), hostPort (container "a" uses hostPort 1), privileged (container "a" must not set securityContext.privileged=true), allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), restricted volume types (volume "v" uses restricted volume type "hostPath"), runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), runAsUser=0 (container "a" must not set runAsUser=0), seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
    assert_eq!(said(Level::Restricted, Version::Latest, "{}", spec), text);
}
