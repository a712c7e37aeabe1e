//! From a CustomResourceDefinition to what serves its objects.

use std::{fmt, sync::Arc};

use ringbolt_apiserver::{
    admission::Admission,
    endpoints::{self, CustomEndpoints},
    registry::{CustomFacts, ServedResource, TooManyKinds},
};
use ringbolt_machinery::{
    schema::Schema,
    structural::{self, Columns, Scale, SelectableFields},
    value::{Map, Value},
};
use ringbolt_storage::{names::ResourceError, object::ResourceId, storage::Storage};

use super::{
    kind::{Converting, Kind},
    schemas::{Schemas, VersionSchema, next_form},
    strategy::CustomStrategy,
};
use crate::conversion::ConverterFactory;

/// Why a definition cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// It lacks something that validation sees to: a storage version, accepted names.
    Incomplete(&'static str),
    /// The schema of a version is none.
    Schema(String, structural::CompileError),
    /// There were too many before it.
    Kinds(TooManyKinds),
    /// The store has no number for it.
    Store(ResourceError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Incomplete(what) => write!(f, "the definition has no {what}"),
            CompileError::Schema(version, error) => write!(f, "the schema of {version}: {}", error.0),
            CompileError::Kinds(error) => error.fmt(f),
            CompileError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CompileError {}

/// A definition, ready to be served.
pub struct CustomResource {
    /// Group.
    pub group: String,
    /// Plural name, as accepted.
    pub resource: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Where its objects are stored.
    pub stored: ResourceId,
    /// The versions that are served, in the order of the definition.
    pub versions: Vec<Version>,
    schemas: Arc<Schemas>,
}

/// A served version.
#[derive(Clone)]
pub struct Version {
    /// Its name.
    pub name: String,
    pub(super) kind: Arc<Kind>,
    strategy: Arc<CustomStrategy>,
    pub(super) facts: &'static ringbolt_machinery::schema::Resource,
    stored: ResourceId,
}

fn text<'a>(map: &Map<'a>, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or("")
}

fn flag(map: &Map<'_>, name: &str) -> bool {
    map.get(name).and_then(Value::as_bool).unwrap_or(false)
}

impl CustomResource {
    /// Reads a definition that was accepted. `previous` is what it was before, if it was served; `converters` has the
    /// webhooks of definitions whose versions are made of each other by such.
    ///
    /// # Errors
    /// It cannot be served.
    pub fn compile(
        schema: &'static Schema,
        definition: &Value<'_>,
        storage: &dyn Storage,
        previous: Option<&CustomResource>,
        converters: &ConverterFactory,
    ) -> Result<CustomResource, CompileError> {
        let spec = definition.path(&["spec"]).and_then(Value::as_map);
        let spec = spec.ok_or(CompileError::Incomplete("spec"))?;
        let names = definition.path(&["status", "acceptedNames"]).and_then(Value::as_map);
        let names = names.ok_or(CompileError::Incomplete("accepted names"))?;
        let named = |name| match text(names, name) {
            "" => Err(CompileError::Incomplete("accepted names")),
            name => Ok(name),
        };
        let (group, resource) = (text(spec, "group"), named("plural")?);
        let (kind, singular, list_kind) = (named("kind")?, named("singular")?, named("listKind")?);
        let namespaced = text(spec, "scope") == "Namespaced";
        let all: Vec<&Map<'_>> = spec
            .get("versions")
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .filter_map(Value::as_map)
            .collect();
        let schemas = schemas(group, &all, previous)?;
        let name = format!("{resource}.{group}");
        let stored = storage.resource(&name).map_err(CompileError::Store)?;
        // A version alone is never converted.
        let converter = (all.len() > 1).then(|| converters.converter(&name, kind, spec)).flatten();
        let mut versions = Vec::new();
        for version in all.iter().filter(|version| flag(version, "served")) {
            let name = text(version, "name");
            let own = schemas.find(&format!("{group}/{name}"));
            let own = own.ok_or(CompileError::Incomplete("schema"))?;
            let subresources = version.get("subresources").and_then(Value::as_map);
            let has = |name: &str| subresources.and_then(|map| map.get(name)).filter(|v| !v.is_null());
            let (has_status, scale) = (has("status").is_some(), has("scale").map(Scale::of));
            let columns = Columns::of(version.get("additionalPrinterColumns"));
            let is_stored = flag(version, "storage");
            let converting = converter.clone().map(|converter| Converting {
                converter,
                conversions: converters.conversions().clone(),
                form: if is_stored { schemas.form } else { next_form() },
            });
            let is_stored_as_shown = match converting {
                Some(_) => is_stored,
                None => own.is_same(&schemas.storage),
            };
            let facts = CustomFacts {
                group: group.to_owned(),
                version: name.to_owned(),
                resource: resource.to_owned(),
                singular: singular.to_owned(),
                kind: kind.to_owned(),
                namespaced,
                status: has_status,
                scale: scale.is_some(),
            };
            versions.push(Version {
                name: name.to_owned(),
                kind: Arc::new(Kind {
                    name: kind.to_owned(),
                    list_kind: list_kind.to_owned(),
                    schemas: schemas.clone(),
                    schema: own.clone(),
                    has_status,
                    scale: scale.clone(),
                    column_definitions: columns.definitions(),
                    columns,
                    selectable: SelectableFields::of(version.get("selectableFields")),
                    converting,
                }),
                strategy: Arc::new(CustomStrategy {
                    schema: own.clone(),
                    has_status,
                    is_stored_as_shown,
                    scale,
                    deprecation: deprecation(group, kind, version, &all),
                }),
                facts: facts.intern(schema).map_err(CompileError::Kinds)?,
                stored,
            });
        }
        let (group, resource) = (group.to_owned(), resource.to_owned());
        Ok(CustomResource { group, resource, namespaced, stored, versions, schemas })
    }
}

impl Version {
    /// The resource as the generic server has it.
    pub fn served(&self) -> ServedResource {
        ServedResource::custom(self.facts, self.stored, self.kind.clone(), self.strategy.clone())
    }

    /// Who answers for it.
    pub fn endpoints(
        &self,
        schema: &'static Schema,
        namespaces: ResourceId,
        admission: &Arc<dyn Admission>,
    ) -> CustomEndpoints {
        endpoints::custom(schema, self.served(), namespaces, admission)
    }
}

fn schemas(
    group: &str,
    versions: &[&Map<'_>],
    previous: Option<&CustomResource>,
) -> Result<Arc<Schemas>, CompileError> {
    let mut all = Vec::new();
    let mut storage = None;
    for version in versions {
        let name = text(version, "name");
        let schema = version.get("schema").and_then(|schema| schema.path(&["openAPIV3Schema"]));
        let schema = schema.filter(|schema| !schema.is_null());
        let mut compiled = VersionSchema::compile(format!("{group}/{name}"), schema)
            .map_err(|error| CompileError::Schema(name.to_owned(), error))?;
        let scale = version.get("subresources").and_then(|subresources| subresources.path(&["scale"]));
        compiled.replicas = scale.and_then(|scale| scale.str_at(&["specReplicasPath"])).map(Into::into);
        let compiled = Arc::new(compiled);
        if flag(version, "storage") {
            storage = Some(compiled.clone());
        }
        all.push(compiled);
    }
    let storage = storage.ok_or(CompileError::Incomplete("storage version"))?;
    Ok(Arc::new(Schemas::new(all, storage, previous.map(|previous| &*previous.schemas))))
}

/// The warning on every use of a version that is deprecated.
fn deprecation(group: &str, kind: &str, version: &Map<'_>, all: &[&Map<'_>]) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let name = text(version, "name");
    let newer = all
        .iter()
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| version_order(name) < version_order(other))
        .max_by_key(|other| version_order(other));
    let use_it = newer.map(|newer| format!("; use {group}/{newer} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{use_it}"))
}

/// The order of versions by their names: stable ones before beta and alpha, higher numbers first, all others behind, in
/// the order of the alphabet. The greatest is the best.
pub(crate) fn version_order(name: &str) -> (u8, u64, u64, std::cmp::Reverse<&str>) {
    let other = (0, 0, 0, std::cmp::Reverse(name));
    let Some(rest) = name.strip_prefix('v') else { return other };
    let number = |text: &str| {
        let fits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| fits)
    };
    for (word, rank) in [("alpha", 1), ("beta", 2)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return match (number(major), number(minor)) {
                (Some(major), Some(minor)) => (rank, major, minor, std::cmp::Reverse("")),
                _ => other,
            };
        }
    }
    match number(rest) {
        Some(major) => (3, major, 0, std::cmp::Reverse("")),
        None => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_by_their_names() {
        let mut names = ["foo10", "v1alpha1", "v3beta1", "v2", "v12alpha2", "v10", "foo1", "v11beta2", "v01"];
        names.sort_by_key(|name| std::cmp::Reverse(version_order(name)));
        assert_eq!(
            names,
            ["v10", "v2", "v01", "v11beta2", "v3beta1", "v12alpha2", "v1alpha1", "foo1", "foo10"]
        );
    }
}
