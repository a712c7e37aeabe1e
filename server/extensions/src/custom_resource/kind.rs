//! A custom kind in one version, as the generic server asks for it.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_apiserver::{
    conversion::Conversions,
    registry::{Conversion, CustomKind, ObjectConvertor},
};
use ringbolt_machinery::{
    apply::{Root, Unconverted},
    structural::{Columns, Metadata, Scale, SelectableFields},
    table::Row,
    value::Value,
};

use super::schemas::{self, Schemas, VersionSchema};

/// One version of a custom kind.
pub struct Kind {
    pub(super) name: String,
    pub(super) list_kind: String,
    pub(super) schemas: Arc<Schemas>,
    pub(super) schema: Arc<VersionSchema>,
    pub(super) has_status: bool,
    pub(super) scale: Option<Scale>,
    pub(super) columns: Columns,
    /// `columnDefinitions` of its Tables.
    pub(super) column_definitions: Vec<u8>,
    pub(super) selectable: SelectableFields,
    pub(super) converting: Option<Converting>,
}

/// What a version is about whose objects a webhook makes of others.
pub(super) struct Converting {
    pub(super) converter: Arc<dyn ObjectConvertor>,
    pub(super) conversions: Conversions,
    /// The number of the form in which this version has objects.
    pub(super) form: u32,
}

impl Kind {
    /// Whether what is stored is what this version shows. A version that a webhook converts for is shown nothing else than
    /// its own.
    fn is_stored_as_shown(&self) -> bool {
        self.converting.is_some() || self.schema.is_same(&self.schemas.storage)
    }

    fn is_storage_version(&self) -> bool {
        self.schema.api_version == self.schemas.storage.api_version
    }
}

impl CustomKind for Kind {
    fn list_kind(&self) -> &str {
        &self.list_kind
    }

    fn take_in<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        unknown: Option<&mut Vec<String>>,
    ) -> Result<(), String> {
        let version = object.str_at(&["apiVersion"]).unwrap_or("");
        if version.matches('/').count() > 1 {
            return Err(format!("unexpected GroupVersion string: {version}"));
        }
        // A body that is of another version, or of another kind, is refused when it is validated. What it has that is
        // unknown is told before.
        let said =
            if object.str_at(&["kind"]) == Some(&*self.name) { self.schemas.find(version) } else { None };
        let Some(schema) = said else {
            let open = schemas::open().ok_or("the schema of anything does not compile")?;
            return open.coerce(arena, object, Metadata::Refuse, unknown).map_err(|e| e.to_string());
        };
        schema.structural.coerce(arena, object, Metadata::Refuse, unknown).map_err(|e| e.to_string())?;
        schema.structural.apply_defaults(arena, object);
        Ok(())
    }

    fn fill_in<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        self.schema.structural.apply_defaults(arena, object);
    }

    fn take_nulls(&self, object: &mut Value<'_>) {
        self.schema.structural.prune_nulls(object);
    }

    fn read_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        if self.converting.is_some() && !self.is_storage_version() {
            // It was converted, which leaves nothing to be done.
            if let Some(map) = object.as_map_mut() {
                map.insert("apiVersion", Value::String(arena.alloc_str(&self.schema.api_version)));
            }
            return;
        }
        // Defaults are those of the version that it was stored in, and what another one has no place for goes then.
        let said = object.str_at(&["apiVersion"]).and_then(|version| self.schemas.find(version));
        let stored = said.unwrap_or(&self.schemas.storage);
        stored.trim(arena, object);
        stored.structural.apply_defaults(arena, object);
        if let Some(map) = object.as_map_mut() {
            map.insert("apiVersion", Value::String(arena.alloc_str(&self.schema.api_version)));
        }
        if !self.schema.is_same(stored) {
            self.schema.trim(arena, object);
        }
    }

    fn stored_version(&self) -> &str {
        match self.converting {
            Some(_) => &self.schema.api_version,
            None => &self.schemas.storage.api_version,
        }
    }

    fn changes_to_store(&self) -> bool {
        !self.is_stored_as_shown()
    }

    fn to_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        self.schemas.storage.trim(arena, object);
    }

    fn form(&self) -> u32 {
        match &self.converting {
            Some(converting) => converting.form,
            None if self.is_stored_as_shown() => self.schemas.form,
            None => 0,
        }
    }

    fn conversion(&self) -> Option<Conversion<'_>> {
        let Converting { converter, conversions, .. } = self.converting.as_ref()?;
        Some(Conversion { converter, conversions, stored_version: &self.schemas.storage.api_version })
    }

    fn read_as_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) -> bool {
        let said = object.str_at(&["apiVersion"]).and_then(|version| self.schemas.find(version));
        let Some(said) = said else { return false };
        said.trim(arena, object);
        said.structural.apply_defaults(arena, object);
        true
    }

    fn take_converted<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) -> Result<(), String> {
        let said = object.str_at(&["apiVersion"]).and_then(|version| self.schemas.find(version));
        let said = said.ok_or("the kind has no such version")?;
        said.structural.coerce(arena, object, Metadata::Refuse, None).map_err(|e| e.to_string())?;
        said.structural.prune_nulls(object);
        Ok(())
    }

    fn has_status(&self) -> bool {
        self.has_status
    }

    fn scale(&self) -> Option<&Scale> {
        self.scale.as_ref()
    }

    fn column_definitions(&self) -> &[u8] {
        &self.column_definitions
    }

    fn print(&self, object: &Value<'_>, row: &mut Row<'_>) {
        self.columns.row(object, row);
    }

    fn selectable(&self) -> &SelectableFields {
        &self.selectable
    }

    fn replicas_paths(&self) -> Vec<(&str, Option<&str>)> {
        let versions = self.schemas.versions.iter();
        versions.map(|version| (&*version.api_version, version.replicas.as_deref())).collect()
    }

    fn root(&self, api_version: &str) -> Option<Root<'_>> {
        Some(Root::Structural(&self.schemas.find(api_version)?.structural))
    }

    fn convert<'a>(&self, arena: &'a Bump, object: &Value<'a>, to: &str) -> Result<Value<'a>, Unconverted> {
        if self.schemas.find(to).is_none() {
            // Not the same as a kind that is gone: who owned fields in that version stays their owner.
            let why = format!("request to convert CR to an invalid group/version: {to}");
            return Err(Unconverted::Failed(why));
        }
        let mut object = object.clone();
        if let Some(map) = object.as_map_mut() {
            map.insert("apiVersion", Value::String(arena.alloc_str(to)));
        }
        Ok(object)
    }
}
