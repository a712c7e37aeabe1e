//! What can be seen of levels, queues and requests at a moment: `/debug/api_priority_and_fairness/`.

use std::time::Instant;

use super::{
    FlowControl,
    estimate::WorkEstimate,
    level::{Level, RequestDetails},
    queue_set::QueueDump,
    stats::{Cell, FlowCells, FlowStats, Rejection},
};

/// A level.
#[derive(Clone, Debug, Default)]
pub struct LevelDump {
    /// Its name.
    pub name: String,
    /// Queues with requests that wait or run.
    pub active_queues: usize,
    /// Nobody is in it.
    pub is_idle: bool,
    /// No configuration has it any more.
    pub is_quiescing: bool,
    /// Requests that wait.
    pub waiting: u64,
    /// Requests that run.
    pub executing: u64,
    /// Requests that were let run.
    pub dispatched: u64,
    /// Requests that were turned away.
    pub rejected: u64,
    /// Requests of those that waited too long.
    pub timed_out: u64,
    /// Requests of those that their clients gave up.
    pub cancelled: u64,
    /// Its queues, those of all cores in one.
    pub queues: Vec<QueueDump>,
    /// Requests that wait, and those that run and last.
    pub requests: Vec<RequestDump>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct RequestDump {
    /// The schema.
    pub flow_schema: String,
    /// Its queue.
    pub queue: usize,
    /// Its place there while it waits.
    pub place: Option<usize>,
    /// What tells its flow from others.
    pub distinguisher: String,
    /// When it came.
    pub arrived: Instant,
    /// When it was let run.
    pub started: Option<Instant>,
    /// What it is thought to take.
    pub estimate: WorkEstimate,
    /// What it is; of those that wait or have waited.
    pub details: Option<RequestDetails>,
}

impl FlowControl {
    /// All levels, by name.
    pub fn dump(&self) -> Vec<LevelDump> {
        let (active, flows) = (self.active(), self.flows());
        let mut levels: Vec<LevelDump> = active
            .levels
            .iter()
            .map(|level| (level, false))
            .chain(active.in_use_still().map(|level| (level, true)))
            .map(|(level, quiescing)| dump(level, quiescing, &flows))
            .collect();
        levels.sort_by(|a, b| a.name.cmp(&b.name));
        levels
    }
}

fn dump(level: &Level, is_quiescing: bool, flows: &[std::sync::Arc<FlowStats>]) -> LevelDump {
    let sum = |of: &dyn Fn(&FlowCells) -> &Cell| -> u64 {
        flows.iter().filter(|flow| flow.priority_level == level.name).map(|flow| flow.sum(of)).sum()
    };
    let rejected = |why: Rejection| sum(&|cells| &cells.rejected[why as usize]);
    let cancelled = sum(&|cells| &cells.cancelled);
    let mut found = LevelDump {
        name: level.name.clone(),
        is_quiescing,
        waiting: sum(&|cells| &cells.waiting),
        executing: sum(&|cells| &cells.executing),
        dispatched: sum(&|cells| &cells.dispatched),
        rejected: Rejection::ALL.into_iter().map(rejected).sum(),
        timed_out: rejected(Rejection::TimeOut).saturating_sub(cancelled),
        cancelled,
        ..LevelDump::default()
    };
    for core in level.cores() {
        let queues = core.queues();
        let Some(set) = queues.as_ref() else { continue };
        for (at, queue) in set.dump().into_iter().enumerate() {
            match found.queues.get_mut(at) {
                Some(into) => {
                    into.waiting += queue.waiting;
                    into.executing += queue.executing;
                    into.seats_in_use += queue.seats_in_use;
                    into.next_dispatch = into.next_dispatch.max(queue.next_dispatch);
                    into.initial_seats += queue.initial_seats;
                    into.max_seats += queue.max_seats;
                    into.work += queue.work;
                }
                None => found.queues.push(queue),
            }
        }
        found.requests.extend(set.requests().map(|(queue, place, request)| RequestDump {
            flow_schema: request.payload.flow_schema.to_string(),
            queue,
            place,
            distinguisher: request.payload.distinguisher.to_string(),
            arrived: request.arrived,
            started: request.started,
            estimate: request.estimate,
            details: request.payload.details.as_deref().cloned(),
        }));
    }
    found.requests.sort_by_key(|request| (request.queue, request.place.is_none(), request.place));
    found.active_queues = found.queues.iter().filter(|queue| queue.waiting + queue.executing > 0).count();
    found.is_idle = found.waiting == 0 && found.executing == 0;
    found
}
