//! Spreads long-lived HTTP/2 clients over servers: `--goaway-chance`.

use ringbolt_protocol::head::Version;

use super::{Filter, Handler};
use crate::{request::Request, response::Outcome};

/// Ends an HTTP/2 connection after a request, by chance.
pub struct ProbabilisticGoaway {
    /// Out of 2^64.
    threshold: u64,
}

impl ProbabilisticGoaway {
    /// `chance` from 0 to 0.02.
    pub fn new(chance: f64) -> Self {
        // The cast saturates, so that nothing wraps for a chance of 1.
        ProbabilisticGoaway { threshold: (chance * u64::MAX as f64) as u64 }
    }
}

impl Filter for ProbabilisticGoaway {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if self.threshold > 0
            && request.head.version == Version::Http2
            && !request.state.is_known()
            && request.core.random_u64() < self.threshold
        {
            request.state.close.set(true);
        }
        next.serve(request)
    }
}
