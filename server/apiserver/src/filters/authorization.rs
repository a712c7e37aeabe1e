//! Lets through what the user may do.

use std::{borrow::Cow, sync::Arc, time::Instant};

use ringbolt_protocol::request_info::Verb;

use super::{Filter, Handler, chain::ChainConfig};
use crate::{
    authorization::{Authorizers, Decision, forbidden_verb},
    metrics::{self, Metrics},
    request::Request,
    response::Outcome,
    response_writers,
};

/// Answers 403 to what no authorizer allows.
pub struct Authorization {
    authorizers: Arc<Authorizers>,
    metrics: Arc<Metrics>,
}

impl Authorization {
    /// The filter.
    pub fn new(config: &ChainConfig) -> Self {
        Authorization { authorizers: config.authorizers.clone(), metrics: config.metrics.clone() }
    }
}

/// The verb that policies go by: a method that nobody knows is one by its own name.
fn verb(request: &Request<'_>) -> Cow<'static, str> {
    match request.info.verb {
        Verb::Other => Cow::Owned(request.head.method.to_ascii_lowercase()),
        verb => Cow::Borrowed(verb.as_str()),
    }
}

impl Filter for Authorization {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if request.state.is_admitted() {
            return next.serve(request);
        }
        let begun = request.state.authenticated.take().unwrap_or_else(Instant::now);
        let verb = &*verb(request);
        let decision = self.authorizers.authorize_verb(request.user, verb, request.info);
        let result = match decision {
            Decision::Allow => metrics::Authorization::Allowed,
            Decision::NoOpinion(_) => metrics::Authorization::NoOpinion,
        };
        self.metrics.observe_authorization(request.core.index, result, begun.elapsed());
        match decision {
            Decision::Allow => next.serve(request),
            Decision::NoOpinion(reason) => {
                let status = forbidden_verb(request.user, verb, request.info, &reason);
                let mut response = response_writers::error(request.head, &status);
                response.headers.push(("x-content-type-options", "nosniff".to_owned()));
                Outcome::Ready(response)
            }
        }
    }
}
