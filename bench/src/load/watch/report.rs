//! What a load of watches tells.

use super::{super::outcome::LoadOutcome, Watcher, Watches};
use std::time::Instant;

impl Watches {
    /// Events that are to come: of each acknowledged update, one to each watcher.
    pub(super) fn expected(&self) -> u64 {
        self.acknowledged * self.watchers.len() as u64
    }

    /// Events of acknowledged updates that did not come.
    fn missing(&self) -> u64 {
        let acknowledged =
            self.updates.iter().enumerate().filter(|(_, update)| update.acknowledged.is_some());
        let mut missing = 0;
        for (number, _) in acknowledged {
            let seen = |watcher: &&Watcher| {
                watcher.seen.get(number / 64).is_some_and(|bits| bits & 1 << (number % 64) != 0)
            };
            missing += (self.watchers.len() - self.watchers.iter().filter(seen).count()) as u64;
        }
        missing
    }

    /// What was measured.
    pub(super) fn report(mut self) -> LoadOutcome {
        let (missing, expected) = (self.missing(), self.expected());
        let wrong = &self.wrong;
        let outcome = &mut self.outcome;
        outcome.operations = self.delivered;
        outcome.errors = missing
            + wrong.duplicates
            + wrong.out_of_order
            + wrong.errors
            + wrong.ended
            + wrong.refused_updates;
        self.since_sent.report(outcome);
        self.window.report(outcome);
        let seconds = self.plan.write.as_secs_f64();
        let rate = self.acknowledged as f64
            / seconds.max((self.last_acknowledged - self.pace_start()).as_secs_f64());
        for (name, value) in [
            ("watches", self.watchers.len() as f64),
            ("watches_ended", self.wrong.ended as f64),
            ("established_ms", self.established_after.as_secs_f64() * 1e3),
            ("updates_due", self.plan.write.as_secs_f64() * self.plan.updates_per_second),
            ("updates_sent", self.updates.len() as f64),
            ("updates_acknowledged", self.acknowledged as f64),
            ("updates_refused", self.wrong.refused_updates as f64),
            ("updates_per_second", rate),
            ("update_p50_us", self.update_latencies.percentile_us(50.0)),
            ("update_p99_us", self.update_latencies.percentile_us(99.0)),
            ("events_expected", expected as f64),
            ("events_delivered", self.delivered as f64),
            ("events_missing", missing as f64),
            ("events_duplicate", self.wrong.duplicates as f64),
            ("events_out_of_order", self.wrong.out_of_order as f64),
            ("events_error", self.wrong.errors as f64),
            ("bookmarks", self.bookmarks as f64),
            ("delay_from_due_p50_us", self.since_due.percentile_us(50.0)),
            ("delay_from_due_p99_us", self.since_due.percentile_us(99.0)),
            ("delay_from_ack_p50_us", self.since_acknowledged.percentile_us(50.0)),
            ("delay_from_ack_p99_us", self.since_acknowledged.percentile_us(99.0)),
        ] {
            self.outcome.extra.insert(name.to_owned(), value);
        }
        self.outcome
    }

    fn pace_start(&self) -> Instant {
        self.updates.first().map_or(self.last_acknowledged, |update| update.due)
    }
}
