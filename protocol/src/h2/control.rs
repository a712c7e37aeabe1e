//! The frames that steer a connection: SETTINGS, WINDOW_UPDATE, PING, RST_STREAM, PRIORITY, GOAWAY.

use super::connection::Connection;
use super::frame::{Code, Fault, Header, flag, kind, number, setting};
use super::stream::Response;
use crate::exchange::{Handler, StreamId};
use crate::limits::H2_SMALL;

impl Connection {
    pub(super) fn settings(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        self.core.budget.overhead()?;
        if header.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(Fault::Connection(Code::FrameSize)) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Fault::Connection(Code::FrameSize));
        }
        let mut window = None;
        for entry in payload.chunks_exact(6) {
            let value = number(entry, 2);
            match u16::from_be_bytes([entry[0], entry[1]]) {
                setting::HEADER_TABLE_SIZE => self.core.set_table_size(value),
                setting::ENABLE_PUSH if value > 1 => return Err(Fault::Connection(Code::Protocol)),
                setting::INITIAL_WINDOW_SIZE if value > i32::MAX as u32 => {
                    return Err(Fault::Connection(Code::FlowControl));
                }
                // Of several the last counts; going through all streams for each would be work for nothing.
                setting::INITIAL_WINDOW_SIZE => window = Some(value),
                setting::MAX_FRAME_SIZE => match value {
                    0x4000..=0xff_ffff => self.core.set_max_frame(value),
                    _ => return Err(Fault::Connection(Code::Protocol)),
                },
                _ => {}
            }
        }
        if let Some(window) = window {
            self.core.set_initial_window(window)?;
        }
        self.core.frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(())
    }

    pub(super) fn window_update(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if payload.len() != 4 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        let (id, increment) = (header.stream, number(payload, 0) & 0x7fff_ffff);
        if increment < H2_SMALL {
            self.core.budget.overhead()?;
        }
        if id == 0 {
            return if increment == 0 {
                Err(Fault::Connection(Code::Protocol))
            } else {
                self.core.widen(increment)
            };
        }
        if self.is_idle_stream(id) {
            return Err(Fault::Connection(Code::Protocol));
        }
        match self.core.streams.find(id) {
            Some(_) if increment == 0 => Err(Fault::Stream(id, Code::Protocol)),
            Some(slot) => self.core.widen_stream(slot, increment),
            None => Ok(()),
        }
    }

    pub(super) fn ping(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        if payload.len() != 8 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        self.core.budget.overhead()?;
        if !header.has(flag::ACK) {
            self.core.frame(kind::PING, flag::ACK, 0, payload);
        }
        Ok(())
    }

    pub(super) fn rst_stream<H: Handler>(
        &mut self,
        header: Header,
        payload: &[u8],
        handler: &mut H,
    ) -> Result<(), Fault> {
        let id = header.stream;
        if payload.len() != 4 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        if id == 0 || self.is_idle_stream(id) {
            return Err(Fault::Connection(Code::Protocol));
        }
        let Some(slot) = self.core.streams.find(id) else { return self.core.budget.overhead() };
        let Some(stream) = self.core.streams.get(id) else { return Ok(()) };
        let (wanted, early) = (stream.response != Response::Finished, !self.core.head_is_out(stream));
        self.core.close(slot, false);
        if wanted {
            handler.reset(StreamId(id));
        }
        if early { self.core.budget.reset() } else { Ok(()) }
    }

    /// Priorities of RFC 7540 are checked and ignored.
    pub(super) fn priority(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        let id = header.stream;
        if id == 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        self.core.budget.overhead()?;
        if payload.len() != 5 {
            return Err(Fault::Stream(id, Code::FrameSize));
        }
        if number(payload, 0) & 0x7fff_ffff == id {
            return Err(Fault::Stream(id, Code::Protocol));
        }
        Ok(())
    }

    pub(super) fn goaway(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        if payload.len() < 8 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        self.core.leave();
        Ok(())
    }
}
