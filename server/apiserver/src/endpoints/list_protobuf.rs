//! A list in protobuf. Its envelope tells its length, so all items are measured before the first byte goes out;
//! measured once, an object's length is known for as long as the object lives.

use std::{mem, sync::Arc};

use bytes::Bytes;
use ringbolt_machinery::{protobuf, status::Status};
use ringbolt_storage::object::Object;

use super::{
    answer::Answer,
    list::Page,
    list_parts::{ListParts, Step},
    render::{ENVELOPE_TAIL, Render},
    resource::ResourceStore,
};
use crate::limits::LIST_HELD_BYTES;

/// A protobuf list in parts.
pub(super) struct ProtobufList {
    answer: Answer,
    store: Arc<ResourceStore>,
    revision: String,
    continue_token: String,
    remaining: Option<i64>,
    items: Vec<Item>,
    /// Of `items`, those measured; all of them once the head went out.
    measured: usize,
    /// Of `items`, those that went out.
    sent: usize,
    /// Bytes of the items that were measured.
    bytes: usize,
    /// Bytes of [`Item::Encoded`].
    held: usize,
    stage: Stage,
}

enum Item {
    Object(Arc<Object>),
    /// Encoded to be measured, where no object keeps it.
    Encoded(Bytes),
    Sent,
}

#[derive(PartialEq)]
enum Stage {
    Measuring,
    Items,
    Ended,
}

impl ProtobufList {
    pub(super) fn new(answer: &Answer, store: &Arc<ResourceStore>, page: Page) -> Self {
        ProtobufList {
            answer: answer.clone(),
            store: store.clone(),
            revision: page.revision.to_string(),
            continue_token: page.continue_token,
            remaining: page.remaining.map(|n| n as i64),
            items: page.items.into_iter().map(Item::Object).collect(),
            measured: 0,
            sent: 0,
            bytes: 0,
            held: 0,
            stage: Stage::Measuring,
        }
    }

    fn render(&self) -> Render<'_> {
        Render { core: &self.answer.core, store: &self.store, form: self.answer.form }
    }

    /// Measures the next item; tells how many stored bytes were encoded for it, or nothing when all are measured.
    fn measure(&mut self) -> Result<Option<usize>, Status> {
        let render = self.render();
        let Some(Item::Object(object)) = self.items.get(self.measured) else { return Ok(None) };
        let keeps = render.keeps_protobuf();
        let (len, encoded) = match object.protobuf.known_len().filter(|_| keeps) {
            Some(len) => (len, 0),
            None => {
                let item = render.protobuf_item(&object.json, Some(object))?;
                let (len, encoded) = (item.len(), object.json.len());
                if !keeps && self.held + len <= LIST_HELD_BYTES {
                    self.held += len;
                    self.items[self.measured] = Item::Encoded(item);
                }
                (len, encoded)
            }
        };
        self.measured += 1;
        self.bytes += len;
        Ok(Some(encoded))
    }

    fn head(&self) -> Bytes {
        let meta = protobuf::ListMeta {
            resource_version: &self.revision,
            continue_token: &self.continue_token,
            remaining_item_count: self.remaining,
        };
        let mut head = Vec::with_capacity(256);
        let render = self.render();
        let (api_version, kind) = render.list_kind();
        protobuf::list_head(api_version, &kind, meta, self.bytes, &mut head);
        Bytes::from(head)
    }
}

impl ListParts for ProtobufList {
    fn step(&mut self, part: &mut dyn FnMut(Bytes)) -> Result<Step, Status> {
        let mut encoded = 0;
        match self.stage {
            Stage::Measuring => match self.measure()? {
                Some(bytes) => encoded = bytes,
                None => {
                    part(self.head());
                    self.stage = Stage::Items;
                }
            },
            Stage::Items => {
                let item = self.items.get_mut(self.sent).map(|item| mem::replace(item, Item::Sent));
                self.sent += 1;
                part(match item {
                    Some(Item::Object(object)) => {
                        match object.protobuf.get().filter(|_| self.render().keeps_protobuf()) {
                            Some(item) => item,
                            None => {
                                encoded = object.json.len();
                                self.render().protobuf_item(&object.json, Some(&object))?
                            }
                        }
                    }
                    Some(Item::Encoded(item)) => item,
                    Some(Item::Sent) => {
                        return Err(Status::internal_error("an item of a list was sent twice"));
                    }
                    None => {
                        self.stage = Stage::Ended;
                        Bytes::from_static(ENVELOPE_TAIL)
                    }
                });
            }
            Stage::Ended => return Ok(Step::End),
        }
        Ok(Step::On { encoded })
    }

    fn exceeds(&mut self, bytes: usize, begun: &mut Vec<Bytes>) -> Result<bool, Status> {
        // Nothing has to go out to know that: the items are measured anyway.
        while self.bytes <= bytes && self.measure()?.is_some() {}
        if self.bytes > bytes {
            return Ok(true);
        }
        let mut made = 0;
        while self.step(&mut |part| {
            made += part.len();
            begun.push(part);
        })? != Step::End
        {}
        // The head may be what makes it longer: then all of it is begun, and it is long all the same.
        Ok(made > bytes)
    }
}
