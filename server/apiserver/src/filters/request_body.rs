//! Reads the body, as far as the chain has to do with that.

use ringbolt_machinery::status::Status;

use super::{Filter, Handler};
use crate::{
    limits,
    request::{BodyProgress, Request},
    response::{Outcome, Response},
    response_writers,
    routes::page_not_found,
};

/// Stands in front of the director: who may not ask is refused before the body is read, and who sends too much
/// hears so as from a handler that reads.
pub struct RequestBody;

impl Filter for RequestBody {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        let state = request.state;
        match state.body.get() {
            BodyProgress::Complete => next.serve(request),
            BodyProgress::Awaited if next.relays(request) => next.serve(request),
            // Its body was to go to another server, which has gone while it waited for seats.
            BodyProgress::Awaited if state.resumed.get() => Outcome::Ready(page_not_found().closing()),
            BodyProgress::Awaited | BodyProgress::Wanted => {
                state.body.set(BodyProgress::Wanted);
                state.admitted.set(true);
                // Nobody sends it: the connection comes back with the body.
                Outcome::Ready(Response::default())
            }
            BodyProgress::TooLarge => {
                let message = format!("limit is {}", limits::REQUEST_BODY);
                let status = Status::request_entity_too_large(&message);
                Outcome::Ready(response_writers::error(request.head, &status))
            }
        }
    }
}
