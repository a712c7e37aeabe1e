//! How many seats a request needs, before it has run.

use std::time::Duration;

use ringbolt_protocol::{
    query,
    request_info::{RequestInfo, Verb},
};

use super::watches::WatchTracker;
use crate::limits::{
    APF_BYTES_PER_SEAT, APF_EVENT_LATENCY, APF_LIST_BYTES_AT_ONCE, APF_LIST_SEATS_MAX,
    APF_MUTATING_SEATS_MAX, APF_WATCHES_PER_SEAT,
};

/// What a request is thought to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats while it runs.
    pub initial_seats: u32,
    /// Seats for a while after its answer, when watchers are told of it.
    pub final_seats: u32,
    /// How long that while is.
    pub additional_latency: Duration,
}

impl WorkEstimate {
    /// So many seats, and nothing afterwards.
    pub const fn seats(seats: u32) -> Self {
        WorkEstimate { initial_seats: seats, final_seats: 0, additional_latency: Duration::ZERO }
    }

    /// What it holds from its beginning to its end.
    pub fn max_seats(&self) -> u32 {
        self.initial_seats.max(self.final_seats)
    }
}

/// What is known of the objects of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectStats {
    /// How many there are.
    pub count: u64,
    /// Bytes of one, on average.
    pub bytes_each: u64,
}

/// Answers for the resource that a request is about; `None` for one that is not stored here.
pub type ObjectStatsOf = dyn Fn(&RequestInfo<'_>) -> Option<ObjectStats> + Send + Sync;

/// Estimates a request at a level that lets one request have `max_seats` at most (`None`: as many as anywhere). The
/// second number is how many watches hear of a write.
pub fn estimate(
    info: &RequestInfo<'_>,
    query: &str,
    max_seats: Option<u32>,
    watches: &WatchTracker,
    stats: &dyn Fn(&RequestInfo<'_>) -> Option<ObjectStats>,
) -> (WorkEstimate, Option<u32>) {
    match info.verb {
        Verb::List | Verb::Watch if info.is_resource_request => {
            (WorkEstimate::seats(list_seats(info, query, max_seats, stats)), None)
        }
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete if info.is_resource_request => {
            // A token is no object: nobody hears of it.
            if info.resource == "serviceaccounts" && info.subresource == "token" {
                return (WorkEstimate::seats(1), None);
            }
            let count = watches.interested(info);
            (write(count, max_seats), Some(count))
        }
        _ => (WorkEstimate::seats(1), None),
    }
}

fn list_seats(
    info: &RequestInfo<'_>,
    query: &str,
    max_seats: Option<u32>,
    stats: &dyn Fn(&RequestInfo<'_>) -> Option<ObjectStats>,
) -> u32 {
    if info.verb == Verb::Watch && !begins_with_a_list(query) {
        return 1;
    }
    let Some(stats) = stats(info) else { return 1 };
    let objects = match limit_of(query) {
        // One object by its name is a look-up.
        _ if !info.name.is_empty() => 1,
        Some(limit) => limit.min(stats.count),
        None => stats.count,
    };
    let bytes = objects.saturating_mul(stats.bytes_each).min(APF_LIST_BYTES_AT_ONCE);
    let most = max_seats.unwrap_or(APF_LIST_SEATS_MAX).clamp(1, APF_LIST_SEATS_MAX);
    (bytes.div_ceil(APF_BYTES_PER_SEAT) as u32).clamp(1, most)
}

/// Whether a watch sends what there is before what changes.
fn begins_with_a_list(query: &str) -> bool {
    let sends = query::get(query, "sendInitialEvents").is_some_and(|value| matches!(&*value, "true" | "1"));
    sends || query::get(query, "resourceVersion").is_none_or(|version| matches!(&*version, "" | "0"))
}

fn limit_of(query: &str) -> Option<u64> {
    query::get(query, "limit")?.parse().ok().filter(|limit| *limit > 0)
}

fn write(watches: u32, max_seats: Option<u32>) -> WorkEstimate {
    if watches < APF_WATCHES_PER_SEAT {
        return WorkEstimate::seats(1);
    }
    let wanted = watches.div_ceil(APF_WATCHES_PER_SEAT);
    let most = max_seats.unwrap_or(APF_MUTATING_SEATS_MAX).clamp(1, APF_MUTATING_SEATS_MAX);
    let final_seats = wanted.min(most);
    // The same work by fewer seats takes longer.
    let additional_latency = APF_EVENT_LATENCY * wanted / final_seats;
    WorkEstimate { initial_seats: 1, final_seats, additional_latency }
}

/// Seats that one request may have at a level with queues, by its nominal seats and the size of a hand.
pub fn max_seats(nominal: u32, hand_size: u32) -> u32 {
    // 15%, rounded up.
    let share = (u64::from(nominal) * 15).div_ceil(100) as u32;
    share.min(nominal / hand_size.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_list(target: &str, count: u64, bytes_each: u64, max_seats: Option<u32>, expect: u32) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let info = RequestInfo::new("GET", path, query).expect("a well-formed path");
        let stats = move |info: &RequestInfo<'_>| {
            (info.api_group.is_empty() && info.resource == "pods")
                .then_some(ObjectStats { count, bytes_each })
        };
        let (found, watches) = estimate(&info, query, max_seats, &WatchTracker::default(), &stats);
        assert_eq!((found, watches), (WorkEstimate::seats(expect), None), "{target} {count}×{bytes_each}");
    }

    #[test]
    fn lists_by_bytes() {
        check_list("/api/v1/pods", 0, 0, None, 1);
        check_list("/api/v1/pods", 100, 1000, None, 1);
        check_list("/api/v1/pods", 101, 1000, None, 2);
        check_list("/api/v1/pods", 100_000, 4000, None, 10);
        check_list("/api/v1/pods", 100_000, 4000, Some(4), 4);
        check_list("/api/v1/pods?limit=100", 100_000, 4000, None, 4);
        check_list("/api/v1/pods?limit=0", 100_000, 4000, None, 10);
        check_list("/api/v1/pods?fieldSelector=metadata.name%3Da", 100_000, 4000, None, 1);
        check_list("/api/v1/pods/a", 100_000, 4000, None, 1);
        check_list("/api/v1/configmaps", 100_000, 4000, None, 1);
        check_list("/version", 100_000, 4000, None, 1);
    }

    #[test]
    fn watches_by_what_they_begin_with() {
        check_list("/api/v1/pods?watch=1", 1000, 1000, None, 10);
        check_list("/api/v1/pods?watch=1&resourceVersion=0", 1000, 1000, None, 10);
        check_list("/api/v1/pods?watch=1&resourceVersion=5", 1000, 1000, None, 1);
        check_list("/api/v1/pods?watch=1&resourceVersion=5&sendInitialEvents=true", 500, 1000, None, 5);
    }

    #[test]
    fn writes_by_who_watches() {
        assert_eq!(write(9, None), WorkEstimate::seats(1));
        let check = |watches, max_seats, seats, latency| {
            let expect = WorkEstimate { initial_seats: 1, final_seats: seats, additional_latency: latency };
            assert_eq!(write(watches, max_seats), expect, "{watches}");
        };
        check(10, None, 1, APF_EVENT_LATENCY);
        check(25, None, 3, APF_EVENT_LATENCY);
        check(1000, None, 10, APF_EVENT_LATENCY * 10);
        check(1000, Some(2), 2, APF_EVENT_LATENCY * 50);
    }

    #[test]
    fn one_request_does_not_get_all_of_a_level() {
        let check = |nominal, hand, expect| assert_eq!(max_seats(nominal, hand), expect, "{nominal} {hand}");
        check(245, 6, 37);
        check(49, 6, 8);
        check(13, 6, 2);
        check(3, 6, 1);
        check(0, 6, 1);
    }
}
