//! The documents against those of a real server, and what stands on its own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::schema::Schema;

/// Documents of a live 1.37.2 without descriptions; `None` where they are not at hand.
fn fixtures() -> Option<PathBuf> {
    let shared = std::env::var_os("RINGBOLT_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let dir = shared.join("data/fixtures/openapi-1.37/openapi");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("{} is not there: documents are not compared", dir.display());
    None
}

fn read(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Takes out `description` where it is text (a property of that name is an object), as the fixtures have it.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("description").is_some_and(Value::is_string) {
                map.remove("description");
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn stripped(json: &[u8]) -> Value {
    let mut value = serde_json::from_slice(json).unwrap();
    strip(&mut value);
    value
}

/// Where two documents differ, one line a place.
fn differences(at: &str, ours: &Value, theirs: &Value, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let at = format!("{at} {key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differences(&at, a, b, out),
                    (Some(_), None) => out.push(format!("{at}: only ours")),
                    _ => out.push(format!("{at}: only theirs")),
                }
            }
        }
        _ if ours == theirs => {}
        _ => out.push(format!("{at}: {ours} is {theirs}")),
    }
}

/// An empty description of all that has one: a few properties of schemas have none.
fn silent(name: &str, property: Option<&str>) -> Option<String> {
    const BARE: [&str; 6] =
        ["additionalItems", "additionalProperties", "example", "externalDocs", "items", "not"];
    let is_bare = name.ends_with(".JSONSchemaProps") && property.is_some_and(|p| BARE.contains(&p));
    (!is_bare).then(String::new)
}

/// All that is served by default, without prose.
fn contents() -> Contents<'static> {
    let schema = Schema::builtin();
    Contents { schema, groups: &schema.groups, openid: true, describe: &silent }
}

#[test]
fn v3_documents_equal_the_real_ones() {
    let Some(dir) = fixtures() else { return };
    let contents = contents();
    let mut bad = Vec::new();
    let mut equal = 0;
    for name in v3::names(contents.groups, true) {
        let ours = stripped(&v3::json(&contents, &name).unwrap());
        let theirs = read(&dir.join("v3").join(format!("{}.json", name.replace('/', "__"))));
        let mut here = Vec::new();
        differences(&name, &ours, &theirs, &mut here);
        equal += usize::from(here.is_empty());
        bad.extend(here);
    }
    println!("{equal} documents of v3 equal");
    assert!(bad.is_empty(), "{} differences:\n{}", bad.len(), bad[..bad.len().min(60)].join("\n"));
}

#[test]
fn the_v2_document_equals_the_real_one() {
    let Some(dir) = fixtures() else { return };
    let ours = stripped(&v2::json(&contents(), &[]));
    let theirs = read(&dir.join("v2.json"));
    let mut bad = Vec::new();
    differences("v2", &ours, &theirs, &mut bad);
    assert!(bad.is_empty(), "{} differences:\n{}", bad.len(), bad[..bad.len().min(60)].join("\n"));
}

#[test]
fn every_document_of_the_real_index_is_there() {
    let Some(dir) = fixtures() else { return };
    let theirs = read(&dir.join("v3/index.json"));
    let theirs: Vec<_> = theirs.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(v3::names(&Schema::builtin().groups, true), theirs);
}

#[test]
fn the_index_names_the_content() {
    let groups: Vec<_> = contents().groups.iter().filter(|g| g.name == "apps").cloned().collect();
    let contents = Contents { groups: &groups, openid: false, ..contents() };
    let names = v3::names(&groups, false);
    assert_eq!(names, ["apis", "apis/apps", "apis/apps/v1", "version"]);
    let hash = v3::hash(&v3::json(&contents, "apis/apps/v1").unwrap());
    assert_eq!(hash.len(), 128);
    assert_eq!(hash, hash.to_uppercase());
    let urls = [("apis/apps/v1", &*hash), ("version", "00")];
    let index = v3::index(urls.map(|(name, hash)| (name.to_owned(), v3::url(name, hash))));
    let url = format!("/openapi/v3/apis/apps/v1?hash={hash}");
    let expected = serde_json::json!({"paths": {
        "apis/apps/v1": {"serverRelativeURL": url},
        "version": {"serverRelativeURL": "/openapi/v3/version?hash=00"},
    }});
    assert_eq!(serde_json::from_slice::<Value>(&index).unwrap(), expected);
}

#[test]
fn documents_of_what_is_not_served_are_absent() {
    let all = contents();
    for name in
        ["", "api/v2", "apis/apps/v1beta1", "apis/nobody", "apis/apps/v1/", "apis//v1", "apps/v1", "apis/"]
    {
        assert!(v3::json(&all, name).is_none(), "{name}");
        assert!(v3::protobuf(&all, name).is_none(), "{name}");
    }
    let openid = [".well-known/openid-configuration", "openid/v1/jwks"];
    for name in openid {
        assert!(v3::json(&all, name).is_some(), "{name}");
        assert!(v3::json(&Contents { openid: false, ..all }, name).is_none(), "{name}");
    }
    // All versions can be turned on.
    let all = Contents { groups: &all.schema.all_groups, ..all };
    assert!(v3::json(&all, "apis/scheduling.k8s.io/v1alpha3").is_some());
}

#[test]
fn references_lead_somewhere() {
    fn check(value: &Value, schemas: &serde_json::Map<String, Value>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let name = reference.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.contains_key(name), "{name}");
                }
                map.values().for_each(|value| check(value, schemas));
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, schemas)),
            _ => {}
        }
    }
    let contents = Contents { groups: &Schema::builtin().all_groups, ..contents() };
    let mut ids = BTreeSet::new();
    for name in v3::names(contents.groups, true) {
        let document = v3::json(&contents, &name).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        check(&document, document["components"]["schemas"].as_object().unwrap_or(&serde_json::Map::new()));
        for (path, item) in document["paths"].as_object().unwrap() {
            for (_, operation) in
                item.as_object().unwrap().iter().filter(|(method, _)| *method != "parameters")
            {
                assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}");
            }
        }
    }
}

/// What kubectl looks for before it leaves validation to the server: `fieldValidation` on the patch of the kind.
#[test]
fn patches_take_field_validation() {
    let document = v3::json(&contents(), "api/v1").unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "ConfigMap");
    let names: Vec<_> =
        patch["parameters"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
}

/// The fields of a protobuf message: number and, of length-delimited ones, content.
fn message(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut n = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            n |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
        }
        n
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let n = varint(&mut bytes);
        let content = match tag & 7 {
            2 => {
                let (content, rest) = bytes.split_at(usize::try_from(n).unwrap());
                bytes = rest;
                content
            }
            0 => &[],
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, content));
    }
    fields
}

fn only(bytes: &[u8], number: u64) -> &[u8] {
    let found: Vec<_> =
        message(bytes).into_iter().filter(|(n, _)| *n == number).map(|(_, content)| content).collect();
    assert_eq!(found.len(), 1, "field {number}");
    found[0]
}

/// The value of a name in a message of named values.
fn named<'a>(bytes: &'a [u8], number: u64, name: &str) -> &'a [u8] {
    let entries = message(bytes).into_iter().filter(|(n, _)| *n == number);
    let mut entries = entries.filter(|(_, entry)| only(entry, 1) == name.as_bytes());
    only(entries.next().expect(name).1, 2)
}

#[test]
fn the_v2_document_as_protobuf() {
    let bytes = v2::protobuf(&contents(), &[]);
    let json: Value = serde_json::from_slice(&v2::json(&contents(), &[])).unwrap();
    assert_eq!(only(&bytes, 1), b"2.0");
    let definitions = only(&bytes, 9);
    assert_eq!(message(definitions).len(), json["definitions"].as_object().unwrap().len());
    assert_eq!(message(only(&bytes, 8)).len(), json["paths"].as_object().unwrap().len());

    let container = named(definitions, 1, "io.k8s.api.core.v1.Container");
    let ports = named(only(container, 25), 1, "ports");
    assert_eq!(only(only(ports, 22), 1), b"array");
    let port = only(only(only(ports, 23), 1), 1);
    assert_eq!(port, b"#/definitions/io.k8s.api.core.v1.ContainerPort");
    assert_eq!(only(named(ports, 31, "x-kubernetes-list-map-keys"), 2), b"- containerPort\n- protocol\n");
    let role = named(definitions, 1, "io.k8s.api.rbac.v1.Role");
    let kinds = only(named(role, 31, "x-kubernetes-group-version-kind"), 2);
    assert_eq!(kinds, b"- group: rbac.authorization.k8s.io\n  kind: Role\n  version: v1\n");

    let pod = named(only(&bytes, 8), 2, "/api/v1/namespaces/{namespace}/pods/{name}");
    let patch = only(pod, 8);
    assert_eq!(only(patch, 5), b"patchCoreV1NamespacedPod");
    // In place, as old kubectl looks for it: parameter, not of a body, in the query.
    let in_place = message(patch).into_iter().filter(|(n, p)| *n == 8 && message(p)[0].0 == 1);
    let names: Vec<_> = in_place.map(|(_, p)| only(only(only(only(p, 1), 2), 3), 4)).collect();
    assert_eq!(names, [&b"dryRun"[..], b"fieldValidation"]);
}

#[test]
fn a_v3_document_as_protobuf() {
    let bytes = v3::protobuf(&contents(), "apis/apps/v1").unwrap();
    let json: Value = serde_json::from_slice(&v3::json(&contents(), "apis/apps/v1").unwrap()).unwrap();
    assert_eq!(only(&bytes, 1), b"3.0.0");
    assert_eq!(only(only(&bytes, 2), 6), b"1.37");
    assert_eq!(message(only(&bytes, 4)).len(), json["paths"].as_object().unwrap().len());
    let schemas = only(only(&bytes, 5), 1);
    assert_eq!(message(schemas).len(), json["components"]["schemas"].as_object().unwrap().len());

    // In place, all of this: each schema is the first of schema and reference.
    let place = |schema| only(schema, 1);
    let container = place(named(schemas, 1, "io.k8s.api.core.v1.Container"));
    let ports = place(named(only(container, 31), 1, "ports"));
    assert_eq!(only(ports, 25), b"array");
    let item = only(only(only(only(ports, 30), 1), 2), 1);
    assert_eq!(item, b"#/components/schemas/io.k8s.api.core.v1.ContainerPort");
    let resources = place(named(only(container, 31), 1, "resources"));
    assert_eq!(only(resources, 33), b"", "a default of {{}} has no place in its message");
    let reference = only(only(only(resources, 26), 2), 1);
    assert_eq!(reference, b"#/components/schemas/io.k8s.api.core.v1.ResourceRequirements");
    let protocol = place(named(schemas, 1, "io.k8s.api.core.v1.ContainerPort"));
    let protocol = place(named(only(protocol, 31), 1, "protocol"));
    assert_eq!(only(only(protocol, 33), 3), b"TCP");
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let patch = only(named(only(&bytes, 4), 1, path), 10);
    assert_eq!(only(patch, 3), b"partially update the specified Deployment");
    assert_eq!(only(patch, 5), b"patchAppsV1NamespacedDeployment");
}

/// Prose is where types and properties are described, and the documents are the same but for it.
#[test]
fn descriptions_are_what_they_are_asked_to_be() {
    let describe = |name: &str, property: Option<&str>| match property {
        None => Some(format!("about {name}")),
        Some("image") => Some("what runs".to_owned()),
        Some("resources") => Some("what it takes".to_owned()),
        Some(_) => None,
    };
    let described = Contents { describe: &describe, ..contents() };
    for (bytes, schemas) in [
        (v2::json(&described, &[]), "/definitions"),
        (v3::json(&described, "api/v1").unwrap(), "/components/schemas"),
    ] {
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let schemas = document.pointer(schemas).unwrap();
        for (name, schema) in schemas.as_object().unwrap() {
            assert_eq!(schema["description"], format!("about {name}"));
        }
        let container = &schemas["io.k8s.api.core.v1.Container"]["properties"];
        assert_eq!(container["image"]["description"], "what runs");
        // Of the property, not of the type that it refers to.
        assert_eq!(container["resources"]["description"], "what it takes");
        assert_eq!(container["name"].get("description"), None);
    }
    let packed = v3::protobuf(&described, "api/v1").unwrap();
    let container = named(only(only(&packed, 5), 1), 1, "io.k8s.api.core.v1.Container");
    assert_eq!(only(only(container, 1), 34), b"about io.k8s.api.core.v1.Container");
    let packed = v2::protobuf(&described, &[]);
    let container = named(only(&packed, 9), 1, "io.k8s.api.core.v1.Container");
    assert_eq!(only(container, 4), b"about io.k8s.api.core.v1.Container");
}

#[test]
fn operations_say_what_they_do() {
    let document: Value = serde_json::from_slice(&v2::json(&contents(), &[])).unwrap();
    let pods = "/api/v1/namespaces/{namespace}/pods";
    let cases = [
        ("/version/".to_owned(), "get", "get the version information for this server"),
        ("/apis/apps/v1/".to_owned(), "get", "get available resources"),
        (pods.to_owned(), "get", "list or watch objects of kind Pod"),
        (pods.to_owned(), "post", "create a Pod"),
        (pods.to_owned(), "delete", "delete collection of Pod"),
        (format!("{pods}/{{name}}/status"), "patch", "partially update status of the specified Pod"),
        (format!("{pods}/{{name}}/binding"), "post", "create binding of a Pod"),
        (format!("{pods}/{{name}}/exec"), "get", "connect GET requests to exec of Pod"),
        ("/api/v1/componentstatuses".to_owned(), "get", "list objects of kind ComponentStatus"),
        ("/api/v1/namespaces/{namespace}/endpoints".to_owned(), "post", "create Endpoints"),
        ("/apis/networking.k8s.io/v1/ingressclasses".to_owned(), "post", "create an IngressClass"),
    ];
    for (path, method, words) in cases {
        assert_eq!(document["paths"][&path][method]["description"], words, "{method} {path}");
    }
}

/// What others wrote goes another way to protobuf than what is written here, and comes to the same.
#[test]
fn protobuf_of_documents_that_are_read() {
    for name in v3::names(contents().groups, true) {
        let read = v3::protobuf_of(&v3::json(&contents(), &name).unwrap()).unwrap();
        assert!(read == v3::protobuf(&contents(), &name).unwrap(), "{name}");
    }
    assert_eq!(v3::protobuf_of(b"{"), None);
}

#[test]
fn parts_of_the_v2_document() {
    let whole: Value = serde_json::from_slice(&v2::json(&contents(), &[])).unwrap();
    let is_apps = |name: &str| name.contains("/apps/") || name.contains(".apps.");
    let entries = |member: &str| {
        let all = whole[member].as_object().unwrap().iter();
        let apps = all.filter(|(name, _)| is_apps(name));
        apps.map(|(name, value)| (name.clone(), serde_json::to_vec(value).unwrap())).collect()
    };
    let part = Part { paths: entries("paths"), definitions: entries("definitions"), parameters: Vec::new() };
    assert!(part.paths.len() > 10 && part.definitions.len() > 10);
    let all = contents();
    let groups: Vec<_> = all.groups.iter().filter(|group| group.name != "apps").cloned().collect();
    let without = Contents { groups: &groups, ..all };
    let parts = [Arc::new(part)];
    let json: Value = serde_json::from_slice(&v2::json(&without, &parts)).unwrap();
    let names = |value: &Value| value["paths"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let expected = names(&whole);
    assert!(names(&json) == expected, "paths stand in their places");
    assert!(json["definitions"] == whole["definitions"]);
    let bytes = v2::protobuf(&without, &parts);
    assert_eq!(message(only(&bytes, 8)).len(), expected.len());
    let scale = named(only(&bytes, 8), 2, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale");
    let patch = message(scale).into_iter().find(|(number, _)| *number == 8).unwrap().1;
    assert_eq!(only(patch, 5), b"patchAppsV1NamespacedDeploymentScale");
}
