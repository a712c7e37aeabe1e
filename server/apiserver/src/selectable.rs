//! The fields that field selectors can name besides `metadata.name` and `metadata.namespace`, and how their values are
//! taken out of an object once, when it is written or read back, to be kept with it.

use std::borrow::Cow;

use ringbolt_machinery::{scan, value::Value};
use ringbolt_storage::fields::{Fields, FieldsWriter};

/// Member names down to a value; a number is an index of a list.
pub type Path = &'static [&'static str];

/// One column of the values kept with an object.
#[derive(Clone, Debug)]
struct Column {
    /// Numbers of its paths; the first that leads to something that is not empty counts.
    paths: std::ops::Range<usize>,
    /// Its value where none does.
    absent: &'static str,
}

/// How a field that cannot be selected on is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// With the field alone.
    #[default]
    Plain,
    /// The kind is named.
    OfKind,
    /// Version and kind are named.
    OfVersion,
}

/// The columns of a stored resource, and the names that one served version has for them.
#[derive(Debug, Default)]
pub struct Selectable {
    paths: Vec<Path>,
    columns: Vec<Column>,
    names: Vec<(&'static str, usize)>,
    /// Whether the store has an index of the first column.
    indexed: bool,
    /// `metadata.namespace` is none of the fields.
    no_namespace: bool,
    /// What is said of a field that is none of them.
    refusal: Refusal,
}

/// A resource without such fields.
pub static NO_FIELDS: Selectable = Selectable {
    paths: Vec::new(),
    columns: Vec::new(),
    names: Vec::new(),
    indexed: false,
    no_namespace: false,
    refusal: Refusal::Plain,
};

impl Selectable {
    /// With an index of the column that is added first.
    pub fn indexed(mut self) -> Selectable {
        self.indexed = true;
        self
    }

    /// Without `metadata.namespace`.
    pub fn without_namespace(mut self) -> Selectable {
        self.no_namespace = true;
        self
    }

    /// With other words for fields that are none of them.
    pub fn refusing(mut self, refusal: Refusal) -> Selectable {
        self.refusal = refusal;
        self
    }

    /// Adds what the store keeps, once for each value: fields that are read alike share a column. Every version of a
    /// stored resource adds the same ones in the same order.
    pub fn keep(&mut self, paths: &[Path], absent: &'static str) {
        if self.column_of(paths, absent).is_none() {
            let start = self.paths.len();
            self.paths.extend_from_slice(paths);
            self.columns.push(Column { paths: start..self.paths.len(), absent });
        }
    }

    /// Gives a name to a value that is kept. False where it is not.
    #[must_use]
    pub fn name(&mut self, field: &'static str, paths: &[Path], absent: &'static str) -> bool {
        let column = self.column_of(paths, absent);
        self.names.extend(column.map(|column| (field, column)));
        column.is_some()
    }

    fn column_of(&self, paths: &[Path], absent: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.absent == absent && self.paths[c.paths.clone()] == *paths)
    }

    /// Whether a selector can name no field.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().map(|(name, _)| *name)
    }
    /// The column of a field.
    pub fn column(&self, field: &str) -> Option<usize> {
        self.names.iter().find(|(name, _)| *name == field).map(|(_, column)| *column)
    }
    /// Whether a selector can name `metadata.namespace`.
    pub fn has_namespace(&self) -> bool {
        !self.no_namespace
    }
    /// How a field is refused that is none of them.
    pub fn refusal(&self) -> Refusal {
        self.refusal
    }
    /// Whether the store has an index of the first column.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }
    /// Where the values stand, to be found in one walk.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The values, with `value` to read the scalar at a path by its number.
    pub fn read<'v>(&self, mut value: impl FnMut(usize) -> Option<Cow<'v, str>>) -> Fields {
        if self.columns.is_empty() {
            return Fields::default();
        }
        let mut writer = FieldsWriter::default();
        for column in &self.columns {
            let found = column.paths.clone().filter_map(&mut value).find(|text| !text.is_empty());
            writer.push(found.as_deref().unwrap_or(column.absent));
        }
        writer.finish()
    }

    /// The values of a tree in the storage version.
    pub fn of_tree(&self, object: &Value<'_>) -> Fields {
        self.read(|path| scalar(object, self.paths[path]))
    }

    /// The values of the stored form.
    pub fn of_stored(&self, stored: &[u8]) -> Fields {
        let mut found = vec![None; self.paths.len()];
        scan::positions(stored, &self.paths, &mut found);
        self.read(|path| scan::scalar_at(stored, found[path]?))
    }
}

/// The scalar at a path of a tree, as the stored form would show it.
fn scalar<'v>(object: &'v Value<'_>, path: Path) -> Option<Cow<'v, str>> {
    let step = |value: &'v Value<'_>, step: &&str| match value {
        Value::Map(map) => map.get(step),
        Value::List(list) => list.get(step.parse::<usize>().ok()?),
        _ => None,
    };
    match path.iter().try_fold(object, step)? {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Int(n) => Some(Cow::Owned(itoa::Buffer::new().format(*n).to_owned())),
        Value::Null | Value::Float(_) | Value::List(_) | Value::Map(_) | Value::Raw(_) => None,
    }
}
