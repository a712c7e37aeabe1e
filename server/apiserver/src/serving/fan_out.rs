//! How soon a core hands out events again after it has woken many watches for the last ones.
//!
//! What a connection costs to be written to is hardly more for three events than for one, and a watch that shares its
//! connection with others costs less for three than for three times one. Where hundreds of watches are on the same
//! objects, events that come close after one another are handed out together: a core rests for longer the more
//! watches it has just woken, and not at all where there were few. The first event after a pause never waits.

use std::time::Instant;

use crate::limits::{FAN_OUT_CONNECTIONS_MIN, FAN_OUT_REST, FAN_OUT_REST_MAX, FAN_OUT_WATCHES_MIN};

/// When events may be handed out.
pub(super) struct FanOut {
    rests_until: Instant,
}

impl FanOut {
    /// At once.
    pub(super) fn new(now: Instant) -> FanOut {
        FanOut { rests_until: now }
    }

    /// Whether it rests at this time.
    pub(super) fn rests(&self, now: Instant) -> bool {
        now < self.rests_until
    }

    /// When it has rested.
    pub(super) fn rests_until(&self) -> Instant {
        self.rests_until
    }

    /// Events were handed out, and so many watches woken for them, on so many connections.
    pub(super) fn done(&mut self, now: Instant, connections: usize, watches: usize) {
        let many = match watches >= FAN_OUT_WATCHES_MIN {
            true => watches,
            false if connections >= FAN_OUT_CONNECTIONS_MIN => connections,
            false => return,
        };
        let rest = FAN_OUT_REST.saturating_mul(u32::try_from(many).unwrap_or(u32::MAX));
        self.rests_until = now + rest.min(FAN_OUT_REST_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rests_after_many_watches_alone() {
        let start = Instant::now();
        let mut fan_out = FanOut::new(start);
        assert!(!fan_out.rests(start), "the first event does not wait");
        fan_out.done(start, FAN_OUT_CONNECTIONS_MIN - 1, FAN_OUT_WATCHES_MIN - 1);
        assert!(!fan_out.rests(start));
        for (connections, watches) in
            [(FAN_OUT_CONNECTIONS_MIN, FAN_OUT_CONNECTIONS_MIN), (1, FAN_OUT_WATCHES_MIN)]
        {
            let mut fan_out = FanOut::new(start);
            fan_out.done(start, connections, watches);
            assert!(fan_out.rests(start));
            let rest = fan_out.rests_until() - start;
            assert!(rest < FAN_OUT_REST_MAX, "{rest:?}");
            assert!(!fan_out.rests(start + rest));
        }
        fan_out.done(start, 1, usize::MAX);
        assert_eq!(fan_out.rests_until() - start, FAN_OUT_REST_MAX);
        assert!(
            FAN_OUT_REST_MAX < Duration::from_millis(20),
            "what a watch may take at most, here and on the wire"
        );
    }
}
