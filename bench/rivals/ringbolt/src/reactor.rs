//! The engine alone, with the same loop as the other reactors.

use bytes::Bytes;
use ringbolt_engine::{App, ConnInfo, CoreIo, Io, TimerKind};
use rival_reply::{REPLY, Requests};

/// Answers every request.
pub(crate) struct Reactor;

impl App for Reactor {
    type Conn = Requests;

    fn open(&mut self, _: &mut Io<'_>, _: &ConnInfo) -> Requests {
        Requests::default()
    }

    fn received(&mut self, requests: &mut Requests, io: &mut Io<'_>, bytes: &[u8]) {
        match requests.take(bytes) {
            Ok(complete) => (0..complete).for_each(|_| io.out().put_shared(Bytes::from_static(REPLY))),
            Err(_) => io.abort(),
        }
    }

    fn eof(&mut self, _: &mut Requests, io: &mut Io<'_>) {
        io.close();
    }

    fn drained(&mut self, _: &mut Requests, _: &mut Io<'_>) {}
    fn woken(&mut self, _: &mut Requests, _: &mut Io<'_>) {}
    fn timer(&mut self, _: &mut Requests, _: &mut Io<'_>, _: TimerKind) {}

    fn drain(&mut self, _: &mut Requests, io: &mut Io<'_>) {
        io.close();
    }

    fn closed(&mut self, _: Requests) {}
    fn core_woken(&mut self, _: &mut CoreIo<'_>) {}
}
