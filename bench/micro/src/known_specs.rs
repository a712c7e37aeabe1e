//! Pods of a spec that came before are the pods that they would be if it had not come: a test over the whole server.

use crate::{client::Client, objects, requests::Ask, server::Server};

/// Metadata that comes with each spec, and whether the status is sent too.
pub(crate) const METADATA: [(&str, &str); 9] = [
    ("", ""),
    ("", ""),
    ("", ""),
    (r#","labels":{"a":"b","tier":"x"}"#, ""),
    (r#","annotations":{"controller.kubernetes.io/pod-deletion-cost":"much"}"#, ""),
    (r#","annotations":{"seccomp.security.alpha.kubernetes.io/pod":"runtime/default"}"#, ""),
    (r#","annotations":{"container.apparmor.security.beta.kubernetes.io/server":"unconfined"}"#, ""),
    (r#","finalizers":["unqualified"]"#, ""),
    (r#","labels":{"z":"y"}"#, r#","status":{"podIP":"10.1.2.3","phase":"Running"}"#),
];

/// Specs whose outcome depends on other things than themselves, or hardly does.
pub(crate) fn specs() -> Vec<String> {
    let pod = objects::new_pod("web");
    let (_, spec) = pod.split_once(r#""spec":"#).expect("a pod has one");
    let spec = spec.strip_suffix('}').expect("it comes last").to_owned();
    let with = |member: &str| spec.replacen('{', &format!("{{{member},"), 1);
    let term = r#"{"topologyKey":"zone","labelSelector":{},"matchLabelKeys":["tier"]}"#;
    let claim = r#"{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}"#;
    let env = |value: &str| {
        format!(
            r#"{{"containers":[{{"name":"server","image":"i","env":[{{"name":"A","value":"{value}"}}]}}]}}"#
        )
    };
    vec![
        with(r#""schedulingGates":[{"name":"example.com/gate"}]"#),
        with(&format!(r#""affinity":{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{term}]}}}}"#)),
        with(r#""nodeSelector":{"beta.kubernetes.io/os":"linux"}"#),
        with(r#""restartPolicy":"Sometimes""#),
        with(r#""priorityClassName":"system-node-critical""#),
        env("kube-api-access-bcdfg"),
        env("/var/kube-api-access-bcdfg"),
        env("<é&\\u2028>"),
        format!(r#"{{"containers":[{{"name":"server","image":"i"}}],"volumes":[{{"name":"e","ephemeral":{{"volumeClaimTemplate":{claim}}}}}]}}"#),
        r#"{"containers":[{"name":"server","image":"i"}],"volumes":[{"name":"kube-api-access-bcdfg","emptyDir":{}}]}"#.to_owned(),
        r#"{"containers":[{"name":"server","image":"i"}],"unheardOf":1}"#.to_owned(),
        r#"{"containers":[{"name":"server","image":"i","name":"proxy"}]}"#.to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        spec,
    ]
}

fn post(server: &Server, metadata: &str, spec: &str, status: &str) -> String {
    let body = format!(r#"{{"metadata":{{"name":"web"{metadata}}},"spec":{spec}{status}}}"#);
    let ask = Ask::send("POST", "/api/v1/namespaces/default/pods?dryRun=All", body.as_bytes());
    let answer = Client::http1(server).ask(&ask);
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head ends");
    let warnings = head.lines().filter(|line| line.to_ascii_lowercase().starts_with("warning"));
    let kept: Vec<&str> = head.lines().take(1).chain(warnings).collect();
    masked(format!("{}\n{body}", kept.join("\n")))
}

/// Without what is another one each time.
pub(crate) fn masked(mut answer: String) -> String {
    for (before, length) in
        [(r#""uid":""#, 36), (r#"Timestamp":""#, 20), (r#"TransitionTime":""#, 20), (r#""time":""#, 20)]
    {
        mask(&mut answer, before, length);
    }
    mask(&mut answer, "kube-api-access-", 5);
    answer
}

fn mask(answer: &mut String, before: &str, length: usize) {
    let places: Vec<usize> = answer.match_indices(before).map(|(at, text)| at + text.len()).collect();
    for at in places {
        // `null` is no time.
        if answer.get(at..at + length).is_some_and(|text| !text.contains('"')) {
            answer.replace_range(at..at + length, &"*".repeat(length));
        }
    }
}

#[test]
fn a_known_spec_makes_the_pod_that_an_unknown_one_makes() {
    let server = Server::with_admission();
    let mut spaces = String::new();
    for spec in specs() {
        for (metadata, status) in METADATA {
            let known = post(&server, metadata, &spec, status);
            // The same, and never seen before.
            spaces.push(' ');
            let unknown = spec.replacen('{', &format!("{{{spaces}"), 1);
            assert_eq!(known, post(&server, metadata, &unknown, status), "{metadata} {spec}");
        }
    }
    let created = post(&server, "", &specs().pop().expect("the last one is good"), "");
    assert!(created.starts_with("HTTP/1.1 201") && created.contains("kube-api-access-*****"), "{created}");
}
