//! The families of API Priority and Fairness: read from what the cores count of each flow, and from the levels.

use std::collections::HashSet;

use super::{
    exposition::{Bounds, Exposition, Family, Kind},
    value::HistogramSnapshot,
};
use crate::flowcontrol::{
    FlowControl,
    level::Level,
    stats::{
        Cell, DURATION_BUCKETS, FlowCells, FlowStats, Histogram, QUEUE_LENGTH_BUCKETS, Rejection,
        SEATS_BUCKETS, WATCH_COUNT_BUCKETS,
    },
};

const NANOS: f64 = 1e9;
/// The bucket of queues of one request.
const ALONE: usize = 1;
const _: () = assert!(QUEUE_LENGTH_BUCKETS[ALONE - 1] < 1.0 && QUEUE_LENGTH_BUCKETS[ALONE] >= 1.0);

const fn family(name: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, help, kind }
}

const REJECTED: Family = family(
    "apiserver_flowcontrol_rejected_requests_total",
    "[BETA] Requests that priority and fairness turned away, and why.",
    Kind::Counter,
);
const DISPATCHED: Family = family(
    "apiserver_flowcontrol_dispatched_requests_total",
    "[BETA] Requests that priority and fairness let run.",
    Kind::Counter,
);
const INQUEUE: Family = family(
    "apiserver_flowcontrol_current_inqueue_requests",
    "[BETA] Requests that wait for seats.",
    Kind::Gauge,
);
const INQUEUE_SEATS: Family = family(
    "apiserver_flowcontrol_current_inqueue_seats",
    "[ALPHA] Seats that requests wait for.",
    Kind::Gauge,
);
const EXECUTING: Family = family(
    "apiserver_flowcontrol_current_executing_requests",
    "[BETA] Requests that run; watches only while they begin.",
    Kind::Gauge,
);
const EXECUTING_SEATS: Family = family(
    "apiserver_flowcontrol_current_executing_seats",
    "[BETA] Seats of the requests that run; of watches only while they begin.",
    Kind::Gauge,
);
const WAITED: Family = family(
    "apiserver_flowcontrol_request_wait_duration_seconds",
    "[BETA] Seconds that requests waited in a queue, and whether they ran after it.",
    Kind::Histogram,
);
const EXECUTED: Family = family(
    "apiserver_flowcontrol_request_execution_seconds",
    "[ALPHA] Seconds that requests ran, watches until they had begun.",
    Kind::Histogram,
);
const QUEUE_LENGTH: Family = family(
    "apiserver_flowcontrol_request_queue_length_after_enqueue",
    "[ALPHA] Length of a queue as each request saw it that joined.",
    Kind::Histogram,
);
const WATCH_COUNT: Family = family(
    "apiserver_flowcontrol_watch_count_samples",
    "[ALPHA] Watches that hear of a write, as each write saw it.",
    Kind::Histogram,
);
const ESTIMATED_SEATS: Family = family(
    "apiserver_flowcontrol_work_estimated_seats",
    "[ALPHA] Seats that requests were taken to need, at first or at the end.",
    Kind::Histogram,
);
const NO_ACCOMMODATION: Family = family(
    "apiserver_flowcontrol_request_dispatch_no_accommodation_total",
    "[ALPHA] Requests that came and found no seat free.",
    Kind::Counter,
);
const NOMINAL: Family = family(
    "apiserver_flowcontrol_nominal_limit_seats",
    "[BETA] Seats that a level has by its shares.",
    Kind::Gauge,
);
const LOWER: Family =
    family("apiserver_flowcontrol_lower_limit_seats", "[ALPHA] Seats that a level never lends.", Kind::Gauge);
const UPPER: Family = family(
    "apiserver_flowcontrol_upper_limit_seats",
    "[ALPHA] Seats that a level may have with those it borrows.",
    Kind::Gauge,
);
const CURRENT_LIMIT: Family = family(
    "apiserver_flowcontrol_current_limit_seats",
    "[ALPHA] Seats that a level has since they were lent last.",
    Kind::Gauge,
);
const DEMAND_HIGH: Family = family(
    "apiserver_flowcontrol_demand_seats_high_watermark",
    "[ALPHA] Most seats that a level wanted at once in the last period of lending.",
    Kind::Gauge,
);
const DEMAND_AVERAGE: Family = family(
    "apiserver_flowcontrol_demand_seats_average",
    "[ALPHA] Seats that a level wanted on average in the last period of lending.",
    Kind::Gauge,
);
const DEMAND_DEVIATION: Family = family(
    "apiserver_flowcontrol_demand_seats_stdev",
    "[ALPHA] Standard deviation of the seats that a level wanted in the last period of lending.",
    Kind::Gauge,
);
const DEMAND_SMOOTHED: Family = family(
    "apiserver_flowcontrol_demand_seats_smoothed",
    "[ALPHA] Seats that a level is thought to want, smoothed over periods of lending.",
    Kind::Gauge,
);
const TARGET: Family = family(
    "apiserver_flowcontrol_target_seats",
    "[ALPHA] Seats that a level would get at the last lending without bounds.",
    Kind::Gauge,
);
const FAIR_FRACTION: Family = family(
    "apiserver_flowcontrol_seat_fair_frac",
    "[ALPHA] Part of its target that a level without bounds got at the last lending.",
    Kind::Gauge,
);
const CURRENT_R: Family = family(
    "apiserver_flowcontrol_current_r",
    "[ALPHA] Virtual time of a level's queues, in seconds; of the core that is furthest.",
    Kind::Gauge,
);

/// Writes all families.
pub(super) fn collect(flow_control: &FlowControl, out: &mut Exposition) {
    let active = flow_control.active();
    let with_queues: HashSet<&str> = active
        .config
        .priority_levels()
        .iter()
        .filter(|level| level.queuing().is_some())
        .map(|level| level.name.as_str())
        .collect();
    for flow in flow_control.flows() {
        collect_flow(&flow, with_queues.contains(flow.priority_level.as_str()), out);
    }
    for level in active.levels.iter().chain(active.in_use_still()) {
        collect_level(level, out);
    }
    out.sample(&FAIR_FRACTION, &[], flow_control.fair_fraction());
}

/// Forgets what was counted of all flows.
pub(super) fn reset(flow_control: &FlowControl) {
    flow_control.flows().iter().flat_map(|flow| flow.cores()).for_each(FlowCells::reset);
}

fn collect_flow(flow: &FlowStats, has_queues: bool, out: &mut Exposition) {
    let sum = |of: fn(&FlowCells) -> &Cell| flow.sum(of);
    let (waiting, executing) = (sum(|cells| &cells.waiting), sum(|cells| &cells.executing));
    let dispatched = sum(|cells| &cells.dispatched);
    let rejected = Rejection::ALL.map(|why| flow.sum(|cells| &cells.rejected[why as usize]));
    // Of a schema that no request belonged to yet there is nothing to say.
    if [waiting, executing, dispatched].iter().chain(&rejected).all(|count| *count == 0) {
        return;
    }
    let labels =
        [("flow_schema", flow.flow_schema.as_str()), ("priority_level", flow.priority_level.as_str())];
    out.sample(&DISPATCHED, &labels, dispatched as f64);
    for (why, count) in Rejection::ALL.into_iter().zip(rejected).filter(|(_, count)| *count > 0) {
        out.sample(&REJECTED, &[labels[0], labels[1], ("reason", why.as_str())], count as f64);
    }
    out.sample(&EXECUTING, &labels, executing as f64);
    out.sample(&EXECUTING_SEATS, &labels, sum(|cells| &cells.executing_seats) as f64);
    out.family(&INQUEUE);
    out.family(&INQUEUE_SEATS);
    if has_queues || waiting > 0 {
        out.sample(&INQUEUE, &labels, waiting as f64);
        out.sample(&INQUEUE_SEATS, &labels, sum(|cells| &cells.waiting_seats) as f64);
    }

    let mut durations = |family: &Family, labels: &[(&str, &str)], of: fn(&FlowCells) -> &Histogram<13>| {
        histogram(out, family, labels, (&DURATION_BUCKETS, NANOS), &merged(flow, of));
    };
    let executed = |value| [("execute", value), labels[0], labels[1]];
    durations(&WAITED, &executed("true"), |cells| &cells.waited);
    durations(&WAITED, &executed("false"), |cells| &cells.waited_in_vain);
    let kind = |value| [labels[0], labels[1], ("type", value)];
    durations(&EXECUTED, &kind("regular"), |cells| &cells.executed);
    durations(&EXECUTED, &kind("watch"), |cells| &cells.watches_executed);

    let mut lengths = merged(flow, |cells| &cells.queue_lengths);
    out.family(&NO_ACCOMMODATION);
    let unaccommodated = lengths.count() + rejected[Rejection::ConcurrencyLimit as usize];
    if unaccommodated > 0 {
        out.sample(&NO_ACCOMMODATION, &labels, unaccommodated as f64);
    }
    if has_queues {
        // Who found a seat joined no queue; in kube-apiserver they join one, and see themselves alone there.
        let waited = lengths.count().saturating_sub(waiting + rejected[Rejection::TimeOut as usize]);
        let at_once = dispatched.saturating_sub(waited);
        lengths.buckets[ALONE] += at_once;
        lengths.sum += at_once;
    }
    histogram(out, &QUEUE_LENGTH, &labels, (&QUEUE_LENGTH_BUCKETS, 1.0), &lengths);
    let seats = merged(flow, |cells| &cells.estimated_seats);
    histogram(out, &ESTIMATED_SEATS, &labels, (&SEATS_BUCKETS, 1.0), &seats);
    let watches = merged(flow, |cells| &cells.watch_counts);
    histogram(out, &WATCH_COUNT, &labels, (&WATCH_COUNT_BUCKETS, 1.0), &watches);
}

fn merged<const B: usize>(
    flow: &FlowStats,
    of: impl Fn(&FlowCells) -> &Histogram<B>,
) -> HistogramSnapshot<B> {
    let mut counts = vec![0; B + 1];
    let mut snapshot = HistogramSnapshot::default();
    for cells in flow.cores() {
        snapshot.sum += of(cells).add_to(&mut counts);
    }
    let (buckets, beyond) = counts.split_at(B);
    snapshot.buckets.copy_from_slice(buckets);
    snapshot.beyond = beyond[0];
    snapshot
}

/// A histogram, where something was counted.
fn histogram<const B: usize>(
    out: &mut Exposition,
    family: &Family,
    labels: &[(&str, &str)],
    (bounds, scale): (&[f64; B], f64),
    values: &HistogramSnapshot<B>,
) {
    out.family(family);
    if values.count() > 0 {
        out.histogram(family, labels, Bounds { labels: bounds, scale }, values);
    }
}

fn collect_level(level: &Level, out: &mut Exposition) {
    let labels = [("priority_level", level.name.as_str())];
    let (bounds, demand) = (level.bounds(), level.demand());
    for (family, value) in [
        (&NOMINAL, f64::from(bounds.nominal)),
        (&LOWER, f64::from(bounds.lower)),
        (&UPPER, f64::from(bounds.upper)),
        (&CURRENT_LIMIT, f64::from(level.limit())),
        (&DEMAND_HIGH, f64::from(demand.high_watermark)),
        (&DEMAND_AVERAGE, demand.average),
        (&DEMAND_DEVIATION, demand.deviation),
        (&DEMAND_SMOOTHED, demand.smoothed),
        (&TARGET, level.target()),
        (&CURRENT_R, level.virtual_time() as f64 / NANOS),
    ] {
        out.sample(family, &labels, value);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_was_counted_is_shown_by_schema_and_level() {
        let flow_control = FlowControl::new(600, 2, Instant::now());
        let active = flow_control.active();
        let flow = active.flows.iter().find(|flow| flow.flow_schema == "global-default").unwrap();
        // Four found a seat, one waited for one, one waits, one did not wait to the end, one found a full queue.
        flow.core(0).dispatched.add(3);
        flow.core(1).dispatched.add(2);
        [2, 3, 4].into_iter().for_each(|length| flow.core(1).observe_queue_length(length));
        flow.core(1).waiting.add(1);
        flow.core(1).reject(Rejection::TimeOut, Duration::from_secs(15));
        flow.core(0).reject(Rejection::QueueFull, Duration::ZERO);
        let render = || {
            let mut out = Exposition::default();
            collect(&flow_control, &mut out);
            out.finish()
        };
        let text = render();
        let labels = r#"flow_schema="global-default",priority_level="global-default""#;
        let check = |name: &str, labels: &str, value: &str| {
            let line = format!("apiserver_flowcontrol_{name}{{{labels}}} {value}");
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        };
        check("dispatched_requests_total", labels, "5");
        check("rejected_requests_total", &format!(r#"{labels},reason="time-out""#), "1");
        check("rejected_requests_total", &format!(r#"{labels},reason="queue-full""#), "1");
        check("current_inqueue_requests", labels, "1");
        check("request_dispatch_no_accommodation_total", labels, "3");
        check("request_queue_length_after_enqueue_count", labels, "7");
        check("request_queue_length_after_enqueue_sum", labels, "13");
        check("request_queue_length_after_enqueue_bucket", &format!(r#"{labels},le="0""#), "0");
        check("request_wait_duration_seconds_count", &format!(r#"execute="false",{labels}"#), "2");
        // 600 seats by 20 of 245 shares, rounded up; half of them are lent.
        check("nominal_limit_seats", r#"priority_level="global-default""#, "49");
        check("lower_limit_seats", r#"priority_level="global-default""#, "24");
        check("upper_limit_seats", r#"priority_level="global-default""#, "649");
        assert!(!text.contains(r#"flow_schema="probes""#), "nothing was asked of it");
        reset(&flow_control);
        let text = render();
        assert!(text.contains(&format!("apiserver_flowcontrol_current_inqueue_requests{{{labels}}} 1")));
        assert!(text.contains(&format!("apiserver_flowcontrol_dispatched_requests_total{{{labels}}} 0")));
    }
}
