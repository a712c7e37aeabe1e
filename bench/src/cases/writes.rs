//! Cases of writes by our own client: 64 in flight over 8 connections, and 1.

use super::{Case, Stage, Work};
use crate::{
    compare::{
        bench::Bench,
        check::{Shown, same_work},
        flush,
        http::{Answer, Client},
        own,
        server::Server,
    },
    error::{Context as _, Error, Result},
    objects::{self, NAMESPACE},
    result::{Measurement, Shape, Side},
};

/// Connections of the cases with many writes in flight.
const CONNECTIONS: u32 = 8;
/// Objects that updates and patches go to in turn: so many that few writes in flight meet at one.
const OBJECTS: u32 = 1000;
/// Creates and deletes a run has for each second of its length. Both sides get as many, so that their stores grow
/// alike; the faster one is done sooner.
const COUNT_A_SECOND: f64 = 2000.0;
/// Likewise with one in flight.
const COUNT_A_SECOND_ALONE: f64 = 200.0;
/// Media type of JSON.
const JSON: &str = "application/json";

/// A verb of the load client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    CreatePods,
    Update,
    Delete,
    Status,
    MergePatch,
    JsonPatch,
    Apply,
    Lease,
}

impl Verb {
    /// As the load client calls it.
    fn name(self) -> &'static str {
        match self {
            Verb::Create | Verb::CreatePods => "create",
            Verb::Update => "update",
            Verb::Delete => "delete",
            Verb::Status => "status",
            Verb::MergePatch => "merge-patch",
            Verb::JsonPatch => "json-patch",
            Verb::Apply => "apply",
            Verb::Lease => "lease",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Verb::Create => "POST of new ConfigMaps of 1 KiB",
            Verb::CreatePods => {
                "POST of new pods of 4 KiB as a ReplicaSet makes them; admission gives them their account and its token"
            }
            Verb::Update => "PUT of ConfigMaps of 1 KiB, one value changed",
            Verb::Delete => "DELETE of ConfigMaps of 1 KiB",
            Verb::Status => "PUT of the status of pods of 4 KiB, one value changed",
            Verb::MergePatch => "JSON merge patch of one value of ConfigMaps of 1 KiB",
            Verb::JsonPatch => "JSON patch of one value of ConfigMaps of 1 KiB",
            Verb::Apply => "server-side apply of ConfigMaps of 1 KiB, one value changed",
            Verb::Lease => "renewals of 1,000 Leases, each by a client with a connection of its own",
        }
    }

    /// Whether a run is so many writes, not so many seconds.
    fn is_counted(self) -> bool {
        self.creates() || self == Verb::Delete
    }

    fn creates(self) -> bool {
        matches!(self, Verb::Create | Verb::CreatePods)
    }

    fn object_bytes(self) -> u32 {
        match self {
            Verb::Status | Verb::CreatePods => 4096,
            Verb::Lease => 0,
            _ => 1024,
        }
    }
}

/// Writes of one verb.
struct Writes {
    verb: Verb,
    /// Whether objects are custom resources, not ConfigMaps.
    custom: bool,
    connections: u32,
    in_flight: u32,
}

impl Writes {
    fn arguments(&self, bench: &Bench, prefix: &str) -> Vec<String> {
        let mut arguments = vec!["writes".to_owned(), self.verb.name().to_owned()];
        let mut flag = |name: &str, value: String| arguments.extend([format!("--{name}"), value]);
        flag("connections", self.connections.to_string());
        flag("in-flight", self.in_flight.to_string());
        if self.verb != Verb::Lease {
            flag("object-bytes", self.verb.object_bytes().to_string());
        }
        if self.custom {
            flag("kind", "widgets".to_owned());
        }
        match self.verb {
            Verb::Create => flag("prefix", prefix.to_owned()),
            Verb::CreatePods => {
                flag("kind", "new-pods".to_owned());
                flag("prefix", prefix.to_owned());
            }
            Verb::Delete => {
                flag("prefix", prefix.to_owned());
                flag("objects", self.count(bench).to_string());
            }
            _ => flag("objects", OBJECTS.to_string()),
        }
        arguments
    }

    fn count(&self, bench: &Bench) -> u64 {
        let a_second = if self.in_flight == 1 { COUNT_A_SECOND_ALONE } else { COUNT_A_SECOND };
        ((a_second * bench.seconds) as u64).max(u64::from(self.in_flight))
    }
}

impl Work for Writes {
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn check(&self, bench: &Bench, servers: &[Server]) -> Result<()> {
        let mut shown = Vec::new();
        for server in servers {
            let answer = once(self.verb, self.custom, &mut server.measured_client(&bench.common)?)?;
            shown.push(Shown::of(server.side, &answer)?);
        }
        // A delete answers with a Status on both sides, or with the object on both.
        same_work(&shown, Some(1))
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement> {
        let server = bench.going(server)?;
        let prefix = format!("{}-{:x}", case.name, jiff::Timestamp::now().as_millisecond());
        let mut arguments = self.arguments(bench, &prefix);
        if self.verb == Verb::Delete {
            let prepare = Writes { in_flight: 64, connections: CONNECTIONS, ..*self };
            let mut prepare = prepare.arguments(bench, &prefix);
            let objects =
                prepare.iter().position(|argument| argument == "--objects").context("no --objects")?;
            prepare[objects + 1] = self.count(bench).to_string();
            prepare.push("--prepare".to_owned());
            own::run(bench, server, &prepare, &[])?;
        }
        if self.verb.creates() {
            let mut warm_up = self.arguments(bench, &format!("{prefix}-warm"));
            warm_up.extend(["--count".to_owned(), (10 * self.in_flight).to_string()]);
            own::run(bench, server, &warm_up, &[])?;
        }
        if self.verb.is_counted() {
            arguments.extend(["--count".to_owned(), self.count(bench).to_string()]);
        } else {
            arguments.extend(["--seconds".to_owned(), bench.seconds.to_string()]);
            arguments.extend(["--warmup".to_owned(), bench.warm_up.as_secs_f64().to_string()]);
        }
        let (told, seen) = own::run(bench, server, &arguments, &[])?;
        let seen = seen.context("the load client told no window")?;
        let mut measurement = bench.measurement(case, side, "ringbolt-bench load", told, seen);
        if self.in_flight == 1 {
            // It did not sleep, so its CPU does not tell whether it was at its limit.
            measurement.client_cpu = None;
        }
        if self.in_flight == 1 && matches!(self.verb, Verb::Create | Verb::Update) {
            // What no durable write can be faster than, on this disk and in this minute.
            let us = flush::median_us(&bench.common.folder, &bench.server_cores, flush::BLOCK)?;
            measurement.extra.insert(crate::budget::FLUSH_US.to_owned(), us);
        }
        Ok(measurement)
    }
}

/// The verb once, with the object it needs before and without it after; its answer.
fn once(verb: Verb, custom: bool, client: &mut Client) -> Result<Answer> {
    let name = format!("check-{}", verb.name());
    let (collection, object) = match verb {
        Verb::CreatePods => (format!("/api/v1/namespaces/{NAMESPACE}/pods"), {
            let mut pod = objects::pod(NAMESPACE, 0);
            pod["metadata"]["name"] = name.clone().into();
            for filled_in in ["nodeName", "serviceAccountName", "automountServiceAccountToken"] {
                pod["spec"].as_object_mut().context("a pod has a spec")?.remove(filled_in);
            }
            pod
        }),
        Verb::Status => (format!("/api/v1/namespaces/{NAMESPACE}/pods"), {
            let mut pod = objects::pod(NAMESPACE, 0);
            pod["metadata"]["name"] = name.clone().into();
            pod
        }),
        Verb::Lease => (
            format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"),
            serde_json::json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name.clone(), "namespace": NAMESPACE},
                "spec": {"holderIdentity": "node-0", "leaseDurationSeconds": 40}}),
        ),
        _ if custom => (objects::widgets(NAMESPACE), objects::widget(NAMESPACE, &name)),
        _ => (format!("/api/v1/namespaces/{NAMESPACE}/configmaps"), objects::config_map(NAMESPACE, &name)),
    };
    let path = format!("{collection}/{name}");
    let mut send = |method: &str, path: &str, media_type: &str, body: &serde_json::Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        client.request(method, path, &[("Content-Type", media_type), ("Accept", JSON)], body.as_bytes())
    };
    let (part, field) = if custom { ("spec", "image") } else { ("data", "fallback.properties") };
    let created = send("POST", &collection, JSON, &object)?;
    let mut stored = created.json()?;
    let answer = match verb {
        Verb::Create => created,
        Verb::CreatePods => {
            let volumes = stored["spec"]["volumes"].to_string();
            if !volumes.contains("kube-api-access-") {
                return Err(Error::new(format!("admission gave the pod no token, it has {volumes}")));
            }
            created
        }
        Verb::Update => {
            stored[part][field] = "changed".into();
            send("PUT", &path, JSON, &stored)?
        }
        Verb::Status => {
            stored["status"]["message"] = "changed".into();
            send("PUT", &format!("{path}/status"), JSON, &stored)?
        }
        Verb::Lease => {
            stored["spec"]["renewTime"] = "2026-01-05T09:30:00.000000Z".into();
            send("PUT", &path, JSON, &stored)?
        }
        Verb::MergePatch => {
            let patch = serde_json::json!({part: {field: "changed"}});
            send("PATCH", &path, "application/merge-patch+json", &patch)?
        }
        Verb::JsonPatch => {
            let patch = serde_json::json!([{"op": "replace", "path": format!("/{part}/{field}"), "value": "changed"}]);
            send("PATCH", &path, "application/json-patch+json", &patch)?
        }
        Verb::Apply => {
            let path = format!("{path}?fieldManager=bench&force=true");
            send("PATCH", &path, "application/apply-patch+yaml", &object)?
        }
        Verb::Delete => return send("DELETE", &path, JSON, &serde_json::Value::Null),
    };
    let now = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    send("DELETE", &path, JSON, &now)?.expect(200, &path)?;
    Ok(answer)
}

/// All cases of writes.
pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for verb in [Verb::Create, Verb::Update, Verb::Delete, Verb::Status] {
        all.push(case(verb, format!("{}-64", verb.name()), CONNECTIONS, 64));
        all.push(case(verb, format!("{}-1", verb.name()), 1, 1));
    }
    all.push(case(Verb::CreatePods, "create-pods-64".to_owned(), CONNECTIONS, 64));
    for verb in [Verb::MergePatch, Verb::JsonPatch, Verb::Apply] {
        all.push(case(verb, format!("{}-64", verb.name()), CONNECTIONS, 64));
    }
    all.push(case(Verb::Lease, "lease-1000".to_owned(), 1000, 64));
    all
}

fn case(verb: Verb, name: String, connections: u32, in_flight: u32) -> Case {
    Case {
        name,
        about: format!("{}, durable; {in_flight} in flight", verb.about()),
        stage: Stage::Writes,
        shape: Shape {
            connections,
            streams: if verb == Verb::Lease { 1 } else { in_flight / connections },
            in_flight,
            object_bytes: u64::from(verb.object_bytes()),
            objects: if verb.is_counted() { 0 } else { u64::from(OBJECTS) },
            protocol: "h2".to_owned(),
            encoding: "json".to_owned(),
            updates_per_second: 0,
        },
        nginx: false,
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt, Side::Peer],
        work: Box::new(Writes { verb, custom: false, connections, in_flight }),
    }
}

/// The same of custom resources, 64 in flight.
pub(super) fn custom_case(verb: Verb) -> Case {
    let in_flight = 64;
    Case {
        about: format!(
            "{}, durable; {in_flight} in flight",
            verb.about().replace("ConfigMaps", "custom resources")
        ),
        stage: Stage::Custom,
        work: Box::new(Writes { verb, custom: true, connections: CONNECTIONS, in_flight }),
        ..case(verb, format!("{}-custom-{in_flight}", verb.name()), CONNECTIONS, in_flight)
    }
}
