//! What the generic server asks of a custom kind in one of its versions: what the Schema says of built-in ones.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::{
    apply::{Root, Unconverted},
    structural::{Scale, SelectableFields},
    table::Row,
    value::Value,
};

use crate::conversion::Conversions;

/// What [`ObjectConvertor::convert`] tells the outcome to: what each object became, as JSON, in their order; or why none of
/// them became anything.
pub type Converted = Box<dyn FnOnce(Result<Vec<Result<Vec<u8>, String>>, String>) + Send>;

/// How objects of a custom kind come from one of its versions into another, where that takes somebody else.
pub trait ObjectConvertor: Send + Sync {
    /// Makes objects of the version `from` such of the version `to`. Each is whole, as JSON. What comes of it is checked: it
    /// is what it should be, and of its metadata labels and annotations alone are others. Never called with a version
    /// that the kind has not. Must not block.
    fn convert(&self, objects: Vec<Vec<u8>>, from: &str, to: &str, done: Converted);
}

/// What a version of a kind is about whose versions are made of each other by a [`ObjectConvertor`]. Such a version knows only
/// itself: it is shown what is stored once that was converted, and what it would store is converted first.
#[derive(Clone, Copy)]
pub struct Conversion<'k> {
    /// Who converts.
    pub converter: &'k Arc<dyn ObjectConvertor>,
    /// Where that happens.
    pub conversions: &'k Conversions,
    /// The version that objects are stored in: `GROUP/VERSION`.
    pub stored_version: &'k str,
}

/// One version of a custom kind. Objects are trees without a schema, `kind` and `apiVersion` included; their metadata
/// is as decoding by the Schema's `ObjectMeta` gives it. What a version is never changes: a definition that changes
/// makes new ones.
pub trait CustomKind: Send + Sync {
    /// Kind of its lists.
    fn list_kind(&self) -> &str;

    /// Takes in an object of this version as a client sent it: types the metadata, takes out what the schema does not
    /// have, fills in defaults. Paths of what was taken out go to `unknown`, in the order that they are told.
    ///
    /// # Errors
    /// Metadata that is none, in the words of Kubernetes.
    fn take_in<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        unknown: Option<&mut Vec<String>>,
    ) -> Result<(), String>;

    /// Fills in defaults.
    fn fill_in<'a>(&self, arena: &'a Bump, object: &mut Value<'a>);

    /// Takes out nulls where there may be none.
    fn take_nulls(&self, object: &mut Value<'_>);

    /// Makes of an object as it is stored, in the version that it says if it says one, one of this version: what became
    /// of the schemas since it was written counts.
    fn read_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>);

    /// The version that objects are stored in: `GROUP/VERSION`.
    fn stored_version(&self) -> &str;

    /// Whether what is stored of an object of this version is not all of the object as it is: the version in which it is
    /// stored may have another schema.
    fn changes_to_store(&self) -> bool;

    /// Makes of an object of this version what is stored of it.
    fn to_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>);

    /// The number of the form in which this version shows objects as they are stored, and stores what it is given; 0 for
    /// a version that shows them otherwise. Objects that were written in another form are read with
    /// [`CustomKind::read_stored`].
    fn form(&self) -> u32;

    /// How its objects come into other versions and back; `None` where all versions are made of what is stored at once.
    fn conversion(&self) -> Option<Conversion<'_>>;

    /// Gives an object as it was stored the form that the version has now which it says, and its defaults. `false` where
    /// there is no such version any more.
    fn read_as_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) -> bool;

    /// Takes in an object that was converted to the version which it says: types the metadata, takes out what the schema
    /// does not have.
    ///
    /// # Errors
    /// Metadata that is none, in the words of Kubernetes.
    fn take_converted<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) -> Result<(), String>;

    /// Whether the status is a subresource.
    fn has_status(&self) -> bool;

    /// Where the subresource `scale` finds what it is about; `None` where there is no such subresource.
    fn scale(&self) -> Option<&Scale>;

    /// `columnDefinitions` of Tables, as JSON.
    fn column_definitions(&self) -> &[u8];

    /// Writes the cells of an object's row.
    fn print(&self, object: &Value<'_>, row: &mut Row<'_>);

    /// The fields that can be selected on besides `metadata.name` and `metadata.namespace`.
    fn selectable(&self) -> &SelectableFields;

    /// All versions of the kind, and the `specReplicasPath` of each that has the subresource `scale`.
    fn replicas_paths(&self) -> Vec<(&str, Option<&str>)>;

    /// What fields are told by in a version of the kind; `None` where there is no such version.
    fn root(&self, api_version: &str) -> Option<Root<'_>>;

    /// An object of a version of the kind in another one.
    ///
    /// # Errors
    /// There is no such version, or it cannot be made.
    fn convert<'a>(&self, arena: &'a Bump, object: &Value<'a>, to: &str) -> Result<Value<'a>, Unconverted>;
}
