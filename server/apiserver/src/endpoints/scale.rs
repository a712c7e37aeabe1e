//! `/scale` of the workloads: their replicas as an `autoscaling/v1` Scale, read and written.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::{
    field::FieldError,
    json,
    schema::{Column, Schema},
    status::Status,
    table::{ListRule, Printer, Row},
    value::{Map, Value},
};
use ringbolt_protocol::{request_info::Verb, selector::LabelSelector};
use ringbolt_storage::object::{Object, ResourceId};

use super::{
    answer::{self, Answer},
    get, label_selector, metadata, not_stored, patch,
    resource::ResourceStore,
    scale_managed_fields,
    update::{self, Change, Update},
};
use crate::{
    registry::Part,
    request::Request,
    response::{Outcome, Response},
    routes::ResourceEndpoint,
};

/// The kind of the subresource.
pub(crate) const SCALE: (&str, &str, &str) = ("autoscaling", "v1", "Scale");

/// How a Scale is shown as a row.
static PRINTER: Printer = Printer { row: print, list: ListRule::Plain };

fn print(scale: &Value<'_>, row: &mut Row<'_>) {
    let count = |part: &str| scale.path(&[part, "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    row.name(scale);
    row.int(count("spec"));
    row.int(count("status"));
    row.age(scale);
}

/// The columns; names and ages are described as the parent's.
fn columns(parent: &[Column]) -> Vec<Column> {
    let described = |name: &str| parent.iter().find(|c| c.name == name).map_or("", |c| c.description);
    let column = |name, ty, description| Column { name, ty, format: "", description, priority: 0 };
    vec![
        column("Name", "string", described("Name")),
        column("Desired", "integer", "replicas is the desired number of instances for the scaled object."),
        column(
            "Available",
            "integer",
            "replicas is the actual number of observed instances of the scaled object.",
        ),
        column("Age", "string", described("Age")),
    ]
}

/// `/scale` of one resource.
pub(crate) struct Scale {
    parent: Arc<ResourceStore>,
    scale: Arc<ResourceStore>,
}

impl Scale {
    /// The subresource of `parent`. `None` where the Schema knows no Scale.
    pub(crate) fn new(
        schema: &'static Schema,
        parent: Arc<ResourceStore>,
        namespaces: ResourceId,
    ) -> Option<Self> {
        let columns = columns(&parent.served.facts.columns);
        let scale = not_stored::kind_of_subresource(schema, SCALE, Some((columns, &PRINTER)), namespaces)?;
        Some(Scale { parent, scale })
    }

    /// Carries out an update or patch of the Scale on its parent.
    fn write<C: Change + 'static>(
        &self,
        planned: Result<Update<C>, Status>,
        request: &Request<'_>,
    ) -> Outcome {
        let planned = match planned {
            Ok(planned) => planned,
            Err(status) => return answer::failed(request, &status),
        };
        let (parent, scale) = (self.parent.clone(), self.scale.clone());
        let change = Rescale { parent: parent.clone(), scale: scale.clone(), inner: planned.change };
        let update = Update {
            store: parent,
            core: planned.core,
            user: planned.user,
            answer: planned.answer,
            namespace: planned.namespace,
            name: planned.name,
            part: Part::Main,
            dry_run: planned.dry_run,
            may_create: false,
            change,
        };
        Outcome::Task(Box::pin(async move {
            let mut warnings = Vec::new();
            match update.attempts(&mut warnings).await {
                Ok((code, json)) => show(&update.answer, &update.store, &scale, code, &json, &warnings),
                Err(status) => update.answer.failure(&status, &warnings),
            }
        }))
    }
}

impl ResourceEndpoint for Scale {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        match request.info.verb {
            Verb::Get => {
                let parent = self.parent.clone();
                get::get_shown(&self.parent, &self.scale, request, move |answer, scale, object| {
                    show(answer, &parent, scale, 200, &object.json, &[])
                })
            }
            Verb::Update => self.write(update::plan(&self.scale, request, Part::Main), request),
            Verb::Patch => self.write(patch::plan(&self.scale, request, Part::Main), request),
            _ => answer::failed(request, &Status::method_not_allowed()),
        }
    }
}

/// Answers with the Scale of a stored parent.
fn show(
    answer: &Answer,
    parent: &ResourceStore,
    scale: &ResourceStore,
    code: u16,
    json: &[u8],
    warnings: &[String],
) -> Response {
    let shown = answer.core.with_arena(|arena| {
        let tree = json::decode_stored(arena, parent.schema, parent.served.stored_type, json)
            .map_err(|e| Status::internal_error(e.to_string()))?;
        let version = metadata::text(&tree, "resourceVersion");
        Ok(not_stored::encoded(scale, &scale_of(arena, parent, &tree, version)?))
    });
    match shown {
        Ok(json) => answer.object(scale, code, &json, warnings),
        Err(status) => answer.status(&status),
    }
}

/// A change of a Scale as a change of its parent.
struct Rescale<C> {
    parent: Arc<ResourceStore>,
    scale: Arc<ResourceStore>,
    inner: C,
}

impl<C: Change> Change for Rescale<C> {
    fn subresource(&self) -> Option<&'static str> {
        Some("scale")
    }

    fn object<'a>(
        &self,
        arena: &'a Bump,
        old: Option<(&Object, &Value<'a>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Value<'a>, Status> {
        let Some((stored, tree)) = old else { return Err(self.parent.not_found("")) };
        let version: &'a str = arena.alloc_str(&stored.revision.to_string());
        let mut before = scale_of(arena, &self.parent, tree, version)?;
        let owned = tree.path(&["metadata", "managedFields"]);
        let parent_version: &'a str = arena.alloc_str(&self.parent.group_version);
        set_managed_fields(arena, &mut before, scale_managed_fields::to_scale(arena, parent_version, owned));
        let mut scale = self.inner.object(arena, Some((stored, &before)), warnings)?;
        if let Some(tracker) = self.inner.tracker() {
            tracker.updated(arena, &self.scale, &before, &mut scale);
        }
        let written = scale.path(&["metadata", "managedFields"]);
        let owners = scale_managed_fields::to_parent(arena, parent_version, owned, written);
        let name = metadata::text(tree, "name");
        let replicas = scale.path(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
        if replicas < 0 {
            let error = FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0");
            return Err(Status::invalid(self.scale.group(), self.scale.kind(), name, &[error]));
        }
        let (given, uid) = (metadata::text(&scale, "uid"), metadata::text(tree, "uid"));
        if !given.is_empty() && given != uid && !self.inner.uid_is_precondition() {
            let resource = format!("{}/scale", self.parent.resource());
            let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {uid}");
            return Err(Status::conflict(self.parent.status_group(), &resource, name, &why));
        }
        let mut parent = tree.clone();
        if let Some(map) = parent.as_map_mut() {
            map.map_mut("spec").insert("replicas", Value::Int(replicas));
        }
        let meta = metadata::of(arena, &mut parent);
        meta.insert("resourceVersion", Value::String(metadata::text(&scale, "resourceVersion")));
        if !given.is_empty() {
            meta.insert("uid", Value::String(given));
        }
        set_managed_fields(arena, &mut parent, owners);
        Ok(parent)
    }

    fn check(&self, arena: &Bump) -> Result<(), Status> {
        self.inner.check(arena)
    }

    fn retries(&self) -> bool {
        self.inner.retries()
    }

    fn uid_is_precondition(&self) -> bool {
        self.inner.uid_is_precondition()
    }
}

fn set_managed_fields<'a>(arena: &'a Bump, object: &mut Value<'a>, list: Option<Value<'a>>) {
    let meta = metadata::of(arena, object);
    match list {
        Some(list) => meta.insert("managedFields", list),
        None => meta.remove("managedFields"),
    };
}

/// The Scale of a parent. 400 where its selector is none.
fn scale_of<'a>(
    arena: &'a Bump,
    parent: &ResourceStore,
    tree: &Value<'a>,
    version: &'a str,
) -> Result<Value<'a>, Status> {
    let selector = selector_of(parent, tree).map_err(|e| Status::bad_request(e.to_string()))?;
    let count = |part: &str| tree.path(&[part, "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    let mut meta = Map::new_in(arena);
    for field in ["name", "namespace", "uid"] {
        meta.push_unique(field, Value::String(metadata::text(tree, field)));
    }
    meta.push_unique("resourceVersion", Value::String(version));
    if let Some(created) = tree.path(&["metadata", "creationTimestamp"]) {
        meta.push_unique("creationTimestamp", created.clone());
    }
    let mut spec = Map::new_in(arena);
    spec.push_unique("replicas", Value::Int(count("spec")));
    let mut status = Map::new_in(arena);
    status.push_unique("replicas", Value::Int(count("status")));
    status.push_unique("selector", Value::String(arena.alloc_str(&selector.to_string())));
    let mut scale = Map::new_in(arena);
    scale.push_unique("metadata", Value::Map(meta));
    scale.push_unique("spec", Value::Map(spec));
    scale.push_unique("status", Value::Map(status));
    Ok(Value::Map(scale))
}

/// A workload's selector: a LabelSelector, or the plain labels of a ReplicationController.
fn selector_of(
    parent: &ResourceStore,
    tree: &Value<'_>,
) -> Result<LabelSelector, label_selector::SelectorError> {
    let selector = tree.path(&["spec", "selector"]);
    if parent.group().is_empty() {
        return label_selector::selector_of_map(selector);
    }
    Ok(label_selector::selector(selector)?.unwrap_or_default())
}
