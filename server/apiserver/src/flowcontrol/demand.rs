//! How many seats a level could use: what lending among levels goes by.

use std::time::Duration;

use super::stats::Cell;
use crate::limits::APF_DEMAND_SMOOTHING;

/// What one core wants of one level over time. The core writes, whoever lends reads.
#[derive(Debug, Default)]
pub struct Demand {
    /// Seats that are taken or waited for by requests that last.
    current: Cell,
    /// Since when, in nanoseconds of the server's time.
    since: Cell,
    /// Seats times nanoseconds, and their squares. They wrap: only differences count.
    integral: Cell,
    integral_of_squares: Cell,
    /// Most at once since it was looked at.
    high: Cell,
}

/// Integrals as they were read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    integral: u64,
    integral_of_squares: u64,
}

impl Demand {
    /// From now on so many.
    pub fn set(&self, seats: u64, now: u64) {
        self.fold(now);
        self.current.set(seats);
        if seats > self.high.get() {
            self.high.set(seats);
        }
    }

    /// From now on so many more, or fewer.
    pub fn change(&self, by: i64, now: u64) {
        self.set(self.current.get().saturating_add_signed(by), now);
    }

    /// Seats that were taken for a moment, beside the current ones.
    #[inline]
    pub fn pulse(&self, seats: u64, took: u64) {
        let current = self.current.get();
        if current + seats > self.high.get() {
            self.high.set(current + seats);
        }
        self.integral.add(seats.wrapping_mul(took));
        self.integral_of_squares.add((2 * current + seats).wrapping_mul(seats).wrapping_mul(took));
    }

    fn fold(&self, now: u64) {
        let (current, passed) = (self.current.get(), now.saturating_sub(self.since.get()));
        self.integral.add(current.wrapping_mul(passed));
        self.integral_of_squares.add(current.wrapping_mul(current).wrapping_mul(passed));
        self.since.set(self.since.get().max(now));
    }

    /// The integrals up to now, read by another thread: what the core changes meanwhile is in this reading or the next.
    fn read(&self, now: u64) -> Reading {
        let (current, passed) = (self.current.get(), now.saturating_sub(self.since.get()));
        let square = current.wrapping_mul(current);
        Reading {
            integral: self.integral.get().wrapping_add(current.wrapping_mul(passed)),
            integral_of_squares: self.integral_of_squares.get().wrapping_add(square.wrapping_mul(passed)),
        }
    }

    /// Most at once since the last call.
    fn take_high(&self) -> u64 {
        let high = self.high.get();
        self.high.set(self.current.get());
        high
    }
}

/// What a level wanted in the last period, and smoothed over periods.
#[derive(Clone, Debug, Default)]
pub struct DemandStats {
    /// Seats on average.
    pub average: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Most seats at once; where cores had theirs at different times, more than that.
    pub high_watermark: u32,
    /// What the level is thought to want.
    pub smoothed: f64,
    last: Vec<Reading>,
    last_at: u64,
}

impl DemandStats {
    /// Looks at the cores of a level; the time is that of the server in nanoseconds.
    pub fn update<'d>(&mut self, cores: impl Iterator<Item = &'d Demand>, now: u64) {
        let passed = Duration::from_nanos(now.saturating_sub(self.last_at)).as_nanos() as f64;
        let (mut average, mut variance, mut high) = (0.0, 0.0, 0);
        for (at, core) in cores.enumerate() {
            let reading = core.read(now);
            if self.last.len() <= at {
                self.last.push(Reading::default());
            }
            let last = std::mem::replace(&mut self.last[at], reading);
            high += core.take_high();
            if passed > 0.0 {
                let mean = reading.integral.wrapping_sub(last.integral) as f64 / passed;
                let square =
                    reading.integral_of_squares.wrapping_sub(last.integral_of_squares) as f64 / passed;
                average += mean;
                // Cores come and go independently of each other, so their variances add up.
                variance += (square - mean * mean).max(0.0);
            }
        }
        self.last_at = now;
        self.high_watermark = u32::try_from(high).unwrap_or(u32::MAX);
        if passed > 0.0 {
            (self.average, self.deviation) = (average, variance.sqrt());
            let envelope = self.average + self.deviation;
            let kept = APF_DEMAND_SMOOTHING * self.smoothed + (1.0 - APF_DEMAND_SMOOTHING) * envelope;
            self.smoothed = envelope.max(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn close(found: f64, expect: f64) {
        assert!((found - expect).abs() < 1e-6, "{found} is not {expect}");
    }

    #[test]
    fn averages_over_time() {
        let demand = Demand::default();
        let mut stats = DemandStats::default();
        demand.set(10, 2 * SECOND);
        demand.change(-10, 4 * SECOND);
        stats.update([&demand].into_iter(), 10 * SECOND);
        // 10 seats for 2 of 10 seconds.
        close(stats.average, 2.0);
        close(stats.deviation, 4.0);
        close(stats.smoothed, 6.0);
        assert_eq!(stats.high_watermark, 10);
        stats.update([&demand].into_iter(), 20 * SECOND);
        close(stats.average, 0.0);
        close(stats.smoothed, 6.0 * 0.977);
        assert_eq!(stats.high_watermark, 0);
    }

    #[test]
    fn moments_count_for_as_long_as_they_are() {
        let demand = Demand::default();
        let mut stats = DemandStats::default();
        demand.set(1, 0);
        for _ in 0..1000 {
            demand.pulse(2, SECOND / 1000);
        }
        stats.update([&demand, &Demand::default()].into_iter(), 10 * SECOND);
        close(stats.average, 1.2);
        // 3 seats for one second, 1 for nine: mean of squares 1.8.
        close(stats.deviation, (1.8_f64 - 1.44).sqrt());
        assert_eq!(stats.high_watermark, 3);
    }

    #[test]
    fn integrals_may_wrap() {
        let demand = Demand::default();
        let mut stats = DemandStats::default();
        demand.set(1 << 20, 0);
        for period in 1..200 {
            stats.update([&demand].into_iter(), period * 10 * SECOND);
            close(stats.average, f64::from(1 << 20));
        }
    }
}
