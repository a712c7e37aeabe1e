//! Limits what is worked on at once: `--max-requests-inflight` and `--max-mutating-requests-inflight`.

use ringbolt_protocol::request_info::Verb;

use super::{Filter, Handler};
use crate::{
    authentication::user::SYSTEM_PRIVILEGED,
    core::{Counter, Permit},
    request::{Request, is_long_running},
    response::Outcome,
    response_writers,
};

/// Limits of one core. Cores do not look at each other: each has its share of the server's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxInFlightLimit {
    /// Reads; `None` for no limit.
    pub readonly: Option<u32>,
    /// Writes; `None` for no limit.
    pub mutating: Option<u32>,
}

impl MaxInFlightLimit {
    /// A core's share of the server's limits, where 0 stands for no limit.
    pub fn per_core(readonly: u32, mutating: u32, cores: usize) -> Self {
        let cores = u32::try_from(cores).unwrap_or(u32::MAX).max(1);
        let share = |limit: u32| (limit > 0).then(|| limit.div_ceil(cores));
        MaxInFlightLimit { readonly: share(readonly), mutating: share(mutating) }
    }
}

impl Filter for MaxInFlightLimit {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if is_long_running(&request.info) {
            return next.serve(request);
        }
        let reads = matches!(request.info.verb, Verb::Get | Verb::List | Verb::Watch);
        let (limit, counter): (_, Counter) = if reads {
            (self.readonly, |counters| &counters.readonly_inflight)
        } else {
            (self.mutating, |counters| &counters.mutating_inflight)
        };
        if let Some(limit) = limit {
            let permit = Permit::take(request.core, counter, limit);
            // Administrators always get an answer.
            if permit.is_none() && !request.user.is_in_group(SYSTEM_PRIVILEGED) {
                return Outcome::Ready(response_writers::too_many_requests());
            }
            *request.state.permit.borrow_mut() = permit;
        }
        next.serve(request)
    }
}
