//! The Table form of objects: columns, rows and cells as `meta.k8s.io` encodes them.

mod human_duration;
mod row;
#[cfg(test)]
mod tests;

pub use human_duration::{human_duration, until};
pub use row::Row;

use crate::{json::quote, schema::Column, time, value::Value};

/// How the objects of a resource are shown as rows.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// Writes the cells of one object, which is in its storage version.
    pub row: fn(&Value<'_>, &mut Row<'_>),
    /// What a list shows beyond its objects one by one.
    pub list: ListRule,
}

/// What a list of a resource shows beyond its objects one by one.
#[derive(Clone, Copy, Debug)]
pub enum ListRule {
    /// Nothing.
    Plain,
    /// Rows come in the order of this number; equal ones stay in theirs.
    Sorted(fn(&Value<'_>) -> i64),
    /// One object, the first of those with the greatest number, is printed as the elected one ([`Row::elected`]).
    Elected(fn(&Value<'_>) -> Option<i64>),
}

/// Of a resource without a printer of its own: name and time of creation.
pub static DEFAULT_PRINTER: Printer = Printer { row: default_row, list: ListRule::Plain };

fn default_row(object: &Value<'_>, row: &mut Row<'_>) {
    row.text(object.str_at(&["metadata", "name"]).unwrap_or_default());
    // The zero time has a text here, where an age has not.
    row.text(match object.str_at(&["metadata", "creationTimestamp"]) {
        None | Some("") => "0001-01-01T00:00:00Z",
        Some(time) => time,
    });
}

/// `columnDefinitions` of a Table.
pub fn column_definitions(columns: &[Column]) -> Vec<u8> {
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
            quote::write_string(&mut out, text);
        }
        out.extend_from_slice(format!(",\"priority\":{}}}", column.priority).as_bytes());
    }
    out.push(b']');
    out
}

/// The moment a time of an object stands for; `None` where it is not set.
pub fn moment(text: &str) -> Option<time::Moment> {
    time::parse_time(text).ok().filter(|m| !m.is_zero())
}
