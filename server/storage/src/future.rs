//! The answer to a write, on its way from the sequencer's thread to whoever waits.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::{api::WriteError, object::Object};

/// What a write ends in. For a delete the object is the last state, with the revision of the deletion spliced in.
pub type WriteResult = Result<Arc<Object>, WriteError>;

/// Resolves when the write is durable and published, or refused. Dropping it does not take the write back.
#[derive(Debug)]
pub struct WriteFuture(Inner);

#[derive(Debug)]
enum Inner {
    Ready(Option<WriteResult>),
    Waiting(Arc<Mutex<Slot>>),
}

#[derive(Debug, Default)]
struct Slot {
    result: Option<WriteResult>,
    waker: Option<Waker>,
}

/// The sequencer's end of a [`WriteFuture`]. Dropped unanswered it answers `Failed`, so that nobody waits for ever.
#[derive(Debug)]
pub struct WritePromise(Option<Arc<Mutex<Slot>>>);

impl WriteFuture {
    /// A future and the promise that resolves it.
    pub fn new() -> (WritePromise, WriteFuture) {
        let slot = Arc::new(Mutex::new(Slot::default()));
        (WritePromise(Some(slot.clone())), WriteFuture(Inner::Waiting(slot)))
    }
    /// An answer that is there at once.
    pub fn ready(result: WriteResult) -> WriteFuture {
        WriteFuture(Inner::Ready(Some(result)))
    }
    /// Blocks the thread until the answer is there. For tools and start-up code, never on a core.
    pub fn wait(self) -> WriteResult {
        struct Unpark(std::thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut this = self;
        loop {
            match Pin::new(&mut this).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => return result,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl Future for WriteFuture {
    type Output = WriteResult;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WriteResult> {
        match &mut self.0 {
            Inner::Ready(result) => {
                Poll::Ready(result.take().expect("a future is not polled after it was ready"))
            }
            Inner::Waiting(slot) => {
                let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(result) = slot.result.take() {
                    return Poll::Ready(result);
                }
                match &mut slot.waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    none => *none = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

impl WritePromise {
    /// Resolves the future.
    pub fn resolve(self, result: WriteResult) {
        if let Some(waker) = self.settle(result) {
            waker.wake();
        }
    }
    /// Resolves the future and leaves it to the caller to wake who waits for it.
    pub(crate) fn settle(mut self, result: WriteResult) -> Option<Waker> {
        self.set(result)
    }
    fn set(&mut self, result: WriteResult) -> Option<Waker> {
        let slot = self.0.take()?;
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.result = Some(result);
        slot.waker.take()
    }
}

impl Drop for WritePromise {
    fn drop(&mut self) {
        if let Some(waker) = self.set(Err(WriteError::Failed("the store is closed".into()))) {
            waker.wake();
        }
    }
}
