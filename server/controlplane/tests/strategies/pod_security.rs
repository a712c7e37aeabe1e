//! PodSecurity on a store: what namespaces ask of their pods, and what they are told.

use std::cell::RefCell;

use bumpalo::Bump;
use ringbolt_apiserver::{
    admission::{Admission as _, Attributes, Operation},
    authentication::UserInfo,
    authorization::Mode,
};
use ringbolt_machinery::json;

use super::{
    admission::Rig,
    guards::{Request, rig_of},
};

const SET_UP: &str = "{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, \
    defaults: {warn: baseline, warn-version: v1.20}, \
    exemptions: {usernames: [bob], namespaces: [exempt], runtimeClasses: [vm]}}";

fn labels(labels: &[(&str, &str)]) -> String {
    let labels = labels.iter().map(|(key, value)| format!(r#""pod-security.kubernetes.io/{key}":"{value}""#));
    labels.collect::<Vec<_>>().join(",")
}

fn namespace(name: &str, of: &[(&str, &str)]) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","labels":{{{}}}}}}}"#, labels(of))
}

fn rig(plugins: &[(&str, &str)]) -> Rig {
    rig_of(&[], plugins, Mode::AlwaysDeny)
}

fn pod(name: &str, meta: &str, spec: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"{meta}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]{spec}}}}}"#
    )
}

/// What becomes of a request: a refusal's message, or nothing, and the warnings.
fn told(rig: &Rig, request: &Request<'_>) -> (String, Vec<String>) {
    let (result, warnings) = request.of(rig);
    (result.err().map_or_else(String::new, |refused| refused.message), warnings)
}

#[test]
fn pods_are_refused_or_warned_of() {
    let rig = rig(&[]);
    let check = |of: &[(&str, &str)], refusal: &str, warning: &str| {
        let name = of.iter().map(|(key, value)| format!("{key}-{value}")).collect::<Vec<_>>().join("-");
        let name = format!("n{name}");
        rig.store("/v1/namespaces", "", &namespace(&name, of));
        let pod = pod("a", "", r#","hostPID":true"#);
        let request = Request { namespace: &name, ..Request::create("/v1/pods", &pod) };
        let warnings: Vec<_> = [warning].into_iter().filter(|w| !w.is_empty()).map(str::to_owned).collect();
        assert_eq!(told(&rig, &request), (refusal.to_owned(), warnings), "{of:?}");
    };
    check(&[], "", "");
    check(&[("enforce", "privileged")], "", "");
    check(&[("audit", "restricted")], "", "");
    let text =
        |level: &str| format!(r#"violate{} "{level}": host namespaces (hostPID=true)"#, "{} PodSecurity");
    let would = |level: &str| format!("would {}", text(level).replace("{}", ""));
    let refused = |level: &str| format!(r#"pods "a" is forbidden: {}"#, text(level).replace("{}", "s"));
    check(&[("warn", "baseline")], "", &would("baseline:latest"));
    // Who is refused is not warned besides.
    check(&[("enforce", "baseline"), ("enforce-version", "v1.99")], &refused("baseline:v1.99"), "");
    // What cannot be read asks for most.
    let rest = r#", allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
    check(&[("enforce", "no-level")], &format!("{}{rest}", refused("restricted:latest")), "");
}

#[test]
fn a_namespace_that_is_gone() {
    let pod = pod("a", "", "");
    let (refused, _) = told(&rig(&[]), &Request::create("/v1/pods", &pod));
    assert_eq!(refused, r#"Internal error occurred: failed to lookup namespace "ns""#);
}

#[test]
fn who_is_exempt() {
    let rig = rig(&[("PodSecurity", SET_UP)]);
    for name in ["ns", "exempt"] {
        rig.store("/v1/namespaces", "", &namespace(name, &[("enforce", "baseline")]));
    }
    rig.store("node.k8s.io/v1/runtimeclasses", "", r#"{"metadata":{"name":"vm"},"handler":"h"}"#);
    let (host, vm) =
        (pod("a", "", r#","hostPID":true"#), pod("a", "", r#","hostPID":true,"runtimeClassName":"vm""#));
    let refused = |namespace, user, pod| {
        let request = Request { namespace, user, ..Request::create("/v1/pods", pod) };
        !told(&rig, &request).0.is_empty()
    };
    assert!(refused("ns", "jane", &host));
    assert!(!refused("exempt", "jane", &host));
    assert!(!refused("ns", "bob", &host));
    assert!(!refused("ns", "jane", &vm));
    // Whoever labels such a namespace is told that it is in vain.
    let check = |of: &[(&str, &str)], expect: &[&str]| {
        let (now, was) = (namespace("exempt", of), namespace("exempt", &[]));
        let warnings: Vec<_> = expect
            .iter()
            .map(|policy| {
                format!(r#"namespace "exempt" is exempt from Pod Security, and the policy ({policy}) will be ignored"#)
            })
            .collect();
        assert_eq!(told(&rig, &Request::create("/v1/namespaces", &now)).1, warnings, "{of:?}");
        if of.iter().any(|(key, _)| *key == "enforce") {
            assert_eq!(told(&rig, &Request::update("/v1/namespaces", &now, &was)).1, warnings, "{of:?}");
        }
    };
    check(&[], &[]);
    check(&[("warn", "baseline"), ("warn-version", "v1.20")], &[]);
    check(&[("enforce", "baseline")], &["enforce=baseline:latest"]);
    check(
        &[("enforce", "restricted"), ("warn-version", "v1.2")],
        &["enforce=restricted:latest, warn=restricted:v1.2"],
    );
    check(&[("audit", "restricted")], &["audit=restricted:latest"]);
}

#[test]
fn labels_must_be_readable() {
    let rig = rig(&[]);
    let wrong = |key: &str| {
        format!(
            r#"Namespace "ns" is invalid: metadata.labels[pod-security.kubernetes.io/{key}]: Invalid value: "x": must be one of privileged, baseline, restricted"#
        )
    };
    let (good, bad) = (namespace("ns", &[]), namespace("ns", &[("audit", "x")]));
    assert_eq!(told(&rig, &Request::create("/v1/namespaces", &bad)).0, wrong("audit"));
    assert_eq!(told(&rig, &Request::update("/v1/namespaces", &bad, &good)).0, wrong("audit"));
    // What was wrong before may stay, but not change.
    assert_eq!(told(&rig, &Request::update("/v1/namespaces", &bad, &bad)).0, "");
    let worse = namespace("ns", &[("warn", "x")]);
    assert_eq!(told(&rig, &Request::update("/v1/namespaces", &worse, &bad)).0, wrong("warn"));
    let status = Request { subresource: "status", ..Request::update("/v1/namespaces", &bad, &good) };
    assert_eq!(told(&rig, &status).0, "");
}

#[test]
fn existing_pods_are_named() {
    let rig = rig(&[("PodSecurity", SET_UP)]);
    let owned = r#","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"x"},
        {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u","controller":true}]"#;
    let host = r#","hostNetwork":true"#;
    for (name, meta, spec) in [
        ("b", "", host),
        ("a", "", host),
        ("r1", owned, r#","hostPID":true"#),
        ("r2", owned, r#","hostPID":true"#),
        ("r3", owned, r#","hostPID":true"#),
        ("v", "", r#","hostIPC":true,"runtimeClassName":"vm""#),
        ("ok", "", ""),
        ("p", "", r#","hostPID":true,"volumes":[{"name":"v","hostPath":{"path":"/"}}]"#),
    ] {
        rig.store("/v1/pods", "ns", &pod(name, meta, spec));
    }
    rig.store("/v1/pods", "ns2", &pod("z", "", host));
    let check = |from: &[(&str, &str)], to: &[(&str, &str)], expect: &[&str]| {
        let (was, now) = (namespace("ns", from), namespace("ns", to));
        let (refusal, warnings) = told(&rig, &Request::update("/v1/namespaces", &now, &was));
        assert_eq!(
            (refusal.as_str(), warnings),
            ("", expect.iter().map(|w| (*w).to_owned()).collect()),
            "{to:?}"
        );
    };
    let baseline: &[_] = &[
        r#"existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest""#,
        "a (and 4 other pods): host namespaces",
        "p: host namespaces, hostPath volumes",
    ];
    check(&[], &[("enforce", "baseline")], baseline);
    check(&[("enforce", "restricted")], &[("enforce", "baseline")], &[]);
    check(&[("enforce", "restricted"), ("enforce-version", "v1.9")], &[("enforce", "baseline")], baseline);
    check(&[("enforce", "baseline")], &[("enforce", "baseline")], &[]);
    check(&[("enforce", "baseline")], &[("enforce", "privileged")], &[]);
    check(&[], &[("warn", "restricted"), ("audit", "restricted")], &[]);
}

#[test]
fn only_so_many_pods_are_looked_at() {
    let rig = rig(&[]);
    for at in 0..3001 {
        rig.store("/v1/pods", "ns", &pod(&format!("p{at:04}"), "", r#","hostPID":true"#));
    }
    let (was, now) = (namespace("ns", &[]), namespace("ns", &[("enforce", "baseline")]));
    let (_, warnings) = told(&rig, &Request::update("/v1/namespaces", &now, &was));
    // Time may run out earlier where this is tested.
    let first = &warnings[0];
    let checked = first.strip_prefix("new PodSecurity enforce level only checked against the first ");
    let checked = checked.and_then(|rest| rest.strip_suffix(" of 3001 existing pods"));
    let checked: usize = checked.unwrap_or_else(|| panic!("{first}")).parse().unwrap();
    assert!((1..=3000).contains(&checked), "{first}");
    assert_eq!(warnings.len(), 3);
}

/// Nobody on the core waits for all of them: they are looked at a few at a time.
#[test]
fn many_pods_are_looked_at_in_slices() {
    let rig = rig(&[]);
    for at in 0..300 {
        rig.store("/v1/pods", "ns", &pod(&format!("p{at:04}"), "", r#","hostPID":true"#));
    }
    let (served, arena, user) = (rig.served("/v1/namespaces"), Bump::new(), UserInfo::anonymous());
    let decode = |text: String| {
        let text = arena.alloc_slice_copy(text.as_bytes());
        json::decode_typed(&arena, rig.schema, served.facts.ty, text, json::Mode::Strict).unwrap().value
    };
    let (was, now) = (decode(namespace("ns", &[])), decode(namespace("ns", &[("enforce", "baseline")])));
    let warnings = RefCell::default();
    let attributes = Attributes {
        operation: Operation::Update,
        served,
        subresource: "",
        namespace: "",
        name: "ns",
        user: &user,
        dry_run: false,
        storage: &*rig.storage,
        warnings: &warnings,
    };
    let mut survey = rig.pipeline.survey(&attributes, &now, &was).expect("the level is stricter");
    // Written meanwhile, it is none of those that were there.
    rig.store("/v1/pods", "ns", &pod("later", "", r#","hostPID":true"#));
    let mut steps = 1;
    let told = loop {
        match survey.step() {
            Some(told) => break told,
            None => steps += 1,
        }
    };
    assert_eq!(told[1], "p0000 (and 299 other pods): host namespaces");
    assert!(steps >= 300 / 16 + 300 / 128, "{steps}");
    assert!(warnings.into_inner().is_empty());
}

#[test]
fn templates_are_warned_of() {
    let rig = rig(&[]);
    rig.store(
        "/v1/namespaces",
        "",
        &namespace("ns", &[("enforce", "baseline"), ("enforce-version", "v1.30")]),
    );
    let warning = r#"would violate PodSecurity "baseline:v1.30": host namespaces (hostPID=true)"#;
    let template = r#""template":{"spec":{"containers":[{"name":"c"}],"hostPID":true}}"#;
    let spec = format!(r#""spec":{{{template}}}"#);
    let cron = format!(r#""spec":{{"jobTemplate":{{{spec}}}}}"#);
    let check = |resource: &str, subresource, rest: &str, expect: &[&str]| {
        let object = format!(r#"{{"metadata":{{"name":"a"}},{rest}}}"#);
        for old in [None, Some(object.as_str())] {
            let request = Request { subresource, old, ..Request::create(resource, &object) };
            let expect: Vec<_> = expect.iter().map(|w| (*w).to_owned()).collect();
            assert_eq!(told(&rig, &request), (String::new(), expect), "{resource} {subresource}");
        }
    };
    for resource in ["deployments", "replicasets", "statefulsets", "daemonsets"] {
        check(&format!("apps/v1/{resource}"), "", &spec, &[warning]);
        check(&format!("apps/v1/{resource}"), "status", &spec, &[]);
    }
    check("/v1/replicationcontrollers", "", &spec, &[warning]);
    check("/v1/replicationcontrollers", "", r#""spec":{}"#, &[]);
    check("/v1/podtemplates", "", template, &[warning]);
    check("batch/v1/jobs", "", &spec, &[warning]);
    check("batch/v1/cronjobs", "", &cron, &[warning]);
    check("apps/v1/deployments", "scale", &spec, &[]);
}

#[test]
fn only_what_matters_is_judged_again() {
    let rig = rig(&[]);
    rig.store("/v1/namespaces", "", &namespace("ns", &[("enforce", "baseline")]));
    let old = pod("a", "", r#","hostPID":true,"ephemeralContainers":[{"name":"e","image":"x"}]"#);
    let check = |new: &str, subresource, refused: bool| {
        let request = Request { subresource, ..Request::update("/v1/pods", new, &old) };
        assert_eq!(!told(&rig, &request).0.is_empty(), refused, "{new} {subresource}");
    };
    check(&old.replace(r#""name":"a""#, r#""name":"a","labels":{"x":"y"}"#), "", false);
    check(&old.replace(r#""image":"i""#, r#""image":"j""#), "", true);
    check(&old.replace(r#""image":"i""#, r#""image":"j""#), "resize", true);
    check(&old.replace(r#""image":"i""#, r#""image":"j""#), "status", false);
    check(&old.replace(r#""image":"x""#, r#""image":"y""#), "ephemeralcontainers", true);
    check(
        &old.replace(r#"{"name":"e""#, r#"{"name":"f","image":"x"},{"name":"e""#),
        "ephemeralcontainers",
        true,
    );
    check(&old, "ephemeralcontainers", false);
}
