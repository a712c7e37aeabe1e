//! The mandatory and the suggested FlowSchemas and PriorityLevelConfigurations: made at start, and kept as they are to
//! be. Mandatory ones always, suggested ones as long as nobody else took them over, which an annotation says; those of
//! an earlier release that are no longer suggested go.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use ringbolt_apiserver::{
    flowcontrol::{
        builtin,
        config::{FlowSchema, PriorityLevel},
        consumer::FlowControlObjects,
        objects::{self, AUTO_UPDATE},
    },
    response,
    server::hooks::HookContext,
    serving::loopback::{Answer, Call},
};
use ringbolt_machinery::{
    json::{decode_untyped, encode_untyped},
    value::{Map, Value},
};
use ringbolt_storage::object::{Object, ResourceId};

/// Who owns the objects.
const MANAGED: &str = "?fieldManager=api-priority-and-fairness-config-producer-v1";
/// For how long it is tried, and the rest between two tries.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
const PAUSE: Duration = Duration::from_secs(1);

/// One object as it is to be.
struct Wanted {
    collection: &'static str,
    stored: ResourceId,
    name: String,
    mandatory: bool,
    body: Vec<u8>,
    spec: Vec<u8>,
    is_met: Box<dyn Fn(&Value<'_>) -> bool>,
}

/// Sees to the objects, however long the store takes to answer.
pub(super) fn ensure(context: &HookContext, stored: FlowControlObjects) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match round(context, stored) {
            Ok(()) => return Ok(()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(error) => tracing::warn!(%error, "priority and fairness objects are tried again"),
        }
        if context.signals.shutdown_initiated.wait(PAUSE) {
            return Ok(());
        }
    }
}

/// All that differs is written at once.
fn round(context: &HookContext, stored: FlowControlObjects) -> Result<(), String> {
    let wanted = wanted(stored);
    let mut calls = Vec::new();
    for object in &wanted {
        match context.storage.get(object.stored, &object.name) {
            None => calls.push(call("POST", format!("{}{MANAGED}", object.collection), object.body.clone())),
            Some(current) => {
                let target = || format!("{}/{}{MANAGED}", object.collection, object.name);
                calls.extend(object.revise(&current).map(|body| call("PUT", target(), body)));
            }
        }
    }
    for (stored, collection) in
        [(stored.flow_schemas, objects::FLOW_SCHEMAS), (stored.priority_levels, objects::PRIORITY_LEVELS)]
    {
        let kept: HashSet<&str> =
            wanted.iter().filter(|w| w.stored == stored).map(|w| w.name.as_str()).collect();
        for current in context.storage.snapshot(stored).range("", None) {
            if !kept.contains(current.name()) && is_ours(current) {
                calls.push(call("DELETE", format!("{collection}/{}", current.name()), Vec::new()));
            }
        }
    }
    let asked: Vec<_> = calls.iter().map(|call| (call.method, call.target.clone())).collect();
    let answers = context.loopback.call_all(calls);
    let failed: Vec<_> =
        asked.iter().zip(answers).filter_map(|(asked, answer)| failure(asked, answer)).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

fn call(method: &'static str, target: String, body: Vec<u8>) -> Call {
    Call::of_server(method, target, response::JSON, body.into())
}

/// What went wrong. Somebody else having been faster is no fault: the next round looks at what came of it.
fn failure((method, target): &(&str, String), answer: Option<Answer>) -> Option<String> {
    match (method, answer) {
        (_, Some((200..=299 | 409, _))) | (&"DELETE" | &"PUT", Some((404, _))) => None,
        (_, Some((code, body))) => {
            Some(format!("{method} {target}: {code}: {}", String::from_utf8_lossy(&body)))
        }
        (_, None) => Some(format!("{method} {target}: no answer")),
    }
}

/// All objects in the order in which kube-apiserver makes them: levels before what refers to them.
fn wanted(stored: FlowControlObjects) -> Vec<Wanted> {
    let is_mandatory = |name: &str| [builtin::EXEMPT, builtin::CATCH_ALL].contains(&name);
    let level = |level: PriorityLevel| Wanted {
        collection: objects::PRIORITY_LEVELS,
        stored: stored.priority_levels,
        mandatory: is_mandatory(&level.name),
        body: level.body(),
        spec: level.spec(),
        name: level.name.clone(),
        is_met: Box::new(move |object| is_level(&level, object)),
    };
    let schema = |schema: FlowSchema| Wanted {
        collection: objects::FLOW_SCHEMAS,
        stored: stored.flow_schemas,
        mandatory: is_mandatory(&schema.name),
        body: schema.body(),
        spec: schema.spec(),
        name: schema.name.clone(),
        is_met: Box::new(move |object| {
            FlowSchema { uid: String::new(), ..objects::flow_schema(object) } == schema
        }),
    };
    let (mandatory_levels, levels): (Vec<_>, Vec<_>) =
        builtin::priority_levels().into_iter().map(level).partition(|wanted| wanted.mandatory);
    let (mandatory_schemas, schemas): (Vec<_>, Vec<_>) =
        builtin::flow_schemas().into_iter().map(schema).partition(|wanted| wanted.mandatory);
    [levels, schemas, mandatory_levels, mandatory_schemas].into_iter().flatten().collect()
}

/// Whether an object says what a level is to say. How much the exempt level counts for and lends is up to the cluster.
fn is_level(level: &PriorityLevel, object: &Value<'_>) -> bool {
    let Some(mut found) = objects::priority_level(object) else { return false };
    found.uid.clear();
    if level.is_exempt() {
        found.nominal_concurrency_shares = level.nominal_concurrency_shares;
        found.lendable_percent = level.lendable_percent;
    }
    found == *level
}

impl Wanted {
    /// What is to be stored instead of `current`; `None` where that is as it should be, or not ours to change.
    fn revise(&self, current: &Object) -> Option<Vec<u8>> {
        let arena = Bump::new();
        let Value::Map(mut object) = tree(&arena, current)? else { return None };
        let annotation = annotation(&object);
        let keep = self.mandatory || annotation.unwrap_or_else(|| generation(&object) == Some(1));
        let root = Value::Map(object);
        let spec_differs = keep && !(self.is_met)(&root);
        if annotation == Some(keep) && !spec_differs {
            return None;
        }
        let Value::Map(root) = root else { return None };
        object = root;
        if spec_differs {
            object.insert("spec", decode_untyped(&arena, arena.alloc_slice_copy(&self.spec)).ok()?);
        }
        if annotation != Some(keep) {
            let value = Value::String(if keep { "true" } else { "false" });
            object.map_mut("metadata").map_mut("annotations").insert(AUTO_UPDATE, value);
        }
        let mut body = Vec::new();
        encode_untyped(&Value::Map(object), &mut body);
        Some(body)
    }
}

/// A stored object as a tree. The stored form lacks the brace that opens it.
fn tree<'a>(arena: &'a Bump, object: &Object) -> Option<Value<'a>> {
    let text = arena.alloc_slice_fill_copy(object.json.len() + 1, b'{');
    text[1..].copy_from_slice(&object.json);
    decode_untyped(arena, text).ok()
}

/// Whether the annotation says that the server keeps the spec; `None` where it says nothing that can be understood.
fn annotation(object: &Map<'_>) -> Option<bool> {
    // As Go's `strconv.ParseBool`.
    match object.get("metadata")?.str_at(&["annotations", AUTO_UPDATE])? {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn generation(object: &Map<'_>) -> Option<i64> {
    object.get("metadata")?.path(&["generation"])?.as_i64()
}

/// Whether a server made the object and nobody took it over.
fn is_ours(object: &Object) -> bool {
    let arena = Bump::new();
    tree(&arena, object).as_ref().and_then(Value::as_map).and_then(annotation) == Some(true)
}

#[cfg(test)]
mod tests {
    use ringbolt_storage::{encoding::Encoding, object::Attributes};

    use super::*;

    const STORED: FlowControlObjects =
        FlowControlObjects { flow_schemas: ResourceId(0), priority_levels: ResourceId(1) };

    /// An object as it is stored, of the members of its metadata but the name, and of its spec.
    fn object(stored: ResourceId, name: &str, metadata: &str, spec: &[u8]) -> Object {
        let spec = String::from_utf8(spec.to_vec()).unwrap();
        let json = format!(r#""metadata":{{"name":"{name}",{metadata}}},"spec":{spec}}}"#);
        Object {
            resource: stored,
            key: name.into(),
            namespace_len: 0,
            revision: 1,
            json: json.into(),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Encoding::default(),
        }
    }

    fn find(stored: ResourceId, name: &str) -> Wanted {
        wanted(STORED).into_iter().find(|w| w.stored == stored && w.name == name).unwrap()
    }

    /// What becomes of the spec and the annotation.
    fn revised(wanted: &Wanted, metadata: &str, spec: &[u8]) -> Option<(Vec<u8>, String)> {
        let body = wanted.revise(&object(wanted.stored, &wanted.name, metadata, spec))?;
        let arena = Bump::new();
        let tree = decode_untyped(&arena, &body).unwrap();
        let mut spec = Vec::new();
        encode_untyped(tree.path(&["spec"]).unwrap(), &mut spec);
        assert_eq!(tree.str_at(&["metadata", "name"]), Some(wanted.name.as_str()));
        Some((spec, tree.str_at(&["metadata", "annotations", AUTO_UPDATE]).unwrap().to_owned()))
    }

    fn sorted(json: &[u8]) -> Vec<u8> {
        let (arena, mut out) = (Bump::new(), Vec::new());
        encode_untyped(&decode_untyped(&arena, arena.alloc_slice_copy(json)).unwrap(), &mut out);
        out
    }

    const KEPT: &str = r#""generation":3,"annotations":{"apf.kubernetes.io/autoupdate-spec":"true"}"#;
    const TAKEN: &str = r#""generation":3,"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}"#;
    const OTHER: &[u8] = br#"{"priorityLevelConfiguration":{"name":"system"},"matchingPrecedence":7}"#;

    #[test]
    fn suggested_objects_are_kept_until_somebody_takes_them_over() {
        let wanted = find(STORED.flow_schemas, "probes");
        let check = |metadata: &str, spec: &[u8], expect: Option<(&[u8], &str)>| {
            let expect = expect.map(|(spec, annotation)| (sorted(spec), annotation.to_owned()));
            assert_eq!(revised(&wanted, metadata, spec), expect, "{metadata}");
        };
        check(KEPT, &wanted.spec, None);
        check(KEPT, OTHER, Some((&wanted.spec, "true")));
        check(TAKEN, OTHER, None);
        // Without the annotation, or with one that says nothing, the generation tells.
        check(r#""generation":1"#, OTHER, Some((&wanted.spec, "true")));
        check(r#""generation":2"#, OTHER, Some((OTHER, "false")));
        check(r#""generation":1,"annotations":{"a":"b"}"#, &wanted.spec, Some((&wanted.spec, "true")));
        let odd = r#""generation":2,"annotations":{"apf.kubernetes.io/autoupdate-spec":"yes"}"#;
        check(odd, &wanted.spec, Some((&wanted.spec, "false")));
        let short = r#""generation":2,"annotations":{"apf.kubernetes.io/autoupdate-spec":"T"}"#;
        check(short, &wanted.spec, None);
    }

    #[test]
    fn mandatory_objects_are_always_restored() {
        let wanted = find(STORED.flow_schemas, "catch-all");
        assert_eq!(revised(&wanted, TAKEN, OTHER), Some((sorted(&wanted.spec), "true".to_owned())));
        assert_eq!(revised(&wanted, TAKEN, &wanted.spec), Some((sorted(&wanted.spec), "true".to_owned())));
        assert_eq!(revised(&wanted, KEPT, &wanted.spec), None);
    }

    #[test]
    fn the_cluster_decides_how_much_the_exempt_level_counts_for() {
        let wanted = find(STORED.priority_levels, "exempt");
        let spec = br#"{"type":"Exempt","exempt":{"nominalConcurrencyShares":40,"lendablePercent":50}}"#;
        assert_eq!(revised(&wanted, KEPT, spec), None);
        let nothing = br#"{"type":"Exempt"}"#;
        assert_eq!(revised(&wanted, KEPT, nothing), Some((sorted(&wanted.spec), "true".to_owned())));
        let wanted = find(STORED.priority_levels, "system");
        let spec = String::from_utf8(wanted.spec.clone()).unwrap().replace("64", "65");
        assert!(revised(&wanted, KEPT, spec.as_bytes()).is_some());
    }

    #[test]
    fn levels_come_before_what_refers_to_them() {
        let names: Vec<_> = wanted(STORED).into_iter().map(|w| (w.stored.0, w.name)).collect();
        let place = |stored, name: &str| names.iter().position(|n| *n == (stored, name.to_owned())).unwrap();
        assert_eq!(names.len(), 19);
        assert!(place(1, "workload-low") < place(0, "service-accounts"));
        assert!(place(0, "service-accounts") < place(1, "catch-all"));
        assert!(place(1, "catch-all") < place(0, "exempt"));
    }

    #[test]
    fn ours_is_what_says_so() {
        let check = |metadata: &str, expect: bool| {
            assert_eq!(is_ours(&object(STORED.flow_schemas, "f", metadata, b"{}")), expect, "{metadata}");
        };
        check(KEPT, true);
        check(TAKEN, false);
        check(r#""generation":1"#, false);
    }
}
