//! Exchanges that another server answers: bodies go on as they come, in both directions, and nothing of them is kept
//! here but what the other side has no room for.

use std::task::Waker;

use bytes::Bytes;

use crate::response::{Response, StreamState};

/// The head of an answer as it came from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct RelayHead {
    /// Status.
    pub status: u16,
    /// Fields with their values, names in lower case.
    pub headers: Vec<(Box<str>, Bytes)>,
    /// Nothing of this server's stands beside them.
    pub bare: bool,
    /// What follows is another protocol's, in both directions, to the end of the connection.
    pub upgraded: bool,
}

/// Where an answer goes.
pub trait RelayOut {
    /// So many bytes of the request's body have gone on: the client may send as many more.
    fn passed(&mut self, bytes: usize);
    /// Begins the answer.
    fn begin(&mut self, head: &RelayHead);
    /// A part of the answer that was begun.
    fn put(&mut self, part: Bytes);
    /// Answers in place of the other server, which has not begun to. The relay is over then.
    fn answer(&mut self, response: Response);
}

/// An exchange with another server. Lives on one core.
pub trait Relay {
    /// A part of the body, or of what was upgraded to. The client is held back until [`RelayOut::passed`] says that it
    /// went on.
    fn data(&mut self, part: &[u8]);
    /// The body is at its end.
    fn end(&mut self);
    /// Goes on: hands out what has come until nothing is there or about `room` bytes went out. Registers `waker` before
    /// it answers [`StreamState::Pending`].
    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState;
    /// Whether it lasts: no timeout counts for it, and it ends in good order when the server goes down.
    fn is_watch(&self) -> bool;
    /// Whether it counts among the requests of this server. The other server counts what is its own.
    fn is_counted(&self) -> bool {
        false
    }
}
