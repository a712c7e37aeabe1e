//! What the garbage collector reads of an object: who it is, who owns it, and how it is being deleted.

use bumpalo::Bump;
use memchr::memmem;
use ringbolt_machinery::{scan, value::Value};
use ringbolt_storage::object::Object;

use crate::object::{self, strings};

/// An owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnerReference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// `blockOwnerDeletion`
    pub(super) blocks: bool,
}

/// What counts of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ownership {
    pub(super) uid: String,
    pub(super) owners: Vec<OwnerReference>,
    pub(super) finalizers: Vec<String>,
    /// `deletionTimestamp` is set.
    pub(super) is_being_deleted: bool,
}

/// The finalizer of a deletion that waits for the dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a deletion that sets the dependents free.
pub(super) const ORPHAN: &str = "orphan";

impl Ownership {
    /// Reads an object.
    pub(super) fn of(object: &Object) -> Self {
        let arena = Bump::new();
        let Some(metadata) = object::metadata(&arena, object) else { return Ownership::default() };
        let owners = metadata.path(&["ownerReferences"]).and_then(Value::as_list);
        let owner = |reference: &Value<'_>| {
            let text = |name: &str| reference.str_at(&[name]).unwrap_or("").to_owned();
            OwnerReference {
                api_version: text("apiVersion"),
                kind: text("kind"),
                name: text("name"),
                uid: text("uid"),
                blocks: reference.path(&["blockOwnerDeletion"]).and_then(Value::as_bool) == Some(true),
            }
        };
        Ownership {
            uid: metadata.str_at(&["uid"]).unwrap_or("").to_owned(),
            owners: owners.map(|list| list.iter().map(owner).collect()).unwrap_or_default(),
            finalizers: strings(&metadata, &["finalizers"]).into_iter().map(str::to_owned).collect(),
            is_being_deleted: object.attributes.terminating,
        }
    }

    /// Whether there may be something to read at all: told without reading it.
    pub(super) fn is_any(object: &Object) -> bool {
        // In the text of a string the quotes are escaped, so this is the member.
        object.attributes.terminating
            || scan::metadata(&object.json)
                .is_some_and(|metadata| memmem::find(metadata, b"\"ownerReferences\":[").is_some())
    }

    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|f| f == finalizer)
    }

    /// Whether it goes when its dependents are gone.
    pub(super) fn waits_for_dependents(&self) -> bool {
        self.is_being_deleted && self.has(FOREGROUND)
    }

    /// Whether it goes when its dependents are free.
    pub(super) fn waits_for_orphans(&self) -> bool {
        self.is_being_deleted && self.has(ORPHAN)
    }

    /// The propagation policy that its finalizers ask for.
    pub(super) fn policy(&self) -> &'static str {
        if self.has(ORPHAN) {
            "Orphan"
        } else if self.has(FOREGROUND) {
            "Foreground"
        } else {
            "Background"
        }
    }
}
