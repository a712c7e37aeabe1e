//! Discovery documents as other servers write them.

use std::collections::HashMap;

use bumpalo::Bump;
use ringbolt_apiserver::live::facts::{GroupVersionKind, ResourceFacts, SubresourceFacts, Text};
use ringbolt_machinery::{json, value::Value};

/// Resources by group and version.
pub(crate) type Versions = HashMap<(String, String), Vec<ResourceFacts>>;

/// Whether a media type is that of aggregated discovery.
pub(crate) fn is_aggregated(media_type: &str) -> bool {
    let mut parts = media_type.split(';').map(str::trim);
    let base = parts.next().unwrap_or("");
    let parameters: Vec<_> = parts.collect();
    base == "application/json"
        && ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
            .iter()
            .all(|wanted| parameters.contains(wanted))
}

fn decode<'a>(arena: &'a Bump, body: &[u8]) -> Result<Value<'a>, String> {
    json::decode_untyped(arena, arena.alloc_slice_copy(body)).map_err(|e| e.message().to_owned())
}

fn text(value: &Value<'_>, path: &[&str]) -> Text {
    Text::Owned(value.str_at(path).unwrap_or("").to_owned())
}

fn texts(value: &Value<'_>, member: &str) -> Vec<Text> {
    items(value, member).iter().filter_map(Value::as_str).map(|text| Text::Owned(text.to_owned())).collect()
}

fn items<'v, 'a>(value: &'v Value<'a>, member: &str) -> &'v [Value<'a>] {
    value.path(&[member]).and_then(Value::as_list).map_or(&[], |list| list)
}

fn kind(value: &Value<'_>) -> GroupVersionKind {
    let part = |name: &str| text(value, &["responseKind", name]);
    (part("group"), part("version"), part("kind"))
}

/// `APIGroupDiscoveryList`.
pub(crate) fn group_list(body: &[u8]) -> Result<Versions, String> {
    let arena = Bump::new();
    let document = decode(&arena, body)?;
    let mut versions = Versions::new();
    for group in items(&document, "items") {
        let name = group.str_at(&["metadata", "name"]).unwrap_or("");
        for version in items(group, "versions") {
            let key = (name.to_owned(), version.str_at(&["version"]).unwrap_or("").to_owned());
            versions.insert(key, items(version, "resources").iter().map(resource).collect());
        }
    }
    Ok(versions)
}

fn resource(value: &Value<'_>) -> ResourceFacts {
    let response_kind = kind(value);
    ResourceFacts {
        resource: text(value, &["resource"]),
        singular: text(value, &["singularResource"]),
        kind: response_kind.2.clone(),
        response_kind,
        namespaced: value.str_at(&["scope"]) == Some("Namespaced"),
        verbs: texts(value, "verbs"),
        short_names: texts(value, "shortNames"),
        categories: texts(value, "categories"),
        storage_version_hash: Text::default(),
        subresources: items(value, "subresources").iter().map(subresource).collect(),
    }
}

fn subresource(value: &Value<'_>) -> SubresourceFacts {
    let response_kind = kind(value);
    SubresourceFacts {
        name: text(value, &["subresource"]),
        kind: response_kind.clone(),
        response_kind,
        verbs: texts(value, "verbs"),
    }
}

/// `APIResourceList`, as `ConvertGroupVersionIntoToDiscovery` understands it: subresources stand behind their
/// resources, or make one that can do nothing itself.
pub(crate) fn resource_list(body: &[u8], group: &str, version: &str) -> Result<Vec<ResourceFacts>, String> {
    let arena = Bump::new();
    let document = decode(&arena, body)?;
    let mut resources: Vec<ResourceFacts> = Vec::new();
    for value in items(&document, "resources") {
        let or = |own: Text, common: &str| if own.is_empty() { Text::Owned(common.to_owned()) } else { own };
        let response_kind = (
            or(text(value, &["group"]), group),
            or(text(value, &["version"]), version),
            text(value, &["kind"]),
        );
        let name = value.str_at(&["name"]).unwrap_or("");
        let namespaced = value.path(&["namespaced"]).and_then(Value::as_bool) == Some(true);
        let Some((parent, sub)) = name.split_once('/') else {
            resources.push(ResourceFacts {
                resource: Text::Owned(name.to_owned()),
                singular: text(value, &["singularName"]),
                kind: response_kind.2.clone(),
                response_kind,
                namespaced,
                verbs: texts(value, "verbs"),
                short_names: texts(value, "shortNames"),
                categories: texts(value, "categories"),
                storage_version_hash: text(value, &["storageVersionHash"]),
                subresources: Vec::new(),
            });
            continue;
        };
        let at = match resources.iter().position(|known| known.resource == parent) {
            Some(at) => at,
            None => {
                resources.push(ResourceFacts {
                    resource: Text::Owned(parent.to_owned()),
                    namespaced,
                    ..ResourceFacts::default()
                });
                resources.len() - 1
            }
        };
        resources[at].subresources.push(SubresourceFacts {
            name: Text::Owned(sub.to_owned()),
            kind: response_kind.clone(),
            response_kind,
            verbs: texts(value, "verbs"),
        });
    }
    Ok(resources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types() {
        let check = |text: &str, expect: bool| assert_eq!(is_aggregated(text), expect, "{text}");
        check("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", true);
        check("application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io", true);
        check("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", false);
        check("application/json", false);
    }

    #[test]
    fn aggregated() {
        let body = br#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"a.b"},"versions":[{"version":"v1",
            "resources":[{"resource":"things","responseKind":{"group":"a.b","version":"v1","kind":"Thing"},
            "scope":"Namespaced","singularResource":"thing","verbs":["get"],"shortNames":["th"],
            "subresources":[{"subresource":"status","responseKind":{"kind":"Thing"},"verbs":["get"]}]},
            {"resource":"pods","scope":"Cluster"}]}]}]}"#;
        let versions = group_list(body).unwrap();
        let resources = &versions[&("a.b".to_owned(), "v1".to_owned())];
        assert_eq!(resources.len(), 2);
        assert_eq!((&*resources[0].kind, resources[0].namespaced), ("Thing", true));
        assert_eq!(&*resources[0].subresources[0].name, "status");
        assert_eq!((&*resources[1].response_kind.2, resources[1].namespaced), ("", false));
    }

    #[test]
    fn one_by_one() {
        let body = br#"{"kind":"APIResourceList","resources":[
            {"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"]},
            {"name":"things/status","kind":"Thing","verbs":["get"]},
            {"name":"others/scale","group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]}]}"#;
        let resources = resource_list(body, "a.b", "v1").unwrap();
        assert_eq!(resources.len(), 2);
        assert_eq!(resources[0].subresources.len(), 1);
        let of = |kind: &GroupVersionKind| format!("{} {} {}", kind.0, kind.1, kind.2);
        assert_eq!(of(&resources[0].response_kind), "a.b v1 Thing");
        assert_eq!(of(&resources[1].subresources[0].response_kind), "autoscaling v1 Scale");
        assert_eq!((&*resources[1].resource, resources[1].verbs.len()), ("others", 0));
        assert!(resource_list(b"nope", "a.b", "v1").is_err());
    }
}
