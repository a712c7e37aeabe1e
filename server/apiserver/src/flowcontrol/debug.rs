//! `/debug/api_priority_and_fairness/`: levels, queues and requests as they are, as tables of text. `/` lists none of
//! them.

use std::{
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use ringbolt_machinery::time::Moment;
use ringbolt_protocol::{query, request_info::RequestInfo};

use super::{
    FlowControl,
    config::Config,
    dump::{LevelDump, RequestDump},
    estimate::WorkEstimate,
    level::RequestDetails,
    queue_set::SeatNanos,
};
use crate::{
    duration,
    request::Request,
    response::{Outcome, Response, TEXT},
    routes::RouteTableBuilder,
};

/// Asks for what requests are, by any value.
const DETAILS: &str = "includeRequestDetails";
/// Columns are at least so wide, the space behind them included.
const COLUMN_MIN: usize = 8;
/// Go's zero time: when what has not begun began.
const NEVER: &str = "0001-01-01T00:00:00Z";
/// Seat-seconds are told in parts of this many.
const SEAT_SECOND_PARTS: SeatNanos = 100_000_000;

/// Puts the dumps on the route table.
pub fn install(flow_control: &Arc<FlowControl>, routes: &mut RouteTableBuilder) {
    let of = |dump: fn(&FlowControl, &Request<'_>) -> Table| {
        let flow_control = flow_control.clone();
        move |request: &Request<'_>| {
            Outcome::Ready(Response::new(200, TEXT, dump(&flow_control, request).finish()))
        }
    };
    routes
        .unlisted_path(
            "/debug/api_priority_and_fairness/dump_priority_levels",
            of(|flow_control, _| priority_levels(&flow_control.dump())),
        )
        .unlisted_path(
            "/debug/api_priority_and_fairness/dump_queues",
            of(|flow_control, _| queues(&flow_control.dump(), &flow_control.active().config)),
        )
        .unlisted_path(
            "/debug/api_priority_and_fairness/dump_requests",
            of(|flow_control, request| {
                let details =
                    query::get(request.head.query(), DETAILS).is_some_and(|value| !value.is_empty());
                requests(&flow_control.dump(), this(request).as_ref(), details)
            }),
        );
}

fn priority_levels(levels: &[LevelDump]) -> Table {
    let mut table = Table::new(&[
        "PriorityLevelName",
        "ActiveQueues",
        "IsIdle",
        "IsQuiescing",
        "WaitingRequests",
        "ExecutingRequests",
        "DispatchedRequests",
        "RejectedRequests",
        "TimedoutRequests",
        "CancelledRequests",
    ]);
    for level in levels {
        table.row([
            level.name.clone(),
            level.queues.iter().filter(|queue| queue.waiting > 0).count().to_string(),
            level.is_idle.to_string(),
            level.is_quiescing.to_string(),
            level.waiting.to_string(),
            level.executing.to_string(),
            level.dispatched.to_string(),
            level.rejected.to_string(),
            level.timed_out.to_string(),
            level.cancelled.to_string(),
        ]);
    }
    table
}

/// The queues of all levels that have some; those that no request ever needed are not made yet, and empty.
fn queues(levels: &[LevelDump], config: &Config) -> Table {
    let mut table = Table::new(&[
        "PriorityLevelName",
        "Index",
        "PendingRequests",
        "ExecutingRequests",
        "SeatsInUse",
        "NextDispatchR",
        "InitialSeatsSum",
        "MaxSeatsSum",
        "TotalWorkSum",
    ]);
    for level in levels {
        let configured = config.priority_levels().iter().find(|config| config.name == level.name);
        let desired = configured.and_then(|config| config.queuing()).map_or(0, |queuing| queuing.queues);
        for at in 0..level.queues.len().max(desired as usize) {
            let queue = level.queues.get(at).cloned().unwrap_or_default();
            table.row([
                level.name.clone(),
                at.to_string(),
                queue.waiting.to_string(),
                queue.executing.to_string(),
                queue.seats_in_use.to_string(),
                seat_seconds(queue.next_dispatch),
                queue.initial_seats.to_string(),
                queue.max_seats.to_string(),
                seat_seconds(queue.work),
            ]);
        }
    }
    table
}

/// Requests that wait, then those that run, queue by queue. Requests of levels without queues that are answered at once
/// are never seen from outside, but for the one that asks.
fn requests(levels: &[LevelDump], this: Option<&This>, with_details: bool) -> Table {
    let mut columns = vec![
        "PriorityLevelName",
        "FlowSchemaName",
        "QueueIndex",
        "RequestIndexInQueue",
        "FlowDistingsher",
        "ArriveTime",
        "InitialSeats",
        "FinalSeats",
        "AdditionalLatency",
        "StartTime",
    ];
    if with_details {
        columns.extend([
            "UserName",
            "Verb",
            "APIPath",
            "Namespace",
            "Name",
            "APIVersion",
            "Resource",
            "SubResource",
        ]);
    }
    let mut table = Table::new(&columns);
    let clock = Clock::now();
    for level in levels {
        for request in &level.requests {
            table.row(request_row(&level.name, request, Some(request.queue), with_details, &clock));
        }
        if let Some(this) = this.filter(|this| this.priority_level == level.name) {
            table.row(request_row(&level.name, &this.request, None, with_details, &clock));
        }
    }
    table
}

fn request_row(
    level: &str,
    request: &RequestDump,
    queue: Option<usize>,
    with_details: bool,
    clock: &Clock,
) -> Vec<String> {
    let place = |place: Option<usize>| place.map_or("-1".to_owned(), |place| place.to_string());
    let mut row = vec![
        level.to_owned(),
        request.flow_schema.clone(),
        place(queue),
        place(request.place),
        request.distinguisher.clone(),
        clock.text(request.arrived),
        request.estimate.initial_seats.to_string(),
        request.estimate.final_seats.to_string(),
        duration::format(request.estimate.additional_latency),
        request.started.map_or(NEVER.to_owned(), |started| clock.text(started)),
    ];
    if with_details {
        let details = request.details.clone().unwrap_or_default();
        row.extend([
            details.user,
            details.verb.to_owned(),
            details.path,
            details.namespace,
            details.name,
            match (&*details.api_group, &*details.api_version) {
                ("", version) => version.to_owned(),
                (group, version) => format!("{group}/{version}"),
            },
            details.resource,
            details.subresource,
        ]);
    }
    row
}

/// The request that asks for the dump: it runs while it is answered.
struct This {
    priority_level: String,
    request: RequestDump,
}

fn this(request: &Request<'_>) -> Option<This> {
    let classified = request.state.classified.borrow();
    let classified = classified.as_ref()?;
    let info: &RequestInfo<'_> = request.info;
    Some(This {
        priority_level: classified.priority_level().to_owned(),
        request: RequestDump {
            flow_schema: classified.flow_schema().to_owned(),
            queue: 0,
            place: None,
            distinguisher: classified.distinguisher(request.user, info).to_owned(),
            arrived: request.received,
            started: Some(request.received),
            estimate: WorkEstimate::seats(1),
            details: Some(RequestDetails::of(request.user, info)),
        },
    })
}

/// Relates the server's time to that of the world.
struct Clock {
    here: Instant,
    world: SystemTime,
}

impl Clock {
    fn now() -> Clock {
        Clock { here: Instant::now(), world: SystemTime::now() }
    }

    /// RFC 3339 with as many digits as it takes.
    fn text(&self, at: Instant) -> String {
        let world = match at.checked_duration_since(self.here) {
            Some(ahead) => self.world.checked_add(ahead),
            None => self.world.checked_sub(self.here.saturating_duration_since(at)),
        };
        let since = world.and_then(|world| world.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let seconds = Moment { seconds: since.as_secs() as i64, nanos: 0 }.to_time();
        match since.subsec_nanos() {
            0 => seconds,
            nanos => {
                let fraction = format!("{nanos:09}");
                format!("{}.{}Z", seconds.trim_end_matches('Z'), fraction.trim_end_matches('0'))
            }
        }
    }
}

/// `1.50000000ss`
fn seat_seconds(nanos: SeatNanos) -> String {
    let parts = nanos.max(0) / (1_000_000_000 / SEAT_SECOND_PARTS);
    format!("{}.{:08}ss", parts / SEAT_SECOND_PARTS, parts % SEAT_SECOND_PARTS)
}

/// Columns under each other, a comma behind each but the last.
struct Table(Vec<Vec<String>>);

impl Table {
    fn new(columns: &[&str]) -> Table {
        Table(vec![columns.iter().map(|column| (*column).to_owned()).collect()])
    }

    fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.0.push(cells.into());
    }

    fn finish(self) -> String {
        let columns = self.0.first().map_or(0, Vec::len);
        // The comma and a space.
        let width = |column: usize| {
            let cells = self.0.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count() + 2).max().unwrap_or(0).max(COLUMN_MIN)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.0 {
            for (at, cell) in row.iter().enumerate() {
                out.push_str(cell);
                if at + 1 < row.len() {
                    out.push(',');
                    let pad = widths[at].saturating_sub(cell.chars().count() + 1);
                    out.extend(std::iter::repeat_n(' ', pad));
                }
            }
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::flowcontrol::queue_set::QueueDump;

    fn level() -> LevelDump {
        LevelDump {
            name: "workload-low".to_owned(),
            is_quiescing: true,
            waiting: 2,
            executing: 1,
            dispatched: 12_345,
            queues: vec![
                QueueDump {
                    waiting: 2,
                    executing: 1,
                    seats_in_use: 3,
                    next_dispatch: 1_500_000_010,
                    initial_seats: 2,
                    max_seats: 4,
                    work: 6_000_000_000,
                },
                QueueDump::default(),
            ],
            ..LevelDump::default()
        }
    }

    #[test]
    fn levels_stand_under_each_other() {
        let found = priority_levels(&[
            LevelDump { is_idle: true, name: "a".to_owned(), ..LevelDump::default() },
            level(),
        ]);
        assert_eq!(
            found.finish(),
            "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests\n\
             a,                 0,            true,   false,       0,               0,                 0,                  0,                0,                0\n\
             workload-low,      1,            false,  true,        2,               1,                 12345,              0,                0,                0\n"
        );
    }

    #[test]
    fn queues_that_were_never_needed_are_empty() {
        let found = queues(&[level()], &Config::builtin()).finish();
        let mut lines = found.lines();
        assert_eq!(
            lines.next(),
            Some(
                "PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum"
            )
        );
        assert_eq!(
            lines.next(),
            Some(
                "workload-low,      0,      2,               1,                 3,          1.50000001ss,  2,               4,           6.00000000ss"
            )
        );
        assert_eq!(
            lines.next_back(),
            Some(
                "workload-low,      127,    0,               0,                 0,          0.00000000ss,  0,               0,           0.00000000ss"
            )
        );
    }

    #[test]
    fn requests_with_and_without_what_they_are() {
        let request = |place: Option<usize>| RequestDump {
            flow_schema: "service-accounts".to_owned(),
            queue: 7,
            place,
            distinguisher: "u".to_owned(),
            arrived: Instant::now(),
            started: place.is_none().then(Instant::now),
            estimate: WorkEstimate {
                initial_seats: 1,
                final_seats: 3,
                additional_latency: Duration::from_millis(15),
            },
            details: place.map(|_| RequestDetails {
                user: "u".to_owned(),
                verb: "list",
                api_group: "apps".to_owned(),
                api_version: "v1".to_owned(),
                ..RequestDetails::default()
            }),
        };
        let mut level = level();
        level.requests = vec![request(Some(0)), request(None)];
        let found = requests(std::slice::from_ref(&level), None, false).finish();
        let cells: Vec<Vec<&str>> =
            found.lines().map(|line| line.split(',').map(str::trim).collect()).collect();
        assert_eq!(cells.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 10]);
        assert_eq!(cells[1][..5], ["workload-low", "service-accounts", "7", "0", "u"]);
        assert_eq!(cells[1][6..], ["1", "3", "15ms", NEVER]);
        assert_eq!(cells[2][3], "-1");
        assert_ne!(cells[2][9], NEVER);
        let this = This { priority_level: level.name.clone(), request: request(None) };
        let found = requests(&[level], Some(&this), true).finish();
        let cells: Vec<Vec<&str>> =
            found.lines().map(|line| line.split(',').map(str::trim).collect()).collect();
        assert_eq!(cells[1][10..], ["u", "list", "", "", "", "apps/v1", "", ""]);
        assert_eq!(cells[3][2..4], ["-1", "-1"]);
        assert_eq!(cells.len(), 4);
    }

    #[test]
    fn times_have_the_digits_they_need() {
        let here = Instant::now();
        let clock = Clock { here, world: UNIX_EPOCH + Duration::from_millis(1_700_000_000_250) };
        assert_eq!(clock.text(here), "2023-11-14T22:13:20.25Z");
        assert_eq!(clock.text(here + Duration::from_millis(750)), "2023-11-14T22:13:21Z");
        if let Some(before) = here.checked_sub(Duration::from_millis(250)) {
            assert_eq!(clock.text(before), "2023-11-14T22:13:20Z");
        }
    }
}
