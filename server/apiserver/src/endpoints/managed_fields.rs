//! Who wrote which field: `metadata.managedFields` through create, update and patch.

use std::cell::RefCell;

use bumpalo::Bump;
use ringbolt_machinery::{
    apply::{self, Applied, ApplyError, FieldManager, KnownFields, ResetFields, Root, Unconverted, Versions},
    field,
    json::quote,
    status::{Cause, Status},
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::{identity::now_rfc3339, metadata, resource::ResourceStore};
use crate::{
    conversion::{Memo, Versioned},
    limits::FIELD_MANAGER_MAX,
    request::Request,
    templates::{Spec, Templates},
};

/// Who writes, and through what.
pub(crate) struct Tracker {
    manager: String,
    subresource: String,
    reset: ResetFields,
    /// What it puts back in other versions.
    reset_elsewhere: ResetFields,
    /// What of other versions had to be asked for.
    memo: Memo,
}

/// What becomes of an object's managed fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    /// They are brought up to date.
    Kept,
    /// They are forgotten: the object was too large with them.
    Dropped,
}

impl Owners {
    /// Brings them up to date with `track`, or forgets them.
    pub(crate) fn track<'a>(
        self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        track: impl FnOnce(&mut Value<'a>),
    ) {
        match self {
            Owners::Kept => track(object),
            Owners::Dropped => {
                metadata::of(arena, object).remove("managedFields");
            }
        }
    }
}

impl Tracker {
    /// The writer of a request. `field_manager` is its option; without it the client's program counts.
    pub(crate) fn new(store: &ResourceStore, request: &Request<'_>, field_manager: &str) -> Self {
        let manager = match field_manager {
            "" => program(request.head.header("user-agent").unwrap_or_default()),
            named => named.to_owned(),
        };
        let subresource = request.info.subresource.to_owned();
        let reset = store.reset_fields(&subresource);
        let reset_elsewhere = store.reset_fields_elsewhere(&subresource);
        Tracker { manager, subresource, reset, reset_elsewhere, memo: Memo::default() }
    }

    /// Finds out what other versions were asked for in vain; `false` where none were. What came of it is to be done anew.
    pub(crate) async fn find_out(&self, store: &ResourceStore) -> bool {
        store.converts && self.memo.find_out(store).await
    }

    fn versions<'s>(&'s self, store: &'s ResourceStore) -> Versioned<'s> {
        Versioned { store, memo: &self.memo }
    }

    fn field_manager<'s>(
        &'s self,
        store: &'s ResourceStore,
        versions: &'s Versioned<'s>,
    ) -> FieldManager<'s> {
        FieldManager {
            schema: store.schema,
            root: store.root(),
            kind: store.kind(),
            api_version: &store.group_version,
            subresource: &self.subresource,
            reset: self.reset,
            reset_elsewhere: self.reset_elsewhere,
            versions,
        }
    }

    /// Notes a create. What only the server decides is taken away first, so that nobody owns it.
    pub(crate) fn created<'a>(&self, arena: &'a Bump, store: &ResourceStore, object: &mut Value<'a>) {
        let meta = metadata::of(arena, object);
        for field in SERVERS_METADATA {
            meta.remove(field);
        }
        self.track(arena, store, None, object);
    }

    /// Notes a create whose spec may be known, or is to be from now on.
    pub(crate) fn created_knowing<'a>(
        &self,
        arena: &'a Bump,
        store: &ResourceStore,
        templates: &RefCell<Templates>,
        spec: &mut Spec<'a>,
        object: &mut Value<'a>,
    ) {
        let template = spec.template().cloned();
        // Takes the spec out: what is normal stays as it is, and whatever stands for it is not looked at.
        let mut own = Value::Null;
        if template.is_some()
            && let Some(slot) = object.path_mut(&["spec"])
        {
            own = std::mem::replace(slot, Value::Bool(true));
        }
        let meta = metadata::of(arena, object);
        for field in SERVERS_METADATA {
            meta.remove(field);
        }
        let versions = self.versions(store);
        let manager = self.field_manager(store, &versions);
        let empties = apply::normalize(arena, store.schema, store.served.facts.ty, object);
        if template.is_some()
            && let Some(slot) = object.path_mut(&["spec"])
        {
            *slot = own;
        }
        let text = template.as_ref().map(|template| template.fields());
        let known = KnownFields { member: "spec", text };
        let mut fields = None;
        let learns = spec.learns();
        let learn = |text: &str| fields = learns.then(|| text.to_owned());
        let list = manager.create_knowing(arena, object, &self.manager, &now_rfc3339(), known, learn);
        if let (Some(fields), Some(value)) = (fields, object.path(&["spec"]))
            && let Some((_, field)) = store.schema.get(store.served.facts.ty).field("spec")
            && let Some(learned) = spec.learn(templates, arena, store.schema, (field.ty, value), &fields)
            && let Some(slot) = object.path_mut(&["spec"])
        {
            *slot = learned;
        }
        put_list(arena, object, list);
        empties.put_back(object);
    }

    /// Notes an update of `old`, as it was read.
    pub(crate) fn updated<'a>(
        &self,
        arena: &'a Bump,
        store: &ResourceStore,
        old: &Value<'a>,
        object: &mut Value<'a>,
    ) {
        self.track(arena, store, Some(old), object);
    }

    fn track<'a>(
        &self,
        arena: &'a Bump,
        store: &ResourceStore,
        old: Option<&Value<'a>>,
        object: &mut Value<'a>,
    ) {
        let versions = self.versions(store);
        let manager = self.field_manager(store, &versions);
        let now = now_rfc3339();
        show_template_generation(store, object);
        let list = match store.served.from_stored {
            None => {
                let empties = store.normalize(arena, object);
                let list = match old {
                    Some(old) => manager.update(arena, old, object, &self.manager, &now),
                    None => manager.create(arena, object, &self.manager, &now),
                };
                put_list(arena, object, list);
                return empties.put_back(object);
            }
            Some(_) => {
                let new = versioned(arena, store, object);
                match old {
                    Some(old) => {
                        manager.update(arena, &versioned(arena, store, old), &new, &self.manager, &now)
                    }
                    None => manager.create(arena, &new, &self.manager, &now),
                }
            }
        };
        put_list(arena, object, list);
    }

    /// Applies a configuration to what is stored, if anything. The outcome is as
    /// [`FieldManager::apply`] says; the object it was applied to is in the version of the request.
    pub(crate) fn apply<'a>(
        &self,
        arena: &'a Bump,
        store: &ResourceStore,
        old: Option<(&Object, &Value<'a>)>,
        config: &Value<'a>,
        force: bool,
    ) -> Result<(Value<'a>, Applied<'a>), Status> {
        let versions = self.versions(store);
        let manager = self.field_manager(store, &versions);
        let mut live = match old {
            Some((_, old)) => versioned(arena, store, old),
            None => manager.zero(arena),
        };
        if let Some((stored, _)) = old {
            let revision = arena.alloc_str(&stored.revision.to_string());
            metadata::of(arena, &mut live).insert("resourceVersion", Value::String(revision));
        }
        if let Some(map) = live.as_map_mut() {
            map.insert("kind", Value::String(store.kind()));
            map.insert("apiVersion", Value::String(arena.alloc_str(&store.group_version)));
        }
        store.normalize(arena, &mut live).forget();
        let is_foreign = store.is_scale_of_custom();
        if is_foreign && live.path(&["metadata", "managedFields"]).and_then(Value::as_list).is_none() {
            let what =
                format!("failed to create manager for existing fields: {}", foreign(store, "live", ""));
            return Err(Status::unknown_error(what));
        }
        let applied = manager.apply(arena, &live, config, &self.manager, force, &now_rfc3339());
        let applied = applied.map_err(refused)?;
        if is_foreign && applied.object.is_some() {
            let text = |name: &str| config.str_at(&["metadata", name]).unwrap_or("");
            let name = format!("{}/{}", text("namespace"), text("name"));
            return Err(Status::unknown_error(foreign(store, "new", &name)));
        }
        Ok((live, applied))
    }
}

/// Why no Scale of a custom resource can be applied: the real server takes it for an object of that resource.
fn foreign(store: &ResourceStore, what: &str, name: &str) -> String {
    let (version, kind) = (&store.group_version, store.kind());
    let name = if name.is_empty() { "/" } else { name };
    format!(
        "failed to convert {what} object ({name}; {version}, Kind={kind}) to proper version: request to convert CR to an \
         invalid group/version: {version}"
    )
}

/// Metadata that only the server decides.
const SERVERS_METADATA: [&str; 4] = ["uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// Puts the list of who owns what on an object.
fn put_list<'a>(arena: &'a Bump, object: &mut Value<'a>, list: Option<Value<'a>>) {
    let meta = metadata::of(arena, object);
    match list {
        Some(list) => {
            meta.insert("managedFields", list);
        }
        None => {
            meta.remove("managedFields");
        }
    }
}

fn refused(error: ApplyError) -> Status {
    match error {
        ApplyError::BadRequest(why) => Status::bad_request(why),
        ApplyError::Failed(why) => Status::unknown_error(why),
        ApplyError::Conflicts(conflicts) => {
            let message = conflicts.to_string();
            let causes = conflicts.told.into_iter().map(|conflict| Cause {
                reason: "FieldManagerConflict",
                message: format!("conflict with {}", conflict.manager),
                field: conflict.path,
            });
            Status::apply_conflict(causes.collect(), message)
        }
    }
}

/// `apps/v1` shows a generation of its template on every DaemonSet, sent or not; the strategy sets it right later.
fn show_template_generation(store: &ResourceStore, object: &mut Value<'_>) {
    const GENERATION: &str = "deprecated.daemonset.template.generation";
    if (store.group(), store.resource()) != ("apps", "daemonsets") {
        return;
    }
    let Some(meta) = object.as_map_mut().map(|map| map.map_mut("metadata")) else { return };
    let annotations = meta.map_mut("annotations");
    if annotations.get(GENERATION).is_none() {
        annotations.insert(GENERATION, Value::String("0"));
        annotations.sort_keys();
    }
}

/// A stored object in the version of the request, in the form that fields are counted in.
fn versioned<'a>(arena: &'a Bump, store: &ResourceStore, object: &Value<'a>) -> Value<'a> {
    let mut object = object.clone();
    if let Some(convert) = store.served.from_stored {
        convert(arena, &mut object);
        apply::normalize(arena, store.schema, store.served.facts.ty, &mut object).forget();
    }
    object
}

impl Versions for ResourceStore {
    fn convert<'a>(
        &self,
        arena: &'a Bump,
        object: &Value<'a>,
        from: &str,
        to: &str,
    ) -> Result<Value<'a>, Unconverted> {
        if let Some(kind) = &self.served.custom {
            return kind.convert(arena, object, to);
        }
        let other = |version: &str| {
            self.other_versions.get().into_iter().flatten().find(|other| other.group_version == version)
        };
        let mut object = object.clone();
        let to_stored = if from == self.group_version {
            self.served.to_stored
        } else {
            other(from).and_then(|other| other.to_stored)
        };
        let from_stored = if to == self.group_version {
            self.served.from_stored
        } else {
            other(to).and_then(|other| other.from_stored)
        };
        to_stored.inspect(|convert| convert(arena, &mut object));
        from_stored.inspect(|convert| convert(arena, &mut object));
        Ok(object)
    }

    fn root(&self, api_version: &str) -> Result<Root<'_>, Unconverted> {
        let Some(kind) = &self.served.custom else { return Err(Unconverted::Missing) };
        kind.root(api_version).ok_or_else(|| {
            let why = format!("request to convert CR to an invalid group/version: {api_version}");
            Unconverted::Failed(why)
        })
    }
}

/// What a client calls its program: the start of its User-Agent.
fn program(agent: &[u8]) -> String {
    // A slash is one in UTF-8, wherever it stands.
    let agent = agent.split(|byte| *byte == b'/').next().unwrap_or_default();
    let agent = String::from_utf8_lossy(agent);
    // As of all that are not made up.
    if agent.len() <= FIELD_MANAGER_MAX && agent.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return agent.into_owned();
    }
    let mut name = String::new();
    for c in agent.chars().filter(|c| quote::is_printable(*c)) {
        if name.len() + c.len_utf8() > FIELD_MANAGER_MAX {
            break;
        }
        name.push(c);
    }
    name
}

/// Gives an update that says nothing new the times of the entries that it is about, so that it changes nothing.
pub(crate) fn keep_times<'a>(arena: &'a Bump, old: &Value<'a>, object: &mut Value<'a>) {
    let path = ["metadata", "managedFields"];
    let (Some(Value::List(was)), Some(Value::List(is))) = (old.path(&path), object.path(&path)) else {
        return;
    };
    let same = |a: &Value<'_>, b: &Value<'_>| {
        let (Some(a), Some(b)) = (a.as_map(), b.as_map()) else { return false };
        equal_but(arena, a, b, &["time"])
    };
    if was == is || was.len() != is.len() || !was.iter().zip(is).all(|(a, b)| same(a, b)) {
        return;
    }
    let (Some(a), Some(b)) = (old.as_map(), object.as_map()) else { return };
    let (Some(a_meta), Some(b_meta)) = (a.get("metadata"), b.get("metadata")) else { return };
    let (Some(a_meta), Some(b_meta)) = (a_meta.as_map(), b_meta.as_map()) else { return };
    if equal_but(arena, a_meta, b_meta, &["managedFields", "resourceVersion"])
        && equal_but(arena, a, b, &["metadata", "kind", "apiVersion"])
    {
        metadata::of(arena, object).insert("managedFields", Value::List(was.clone()));
    }
}

/// Whether two maps are the same but for some of their entries.
fn equal_but(arena: &Bump, a: &Map<'_>, b: &Map<'_>, but: &[&str]) -> bool {
    let count = |map: &Map<'_>| map.iter().filter(|(key, _)| !but.contains(key)).count();
    count(a) == count(b)
        && a.iter()
            .filter(|(key, _)| !but.contains(key))
            .all(|(key, value)| b.get(key).is_some_and(|other| apply::equal_values(arena, value, other)))
}

/// The managed fields of an object.
pub(crate) fn of<'v, 'a>(object: &'v Value<'a>) -> Option<&'v Value<'a>> {
    object.path(&["metadata", "managedFields"])
}

/// Puts back what the managed fields were before admission where they mean nothing any more, and warns of it.
pub(crate) fn keep_valid<'a>(
    arena: &'a Bump,
    object: &mut Value<'a>,
    before: Option<Value<'a>>,
    warnings: &RefCell<Vec<String>>,
) {
    let Some(why) = of(object).and_then(Value::as_list).and_then(|list| invalid(list)) else { return };
    warnings.borrow_mut().push(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
         mutating admission controller; please fix your requests: {why}"
    ));
    let meta = metadata::of(arena, object);
    match before {
        Some(before) => meta.insert("managedFields", before),
        None => meta.remove("managedFields"),
    };
}

/// What is wrong with the first entry of managed fields that means nothing (`ValidateManagedFields`).
fn invalid(list: &[Value<'_>]) -> Option<String> {
    list.iter().enumerate().find_map(|(at, entry)| {
        let text = |member| entry.str_at(&[member]).unwrap_or("");
        if !matches!(text("operation"), "Apply" | "Update") {
            return Some("operation must be `Apply` or `Update`".to_owned());
        }
        if text("apiVersion").is_empty() {
            return Some("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => None,
            "" => Some(format!("missing fieldsType in managed fields entry {at}")),
            other => Some(format!("invalid fieldsType {} in managed fields entry {at}", field::quote(other))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        let check = |agent: &[u8], expect: &str| assert_eq!(program(agent), expect);
        check(b"kubectl/v1.37.2 (linux/amd64) kubernetes/abc", "kubectl");
        check(b"", "");
        check(b"/x", "");
        check(b"a b\tc", "a bc");
        check("é\u{200b}".as_bytes(), "é");
        check(&[b'x'; 200], &"x".repeat(FIELD_MANAGER_MAX));
        check("é".repeat(100).as_bytes(), &"é".repeat(FIELD_MANAGER_MAX / 2));
    }
}
