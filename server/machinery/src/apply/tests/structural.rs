//! Custom resources: objects that a structural schema tells the fields of. What is expected is what the field manager of
//! the extensions server answers.

use super::*;
use crate::{apply::managers::listed, structural::Structural, value::Map};

/// A version's name, and its schema.
type Named<'s> = (&'s str, &'s str);

/// One write, and what it comes to.
enum Step<'s> {
    /// From now on these are the versions.
    Serve(&'s [Named<'s>]),
    /// Manager, version, subresource, object; the managed fields after it.
    Update(&'s str, &'s str, &'s str, &'s str, &'s [&'s str]),
    /// Manager, version, subresource, configuration, force; the managed fields and the object's own members after it.
    Apply(&'s str, &'s str, &'s str, &'s str, bool, &'s [&'s str], &'s str),
    /// An apply of a version that fails, with its error.
    Refused(&'s str, &'s str, &'s str, &'s str),
}
use Step::*;

struct Kind(Vec<(String, Structural)>);

impl Kind {
    fn find(&self, api_version: &str) -> Result<Root<'_>, Unconverted> {
        match self.0.iter().find(|(known, _)| known == api_version) {
            Some((_, structural)) => Ok(Root::Structural(structural)),
            None => Err(Unconverted::Failed(format!("there is no {api_version}"))),
        }
    }
}

impl Versions for Kind {
    fn convert<'a>(
        &self,
        arena: &'a Bump,
        object: &Value<'a>,
        _: &str,
        to: &str,
    ) -> Result<Value<'a>, Unconverted> {
        self.find(to)?;
        let mut object = object.clone();
        object.as_map_mut().unwrap().insert("apiVersion", Value::String(arena.alloc_str(to)));
        Ok(object)
    }

    fn root(&self, api_version: &str) -> Result<Root<'_>, Unconverted> {
        self.find(api_version)
    }
}

/// The managed fields of an object, one a line.
fn lines(object: &Value<'_>) -> Vec<String> {
    let entry = |entry: &Value<'_>| {
        let text = |name: &str| entry.str_at(&[name]).unwrap_or("");
        let Some(Value::Raw(fields)) = entry.path(&["fieldsV1"]) else { panic!("{entry:?}") };
        let slash = if text("subresource").is_empty() { "" } else { "/status" };
        let version = text("apiVersion").trim_start_matches("ex.io/");
        format!("{}{slash} {} {version} {fields}", text("manager"), text("operation"))
    };
    listed(object).and_then(Value::as_list).into_iter().flatten().map(entry).collect()
}

#[track_caller]
fn check(steps: &[Step<'_>]) {
    const NOW: &str = "2024-01-01T00:00:00Z";
    let arena = Bump::new();
    let mut kind = Kind(Vec::new());
    let mut live: Option<Value<'_>> = None;
    for (at, step) in steps.iter().enumerate() {
        let (name, version, subresource, text) = match step {
            Serve(versions) => {
                let compiled = |(name, schema): &Named<'_>| {
                    (format!("ex.io/{name}"), Structural::compile(&untyped(&arena, schema)).unwrap())
                };
                kind = Kind(versions.iter().map(compiled).collect());
                continue;
            }
            Update(name, version, subresource, text, ..) => (*name, *version, *subresource, *text),
            Apply(name, version, subresource, text, ..) => (*name, *version, *subresource, *text),
            Refused(name, version, text, _) => (*name, *version, "", *text),
        };
        let api_version = format!("ex.io/{version}");
        let (reset, reset_elsewhere): (&[&[&str]], &[&[&str]]) = match subresource {
            "" => (&[&["status"]], &[]),
            _ => (&[&["metadata"], &["spec"]], &[&["metadata"], &["spec"]]),
        };
        let manager = FieldManager {
            schema: Schema::builtin(),
            root: kind.find(&api_version).unwrap(),
            kind: "Thing",
            api_version: &api_version,
            subresource,
            reset: ResetFields::Except(reset),
            reset_elsewhere: ResetFields::Except(reset_elsewhere),
            versions: &kind,
        };
        let said = |object: &mut Value<'_>, uid: bool| {
            let map = object.as_map_mut().unwrap();
            map.insert("apiVersion", Value::String(Box::leak(api_version.clone().into_boxed_str())));
            map.insert("kind", Value::String("Thing"));
            let metadata = map.map_mut("metadata");
            metadata.insert("name", Value::String("t"));
            if uid {
                metadata.insert("uid", Value::String("u"));
            }
        };
        let mut before = live.clone().unwrap_or_else(|| Value::Map(Map::new_in(&arena)));
        said(&mut before, live.is_some());
        let mut object = untyped(&arena, text);
        said(&mut object, live.is_some() && matches!(step, Update(..)));
        match step {
            Update(.., expect) => {
                let list = match live {
                    None => manager.create(&arena, &object, name, NOW),
                    Some(_) => manager.update(&arena, &before, &object, name, NOW),
                };
                if let Some(list) = list {
                    object.as_map_mut().unwrap().map_mut("metadata").insert("managedFields", list);
                }
                said(&mut object, true);
                assert_eq!(lines(&object), *expect, "step {at}");
                live = Some(object);
            }
            Apply(.., force, expect, members) => {
                let applied = manager.apply(&arena, &before, &object, name, *force, NOW);
                let mut applied = applied.unwrap_or_else(|error| panic!("step {at}: {error}"));
                let mut object = applied.object.take().unwrap_or(before);
                applied.finish(&mut object);
                said(&mut object, true);
                assert_eq!(lines(&object), *expect, "step {at}");
                let mut own = object.clone();
                for name in ["apiVersion", "kind", "metadata"] {
                    own.as_map_mut().unwrap().remove(name);
                }
                assert!(equal_values(&arena, &own, &untyped(&arena, members)), "step {at}: {own:?}");
                live = Some(object.copy_into(&arena));
            }
            Refused(.., expect) => {
                let error = manager.apply(&arena, &before, &object, name, false, NOW).unwrap_err();
                assert_eq!(error.to_string(), *expect, "step {at}");
            }
            Serve(_) => unreachable!("gone on"),
        }
    }
}

const SCHEMA: &str = "
type: object
properties:
  spec:
    type: object
    properties:
      name: {type: string}
      size: {x-kubernetes-int-or-string: true}
      labels: {type: object, additionalProperties: {type: string}}
      color: {type: object, x-kubernetes-map-type: atomic, properties: {r: {type: integer}, g: {type: integer}}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      list: {type: array, items: {type: string}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items:
          type: object
          properties:
            port: {type: integer}
            protocol: {type: string, default: TCP}
            name: {type: string}
      open:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties: {known: {type: object, properties: {a: {type: string}}}}
      any: {x-kubernetes-preserve-unknown-fields: true, properties: {list: {type: string}}}
      inner: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
  status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
";
const V1: Step<'_> = Serve(&[("v1", SCHEMA)]);

#[test]
fn lists_of_all_types() {
    const TCP: &str = r#""k:{\"port\":1,\"protocol\":\"TCP\"}""#;
    let applied = format!(
        r#"a Apply v1 {{"f:spec":{{"f:list":{{}},"f:ports":{{{TCP}:{{".":{{}},"f:name":{{}},"f:port":{{}}}}}},"f:tags":{{"v:\"w\"":{{}},"v:\"x\"":{{}}}}}}}}"#
    );
    let both = format!(
        r#"b Apply v1 {{"f:spec":{{"f:list":{{}},"f:ports":{{{TCP}:{{".":{{}},"f:port":{{}},"f:protocol":{{}}}},"k:{{\"port\":1,\"protocol\":\"UDP\"}}":{{".":{{}},"f:name":{{}},"f:port":{{}},"f:protocol":{{}}}}}},"f:tags":{{"v:\"w\"":{{}},"v:\"z\"":{{}}}}}}}}"#
    );
    let less = r#"a Apply v1 {"f:spec":{"f:tags":{"v:\"x\"":{}}}}"#;
    let last = format!(
        r#"b Apply v1 {{"f:spec":{{"f:list":{{}},"f:ports":{{{TCP}:{{".":{{}},"f:name":{{}},"f:port":{{}}}}}}}}}}"#
    );
    check(&[
        V1,
        Apply(
            "a",
            "v1",
            "",
            "spec: {tags: [x, w], ports: [{port: 1, name: p}], list: [l]}",
            false,
            &[&applied],
            "spec: {tags: [x, w], ports: [{port: 1, name: p}], list: [l]}",
        ),
        // The default stands for a key that is not named: both are the same item.
        Apply(
            "b",
            "v1",
            "",
            "spec: {tags: [w, z], ports: [{port: 1, protocol: TCP}, {port: 1, protocol: UDP, name: u}], list: [l]}",
            false,
            &[&applied, &both],
            "spec: {tags: [x, w, z], list: [l], ports: [{port: 1, protocol: TCP, name: p}, {port: 1, protocol: UDP, name: u}]}",
        ),
        Apply(
            "a",
            "v1",
            "",
            "spec: {tags: [x], ports: []}",
            false,
            &[less, &both],
            "spec: {tags: [x, w, z], list: [l], ports: [{port: 1, protocol: TCP}, {port: 1, protocol: UDP, name: u}]}",
        ),
        Apply(
            "b",
            "v1",
            "",
            "spec: {ports: [{port: 1, name: q}], list: [m]}",
            false,
            &[less, &last],
            "spec: {tags: [x], list: [m], ports: [{port: 1, name: q}]}",
        ),
    ]);
}

#[test]
fn conflicts_are_told_and_forced() {
    let port =
        |fields: &str| format!(r#""f:ports":{{"k:{{\"port\":1,\"protocol\":\"TCP\"}}":{{{fields}}}}}"#);
    let (named, bare) = (port(r#"".":{},"f:name":{},"f:port":{}"#), port(r#"".":{},"f:port":{}"#));
    let first = format!(r#"a Apply v1 {{"f:spec":{{"f:color":{{}},"f:name":{{}},{named},"f:size":{{}}}}}}"#);
    let second = format!(r#"b Apply v1 {{"f:spec":{{"f:color":{{}},"f:name":{{}},{named},"f:size":{{}}}}}}"#);
    let config = "spec: {name: m, size: 1, color: {g: 1}, ports: [{port: 1, name: q}]}";
    check(&[
        V1,
        Apply(
            "a",
            "v1",
            "",
            "spec: {name: j, size: 1, color: {r: 1}, ports: [{port: 1, name: p}]}",
            false,
            &[&first],
            "spec: {name: j, size: 1, color: {r: 1}, ports: [{port: 1, name: p}]}",
        ),
        Refused(
            "b",
            "v1",
            config,
            "Apply failed with 3 conflicts: conflicts with \"a\":\n- .spec.color\n- .spec.name\n- \
             .spec.ports[port=1,protocol=\"TCP\"].name",
        ),
        Apply(
            "b",
            "v1",
            "",
            config,
            true,
            &[&format!(r#"a Apply v1 {{"f:spec":{{{bare},"f:size":{{}}}}}}"#), &second],
            config,
        ),
        // Text is another value than the number that it shows, and owned by whoever wrote it.
        Update(
            "c",
            "v1",
            "",
            "spec: {name: m, size: '1', color: {g: 1}, ports: [{port: 1, protocol: TCP, name: q}]}",
            &[
                &format!(r#"a Apply v1 {{"f:spec":{{{bare}}}}}"#),
                &format!(r#"b Apply v1 {{"f:spec":{{"f:color":{{}},"f:name":{{}},{named}}}}}"#),
                &format!(r#"c Update v1 {{"f:spec":{{{},"f:size":{{}}}}}}"#, port(r#""f:protocol":{}"#)),
            ],
        ),
        Refused(
            "a",
            "v1",
            "spec: {name: j}",
            "Apply failed with 1 conflict: conflict with \"b\": .spec.name",
        ),
    ]);
}

#[test]
fn below_unknown_fields_values_tell_what_they_are() {
    const CONFIG: &str = "spec: {open: {x: {w: 1, l: [1]}, known: {a: b, z: 1}}, any: {list: t, o: {p: 1}}, inner: \
                          {apiVersion: v1, kind: ConfigMap, metadata: {labels: {l: m}, finalizers: [f/g]}, data: {d: e}}}";
    let rest = r#"a Apply v1 {"f:spec":{"f:inner":{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:labels":{"f:l":{}}}},"f:open":{"f:known":{"f:z":{}}}}}"#;
    check(&[
        V1,
        Apply(
            "a",
            "v1",
            "",
            CONFIG,
            false,
            &[
                r#"a Apply v1 {"f:spec":{"f:any":{"f:list":{},"f:o":{".":{},"f:p":{}}},"f:inner":{"f:apiVersion":{},"f:data":{".":{},"f:d":{}},"f:kind":{},"f:metadata":{"f:finalizers":{"v:\"f/g\"":{}},"f:labels":{"f:l":{}}}},"f:open":{"f:known":{"f:a":{},"f:z":{}},"f:x":{".":{},"f:l":{},"f:w":{}}}}}"#,
            ],
            CONFIG,
        ),
        // Objects become lists.
        Update(
            "u",
            "v1",
            "",
            "spec: {open: {x: [2], known: {a: c, z: 1}}, any: [1], inner: {apiVersion: v1, kind: ConfigMap, metadata: \
             {labels: {l: m, j: o}}}}",
            &[
                rest,
                r#"u Update v1 {"f:spec":{"f:any":{},"f:inner":{"f:metadata":{"f:labels":{"f:j":{}}}},"f:open":{"f:known":{"f:a":{}},"f:x":{}}}}"#,
            ],
        ),
        Update(
            "v",
            "v1",
            "",
            "spec: {open: {x: {w: 2}}, any: t}",
            &[r#"v Update v1 {"f:spec":{"f:any":{},"f:open":{"f:x":{".":{},"f:w":{}}}}}"#],
        ),
    ]);
}

#[test]
fn configurations_that_do_not_fit() {
    let check_one = |config: &str, why: &str| {
        let why = format!("failed to create typed patch object (/t; ex.io/v1, Kind=Thing): {why}");
        check(&[V1, Refused("a", "v1", config, &why)]);
    };
    check_one("bogus: 1", ".bogus: field not declared in schema");
    check_one("spec: {bogus: 1}", ".spec.bogus: field not declared in schema");
    check_one(
        "metadata: {labels: {a: 1}}",
        ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}",
    );
    check_one(
        "spec: {ports: [{name: p}, {name: q}]}",
        ".spec.ports: duplicate entries for key [protocol=\"TCP\"]",
    );
    check_one("spec: {tags: [x, x]}", ".spec.tags: duplicate entries for key [=\"x\"]");
    check_one(
        "spec: {tags: [{}]}",
        ".spec.tags: element 0: associative list without keys has an element that's a map type",
    );
    check_one(
        "spec: {ports: [null]}",
        ".spec.ports: element 0: associative list with keys may not have a null element",
    );
    check_one(
        "spec: {size: {}, labels: [], color: x}",
        "errors:\n  .spec.color: expected map, got &{x}\n  .spec.labels: expected map, got &{[]}",
    );
    check_one(
        "spec: {inner: {kind: 1, metadata: {finalizers: {}}}}",
        "errors:\n  .spec.inner.kind: expected string, got &value.valueUnstructured{Value:1}\n  \
         .spec.inner.metadata.finalizers: expected list, got &{map[]}",
    );
}

#[test]
fn the_status_is_written_apart() {
    let of_user = r#"u Update v1 {"f:spec":{".":{},"f:name":{}}}"#;
    let of_status = r#"s/status Update v1 {"f:status":{"f:phase":{}}}"#;
    check(&[
        V1,
        Update("u", "v1", "", "{spec: {name: j}, status: {phase: p}}", &[of_user]),
        Update("s", "v1", "status", "{spec: {name: m}, status: {phase: q}}", &[of_status, of_user]),
        Apply(
            "t",
            "v1",
            "status",
            "{metadata: {labels: {a: b}}, spec: {name: m}, status: {replicas: 1}}",
            false,
            &[r#"t/status Apply v1 {"f:status":{"f:replicas":{}}}"#, of_status, of_user],
            "{spec: {name: m}, status: {phase: q, replicas: 1}}",
        ),
    ]);
}

#[test]
fn a_schema_that_changes_its_topology() {
    let after = SCHEMA
        .replace("color: {type: object, x-kubernetes-map-type: atomic,", "color: {type: object,")
        .replace("labels: {type: object,", "labels: {type: object, x-kubernetes-map-type: atomic,")
        .replace("tags: {type: array, x-kubernetes-list-type: set,", "tags: {type: array,");
    let versions = [("v1", after.as_str())];
    let (a, b) = (
        r#"a Apply v1 {"f:spec":{"f:color":{},"f:labels":{},"f:tags":{}}}"#,
        r#"b Apply v1 {"f:spec":{"f:labels":{}}}"#,
    );
    let c = r#"c Apply v1 {"f:spec":{"f:name":{}}}"#;
    let granular = r#"a Apply v1 {"f:spec":{"f:color":{},"f:labels":{"f:x":{}},"f:tags":{"v:\"t\"":{}}}}"#;
    check(&[
        V1,
        Apply(
            "a",
            "v1",
            "",
            "spec: {labels: {x: w}, color: {r: 1}, tags: [t]}",
            false,
            &[granular],
            "spec: {labels: {x: w}, color: {r: 1}, tags: [t]}",
        ),
        Apply(
            "b",
            "v1",
            "",
            "spec: {labels: {z: w}}",
            false,
            &[granular, r#"b Apply v1 {"f:spec":{"f:labels":{"f:z":{}}}}"#],
            "spec: {labels: {x: w, z: w}, color: {r: 1}, tags: [t]}",
        ),
        Serve(&versions),
        // Whoever owned a part owns the whole from the next write on, be it one that changes nothing.
        Update("u", "v1", "", "spec: {labels: {x: w, z: w}, color: {r: 1}, tags: [t]}", &[a, b]),
        Apply(
            "c",
            "v1",
            "",
            "spec: {name: j}",
            false,
            &[a, b, c],
            "spec: {labels: {x: w, z: w}, color: {r: 1}, tags: [t], name: j}",
        ),
        Apply(
            "a",
            "v1",
            "",
            "spec: {labels: {x: w, z: w}, color: {r: 2}}",
            true,
            &[r#"a Apply v1 {"f:spec":{"f:color":{"f:r":{}},"f:labels":{}}}"#, b, c],
            "spec: {labels: {x: w, z: w}, color: {r: 2}, name: j}",
        ),
    ]);
}

#[test]
fn fields_are_owned_in_versions() {
    let (a, u) = (
        r#"a Apply v2 {"f:spec":{"f:tags":{"v:\"w\"":{}}}}"#,
        r#"u Update v2 {"f:spec":{"f:tags":{"v:\"z\"":{}}}}"#,
    );
    check(&[
        Serve(&[("v1", SCHEMA), ("v2", SCHEMA)]),
        Apply(
            "a",
            "v1",
            "",
            "spec: {name: j, tags: [x]}",
            false,
            &[r#"a Apply v1 {"f:spec":{"f:name":{},"f:tags":{"v:\"x\"":{}}}}"#],
            "spec: {name: j, tags: [x]}",
        ),
        // An applier has one entry for all versions.
        Apply("a", "v2", "", "spec: {tags: [w]}", false, &[a], "spec: {tags: [w]}"),
        Update("u", "v2", "", "spec: {tags: [w, z]}", &[a, u]),
        Apply(
            "b",
            "v1",
            "",
            "spec: {tags: [z]}",
            false,
            // Nothing changed, so it has no time.
            &[r#"b Apply v1 {"f:spec":{"f:tags":{"v:\"z\"":{}}}}"#, a, u],
            "spec: {tags: [w, z]}",
        ),
        Apply(
            "b",
            "v1",
            "",
            "spec: {name: j}",
            false,
            &[a, r#"b Apply v1 {"f:spec":{"f:name":{}}}"#, u],
            "spec: {name: j, tags: [w, z]}",
        ),
    ]);
}

#[test]
fn versions_that_cannot_be_made_of_each_other() {
    let other =
        SCHEMA.replace("      name: {type: string}\n      size", "      title: {type: string}\n      size");
    let (v1, v2) = (("v1", SCHEMA), ("v2", other.as_str()));
    let a = r#"a Apply v1 {"f:spec":{"f:name":{},"f:size":{}}}"#;
    check(&[
        Serve(&[v1, v2]),
        Apply("a", "v1", "", "spec: {size: 1, name: j}", false, &[a], "spec: {size: 1, name: j}"),
        // What cannot be compared leaves owners as they were.
        Update("u", "v2", "", "spec: {size: 2, title: j}", &[a]),
        Refused("b", "v2", "spec: {title: m}", ".spec.title: field not declared in schema"),
        Serve(&[v2]),
        Refused("c", "v2", "spec: {size: 2}", "there is no ex.io/v1"),
    ]);
}

#[test]
fn from_client_side_apply() {
    const LAST: &str = r#"metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"ex.io/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"name":"j"}}'}}"#;
    let annotation =
        r#""f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}"#;
    let before = format!(
        r#"kubectl-client-side-apply Update v1 {{{annotation},"f:spec":{{".":{{}},"f:name":{{}},"f:size":{{}}}}}}"#
    );
    let after = format!(
        r#"kubectl-client-side-apply Update v1 {{{annotation},"f:spec":{{".":{{}},"f:size":{{}}}}}}"#
    );
    check(&[
        V1,
        Update(
            "kubectl-client-side-apply",
            "v1",
            "",
            &format!("{{{LAST}, spec: {{name: j, size: 1}}}}"),
            &[&before],
        ),
        Apply(
            "kubectl",
            "v1",
            "",
            "spec: {name: m}",
            false,
            &[r#"kubectl Apply v1 {"f:spec":{"f:name":{}}}"#, &after],
            "spec: {name: m, size: 1}",
        ),
        Refused(
            "kubectl",
            "v1",
            "spec: {name: m, size: 2}",
            "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using ex.io/v1: .spec.size",
        ),
    ]);
}

/// Without a schema nothing is told apart by keys, in the metadata neither.
#[test]
fn objects_without_a_schema() {
    let arena = Bump::new();
    let compared = |old: &str, new: &str| {
        let (old, new) = (untyped(&arena, old), untyped(&arena, new));
        let (old, new): (&Value<'_>, &Value<'_>) = (arena.alloc(old), arena.alloc(new));
        let found = compare(&arena, Schema::builtin(), Root::Deduced, old, new).unwrap();
        [printed(found.added), printed(found.modified), printed(found.removed)]
    };
    assert_eq!(
        compared(
            "{kind: A, metadata: {finalizers: [a], managedFields: [1]}, spec: {l: [1], m: {a: 1}, p: {a: 1}}}",
            "{kind: B, metadata: {finalizers: [b], managedFields: []}, spec: {l: [2], m: [3], p: null, o: {}}}",
        ),
        [
            r#"{"f:spec":{"f:o":{}}}"#,
            r#"{"f:metadata":{"f:finalizers":{}},"f:spec":{"f:l":{},"f:m":{}}}"#,
            r#"{"f:spec":{"f:m":{"f:a":{}},"f:p":{"f:a":{}}}}"#
        ]
    );
    let object = untyped(&arena, "{metadata: {labels: {a: b}}, spec: {l: [{x: 1}], e: {}}}");
    assert_eq!(
        printed(field_set(&arena, Schema::builtin(), Root::Deduced, &object)),
        r#"{"f:metadata":{".":{},"f:labels":{".":{},"f:a":{}}},"f:spec":{".":{},"f:e":{},"f:l":{}}}"#
    );
}

/// Of all opaque texts, those that expressions made stand for values that no JSON has: others are texts of managed fields,
/// whatever a client wrote there.
#[test]
fn opaque_texts_are_no_values_where_expressions_made_them() {
    let arena = Bump::new();
    let structural = Structural::compile(&untyped(&arena, SCHEMA)).unwrap();
    let root = Root::Structural(&structural);
    for text in ["map[b:1]", "{b}", "5"] {
        let mut object = untyped(&arena, "spec: {open: {x: 1}}");
        let spec = object.as_map_mut().unwrap().map_mut("spec");
        spec.map_mut("open").insert("x", Value::Raw(text));
        assert!(validate(&arena, Schema::builtin(), root, &object, Duplicates::Refused).is_empty());
        let problems = validate_made(&arena, Schema::builtin(), root, &object);
        assert_eq!(problems_text(&problems), format!(".spec.open.x: expected map, got &{{{text}}}"));
    }
}
