//! OpenAPI documents of custom resources, as the extensions server has them: one of v3 for each group-version, and a
//! part of that of v2.

mod paths;
mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::definitions::Definitions;
use super::node::Node;
use super::operations::Paths;
use super::part::Part;
use super::{Contents, Form, v2, v3};
use crate::value::Value;

/// A custom resource in one version.
#[derive(Clone, Copy, Debug)]
pub struct CustomResource<'a> {
    /// Group.
    pub group: &'a str,
    /// Version.
    pub version: &'a str,
    /// Plural name.
    pub plural: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Kind of its lists.
    pub list_kind: &'a str,
    /// Whether it lives in namespaces.
    pub namespaced: bool,
    /// Whether it has the subresource `status`.
    pub status: bool,
    /// Whether it has the subresource `scale`.
    pub scale: bool,
    /// `openAPIV3Schema` as it was sent; `None` where there is none, or one that is not structural.
    pub schema: Option<&'a Value<'a>>,
    /// `jsonPath` of each selectable field.
    pub selectable_fields: &'a [&'a str],
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
/// What every custom resource leads to, besides what its operations name.
const COMMON: [&str; 2] = ["ObjectMeta", "ListMeta"];

/// Groups that are not among those of `client-go`, by which the extensions server names the kinds that a type is.
const UNKNOWN_TO_CLIENTS: [&str; 4] =
    ["admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"];

/// The document of v3 of the resources of one group-version, as JSON.
pub fn v3(contents: &Contents<'_>, resources: &[CustomResource<'_>]) -> Vec<u8> {
    let paths = paths_of(resources);
    let mut schemas = definitions(contents, Form::V3, &paths);
    add_kinds(contents, Form::V3, resources, &mut schemas);
    let paths = paths.into_iter().map(|(path, operations)| (Cow::Owned(path), v3::path_item(operations)));
    let info = [("title", Node::text("Kubernetes CRD Swagger")), ("version", Node::text("v0.1.0"))];
    let document = Node::map([
        ("openapi", Node::text("3.0.0")),
        ("info", Node::map(info)),
        ("paths", Node::Map(paths.collect())),
        ("components", Node::map([("schemas", map_of(schemas))])),
    ]);
    document.to_json()
}

/// What resources, of one group-version or of several, add to the document of v2.
pub fn v2(contents: &Contents<'_>, resources: &[CustomResource<'_>]) -> Part {
    let paths = paths_of(resources);
    let mut schemas = definitions(contents, Form::V2, &paths);
    add_kinds(contents, Form::V2, resources, &mut schemas);
    let mut shared = BTreeMap::new();
    let paths = paths
        .into_iter()
        .map(|(path, operations)| (path, v2::path_item(operations, &mut shared).to_json()))
        .collect();
    let named = |(name, node): (String, Node)| (name, node.to_json());
    let definitions = schemas.into_iter().map(named).collect();
    Part { paths, definitions, parameters: shared.into_iter().map(named).collect() }
}

fn map_of(entries: BTreeMap<String, Node>) -> Node {
    Node::Map(entries.into_iter().map(|(name, node)| (Cow::Owned(name), node)).collect())
}

fn paths_of(resources: &[CustomResource<'_>]) -> Paths {
    let mut paths = Paths::new();
    for resource in resources {
        paths::add(&mut paths, resource);
    }
    paths
}

/// Definitions of built-in types that operations and kinds lead to.
fn definitions(contents: &Contents<'_>, form: Form, paths: &Paths) -> BTreeMap<String, Node> {
    let common = COMMON.map(|name| format!("{META}{name}"));
    // In v2 these are the same as everywhere.
    let unknown: &[_] = if form == Form::V3 { &UNKNOWN_TO_CLIENTS } else { &[] };
    let found = Definitions::new(contents, form, None)
        .without(unknown)
        .gather_with(paths, common.iter().map(String::as_str));
    let Node::Map(entries) = found else { return BTreeMap::new() };
    entries.into_iter().map(|(name, node)| (name.into_owned(), node)).collect()
}

/// The schemas of the kinds and of their lists.
fn add_kinds(
    contents: &Contents<'_>,
    form: Form,
    resources: &[CustomResource<'_>],
    schemas: &mut BTreeMap<String, Node>,
) {
    for resource in resources {
        let writer = schema::Writer { form, describe: contents.describe };
        schemas.insert(name_of(resource, resource.kind), writer.kind(resource));
        schemas.insert(name_of(resource, resource.list_kind), writer.list(resource));
    }
}

/// The OpenAPI name of a kind: `io.example.v1.Widget` of the group `example.io`.
fn name_of(resource: &CustomResource<'_>, kind: &str) -> String {
    let group: Vec<_> = resource.group.rsplit('.').collect();
    format!("{}.{}.{kind}", group.join("."), resource.version)
}
