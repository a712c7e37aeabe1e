//! Lets a request run as somebody else, where its user may do that.
//!
//! Behind this filter nothing tells such a request from one of that user's own: the headers are gone.

mod headers;
pub mod last_modes;
mod mode;

use std::sync::Arc;

use ringbolt_protocol::head::Head;

use self::last_modes::LastModes;
use super::{Filter, Handler, chain::ChainConfig};
use crate::{
    authorization::Authorizers,
    metrics::Metrics,
    request::{BodyProgress, Request},
    response::{Outcome, Response},
    response_writers,
};

/// `Impersonate-User`, `-Group`, `-Uid` and `-Extra-…`, as `WithConstrainedImpersonation` (KEP-5284) reads them.
pub struct Impersonation {
    authorizers: Arc<Authorizers>,
    last_modes: Arc<LastModes>,
    metrics: Arc<Metrics>,
}

impl Impersonation {
    /// The filter.
    pub fn new(config: &ChainConfig) -> Self {
        Impersonation {
            authorizers: config.authorizers.clone(),
            last_modes: config.impersonation_modes.clone(),
            metrics: config.metrics.clone(),
        }
    }
}

impl Filter for Impersonation {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if headers::are_in(request.head) { self.impersonate(request, next) } else { next.serve(request) }
    }
}

impl Impersonation {
    #[cold]
    fn impersonate<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        let wanted = match headers::wanted_user(request.head) {
            Ok(Some(wanted)) => wanted,
            Ok(None) => return next.serve(request),
            Err(status) => return Outcome::Ready(nosniff(response_writers::error(request.head, &status))),
        };
        let kept = headers::without(request.head);
        let head = Head { headers: &kept, ..*request.head };
        let behind = Request { head: &head, ..request.clone() };
        if request.state.is_known() {
            // Authentication already gave the user that was found when the head came.
            return next.serve(&behind);
        }
        let counts = Some((&*self.metrics, request.core.index));
        let last_modes = &self.last_modes;
        match mode::impersonated(&self.authorizers, request.user, request.info, &wanted, last_modes, counts) {
            Ok(user) => {
                let user = Arc::new(user);
                tracing::debug!(requestor = request.user.name, user = user.name, "impersonating");
                if request.state.body.get() == BodyProgress::Awaited {
                    *request.state.user.borrow_mut() = Some(user.clone());
                }
                next.serve(&Request { user: &user, ..behind })
            }
            Err(status) => Outcome::Ready(nosniff(response_writers::error(request.head, &status))),
        }
    }
}

fn nosniff(mut response: Response) -> Response {
    response.headers.push(("x-content-type-options", "nosniff".to_owned()));
    response
}
