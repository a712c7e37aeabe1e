//! The field manager through sequences of writes.

use super::*;
use crate::apply::managers::listed;

/// One write, and what it comes to.
enum Step<'s> {
    /// Manager, object; the managed fields after it.
    Update(&'s str, &'s str, &'s [&'s str]),
    /// Manager, configuration, force; the managed fields and the object after it.
    Apply(&'s str, &'s str, bool, &'s [&'s str]),
    /// An apply that fails, with its error.
    Refused(&'s str, &'s str, &'s str),
    /// Manager, status; through the subresource.
    Status(&'s str, &'s str, &'s [&'s str]),
}

/// An object and its field managers, as a server keeps them.
struct World {
    api_version: &'static str,
    kind: &'static str,
    json: String,
    seconds: u32,
}

fn struct_of(manager: &FieldManager<'_>) -> StructId {
    match manager.root {
        Root::BuiltIn(ty) => ty,
        other => panic!("{other:?}"),
    }
}

impl World {
    fn manager<'s>(&'s self, subresource: &'s str) -> FieldManager<'s> {
        FieldManager {
            schema: Schema::builtin(),
            root: kind(self.api_version, self.kind).into(),
            kind: self.kind,
            api_version: self.api_version,
            subresource,
            reset: ResetFields::Except(if subresource.is_empty() { &[&["status"]] } else { &[&["spec"]] }),
            reset_elsewhere: ResetFields::Except(&[]),
            versions: &NoOtherVersion,
        }
    }

    fn live<'a>(&self, arena: &'a Bump, manager: &FieldManager<'_>) -> Value<'a> {
        match self.json.as_str() {
            "" => manager.zero(arena),
            json => {
                let json = arena.alloc_str(json).as_bytes();
                json::decode_typed(arena, Schema::builtin(), struct_of(manager), json, Mode::Lenient)
                    .unwrap()
                    .value
            }
        }
    }

    /// Stores an object; answers its managed fields, one a line.
    fn store(&mut self, mut object: Value<'_>) -> Vec<String> {
        let arena = object.as_map().map(|map| map.arena()).unwrap();
        let map = object.as_map_mut().unwrap();
        map.insert("apiVersion", Value::String(self.api_version));
        map.insert("kind", Value::String(self.kind));
        map.map_mut("metadata").insert("uid", Value::String("u"));
        let lines = listed(&object).and_then(Value::as_list).into_iter().flatten().map(|entry| {
            let text = |name: &str| entry.str_at(&[name]).unwrap_or("-");
            let Some(Value::Raw(fields)) = entry.path(&["fieldsV1"]) else { panic!("{entry:?}") };
            let time = text("time").trim_start_matches("2024-01-01T00:00:0").trim_end_matches('Z');
            let slash = if text("subresource") == "-" { "" } else { "/status" };
            format!("{}{slash} {} {time} {fields}", text("manager"), text("operation"))
        });
        let lines = lines.collect();
        let mut json = Vec::new();
        json::encode(Schema::builtin(), kind(self.api_version, self.kind), &object, &mut json);
        self.json = String::from_utf8(json).unwrap();
        let _ = arena;
        lines
    }

    fn update(&mut self, name: &str, text: &str, subresource: &str) -> Vec<String> {
        let arena = Bump::new();
        let now = self.now();
        let manager = self.manager(subresource);
        let live = self.live(&arena, &manager);
        let mut new = typed(&arena, struct_of(&manager), text);
        normalize(&arena, Schema::builtin(), struct_of(&manager), &mut new).forget();
        let list = manager.update(&arena, &live, &new, name, &now);
        set(&mut new, list);
        self.store(new)
    }

    fn apply(&mut self, name: &str, text: &str, force: bool) -> Result<Vec<String>, ApplyError> {
        let arena = Bump::new();
        let now = self.now();
        let manager = self.manager("");
        let mut live = self.live(&arena, &manager);
        let map = live.as_map_mut().unwrap();
        map.insert("apiVersion", Value::String(self.api_version));
        map.insert("kind", Value::String(self.kind));
        normalize(&arena, Schema::builtin(), struct_of(&manager), &mut live).forget();
        let mut config = untyped(&arena, text);
        let map = config.as_map_mut().unwrap();
        map.insert("apiVersion", Value::String(self.api_version));
        map.insert("kind", Value::String(self.kind));
        let mut applied = manager.apply(&arena, &live, &config, name, force, &now)?;
        let object = applied.object.take().unwrap_or(live);
        let ty = struct_of(&manager);
        let decoded = json::retype(&arena, Schema::builtin(), ty, &object, Mode::Strict).unwrap();
        assert!(decoded.strict_errors.is_empty(), "{:?}", decoded.strict_errors);
        let mut object = decoded.value;
        applied.finish(&mut object);
        Ok(self.store(object))
    }

    fn now(&mut self) -> String {
        self.seconds += 1;
        format!("2024-01-01T00:00:0{}Z", self.seconds)
    }
}

fn set<'a>(object: &mut Value<'a>, list: Option<Value<'a>>) {
    let metadata = object.as_map_mut().unwrap().map_mut("metadata");
    metadata.remove("managedFields");
    if let Some(list) = list {
        metadata.insert("managedFields", list);
    }
}

/// Goes through the steps; `expect` is what the object holds at the end (its managed fields left aside).
#[track_caller]
fn check(api_version: &'static str, kind: &'static str, steps: &[Step<'_>], expect: &str) {
    let mut world = World { api_version, kind, json: String::new(), seconds: 0 };
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Update(name, text, fields) => assert_eq!(world.update(name, text, ""), *fields, "{at}"),
            Step::Status(name, text, fields) => {
                assert_eq!(world.update(name, text, "status"), *fields, "{at}")
            }
            Step::Apply(name, text, force, fields) => {
                assert_eq!(world.apply(name, text, *force).unwrap(), *fields, "step {at}");
            }
            Step::Refused(name, text, error) => {
                assert_eq!(world.apply(name, text, false).unwrap_err().to_string(), *error, "step {at}");
            }
        }
    }
    let arena = Bump::new();
    let manager = world.manager("");
    let mut object = world.live(&arena, &manager);
    set(&mut object, None);
    let mut json = Vec::new();
    json::encode(Schema::builtin(), struct_of(&manager), &object, &mut json);
    assert_eq!(String::from_utf8(json).unwrap(), expect);
}

fn config_map(metadata: &str, rest: &str) -> String {
    format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{{metadata}"uid":"u"}}{rest}}}"#)
}

#[test]
fn owners_of_a_config_map() {
    use Step::*;
    check(
        "v1",
        "ConfigMap",
        &[
            Apply("m1", "data: {k: v, j: '1'}", false, &[r#"m1 Apply 1 {"f:data":{"f:j":{},"f:k":{}}}"#]),
            // The same again: nothing happens, the time stays.
            Apply("m1", "data: {k: v, j: '1'}", false, &[r#"m1 Apply 1 {"f:data":{"f:j":{},"f:k":{}}}"#]),
            Refused("m2", "data: {k: w}", r#"Apply failed with 1 conflict: conflict with "m1": .data.k"#),
            Refused(
                "m2",
                "data: {k: w, j: '2'}",
                "Apply failed with 2 conflicts: conflicts with \"m1\":\n- .data.j\n- .data.k",
            ),
            // Shared: nothing changes, so the new owner has no time.
            Apply(
                "m2",
                "data: {k: v}",
                false,
                &[r#"m2 Apply - {"f:data":{"f:k":{}}}"#, r#"m1 Apply 1 {"f:data":{"f:j":{},"f:k":{}}}"#],
            ),
            // Forced: taken from the others.
            Apply(
                "m2",
                "data: {k: w}",
                true,
                &[r#"m1 Apply 1 {"f:data":{"f:j":{}}}"#, r#"m2 Apply 6 {"f:data":{"f:k":{}}}"#],
            ),
            // No longer named and owned by nobody else: gone, and so is its map when it is empty.
            Apply("m1", "metadata: {name: a}", false, &[r#"m2 Apply 6 {"f:data":{"f:k":{}}}"#]),
            Apply("m2", "{}", false, &[]),
        ],
        &config_map("", "").replace("\"uid\"", "\"name\":\"a\",\"uid\""),
    );
}

#[test]
fn updates_take_what_they_change() {
    use Step::*;
    check(
        "v1",
        "ConfigMap",
        &[
            Update("a", "data: {k: v, j: '1'}", &[r#"a Update 1 {"f:data":{".":{},"f:j":{},"f:k":{}}}"#]),
            Update(
                "b",
                "{metadata: {uid: u}, data: {k: w, j: '1'}}",
                &[r#"a Update 1 {"f:data":{".":{},"f:j":{}}}"#, r#"b Update 2 {"f:data":{"f:k":{}}}"#],
            ),
            // Nothing new: nothing changes.
            Update(
                "c",
                "{metadata: {uid: u}, data: {k: w, j: '1'}}",
                &[r#"a Update 1 {"f:data":{".":{},"f:j":{}}}"#, r#"b Update 2 {"f:data":{"f:k":{}}}"#],
            ),
            // Removed: nobody owns it, not even who removed it.
            Update(
                "c",
                "{metadata: {uid: u}, data: {j: '1'}}",
                &[r#"a Update 1 {"f:data":{".":{},"f:j":{}}}"#],
            ),
            Refused(
                "kubectl",
                "data: {j: x}",
                r#"Apply failed with 1 conflict: conflict with "a" using v1: .data.j"#,
            ),
            // Forgotten on demand, and nobody tracked until the first apply.
            Update("c", "{metadata: {uid: u, managedFields: [{}]}, data: {j: '1'}}", &[]),
            Update("c", "{metadata: {uid: u}, data: {j: '2'}}", &[]),
            Apply(
                "d",
                "data: {l: x}",
                false,
                &[
                    r#"d Apply 8 {"f:data":{"f:l":{}}}"#,
                    r#"before-first-apply Update 8 {"f:data":{".":{},"f:j":{}}}"#,
                ],
            ),
        ],
        &config_map("", r#","data":{"j":"2","l":"x"}"#),
    );
}

#[test]
fn managed_fields_that_a_client_sends() {
    use Step::*;
    let entry = |fields: &str| {
        format!(
            "{{metadata: {{uid: u, managedFields: [{{manager: z, operation: Update, apiVersion: v1, fieldsType: FieldsV1, \
             fieldsV1: {fields}}}]}}, data: {{k: v}}}}"
        )
    };
    let (good, unknown) = (entry("{'f:data': {'f:k': {}}}"), entry("{'q': 1}"));
    check(
        "v1",
        "ConfigMap",
        &[
            Update("a", "data: {k: v}", &[r#"a Update 1 {"f:data":{".":{},"f:k":{}}}"#]),
            Update("a", &good, &[r#"z Update - {"f:data":{"f:k":{}}}"#]),
            // What does not make sense is passed over.
            Update("a", &unknown, &[r#"z Update - {"f:data":{"f:k":{}}}"#]),
            // An entry of a version that the kind does not have is dropped.
            Update("a", &good.replace("apiVersion: v1", "apiVersion: apps/v9"), &[]),
        ],
        &config_map("", r#","data":{"k":"v"}"#),
    );
}

/// What cannot be compared leaves the owners as they were.
#[test]
fn an_update_with_an_item_without_a_key() {
    use Step::*;
    check(
        "v1",
        "ServiceAccount",
        &[
            Update(
                "a",
                "secrets: [{name: x}]",
                &[r#"a Update 1 {"f:secrets":{".":{},"k:{\"name\":\"x\"}":{}}}"#],
            ),
            Update(
                "b",
                "{metadata: {uid: u}, secrets: [{}]}",
                &[r#"a Update 1 {"f:secrets":{".":{},"k:{\"name\":\"x\"}":{}}}"#],
            ),
            Refused(
                "c",
                "metadata: {labels: {a: b}}",
                concat!(
                    "failed to create typed live object (/; /v1, Kind=ServiceAccount): .secrets: element 0: associative list ",
                    r#"with keys has an element that omits all key fields ["name"] (and doesn't have default values "#,
                    "for any key fields)"
                ),
            ),
        ],
        r#"{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"uid":"u"},"secrets":[{}]}"#,
    );
}

#[test]
fn many_updates_are_kept_as_one() {
    let mut world = World { api_version: "v1", kind: "ConfigMap", json: String::new(), seconds: 0 };
    let mut lines = Vec::new();
    for at in 0..13u8 {
        let data: Vec<String> = (0..=at).map(|n| format!("{}: x", char::from(b'a' + n))).collect();
        world.seconds = u32::from(at / 2);
        lines = world.update(
            &format!("m{at:02}"),
            &format!("{{metadata: {{uid: u}}, data: {{{}}}}}", data.join(", ")),
            "",
        );
        assert!(lines.len() <= 10, "{lines:?}");
        // The first write has no live object yet.
        assert!(!world.json.is_empty());
    }
    assert_eq!(
        lines[0],
        r#"ancient-changes Update 2 {"f:data":{".":{},"f:a":{},"f:b":{},"f:c":{},"f:d":{}}}"#
    );
    assert_eq!(lines.len(), 10);
}

#[test]
fn containers_of_a_deployment() {
    use Step::*;
    let spec = |containers: &str| {
        format!(
            "spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{spec: {{containers: [{containers}]}}}}}}"
        )
    };
    let (one, two) =
        (spec("{name: c, image: one}"), spec("{name: d, image: two, ports: [{containerPort: 80}]}"));
    check(
        "apps/v1",
        "Deployment",
        &[
            Apply(
                "m1",
                &one,
                false,
                &[
                    r#"m1 Apply 1 {"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}}}"#,
                ],
            ),
            Apply(
                "m2",
                &two,
                false,
                &[
                    r#"m1 Apply 1 {"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}}}"#,
                    r#"m2 Apply 2 {"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"d\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}"#,
                ],
            ),
            // A write of the status owns only that: the strategy puts the spec back.
            Status(
                "s",
                "{metadata: {uid: u}, spec: {replicas: 3}, status: {replicas: 2}}",
                &[
                    r#"m1 Apply 1 {"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}}}"#,
                    r#"m2 Apply 2 {"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"d\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}"#,
                    r#"s/status Update 3 {"f:status":{"f:replicas":{}}}"#,
                ],
            ),
        ],
        concat!(
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"uid":"u"},"spec":{"replicas":3,"selector":null,"#,
            r#""template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{"replicas":2}}"#
        ),
    );
}

#[test]
fn from_client_side_apply() {
    use Step::*;
    let annotation =
        r#"'{"apiVersion":"v1","data":{"k":"v","l":"w"},"kind":"ConfigMap","metadata":{"name":"a"}}'"#;
    let created = format!(
        "{{metadata: {{annotations: {{kubectl.kubernetes.io/last-applied-configuration: {annotation}}}}}, data: {{k: v, l: w}}}}"
    );
    let rest =
        r#""f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}"#;
    let before = format!(
        r#"kubectl-client-side-apply Update 1 {{"f:data":{{".":{{}},"f:k":{{}},"f:l":{{}}}},{rest}}}"#
    );
    let after = format!(r#"kubectl-client-side-apply Update 1 {{"f:data":{{".":{{}},"f:l":{{}}}},{rest}}}"#);
    check(
        "v1",
        "ConfigMap",
        &[
            Update("kubectl-client-side-apply", &created, &[&before]),
            Refused(
                "other",
                "data: {k: x}",
                r#"Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.k"#,
            ),
            // kubectl takes over what it applied itself, and says so in the annotation.
            Apply("kubectl", "data: {k: x}", false, &[r#"kubectl Apply 3 {"f:data":{"f:k":{}}}"#, &after]),
        ],
        concat!(
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"uid":"u","annotations":"#,
            r#"{"kubectl.kubernetes.io/last-applied-configuration":"#,
            r#""{\"apiVersion\":\"v1\",\"data\":{\"k\":\"x\"},\"kind\":\"ConfigMap\"}\n"}},"#,
            r#""data":{"k":"x","l":"w"}}"#
        ),
    );
}

#[test]
fn what_may_not_be_applied() {
    let mut world = World { api_version: "v1", kind: "ConfigMap", json: String::new(), seconds: 0 };
    let mut refused = |text: &str| world.apply("m", text, false).unwrap_err();
    assert_eq!(
        refused("metadata: {managedFields: []}"),
        ApplyError::BadRequest("metadata.managedFields must be nil".into())
    );
    assert_eq!(
        refused("{metadata: {name: a, namespace: b}, data: {k: true}}").to_string(),
        "failed to create typed patch object (b/a; /v1, Kind=ConfigMap): .data.k: expected string, got \
         &value.valueUnstructured{Value:true}"
    );
    let arena = Bump::new();
    let manager = world.manager("");
    let other = untyped(&arena, "{apiVersion: apps/v1, kind: ConfigMap}");
    let error = manager.apply(&arena, &manager.zero(&arena), &other, "m", false, "").unwrap_err();
    assert_eq!(error.to_string(), "invalid object type: apps/v1, Kind=ConfigMap");
}

/// Thousands of managers, as only a client can make them up, take memory in proportion.
#[test]
fn made_up_managers_are_bounded() {
    const COUNT: usize = 3000;
    let world = World { api_version: "v1", kind: "ConfigMap", json: String::new(), seconds: 0 };
    let manager = world.manager("");
    let arena = Bump::new();
    let entry = |at: usize, operation: &str| {
        format!(
            r#"{{"manager":"m{at}","operation":"{operation}","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k{at}":{{}}}}}}}}"#
        )
    };
    let object = |operation: &str, value: &str| {
        let entries: Vec<String> = (0..COUNT).map(|at| entry(at, operation)).collect();
        let data: Vec<String> = (0..COUNT).map(|at| format!(r#""k{at}":"{value}""#)).collect();
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"uid":"u","managedFields":[{}]}},"data":{{{}}}}}"#,
            entries.join(","),
            data.join(",")
        );
        let text = arena.alloc_str(&text).as_bytes();
        json::decode_typed(&arena, Schema::builtin(), struct_of(&manager), text, Mode::Lenient).unwrap().value
    };
    let before = arena.allocated_bytes();
    let (old, new) = (object("Update", "x"), object("Update", "y"));
    let list = manager.update(&arena, &old, &new, "me", "2024-01-01T00:00:01Z").unwrap();
    // All that they owned changed.
    assert_eq!(list.as_list().map(|list| list.len()), Some(1));
    let list = manager.update(&arena, &object("Update", "x"), &object("Update", "x"), "me", "").unwrap();
    assert_eq!(list.as_list().map(|list| list.len()), Some(COUNT), "nothing changed");
    // One more makes the oldest go together.
    let live = object("Update", "x");
    let mut more = live.clone();
    more.path_mut(&["data"]).and_then(Value::as_map_mut).unwrap().insert("z", Value::String("z"));
    let list = manager.update(&arena, &live, &more, "me", "2024-01-01T00:00:01Z").unwrap();
    assert_eq!(list.as_list().map(|list| list.len()), Some(10));
    let live = object("Apply", "x");
    let config = untyped(&arena, "{apiVersion: v1, kind: ConfigMap, data: {k0: w}}");
    let error = manager.apply(&arena, &live, &config, "m1", false, "").unwrap_err();
    assert_eq!(error.to_string(), r#"Apply failed with 1 conflict: conflict with "m0": .data.k0"#);
    let used = arena.allocated_bytes() - before;
    assert!(used < 96 << 20, "{used} bytes");
}
