//! Limits what is worked on at once: `--max-requests-inflight` and `--max-mutating-requests-inflight`.

use std::sync::Arc;

use ringbolt_protocol::request_info::Verb;

use super::{Filter, Handler, chain::ChainConfig};
use crate::{
    authentication::user::SYSTEM_PRIVILEGED,
    core::{Counter, Permit},
    metrics::{Metrics, RequestLabels},
    request::{Request, is_long_running},
    response::Outcome,
    response_writers,
};

/// Limits of one core. Cores do not look at each other: each has its share of the server's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Reads; `None` for no limit.
    pub readonly: Option<u32>,
    /// Writes; `None` for no limit.
    pub mutating: Option<u32>,
}

impl Limits {
    /// A core's share of the server's limits, where 0 stands for no limit.
    pub fn per_core(readonly: u32, mutating: u32, cores: usize) -> Self {
        let cores = u32::try_from(cores).unwrap_or(u32::MAX).max(1);
        let share = |limit: u32| (limit > 0).then(|| limit.div_ceil(cores));
        Limits { readonly: share(readonly), mutating: share(mutating) }
    }
}

/// Answers 429 beyond the limits.
pub struct MaxInFlightLimit {
    limits: Limits,
    metrics: Arc<Metrics>,
}

impl MaxInFlightLimit {
    /// The filter.
    pub fn new(config: &ChainConfig) -> Self {
        MaxInFlightLimit { limits: config.max_in_flight, metrics: config.metrics.clone() }
    }
}

impl Filter for MaxInFlightLimit {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if is_long_running(request.info) || request.state.is_admitted() {
            return next.serve(request);
        }
        let reads = matches!(request.info.verb, Verb::Get | Verb::List | Verb::Watch);
        let (limit, counter): (_, Counter) = if reads {
            (self.limits.readonly, |counters| &counters.readonly_inflight)
        } else {
            (self.limits.mutating, |counters| &counters.mutating_inflight)
        };
        if let Some(limit) = limit {
            let permit = Permit::take(request.core, counter, limit);
            // Administrators always get an answer.
            if permit.is_none() && !request.user.is_in_group(SYSTEM_PRIVILEGED) {
                if let Some(labels) = RequestLabels::of(request.head, request.info) {
                    self.metrics.observe_termination(request.core.index, &labels, false, 429);
                }
                return Outcome::Ready(response_writers::too_many_requests());
            }
            let counters = &request.core.counters;
            let (readonly, mutating) = (counters.readonly_inflight.get(), counters.mutating_inflight.get());
            let second = request.core.unix_seconds();
            self.metrics.set_inflight_at(second as u32, request.core.index, readonly, mutating);
            *request.state.permit.borrow_mut() = permit;
        }
        next.serve(request)
    }
}
