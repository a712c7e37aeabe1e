//! Operations: what can be asked of the server at a path, and what it answers. Those of resources are in
//! [`super::resources`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::node::Node;
use super::parameters::Parameter;

/// Media types of one object.
pub(super) const OBJECT_TYPES: [&str; 3] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
/// Media types of a list that can be watched.
pub(super) const STREAM_TYPES: [&str; 5] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
pub(super) const LOG_TYPES: [&str; 4] =
    ["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
pub(super) const PATCH_TYPES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
pub(super) const ANY_TYPE: [&str; 1] = ["*/*"];

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// What an answer or a body holds.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// A definition, by its OpenAPI name.
    Definition(String),
    /// Any text.
    Text,
}

pub(super) fn meta(name: &str) -> Payload {
    Payload::Definition(format!("{META}{name}"))
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) payload: Payload,
    pub(super) required: bool,
    /// Name that v2 shares it under; empty where it is an operation's own.
    pub(super) shared: &'static str,
}

/// Group, version and kind.
#[derive(Clone, Debug)]
pub(super) struct KindName {
    pub(super) group: Cow<'static, str>,
    pub(super) version: Cow<'static, str>,
    pub(super) kind: Cow<'static, str>,
}

impl KindName {
    /// Of a kind that comes and goes.
    pub(super) fn owned(group: &str, version: &str, kind: &str) -> Self {
        let owned = |text: &str| Cow::Owned(text.to_owned());
        KindName { group: owned(group), version: owned(version), kind: owned(kind) }
    }

    /// As extensions show it.
    pub(super) fn node(&self) -> Node {
        let text = |text: &Cow<'static, str>| Node::Text(text.clone());
        Node::map([
            ("group", text(&self.group)),
            ("kind", text(&self.kind)),
            ("version", text(&self.version)),
        ])
    }
}

impl From<(&'static str, &'static str, &'static str)> for KindName {
    fn from((group, version, kind): (&'static str, &'static str, &'static str)) -> Self {
        KindName { group: group.into(), version: version.into(), kind: kind.into() }
    }
}

/// An operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// What it does, in the words that all servers have for it.
    pub(super) description: String,
    pub(super) id: String,
    pub(super) tag: String,
    /// `x-kubernetes-action`; empty where it has none.
    pub(super) action: &'static str,
    /// Group, version and kind it is about.
    pub(super) kind: Option<KindName>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// Media types of the request.
    pub(super) consumes: &'static [&'static str],
    /// Media types of the answer.
    pub(super) produces: &'static [&'static str],
    /// Code and description of success; 401 is always there.
    pub(super) success: &'static [(&'static str, &'static str)],
    pub(super) answer: Payload,
}

pub(super) const OK: [(&str, &str); 1] = [("200", "OK")];
pub(super) const OK_CREATED: [(&str, &str); 2] = [("200", "OK"), ("201", "Created")];
pub(super) const OK_ACCEPTED: [(&str, &str); 2] = [("200", "OK"), ("202", "Accepted")];
pub(super) const OK_CREATED_ACCEPTED: [(&str, &str); 3] =
    [("200", "OK"), ("201", "Created"), ("202", "Accepted")];

/// Paths and the operations on each, sorted by path.
pub(super) type Paths = BTreeMap<String, Vec<Operation>>;

/// Order of methods in a path.
pub(super) const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// `rbac.authorization` becomes `rbacAuthorization`, or `RbacAuthorization` inside of an id.
pub(super) fn identifier(text: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut upper = upper;
    for (at, c) in text.char_indices() {
        if c.is_ascii_alphabetic() || c == '_' || (at != 0 && c.is_ascii_digit()) {
            out.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
        } else {
            upper = true;
        }
    }
    out
}

/// The group as ids and tags have it: `core`, `rbac.authorization`.
fn group_name(group: &str) -> &str {
    if group.is_empty() { "core" } else { group.strip_suffix(".k8s.io").unwrap_or(group) }
}

/// The path of a group-version.
pub(super) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

pub(super) fn group_version_id(group: &str, version: &str) -> String {
    format!("{}{}", identifier(group_name(group), true), identifier(version, true))
}

pub(super) fn group_version_tag(group: &str, version: &str) -> String {
    format!("{}_{}", identifier(group_name(group), false), identifier(version, false))
}

/// A GET of a path that is no resource's.
fn document(id: String, description: &str, tag: String, types: Types, answer: Payload) -> Operation {
    Operation {
        method: "get",
        description: description.to_owned(),
        id,
        tag,
        action: "",
        kind: None,
        parameters: Vec::new(),
        body: None,
        consumes: types.0,
        produces: types.1,
        success: &OK,
        answer,
    }
}

/// Media types of the request and of the answer.
type Types = (&'static [&'static str], &'static [&'static str]);

/// A discovery path.
fn discovery(paths: &mut Paths, path: &str, id: String, about: &str, tag: String, answer: &str) {
    let operation = document(id, about, tag, (&OBJECT_TYPES, &OBJECT_TYPES), meta(answer));
    paths.insert(path.to_owned(), vec![operation]);
}

/// `/api/`
pub(super) fn core_versions(paths: &mut Paths) {
    let id = "getCoreAPIVersions".to_owned();
    discovery(paths, "/api/", id, "get available API versions", "core".to_owned(), "APIVersions");
}

/// `/apis/`
pub(super) fn groups(paths: &mut Paths) {
    let id = "getAPIVersions".to_owned();
    discovery(paths, "/apis/", id, "get available API versions", "apis".to_owned(), "APIGroupList");
}

/// `/apis/GROUP/`
pub(super) fn group(paths: &mut Paths, group: &str) {
    let name = group_name(group);
    let id = format!("get{}APIGroup", identifier(name, true));
    let tag = identifier(name, false);
    discovery(paths, &format!("/apis/{group}/"), id, "get information of a group", tag, "APIGroup");
}

/// `/apis/GROUP/VERSION/`
pub(super) fn resources(paths: &mut Paths, group: &str, version: &str) {
    let id = format!("get{}APIResources", group_version_id(group, version));
    let (path, tag) = (format!("{}/", root(group, version)), group_version_tag(group, version));
    discovery(paths, &path, id, "get available resources", tag, "APIResourceList");
}

/// `/version/`
pub(super) fn version(paths: &mut Paths) {
    const JSON: [&str; 1] = ["application/json"];
    let answer = Payload::Definition("io.k8s.apimachinery.pkg.version.Info".to_owned());
    let about = "get the version information for this server";
    let operation =
        document("getCodeVersion".to_owned(), about, "version".to_owned(), (&JSON, &JSON), answer);
    paths.insert("/version/".to_owned(), vec![operation]);
}

/// `/.well-known/openid-configuration/`
pub(super) fn openid_configuration(paths: &mut Paths) {
    let id = "getServiceAccountIssuerOpenIDConfiguration".to_owned();
    let about = "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'";
    let types: Types = (&[], &["application/json"]);
    let operation = document(id, about, "WellKnown".to_owned(), types, Payload::Text);
    paths.insert("/.well-known/openid-configuration/".to_owned(), vec![operation]);
}

/// `/openid/v1/jwks/`
pub(super) fn openid_keys(paths: &mut Paths) {
    let id = "getServiceAccountIssuerOpenIDKeyset".to_owned();
    let about =
        "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)";
    let types: Types = (&[], &["application/jwk-set+json"]);
    let operation = document(id, about, "openid".to_owned(), types, Payload::Text);
    paths.insert("/openid/v1/jwks/".to_owned(), vec![operation]);
}

/// The parameters that all operations of a path have, taken out of the operations.
pub(super) fn take_common(operations: &mut [Operation]) -> Vec<Parameter> {
    let Some((first, rest)) = operations.split_first() else { return Vec::new() };
    let mut common = first.parameters.clone();
    common.retain(|p| rest.iter().all(|operation| operation.parameters.contains(p)));
    for operation in operations.iter_mut() {
        operation.parameters.retain(|p| !common.contains(p));
    }
    common
}
