//! Tables of custom resources: their columns and rows.

use ringbolt_machinery::{
    json::quote::write_string,
    schema::{Column, Schema},
    table::Row,
    value::Value,
};

/// The columns of one version.
#[derive(Debug)]
pub(super) struct Columns {
    definitions: Vec<u8>,
}

/// A column as definitions show it.
struct Shown<'c> {
    name: &'c str,
    ty: &'c str,
    format: &'c str,
    description: &'c str,
    priority: i64,
}

impl Columns {
    /// The columns that a version of a definition names; by age where it names none.
    pub(super) fn new(schema: &Schema, _columns: &[Value<'_>]) -> Columns {
        let described = |name: &str| described(schema, name).map_or("", |column| column.description);
        let name =
            Shown { name: "Name", ty: "string", format: "name", description: described("Name"), priority: 0 };
        let age = Shown { name: "Age", ty: "date", format: "", description: described("Age"), priority: 0 };
        Columns { definitions: definitions(&[name, age]) }
    }

    /// `columnDefinitions`.
    pub(super) fn definitions(&self) -> &[u8] {
        &self.definitions
    }

    /// Writes the cells of a row.
    pub(super) fn print(&self, object: &Value<'_>, row: &mut Row<'_>) {
        row.name(object);
        row.age(object);
    }
}

/// A column of built-in resources, which is described as that of all others is.
fn described<'s>(schema: &'s Schema, name: &str) -> Option<&'s Column> {
    schema.resources.iter().flat_map(|resource| &resource.columns).find(|column| column.name == name)
}

fn definitions(columns: &[Shown<'_>]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        for (key, text) in [
            ("{\"name\":", column.name),
            (",\"type\":", column.ty),
            (",\"format\":", column.format),
            (",\"description\":", column.description),
        ] {
            out.extend_from_slice(key.as_bytes());
            write_string(&mut out, text);
        }
        out.extend_from_slice(format!(",\"priority\":{}}}", column.priority).as_bytes());
    }
    out.push(b']');
    out
}
