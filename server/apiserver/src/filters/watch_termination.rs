//! Counts watches, so that a shutdown can wait for them to end one after the other:
//! `--shutdown-watch-termination-grace-period`.

use std::sync::Arc;

use ringbolt_protocol::request_info::Verb;

use super::{Filter, Handler, wait_group};
use crate::{core::Permit, request::Request, response::Outcome, server::lifecycle_signals::LifecycleSignals};

/// Counts watches and refuses new ones once the server takes none. Without a grace period they are neither counted nor
/// waited for.
pub struct WatchTerminationDuringShutdown {
    /// The server's life.
    pub signals: Arc<LifecycleSignals>,
    /// Whether there is a grace period.
    pub is_on: bool,
}

impl Filter for WatchTerminationDuringShutdown {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if self.is_on && request.info.verb == Verb::Watch && !request.state.is_known() {
            if self.signals.not_accepting_new_request.is_signaled() {
                return Outcome::Ready(wait_group::refusal());
            }
            *request.state.ended_in_turn.borrow_mut() =
                Permit::take(request.core, |counters| &counters.watches, u32::MAX);
        }
        next.serve(request)
    }
}
