//! Guards that are off by default: what each fills in and what it refuses.

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use ringbolt_apiserver::{
    admission::{Admission, Attributes, Operation},
    authentication::UserInfo,
    authorization::{Authorizers, Mode},
};
use ringbolt_controlplane::admission::{Config, Configurations, Enabled, Pipeline};
use ringbolt_machinery::{json, status::Status};
use serde_json::{Value as Json, json};

use super::admission::{Rig, rig_without};

/// What is asked of a pipeline.
pub(crate) struct Request<'r> {
    pub(crate) resource: &'r str,
    pub(crate) subresource: &'static str,
    pub(crate) namespace: &'r str,
    pub(crate) user: &'r str,
    pub(crate) object: &'r str,
    pub(crate) old: Option<&'r str>,
}

impl<'r> Request<'r> {
    /// A new object.
    pub(crate) fn create(resource: &'r str, object: &'r str) -> Self {
        Request { resource, subresource: "", namespace: "ns", user: "jane", object, old: None }
    }

    /// A change of one.
    pub(crate) fn update(resource: &'r str, object: &'r str, old: &'r str) -> Self {
        Request { old: Some(old), ..Request::create(resource, object) }
    }

    /// What it comes to, and the warnings.
    pub(crate) fn of(&self, rig: &Rig) -> (Result<Json, Status>, Vec<String>) {
        let (arena, mut user) = (Bump::new(), UserInfo::anonymous());
        user.name = self.user.into();
        let served = rig.served(self.resource);
        let decode = |text: &str| {
            let text = arena.alloc_slice_copy(text.as_bytes());
            json::decode_typed(&arena, rig.schema, served.facts.ty, text, json::Mode::Strict).unwrap().value
        };
        let (mut object, old) = (decode(self.object), self.old.map(decode));
        let warnings = RefCell::default();
        let name = object.str_at(&["metadata", "name"]).unwrap_or("").to_owned();
        let attributes = Attributes {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            served,
            subresource: self.subresource,
            namespace: if served.facts.namespaced { self.namespace } else { "" },
            name: &name,
            user: &user,
            dry_run: false,
            storage: &*rig.storage,
            warnings: &warnings,
        };
        let admitted = rig.pipeline.admit(&attributes, &arena, &mut object, old.as_ref());
        let admitted =
            admitted.and_then(|()| rig.pipeline.validate(&attributes, &arena, Some(&object), old.as_ref()));
        let charged = admitted
            .and_then(|()| rig.pipeline.charge(&attributes, &arena, &object, old.as_ref()).map(|_| ()));
        let survey =
            charged.is_ok().then(|| rig.pipeline.survey(&attributes, &object, old.as_ref()?)).flatten();
        if let Some(mut survey) = survey {
            let told = (0..SURVEY_STEPS_MAX).find_map(|_| survey.step()).expect("it ends");
            warnings.borrow_mut().extend(told);
        }
        let result = charged.map(|()| {
            let mut out = Vec::new();
            json::encode(rig.schema, served.facts.ty, &object, &mut out);
            serde_json::from_slice(&out).unwrap()
        });
        (result, warnings.into_inner())
    }
}

/// Steps that a look at all pods of the largest namespace of a test may take.
const SURVEY_STEPS_MAX: usize = 1_000;

/// With these plugins besides those of the default, without the one that wants an account for each pod. `plugins` is
/// their configuration.
pub(crate) fn rig_of(enabled: &[&str], plugins: &[(&str, &str)], mode: Mode) -> Rig {
    let mut rig = rig_without(&["ServiceAccount"]);
    let names: Vec<String> = enabled.iter().map(|name| (*name).to_owned()).collect();
    let enabled = Enabled::new(&names, &["ServiceAccount".to_owned()]);
    let texts: Vec<_> =
        plugins.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    let mut errors = Vec::new();
    let configurations = Configurations::new(enabled, &texts, &mut errors);
    assert!(errors.is_empty(), "{errors:?}");
    let config = Config { enabled, not_ready_seconds: 300, unreachable_seconds: 60, configurations };
    let authorizers = Arc::new(Authorizers::of_modes(&[mode]));
    rig.pipeline = Pipeline::new(rig.schema, &rig.registry, config, authorizers);
    rig
}

fn rig_with(enabled: &[&str]) -> Rig {
    let rig = rig_of(enabled, &[], Mode::AlwaysDeny);
    rig.store("/v1/namespaces", "", r#"{"metadata":{"name":"ns"}}"#);
    rig
}

fn message(result: Result<Json, Status>) -> String {
    result.map(|json| json.to_string()).unwrap_err().message
}

#[test]
fn images_are_always_pulled() {
    let rig = rig_with(&["AlwaysPullImages"]);
    let pod = r#"{"metadata":{"name":"a"},"spec":{"initContainers":[{"name":"i","image":"x"}],
        "containers":[{"name":"c","image":"y","imagePullPolicy":"Never"}],
        "volumes":[{"name":"v","image":{"reference":"z","pullPolicy":"IfNotPresent"}}]}}"#;
    let spec = &Request::create("/v1/pods", pod).of(&rig).0.unwrap()["spec"];
    assert_eq!(spec["initContainers"][0]["imagePullPolicy"], "Always");
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(spec["volumes"][0]["image"]["pullPolicy"], "Always");
    // A change without a new image is let alone.
    let spec = &Request::update("/v1/pods", pod, pod).of(&rig).0.unwrap()["spec"];
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Never");
    let other = pod.replace(r#""y""#, r#""w""#);
    let spec = &Request::update("/v1/pods", &other, pod).of(&rig).0.unwrap()["spec"];
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Always");
}

#[test]
fn anti_affinity_is_of_a_host() {
    let rig = rig_with(&["LimitPodHardAntiAffinityTopology"]);
    let pod = |key: &str| {
        format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"containers":[],"affinity":{{"podAntiAffinity":
            {{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"{key}"}}]}}}}}}}}"#
        )
    };
    assert!(Request::create("/v1/pods", &pod("kubernetes.io/hostname")).of(&rig).0.is_ok());
    assert_eq!(
        message(Request::create("/v1/pods", &pod("zone")).of(&rig).0),
        r#"pods "a" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed"#
    );
}

#[test]
fn extended_resources_are_tolerated() {
    let rig = rig_with(&["ExtendedResourceToleration"]);
    let pod = r#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":
        {"z.io/b":"1","cpu":"1","requests.x.io/y":"1"}}}],"initContainers":[{"name":"i","resources":{"requests":
        {"a.io/b":"1"}}}],"tolerations":[{"key":"z.io/b","operator":"Exists","effect":"NoSchedule"}]}}"#;
    let tolerations = &Request::create("/v1/pods", pod).of(&rig).0.unwrap()["spec"]["tolerations"];
    let keys: Vec<_> = tolerations.as_array().unwrap().iter().map(|t| t["key"].as_str().unwrap()).collect();
    let gone = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    assert_eq!(keys, ["z.io/b", gone[0], gone[1], "a.io/b"]);
    assert_eq!(tolerations[3], json!({"key": "a.io/b", "operator": "Exists", "effect": "NoSchedule"}));
}

#[test]
fn external_addresses_are_denied() {
    let rig = rig_with(&["DenyServiceExternalIPs"]);
    let service = |ips: &str| format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"externalIPs":[{ips}]}}}}"#);
    let denied = r#"services "a" is forbidden: Use of external IPs is denied by admission control"#;
    let (none, one, two) = (service(""), service(r#""1.1.1.1""#), service(r#""1.1.1.1","2.2.2.2""#));
    assert!(Request::create("/v1/services", &none).of(&rig).0.is_ok());
    assert_eq!(message(Request::create("/v1/services", &one).of(&rig).0), denied);
    assert!(Request::update("/v1/services", &one, &two).of(&rig).0.is_ok());
    assert_eq!(message(Request::update("/v1/services", &two, &one).of(&rig).0), denied);
}

#[test]
fn pods_run_where_their_namespace_says() {
    let set_up = "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b, strict: 'a=b,c=d'}";
    let rig = rig_of(&["PodNodeSelector"], &[("PodNodeSelector", set_up)], Mode::AlwaysDeny);
    for (name, annotations) in [
        ("plain", "{}"),
        ("strict", "{}"),
        ("own", r#"{"scheduler.alpha.kubernetes.io/node-selector":"x=y, z = w"}"#),
        ("broken", r#"{"scheduler.alpha.kubernetes.io/node-selector":"x"}"#),
    ] {
        let text = format!(r#"{{"metadata":{{"name":"{name}","annotations":{annotations}}}}}"#);
        rig.store("/v1/namespaces", "", &text);
    }
    let check = |namespace: &str, selector: &str, expect: Result<Json, &str>| {
        let pod =
            format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"containers":[],"nodeSelector":{selector}}}}}"#);
        let request = Request { namespace, ..Request::create("/v1/pods", &pod) };
        let got = request.of(&rig).0.map(|pod| pod["spec"]["nodeSelector"].clone()).map_err(|s| s.message);
        assert_eq!(got, expect.map_err(str::to_owned), "{namespace} {selector}");
    };
    const CONFLICT: &str =
        r#"pods "a" is forbidden: pod node label selector conflicts with its namespace node label selector"#;
    check("plain", "{}", Ok(json!({"a": "b"})));
    check("plain", r#"{"q":"r"}"#, Ok(json!({"q": "r", "a": "b"})));
    check("plain", r#"{"a":"c"}"#, Err(CONFLICT));
    check("own", r#"{"a":"c"}"#, Ok(json!({"a": "c", "x": "y", "z": "w"})));
    check("strict", r#"{"c":"d"}"#, Ok(json!({"c": "d", "a": "b"})));
    check(
        "strict",
        r#"{"q":"r"}"#,
        Err(r#"pods "a" is forbidden: pod node label selector labels conflict with its namespace whitelist"#),
    );
    check("broken", "{}", Err("invalid selector: [x]"));
}

#[test]
fn pods_tolerate_what_their_namespace_says() {
    const SET_UP: &str = r#"{"apiVersion":"podtolerationrestriction.admission.k8s.io/v1alpha1","kind":"Configuration",
        "default":[{"key":"d","operator":"Exists"}],"whitelist":[{"key":"d","operator":"Exists"},
        {"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]}"#;
    let plugin = "PodTolerationRestriction";
    let names = [plugin.to_owned()];
    let disabled = ["ServiceAccount", "DefaultTolerationSeconds"].map(str::to_owned);
    let enabled = Enabled::new(&names, &disabled);
    let texts = [(plugin.to_owned(), SET_UP.as_bytes().to_vec())];
    let configurations = Configurations::new(enabled, &texts, &mut Vec::new());
    let config = Config { enabled, not_ready_seconds: 0, unreachable_seconds: 0, configurations };
    let mut rig = rig_without(&[]);
    let authorizers = Arc::new(Authorizers::of_modes(&[Mode::AlwaysDeny]));
    rig.pipeline = Pipeline::new(rig.schema, &rig.registry, config, authorizers);
    let of = "scheduler.alpha.kubernetes.io/";
    for (name, annotations) in [
        ("plain", String::new()),
        ("open", format!(r#""{of}defaultTolerations":"","{of}tolerationsWhitelist":"""#)),
        (
            "own",
            format!(r#""{of}tolerationsWhitelist":"[{{\"key\":\"q\",\"operator\":\"Exists\",\"new\":1}}]""#),
        ),
        ("broken", format!(r#""{of}defaultTolerations":"{{}}""#)),
    ] {
        let text = format!(r#"{{"metadata":{{"name":"{name}","annotations":{{{annotations}}}}}}}"#);
        rig.store("/v1/namespaces", "", &text);
    }
    let check = |namespace: &str, tolerations: &str, requests: &str, expect: Result<&str, &str>| {
        let pod = format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"containers":[{{"name":"c","resources":{{"requests":{requests}}}}}],
            "tolerations":[{tolerations}]}}}}"#
        );
        let request = Request { namespace, ..Request::create("/v1/pods", &pod) };
        let got = request.of(&rig).0.map(|pod| {
            let list = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
            list.iter().map(|t| t["key"].as_str().unwrap_or("*").to_owned()).collect::<Vec<_>>().join(" ")
        });
        let expect = expect.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(got.map_err(|s| s.message), expect, "{namespace} {tolerations}");
    };
    const REFUSED: &str =
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its";
    check("plain", "", "{}", Ok("d"));
    check("plain", "", r#"{"cpu":"1"}"#, Ok("d node.kubernetes.io/memory-pressure"));
    check("plain", r#"{"key":"x","operator":"Exists"}"#, "{}", Err(&format!("{REFUSED} cluster whitelist")));
    check("plain", r#"{"operator":"Exists"}"#, "{}", Err(&format!("{REFUSED} cluster whitelist")));
    check("open", "", "{}", Ok(""));
    check("open", r#"{"key":"x","operator":"Exists"}"#, "{}", Ok("x"));
    check(
        "own",
        r#"{"key":"q","operator":"Equal","value":"v"}"#,
        "{}",
        Err(&format!("{REFUSED} namespace whitelist")),
    );
    check("broken", "", "{}", Err("json: cannot unmarshal object into Go value of type []v1.Toleration"));
}

#[test]
fn events_are_limited() {
    const SET_UP: &str = "{apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: \
        [{type: User, qps: 1, burst: 2}, {type: Server, qps: 1, burst: 3}]}";
    let rig = rig_of(&["EventRateLimit"], &[("EventRateLimit", SET_UP)], Mode::AlwaysDeny);
    let event = r#"{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod"}}"#;
    let ask = |user| Request { user, ..Request::create("/v1/events", event) }.of(&rig).0;
    assert!(ask("a").is_ok() && ask("a").is_ok());
    let refused = ask("a").unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (429, "Too many requests: limit reached on type User for key a")
    );
    // The others' buckets were asked all the same.
    assert_eq!(message(ask("b")), "Too many requests: limit reached on type Server for key ");
    assert_eq!(
        message(ask("a")),
        "Too many requests: [limit reached on type User for key a, limit reached on type Server for key ]"
    );
    let other = Request::create("events.k8s.io/v1/events", event);
    assert!(other.of(&rig).0.is_ok());
}

#[test]
fn everything_is_denied() {
    let rig = rig_with(&["AlwaysDeny"]);
    let got = Request::create("/v1/configmaps", r#"{"metadata":{"name":"a"}}"#).of(&rig).0;
    assert_eq!(
        message(got),
        r#"configmaps "a" is forbidden: admission control is denying all modifications"#
    );
}

#[test]
fn owners_are_set_by_who_may() {
    let object = |owners: &str| format!(r#"{{"metadata":{{"name":"a","ownerReferences":[{owners}]}}}}"#);
    let owner = |api_version: &str, kind: &str, block: bool| {
        format!(
            r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"o","uid":"u","blockOwnerDeletion":{block}}}"#
        )
    };
    let plugin = &["OwnerReferencesPermissionEnforcement"];
    let (denies, allows) = (rig_of(plugin, &[], Mode::AlwaysDeny), rig_of(plugin, &[], Mode::AlwaysAllow));
    let check = |old: Option<&str>, new: &str, expect: &str| {
        let (new, old) = (object(new), old.map(object));
        let request = |rig: &Rig, resource: &str, subresource| {
            let request = Request { old: old.as_deref(), subresource, ..Request::create(resource, &new) };
            request.of(rig).0.err().map_or_else(String::new, |refused| refused.message)
        };
        assert_eq!(request(&allows, "/v1/configmaps", ""), "", "{new}");
        assert_eq!(request(&denies, "/v1/pods", "status"), "", "{new}");
        let got = request(&denies, "/v1/configmaps", "");
        assert!(got.contains(expect) && got.is_empty() == expect.is_empty(), "{new}: {got}");
    };
    let (mild, blocking) = (owner("v1", "Pod", false), owner("v1", "Pod", true));
    check(None, "", "");
    check(None, &mild, "");
    check(
        None,
        &blocking,
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ",
    );
    check(
        None,
        &owner("v1", "Foo", true),
        r#"cannot find RESTMapping for APIVersion v1 Kind Foo: no matches for kind "Foo" in version "v1""#,
    );
    check(Some(&mild), &mild, "");
    check(Some(&blocking), &blocking, "");
    check(Some(&blocking), &mild, "cannot set an ownerRef on a resource you can't delete: ");
    check(Some(&mild), "", "cannot set an ownerRef on a resource you can't delete: ");
}
