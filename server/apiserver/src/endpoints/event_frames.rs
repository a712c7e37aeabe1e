//! Events of watches as they go out, each made once on a core and shared by all watchers that want it so.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use bytes::Bytes;
use ringbolt_machinery::status::Status;
use ringbolt_protocol::media_type::Format;
use ringbolt_storage::object::EventKind;

use super::{render::Form, resource::ResourceStore};
use crate::{
    limits::{EVENT_FRAME_WHOLE_BYTES, EVENT_FRAMES_BYTES, EVENT_FRAMES_KEPT},
    response::PartSink,
};

/// What a frame shows, and how.
#[derive(Clone)]
pub(crate) struct FrameKey<'s> {
    /// The resource in the version asked for.
    pub(crate) store: &'s Arc<ResourceStore>,
    pub(crate) form: Form,
    pub(crate) format: Format,
    /// What happened in the eyes of the watcher. With the revision it settles which state is shown.
    pub(crate) kind: EventKind,
    /// The event's revision.
    pub(crate) revision: u64,
    /// The second a Table is made in, since its rows tell ages; 0 for everything else.
    pub(crate) second: i64,
}

/// One event's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// In one piece: what is copied into the output anyway is copied once for all.
    Whole(Bytes),
    /// Large: head, object, tail. The object may be the stored one.
    Parts([Bytes; 3]),
}

impl Frame {
    /// The frame of these parts, joined where they are small.
    pub(crate) fn of(parts: [Bytes; 3]) -> Frame {
        if parts.iter().map(Bytes::len).sum::<usize>() <= EVENT_FRAME_WHOLE_BYTES {
            return Frame::Whole(Bytes::from(parts.concat()));
        }
        Frame::Parts(parts)
    }

    /// Hands the bytes on.
    pub(crate) fn send(&self, sink: &mut dyn PartSink) {
        match self {
            Frame::Whole(bytes) => sink.put_copy(bytes),
            Frame::Parts(parts) => parts.iter().for_each(|bytes| sink.put(bytes.clone())),
        }
    }

    /// Bytes of it.
    pub(crate) fn len(&self) -> usize {
        match self {
            Frame::Whole(bytes) => bytes.len(),
            Frame::Parts(parts) => parts.iter().map(Bytes::len).sum(),
        }
    }
}

/// The frames of one core that were made last.
#[derive(Default)]
pub(crate) struct EventFrames {
    /// A frame's place follows from its key; whoever comes later to a place takes it.
    kept: RefCell<Vec<Option<Kept>>>,
    bytes: Cell<usize>,
}

struct Kept {
    store: Arc<ResourceStore>,
    form: Form,
    format: Format,
    kind: EventKind,
    revision: u64,
    second: i64,
    frame: Frame,
}

impl Kept {
    fn is(&self, key: &FrameKey<'_>) -> bool {
        self.revision == key.revision
            && self.kind == key.kind
            && self.format == key.format
            && self.second == key.second
            && Arc::ptr_eq(&self.store, key.store)
            && self.form == key.form
    }
}

impl EventFrames {
    /// Sends the frame of a key, which is made if it was not made lately. Answers its bytes.
    pub(crate) fn send(
        &self,
        key: &FrameKey<'_>,
        make: impl FnOnce() -> Result<Frame, Status>,
        sink: &mut dyn PartSink,
    ) -> Result<usize, Status> {
        let place = place(key);
        if let Some(Some(kept)) = self.kept.borrow().get(place)
            && kept.is(key)
        {
            kept.frame.send(sink);
            return Ok(kept.frame.len());
        }
        let frame = make()?;
        frame.send(sink);
        let length = frame.len();
        self.keep(place, key, frame);
        Ok(length)
    }

    fn keep(&self, place: usize, key: &FrameKey<'_>, frame: Frame) {
        let mut kept = self.kept.borrow_mut();
        let length = frame.len();
        if self.bytes.get() + length > EVENT_FRAMES_BYTES {
            // So that what was large once does not stay for ever.
            kept.clear();
            self.bytes.set(0);
        }
        kept.resize_with(EVENT_FRAMES_KEPT, || None);
        let old = kept[place].replace(Kept {
            store: key.store.clone(),
            form: key.form,
            format: key.format,
            kind: key.kind,
            revision: key.revision,
            second: key.second,
            frame,
        });
        self.bytes.set(self.bytes.get() + length - old.map_or(0, |old| old.frame.len()));
    }
}

/// Events in a row and the common forms of one event fall into places of their own.
fn place(key: &FrameKey<'_>) -> usize {
    let form = match key.form {
        Form::Object => 0,
        Form::Partial(_) => 2,
        Form::Table(table) => 4 + usize::from(table.headers),
    };
    let variant = form + usize::from(key.format == Format::Protobuf);
    (key.revision as usize * 8 + variant) % EVENT_FRAMES_KEPT
}
