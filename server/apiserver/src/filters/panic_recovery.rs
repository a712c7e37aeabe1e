//! A handler that panics costs its request, never the connection.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Filter, Handler};
use crate::{
    request::Request,
    response::{Outcome, Response},
    response_writers,
};

/// Answers 500 where a handler panics. The same is done around the later polls of tasks and streams.
pub struct PanicRecovery;

impl Filter for PanicRecovery {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| next.serve(request))) {
            Ok(outcome) => outcome,
            Err(_) => {
                tracing::error!(
                    method = request.head.method,
                    target = request.head.target,
                    "apiserver panic'd"
                );
                Outcome::Ready(response())
            }
        }
    }
}

/// The answer that takes the place of the one a panic prevented.
pub fn response() -> Response {
    response_writers::plain_error(
        500,
        "This request caused apiserver to panic. Look in the logs for details.",
    )
}
