//! A list's body in parts: what all formats of it have in common.

use std::task::Waker;

use bytes::Bytes;
use ringbolt_machinery::status::Status;

use crate::{
    limits::LIST_ENCODE_SLICE_BYTES,
    response::{StreamSource, StreamState},
};

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Parts may have been handed out; so many bytes of stored objects were decoded and encoded for it.
    On {
        /// Bytes.
        encoded: usize,
    },
    /// The list is over.
    End,
}

/// A list's body, item by item.
pub(crate) trait ListParts {
    /// Hands out what comes next, a few parts or none; a list that fails is over.
    fn step(&mut self, part: &mut dyn FnMut(Bytes)) -> Result<Step, Status>;

    /// Whether the body is longer than this, found out with as little work as that takes. What had to be handed out
    /// for it is in `begun`: the whole body where it is not.
    fn exceeds(&mut self, bytes: usize, begun: &mut Vec<Bytes>) -> Result<bool, Status> {
        let mut made = 0;
        while made <= bytes {
            let step = self.step(&mut |part| {
                made += part.len();
                begun.push(part);
            })?;
            if step == Step::End {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The whole body, of about so many bytes.
pub(crate) fn flat(mut parts: impl ListParts, about: usize) -> Result<Vec<u8>, Status> {
    let mut flat = Vec::with_capacity(about);
    while parts.step(&mut |part| flat.extend_from_slice(&part))? != Step::End {}
    Ok(flat)
}

/// A list as the body of an answer. Where items must be encoded it lets others on the core have their turn.
pub(crate) struct ListSource<P>(pub(crate) P);

impl<P: ListParts> StreamSource for ListSource<P> {
    fn poll(&mut self, waker: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        let (mut sent, mut worked) = (0, 0);
        while sent < room {
            let step = self.0.step(&mut |bytes| {
                sent += bytes.len();
                part(bytes);
            });
            match step {
                Ok(Step::On { encoded }) => worked += encoded,
                Ok(Step::End) => return StreamState::End,
                Err(_) => return StreamState::Abort,
            }
            if worked >= LIST_ENCODE_SLICE_BYTES && sent < room {
                waker.wake_by_ref();
                return StreamState::Pending;
            }
        }
        StreamState::Full
    }

    fn is_watch(&self) -> bool {
        false
    }
}
