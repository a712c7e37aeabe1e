//! Documents of custom resources. What is expected is what kube-apiserver 1.37.2 has, but for descriptions that are its
//! own.

use serde_json::{Value as Json, json};

use super::*;
use crate::{json::decode_untyped, schema::Schema};

fn contents<'a>(describe: &'a super::super::Describe<'a>) -> Contents<'a> {
    Contents { schema: Schema::builtin(), groups: &[], openid: false, describe }
}

const WIDGET: CustomResource<'static> = CustomResource {
    group: "toys.example.com",
    version: "v1",
    plural: "widgets",
    kind: "Widget",
    list_kind: "WidgetList",
    namespaced: true,
    status: true,
    scale: true,
    schema: None,
    selectable_fields: &[],
};

/// The schemas of v3 and v2 of a kind with this schema.
fn schemas(schema: &Json) -> (Json, Json) {
    let arena = bumpalo::Bump::new();
    let text = arena.alloc_str(&schema.to_string());
    let value = decode_untyped(&arena, text.as_bytes()).unwrap();
    let describe = |_: &str, property: Option<&str>| property.map(|p| format!("about {p}"));
    let resource = CustomResource { schema: Some(&value), ..WIDGET };
    let document: Json = serde_json::from_slice(&v3(&contents(&describe), &[resource])).unwrap();
    let part = v2(&contents(&describe), &[resource]);
    let name = "com.example.toys.v1.Widget";
    let (_, of_v2) = part.definitions.iter().find(|(known, _)| known == name).unwrap();
    (document["components"]["schemas"][name].clone(), serde_json::from_slice(of_v2).unwrap())
}

/// A schema of a property, as v3 and v2 have it.
#[track_caller]
fn check(given: Json, of_v3: Json, of_v2: Json) {
    let (third, second) = schemas(&json!({"type": "object", "properties": {"p": given}}));
    assert_eq!((&third["properties"]["p"], &second["properties"]["p"]), (&of_v3, &of_v2));
}

#[test]
fn what_each_version_can_say() {
    let plain =
        json!({"type": "string", "description": "d", "minLength": 0, "pattern": "^a", "enum": ["a", ""]});
    check(plain.clone(), plain.clone(), plain);
    check(
        json!({"type": "integer", "default": 0}),
        json!({"type": "integer", "default": 0}),
        json!({"type": "integer"}),
    );
    check(
        json!({"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"required": ["a"]}),
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}, "required": ["a", "b"]}),
        json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}, "required": ["a", "b"]}),
        json!({"type": "object", "properties": {"a": {}}, "required": ["b"]}),
    );
    check(
        json!({"type": "object", "required": ["a"], "additionalProperties": {"type": "string", "nullable": true}}),
        json!({"type": "object", "required": ["a"], "additionalProperties": {"type": "string", "nullable": true}}),
        json!({"type": "object", "additionalProperties": {}}),
    );
    let preserve = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"a": {"type": "string"}}});
    check(preserve.clone(), preserve, json!({"x-kubernetes-preserve-unknown-fields": true}));
    let list = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"});
    check(list.clone(), list.clone(), list);
    check(
        json!({"type": "array", "nullable": true, "items": {"type": "string"}}),
        json!({"type": "array", "nullable": true, "items": {"type": "string"}}),
        json!({}),
    );
    check(
        json!({"type": "string", "allOf": [{"maxLength": 3}], "oneOf": [{"format": "ipv4"}], "not": {"enum": ["a"]}}),
        json!({"type": "string", "allOf": [{"maxLength": 3}], "oneOf": [{"format": "ipv4"}], "not": {"enum": ["a"]}}),
        json!({"type": "string"}),
    );
    let rules =
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "message": "m"}]});
    check(rules.clone(), rules.clone(), rules);
    check(
        json!({"type": "string", "exclusiveMinimum": false, "uniqueItems": false, "enum": [], "required": []}),
        json!({"type": "string"}),
        json!({"type": "string"}),
    );
}

#[test]
fn an_integer_or_a_text() {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let bare = json!({"x-kubernetes-int-or-string": true});
    check(bare.clone(), json!({"anyOf": either, "x-kubernetes-int-or-string": true}), bare.clone());
    let said = json!({"anyOf": either, "x-kubernetes-int-or-string": true});
    check(said.clone(), said, bare.clone());
    let said = json!({"allOf": [{"anyOf": either}, {"maxLength": 3}], "x-kubernetes-int-or-string": true});
    check(said.clone(), said, bare.clone());
    check(
        json!({"anyOf": [{"maximum": 3}], "allOf": [{"minimum": 1}], "x-kubernetes-int-or-string": true}),
        json!({"anyOf": [{"maximum": 3}], "allOf": [{"anyOf": either}, {"minimum": 1}],
            "x-kubernetes-int-or-string": true}),
        bare,
    );
}

#[test]
fn resources_inside_of_resources() {
    let meta = |form: &str| match form {
        "v3" => json!({"description": "about metadata",
            "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}),
        _ => json!({"description": "about metadata",
            "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}),
    };
    let text = |name: &str| json!({"type": "string", "description": format!("about {name}")});
    let expect = |form: &str| {
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind", "apiVersion"],
            "properties": {"a": {"type": "string"}, "apiVersion": text("apiVersion"), "kind": text("kind"),
                "metadata": meta(form)}})
    };
    check(
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"a": {"type": "string"}}}),
        expect("v3"),
        expect("v2"),
    );
    let open = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let (third, second) = schemas(&json!({"type": "object", "properties": {"p": open}}));
    assert_eq!(third["properties"]["p"]["required"], json!(["kind", "apiVersion"]));
    assert_eq!(
        second["properties"]["p"],
        json!({"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})
    );
    // The object itself has a kind without having to say so, whatever its schema says of that.
    let said = json!({"type": "object", "properties": {"metadata": {"type": "object",
        "properties": {"name": {"type": "string", "maxLength": 3}}}}});
    let (third, second) = schemas(&said);
    assert_eq!((&third["properties"]["metadata"], third.get("required")), (&meta("v3"), None));
    assert_eq!(second["properties"]["metadata"], meta("v2"));
}

#[test]
fn kinds_without_a_structure() {
    let name = json!([{"group": "toys.example.com", "version": "v1", "kind": "Widget"}]);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": "d"});
    let (third, second) = schemas(&open);
    assert_eq!(third["properties"].as_object().unwrap().len(), 3);
    assert_eq!(second, json!({"type": "object", "x-kubernetes-group-version-kind": name}));
    let describe = |_: &str, _: Option<&str>| None;
    let document: Json = serde_json::from_slice(&v3(&contents(&describe), &[WIDGET])).unwrap();
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        schemas["com.example.toys.v1.Widget"],
        json!({"type": "object", "x-kubernetes-group-version-kind": name})
    );
    let list = &schemas["com.example.toys.v1.WidgetList"];
    assert_eq!(list["required"], json!(["items"]));
    let of = "#/components/schemas/com.example.toys.v1.Widget";
    assert_eq!(list["properties"]["items"]["items"]["$ref"], of);
    let kinds =
        schemas["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]["x-kubernetes-group-version-kind"]
            .as_array()
            .unwrap();
    assert!(kinds.iter().any(|kind| kind["group"] == "apps"));
    assert!(!kinds.iter().any(|kind| kind["group"] == "apiextensions.k8s.io"));
}

#[test]
fn fields_to_select_on() {
    let describe = |_: &str, _: Option<&str>| None;
    let resource = CustomResource { selectable_fields: &[".spec.color", ".spec.size"], ..WIDGET };
    let document: Json = serde_json::from_slice(&v3(&contents(&describe), &[resource])).unwrap();
    for kind in ["Widget", "WidgetList"] {
        assert_eq!(
            document["components"]["schemas"][format!("com.example.toys.v1.{kind}")]["x-kubernetes-selectable-fields"],
            json!([{"fieldPath": "spec.color"}, {"fieldPath": "spec.size"}])
        );
    }
}

#[test]
fn paths_and_what_can_be_done_there() {
    let describe = |_: &str, _: Option<&str>| None;
    let cluster = CustomResource {
        plural: "gadgets",
        kind: "Gadget",
        list_kind: "GadgetList",
        namespaced: false,
        status: false,
        scale: false,
        ..WIDGET
    };
    let document: Json = serde_json::from_slice(&v3(&contents(&describe), &[WIDGET, cluster])).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
            let path = path.strip_prefix("/apis/toys.example.com/v1/").unwrap();
            let text = |name: &str| operation[name].as_str().unwrap().to_owned();
            found.push(format!("{method} {path} {} {}", text("operationId"), text("description")));
            assert_eq!(operation["tags"], json!(["toysExampleCom_v1"]));
        }
    }
    let item = "namespaces/{namespace}/widgets/{name}";
    let expect = [
        "delete gadgets deleteToysExampleComV1CollectionGadget delete collection of Gadget".to_owned(),
        "get gadgets listToysExampleComV1Gadget list objects of kind Gadget".to_owned(),
        "post gadgets createToysExampleComV1Gadget create a Gadget".to_owned(),
        "delete gadgets/{name} deleteToysExampleComV1Gadget delete a Gadget".to_owned(),
        "get gadgets/{name} readToysExampleComV1Gadget read the specified Gadget".to_owned(),
        "patch gadgets/{name} patchToysExampleComV1Gadget partially update the specified Gadget".to_owned(),
        "put gadgets/{name} replaceToysExampleComV1Gadget replace the specified Gadget".to_owned(),
        "delete namespaces/{namespace}/widgets deleteToysExampleComV1CollectionNamespacedWidget delete collection of \
         Widget"
            .to_owned(),
        "get namespaces/{namespace}/widgets listToysExampleComV1NamespacedWidget list objects of kind Widget".to_owned(),
        "post namespaces/{namespace}/widgets createToysExampleComV1NamespacedWidget create a Widget".to_owned(),
        format!("delete {item} deleteToysExampleComV1NamespacedWidget delete a Widget"),
        format!("get {item} readToysExampleComV1NamespacedWidget read the specified Widget"),
        format!("patch {item} patchToysExampleComV1NamespacedWidget partially update the specified Widget"),
        format!("put {item} replaceToysExampleComV1NamespacedWidget replace the specified Widget"),
        format!("get {item}/scale readToysExampleComV1NamespacedWidgetScale read scale of the specified Widget"),
        format!("patch {item}/scale patchToysExampleComV1NamespacedWidgetScale partially update scale of the specified Widget"),
        format!("put {item}/scale replaceToysExampleComV1NamespacedWidgetScale replace scale of the specified Widget"),
        format!("get {item}/status readToysExampleComV1NamespacedWidgetStatus read status of the specified Widget"),
        format!("patch {item}/status patchToysExampleComV1NamespacedWidgetStatus partially update status of the specified Widget"),
        format!("put {item}/status replaceToysExampleComV1NamespacedWidgetStatus replace status of the specified Widget"),
        "get widgets listToysExampleComV1WidgetForAllNamespaces list objects of kind Widget".to_owned(),
    ];
    found.sort_by(|a, b| {
        let key = |line: &str| {
            let mut words = line.split(' ');
            let method = words.next().unwrap_or("").to_owned();
            (words.next().unwrap_or("").to_owned(), method)
        };
        key(a).cmp(&key(b))
    });
    assert_eq!(found, expect);
    let parameters = |pointer: &str| {
        let list = document.pointer(pointer).and_then(Json::as_array).unwrap();
        list.iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let at = "/paths/~1apis~1toys.example.com~1v1~1gadgets~1{name}";
    assert_eq!(parameters(&format!("{at}/get/parameters")), ["resourceVersion"]);
    assert_eq!(
        parameters(&format!("{at}/patch/parameters")),
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    assert_eq!(parameters(&format!("{at}/parameters")), ["name", "pretty"]);
    let patch = document.pointer(&format!("{at}/patch/requestBody/content")).unwrap().as_object().unwrap();
    let types: Vec<_> = patch.keys().map(String::as_str).collect();
    assert_eq!(
        types,
        ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]
    );
}
