//! What can be asked of the server: paths and their operations, from the resources of the Schema.

use std::collections::BTreeMap;

use super::parameters::{self, NAME, NAMESPACE, PATH, PRETTY, Parameter};
use crate::schema::{Resource, Schema, Subresource};

/// Media types of one object.
pub(super) const OBJECT_TYPES: [&str; 3] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
/// Media types of a list that can be watched.
const STREAM_TYPES: [&str; 5] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const LOG_TYPES: [&str; 4] =
    ["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const PATCH_TYPES: [&str; 4] = [
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

fn meta(name: &str) -> Payload {
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

/// An operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) id: String,
    pub(super) tag: String,
    /// `x-kubernetes-action`; empty where it has none.
    pub(super) action: &'static str,
    /// Group, version and kind it is about.
    pub(super) kind: Option<(&'static str, &'static str, &'static str)>,
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
const OK_CREATED: [(&str, &str); 2] = [("200", "OK"), ("201", "Created")];
const OK_ACCEPTED: [(&str, &str); 2] = [("200", "OK"), ("202", "Accepted")];
const OK_CREATED_ACCEPTED: [(&str, &str); 3] = [("200", "OK"), ("201", "Created"), ("202", "Accepted")];

/// Paths and the operations on each, sorted by path.
pub(super) type Paths = BTreeMap<String, Vec<Operation>>;

/// Order of methods in a path.
pub(super) const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// `rbac.authorization` becomes `rbacAuthorization`, or `RbacAuthorization` inside of an id.
fn identifier(text: &str, upper: bool) -> String {
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

fn group_version_id(group: &str, version: &str) -> String {
    format!("{}{}", identifier(group_name(group), true), identifier(version, true))
}

fn group_version_tag(group: &str, version: &str) -> String {
    format!("{}_{}", identifier(group_name(group), false), identifier(version, false))
}

/// A discovery path.
fn discovery(paths: &mut Paths, path: &str, id: String, tag: String, answer: &str) {
    let operation = Operation {
        method: "get",
        id,
        tag,
        action: "",
        kind: None,
        parameters: Vec::new(),
        body: None,
        consumes: &OBJECT_TYPES,
        produces: &OBJECT_TYPES,
        success: &OK,
        answer: meta(answer),
    };
    paths.insert(path.to_owned(), vec![operation]);
}

/// `/api/`
pub(super) fn core_versions(paths: &mut Paths) {
    discovery(paths, "/api/", "getCoreAPIVersions".to_owned(), "core".to_owned(), "APIVersions");
}

/// `/apis/`
pub(super) fn groups(paths: &mut Paths) {
    discovery(paths, "/apis/", "getAPIVersions".to_owned(), "apis".to_owned(), "APIGroupList");
}

/// `/apis/GROUP/`
pub(super) fn group(paths: &mut Paths, group: &str) {
    let name = group_name(group);
    let id = format!("get{}APIGroup", identifier(name, true));
    discovery(paths, &format!("/apis/{group}/"), id, identifier(name, false), "APIGroup");
}

/// `/version/`
pub(super) fn version(paths: &mut Paths) {
    const JSON: [&str; 1] = ["application/json"];
    let answer = Payload::Definition("io.k8s.apimachinery.pkg.version.Info".to_owned());
    let operation = Operation {
        method: "get",
        id: "getCodeVersion".to_owned(),
        tag: "version".to_owned(),
        action: "",
        kind: None,
        parameters: Vec::new(),
        body: None,
        consumes: &JSON,
        produces: &JSON,
        success: &OK,
        answer,
    };
    paths.insert("/version/".to_owned(), vec![operation]);
}

/// Everything of a group-version.
pub(super) fn group_version(paths: &mut Paths, schema: &Schema, group: &str, version: &str) {
    let id = format!("get{}APIResources", group_version_id(group, version));
    let path = format!("{}/", root(group, version));
    discovery(paths, &path, id, group_version_tag(group, version), "APIResourceList");
    for resource in schema.resources_of(group, version) {
        let writer = Writer { schema, resource, paths };
        writer.resource();
    }
}

/// Adds the paths of one resource.
struct Writer<'a> {
    schema: &'a Schema,
    resource: &'a Resource,
    paths: &'a mut Paths,
}

/// Where an operation stands and what its id says of that.
struct Place {
    path: String,
    /// `Namespaced` or nothing.
    scope: &'static str,
    /// What follows the kind in ids.
    suffix: String,
    parameters: Vec<Parameter>,
}

impl Writer<'_> {
    fn resource(mut self) {
        let r = self.resource;
        let has = |verb| r.verbs.contains(&verb);
        let object = || self.schema.get(r.ty).openapi_name;
        let object = Payload::Definition(object().to_owned());
        let kind = (r.group, r.version, r.kind);
        let watch = has("watch");
        let collection = self.collection("", "");
        if has("list") {
            let list = match self.schema.list_kind(r) {
                Some(list) => Payload::Definition(self.schema.get(list.ty).openapi_name.to_owned()),
                None => object.clone(),
            };
            self.list(self.collection("", ""), list.clone());
            if r.namespaced {
                self.list(self.everywhere("", ""), list);
            }
            if watch {
                self.watch("watchlist", self.collection("watch/", "List"));
                if r.namespaced {
                    self.watch("watchlist", self.everywhere("watch/", "List"));
                }
            }
        }
        if has("create") {
            self.post(collection, kind, object.clone());
        }
        if has("deletecollection") {
            self.delete_collection();
        }
        if has("get") {
            self.read(self.item("", "", ""), kind, object.clone());
        }
        if has("update") {
            self.put(self.item("", "", ""), kind, object.clone());
        }
        if has("delete") {
            self.delete(object.clone());
        }
        if has("patch") {
            self.patch(self.item("", "", ""), kind, object);
        }
        if watch {
            self.watch("watch", self.item("watch/", "", ""));
        }
        for subresource in &r.subresources {
            self.subresource(subresource);
        }
    }

    fn subresource(&mut self, sub: &Subresource) {
        if let Some(options) = parameters::connect_options(sub.kind.2) {
            return self.connect(sub, options);
        }
        let has = |verb| sub.verbs.contains(&verb);
        let kind = sub.kind;
        let place = |writer: &Self| writer.item("", sub.name, "");
        if self.resource.kind == "Pod" && sub.name == "log" {
            let mut at = place(self);
            at.parameters.extend(parameters::LOG);
            let mut read = self.operation(&at, "get", "read", "get", kind, Payload::Text);
            read.produces = &LOG_TYPES;
            return self.add(at, read);
        }
        let Some(known) = self.schema.subresource_kind(sub) else { return };
        let object = Payload::Definition(self.schema.get(known.ty).openapi_name.to_owned());
        if has("create") {
            self.post(place(self), kind, object.clone());
        }
        if has("get") {
            self.read(place(self), kind, object.clone());
        }
        if has("update") {
            self.put(place(self), kind, object.clone());
        }
        if has("patch") {
            self.patch(place(self), kind, object);
        }
    }

    fn base(&self, before: &str) -> String {
        format!("{}/{before}", root(self.resource.group, self.resource.version))
    }

    /// The collection, of a namespace where the resource has one.
    fn collection(&self, before: &str, suffix: &str) -> Place {
        let mut place = self.everywhere(before, suffix);
        place.suffix = suffix.to_owned();
        if self.resource.namespaced {
            place.path = format!("{}namespaces/{{namespace}}/{}", self.base(before), self.resource.resource);
            place.scope = "Namespaced";
            place.parameters.insert(0, NAMESPACE);
        }
        place
    }

    /// The collection over all namespaces.
    fn everywhere(&self, before: &str, suffix: &str) -> Place {
        Place {
            path: format!("{}{}", self.base(before), self.resource.resource),
            scope: "",
            suffix: format!("{suffix}ForAllNamespaces"),
            parameters: vec![PRETTY],
        }
    }

    /// An object, or a part of it.
    fn item(&self, before: &str, subresource: &str, suffix: &str) -> Place {
        let mut place = self.collection(before, "");
        place.path.push_str("/{name}");
        if !subresource.is_empty() {
            place.path.push('/');
            place.path.push_str(subresource);
        }
        place.suffix = format!("{}{suffix}", identifier(subresource, true));
        place.parameters.push(NAME);
        place
    }

    fn operation(
        &self,
        place: &Place,
        method: &'static str,
        verb: &str,
        action: &'static str,
        kind: (&'static str, &'static str, &'static str),
        answer: Payload,
    ) -> Operation {
        let r = self.resource;
        let about = group_version_id(r.group, r.version);
        // A verb of two parts has the group-version between them: `delete` CoreV1 `Collection`.
        let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
        Operation {
            method,
            id: format!("{verb}{about}{rest}{}{}{}", place.scope, r.kind, place.suffix),
            tag: group_version_tag(r.group, r.version),
            action,
            kind: Some(kind),
            parameters: place.parameters.clone(),
            body: None,
            consumes: &ANY_TYPE,
            produces: &OBJECT_TYPES,
            success: &OK,
            answer,
        }
    }

    fn add(&mut self, place: Place, mut operation: Operation) {
        operation.parameters.sort_by_key(|p| (p.name, p.location));
        self.paths.entry(place.path).or_default().push(operation);
    }

    fn own_kind(&self) -> (&'static str, &'static str, &'static str) {
        (self.resource.group, self.resource.version, self.resource.kind)
    }

    fn list(&mut self, place: Place, list: Payload) {
        let mut operation = self.operation(&place, "get", "list", "list", self.own_kind(), list);
        operation.produces = &STREAM_TYPES;
        operation.parameters.extend(parameters::LIST_OPTIONS);
        operation.parameters.extend(parameters::WATCH_OPTIONS);
        self.add(place, operation);
    }

    fn watch(&mut self, action: &'static str, place: Place) {
        let mut operation =
            self.operation(&place, "get", "watch", action, self.own_kind(), meta("WatchEvent"));
        operation.produces = &STREAM_TYPES;
        operation.parameters.extend(parameters::LIST_OPTIONS);
        operation.parameters.extend(parameters::WATCH_OPTIONS);
        self.add(place, operation);
    }

    fn read(&mut self, place: Place, kind: (&'static str, &'static str, &'static str), object: Payload) {
        let operation = self.operation(&place, "get", "read", "get", kind, object);
        self.add(place, operation);
    }

    fn post(&mut self, place: Place, kind: (&'static str, &'static str, &'static str), object: Payload) {
        let mut operation = self.operation(&place, "post", "create", "post", kind, object.clone());
        operation.success = &OK_CREATED_ACCEPTED;
        operation.body = Some(Body { payload: object, required: true, shared: "" });
        operation.parameters.extend(parameters::WRITE_OPTIONS);
        self.add(place, operation);
    }

    fn put(&mut self, place: Place, kind: (&'static str, &'static str, &'static str), object: Payload) {
        let mut operation = self.operation(&place, "put", "replace", "put", kind, object.clone());
        operation.success = &OK_CREATED;
        operation.body = Some(Body { payload: object, required: true, shared: "" });
        operation.parameters.extend(parameters::WRITE_OPTIONS);
        self.add(place, operation);
    }

    fn patch(&mut self, place: Place, kind: (&'static str, &'static str, &'static str), object: Payload) {
        let mut operation = self.operation(&place, "patch", "patch", "patch", kind, object);
        operation.consumes = &PATCH_TYPES;
        operation.success = &OK_CREATED;
        operation.body =
            Some(Body { payload: meta("Patch"), required: true, shared: parameters::PATCH_BODY });
        operation.parameters.extend(parameters::PATCH_OPTIONS);
        self.add(place, operation);
    }

    fn delete(&mut self, object: Payload) {
        let place = self.item("", "", "");
        let answer = if self.resource.delete_returns_object { object } else { meta("Status") };
        let mut operation = self.operation(&place, "delete", "delete", "delete", self.own_kind(), answer);
        operation.success = &OK_ACCEPTED;
        operation.body = Some(delete_body());
        operation.parameters.extend(parameters::DELETE_OPTIONS);
        self.add(place, operation);
    }

    fn delete_collection(&mut self) {
        let place = self.collection("", "");
        let (verb, action) = ("delete Collection", "deletecollection");
        let mut operation = self.operation(&place, "delete", verb, action, self.own_kind(), meta("Status"));
        operation.body = Some(delete_body());
        operation.parameters.extend(parameters::DELETE_OPTIONS);
        operation.parameters.extend(parameters::LIST_OPTIONS);
        self.add(place, operation);
    }

    /// Proxies take every method, also on paths below; streams of a pod take GET and POST.
    fn connect(&mut self, sub: &Subresource, options: &'static [Parameter]) {
        let proxy = sub.name == "proxy";
        for below in [false, true] {
            if below && !proxy {
                return;
            }
            for method in METHODS.iter().filter(|m| proxy || matches!(**m, "get" | "post")) {
                let mut place = self.item("", sub.name, if below { "WithPath" } else { "" });
                if below {
                    place.path.push_str("/{path}");
                    place.parameters.push(PATH);
                }
                place.parameters.retain(|p| *p != PRETTY);
                place.parameters.extend(options);
                let verb = format!("connect {}", identifier(method, true));
                let mut operation = self.operation(&place, method, &verb, "connect", sub.kind, Payload::Text);
                operation.produces = &ANY_TYPE;
                self.add(place, operation);
            }
        }
    }
}

fn delete_body() -> Body {
    Body { payload: meta("DeleteOptions"), required: false, shared: parameters::DELETE_BODY }
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
