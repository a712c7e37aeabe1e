//! From the stored form of an object to the text or message of the version and form a client asked for.

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    json,
    protobuf::{self, KnownField},
    scan,
    status::Status,
    value::Value,
};
use ringbolt_protocol::media_type::{Format, MetaVersion};
use ringbolt_storage::object::{EventKind, Object};

use super::{
    resource::ResourceStore,
    table::{IncludeObject, TableForm},
    types::shown_end,
};
use crate::{core::CoreState, templates::Written};

/// What of an object is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// All of it.
    Object,
    /// Its metadata.
    Partial(MetaVersion),
    /// A row of a Table.
    Table(TableForm),
}

/// `contentEncoding` and `contentType` of a `runtime.Unknown`, both empty: they follow `raw`.
pub(crate) static ENVELOPE_TAIL: &[u8] = b"\x1a\x00\x22\x00";

/// Renders objects of one resource in one form.
#[derive(Clone, Copy)]
pub(crate) struct Render<'s> {
    pub(crate) core: &'s CoreState,
    pub(crate) store: &'s ResourceStore,
    pub(crate) form: Form,
}

impl Render<'_> {
    /// `{"kind":…,"apiVersion":…,`.
    pub(crate) fn head(&self) -> Bytes {
        match self.form {
            Form::Object => self.store.object_head.clone(),
            Form::Partial(MetaVersion::V1) => Bytes::from_static(PARTIAL_V1),
            Form::Partial(MetaVersion::V1Beta1) => Bytes::from_static(PARTIAL_V1BETA1),
            // A Table is rendered whole.
            Form::Table(_) => Bytes::new(),
        }
    }

    /// What stands in front of an item of a list: items of built-in kinds carry no TypeMeta, custom ones do.
    pub(crate) fn item_head(&self) -> Bytes {
        match self.form {
            Form::Object if !self.store.is_custom() => Bytes::from_static(b"{"),
            Form::Object | Form::Partial(_) | Form::Table(_) => self.head(),
        }
    }

    /// `{"kind":…List,"apiVersion":…,"metadata":{"resourceVersion":"`.
    pub(crate) fn list_head(&self) -> Bytes {
        match self.form {
            Form::Object => self.store.list_head.clone(),
            Form::Partial(version) => Bytes::from(format!(
                "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"{}\",\"metadata\":{{\"resourceVersion\":\"",
                version.api_version()
            )),
            Form::Table(table) => self.table_list_head(table),
        }
    }

    /// `{"type":…,"object":` and [`Render::head`].
    pub(crate) fn event_head(&self, kind: EventKind) -> Bytes {
        match self.form {
            Form::Object => self.store.event_head(kind).clone(),
            Form::Partial(_) | Form::Table(_) => Bytes::from(
                [format!("{{\"type\":\"{}\",\"object\":", event_type(kind)).as_bytes(), &self.head()]
                    .concat(),
            ),
        }
    }

    /// Whether [`Render::json`] of an object is a cut from what is stored, and not encoded anew.
    pub(crate) fn is_cut_from_stored(&self, object: &Object) -> bool {
        match self.form {
            Form::Object => self.store.shows_as_stored(object.attributes.stamp.get()),
            Form::Partial(_) => self.store.served.strategy.annotation_of_field().is_none(),
            Form::Table(_) => false,
        }
    }

    /// The text behind [`Render::head`], in two parts of which the second may be empty. `object` is the one that is stored
    /// so, where it is at hand.
    pub(crate) fn json(&self, stored: &Bytes, object: Option<&Object>) -> Result<(Bytes, Bytes), Status> {
        match self.form {
            Form::Object if self.store.serves_stored_bytes() => Ok((stored.clone(), Bytes::new())),
            Form::Object if self.store.is_custom() => self.custom(stored, object),
            Form::Object if self.store.is_storage_version() => Ok((compacted(stored), Bytes::new())),
            Form::Object => Ok((self.converted(stored)?, Bytes::new())),
            Form::Partial(_) if self.store.served.strategy.annotation_of_field().is_some() => {
                Ok((self.metadata_alone(stored)?, Bytes::new()))
            }
            Form::Partial(_) => {
                let end = scan::metadata_end(stored)
                    .ok_or_else(|| Status::internal_error("stored object without metadata"))?;
                Ok((stored.slice(..end), Bytes::from_static(b"}")))
            }
            Form::Table(table) => Ok((self.table(table, stored)?.into(), Bytes::new())),
        }
    }

    /// A custom object as this version shows it.
    fn custom(&self, stored: &Bytes, object: Option<&Object>) -> Result<(Bytes, Bytes), Status> {
        let cut = || (stored.slice(..shown_end(stored)), Bytes::from_static(b"}"));
        if object.is_some_and(|object| self.store.shows_as_stored(object.attributes.stamp.get())) {
            return Ok(cut());
        }
        let shown = self.with_tree(stored, |store, tree| {
            let mut out = Vec::with_capacity(stored.len() + 128);
            store.encode_shown_into(tree, &mut out);
            out
        })?;
        let form = self.store.form();
        if let Some(object) = object.filter(|_| form != 0)
            && shown.split_last() == Some((&b'}', &stored[..shown_end(stored)]))
        {
            // It has the form of today, whenever it was written: nobody needs to look again.
            object.attributes.stamp.set(form);
            return Ok(cut());
        }
        Ok((Bytes::from(shown), Bytes::new()))
    }

    /// Metadata without the annotation that stands for a field, the closing brace of the object behind it.
    fn metadata_alone(&self, stored: &[u8]) -> Result<Bytes, Status> {
        self.with_tree(stored, |store, tree| {
            let mut out = Vec::with_capacity(stored.len());
            json::encode(store.schema, store.partial_type, tree, &mut out);
            Bytes::from(out).slice(1..)
        })
    }

    /// The object in this version, encoded as JSON without the leading `{` and TypeMeta.
    fn converted(&self, stored: &[u8]) -> Result<Bytes, Status> {
        self.with_tree(stored, |store, tree| {
            let mut out = Vec::with_capacity(stored.len() + 128);
            json::encode(store.schema, store.served.facts.ty, tree, &mut out);
            // The tree carries no TypeMeta, so what follows the brace is what follows an object's head.
            Bytes::from(out).slice(1..)
        })
    }

    /// The protobuf message of the object, without envelope.
    pub(crate) fn protobuf(&self, stored: &Bytes, object: Option<&Object>) -> Result<Bytes, Status> {
        let item = self.protobuf_item(stored, object)?;
        Ok(item.slice(protobuf::item_head_len(&item)..))
    }

    /// The same as an item of a list, with what stands before it there.
    pub(crate) fn protobuf_item(&self, stored: &[u8], object: Option<&Object>) -> Result<Bytes, Status> {
        let Some(object) = object.filter(|_| self.keeps_protobuf()) else {
            return self.encode_protobuf(stored);
        };
        if let Some(item) = object.protobuf.get() {
            return Ok(item);
        }
        let item = self.encode_protobuf(stored)?;
        object.protobuf.keep(&item);
        Ok(item)
    }

    /// Whether the encoding is that of the stored version, which is kept with the object.
    pub(crate) fn keeps_protobuf(&self) -> bool {
        self.form == Form::Object && self.store.is_storage_version()
    }

    /// Makes the encoding that is kept with an object from what is known of its spec. Where that cannot be, it is made when
    /// it is asked for.
    pub(crate) fn keep_protobuf(&self, object: &Object, spec: &Written) {
        let store = self.store;
        let ty = store.served.stored_type;
        if !self.keeps_protobuf() || ty != store.served.facts.ty || object.protobuf.get().is_some() {
            return;
        }
        let stored: &[u8] = &object.json;
        self.core.with_scratch(|out| {
            let done = self.core.with_arena(|arena| {
                let known = spec.message(arena, stored);
                let mut field =
                    KnownField { at: spec.at(stored), len: spec.len(), known, written: Vec::new() };
                let knowing = Some(&mut field);
                let done = protobuf::encode_stored_knowing(arena, store.schema, ty, stored, knowing, out);
                if done && field.known.is_none() {
                    spec.keep_message(&field.written);
                }
                done
            });
            if done {
                object.protobuf.keep(&item(out));
            }
        });
    }

    fn encode_protobuf(&self, stored: &[u8]) -> Result<Bytes, Status> {
        let ty = match self.form {
            Form::Partial(_) => self.store.partial_type,
            // No Table is negotiated in protobuf.
            Form::Object | Form::Table(_) => self.store.served.facts.ty,
        };
        let store = self.store;
        self.core.with_scratch(|out| {
            let direct = self.keeps_protobuf() && ty == store.served.stored_type;
            let done = direct
                && self
                    .core
                    .with_arena(|arena| protobuf::encode_stored(arena, store.schema, ty, stored, out));
            if !done {
                self.with_tree(stored, |store, tree| protobuf::encode(store.schema, ty, tree, out))?;
            }
            Ok(item(out))
        })
    }

    /// Decodes a stored object and turns it into this version.
    fn with_tree<T>(
        &self,
        stored: &[u8],
        use_tree: impl FnOnce(&ResourceStore, &Value<'_>) -> T,
    ) -> Result<T, Status> {
        self.core.with_arena(|arena| {
            let store = self.store;
            let mut tree = match self.form {
                Form::Partial(_) if store.is_custom() => {
                    json::decode_stored(arena, store.schema, store.partial_type, stored)
                        .map_err(|e| Status::internal_error(e.to_string()))?
                }
                _ => self.decode(arena, stored)?,
            };
            match (self.form, store.served.from_stored, store.served.strategy.annotation_of_field()) {
                (Form::Object, Some(convert), _) => convert(arena, &mut tree),
                (Form::Partial(_), _, Some(annotation)) => remove_annotation(&mut tree, annotation),
                _ => {}
            }
            Ok(use_tree(store, &tree))
        })
    }

    /// Decodes a stored object.
    pub(crate) fn with_stored_tree<T>(
        &self,
        stored: &[u8],
        use_tree: impl FnOnce(&Value<'_>) -> T,
    ) -> Result<T, Status> {
        self.core.with_arena(|arena| Ok(use_tree(&self.decode(arena, stored)?)))
    }

    fn decode<'a>(&self, arena: &'a Bump, stored: &'a [u8]) -> Result<Value<'a>, Status> {
        self.store.decode_stored(arena, stored)
    }

    /// `apiVersion` and `kind` of a list.
    pub(crate) fn list_kind(&self) -> (&str, String) {
        match self.form {
            Form::Object => match &self.store.served.custom {
                None => (&self.store.group_version, format!("{}List", self.store.kind())),
                Some(kind) => (&self.store.group_version, kind.list_kind().to_owned()),
            },
            Form::Partial(version) => (version.api_version(), "PartialObjectMetadataList".to_owned()),
            Form::Table(table) => (table.version.api_version(), "Table".to_owned()),
        }
    }

    /// A BOOKMARK event: an object of the kind with nothing but a version, as a whole frame.
    pub(crate) fn bookmark(&self, format: Format, revision: u64, initial_end: bool) -> Result<Bytes, Status> {
        let annotation =
            if initial_end { ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" } else { "" };
        let text = format!("{{\"metadata\":{{\"resourceVersion\":\"{revision}\"{annotation}}}}}");
        if let Form::Table(table) = self.form {
            return self.table_bookmark(table, Bytes::from(text), initial_end);
        }
        if self.form == Form::Object && self.store.is_custom() {
            let head = self.head();
            let parts = [b"{\"type\":\"BOOKMARK\",\"object\":", head.as_ref(), &text.as_bytes()[1..], b"}\n"];
            return Ok(Bytes::from(parts.concat()));
        }
        let ty = match self.form {
            Form::Partial(_) => self.store.partial_type,
            Form::Object | Form::Table(_) => self.store.served.facts.ty,
        };
        self.core.with_arena(|arena| {
            let schema = self.store.schema;
            let empty = json::decode_typed(
                arena,
                schema,
                ty,
                arena.alloc_slice_copy(text.as_bytes()),
                json::Mode::Lenient,
            )
            .map_err(|e| Status::internal_error(e.to_string()))?
            .value;
            let mut out = Vec::new();
            if format == Format::Protobuf {
                protobuf::encode(schema, ty, &empty, &mut out);
                let object = [self.envelope_head(out.len()).as_ref(), &out, ENVELOPE_TAIL].concat();
                let mut frame = Vec::with_capacity(object.len() + 32);
                protobuf::watch_event("BOOKMARK", &object, &mut frame);
                return Ok(Bytes::from(frame));
            }
            json::encode(schema, ty, &empty, &mut out);
            let text =
                [b"{\"type\":\"BOOKMARK\",\"object\":", self.head().as_ref(), &out[1..], b"}\n"].concat();
            Ok(Bytes::from(text))
        })
    }

    /// A BOOKMARK event with a row of an object that has nothing but metadata.
    fn table_bookmark(&self, table: TableForm, object: Bytes, initial_end: bool) -> Result<Bytes, Status> {
        // The one that ends the initial events is told by its annotation, so that is never left out.
        let include = match table.include {
            IncludeObject::None if initial_end => IncludeObject::Metadata,
            include => include,
        };
        let stored = self.core.with_arena(|arena| {
            // Of a custom kind that is the type of its metadata, which is all there is.
            let ty = self.store.served.stored_type;
            let tree = json::decode_typed(arena, self.store.schema, ty, &object, json::Mode::Lenient)
                .map_err(|e| Status::internal_error(e.to_string()))?;
            let mut out = Vec::new();
            json::encode(self.store.schema, ty, &tree.value, &mut out);
            Ok::<_, Status>(Bytes::from(out).slice(1..))
        })?;
        let table = TableForm { include, ..table };
        let text = match self.store.is_custom() {
            false => self.table(table, &stored)?,
            // Nothing is filled in: it is no object.
            true => self.core.with_arena(|arena| {
                let tree = json::decode_stored(arena, self.store.schema, self.store.partial_type, &stored);
                let tree = tree.map_err(|e| Status::internal_error(e.to_string()))?;
                self.table_of(table, &stored, &tree)
            })?,
        };
        Ok(Bytes::from([b"{\"type\":\"BOOKMARK\",\"object\":", text.as_slice(), b"}\n"].concat()))
    }

    /// The envelope in front of a message of `len` bytes: magic, TypeMeta, and the key of `raw`.
    pub(crate) fn envelope_head(&self, len: usize) -> Bytes {
        let (api_version, kind) = match self.form {
            Form::Object => (self.store.group_version.as_str(), self.store.kind()),
            Form::Partial(version) => (version.api_version(), "PartialObjectMetadata"),
            Form::Table(table) => (table.version.api_version(), "Table"),
        };
        let mut head = Vec::with_capacity(64);
        protobuf::unknown_head(api_version, kind, len, &mut head);
        Bytes::from(head)
    }
}

/// A message as an item of a list.
fn item(message: &[u8]) -> Bytes {
    // Kept for long, so not a byte larger than it is.
    let mut item = Vec::with_capacity(protobuf::item_len(message.len()));
    protobuf::item_head(message.len(), &mut item);
    item.extend_from_slice(message);
    Bytes::from(item)
}

/// Stored text with what is opaque in it written as Go writes it; all else is written so already.
fn compacted(stored: &Bytes) -> Bytes {
    let Ok(text) = std::str::from_utf8(stored) else { return stored.clone() };
    let mut out = Vec::with_capacity(stored.len());
    json::quote::write_compact(&mut out, text);
    Bytes::from(out)
}

fn remove_annotation(tree: &mut Value<'_>, annotation: &str) {
    if let Some(annotations) = tree.path_mut(&["metadata", "annotations"]).and_then(Value::as_map_mut) {
        annotations.remove(annotation);
    }
}

static PARTIAL_V1: &[u8] = b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",";
static PARTIAL_V1BETA1: &[u8] =
    b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1beta1\",";

/// As `type` of a watch event.
pub(crate) fn event_type(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Added => "ADDED",
        EventKind::Modified => "MODIFIED",
        EventKind::Deleted => "DELETED",
    }
}

/// An ERROR event, as a whole frame.
pub(crate) fn error_event(format: Format, status: &Status) -> Vec<u8> {
    let mut body = Vec::with_capacity(256);
    if format == Format::Protobuf {
        status.encode_protobuf(&mut body);
        let mut frame = Vec::with_capacity(body.len() + 32);
        protobuf::watch_event("ERROR", &body, &mut frame);
        return frame;
    }
    status.encode_json(&mut body);
    [b"{\"type\":\"ERROR\",\"object\":", body.as_slice(), b"}\n"].concat()
}
