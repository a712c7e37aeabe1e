//! The paths of resources and their subresources.

use super::operations::{
    self, ANY_TYPE, Body, LOG_TYPES, METHODS, OBJECT_TYPES, OK, OK_ACCEPTED, OK_CREATED, OK_CREATED_ACCEPTED,
    Operation, PATCH_TYPES, Paths, Payload, STREAM_TYPES, group_version_id, group_version_tag, identifier,
    meta, root,
};
use super::parameters::{self, NAME, NAMESPACE, PATH, PRETTY, Parameter};
use crate::schema::{Resource, Schema, Subresource};

/// Group, version and kind.
type KindName = (&'static str, &'static str, &'static str);

/// Everything of a group-version.
pub(super) fn group_version(paths: &mut Paths, schema: &Schema, group: &str, version: &str) {
    operations::resources(paths, group, version);
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
    /// The subresource; empty for the object or the collection itself.
    subresource: String,
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
            subresource: String::new(),
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
            subresource.clone_into(&mut place.subresource);
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
        kind: KindName,
        answer: Payload,
    ) -> Operation {
        let r = self.resource;
        let about = group_version_id(r.group, r.version);
        // A verb of two parts has the group-version between them: `delete` CoreV1 `Collection`.
        let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
        Operation {
            method,
            description: description(action, method, r, &place.subresource),
            id: format!("{verb}{about}{rest}{}{}{}", place.scope, r.kind, place.suffix),
            tag: group_version_tag(r.group, r.version),
            action,
            kind: Some(kind.into()),
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

    fn own_kind(&self) -> KindName {
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

    fn read(&mut self, place: Place, kind: KindName, object: Payload) {
        let operation = self.operation(&place, "get", "read", "get", kind, object);
        self.add(place, operation);
    }

    fn post(&mut self, place: Place, kind: KindName, object: Payload) {
        let mut operation = self.operation(&place, "post", "create", "post", kind, object.clone());
        operation.success = &OK_CREATED_ACCEPTED;
        operation.body = Some(Body { payload: object, required: true, shared: "" });
        operation.parameters.extend(parameters::WRITE_OPTIONS);
        self.add(place, operation);
    }

    fn put(&mut self, place: Place, kind: KindName, object: Payload) {
        let mut operation = self.operation(&place, "put", "replace", "put", kind, object.clone());
        operation.success = &OK_CREATED;
        operation.body = Some(Body { payload: object, required: true, shared: "" });
        operation.parameters.extend(parameters::WRITE_OPTIONS);
        self.add(place, operation);
    }

    fn patch(&mut self, place: Place, kind: KindName, object: Payload) {
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

/// What an operation on a resource or a subresource does. Clients know these words.
fn description(action: &str, method: &str, resource: &Resource, subresource: &str) -> String {
    const INSTEAD: &str = "deprecated: use the 'watch' parameter with a list operation instead";
    let kind = resource.kind;
    let article = article(kind);
    let specified = |verb: &str| match subresource {
        "" => format!("{verb} the specified {kind}"),
        subresource => format!("{verb} {subresource} of the specified {kind}"),
    };
    match action {
        "connect" => format!("connect {} requests to {subresource} of {kind}", method.to_ascii_uppercase()),
        "delete" => format!("delete{article} {kind}"),
        "deletecollection" => format!("delete collection of {kind}"),
        "get" => specified("read"),
        "list" if resource.verbs.contains(&"watch") => format!("list or watch objects of kind {kind}"),
        "list" => format!("list objects of kind {kind}"),
        "patch" => specified("partially update"),
        "post" if subresource.is_empty() => format!("create{article} {kind}"),
        "post" => format!("create {subresource} of{article} {kind}"),
        "put" => specified("replace"),
        "watch" => format!(
            "watch changes to an object of kind {kind}. {INSTEAD}, filtered to a single item with the 'fieldSelector' parameter."
        ),
        _ => format!("watch individual changes to a list of {kind}. {INSTEAD}."),
    }
}

/// The article of a kind with a space before it; none of a plural (`Endpoints`).
pub(super) fn article(kind: &str) -> &'static str {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        ""
    } else if kind.starts_with(['A', 'E', 'I', 'O', 'U']) {
        " an"
    } else {
        " a"
    }
}

pub(super) fn delete_body() -> Body {
    Body { payload: meta("DeleteOptions"), required: false, shared: parameters::DELETE_BODY }
}
