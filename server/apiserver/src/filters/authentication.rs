//! Finds out who asks.

use std::{sync::Arc, time::Instant};

use ringbolt_machinery::status::Status;
use ringbolt_protocol::head::Version;

use super::{Filter, Handler, chain::ChainConfig};
use crate::{
    authentication::{Authenticators, Refusal, service_account::Lookup},
    metrics::{self, Metrics},
    request::{BodyProgress, Request},
    response::Outcome,
    response_writers,
};

/// Fills [`Request::user`], or answers 401.
///
/// Credentials are not taken out of the head: nothing behind this filter reads `Authorization`, and what forwards
/// heads to other servers has a list of what it forwards.
pub struct Authentication {
    authenticators: Arc<Authenticators>,
    metrics: Arc<Metrics>,
}

impl Authentication {
    /// The filter.
    pub fn new(config: &ChainConfig) -> Self {
        Authentication { authenticators: config.authenticators.clone(), metrics: config.metrics.clone() }
    }
}

impl Filter for Authentication {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        let admitted = request.state.user.borrow().clone();
        if let Some(user) = admitted {
            return next.serve(&Request { user: &user, ..request.clone() });
        }
        let at = Lookup { warnings: Some(request.warnings), ..request.core.token_lookup() };
        let found = self.authenticators.authenticate(request.peer, request.head, request.info.path, &at);
        let result = match found {
            Ok(_) => metrics::Authentication::Success,
            Err(Refusal::Unknown) => metrics::Authentication::Failure,
            Err(Refusal::Failed) => metrics::Authentication::Error,
        };
        let found = found.ok();
        let name = found.as_ref().map(|user| user.name.as_str());
        // It began when the head was there: what lies between is less than looking at the clock again.
        let done = Instant::now();
        request.state.authenticated.set(Some(done));
        let took = done.saturating_duration_since(request.received);
        self.metrics.observe_authentication(request.core.index, result, name, took);
        // Connections of unknown clients do not live on in HTTP/2, where one client can do too much on one of
        // them (CVE-2023-44487; gate UnauthenticatedHTTP2DOSMitigation, on).
        if request.head.version == Version::Http2 && found.as_ref().is_none_or(|user| user.is_anonymous()) {
            request.state.close.set(true);
        }
        if request.state.body.get() == BodyProgress::Awaited {
            request.state.user.borrow_mut().clone_from(&found);
        }
        match found {
            Some(user) => next.serve(&Request { user: &user, ..request.clone() }),
            None => {
                let status = Status::unauthorized("Unauthorized");
                Outcome::Ready(response_writers::error(request.head, &status))
            }
        }
    }
}
