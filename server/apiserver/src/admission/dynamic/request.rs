//! What dynamic plugins know of a request.

use std::{cell::RefCell, sync::Arc, time::Instant};

use bumpalo::Bump;
use ringbolt_machinery::{
    apply::Unconverted,
    field::quote,
    json::{self, Mode},
    status::Status,
    value::Value,
};

use ringbolt_storage::object::Object;

use super::OperationOptions;
use crate::{
    admission::{Attributes, Operation},
    core::CoreContext,
    endpoints::{
        body,
        resource::{OtherVersion, ResourceStore},
    },
};

fn unconverted(why: Unconverted) -> String {
    match why {
        Unconverted::Missing => "the kind has no such version".to_owned(),
        Unconverted::Failed(why) => why,
    }
}

/// Group and version of a text that has both.
fn group_version(text: &str) -> (&str, &str) {
    text.split_once('/').unwrap_or(("", text))
}

/// A version of the object's kind in which plugins may want to see it.
#[derive(Clone, Copy)]
pub struct Version<'r> {
    /// The group.
    pub group: &'r str,
    /// The version.
    pub version: &'r str,
    pub(super) other: Option<&'r OtherVersion>,
}

/// One request on its way through the dynamic plugins.
pub struct DynamicRequest<'r> {
    /// What built-in plugins know of it. The resource there is that of the request.
    pub attributes: &'r Attributes<'r>,
    /// The core that serves it: its clock, its timers, its random numbers.
    pub core: &'r CoreContext,
    options: &'r OperationOptions,
    pub(super) kind: &'r ResourceStore,
    /// The name of the object; empty where it is still to be generated.
    pub name: &'r str,
    /// When the answer to the request must be there.
    pub deadline: Option<Instant>,
    annotations: RefCell<Vec<(String, String)>>,
}

impl<'r> DynamicRequest<'r> {
    pub(crate) fn new(
        attributes: &'r Attributes<'r>,
        core: &'r CoreContext,
        options: &'r OperationOptions,
        kind: &'r ResourceStore,
        name: &'r str,
        deadline: Option<Instant>,
    ) -> Self {
        DynamicRequest { attributes, core, options, kind, name, deadline, annotations: RefCell::default() }
    }

    /// Group, version and kind of the object, in the version of the request.
    pub fn kind(&self) -> (&'static str, &'static str, &'static str) {
        (self.kind.group(), self.kind.version(), self.kind.kind())
    }

    /// Group, version and name of the resource that the request is about; the object of a subresource may be of a kind
    /// of another group.
    pub fn resource(&self) -> (&'static str, &'static str, &'static str) {
        let facts = self.attributes.served.facts;
        (facts.group, facts.version, facts.resource)
    }

    /// Whether objects of the resource are in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.attributes.served.facts.namespaced
    }

    /// The namespace of the request: a request about a namespace is in that, also where it is still to be made.
    pub fn namespace(&self) -> &'r str {
        match self.attributes.is_part_of("", "namespaces") {
            true => self.name,
            false => self.attributes.namespace,
        }
    }

    /// The name of the object as plugins are told it.
    pub fn object_name(&self) -> &'r str {
        self.name
    }

    /// A namespace as it is stored.
    pub fn namespace_object(&self, name: &str) -> Option<Arc<Object>> {
        self.core.storage.get(self.kind.namespaces, name)
    }

    /// The options of the request: JSON of the kind that its operation has, and nothing for a connection.
    pub fn options(&self) -> Option<String> {
        Some(self.options.as_kind(match self.attributes.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => return None,
        }))
    }

    /// The version of the request.
    pub fn version(&self) -> Version<'r> {
        Version { group: self.kind.group(), version: self.kind.version(), other: None }
    }

    /// The other versions in which the resource is served, in all groups that share its objects.
    pub fn other_versions(&self) -> impl Iterator<Item = Version<'r>> {
        let kind = self.kind;
        let built_in = kind.other_versions.get().into_iter().flatten().map(|other| {
            let (group, version) = group_version(&other.group_version);
            Version { group, version, other: Some(other) }
        });
        let custom = kind.served.custom.iter().flat_map(|custom| custom.replicas_paths());
        let custom = custom.map(|(text, _)| group_version(text));
        let custom = custom.filter(|(_, version)| *version != kind.version());
        built_in.chain(custom.map(|(group, version)| Version { group, version, other: None }))
    }

    /// An object as clients of a version see it, with its kind and version.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn show<'b>(
        &self,
        arena: &'b Bump,
        object: &Value<'_>,
        version: Version<'_>,
    ) -> Result<Value<'b>, Status> {
        let mut shown = object.copy_into(arena);
        if let Some(custom) = &self.kind.served.custom {
            if version.version != self.kind.version() {
                shown = custom
                    .convert(arena, &shown, &version.group_version())
                    .map_err(|why| Status::internal_error(unconverted(why)))?;
            }
            if let Some(map) = shown.as_map_mut() {
                map.sort_keys();
            }
            return Ok(shown);
        }
        let convert = match version.other {
            None => self.kind.served.from_stored,
            Some(other) => other.from_stored,
        };
        if let Some(convert) = convert {
            convert(arena, &mut shown);
        }
        if let Some(map) = shown.as_map_mut() {
            map.insert("kind", Value::String(self.kind.kind()));
            let api_version = match version.group {
                "" => version.version.to_owned(),
                group => format!("{group}/{}", version.version),
            };
            map.insert("apiVersion", Value::String(arena.alloc_str(&api_version)));
        }
        Ok(shown)
    }

    /// JSON of an object that was shown in a version.
    pub fn encode(&self, shown: &Value<'_>, version: Version<'_>, out: &mut Vec<u8>) {
        match (self.kind.is_custom(), version.other) {
            (true, _) => json::encode_untyped(shown, out),
            (false, None) => self.kind.encode_shown(shown, out),
            (false, Some(other)) => json::encode(self.kind.schema, other.ty, shown, out),
        }
    }

    /// An object that was shown in a version, changed since: typed, with defaults, as the tree that handlers have. It is
    /// lenient towards fields that are not known.
    ///
    /// # Errors
    /// Why it is no object of its kind.
    pub fn take_back<'a>(
        &self,
        arena: &'a Bump,
        shown: &Value<'a>,
        version: Version<'_>,
    ) -> Result<Value<'a>, String> {
        let kind = self.kind;
        let (ty, defaulter, convert) = match version.other {
            None => (kind.served.facts.ty, kind.served.defaulter, kind.served.to_stored),
            Some(other) => (other.ty, other.defaulter, other.to_stored),
        };
        if let Some(custom) = &kind.served.custom {
            let shown = match version.version == kind.version() {
                true => shown.clone(),
                false => custom.convert(arena, shown, &kind.group_version).map_err(unconverted)?,
            };
            return Ok(kind.take_in(arena, shown, Mode::Lenient)?.value);
        }
        self.check_kind(shown, version)?;
        let decoded = json::retype(arena, kind.schema, ty, shown, Mode::Lenient);
        let mut object = decoded.map_err(|e| e.to_string())?.value;
        defaulter(arena, &mut object);
        if let Some(convert) = convert {
            convert(arena, &mut object);
        }
        Ok(object)
    }

    /// An object that says to be of a kind must be of that kind.
    fn check_kind(&self, shown: &Value<'_>, version: Version<'_>) -> Result<(), String> {
        let own = version.group_version();
        let said = |member, own| shown.str_at(&[member]).filter(|text| !text.is_empty()).unwrap_or(own);
        let (kind, api_version) = (said("kind", self.kind.kind()), said("apiVersion", &own));
        if (kind, api_version) == (self.kind.kind(), &own) {
            return Ok(());
        }
        let (group, short) = group_version(api_version);
        if self.kind.schema.kind(group, short, kind).is_none() {
            return Err(format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                quote(kind),
                quote(api_version)
            ));
        }
        Err(body::unknown_conversion((short, kind), (self.kind.group(), self.kind.kind())))
    }

    /// Warns the writer.
    pub fn warn(&self, warning: impl Into<String>) {
        self.attributes.warnings.borrow_mut().push(warning.into());
    }

    /// Notes something for the audit log. A key that was given keeps its first value.
    pub fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        let mut annotations = self.annotations.borrow_mut();
        if annotations.iter().any(|(known, _)| *known == key) {
            tracing::warn!(key, "an audit annotation was given twice");
            return;
        }
        annotations.push((key, value));
    }

    /// What was noted for the audit log.
    pub fn annotations(&self) -> Vec<(String, String)> {
        self.annotations.borrow().clone()
    }
}
