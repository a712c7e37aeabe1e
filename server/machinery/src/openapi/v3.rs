//! OpenAPI v3: an index, and a document for each group and group-version.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha512};

use super::definitions::Definitions;
use super::node::Node;
use super::operations::{self, Operation, Paths, Payload, take_common};
use super::parameters::Parameter;
use super::{Contents, Form, gnostic_v3, info, resources, security_schemes};
use crate::schema::Group;

const OPENID_CONFIGURATION: &str = ".well-known/openid-configuration";
const OPENID_KEYS: &str = "openid/v1/jwks";

/// Names of all documents, sorted as the index has them: `.well-known/openid-configuration`, `api`, `api/v1`, `apis`,
/// `apis/apps`, `apis/apps/v1`, …, `openid/v1/jwks`, `version`. Document NAME is served at `/openapi/v3/NAME`.
pub fn names(groups: &[Group], openid: bool) -> Vec<String> {
    let mut names = vec!["apis".to_owned(), "version".to_owned()];
    if openid {
        names.extend([OPENID_CONFIGURATION, OPENID_KEYS].map(str::to_owned));
    }
    for group in groups {
        let root = if group.name.is_empty() { "api".to_owned() } else { format!("apis/{}", group.name) };
        names.extend(group.versions.iter().map(|version| format!("{root}/{version}")));
        names.push(root);
    }
    names.sort_unstable();
    names
}

/// The document of a name, as JSON. `None` where there is none of that name.
pub fn json(contents: &Contents<'_>, name: &str) -> Option<Vec<u8>> {
    Some(document(contents, name)?.to_json())
}

/// The document of a name as protobuf, `openapi.v3.Document` of gnostic. Media type
/// `application/com.github.proto-openapi.spec.v3.v1.0+protobuf`.
pub fn protobuf(contents: &Contents<'_>, name: &str) -> Option<Vec<u8>> {
    Some(gnostic_v3::encode(&document(contents, name)?))
}

/// A document that somebody else wrote as JSON, as protobuf. `None` where it is no JSON.
pub fn protobuf_of(json: &[u8]) -> Option<Vec<u8>> {
    Some(gnostic_v3::encode(&Node::parse(json)?))
}

fn document(contents: &Contents<'_>, name: &str) -> Option<Node> {
    let mut paths = Paths::new();
    let mut only = Some(("", "v1"));
    let schema = contents.schema;
    let known = |group: &str| contents.groups.iter().find(|g| g.name == group);
    match name.split('/').collect::<Vec<_>>()[..] {
        ["api"] => {
            known("")?;
            operations::core_versions(&mut paths);
        }
        ["apis"] => operations::groups(&mut paths),
        ["version"] => operations::version(&mut paths),
        [".well-known", "openid-configuration"] if contents.openid => {
            operations::openid_configuration(&mut paths);
        }
        ["openid", "v1", "jwks"] if contents.openid => operations::openid_keys(&mut paths),
        ["apis", group] if !group.is_empty() => {
            known(group)?;
            operations::group(&mut paths, group);
        }
        ["api", version] => {
            known("")?.versions.iter().find(|v| **v == version)?;
            resources::group_version(&mut paths, schema, "", version);
            only = Some(("", version));
        }
        ["apis", group, version] if !group.is_empty() => {
            known(group)?.versions.iter().find(|v| **v == version)?;
            resources::group_version(&mut paths, schema, group, version);
            only = Some((group, version));
        }
        _ => return None,
    }
    Some(render(contents, paths, only))
}

/// The hash that names a document's content in URLs and its ETag: SHA-512, upper-case hex.
pub fn hash(document: &[u8]) -> String {
    let mut text = String::with_capacity(128);
    for byte in Sha512::digest(document) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// Where a document is, with the [hash] of its content.
pub fn url(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

/// The index, as JSON: names of documents, and where each of them is. Takes names in their order.
pub fn index(documents: impl IntoIterator<Item = (String, String)>) -> Vec<u8> {
    let mut paths = Node::Map(Vec::new());
    for (name, url) in documents {
        paths.put(name, Node::map([("serverRelativeURL", Node::Text(Cow::Owned(url)))]));
    }
    Node::map([("paths", paths)]).to_json()
}

fn render(contents: &Contents<'_>, paths: Paths, only: Option<(&str, &str)>) -> Node {
    let schemas = Definitions::new(contents, Form::V3, only).gather(&paths);
    let paths =
        paths.into_iter().map(|(path, operations)| (Cow::Owned(path), path_item(operations))).collect();
    let mut components = Node::Map(Vec::new());
    if !schemas.entries().is_empty() {
        components.put("schemas", schemas);
    }
    components.put("securitySchemes", security_schemes());
    Node::map([
        ("openapi", Node::text("3.0.0")),
        ("info", info()),
        ("paths", Node::Map(paths)),
        ("components", components),
    ])
}

pub(super) fn path_item(mut operations: Vec<Operation>) -> Node {
    let common = take_common(&mut operations);
    let mut node = Node::Map(Vec::new());
    for method in operations::METHODS {
        if let Some(operation) = operations.iter().find(|o| o.method == method) {
            node.put(method, operation_node(operation));
        }
    }
    if !common.is_empty() {
        node.put("parameters", Node::List(common.iter().map(parameter).collect()));
    }
    node
}

fn operation_node(operation: &Operation) -> Node {
    let mut node = Node::map([
        ("tags", Node::List(vec![Node::Text(Cow::Owned(operation.tag.clone()))])),
        ("description", Node::Text(Cow::Owned(operation.description.clone()))),
        ("operationId", Node::Text(Cow::Owned(operation.id.clone()))),
    ]);
    if !operation.parameters.is_empty() {
        node.put("parameters", Node::List(operation.parameters.iter().map(parameter).collect()));
    }
    if let Some(body) = &operation.body {
        let mut request = Node::map([("content", content(operation.consumes, &body.payload))]);
        if body.required {
            request.put("required", Node::Bool(true));
        }
        node.put("requestBody", request);
    }
    let mut responses = Node::Map(Vec::new());
    for (code, description) in operation.success {
        let content = content(operation.produces, &operation.answer);
        responses.put(*code, Node::map([("description", Node::text(description)), ("content", content)]));
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

fn content(types: &[&'static str], payload: &Payload) -> Node {
    let mut types = types.to_vec();
    types.sort_unstable();
    let media = |ty| {
        let schema = match payload {
            Payload::Definition(name) => Form::V3.reference(name),
            Payload::Text => Node::map([("type", Node::text("string"))]),
        };
        (Cow::Borrowed(ty), Node::map([("schema", schema)]))
    };
    Node::Map(types.into_iter().map(media).collect())
}

fn parameter(p: &Parameter) -> Node {
    let mut node = Node::map([("name", Node::text(p.name)), ("in", Node::text(p.location.as_str()))]);
    if p.location == super::parameters::Location::Path {
        node.put("required", Node::Bool(true));
    }
    node.put("schema", Node::map([("type", Node::text(p.ty)), ("uniqueItems", Node::Bool(true))]));
    node
}
