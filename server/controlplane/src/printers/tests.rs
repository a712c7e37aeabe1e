//! Rows of made-up objects, and that every built-in kind fills its columns.

use bumpalo::Bump;
use ringbolt_machinery::{json, schema::Schema, table::Row, time::Moment};

use super::of;

/// 2023-11-14T22:13:20Z.
const NOW: Moment = Moment { seconds: 1_700_000_000, nanos: 0 };

fn cells(resource: &str, object: &str) -> String {
    let arena = Bump::new();
    let value = json::decode_untyped(&arena, object.as_bytes()).expect("the test's own text");
    let mut out = Vec::new();
    let mut row = Row::begin(&mut out, NOW, false);
    (of(resource).row)(&value, &mut row);
    row.end();
    let text =
        String::from_utf8(out).expect("cells are text").replace("\\u003c", "<").replace("\\u003e", ">");
    text["{\"cells\":[".len()..].to_owned()
}

#[test]
fn every_kind_fills_its_columns() {
    for resource in &Schema::builtin().resources {
        // Two groups are other servers', who print them.
        let elsewhere = matches!(resource.group, "apiextensions.k8s.io" | "apiregistration.k8s.io");
        if !resource.verbs.contains(&"list") || elsewhere {
            continue;
        }
        let arena = Bump::new();
        let empty = json::decode_typed(&arena, Schema::builtin(), resource.ty, b"{}", json::Mode::Lenient)
            .expect("an empty object is one of any kind");
        let mut out = Vec::new();
        let mut row = Row::begin(&mut out, NOW, false);
        (of(resource.resource).row)(&empty.value, &mut row);
        // An address has an age that no column announces.
        let more = usize::from(resource.resource == "ipaddresses");
        assert_eq!(row.end(), resource.columns.len() + more, "{} {}", resource.group, resource.resource);
    }
}

fn pod(spec: &str, status: &str, metadata: &str) -> String {
    let text = format!(r#"{{"metadata":{{"name":"p"{metadata}}},"spec":{{{spec}}},"status":{{{status}}}}}"#);
    let cells = cells("pods", &text);
    // Name, age and what is wide are the same in all of these.
    cells.trim_start_matches("\"p\",").split(",\"<unknown>\"").next().unwrap_or_default().to_owned()
}

#[test]
fn pods_by_their_containers() {
    let one = r#""containers":[{"name":"a"}]"#;
    let two = r#""containers":[{"name":"a"},{"name":"b"}]"#;
    for (spec, status, expect) in [
        (one, r#""phase":"Pending""#, r#""0/1","Pending","0""#),
        (one, r#""phase":"Failed","reason":"Evicted""#, r#""0/1","Evicted","0""#),
        (
            one,
            r#""phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]"#,
            r#""0/1","SchedulingGated","0""#,
        ),
        (
            one,
            r#""phase":"Pending","containerStatuses":[{"name":"a","state":{"waiting":{"reason":"ErrImagePull"}}}]"#,
            r#""0/1","ErrImagePull","0""#,
        ),
        (
            one,
            r#""phase":"Running","containerStatuses":[{"name":"a","ready":true,"restartCount":4,"state":{"running":{}},
                "lastState":{"terminated":{"finishedAt":"2023-11-14T22:08:20Z"}}}]"#,
            r#""1/1","Running","4 (5m ago)""#,
        ),
        (
            one,
            r#""phase":"Failed","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":137,"signal":9}}}]"#,
            r#""0/1","Signal:9","0""#,
        ),
        (
            one,
            r#""phase":"Failed","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":3}}}]"#,
            r#""0/1","ExitCode:3","0""#,
        ),
        (
            two,
            r#""phase":"Running","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
                {"name":"b","ready":true,"state":{"running":{}}}]"#,
            r#""1/2","NotReady","0""#,
        ),
        (
            two,
            r#""phase":"Running","conditions":[{"type":"Ready","status":"True"}],
                "containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
                {"name":"b","ready":true,"state":{"running":{}}}]"#,
            r#""1/2","Running","0""#,
        ),
        (
            two,
            r#""phase":"Running","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
                {"name":"b","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]"#,
            r#""0/2","Error","0""#,
        ),
    ] {
        assert_eq!(pod(spec, status, ""), expect, "{status}");
    }
}

#[test]
fn pods_by_their_init_containers() {
    let spec = r#""containers":[{"name":"a"}],"initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"},{"name":"j"}]"#;
    let done = r#"{"name":"i","restartCount":1,"state":{"terminated":{"exitCode":0}}}"#;
    let sidecar = r#"{"name":"s","restartCount":2,"started":true,"ready":true,"state":{"running":{}}}"#;
    for (statuses, expect) in [
        (r#"{"name":"i","state":{"running":{}}}"#.to_owned(), r#""0/2","Init:0/3","0""#),
        (
            r#"{"name":"i","state":{"waiting":{"reason":"PodInitializing"}}}"#.to_owned(),
            r#""0/2","Init:0/3","0""#,
        ),
        (
            r#"{"name":"i","state":{"waiting":{"reason":"CrashLoopBackOff"}}}"#.to_owned(),
            r#""0/2","Init:CrashLoopBackOff","0""#,
        ),
        (
            r#"{"name":"i","state":{"terminated":{"exitCode":2}}}"#.to_owned(),
            r#""0/2","Init:ExitCode:2","0""#,
        ),
        (
            r#"{"name":"i","state":{"terminated":{"exitCode":2,"signal":6}}}"#.to_owned(),
            r#""0/2","Init:Signal:6","0""#,
        ),
        (
            r#"{"name":"i","state":{"terminated":{"exitCode":2,"reason":"OOM"}}}"#.to_owned(),
            r#""0/2","Init:OOM","0""#,
        ),
        (format!("{done},{sidecar},{{\"name\":\"j\"}}"), r#""1/2","Init:2/3","3""#),
    ] {
        assert_eq!(
            pod(spec, &format!(r#""phase":"Pending","initContainerStatuses":[{statuses}]"#), ""),
            expect
        );
    }
    // Once it runs, only the restarts of sidecars count.
    let statuses = format!(r#"{done},{sidecar},{{"name":"j","state":{{"terminated":{{"exitCode":0}}}}}}"#);
    let running = r#"{"name":"a","ready":true,"restartCount":5,"state":{"running":{}}}"#;
    let status =
        format!(r#""phase":"Running","initContainerStatuses":[{statuses}],"containerStatuses":[{running}]"#);
    assert_eq!(pod(spec, &status, ""), r#""2/2","Running","7""#);
}

#[test]
fn pods_on_their_way_out() {
    let deleted = r#","deletionTimestamp":"2023-11-14T22:13:00Z""#;
    assert_eq!(pod("", r#""phase":"Running""#, deleted), r#""0/0","Terminating","0""#);
    assert_eq!(pod("", r#""phase":"Running","reason":"NodeLost""#, deleted), r#""0/0","Unknown","0""#);
    assert_eq!(pod("", r#""phase":"Succeeded""#, deleted), r#""0/0","Succeeded","0""#);
}

#[test]
fn a_pod_whole() {
    let text = r#"{"metadata":{"name":"p","creationTimestamp":"2023-11-14T20:13:20Z"},
        "spec":{"nodeName":"n","readinessGates":[{"conditionType":"x"},{"conditionType":"y"}]},
        "status":{"phase":"Succeeded","podIPs":[{"ip":"10.0.0.1"}],"nominatedNodeName":"m",
                  "conditions":[{"type":"y","status":"True"},{"type":"x","status":"False"}]}}"#;
    assert_eq!(
        cells("pods", text),
        "\"p\",\"0/0\",\"Succeeded\",\"0\",\"120m\",\"10.0.0.1\",\"n\",\"m\",\"1/2\"],\"conditions\":[{\"type\":\"Completed\",\
         \"status\":\"True\",\"reason\":\"Succeeded\",\"message\":\"The pod has completed successfully.\"}]"
    );
}

#[test]
fn lists_cut_short() {
    let hosts = |rules: &str| {
        let text = cells("ingresses", &format!(r#"{{"spec":{{"rules":[{rules}]}}}}"#));
        text.split('"').nth(5).unwrap_or_default().to_owned()
    };
    assert_eq!(hosts(""), "*");
    assert_eq!(hosts(r#"{"host":"a"},{},{"host":"b"}"#), "a,b");
    assert_eq!(hosts(r#"{"host":"a"},{"host":"b"},{"host":"c"}"#), "a,b,c");
    assert_eq!(hosts(r#"{"host":"a"},{"host":"b"},{"host":"c"},{"host":"d"},{}"#), "a,b,c + 2 more...");

    let endpoints = |subsets: &str| {
        let text = cells("endpoints", &format!(r#"{{"subsets":[{subsets}]}}"#));
        text.split('"').nth(3).unwrap_or_default().to_owned()
    };
    assert_eq!(endpoints(""), "<none>");
    assert_eq!(endpoints(r#"{"addresses":[{"ip":"10.0.0.1"}]}"#), "10.0.0.1");
    assert_eq!(
        endpoints(r#"{"addresses":[{"ip":"::1"},{"ip":"10.0.0.1"}],"ports":[{"port":1},{"port":2}]}"#),
        "[::1]:1,10.0.0.1:1,[::1]:2 + 1 more..."
    );

    assert_eq!(
        cells(
            "endpointslices",
            r#"{"addressType":"IPv4","ports":[{"name":"a"},{"port":2},{}],"endpoints":[{"addresses":["1","2"]},{"addresses":["3","4"]}]}"#
        ),
        r#""","IPv4","a,2,*","1,2,3 + 1 more...","<unknown>"]"#
    );
}

#[test]
fn services_by_type() {
    let external = |spec: &str, status: &str| {
        let text = cells("services", &format!(r#"{{"spec":{{{spec}}},"status":{{{status}}}}}"#));
        text.split('"').nth(7).unwrap_or_default().to_owned()
    };
    let balancer =
        r#""loadBalancer":{"ingress":[{"ip":"5.5.5.5"},{"hostname":"a.example"},{"ip":"5.5.5.5"}]}"#;
    assert_eq!(external(r#""type":"ClusterIP""#, ""), "<none>");
    assert_eq!(external(r#""type":"NodePort","externalIPs":["1.1.1.1","2.2.2.2"]"#, ""), "1.1.1.1,2.2.2.2");
    assert_eq!(external(r#""type":"LoadBalancer""#, ""), "<pending>");
    assert_eq!(external(r#""type":"LoadBalancer""#, balancer), "5.5.5.5,a.example");
    assert_eq!(
        external(r#""type":"LoadBalancer","externalIPs":["1.1.1.1"]"#, balancer),
        "5.5.5.5,a.example,1.1.1.1"
    );
    assert_eq!(external(r#""type":"LoadBalancer","externalIPs":["1.1.1.1"]"#, ""), "1.1.1.1");
    assert_eq!(external(r#""type":"ExternalName","externalName":"x""#, ""), "x");
}

#[test]
fn autoscalers_by_metric() {
    let targets = |specs: &str, statuses: &str| {
        let text = cells(
            "horizontalpodautoscalers",
            &format!(r#"{{"spec":{{"metrics":[{specs}]}},"status":{{"currentMetrics":[{statuses}]}}}}"#),
        );
        text.split('"').nth(5).unwrap_or_default().to_owned()
    };
    let cpu = r#"{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":80}}}"#;
    let memory = r#"{"type":"Resource","resource":{"name":"memory","target":{"averageValue":"1Gi"}}}"#;
    let pods = r#"{"type":"Pods","pods":{"target":{"averageValue":"5"}}}"#;
    let external = r#"{"type":"External","external":{"target":{"value":"9"}}}"#;
    assert_eq!(targets("", ""), "<none>");
    assert_eq!(targets(cpu, ""), "cpu: <unknown>/80%");
    assert_eq!(targets(cpu, r#"{"resource":{"current":{"averageUtilization":12}}}"#), "cpu: 12%/80%");
    assert_eq!(targets(memory, r#"{"resource":{"current":{"averageUtilization":12}}}"#), "memory: <nil>/1Gi");
    assert_eq!(targets(pods, r#"{"pods":{"current":{"averageValue":"3"}}}"#), "3/5");
    assert_eq!(targets(external, r#"{"external":{"current":{}}}"#), "<nil>/9");
    assert_eq!(
        targets(&format!("{cpu},{memory},{pods},{external}"), ""),
        "cpu: <unknown>/80%, memory: <unknown>/1Gi + 2 more..."
    );
}

#[test]
fn selectors() {
    let selector = |text: &str| {
        let text = cells("networkpolicies", &format!(r#"{{"spec":{{"podSelector":{text}}}}}"#));
        text.split('"').nth(3).unwrap_or_default().to_owned()
    };
    assert_eq!(selector("{}"), "<none>");
    assert_eq!(
        selector(
            r#"{"matchLabels":{"b":"1","a":""},"matchExpressions":[{"key":"c","operator":"In","values":["z","y"]},
                {"key":"aa","operator":"DoesNotExist"},{"key":"d","operator":"Exists"},
                {"key":"e","operator":"NotIn","values":["x"]}]}"#
        ),
        "a=,!aa,b=1,c in (y,z),d,e notin (x)"
    );
    assert_eq!(selector(r#"{"matchExpressions":[{"key":"c","operator":"Near"}]}"#), "<error>");
}

#[test]
fn quotas_in_two_cells() {
    assert_eq!(
        cells(
            "resourcequotas",
            r#"{"metadata":{"name":"q"},"status":{"hard":{"pods":"3","limits.cpu":"2","cpu":"1"},"used":{"pods":"1"}}}"#
        ),
        r#""q","cpu: 0/1, pods: 1/3","limits.cpu: 0/2","<unknown>"]"#
    );
}

#[test]
fn events_of_both_kinds() {
    let about = r#""involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"}"#;
    assert_eq!(
        cells(
            "events",
            &format!(
                r#"{{"metadata":{{"name":"e"}},{about},"message":" m ","source":{{"component":"c","host":"h"}},
                    "firstTimestamp":"2023-11-14T22:12:20Z","lastTimestamp":"2023-11-14T22:13:10Z","count":3,"reason":"R","type":"Normal"}}"#
            )
        ),
        r#""10s","Normal","R","pod/p","spec","c, h","m","60s",3,"e"]"#
    );
    assert_eq!(
        cells(
            "events",
            &format!(r#"{{{about},"eventTime":"2023-11-14T22:13:18.500000Z","reportingComponent":"rc"}}"#)
        ),
        r#""1s","","","pod/p","spec","rc","","1s",1,""]"#
    );
    assert_eq!(
        cells(
            "events",
            r#"{"involvedObject":{"kind":"Node"},"series":{"count":7,"lastObservedTime":"2023-11-14T22:13:17.000000Z"}}"#
        ),
        r#""3s","","","node","","","","<unknown>",7,""]"#
    );
}

#[test]
fn bindings_of_policies() {
    let param = |param: &str| {
        let text =
            cells("validatingadmissionpolicybindings", &format!(r#"{{"spec":{{"paramRef":{param}}}}}"#));
        text.splitn(3, ',').nth(2).unwrap_or_default().to_owned()
    };
    assert_eq!(param("null"), r#""<unset>","<unknown>"]"#);
    assert_eq!(param(r#"{"name":"n"}"#), r#""*/n","<unknown>"]"#);
    assert_eq!(param(r#"{"name":"n","namespace":"s"}"#), r#""s/n","<unknown>"]"#);
    assert_eq!(
        param(
            r#"{"selector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"k","operator":"In","values":["x","y"]}]}}"#
        ),
        "\"\\u0026LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{\
         LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}\",\"<unknown>\"]"
    );
}

#[test]
fn evictions_by_responder() {
    let text = r#"{"metadata":{"name":"e"},"spec":{"target":{"pod":{"name":"p"}}},"status":{"observedGeneration":1,
        "targetResponders":[{"name":"a","state":"Completed"},{"name":"b","state":"Active"},{"name":"c","state":"Inactive"}],
        "responders":[{"name":"b","startTime":"2023-11-14T22:13:10Z","expectedCompletionTime":"2023-11-14T22:13:50Z",
                       "heartbeatTime":"2023-11-14T22:13:15Z","message":" busy "}],
        "requesters":[{"name":"y","intent":"Eviction"},{"name":"x","intent":"Eviction"},{"name":"w","intent":"Withdrawn"}]}}"#;
    assert_eq!(
        cells("evictions", text),
        "\"e\",\"p\",\"Pod\",\"Progressing\",\"b (2/3)\",\"Started (10s ago)\",\"in 30s\",\"x + 1 more...\",\"<unknown>\",\
         \"5s ago\",\"busy\"]"
    );
}

#[test]
fn jobs_by_condition() {
    let job =
        |status: &str| cells("jobs", &format!(r#"{{"spec":{{"parallelism":3}},"status":{{{status}}}}}"#));
    assert!(job("").starts_with(r#""","Running","0/1 of 3","","<unknown>""#));
    assert!(
        job(r#""succeeded":1,"startTime":"2023-11-14T22:03:20Z","completionTime":"2023-11-14T22:05:25Z",
        "conditions":[{"type":"Complete","status":"True"}]"#)
        .starts_with(r#""","Complete","1/1 of 3","2m5s""#)
    );
}
