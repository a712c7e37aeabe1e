//! A list in JSON: the frame is made here, the items are the stored bytes.

use std::sync::Arc;

use bytes::Bytes;
use ringbolt_machinery::status::Status;
use ringbolt_storage::object::Object;

use super::{
    answer::Answer,
    list::Page,
    list_parts::{ListParts, Step},
    render::{Form, Render},
    resource::ResourceStore,
    table::Layout,
};

/// A JSON list in parts.
pub(super) struct JsonList {
    answer: Answer,
    store: Arc<ResourceStore>,
    /// What stands before the first item; empty once it went out.
    head: Bytes,
    items: std::vec::IntoIter<Arc<Object>>,
    /// What stands before an item, with the comma that parts it from the one before, or without.
    between: Bytes,
    first: Bytes,
    /// Items that went out.
    sent: usize,
    /// The item that a Table marks.
    elected: Option<usize>,
    ended: bool,
}

impl JsonList {
    pub(super) fn new(answer: &Answer, store: &Arc<ResourceStore>, page: Page) -> Self {
        let render = Render { core: &answer.core, store, form: answer.form };
        let mut head = Vec::from(render.list_head());
        head.extend_from_slice(format!("{}\"", page.revision).as_bytes());
        // Lists of objects without a schema have an empty token as well.
        if !page.continue_token.is_empty() || store.is_custom() && answer.form == Form::Object {
            head.extend_from_slice(format!(",\"continue\":\"{}\"", page.continue_token).as_bytes());
        }
        if let Some(remaining) = page.remaining {
            head.extend_from_slice(format!(",\"remainingItemCount\":{remaining}").as_bytes());
        }
        let mut items = page.items;
        let mut elected = None;
        match answer.form {
            Form::Table(table) => {
                render.table_middle(table, items.len(), &mut head);
                Layout { items, elected } = render.layout(items);
            }
            // A list of metadata has no items at all where others have none.
            Form::Partial(_) if items.is_empty() => head.extend_from_slice(b"},\"items\":null"),
            _ => head.extend_from_slice(b"},\"items\":["),
        }
        let between = Bytes::from([b",", render.item_head().as_ref()].concat());
        JsonList {
            head: Bytes::from(head),
            items: items.into_iter(),
            first: between.slice(1..),
            between,
            sent: 0,
            elected,
            ended: false,
            answer: answer.clone(),
            store: store.clone(),
        }
    }
}

impl ListParts for JsonList {
    fn step(&mut self, part: &mut dyn FnMut(Bytes)) -> Result<Step, Status> {
        if !self.head.is_empty() {
            part(std::mem::take(&mut self.head));
            return Ok(Step::On { encoded: 0 });
        }
        let form = self.answer.form;
        let render = Render { core: &self.answer.core, store: &self.store, form };
        let Some(object) = self.items.next() else {
            if std::mem::replace(&mut self.ended, true) {
                return Ok(Step::End);
            }
            part(match form {
                Form::Table(_) => Bytes::from_static(render.table_end(self.sent)),
                Form::Partial(_) if self.sent == 0 => Bytes::from_static(b"}\n"),
                _ => Bytes::from_static(b"]}\n"),
            });
            return Ok(Step::On { encoded: 0 });
        };
        let mut encoded = 0;
        let (text, tail) = match form {
            Form::Table(table) => {
                let mut row = Vec::new();
                render.row(table, &object.json, self.elected == Some(self.sent), &mut row)?;
                encoded = object.json.len();
                (Bytes::from(row), Bytes::new())
            }
            _ => {
                if !render.is_cut_from_stored(&object) {
                    encoded = object.json.len();
                }
                render.json(&object.json, Some(&object))?
            }
        };
        part(if self.sent > 0 { self.between.clone() } else { self.first.clone() });
        self.sent += 1;
        part(text);
        if !tail.is_empty() {
            part(tail);
        }
        Ok(Step::On { encoded })
    }
}
