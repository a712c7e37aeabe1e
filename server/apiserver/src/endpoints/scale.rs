//! `/scale` of the workloads: their replicas as an `autoscaling/v1` Scale, read and written.

use std::sync::{Arc, OnceLock};

use bumpalo::Bump;
use ringbolt_machinery::{
    field::{FieldError, quote},
    schema::{Column, Schema},
    status::Status,
    structural,
    table::{ListRule, Printer, Row},
    value::{Map, Value},
};
use ringbolt_protocol::{query::UpdateOptions, request_info::Verb, selector::LabelSelector};
use ringbolt_storage::object::{Object, ResourceId};

use super::{
    answer::{self, Answer},
    get, label_selector, metadata, not_stored, patch,
    resource::ResourceStore,
    scale_managed_fields::{self, Parent, SPEC_REPLICAS},
    update::{self, Change, ShownPart, Update},
};
use crate::{
    admission::dynamic::{Dynamic, OperationOptions},
    conversion,
    registry::{CustomKind, Part},
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

/// The Scale of all custom resources: they come and go, and it is the same for each.
fn custom_scale(schema: &'static Schema, namespaces: ResourceId) -> Option<Arc<ResourceStore>> {
    static SHARED: OnceLock<Option<Arc<ResourceStore>>> = OnceLock::new();
    let make = || {
        // Names and ages are described as everywhere.
        let column = |name: &str| {
            let described = schema.resources.iter().flat_map(|r| &r.columns).find(|c| c.name == name);
            described.map_or("", |c| c.description)
        };
        let column = |name, ty, format, description: Option<&'static str>| Column {
            name,
            ty,
            format,
            description: description.unwrap_or_else(|| column(name)),
            priority: 0,
        };
        let columns = vec![
            column("Name", "string", "name", None),
            column("Desired", "integer", "", Some("Number of desired replicas")),
            column("Available", "integer", "", Some("Number of actual replicas")),
            column("Age", "date", "", None),
        ];
        not_stored::kind_below_custom(schema, SCALE, (columns, &PRINTER), namespaces)
    };
    SHARED.get_or_init(make).clone()
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
        let scale = match parent.is_custom() {
            false => {
                let columns = columns(&parent.served.facts.columns);
                not_stored::kind_of_subresource(schema, SCALE, Some((columns, &PRINTER)), namespaces)?
            }
            true => custom_scale(schema, namespaces)?,
        };
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
            dynamic: Dynamic::of(&self.parent, request, || {
                OperationOptions::of_write(&UpdateOptions::parse(request.head.query()))
            }),
            change,
        };
        Outcome::Task(Box::pin(async move {
            let mut warnings = Vec::new();
            match update.attempts(&mut warnings).await {
                Ok((code, json)) => {
                    show(&update.answer, &update.store, &scale, code, &json, (&warnings, false))
                }
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
                let show = move |answer: &Answer, scale: &ResourceStore, object: &Object| {
                    show(answer, &parent, scale, 200, &object.json, (&[], true))
                };
                match self.parent.converts {
                    true => get::get_converted(&self.parent, &self.scale, request, show),
                    false => get::get_shown(&self.parent, &self.scale, request, show),
                }
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
    (warnings, request_reads): (&[String], bool),
) -> Response {
    let shown = answer.core.with_arena(|arena| {
        let tree = parent.decode_stored(arena, json)?;
        let version = metadata::text(&tree, "resourceVersion");
        if let Some(paths) = scale_paths(parent)
            && request_reads
            && paths.spec_replicas(&tree).is_ok_and(|replicas| replicas.is_none())
        {
            let path = quote(&paths.spec_replicas_path);
            return Err(Status::internal_error(format!("the spec replicas field {path} does not exist")));
        }
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

/// The replicas of a custom resource that has none, before they are changed: the real server takes the smallest number
/// that there is for a sign that they were not set.
const UNSET_REPLICAS: i64 = i32::MIN as i64;

/// Where a custom parent has what a Scale is about.
fn scale_paths(parent: &ResourceStore) -> Option<&structural::Scale> {
    parent.served.custom.as_ref()?.scale()
}

impl<C> Rescale<C> {
    /// The parent as its managed fields name it.
    fn managed_parent<'a>(&self, arena: &'a Bump) -> Parent<'a> {
        let version: &'a str = arena.alloc_str(&self.parent.group_version);
        let replicas: Vec<(&'a str, Option<&'a [&'a str]>)> = match &self.parent.served.custom {
            None => vec![(version, Some(&SPEC_REPLICAS))],
            Some(kind) => {
                let path = |path: &str| {
                    let names = path.strip_prefix('.').unwrap_or(path).split('.');
                    let names: Vec<&'a str> = names.map(|name| &*arena.alloc_str(name)).collect();
                    &*arena.alloc_slice_copy(&names)
                };
                let versions = kind.replicas_paths().into_iter();
                versions.map(|(version, at)| (&*arena.alloc_str(version), at.map(path))).collect()
            }
        };
        Parent { version, replicas: arena.alloc_slice_copy(&replicas) }
    }
}

impl<C> ShownPart for Rescale<C> {
    fn kind(&self) -> &ResourceStore {
        &self.scale
    }

    fn show<'a>(&self, arena: &'a Bump, object: &Value<'a>, owners: bool) -> Result<Value<'a>, Status> {
        let version = metadata::text(object, "resourceVersion");
        let mut scale = scale_of(arena, &self.parent, object, version)?;
        if owners && scale_paths(&self.parent).is_none() {
            let owned = object.path(&["metadata", "managedFields"]);
            let of = self.managed_parent(arena);
            set_managed_fields(arena, &mut scale, scale_managed_fields::to_scale(arena, of, owned));
        }
        Ok(scale)
    }

    fn take_over<'a>(&self, _: &'a Bump, object: &mut Value<'a>, shown: &Value<'a>) -> Result<(), Status> {
        let replicas = shown.path(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
        match scale_paths(&self.parent) {
            Some(paths) => paths.set_spec_replicas(object, replicas).map_err(Status::unknown_error),
            None => {
                if let Some(map) = object.as_map_mut() {
                    map.map_mut("spec").insert("replicas", Value::Int(replicas));
                }
                Ok(())
            }
        }
    }
}

impl<C: Change> Change for Rescale<C> {
    fn shown_part(&self) -> Option<&dyn ShownPart> {
        Some(self)
    }

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
        let of = self.managed_parent(arena);
        set_managed_fields(arena, &mut before, scale_managed_fields::to_scale(arena, of, owned));
        let paths = scale_paths(&self.parent);
        let is_unset = match paths {
            Some(paths) => paths.spec_replicas(tree).map_err(Status::unknown_error)?.is_none(),
            None => false,
        };
        if is_unset && let Some(map) = before.as_map_mut() {
            map.map_mut("spec").insert("replicas", Value::Int(UNSET_REPLICAS));
        }
        // No replicas are left out where a Scale is written: they are not taken from anyone by writing them again.
        self.scale.normalize(arena, &mut before).forget();
        let mut scale = self.inner.object(arena, Some((stored, &before)), warnings)?;
        if let Some(tracker) = self.inner.tracker() {
            tracker.updated(arena, &self.scale, &before, &mut scale);
        }
        let written = scale.path(&["metadata", "managedFields"]);
        let owners = scale_managed_fields::to_parent(arena, of, owned, written);
        let name = metadata::text(tree, "name");
        let replicas = scale.path(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
        if let Some(paths) = paths {
            if replicas == UNSET_REPLICAS {
                let path = quote(&paths.spec_replicas_path);
                return Err(Status::bad_request(format!("the spec replicas field {path} cannot be empty")));
            }
        } else if replicas < 0 {
            let error = FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0");
            return Err(Status::invalid(self.scale.group(), self.scale.kind(), name, &[error]));
        }
        let (given, uid) = (metadata::text(&scale, "uid"), metadata::text(tree, "uid"));
        if !given.is_empty() && given != uid && !self.inner.uid_is_precondition() {
            let resource = format!("{}/scale", self.parent.resource());
            let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {uid}");
            return Err(Status::conflict(self.parent.group(), &resource, name, &why));
        }
        let mut parent = tree.clone();
        match (paths, parent.as_map_mut()) {
            (Some(paths), _) => {
                paths.set_spec_replicas(&mut parent, replicas).map_err(Status::unknown_error)?;
                // Objects that were made on the way have defaults, which are there where it is shown as stored.
                let shows_defaults = |kind: &&Arc<dyn CustomKind>| {
                    kind.form() != 0 && !conversion::is_from_another(&self.parent)
                };
                if let Some(kind) = self.parent.served.custom.as_ref().filter(shows_defaults) {
                    kind.fill_in(arena, &mut parent);
                }
            }
            (None, Some(map)) => {
                map.map_mut("spec").insert("replicas", Value::Int(replicas));
            }
            (None, None) => {}
        }
        let meta = metadata::of(arena, &mut parent);
        // A custom resource keeps its version where the client named none.
        let version = metadata::text(&scale, "resourceVersion");
        if paths.is_none() || !version.is_empty() {
            meta.insert("resourceVersion", Value::String(version));
        }
        if !given.is_empty() {
            meta.insert("uid", Value::String(given));
        }
        set_managed_fields(arena, &mut parent, owners);
        Ok(parent)
    }

    fn check(&self, arena: &Bump, warnings: &mut Vec<String>) -> Result<(), Status> {
        self.inner.check(arena, warnings)
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
    let count = |part: &str| tree.path(&[part, "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    let (wanted, there, selector) = match scale_paths(parent) {
        None => {
            let selector = selector_of(parent, tree).map_err(|e| Status::bad_request(e.to_string()))?;
            (count("spec"), count("status"), selector.to_string())
        }
        Some(paths) => custom_counts(paths, tree).map_err(Status::unknown_error)?,
    };
    let mut meta = Map::new_in(arena);
    for field in ["name", "namespace", "uid"] {
        meta.push_unique(field, Value::String(metadata::text(tree, field)));
    }
    meta.push_unique("resourceVersion", Value::String(version));
    if let Some(created) = tree.path(&["metadata", "creationTimestamp"]) {
        meta.push_unique("creationTimestamp", created.clone());
    }
    let mut spec = Map::new_in(arena);
    spec.push_unique("replicas", Value::Int(wanted));
    let mut status = Map::new_in(arena);
    status.push_unique("replicas", Value::Int(there));
    status.push_unique("selector", Value::String(arena.alloc_str(&selector)));
    let mut scale = Map::new_in(arena);
    scale.push_unique("metadata", Value::Map(meta));
    scale.push_unique("spec", Value::Map(spec));
    scale.push_unique("status", Value::Map(status));
    Ok(Value::Map(scale))
}

/// Replicas wanted and there of a custom resource, and its selector.
fn custom_counts(paths: &structural::Scale, tree: &Value<'_>) -> Result<(i64, i64, String), String> {
    // A Scale has 32 bits for each.
    let count = |replicas: Option<i64>| i64::from(replicas.unwrap_or(0) as i32);
    let (wanted, there) = (paths.spec_replicas(tree)?, paths.status_replicas(tree)?);
    Ok((count(wanted), count(there), paths.selector(tree)?.to_owned()))
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
