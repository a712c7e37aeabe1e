//! Lets requests run as their priority levels and flows have seats: API Priority and Fairness. Where that is off,
//! [`MaxInFlightLimit`] stands in its place.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ringbolt_protocol::request_info::Verb;

use super::{Filter, Handler, chain::ChainConfig, max_in_flight::MaxInFlightLimit};
use crate::{
    core::{Counter, Permit},
    flowcontrol::core::{Arrival, Classified, CoreFlowControl, Verdict},
    limits::{APF_WAIT_MAX, FLOW_BODY_MIN},
    metrics::{Metrics, RequestLabels},
    request::{BodyProgress, Request, is_long_running},
    response::Outcome,
    response_writers,
};

/// Classifies a request, and runs it, has it wait, or answers 429.
///
/// A request whose body is still to come is classified, so that a refusal names its level, but takes no seat: in
/// kube-apiserver handlers read bodies while they hold one, here they get them whole.
pub struct PriorityAndFairness {
    max_in_flight: MaxInFlightLimit,
    metrics: Arc<Metrics>,
    request_timeout: Duration,
}

impl PriorityAndFairness {
    /// The filter.
    pub fn new(config: &ChainConfig) -> Self {
        PriorityAndFairness {
            max_in_flight: MaxInFlightLimit::new(config),
            metrics: config.metrics.clone(),
            request_timeout: config.request_timeout,
        }
    }

    fn refuse(&self, request: &Request<'_>, classified: &Classified) -> Outcome {
        if let Some(labels) = RequestLabels::of(request.head, request.info) {
            self.metrics.observe_termination(request.core.index, &labels, false, 429);
        }
        let seconds = classified.retry_after(request.core.unix_seconds());
        Outcome::Ready(response_writers::too_many_requests_for(seconds))
    }

    /// Until when a request may wait: a quarter of the time it has.
    fn wait_until(&self, request: &Request<'_>, now: Instant) -> Instant {
        let time = match request.deadline {
            Some(deadline) => deadline.saturating_duration_since(request.received),
            None => self.request_timeout,
        };
        now + (time / 4).min(APF_WAIT_MAX)
    }

    fn note_inflight(&self, request: &Request<'_>) {
        let reads = matches!(request.info.verb, Verb::Get | Verb::List | Verb::Watch);
        let counter: Counter = if reads {
            |counters| &counters.readonly_inflight
        } else {
            |counters| &counters.mutating_inflight
        };
        let permit = Permit::take(request.core, counter, u32::MAX);
        let counters = &request.core.counters;
        let (readonly, mutating) = (counters.readonly_inflight.get(), counters.mutating_inflight.get());
        let second = request.core.unix_seconds();
        self.metrics.set_inflight_at(second as u32, request.core.index, readonly, mutating);
        *request.state.permit.borrow_mut() = permit;
    }

    /// Asks for seats.
    #[inline]
    fn begin(
        &self,
        engine: &std::rc::Rc<CoreFlowControl>,
        classified: &Classified,
        request: &Request<'_>,
    ) -> Verdict {
        // A body took its time to come.
        let now = if request.state.is_admitted() { request.core.now() } else { request.received };
        engine.begin(
            classified,
            &Arrival {
                user: request.user,
                info: request.info,
                query: request.head.query(),
                now,
                wait_until: self.wait_until(request, now),
                bytes: request.head.buffer.len(),
                watch: request.info.verb == Verb::Watch,
            },
        )
    }
}

impl Filter for PriorityAndFairness {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        let Some(engine) = request.core.flow_control.get() else {
            return self.max_in_flight.filter(request, next);
        };
        let (info, state) = (request.info, request.state);
        // A watch takes seats until it has begun; others that last take none.
        if is_long_running(info) && info.verb != Verb::Watch {
            return next.serve(request);
        }
        let known = state.classified.borrow().clone();
        let classified = known.unwrap_or_else(|| {
            let classified = engine.classify(request.user, info);
            *state.classified.borrow_mut() = Some(classified.clone());
            classified
        });
        match state.body.get() {
            BodyProgress::Complete => {}
            // Nobody here waits for it.
            BodyProgress::Awaited if next.relays(request) => {}
            BodyProgress::TooLarge => return next.serve(request),
            BodyProgress::Awaited | BodyProgress::Wanted => {
                if engine.would_reject(&classified, request.user, info) {
                    engine.reject(&classified);
                    return self.refuse(request, &classified);
                }
                return next.serve(request);
            }
        }
        if state.refused.get() {
            return self.refuse(request, &classified);
        }
        let waited = state.seat.borrow_mut().take();
        let mut seat = match waited {
            Some(seat) => seat,
            None => match self.begin(engine, &classified, request) {
                Verdict::Run(seat) => seat,
                Verdict::Reject => return self.refuse(request, &classified),
                Verdict::Wait(ticket) => {
                    *state.ticket.borrow_mut() = Some(ticket);
                    // It comes through the chain again, and need not be found out about again.
                    *state.user.borrow_mut() = Some(Arc::new(request.user.clone()));
                    *state.parked_body.borrow_mut() = request.body.clone();
                    return Outcome::Queued;
                }
            },
        };
        self.note_inflight(request);
        let outcome = next.serve(request);
        match &outcome {
            Outcome::Ready(response) => {
                let took = state.took.take().unwrap_or_else(|| request.received.elapsed());
                seat.answered_at_once(request.received + took);
                if response.body.len() >= FLOW_BODY_MIN || state.flow_asked.get() {
                    state.flow.set(Some(classified.flow(request.user, info)));
                }
            }
            Outcome::Task(_) | Outcome::Stream(..) | Outcome::Relay(_) | Outcome::Queued => {
                state.flow.set(Some(classified.flow(request.user, info)));
                seat.lasts(request.user, info);
                if info.verb == Verb::Watch {
                    let watches = &engine.shared().watches;
                    *state.watch.borrow_mut() = watches.register(info, request.head.query());
                }
            }
        }
        *state.seat.borrow_mut() = Some(seat);
        outcome
    }
}
