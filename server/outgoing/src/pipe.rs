//! Bytes on their way from one thread to another: a queue that wakes its two ends.

use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use bytes::Bytes;

use crate::error::CallError;

/// A queue of bytes with one writer and one reader. It refuses nothing: a writer asks [`Pipe::poll_room`] first, or is
/// held by a flow control of its own, which [`Pipe::take_freed`] feeds.
#[derive(Debug, Default)]
pub struct Pipe(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    parts: VecDeque<Bytes>,
    bytes: usize,
    /// Nothing more comes, and why.
    end: Option<Result<(), CallError>>,
    /// The reader has gone.
    abandoned: bool,
    /// Bytes taken out that the writer was not told of.
    freed: usize,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Keeps a waker without making it anew.
fn keep(slot: &mut Option<Waker>, waker: &Waker) {
    match slot {
        Some(kept) => kept.clone_from(waker),
        None => *slot = Some(waker.clone()),
    }
}

impl Pipe {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts bytes in.
    pub fn push(&self, part: Bytes) {
        let mut state = self.state();
        if state.abandoned {
            // Nobody will take them; who counts them must not wait for that.
            state.freed += part.len();
            return;
        }
        state.bytes += part.len();
        state.parts.push_back(part);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    /// Says that nothing more comes. The first word counts.
    pub fn end(&self, end: Result<(), CallError>) {
        let mut state = self.state();
        state.end.get_or_insert(end);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    /// The reader goes: what is there is dropped, and whoever writes need not wait.
    pub fn abandon(&self) {
        let mut state = self.state();
        state.abandoned = true;
        state.freed += mem::take(&mut state.bytes);
        state.parts.clear();
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
    }

    /// The next bytes, or that there will be none.
    pub fn poll_take(&self, waker: &Waker) -> Poll<Option<Result<Bytes, CallError>>> {
        let mut state = self.state();
        if let Some(part) = state.parts.pop_front() {
            state.bytes -= part.len();
            state.freed += part.len();
            let writer = state.writer.take();
            drop(state);
            writer.into_iter().for_each(Waker::wake);
            return Poll::Ready(Some(Ok(part)));
        }
        match &mut state.end {
            Some(end) => Poll::Ready(mem::replace(end, Ok(())).err().map(Err)),
            None => {
                keep(&mut state.reader, waker);
                Poll::Pending
            }
        }
    }

    /// Whether fewer than `bytes` are in it. `Ready(false)`: nobody reads any more.
    pub fn poll_room(&self, waker: &Waker, bytes: usize) -> Poll<bool> {
        let mut state = self.state();
        if state.abandoned {
            return Poll::Ready(false);
        }
        if state.bytes < bytes {
            return Poll::Ready(true);
        }
        keep(&mut state.writer, waker);
        Poll::Pending
    }

    /// Bytes that were taken out since it was last asked; `waker` hears of more.
    pub fn take_freed(&self, waker: &Waker) -> usize {
        let mut state = self.state();
        keep(&mut state.writer, waker);
        mem::take(&mut state.freed)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn waker() -> (Waker, Arc<Count>) {
        let count = Arc::new(Count::default());
        (Waker::from(count.clone()), count)
    }

    fn woken(count: &Count) -> u32 {
        count.0.swap(0, Ordering::Relaxed)
    }

    #[test]
    fn both_ends_are_woken() {
        let pipe = Pipe::default();
        let ((reader, reads), (writer, writes)) = (waker(), waker());
        assert!(pipe.poll_take(&reader).is_pending());
        pipe.push(Bytes::from_static(b"abc"));
        assert_eq!(woken(&reads), 1);
        assert_eq!(pipe.poll_room(&writer, 4), Poll::Ready(true));
        assert!(pipe.poll_room(&writer, 3).is_pending());
        assert_eq!(pipe.poll_take(&reader), Poll::Ready(Some(Ok(Bytes::from_static(b"abc")))));
        assert_eq!(woken(&writes), 1);
        assert_eq!((pipe.take_freed(&writer), pipe.take_freed(&writer)), (3, 0));
        assert!(pipe.poll_take(&reader).is_pending());
        pipe.end(Ok(()));
        assert_eq!(woken(&reads), 1);
        assert_eq!(pipe.poll_take(&reader), Poll::Ready(None));
    }

    #[test]
    fn an_error_is_told_once() {
        let pipe = Pipe::default();
        let (waker, _) = waker();
        pipe.push(Bytes::from_static(b"a"));
        pipe.end(Err(CallError::busy()));
        pipe.end(Ok(()));
        assert_eq!(pipe.poll_take(&waker), Poll::Ready(Some(Ok(Bytes::from_static(b"a")))));
        assert_eq!(pipe.poll_take(&waker), Poll::Ready(Some(Err(CallError::busy()))));
        assert_eq!(pipe.poll_take(&waker), Poll::Ready(None));
    }

    #[test]
    fn nobody_waits_for_a_reader_that_went() {
        let pipe = Pipe::default();
        let (writer, writes) = waker();
        pipe.push(Bytes::from_static(b"abc"));
        assert!(pipe.poll_room(&writer, 1).is_pending());
        pipe.abandon();
        assert_eq!(woken(&writes), 1);
        assert_eq!(pipe.poll_room(&writer, 1), Poll::Ready(false));
        pipe.push(Bytes::from_static(b"de"));
        assert_eq!(pipe.take_freed(&writer), 5);
    }
}
