//! OpenAPI v2 (Swagger): one document of everything, as JSON and as protobuf.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::definitions::Definitions;
use super::gnostic;
use super::node::Node;
use super::operations::{self, Operation, Paths, Payload, take_common};
use super::parameters::{Location, Parameter};
use super::part::{self, Keep, Part};
use super::{Contents, Form, info, resources, security_schemes};

/// The document of all groups and of `parts` as JSON.
pub fn json(contents: &Contents<'_>, parts: &[Arc<Part>]) -> Vec<u8> {
    document(contents, parts, Keep::AsText).to_json()
}

/// The document of all groups and of `parts` as protobuf, `openapi.v2.Document` of gnostic. Media type
/// `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`.
pub fn protobuf(contents: &Contents<'_>, parts: &[Arc<Part>]) -> Vec<u8> {
    gnostic::encode(&document(contents, parts, Keep::AsTree))
}

fn document(contents: &Contents<'_>, parts: &[Arc<Part>], keep: Keep) -> Node {
    let mut paths = Paths::new();
    if contents.openid {
        operations::openid_configuration(&mut paths);
        operations::openid_keys(&mut paths);
    }
    operations::groups(&mut paths);
    operations::version(&mut paths);
    for group in contents.groups {
        match group.name {
            "" => operations::core_versions(&mut paths),
            name => operations::group(&mut paths, name),
        }
        for version in &group.versions {
            resources::group_version(&mut paths, contents.schema, group.name, version);
        }
    }
    let mut definitions = Definitions::new(contents, Form::V2, None).gather(&paths);
    if let Node::Map(definitions) = &mut definitions {
        part::merge(definitions, parts.iter().flat_map(|part| &part.definitions), keep);
    }
    let mut shared = BTreeMap::new();
    let mut items = Vec::with_capacity(paths.len());
    for (path, operations) in paths {
        items.push((Cow::Owned(path), path_item(operations, &mut shared)));
    }
    part::merge(&mut items, parts.iter().flat_map(|part| &part.paths), keep);
    let mut shared = shared.into_iter().map(|(name, node)| (Cow::Owned(name), node)).collect();
    part::merge(&mut shared, parts.iter().flat_map(|part| &part.parameters), keep);
    Node::map([
        ("swagger", Node::text("2.0")),
        ("info", info()),
        ("paths", Node::Map(items)),
        ("definitions", definitions),
        ("parameters", Node::Map(shared)),
        ("securityDefinitions", security_schemes()),
        ("security", Node::List(vec![Node::map([("BearerToken", Node::List(Vec::new()))])])),
    ])
}

/// Parameters that operations share, by name.
type Shared = BTreeMap<String, Node>;

pub(super) fn path_item(mut operations: Vec<Operation>, shared: &mut Shared) -> Node {
    let common = take_common(&mut operations);
    let mut node = Node::Map(Vec::new());
    for method in operations::METHODS {
        if let Some(operation) = operations.iter().find(|o| o.method == method) {
            node.put(method, operation_node(operation, shared));
        }
    }
    if !common.is_empty() {
        node.put("parameters", Node::List(common.iter().map(|p| parameter(p, shared)).collect()));
    }
    node
}

fn operation_node(operation: &Operation, shared: &mut Shared) -> Node {
    let mut node = Node::map([("description", Node::Text(Cow::Owned(operation.description.clone())))]);
    if !operation.consumes.is_empty() {
        node.put("consumes", Node::texts(operation.consumes));
    }
    node.put("produces", Node::texts(operation.produces));
    node.put("schemes", Node::texts(&["https"]));
    node.put("tags", Node::List(vec![Node::Text(Cow::Owned(operation.tag.clone()))]));
    node.put("operationId", Node::Text(Cow::Owned(operation.id.clone())));
    // The body sorts among the names: all of its operation's own parameters come after it.
    let mut parameters: Vec<Node> = operation.body.iter().map(|body| body_node(body, shared)).collect();
    parameters.extend(operation.parameters.iter().map(|p| parameter(p, shared)));
    if !parameters.is_empty() {
        node.put("parameters", Node::List(parameters));
    }
    let mut responses = Node::Map(Vec::new());
    for (code, description) in operation.success {
        let response = [("description", Node::text(description)), ("schema", schema_of(&operation.answer))];
        responses.put(*code, Node::map(response));
    }
    responses.put("401", Node::map([("description", Node::text("Unauthorized"))]));
    node.put("responses", responses);
    if !operation.action.is_empty() {
        node.put("x-kubernetes-action", Node::text(operation.action));
    }
    if let Some(kind) = &operation.kind {
        node.put("x-kubernetes-group-version-kind", kind.node());
    }
    node
}

fn schema_of(payload: &Payload) -> Node {
    match payload {
        Payload::Definition(name) => Form::V2.reference(name),
        Payload::Text => Node::map([("type", Node::text("string"))]),
    }
}

fn body_node(body: &operations::Body, shared: &mut Shared) -> Node {
    let mut node = Node::map([("name", Node::text("body")), ("in", Node::text("body"))]);
    if body.required {
        node.put("required", Node::Bool(true));
    }
    node.put("schema", schema_of(&body.payload));
    if body.shared.is_empty() { node } else { share(body.shared.to_owned(), node, shared) }
}

fn parameter(p: &Parameter, shared: &mut Shared) -> Node {
    let mut node = Node::map([
        ("uniqueItems", Node::Bool(true)),
        ("type", Node::text(p.ty)),
        ("name", Node::text(p.name)),
        ("in", Node::text(p.location.as_str())),
    ]);
    if p.location == Location::Path {
        node.put("required", Node::Bool(true));
    }
    if p.shared.is_empty() { node } else { share(format!("{}-{}", p.name, p.shared), node, shared) }
}

fn share(name: String, node: Node, shared: &mut Shared) -> Node {
    let reference = Node::map([("$ref", Node::Text(Cow::Owned(format!("#/parameters/{name}"))))]);
    shared.insert(name, node);
    reference
}
