//! Lets through what the user may do.

use std::sync::Arc;

use super::{Filter, Handler};
use crate::{
    authorization::{Authorizers, Decision, forbidden},
    request::Request,
    response::Outcome,
    response_writers,
};

/// Answers 403 to what no authorizer allows.
pub struct Authorization(pub Arc<Authorizers>);

impl Filter for Authorization {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        match self.0.authorize(request.user, &request.info) {
            Decision::Allow => next.serve(request),
            Decision::NoOpinion(reason) => {
                let status = forbidden(request.user, &request.info, &reason);
                let mut response = response_writers::error(&request.head, &status);
                response.headers.push(("x-content-type-options", "nosniff".to_owned()));
                Outcome::Ready(response)
            }
        }
    }
}
