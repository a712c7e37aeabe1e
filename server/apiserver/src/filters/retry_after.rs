//! Sends clients elsewhere while the server drains: `--shutdown-send-retry-after`.

use std::sync::Arc;

use super::{Filter, Handler, wait_group};
use crate::{
    request::Request,
    response::{Outcome, Response},
    response_writers,
    server::lifecycle_signals::LifecycleSignals,
};

/// What clients are told to wait, in seconds.
const RETRY_AFTER: &str = "5";

/// Answers 429 and closes the connection once the server takes no new requests, which it goes on listening for until
/// the last one in work is done.
pub struct RetryAfter {
    /// The server's life.
    pub signals: Arc<LifecycleSignals>,
    /// Whether the server goes on listening.
    pub is_on: bool,
}

impl Filter for RetryAfter {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if !self.is_on
            || !self.signals.not_accepting_new_request.is_signaled()
            // Its body was awaited when the server still took it.
            || request.state.is_known()
            || wait_group::is_exempt(request)
        {
            return next.serve(request);
        }
        Outcome::Ready(refusal())
    }
}

fn refusal() -> Response {
    let mut response =
        response_writers::plain_error(429, "The apiserver is shutting down, please try again later.");
    response.headers.push(("retry-after", RETRY_AFTER.to_owned()));
    response.closing()
}
