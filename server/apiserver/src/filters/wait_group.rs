//! Counts what a shutdown waits for.

use std::sync::Arc;

use ringbolt_machinery::status::Status;

use super::{Filter, Handler};
use crate::{
    core::Permit,
    request::{Request, is_long_running},
    response::{Outcome, Response},
    response_writers,
    server::lifecycle_signals::LifecycleSignals,
};

/// Counts requests that are not long-running; refuses new ones once the server takes none.
pub struct WaitGroup(pub Arc<LifecycleSignals>);

/// Answered to the very end: whoever asks for health is the one who waits for the server to go.
const EXEMPT_PREFIXES: [&str; 4] = ["/readyz", "/livez", "/healthz", "/metrics"];

impl Filter for WaitGroup {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if is_long_running(request.info) || request.state.is_known() {
            return next.serve(request);
        }
        if self.0.not_accepting_new_request.is_signaled() && !is_exempt(request) {
            return Outcome::Ready(refusal());
        }
        *request.state.waited_for.borrow_mut() =
            Permit::take(request.core, |counters| &counters.waited_for, u32::MAX);
        next.serve(request)
    }
}

/// The answer to what came too late.
pub(super) fn refusal() -> Response {
    let status = Status::service_unavailable("apiserver is shutting down");
    let mut response = response_writers::json_status(&status);
    response.headers.push(("retry-after", "1".to_owned()));
    response.headers.push(("x-content-type-options", "nosniff".to_owned()));
    response
}

/// Whether a request is answered whatever the server is about; the same for all filters that refuse, or the server
/// would wait for what it refuses.
pub(super) fn is_exempt(request: &Request<'_>) -> bool {
    EXEMPT_PREFIXES.iter().any(|prefix| request.info.path.starts_with(prefix))
        || request.head.header("user-agent").is_some_and(|agent| agent.starts_with(b"kube-apiserver/"))
}
