//! Custom resources, from a definition to answers: every verb, both forms beside the objects themselves, what is told of
//! fields that are unknown, and what becomes of objects when their definition changes.

use std::{sync::Arc, time::Duration};

use ringbolt_apiserver::{endpoints::CustomEndpoints, serving::connection::Protocol};
use ringbolt_extensions::{ConverterFactory, custom_resource::CustomResource};
use ringbolt_machinery::{json, schema::Schema};
use ringbolt_outgoing::{Outgoing, ServiceResolver};
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::{Attributes, EncodedObject, Inspect, ResourceId},
};

use crate::rig::{Rig, Setup, TOKEN, admit_all};

const NAMESPACES: ResourceId = ResourceId(0);
pub(crate) const V1: &str = "/apis/ex.io/v1/namespaces/default/widgets";
const V2: &str = "/apis/ex.io/v2/namespaces/default/widgets";
const TABLE: &str = "accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n";
pub(crate) const JSON: &str = "content-type: application/json\r\n";
pub(crate) const MERGE: &str = "content-type: application/merge-patch+json\r\n";

/// A definition with two versions that differ, the first of them stored.
pub(crate) const DEFINITION: &str = r#"{
  "spec": {"group": "ex.io", "scope": "Namespaced", "versions": [
    {"name": "v1", "served": true, "storage": true,
     "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
       "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
     "selectableFields": [{"jsonPath": ".spec.color"}],
     "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
     "schema": {"openAPIV3Schema": {"type": "object", "properties": {
       "spec": {"type": "object", "properties": {"color": {"type": "string"}, "size": {"type": "integer", "default": 3},
         "replicas": {"type": "integer"}}},
       "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}}}}},
    {"name": "v2", "served": true, "storage": false, "deprecated": true,
     "schema": {"openAPIV3Schema": {"type": "object", "properties": {
       "spec": {"type": "object", "properties": {"color": {"type": "string"}, "extra": {"type": "integer", "default": 9}}}}}}}
  ]},
  "status": {"acceptedNames": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}}
}"#;

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

struct NoServices;

impl ServiceResolver for NoServices {
    fn resolve(&self, _: &str, name: &str, _: u16) -> Result<(String, u16), String> {
        Err(format!("service {name:?} not found"))
    }
}

fn resources() -> Vec<String> {
    vec!["namespaces".into(), "widgets.ex.io".into()]
}

pub(crate) fn compile(text: &str, previous: Option<&CustomResource>) -> CustomResource {
    let arena = bumpalo::Bump::new();
    let definition =
        json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).expect("it is JSON");
    // Numbers follow from the names alone.
    let options = EmbeddedOptions::new(resources(), None, Arc::new(NoAttributes));
    let names = Embedded::open(options, Box::new(MemoryDisk::default())).expect("an empty disk opens");
    let converters = ConverterFactory::new(Outgoing::default(), Arc::new(NoServices));
    let compiled = CustomResource::compile(Schema::builtin(), &definition, &*names, previous, &converters);
    compiled.expect("it is a definition")
}

/// A server of custom resources.
pub(crate) struct Server {
    rig: Rig,
    /// Of each version that is served.
    endpoints: Vec<CustomEndpoints>,
}

pub(crate) fn server(resource: &CustomResource) -> Server {
    let setup = Setup { resources: resources(), ..Setup::default() };
    let mut endpoints = Vec::new();
    let rig = Rig::new(Protocol::from_alpn(None, 100), setup, |routes| {
        for version in &resource.versions {
            let made = version.endpoints(Schema::builtin(), NAMESPACES, &admit_all());
            routes.resource(made.served().facts, |subresource| match subresource {
                None => Some(made.resource.clone()),
                Some(name) => {
                    made.subresources.iter().find(|(known, _)| *known == name).map(|(_, made)| made.clone())
                }
            });
            endpoints.push(made);
        }
    });
    let mut server = Server { rig, endpoints };
    server.store(NAMESPACES, "default", r#""metadata":{"name":"default","uid":"u"}}"#);
    server
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn warnings(&self) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.strip_prefix("warning: 299 - "));
        lines.collect()
    }

    pub(crate) fn message(&self) -> String {
        let arena = bumpalo::Bump::new();
        let body = json::decode_untyped(&arena, arena.alloc_slice_copy(self.body.as_bytes()));
        body.expect("a Status is JSON").str_at(&["message"]).unwrap_or("").to_owned()
    }

    /// The body without what differs from run to run.
    pub(crate) fn stable(&self) -> String {
        let mut text = self.body.trim_end().to_owned();
        for (name, end) in [("\"uid\":\"", '"'), ("\"creationTimestamp\":\"", '"'), ("\"time\":\"", '"')] {
            let mut from = 0;
            while let Some(at) = text[from..].find(name).map(|at| from + at + name.len()) {
                let len = text[at..].find(end).expect("a string ends");
                text.replace_range(at..at + len, "-");
                from = at;
            }
        }
        text
    }
}

impl Server {
    fn store(&mut self, resource: ResourceId, key: &str, json: &str) {
        let splice = json.find("\"generation\"").or(json.find("\"uid\"")).expect("a member follows") as u32;
        let write = Write {
            resource,
            key: key.into(),
            namespace_len: key.find('/').unwrap_or(0) as u16,
            precondition: Precondition::Absent,
            needs_namespace: false,
            action: Action::Put {
                object: EncodedObject { json: json.to_owned().into(), splice },
                attributes: Attributes::default(),
                ttl: None,
            },
        };
        self.rig.site.core.storage.submit(write).wait().expect("nothing is there yet");
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let length = match body {
            "" => String::new(),
            body => format!("content-length: {}\r\n", body.len()),
        };
        let mut text = self
            .rig
            .ask(&format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{headers}{length}{TOKEN}\r\n{body}"));
        // A write is answered when it is committed.
        for _ in 0..2000 {
            if !text.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            self.rig.wants = self.rig.connection.woken(&mut self.rig.socket);
            text = self.rig.sent();
        }
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn get(&mut self, path: &str, headers: &str) -> Answer {
        self.ask("GET", path, headers, "")
    }
}

pub(crate) fn widget(name: &str, rest: &str) -> String {
    format!(r#"{{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{{"name":"{name}"}}{rest}}}"#)
}

#[test]
fn created_read_changed_and_deleted() {
    let mut server = server(&compile(DEFINITION, None));
    let body = widget("a", r#","spec":{"color":"red","junk":1},"status":{"replicas":4},"aaa":2"#);
    let made = server.ask("POST", V1, JSON, &body);
    assert_eq!(
        (made.status, made.warnings()),
        (201, vec![r#""unknown field \"aaa\"""#, r#""unknown field \"spec.junk\"""#])
    );
    let owners = r#""managedFields":[{"manager":"unknown","operation":"Update","apiVersion":"ex.io/v1","time":"-","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:color":{},"f:size":{}}}}]"#;
    let object = |version: u64, rest: &str| {
        format!(
            r#"{{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{{"name":"a","namespace":"default","uid":"-","resourceVersion":"{version}","generation":1,"creationTimestamp":"-",{owners}}},{rest}}}"#
        )
    };
    let spec = r#""spec":{"color":"red","size":3}"#;
    assert_eq!(made.stable(), object(2, spec));
    assert_eq!(server.get(&format!("{V1}/a"), "").stable(), object(2, spec));
    let list = server.get(V1, "");
    let expect = format!(
        r#"{{"kind":"WidgetList","apiVersion":"ex.io/v1","metadata":{{"resourceVersion":"2","continue":""}},"items":[{}]}}"#,
        object(2, spec)
    );
    assert_eq!(list.stable(), expect);
    // The status has its own path, and the object's own path leaves it alone.
    let status = server.ask(
        "PATCH",
        &format!("{V1}/a/status"),
        MERGE,
        r#"{"spec":{"color":"no"},"status":{"replicas":7}}"#,
    );
    assert_eq!(
        (status.status, status.body.contains(r#""spec":{"color":"red","size":3},"status":{"replicas":7}"#)),
        (200, true)
    );
    assert!(status.body.contains(r#""generation":1,"#), "{}", status.body);
    let patched =
        server.ask("PATCH", &format!("{V1}/a"), MERGE, r#"{"spec":{"color":"blue"},"status":null}"#);
    assert!(
        patched.body.contains(r#""spec":{"color":"blue","size":3},"status":{"replicas":7}"#),
        "{}",
        patched.body
    );
    assert!(patched.body.contains(r#""generation":2,"#), "{}", patched.body);
    let put = server.ask("PUT", &format!("{V1}/a"), JSON, &widget("a", ""));
    assert_eq!(put.status, 422);
    assert_eq!(
        put.message(),
        r#"widgets.ex.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"#
    );
    let selected = server.get(&format!("{V1}?fieldSelector=spec.color%3Dblue"), "");
    assert!(selected.body.contains(r#""name":"a""#));
    let none = server.get(&format!("{V1}?fieldSelector=spec.color%3Dred"), "");
    assert!(none.body.contains(r#""items":[]"#), "{}", none.body);
    let unknown = server.get(&format!("{V1}?fieldSelector=spec.size%3D3"), "");
    assert_eq!((unknown.status, unknown.message()), (400, "field label not supported: spec.size".to_owned()));
    let gone = server.ask("DELETE", &format!("{V1}/a"), "", "");
    assert!(
        gone.body.contains(r#""status":"Success","details":{"name":"a","group":"ex.io","kind":"widgets","#)
    );
    assert_eq!(server.get(&format!("{V1}/a"), "").message(), r#"widgets.ex.io "a" not found"#);
    server.ask("POST", V1, JSON, &widget("b", ""));
    let unsafe_option = "?ignoreStoreReadErrorWithClusterBreakingPotential=true";
    let refused = server.ask("DELETE", &format!("{V1}{unsafe_option}"), "", "");
    assert_eq!(refused.status, 422);
    assert!(refused.message().contains("is not allowed with DELETECOLLECTION"), "{}", refused.message());
    server.ask("DELETE", V1, "", "");
    assert!(server.get(V1, "").body.contains(r#""items":[]"#));
}

#[test]
fn bodies_that_are_refused() {
    let mut server = server(&compile(DEFINITION, None));
    let mut check = |body: &str, status: u16, message: &str| {
        let answer = server.ask("POST", &format!("{V1}?fieldValidation=Strict"), JSON, body);
        assert_eq!((answer.status, answer.message()), (status, message.to_owned()), "{body}");
    };
    check(
        r#"{"metadata":{"name":"c"},"spec":{}}"#,
        400,
        r#"the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"c"},"spec":{}}' ({"metadata":{"name":"c"},"spec ...)"#,
    );
    check(
        r#"{"kind":"Widget","metadata":{"name":"c"}}"#,
        400,
        "the API version in the data () does not match the expected API version (ex.io/v1)",
    );
    check(
        r#"{"apiVersion":"ex.io/v1","kind":"Gadget","metadata":{"name":"C_"}}"#,
        422,
        r#"Gadget.ex.io "C_" is invalid: kind: Invalid value: "Gadget": must be Widget"#,
    );
    check(
        r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":1}}"#,
        400,
        r#"Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"#,
    );
    check(
        r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":7}"#,
        400,
        r#"Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go value of type v1.ObjectMeta"#,
    );
    check(
        r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"b","foo":1},"spec":{"color":"red","junk":1,"color":"x"},"zzz":1}"#,
        400,
        r#"Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.color", unknown field "metadata.foo", unknown field "spec.junk", unknown field "zzz""#,
    );
    check(
        r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"c"},"spec":7}"#,
        422,
        r#"Widget.ex.io "c" is invalid: [spec: Invalid value: "integer": spec in body must be of type object: "integer", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 7 is of the type int64, expected map[string]interface{}]"#,
    );
}

#[test]
fn rules_are_left_aside_where_metadata_is_wrong() {
    let rule = r#"{"rule": "self.size < 5", "message": "too large"}"#;
    let schema = r#"{"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"size": {"type": "integer"}}, "x-kubernetes-validations": [RULE]}}}"#;
    let definition = r#"{"spec": {"group": "ex.io", "scope": "Namespaced", "versions": [
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": SCHEMA}}]},
        "status": {"acceptedNames": {"plural": "widgets", "singular": "widget", "kind": "Widget",
        "listKind": "WidgetList"}}}"#
        .replace("SCHEMA", schema)
        .replace("RULE", rule);
    let mut server = server(&compile(&definition, None));
    let object = |metadata: &str, size: u32| {
        format!(
            r#"{{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{{{metadata}}},"spec":{{"size":{size}}}}}"#
        )
    };
    const UNCHECKED: &str = "<nil>: Invalid value: null: some validation rules were not checked because the object \
                             was invalid; correct the existing errors to complete validation";
    assert_eq!(
        server.ask("POST", V1, JSON, &object("", 9)).message(),
        format!(
            r#"Widget.ex.io "" is invalid: [metadata.name: Required value: name or generateName is required, {UNCHECKED}]"#
        )
    );
    // What is no more than an invalid value does not keep rules from running.
    let both = server.ask("POST", V1, JSON, &object(r#""name":"A""#, 9)).message();
    assert!(both.contains("metadata.name: Invalid value") && both.contains("too large"), "{both}");
    assert_eq!(server.ask("POST", V1, JSON, &object(r#""name":"a""#, 1)).status, 201);
    let owner = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]}}"#;
    let patched = server.ask("PATCH", &format!("{V1}/a"), MERGE, owner).message();
    assert!(patched.contains("ownerReferences[0].uid: Required value"), "{patched}");
    assert!(patched.contains(UNCHECKED), "{patched}");
}

#[test]
fn patches_that_are_refused() {
    let mut server = server(&compile(DEFINITION, None));
    assert_eq!(server.ask("POST", V1, JSON, &widget("a", r#","spec":{"color":"red"}"#)).status, 201);
    let path = format!("{V1}/a");
    let strategic = "content-type: application/strategic-merge-patch+json\r\n";
    let answer = server.ask("PATCH", &path, strategic, "{}");
    assert_eq!(answer.status, 415);
    assert_eq!(
        answer.message(),
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
    let mut check = |patch: &str, status: u16, ends: &str| {
        let answer = server.ask("PATCH", &format!("{path}?fieldValidation=Strict"), MERGE, patch);
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.message().ends_with(ends), "{}", answer.message());
    };
    check(
        r#"{"kind":"Foo"}"#,
        422,
        r#"Foo.ex.io "a" is invalid: kind: Invalid value: "Foo": must be Widget"#,
    );
    // Unknown fields are those of the version that it says.
    check(r#"{"apiVersion":"ex.io/v2"}"#, 422, r#"strict decoding error: unknown field "spec.size""#);
    check(r#"{"apiVersion":"ex.io/v3"}"#, 422, r#"apiVersion: Invalid value: "ex.io/v3": must be ex.io/v1"#);
    check(
        r#"{"apiVersion":null}"#,
        500,
        "Object 'apiVersion' is missing in 'object has no apiVersion field'",
    );
    check(r#"{"kind":null}"#, 422, r#""spec":{"color":"red","size":3}}'"#);
    check(
        r#"{"metadata":{"name":"q"}}"#,
        400,
        "the name of the object (q) does not match the name on the URL (a)",
    );
    check(
        r#"{"metadata":{"labels":{"a":1}}}"#,
        422,
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    );
    check(r#"{"spec":{"junk":1}}"#, 422, r#"strict decoding error: unknown field "spec.junk""#);
}

#[test]
fn forms_and_formats() {
    let mut server = server(&compile(DEFINITION, None));
    assert_eq!(server.ask("POST", V1, JSON, &widget("a", r#","spec":{"color":"red"}"#)).status, 201);
    let table = server.get(V1, TABLE);
    assert!(table.body.contains(r#"{"name":"Color","type":"string","format":"","description":"Custom resource definition column (in JSONPath format): .spec.color","priority":0}"#), "{}", table.body);
    assert!(table.body.contains(r#""rows":[{"cells":["a","red"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","#), "{}", table.body);
    let partial = "accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io\r\n";
    let one = server.get(&format!("{V1}/a"), partial);
    assert!(one.body.starts_with(
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","#
    ));
    let list = server.get(V1, partial);
    assert_eq!((list.status, list.message()), (406, "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)".to_owned()));
    let protobuf = server.get(V1, "accept: application/vnd.kubernetes.protobuf\r\n");
    assert_eq!(protobuf.status, 406);
    let either =
        server.get(&format!("{V1}/a"), "accept: application/vnd.kubernetes.protobuf, application/json\r\n");
    assert!(either.body.starts_with(r#"{"apiVersion":"ex.io/v1","kind":"Widget","#), "{}", either.body);
    let metadata =
        "accept: application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io\r\n";
    let one = server.get(&format!("{V1}/a"), metadata);
    assert!(one.status == 200 && one.body.starts_with("k8s\0"), "{:?}", one.body);
    let yaml = server.get(&format!("{V1}/a"), "accept: application/yaml\r\n");
    assert!(yaml.body.starts_with("apiVersion: ex.io/v1\nkind: Widget\nmetadata:\n"), "{}", yaml.body);
    let body = server.ask("POST", V1, "content-type: application/vnd.kubernetes.protobuf\r\n", "k8s\0x");
    assert_eq!(body.status, 415);
}

#[test]
fn scales() {
    let mut server = server(&compile(DEFINITION, None));
    assert_eq!(server.ask("POST", V1, JSON, &widget("a", r#","spec":{"replicas":2}"#)).status, 201);
    let path = format!("{V1}/a/scale");
    let scale = |replicas: &str| {
        format!(
            r#"{{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{{"name":"a","namespace":"default"}},"spec":{{"replicas":{replicas}}}}}"#
        )
    };
    let shown = server.get(&path, "").stable();
    assert_eq!(
        shown,
        r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","namespace":"default","uid":"-","resourceVersion":"2","creationTimestamp":"-"},"spec":{"replicas":2},"status":{"replicas":0}}"#
    );
    let put = server.ask("PUT", &path, JSON, &scale("5"));
    assert!(put.status == 200 && put.body.contains(r#""spec":{"replicas":5}"#), "{}", put.body);
    let patched = server.ask("PATCH", &path, MERGE, r#"{"spec":{"replicas":6}}"#);
    assert!(patched.status == 200 && patched.body.contains(r#""spec":{"replicas":6}"#), "{}", patched.body);
    let whole = server.get(&format!("{V1}/a"), "").body;
    assert!(whole.contains(r#""generation":3,"#) && whole.contains(r#""replicas":6,"#), "{whole}");
    let negative = server.ask("PUT", &path, JSON, &scale("-5"));
    assert_eq!(
        negative.message(),
        r#"Widget.ex.io "a" is invalid: .spec.replicas: Invalid value: -5: should be a non-negative integer"#
    );
    server.ask("PATCH", &format!("{V1}/a"), MERGE, r#"{"spec":{"replicas":null}}"#);
    let none = server.get(&path, "");
    assert_eq!(
        (none.status, none.message()),
        (
            500,
            r#"Internal error occurred: the spec replicas field ".spec.replicas" does not exist"#.to_owned()
        )
    );
    let table = server.get(&path, TABLE);
    assert_eq!(table.status, 500);
    let still_none = server.ask("PATCH", &path, MERGE, r#"{"metadata":{"name":"a"}}"#);
    assert_eq!(
        (still_none.status, still_none.message()),
        (400, r#"the spec replicas field ".spec.replicas" cannot be empty"#.to_owned())
    );
}

#[test]
fn versions_show_what_their_schemas_have() {
    let mut server = server(&compile(DEFINITION, None));
    assert_eq!(server.ask("POST", V1, JSON, &widget("a", r#","spec":{"color":"red"}"#)).status, 201);
    let other = server.get(&format!("{V2}/a"), "");
    assert!(other.body.starts_with(r#"{"apiVersion":"ex.io/v2","kind":"Widget","#), "{}", other.body);
    // Defaults are those of the stored version, and of them goes what another version has no place for.
    assert!(other.body.ends_with("\"spec\":{\"color\":\"red\"}}\n"), "{}", other.body);
    assert_eq!(other.warnings(), [r#""ex.io/v2 widget is deprecated""#], "{}", other.head);
    // What the stored version has no place for is not stored.
    let body = widget("b", r#","spec":{"color":"blue","extra":4}"#).replace("v1", "v2");
    let made = server.ask("POST", V2, JSON, &body);
    assert!(made.status == 201 && made.body.ends_with("\"spec\":{\"color\":\"blue\"}}\n"), "{}", made.body);
    let as_stored = server.get(&format!("{V1}/b"), "");
    assert!(as_stored.body.ends_with("\"spec\":{\"color\":\"blue\",\"size\":3}}\n"), "{}", as_stored.body);
    let patched = server.ask("PATCH", &format!("{V1}/b"), MERGE, r#"{"metadata":{"labels":{"a":"b"}}}"#);
    assert!(patched.status == 200 && patched.body.contains(r#""generation":1,"#), "{}", patched.body);
    // It counts as a change all the same.
    let patched = server.ask("PATCH", &format!("{V2}/b"), MERGE, r#"{"spec":{"extra":7}}"#);
    assert!(patched.body.contains(r#""generation":2,"#), "{}", patched.body);
    assert!(patched.body.ends_with("\"spec\":{\"color\":\"blue\"}}\n"), "{}", patched.body);
}

#[test]
fn objects_of_an_older_definition() {
    let before = compile(DEFINITION, None);
    let changed = DEFINITION.replace(
        r#""size": {"type": "integer", "default": 3}"#,
        r#""weight": {"type": "integer", "default": 5}"#,
    );
    let after = compile(&changed, Some(&before));
    let same = compile(DEFINITION, Some(&before));
    let mut server = server(&after);
    // As the definition before had them, read back from the journal: nothing is known of their form.
    let old = r#""metadata":{"name":"old","namespace":"default","uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"color":"red","size":3},"apiVersion":"ex.io/v1"}"#;
    server.store(ResourceId(1), "default/old", old);
    let shown = server.get(&format!("{V1}/old"), "");
    assert!(shown.body.ends_with("\"spec\":{\"color\":\"red\",\"weight\":5}}\n"), "{}", shown.body);
    let list = server.get(V1, "");
    assert!(list.body.contains(r#""spec":{"color":"red","weight":5}}]}"#), "{}", list.body);
    let selected = server.get(&format!("{V1}?fieldSelector=spec.color%3Dred"), "");
    assert!(selected.body.contains(r#""name":"old""#));
    // Whatever it says, it is written as it is shown from then on.
    let patched = server.ask("PATCH", &format!("{V1}/old"), MERGE, r#"{"metadata":{"labels":{"a":"b"}}}"#);
    assert!(patched.body.ends_with("\"spec\":{\"color\":\"red\",\"weight\":5}}\n"), "{}", patched.body);
    let stored = server.rig.site.core.storage.get(ResourceId(1), "default/old").expect("it is there");
    assert!(stored.json.ends_with(br#""spec":{"color":"red","weight":5},"apiVersion":"ex.io/v1"}"#));
    let form = |resource: &CustomResource| resource.versions[0].served().custom.expect("it is custom").form();
    assert_eq!((form(&before), form(&after) == form(&before)), (form(&same), false));
    assert_eq!(stored.attributes.stamp.get(), form(&after));
    // One that was read back and is as it would be written now is known to be so once it was shown.
    let same = r#""metadata":{"name":"same","namespace":"default","uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"color":"red","weight":5},"apiVersion":"ex.io/v1"}"#;
    server.store(ResourceId(1), "default/same", same);
    let stamp = |server: &Server| {
        server
            .rig
            .site
            .core
            .storage
            .get(ResourceId(1), "default/same")
            .expect("it is there")
            .attributes
            .stamp
            .get()
    };
    assert_eq!(stamp(&server), 0);
    let first = server.get(&format!("{V1}/same"), "");
    assert_eq!((stamp(&server), first.body), (form(&after), server.get(&format!("{V1}/same"), "").body));
}

#[test]
fn objects_are_read_as_what_they_were_stored_in() {
    let before = compile(DEFINITION, None);
    let moved = DEFINITION
        .replace(r#""storage": true"#, r#""storage": null"#)
        .replace(r#""storage": false"#, r#""storage": true"#);
    let mut server = server(&compile(&moved, Some(&before)));
    let old = r#""metadata":{"name":"old","namespace":"default","uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"color":"red","replicas":2},"apiVersion":"ex.io/v1"}"#;
    server.store(ResourceId(1), "default/old", old);
    let first = server.get(&format!("{V1}/old"), "");
    assert!(
        first.body.ends_with("\"spec\":{\"color\":\"red\",\"replicas\":2,\"size\":3}}\n"),
        "{}",
        first.body
    );
    let second = server.get(&format!("{V2}/old"), "");
    assert!(second.body.ends_with("\"spec\":{\"color\":\"red\"}}\n"), "{}", second.body);
    // Whatever is written is stored in the new version, though it says nothing new.
    let patched = server.ask("PATCH", &format!("{V1}/old"), MERGE, "{}");
    assert!(patched.body.ends_with("\"spec\":{\"color\":\"red\",\"extra\":9}}\n") || patched.status == 200);
    let stored = server.rig.site.core.storage.get(ResourceId(1), "default/old").expect("it is there");
    assert!(
        stored.json.ends_with(br#""spec":{"color":"red"},"apiVersion":"ex.io/v2"}"#),
        "{:?}",
        stored.json
    );
    let shown = server.get(&format!("{V1}/old"), "");
    assert!(shown.body.starts_with(r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":"#));
    assert!(shown.body.ends_with("\"spec\":{\"color\":\"red\"}}\n"), "{}", shown.body);
}

#[test]
fn watches_end_with_what_is_served() {
    let mut server = server(&compile(DEFINITION, None));
    assert_eq!(server.ask("POST", V1, JSON, &widget("a", "")).status, 201);
    let begun = server.rig.ask(&format!("GET {V1}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert!(
        begun.contains(
            r#"{"type":"ADDED","object":{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a","#
        ),
        "{begun}"
    );
    assert!(begun.contains(r#"{"type":"BOOKMARK","object":{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}"#), "{begun}");
    server.endpoints.iter().for_each(CustomEndpoints::retire);
    server.rig.wants = server.rig.connection.woken(&mut server.rig.socket);
    assert!(server.rig.sent().ends_with("0\r\n\r\n"), "the stream ends in good order");
}
