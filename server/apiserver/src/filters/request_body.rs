//! 413 for bodies that were too large to be kept.

use ringbolt_machinery::status::Status;

use super::{Filter, Handler};
use crate::{limits, request::Request, response::Outcome, response_writers};

/// Stands in front of the director: who may not write hears that first. The real server counts while a handler
/// reads; here the connection has counted already.
pub struct RequestBodyLimit;

impl Filter for RequestBodyLimit {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if !request.state.body_too_large.get() {
            return next.serve(request);
        }
        let message = format!("limit is {}", limits::REQUEST_BODY);
        let status = Status::request_entity_too_large(&message);
        Outcome::Ready(response_writers::error(&request.head, &status))
    }
}
