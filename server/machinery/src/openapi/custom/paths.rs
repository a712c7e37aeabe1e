//! What can be done with custom resources, and where.

use super::{CustomResource, name_of};
use crate::openapi::operations::{
    Body, KindName, OK, OK_ACCEPTED, OK_CREATED, OK_CREATED_ACCEPTED, Operation, Paths, Payload,
    group_version_id, group_version_tag, identifier, meta, root,
};
use crate::openapi::parameters::{self, NAME, NAMESPACE, PRETTY, Parameter};
use crate::openapi::resources::{article, delete_body};

/// Media types of objects and lists, sent and answered.
const TYPES: [&str; 2] = ["application/json", "application/yaml"];
const PATCH_TYPES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Adds the paths of a resource.
pub(super) fn add(paths: &mut Paths, resource: &CustomResource<'_>) {
    let object = Payload::Definition(name_of(resource, resource.kind));
    let list = Payload::Definition(name_of(resource, resource.list_kind));
    let status = || meta("Status");
    let writer = Writer { resource };
    let base = root(resource.group, resource.version);
    let everywhere = format!("{base}/{}", resource.plural);
    let collection = if resource.namespaced {
        let mut operation = writer.operation("get", "list", "list", "", list.clone());
        operation.id.push_str("ForAllNamespaces");
        operation.parameters.extend(list_options());
        push(paths, &everywhere, operation);
        format!("{base}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        everywhere
    };
    let here = |mut operation: Operation| {
        writer.place(&mut operation);
        operation
    };
    let mut operation = here(writer.operation("get", "list", "list", "", list));
    operation.parameters.extend(list_options());
    push(paths, &collection, operation);
    let mut operation = here(writer.operation("post", "create", "post", "", object.clone()));
    operation.success = &OK_CREATED_ACCEPTED;
    operation.body = Some(Body { payload: object.clone(), required: true, shared: "" });
    operation.parameters.extend(parameters::WRITE_OPTIONS);
    push(paths, &collection, operation);
    let mut operation =
        here(writer.operation("delete", "delete Collection", "deletecollection", "", status()));
    operation.parameters.extend(list_options());
    push(paths, &collection, operation);

    let item = format!("{collection}/{{name}}");
    writer.item(paths, &item, "", &object);
    let mut operation = here(writer.operation("delete", "delete", "delete", "", status()));
    operation.success = &OK_ACCEPTED;
    operation.body = Some(delete_body());
    operation.parameters.push(NAME);
    operation.parameters.extend(parameters::DELETE_OPTIONS);
    push(paths, &item, operation);
    if resource.status {
        writer.item(paths, &format!("{item}/status"), "status", &object);
    }
    if resource.scale {
        let scale = Payload::Definition("io.k8s.api.autoscaling.v1.Scale".to_owned());
        writer.item(paths, &format!("{item}/scale"), "scale", &scale);
    }
}

struct Writer<'a> {
    resource: &'a CustomResource<'a>,
}

impl Writer<'_> {
    /// An operation of no place yet: its id ends with the kind.
    fn operation(
        &self,
        method: &'static str,
        verb: &str,
        action: &'static str,
        subresource: &str,
        answer: Payload,
    ) -> Operation {
        let r = self.resource;
        // A verb of two parts has the group-version between them.
        let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
        Operation {
            method,
            description: self.description(action, subresource),
            id: format!("{verb}{}{rest}{}", group_version_id(r.group, r.version), r.kind),
            tag: group_version_tag(r.group, r.version),
            action,
            kind: Some(KindName::owned(r.group, r.version, r.kind)),
            parameters: vec![PRETTY],
            body: None,
            consumes: &TYPES,
            produces: &TYPES,
            success: &OK,
            answer,
        }
    }

    /// Puts an operation into a namespace, where the resource has one.
    fn place(&self, operation: &mut Operation) {
        if self.resource.namespaced {
            operation.id.insert_str(operation.id.len() - self.resource.kind.len(), "Namespaced");
            operation.parameters.push(NAMESPACE);
        }
    }

    /// Reading, replacing and patching an object, or a part of it.
    fn item(&self, paths: &mut Paths, path: &str, subresource: &str, payload: &Payload) {
        let operation = |method, verb, action| {
            let mut operation = self.operation(method, verb, action, subresource, payload.clone());
            self.place(&mut operation);
            operation.id.push_str(&identifier(subresource, true));
            operation.parameters.push(NAME);
            operation
        };
        let mut read = operation("get", "read", "get");
        read.parameters.push(parameters::RESOURCE_VERSION);
        push(paths, path, read);
        let mut replace = operation("put", "replace", "put");
        replace.success = &OK_CREATED;
        replace.body = Some(Body { payload: payload.clone(), required: true, shared: "" });
        replace.parameters.extend(parameters::WRITE_OPTIONS);
        push(paths, path, replace);
        let mut patch = operation("patch", "patch", "patch");
        patch.consumes = &PATCH_TYPES;
        patch.body = Some(Body { payload: meta("Patch"), required: true, shared: parameters::PATCH_BODY });
        patch.parameters.extend(parameters::PATCH_OPTIONS);
        push(paths, path, patch);
    }

    /// What an operation does. Clients know these words.
    fn description(&self, action: &str, subresource: &str) -> String {
        let kind = self.resource.kind;
        let of = if subresource.is_empty() { String::new() } else { format!(" {subresource} of") };
        match action {
            "list" => format!("list objects of kind {kind}"),
            "get" => format!("read{of} the specified {kind}"),
            "put" => format!("replace{of} the specified {kind}"),
            "patch" => format!("partially update{of} the specified {kind}"),
            "post" => format!("create{} {kind}", article(kind)),
            "delete" => format!("delete{} {kind}", article(kind)),
            _ => format!("delete collection of {kind}"),
        }
    }
}

fn list_options() -> impl Iterator<Item = Parameter> {
    parameters::LIST_OPTIONS.into_iter().chain(parameters::WATCH_OPTIONS)
}

fn push(paths: &mut Paths, path: &str, mut operation: Operation) {
    operation.parameters.sort_by_key(|p| (p.name, p.location));
    paths.entry(path.to_owned()).or_default().push(operation);
}
