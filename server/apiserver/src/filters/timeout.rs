//! 504 for an answer that is not there in time.

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
        // A deadline may be over already: the body may have taken its time.
        match request.deadline {
            Some(deadline) if deadline <= request.core.now() => Outcome::Ready(response()),
            _ => next.serve(request),
        }
    }
}

/// The Status goes out without its type and without a content type of its own, which Go's server then guesses.
const BODY: &[u8] = b"{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did not complete within the allotted timeout\",\"reason\":\"Timeout\",\"details\":{},\"code\":504}\n";

/// The answer in the place of the one that did not come.
pub fn response() -> Response {
    Response::new(504, TEXT, Bytes::from_static(BODY))
}
