//! The Table form of what is served: rows, and what stands around them.

use std::{cmp::Reverse, sync::Arc};

use bytes::Bytes;
use ringbolt_machinery::{
    status::Status,
    table::{DEFAULT_PRINTER, ListRule, Row},
    time::Moment,
    value::Value,
};
use ringbolt_protocol::{media_type::MetaVersion, query};
use ringbolt_storage::object::Object;

use super::{
    render::{Form, Render},
    resource::ResourceStore,
};

/// What a row shows of its object besides the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// A Table as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableForm {
    pub(crate) version: MetaVersion,
    pub(crate) include: IncludeObject,
    /// Whether the columns are told: in a watch only once.
    pub(crate) headers: bool,
}

impl TableForm {
    /// The Table that a query asks for; 400 for an `includeObject` that is none.
    pub(crate) fn parse(version: MetaVersion, query: &str) -> Result<Self, Status> {
        let include = match query::get(query, "includeObject").as_deref() {
            None | Some("" | "Metadata") => IncludeObject::Metadata,
            Some("Object") => IncludeObject::Object,
            Some("None") => IncludeObject::None,
            Some(other) => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be \
                     'Metadata', 'Object', 'None', or empty",
                    ringbolt_machinery::field::quote(other)
                )));
            }
        };
        Ok(TableForm { version, include, headers: true })
    }

    /// `{"kind":"Table","apiVersion":…,"metadata":{`.
    fn open(self) -> String {
        format!("{{\"kind\":\"Table\",\"apiVersion\":\"{}\",\"metadata\":{{", self.version.api_version())
    }
}

/// Which of a list's objects come in which order, and which of them is the elected one.
pub(crate) struct Layout {
    pub(crate) items: Vec<Arc<Object>>,
    pub(crate) elected: Option<usize>,
}

impl Render<'_> {
    /// The beginning of a Table of a list, up to the version in its metadata.
    pub(crate) fn table_list_head(&self, table: TableForm) -> Bytes {
        Bytes::from(format!("{}\"resourceVersion\":\"", table.open()))
    }

    /// What stands between the metadata of a Table of a list and its first row.
    pub(crate) fn table_middle(&self, table: TableForm, rows: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"},\"columnDefinitions\":");
        match table.headers {
            true => out.extend_from_slice(self.store.column_definitions()),
            false => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(if self.has_null_rows(rows) { b",\"rows\":null" } else { b",\"rows\":[" });
    }

    /// What follows the last of its rows.
    pub(crate) fn table_end(&self, rows: usize) -> &'static [u8] {
        if self.has_null_rows(rows) { b"}\n" } else { b"]}\n" }
    }

    /// A kind without a printer of its own has no rows at all where others have an empty list of them.
    fn has_null_rows(&self, rows: usize) -> bool {
        rows == 0 && !self.store.is_custom() && std::ptr::eq(self.store.served.printer, &DEFAULT_PRINTER)
    }

    /// A Table of one object, whole.
    pub(crate) fn table(&self, table: TableForm, stored: &Bytes) -> Result<Vec<u8>, Status> {
        self.with_stored_tree(stored, |tree| self.table_of(table, stored, tree))?
    }

    pub(super) fn table_of(
        &self,
        table: TableForm,
        stored: &Bytes,
        tree: &Value<'_>,
    ) -> Result<Vec<u8>, Status> {
        let mut out = Vec::with_capacity(stored.len() + 1024);
        out.extend_from_slice(table.open().as_bytes());
        if let Some(version) = tree.str_at(&["metadata", "resourceVersion"]) {
            out.extend_from_slice(format!("\"resourceVersion\":\"{version}\"").as_bytes());
        }
        self.table_middle(table, 1, &mut out);
        self.row_of(table, stored, tree, false, &mut out)?;
        out.extend_from_slice(b"]}");
        Ok(out)
    }

    /// One row.
    pub(crate) fn row(
        &self,
        table: TableForm,
        stored: &Bytes,
        elected: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Status> {
        self.with_stored_tree(stored, |tree| self.row_of(table, stored, tree, elected, out))?
    }

    fn row_of(
        &self,
        table: TableForm,
        stored: &Bytes,
        tree: &Value<'_>,
        elected: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Status> {
        let mut row = Row::begin(out, Moment::now(), elected);
        match &self.store.served.custom {
            None => (self.store.served.printer.row)(tree, &mut row),
            Some(kind) => kind.print(tree, &mut row),
        }
        row.end();
        out.extend_from_slice(b",\"object\":");
        let form = match table.include {
            IncludeObject::None => {
                out.extend_from_slice(b"null}");
                return Ok(());
            }
            IncludeObject::Metadata => Form::Partial(table.version),
            IncludeObject::Object => Form::Object,
        };
        let object = Render { form, ..*self };
        let (text, tail) = object.json(stored, None)?;
        out.extend_from_slice(&object.head());
        out.extend_from_slice(&text);
        out.extend_from_slice(&tail);
        out.push(b'}');
        Ok(())
    }

    /// Puts a list's objects into the order its rows have.
    pub(crate) fn layout(&self, items: Vec<Arc<Object>>) -> Layout {
        let number = |object: &Arc<Object>, of: &dyn Fn(&Value<'_>) -> Option<i64>| {
            self.with_stored_tree(&object.json, |tree| of(tree)).ok().flatten()
        };
        match self.store.served.printer.list {
            ListRule::Plain => Layout { items, elected: None },
            ListRule::Sorted(of) => {
                let mut keyed: Vec<_> =
                    items.into_iter().map(|item| (number(&item, &|tree| Some(of(tree))), item)).collect();
                keyed.sort_by_key(|(key, _)| *key);
                Layout { items: keyed.into_iter().map(|(_, item)| item).collect(), elected: None }
            }
            ListRule::Elected(of) => {
                let numbers =
                    items.iter().enumerate().filter_map(|(at, item)| Some((at, number(item, &of)?)));
                let elected = numbers.max_by_key(|(at, number)| (*number, Reverse(*at))).map(|(at, _)| at);
                Layout { items, elected }
            }
        }
    }
}

/// What a Table cannot be made of, or another form: a list is no single object, and the other way round.
pub(crate) fn mismatch(store: &ResourceStore, asked: &str, is_list: bool) -> Status {
    let (not, list) = if is_list { ("a list", "List") } else { ("not a list", "") };
    // Clients see the name of the Go type.
    if store.is_custom() {
        let message = format!(
            "you requested {asked}, but the requested object is {not} (*unstructured.Unstructured{list})"
        );
        return Status::failure(406, ringbolt_machinery::status::Reason::NotAcceptable, message);
    }
    let package = match store.group() {
        _ if store.is_below_custom => store.version(),
        "" | "events.k8s.io" => "core",
        "internal.apiserver.k8s.io" => "apiserverinternal",
        group => group.split('.').next().unwrap_or(group),
    };
    let kind = store.kind();
    let message =
        format!("you requested {asked}, but the requested object is {not} (*{package}.{kind}{list})");
    Status::failure(406, ringbolt_machinery::status::Reason::NotAcceptable, message)
}
