//! Tables of what is wrong with definitions.

use bumpalo::Bump;
use ringbolt_machinery::{json, schema::Schema, strict::Mode, value::Value};
use serde_json::{Value as Json, json};

use super::{create, update};
use crate::definition::{GROUP, VERSION, fill};

/// A definition that nothing is wrong with.
fn fine() -> Json {
    json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"color": {"type": "string"}}}}}}}]}})
}

/// `fine` with values put at paths.
fn with(changes: &[(&str, Json)]) -> Json {
    let mut object = fine();
    for (path, value) in changes {
        let (parent, name) = path.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[name] = value.clone();
    }
    object
}

/// The object as the server has it when it is validated.
fn decoded<'a>(arena: &'a Bump, object: &Json) -> Value<'a> {
    let schema = Schema::builtin();
    let ty = schema.kind(GROUP, VERSION, "CustomResourceDefinition").unwrap().ty;
    let text = arena.alloc_slice_copy(object.to_string().as_bytes());
    let mut object = json::decode_typed(arena, schema, ty, text, Mode::Lenient).unwrap().value;
    fill(arena, &mut object);
    object
}

fn created(changes: &[(&str, Json)], expect: &[&str]) {
    let arena = Bump::new();
    let errors: Vec<_> = create(&decoded(&arena, &with(changes))).iter().map(ToString::to_string).collect();
    assert_eq!(errors, expect, "{changes:?}");
}

fn updated(old: &[(&str, Json)], new: &[(&str, Json)], expect: &[&str]) {
    let arena = Bump::new();
    let (old, new) = (decoded(&arena, &with(old)), decoded(&arena, &with(new)));
    let errors: Vec<_> = update(&new, &old).iter().map(ToString::to_string).collect();
    assert_eq!(errors, expect);
}

const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                     regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn groups_scopes_and_names() {
    created(&[], &[]);
    created(&[("/spec/group", json!(""))], &["spec.group: Required value"]);
    created(
        &[("/spec/group", json!("com"))],
        &["spec.group: Invalid value: \"com\": should be a domain with at least one dot"],
    );
    created(&[("/spec/scope", json!(""))], &["spec.scope: Required value"]);
    created(
        &[("/spec/scope", json!("World"))],
        &["spec.scope: Unsupported value: \"World\": supported values: \"Cluster\", \"Namespaced\""],
    );
    created(
        &[("/spec/names/kind", json!(""))],
        &[
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ],
    );
    created(
        &[("/spec/names/listKind", json!("Widget"))],
        &["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"],
    );
    created(
        &[("/spec/names/shortNames", json!(["w", "W"]))],
        &[&format!("spec.names.shortNames[1]: Invalid value: \"W\": {LABEL}")],
    );
    created(
        &[("/spec/names/kind", json!("A_b"))],
        &[
            &format!("spec.names.singular: Invalid value: \"a_b\": {LABEL}"),
            &format!(
                "spec.names.kind: Invalid value: \"A_b\": may have mixed case, but should otherwise match: {LABEL}"
            ),
            &format!(
                "spec.names.listKind: Invalid value: \"A_bList\": may have mixed case, but should otherwise match: \
                 {LABEL}"
            ),
        ],
    );
}

#[test]
fn versions() {
    let version = |name: &str, storage: bool| {
        let mut version = fine()["spec"]["versions"][0].clone();
        (version["name"], version["storage"]) = (json!(name), json!(storage));
        version
    };
    let shown = |name: &str, storage: bool| {
        format!(
            "{{\"Name\":\"{name}\",\"Served\":true,\"Storage\":{storage},\"Deprecated\":false,\
             \"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\
             \"SelectableFields\":null}}"
        )
    };
    let two = |a: &str, b: &str| format!("[{},{}]", shown(a, true), shown(b, true));
    created(
        &[("/spec/versions", json!([version("v1", true), version("v1", true)]))],
        &[
            &format!("spec.versions: Invalid value: {}: must contain unique version names", two("v1", "v1")),
            &format!(
                "spec.versions: Invalid value: {}: must have exactly one version marked as storage version",
                two("v1", "v1")
            ),
            "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v1",
        ],
    );
    created(
        &[("/spec/versions", json!([version("v1", false)]))],
        &[
            &format!(
                "spec.versions: Invalid value: [{}]: must have exactly one version marked as storage version",
                shown("v1", false)
            ),
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ],
    );
    created(
        &[("/spec/versions/0/name", json!("V1"))],
        &[
            &format!("spec.versions[0].name: Invalid value: \"V1\": {LABEL}"),
            &format!("spec.version: Invalid value: \"V1\": {LABEL}"),
        ],
    );
    created(
        &[("/spec/versions/0/schema", Json::Null)],
        &["spec.versions[0].schema.openAPIV3Schema: Required value"],
    );
    created(
        &[("/spec/versions/0/deprecationWarning", json!("x"))],
        &[
            "spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions",
        ],
    );
    created(
        &[
            ("/spec/versions/0/deprecated", json!(true)),
            ("/spec/versions/0/deprecationWarning", json!("a\u{1}b")),
        ],
        &[
            "spec.versions[0].deprecationWarning: Invalid value: \"a\\u0001b\": must only contain printable UTF-8 \
           characters; non-printable character found at index 1",
        ],
    );
    created(
        &[("/spec/preserveUnknownFields", json!(true))],
        &["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set \
           x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"],
    );
}

#[test]
fn columns_subresources_and_selectable_fields() {
    created(
        &[(
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "", "type": "text", "jsonPath": "x"}]),
        )],
        &[
            "spec.additionalPrinterColumns[0].name: Required value",
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of \
             boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a simple json path starting \
             with .",
        ],
    );
    let scale = |spec: &str, status: &str, selector: &str| {
        json!({"status": {}, "scale": {"specReplicasPath": spec, "statusReplicasPath": status,
            "labelSelectorPath": selector}})
    };
    created(&[("/spec/versions/0/subresources", scale(".spec.a", ".status.a", ".status.b"))], &[]);
    created(
        &[("/spec/versions/0/subresources", scale("", ".spec.a", ".x"))],
        &[
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Invalid value: \".spec.a\": should be a json path under \
             .status",
            "spec.subresources.scale.labelSelectorPath: Invalid value: \".x\": should be a json path under either \
             .spec or .status",
        ],
    );
    let fields = |paths: &[&str]| Json::Array(paths.iter().map(|path| json!({"jsonPath": path})).collect());
    created(&[("/spec/versions/0/selectableFields", fields(&[".spec.color"]))], &[]);
    created(
        &[(
            "/spec/versions/0/selectableFields",
            fields(&[".spec.color", ".spec.color", ".spec.x", ".spec", ""]),
        )],
        &[
            "spec.selectableFields[1].jsonPath: Duplicate value: \".spec.color\"",
            "spec.selectableFields[2].jsonPath: Invalid value: \".spec.x\": is an invalid path: does not refer to a \
             valid field",
            "spec.selectableFields[3].jsonPath: Invalid value: \".spec\": must point to a field of type string, \
             boolean or integer. Enum string fields and strings with formats are allowed.",
            "spec.selectableFields[4].jsonPath: Required value",
        ],
    );
}

#[test]
fn conversion() {
    let webhook = |versions: Json, client: Json| json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": versions, "clientConfig": client}});
    let url = json!({"url": "https://a/b"});
    created(&[("/spec/conversion", webhook(json!(["v1"]), url.clone()))], &[]);
    created(
        &[("/spec/conversion", json!({"strategy": "Other"}))],
        &["spec.conversion.strategy: Unsupported value: \"Other\": supported values: \"None\", \"Webhook\""],
    );
    created(
        &[("/spec/conversion", json!({"strategy": "Webhook"}))],
        &[
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value",
        ],
    );
    created(
        &[("/spec/conversion", webhook(json!(["v2", "v2"]), json!({})))],
        &[
            "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
            "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v2\": duplicate version",
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v2\",\"v2\"]: must include at least one of \
             v1, v1beta1",
        ],
    );
    let mut none = webhook(json!(["v1"]), url);
    none["strategy"] = json!("None");
    created(
        &[("/spec/conversion", none)],
        &[
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
            "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to \
             Webhook",
        ],
    );
}

#[test]
fn groups_of_the_community_are_approved() {
    let group = ("/spec/group", json!("x.k8s.io"));
    let annotated = |text: &str| ("/metadata/annotations", json!({"api-approved.kubernetes.io": text}));
    created(
        std::slice::from_ref(&group),
        &[
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval \
           annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
        ],
    );
    created(&[group.clone(), annotated("unapproved, test")], &[]);
    created(&[group.clone(), annotated("https://example.com/x")], &[]);
    created(
        &[group.clone(), annotated("yes")],
        &[
            "metadata.annotations[api-approved.kubernetes.io]: Invalid value: \"yes\": protected groups must have \
           approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \
           \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111",
        ],
    );
    // What was so before may stay.
    updated(std::slice::from_ref(&group), std::slice::from_ref(&group), &[]);
}

#[test]
fn what_a_change_leaves_as_it_is() {
    let established = (
        "/status",
        json!({"storedVersions": ["v1"],
        "conditions": [{"type": "Established", "status": "True"}]}),
    );
    let new = [
        ("/spec/group", json!("other.com")),
        ("/spec/scope", json!("Cluster")),
        ("/spec/names/plural", json!("others")),
        ("/spec/names/kind", json!("Other")),
    ];
    let always = [
        "spec.group: Invalid value: \"other.com\": field is immutable",
        "spec.names.plural: Invalid value: \"others\": field is immutable",
    ];
    updated(&[], &new, &always);
    let all = [
        "spec.scope: Invalid value: \"Cluster\": field is immutable",
        "spec.names.kind: Invalid value: \"Other\": field is immutable",
        always[0],
        always[1],
    ];
    let mut with_status = new.to_vec();
    with_status.push(established.clone());
    updated(&[established], &with_status, &all);
}

#[test]
fn stored_versions_stay_until_nothing_is_stored_in_them() {
    let status = |versions: Json| ("/status", json!({"storedVersions": versions}));
    updated(
        &[],
        &[status(json!(["v0", "v1"]))],
        &[
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage \
           version, and must remain in spec.versions until a storage migration ensures no data remains persisted in \
           v0 and removes v0 from status.storedVersions",
        ],
    );
    updated(
        &[],
        &[status(json!(["v0"]))],
        &[
            "status.storedVersions: Invalid value: [\"v0\"]: must have the storage version v1",
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a \
             storage version, and must remain in spec.versions until a storage migration ensures no data remains \
             persisted in v0 and removes v0 from status.storedVersions",
        ],
    );
}

#[test]
fn schemas_as_deep_as_can_be_decoded_fit_the_stack() {
    // The deepest that still is one, and far more: on a stack such as cores have.
    let nested = |levels: usize| {
        let (open, close) = (r#"{"type":"array","items":"#.repeat(levels), "}".repeat(levels));
        format!(
            r#"{{"metadata":{{"name":"widgets.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced",
               "names":{{"plural":"widgets","kind":"Widget"}},"versions":[{{"name":"v1","served":true,"storage":true,
               "schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"a":{open}{{"type":"string"}}{close}}}}}}}}}]}}}}"#
        )
    };
    let check = move || {
        let schema = Schema::builtin();
        let ty = schema.kind(GROUP, VERSION, "CustomResourceDefinition").unwrap().ty;
        let arena = Bump::new();
        let decode = |levels| {
            let text = arena.alloc_slice_copy(nested(levels).as_bytes());
            json::decode_typed(&arena, schema, ty, text, Mode::Strict)
        };
        let mut deep = decode(500).unwrap().value;
        fill(&arena, &mut deep);
        assert_eq!(create(&deep).len(), 0);
        assert_eq!(update(&deep, &deep).len(), 0);
        assert!(decode(600).is_err());
        assert!(decode(9_000).is_err());
    };
    let stack = ringbolt_apiserver::limits::DEEP_STACK_BYTES;
    std::thread::Builder::new().stack_size(stack).spawn(check).unwrap().join().unwrap();
}

#[test]
fn schemas_of_many_members_are_compared_in_order() {
    // A member at a time costs what there are: seconds, were each searched for from the start.
    let many: serde_json::Map<String, Json> =
        (0..20_000).map(|n| (format!("p{n:05}"), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": many});
    let versions = json!([
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
        {"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": schema}}
    ]);
    created(&[("/spec/versions", versions)], &[]);
}
