//! The schemas of all versions of a definition, and the numbers of the forms that they give what is stored.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicU32, Ordering},
};

use bumpalo::Bump;
use ringbolt_cel::RuleSet;
use ringbolt_machinery::{
    json,
    structural::{CompileError, Metadata, Structural},
    value::Value,
};

/// A schema that everything fits.
const OPEN: &[u8] = br#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#;

/// The schema of objects that are of no kind here: only metadata has a form.
pub(super) fn open() -> Option<&'static Structural> {
    static COMPILED: LazyLock<Option<Structural>> = LazyLock::new(|| {
        let arena = Bump::new();
        Structural::compile(&json::decode_untyped(&arena, OPEN).ok()?).ok()
    });
    COMPILED.as_ref()
}

/// The schema of one version.
#[derive(Debug)]
pub(super) struct VersionSchema {
    /// `GROUP/VERSION`.
    pub(super) api_version: String,
    pub(super) structural: Structural,
    /// The rules in it.
    pub(super) rules: Option<RuleSet>,
    /// `specReplicasPath` of its subresource `scale`, where it has one.
    pub(super) replicas: Option<Box<str>>,
    /// The schema as it was written, in one order: versions with the same text show the same.
    text: Vec<u8>,
}

impl VersionSchema {
    /// Compiles the schema that a version names. A version without one takes everything.
    pub(super) fn compile(api_version: String, schema: Option<&Value<'_>>) -> Result<Self, CompileError> {
        let arena = Bump::new();
        let open = json::decode_untyped(&arena, OPEN).unwrap_or(Value::Null);
        let schema = schema.unwrap_or(&open);
        let mut text = Vec::new();
        json::encode_untyped(schema, &mut text);
        let structural = Structural::compile(schema)?;
        let rules = RuleSet::compile(&structural);
        Ok(VersionSchema { api_version, structural, rules, replicas: None, text })
    }

    /// The schema as it was written.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether two versions show objects alike.
    pub(super) fn is_same(&self, other: &VersionSchema) -> bool {
        self.text == other.text
    }

    /// Takes out of an object that was stored what the schema has no place for. Metadata that is malformed is dropped:
    /// it was stored.
    pub(super) fn trim<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        if let Err(error) = self.structural.coerce(arena, object, Metadata::Drop, None) {
            // An embedded object that is none any more, since the schema changed: shown as it is stored.
            tracing::debug!("a stored object does not fit {}: {error}", self.api_version);
        }
    }
}

/// All versions of a definition, and which of them is stored.
#[derive(Debug)]
pub(super) struct Schemas {
    pub(super) versions: Vec<Arc<VersionSchema>>,
    pub(super) storage: Arc<VersionSchema>,
    /// The number of the form in which objects are stored by versions with the storage version's schema.
    pub(super) form: u32,
}

/// Forms have numbers from 1 on, each given once: 0 is none.
static NEXT_FORM: AtomicU32 = AtomicU32::new(1);

/// A number that no form had before.
pub(super) fn next_form() -> u32 {
    NEXT_FORM.fetch_add(1, Ordering::Relaxed)
}

impl Schemas {
    /// `previous` is what the definition was before: where it stores alike, what it stored needs no look.
    pub(super) fn new(
        versions: Vec<Arc<VersionSchema>>,
        storage: Arc<VersionSchema>,
        previous: Option<&Schemas>,
    ) -> Schemas {
        let known = previous.filter(|previous| previous.storage.is_same(&storage)).map(|known| known.form);
        let form = known.unwrap_or_else(next_form);
        Schemas { versions, storage, form }
    }

    /// The schema of a version.
    pub(super) fn find(&self, api_version: &str) -> Option<&Arc<VersionSchema>> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }
}
