//! Counts requests that reached the route table: at once where the answer is ready, else when it is out.

use std::{sync::Arc, time::Instant};

use ringbolt_protocol::request_info::Verb;

use crate::{
    metrics::{Metrics, RequestLabels, SeriesId},
    request::{Request, is_long_running},
    response::Outcome,
};

/// A request whose answer is not out yet. What is dropped unanswered was given up by the client.
pub struct Monitored {
    metrics: Arc<Metrics>,
    core: usize,
    begun: Instant,
    labels: OwnedLabels,
    long_running: Option<SeriesId>,
    /// Status and bytes of what another server has answered so far.
    relayed: (u16, u64),
}

/// [`RequestLabels`] that outlive the request's bytes.
struct OwnedLabels {
    rest: RequestLabels<'static>,
    group: Box<str>,
    version: Box<str>,
    resource: Box<str>,
    subresource: Box<str>,
}

impl OwnedLabels {
    fn new(labels: &RequestLabels<'_>) -> Self {
        OwnedLabels {
            group: labels.group.into(),
            version: labels.version.into(),
            resource: labels.resource.into(),
            subresource: labels.subresource.into(),
            rest: RequestLabels { group: "", version: "", resource: "", subresource: "", ..*labels },
        }
    }

    fn borrow(&self) -> RequestLabels<'_> {
        RequestLabels {
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: &self.subresource,
            ..self.rest
        }
    }
}

/// Counts a request, or has it counted later. `is_known` says whether the route table has its resource: names that
/// only a client made up become no labels.
pub fn observe(
    metrics: &Arc<Metrics>,
    request: &Request<'_>,
    outcome: &Outcome,
    is_known: impl FnOnce() -> bool,
) {
    let Some(labels) = RequestLabels::of(request.head, request.info) else { return };
    let core = request.core.index;
    match outcome {
        Outcome::Ready(response) => {
            // Only these may mean that there is no such resource.
            let known = !matches!(response.status, 404 | 405) || is_known();
            let (took, bytes) = (request.received.elapsed(), response.body.len() as u64);
            metrics.observe_request(core, &labels, known, response.status, took, bytes);
            request.state.took.set(Some(took));
        }
        // Nobody waits for seats behind the filters.
        Outcome::Queued => {}
        Outcome::Relay(relay) if !relay.is_counted() => {}
        Outcome::Task(_) | Outcome::Stream(..) | Outcome::Relay(_) => {
            let bytes = request.body.len() as u64;
            let verb = request.info.verb;
            if bytes > 0
                && matches!(
                    verb,
                    Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection
                )
            {
                metrics.observe_body(core, labels.group, labels.resource, verb.as_str(), bytes);
            }
            let streams = !matches!(outcome, Outcome::Task(_)) && is_long_running(request.info);
            *request.state.monitored.borrow_mut() = Some(Monitored {
                metrics: metrics.clone(),
                core,
                begun: request.received,
                long_running: streams.then(|| metrics.begin_long_running(core, &labels, true)),
                relayed: (0, 0),
                labels: OwnedLabels::new(&labels),
            });
        }
    }
}

impl Monitored {
    /// Another server's answer has begun.
    pub fn relay_begins(&mut self, code: u16) {
        self.relayed.0 = code;
    }

    /// So many bytes of it went out.
    pub fn relay_sends(&mut self, bytes: usize) {
        self.relayed.1 += bytes as u64;
    }

    /// It is at its end.
    pub fn relay_ends(self) {
        let (code, bytes) = self.relayed;
        self.answered(code, bytes);
    }

    /// The whole answer is out.
    pub fn answered(self, code: u16, bytes: u64) {
        let labels = self.labels.borrow();
        self.metrics.observe_request(self.core, &labels, true, code, self.begun.elapsed(), bytes);
        if code == 504 {
            self.metrics.observe_termination(self.core, &labels, true, code);
        }
    }
}

impl Drop for Monitored {
    fn drop(&mut self) {
        if let Some(series) = self.long_running.take() {
            self.metrics.end_long_running(self.core, series);
        }
    }
}
