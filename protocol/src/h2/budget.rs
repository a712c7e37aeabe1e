//! What a peer may waste. There is no clock here: waste is weighed against use. A peer over a budget is told to
//! calm down and disconnected.

use super::frame::{Code, Fault};
use crate::limits::{H2_OVERHEAD_BUDGET, H2_OVERHEAD_REGAIN, h2_reset_budget};

const CALM: Fault = Fault::Connection(Code::EnhanceYourCalm);

/// Counters of one connection.
#[derive(Debug)]
pub(crate) struct Budget {
    overhead: u32,
    resets: u32,
    resets_max: u32,
}

impl Budget {
    /// That of a peer with so many streams.
    pub(crate) fn new(streams: u32) -> Self {
        Budget { overhead: 0, resets: 0, resets_max: h2_reset_budget(streams) }
    }

    /// A frame came that moves nothing.
    pub(crate) fn overhead(&mut self) -> Result<(), Fault> {
        self.overhead += 1;
        if self.overhead > H2_OVERHEAD_BUDGET { Err(CALM) } else { Ok(()) }
    }

    /// Something useful happened.
    pub(crate) fn useful(&mut self) {
        self.overhead = self.overhead.saturating_sub(H2_OVERHEAD_REGAIN);
    }

    /// A stream was reset before its response began to leave.
    pub(crate) fn reset(&mut self) -> Result<(), Fault> {
        self.resets += 1;
        if self.resets > self.resets_max { Err(CALM) } else { Ok(()) }
    }

    /// A stream came to its regular end.
    pub(crate) fn completed(&mut self) {
        self.resets = self.resets.saturating_sub(1);
    }
}
