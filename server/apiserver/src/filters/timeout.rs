//! 504 for an answer that is not there in time.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{Filter, Handler};
use crate::{
    request::Request,
    response::{Outcome, Response, TEXT},
};

/// Lets no answer come after its deadline.
///
/// A handler cannot be interrupted while it runs inline; what waits, waits in a task, and the connection drops the
/// task at the deadline that [`super::request_deadline`] set and answers [`response`] instead. This layer sees to
/// the requests whose time was over before they came here.
pub struct TimeoutForNonLongRunningRequests;

impl Filter for TimeoutForNonLongRunningRequests {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        match request.deadline {
            Some(deadline) if may_be_over(request, deadline) && deadline <= request.core.now() => {
                Outcome::Ready(response())
            }
            _ => next.serve(request),
        }
    }
}

/// Whether it is worth a look at the clock. A body may have taken its time; a head was stamped just before the chain ran.
fn may_be_over(request: &Request<'_>, deadline: Instant) -> bool {
    request.state.is_known() || deadline.saturating_duration_since(request.received) < STAMPED_WITHIN
}

/// What lies between the stamp of a head and this filter at most: microseconds, unless the thread loses its CPU there.
const STAMPED_WITHIN: Duration = Duration::from_millis(50);

/// The Status goes out without its type and without a content type of its own, which Go's server then guesses.
const BODY: &[u8] = b"{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did not complete within the allotted timeout\",\"reason\":\"Timeout\",\"details\":{},\"code\":504}\n";

/// The answer in the place of the one that did not come.
pub fn response() -> Response {
    Response::new(504, TEXT, Bytes::from_static(BODY))
}
