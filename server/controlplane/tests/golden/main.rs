//! Objects that kube-apiserver 1.37.2 answered, against our strategies and defaults: what it accepted we accept,
//! and make the same object of it; what it refused we refuse in the same words, as far as validation goes so far.
//!
//! Needs the handed data (`$RINGBOLT_SHARED`); without it nothing is checked. `GOLDEN_SHOW=kind` prints every case
//! of a kind that does not agree.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its data should say so at once")]

mod data;
mod subject;

use std::collections::BTreeMap;

use ringbolt_apiserver::registry::Part;
use ringbolt_controlplane::registry;
use ringbolt_machinery::schema::Schema;
use serde_json::Value as Json;

use self::{
    data::{Bases, Difference, changed, differences, folder, masked, recorded, rows},
    subject::{Answer, Subject},
};

/// Differences to a recorded object that others make: admission plugins and allocators. Each with its reason.
fn by_others(kind: &str, path: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| path.starts_with(p));
    // The endpoints write owners given twice once, and take care of the link.
    if matches!(path, "/metadata/ownerReferences" | "/metadata/selfLink") {
        return true;
    }
    match kind {
        // Addresses and ports come from the allocators.
        "Service" => {
            starts(&["/spec/clusterIP", "/spec/ipFamil", "/spec/healthCheckNodePort"])
                || path.ends_with("/nodePort")
        }
        // The Priority, ServiceAccount, DefaultTolerationSeconds and RuntimeClass plugins.
        "Pod" => {
            let plugins = [
                "/spec/priority",
                "/spec/preemptionPolicy",
                "/spec/tolerations",
                "/spec/serviceAccount",
                "/spec/overhead",
                "/spec/nodeSelector",
            ];
            starts(&plugins) || path == "/spec/volumes" || path.ends_with("/volumeMounts")
        }
        // The TaintNodesByCondition plugin.
        "Node" => starts(&["/spec/taints"]),
        // The StorageObjectInUseProtection plugin.
        "PersistentVolume" | "PersistentVolumeClaim" | "VolumeAttributesClass" => {
            starts(&["/metadata/finalizers"])
        }
        _ => false,
    }
}

/// Whether a message comes from the endpoints: about options of the request, or a version that an update lacks.
fn by_endpoints(message: &str) -> bool {
    message.contains("must be specified for an update") || message.contains("Options.meta.k8s.io ")
}

/// Whether a recorded value stands for one that the server chose.
fn is_masked(value: Option<&Json>) -> bool {
    value.is_some_and(|v| {
        let text = v.to_string();
        ["<time>", "<uid>", "<random>", "<masked>", "<port>", "<address>", "\"2026-"]
            .iter()
            .any(|m| text.contains(m))
    })
}

/// Cases of a kind that agree, and those that do not.
#[derive(Default)]
struct Tally {
    agree: usize,
    differ: Vec<String>,
}

#[test]
fn unmutated_creates_make_the_same_object() {
    let Some(data) = folder() else { return };
    let registry = registry::build(Schema::builtin());
    let mut bases = Bases::new(&data);
    let (mut checked, mut failures) = (0, Vec::new());
    for row in rows(&data) {
        if row["verb"] != "create" || row["status"] != 201 || row.get("body").is_none() {
            continue;
        }
        let Some(subject) = Subject::of(&registry, &row) else { continue };
        checked += 1;
        let base = bases.get(&row);
        let id = row["id"].as_str().unwrap();
        let namespace = base["metadata"]["namespace"].as_str().unwrap_or("");
        match subject.create(&base, namespace) {
            Answer::Undecodable => failures.push(format!("{id}: not decoded")),
            Answer::Invalid(status) => failures.push(format!("{id}: refused: {}", status.message)),
            Answer::Object(object) => {
                let mut found = Vec::new();
                differences("", &masked(row["body"].clone()), &masked(object), &mut found);
                found.retain(|(path, was, _)| {
                    !by_others(row["kind"].as_str().unwrap(), path) && !is_masked(was.as_ref())
                });
                failures.extend(
                    found
                        .into_iter()
                        .map(|(path, was, now)| format!("{id}: {path}: want {was:?}, got {now:?}")),
                );
            }
        }
    }
    assert!(checked > 100, "only {checked} cases");
    assert!(failures.is_empty(), "{} of {checked}:\n{}", failures.len(), failures.join("\n"));
}

/// Runs every row of a verb and sorts it by what was recorded: accepted, or invalid.
fn run(verb: &str) -> Option<[BTreeMap<String, Tally>; 3]> {
    let data = folder()?;
    let registry = registry::build(Schema::builtin());
    let mut bases = Bases::new(&data);
    let mut plain: BTreeMap<String, Json> = BTreeMap::new();
    let [mut refused, mut objects, mut messages] = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    for row in rows(&data).iter().filter(|r| r["verb"] == verb) {
        let Some(subject) = Subject::of(&registry, row) else { continue };
        let Some(ops) = row["ops"].as_array() else { continue };
        let base = bases.get(row);
        let namespace = base["metadata"]["namespace"].as_str().unwrap_or("").to_owned();
        let answer = |ops: &[Json]| -> Option<Answer> {
            if verb == "create" {
                return Some(subject.create(&changed(base.clone(), ops)?, &namespace));
            }
            let (stored, live) = subject.live(&base);
            let start = if row["live"] == "object" { live } else { base.clone() };
            let part = if verb == "status" { Part::Status } else { Part::Main };
            Some(subject.update(&stored, &changed(start, ops)?, part))
        };
        let kind = row["kind"].as_str().unwrap().to_owned();
        let id = row["id"].as_str().unwrap();
        let Some(got) = answer(ops) else { continue };
        let accepted = row["status"] == 200 || row["status"] == 201;
        let tally = |map: &mut BTreeMap<String, Tally>, trouble: Option<String>| {
            let tally: &mut Tally = map.entry(kind.clone()).or_default();
            match trouble {
                None => tally.agree += 1,
                Some(trouble) => tally.differ.push(format!("{id}: {trouble}")),
            }
        };
        match got {
            Answer::Invalid(status) if accepted => tally(&mut refused, Some(status.message)),
            Answer::Undecodable if accepted => tally(&mut refused, Some("not decoded".to_owned())),
            Answer::Object(object) if accepted => {
                tally(&mut refused, None);
                if ops.is_empty() {
                    continue;
                }
                let key = format!("{}{}", row["base"], row["live"]);
                let unmutated = plain.entry(key).or_insert_with(|| match answer(&[]) {
                    Some(Answer::Object(object)) => masked(object),
                    _ => Json::Null,
                });
                let mut found: Vec<Difference> = Vec::new();
                differences("", unmutated, &masked(object), &mut found);
                let mut want = recorded(row);
                let relevant = |(path, was, now): &Difference| {
                    !by_others(&kind, path)
                        && !is_masked(was.as_ref())
                        && !is_masked(now.as_ref())
                        && path != "/metadata/name"
                };
                found.retain(relevant);
                want.retain(relevant);
                // The recording does not know what it was in the object that others completed.
                tally(&mut objects, (found != want).then(|| format!("got {found:?}\n    want {want:?}")));
            }
            got if row["status"] == 422
                && row["error"]["message"].as_str().is_some_and(|m| !by_endpoints(m)) =>
            {
                let want = row["error"]["message"].as_str().unwrap();
                let got = match got {
                    Answer::Invalid(status) => mask_message(&status.message),
                    Answer::Undecodable => "not decoded".to_owned(),
                    Answer::Object(..) => "accepted".to_owned(),
                };
                tally(&mut messages, (got != want).then(|| format!("got {got}\n    want {want}")));
            }
            _ => {}
        }
    }
    Some([refused, objects, messages])
}

/// A message without what the recording took out: what the server chose, and diffs.
fn mask_message(message: &str) -> String {
    let message =
        message.replace("11111111-2222-3333-4444-555555555555", "<uid>").replace("bcdfg", "<random>");
    let mut out = String::new();
    let mut rest = message.as_str();
    while let Some(at) = rest.find("\n@@ ") {
        out.push_str(&rest[..at]);
        out.push_str("\n<diff>\n");
        rest = &rest[at + 1..];
        while let Some(end) = rest.find('\n').filter(|_| rest.starts_with(['@', ' ', '+', '-'])) {
            rest = &rest[end + 1..];
        }
    }
    out.push_str(rest);
    out
}

fn report(verb: &str, what: &str, tallies: &BTreeMap<String, Tally>) -> (usize, usize) {
    let show = std::env::var("GOLDEN_SHOW").unwrap_or_default();
    let (mut agree, mut differ) = (0, 0);
    for (kind, tally) in tallies {
        agree += tally.agree;
        differ += tally.differ.len();
        if !tally.differ.is_empty() && (show == "all" || show == *kind || show == what) {
            println!("{}", tally.differ.join("\n"));
        }
        if !show.is_empty() && !tally.differ.is_empty() {
            println!("{verb} {what} {kind}: {} agree, {} differ", tally.agree, tally.differ.len());
        }
    }
    println!("{verb} {what}: {agree} agree, {differ} differ");
    (agree, differ)
}

fn check(verb: &str, accepted_min: usize, objects_min: usize, messages_min: usize) {
    let Some([refused, objects, messages]) = run(verb) else { return };
    let (agree, wrong) = report(verb, "accepted", &refused);
    assert!(agree >= accepted_min, "only {agree} accepted");
    let (same, _) = report(verb, "objects", &objects);
    let (texts, _) = report(verb, "messages", &messages);
    let listed: Vec<&String> = refused.values().flat_map(|t| &t.differ).collect();
    assert!(wrong == 0, "{wrong} refused wrongly: {listed:#?}");
    assert!(same >= objects_min, "only {same} objects agree");
    assert!(texts >= messages_min, "only {texts} messages agree");
}

#[test]
fn creates() {
    check("create", 2289, 2177, 1816);
}

#[test]
fn updates() {
    check("update", 1045, 933, 1181);
}

#[test]
fn status_updates() {
    check("status", 593, 538, 100);
}
