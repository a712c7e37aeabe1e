//! Lending: how many seats each level has for now.
//!
//! Seats are shared in proportion to what levels are thought to want, as far as their bounds allow: a level never has
//! less than it does not lend, nor less than it has just used of its own, nor more than it may borrow.

use super::config::{LevelKind, PriorityLevel};

/// What a level has by its configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Its share of the server's seats.
    pub nominal: u32,
    /// What it does not lend.
    pub lower: u32,
    /// Its share and what it may borrow.
    pub upper: u32,
}

/// The bounds of all levels of a server with so many seats. Shares are rounded up, so they may come to a little more.
pub fn bounds(levels: &[PriorityLevel], total: u32) -> Vec<Bounds> {
    let sum: u64 = levels.iter().map(|level| u64::from(level.nominal_concurrency_shares)).sum();
    let percent = |of: u32, percent: u32| (f64::from(of) * f64::from(percent) / 100.0).round() as u32;
    let of = |level: &PriorityLevel| {
        let shares = u64::from(level.nominal_concurrency_shares);
        let nominal = if sum == 0 { 0 } else { (u64::from(total) * shares).div_ceil(sum) as u32 };
        let borrowing = match level.kind {
            LevelKind::Limited { borrowing_limit_percent: Some(limit), .. } => percent(nominal, limit),
            LevelKind::Limited { borrowing_limit_percent: None, .. } | LevelKind::Exempt => total,
        };
        Bounds {
            nominal,
            lower: nominal.saturating_sub(percent(nominal, level.lendable_percent)),
            upper: nominal.saturating_add(borrowing),
        }
    };
    levels.iter().map(of).collect()
}

/// What a level brings to the sharing out.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// By its configuration.
    pub bounds: Bounds,
    /// Nothing waits at an exempt level: it has what it takes, and others have less.
    pub exempt: bool,
    /// Most seats it could have used at once in the last period.
    pub high_watermark: u32,
    /// What it is thought to want.
    pub smoothed: f64,
}

/// What comes of the sharing out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocation {
    /// Seats of each level.
    pub seats: Vec<u32>,
    /// What each level should have, before bounds and the other levels.
    pub targets: Vec<f64>,
    /// The part of its target that a level without bounds gets; 0 where there is too little to share.
    pub fair_fraction: f64,
}

impl Claim {
    /// What it has in any case, if there is enough.
    fn least(&self) -> u32 {
        let used =
            if self.exempt { self.high_watermark } else { self.high_watermark.min(self.bounds.nominal) };
        self.bounds.lower.max(used)
    }

    fn target(&self) -> f64 {
        f64::from(self.least()).max(self.smoothed)
    }
}

/// Shares out the nominal seats of all levels.
pub fn allocate(claims: &[Claim]) -> Allocation {
    let total: i64 = claims.iter().map(|claim| i64::from(claim.bounds.nominal)).sum();
    let exempt: i64 = claims.iter().filter(|c| c.exempt).map(|c| i64::from(c.least())).sum();
    let sum = |of: fn(&Claim) -> u32| -> i64 {
        claims.iter().filter(|claim| !claim.exempt).map(|claim| i64::from(of(claim))).sum()
    };
    let (lower, least) = (sum(|claim| claim.bounds.lower), sum(Claim::least));
    let remaining = total - exempt;
    let mut fair_fraction = 0.0;
    let limited: Vec<f64> = if remaining <= lower {
        claims.iter().map(|claim| f64::from(claim.bounds.lower)).collect()
    } else if remaining <= least {
        // Not enough for what levels used of their own: all give up the same part of it.
        let part = (remaining - lower) as f64 / (least - lower) as f64;
        let of = |claim: &Claim| {
            let lower = claim.bounds.lower;
            f64::from(lower) + (f64::from(claim.least() - lower) * part).round()
        };
        claims.iter().map(of).collect()
    } else {
        let free: Vec<&Claim> = claims.iter().filter(|claim| !claim.exempt).collect();
        fair_fraction = fraction(&free, total as f64);
        claims.iter().map(|claim| at(claim, fair_fraction)).collect()
    };
    let seats = claims.iter().zip(&limited).map(|(claim, seats)| match claim.exempt {
        true => claim.least(),
        false => seats.round() as u32,
    });
    Allocation { seats: seats.collect(), targets: claims.iter().map(Claim::target).collect(), fair_fraction }
}

/// A target of nothing would get nothing of whatever there is to share.
const TARGET_MIN: f64 = 0.001;

/// What a claim comes to at a fraction of its target.
fn at(claim: &Claim, fraction: f64) -> f64 {
    let (least, upper) = (f64::from(claim.least()), f64::from(claim.bounds.upper.max(claim.least())));
    (claim.target().max(TARGET_MIN) * fraction).clamp(least, upper)
}

/// The fraction of their targets at which claims come to `total` together, or as near as their bounds allow.
///
/// The sum rises with the fraction in straight pieces, with a bend where a claim reaches a bound.
fn fraction(claims: &[&Claim], total: f64) -> f64 {
    let bend = |claim: &&Claim| {
        let target = claim.target().max(TARGET_MIN);
        let upper = claim.bounds.upper.max(claim.least());
        [f64::from(claim.least()) / target, f64::from(upper) / target]
    };
    let mut bends: Vec<f64> = claims.iter().flat_map(bend).collect();
    bends.sort_by(f64::total_cmp);
    let sum = |fraction: f64| claims.iter().map(|claim| at(claim, fraction)).sum::<f64>();
    let (mut from, mut from_sum) = (0.0, sum(0.0));
    for to in bends {
        let to_sum = sum(to);
        if to_sum >= total {
            let rise = to_sum - from_sum;
            return if rise > 0.0 { from + (to - from) * ((total - from_sum) / rise).max(0.0) } else { to };
        }
        (from, from_sum) = (to, to_sum);
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flowcontrol::config::Config;

    fn builtin() -> (Vec<String>, Vec<Bounds>) {
        let config = Config::builtin();
        let names = config.priority_levels().iter().map(|level| level.name.clone()).collect();
        (names, bounds(config.priority_levels(), 600))
    }

    #[test]
    fn bounds_of_a_new_cluster() {
        let (names, bounds) = builtin();
        let found: Vec<(&str, u32, u32, u32)> =
            names.iter().zip(&bounds).map(|(n, b)| (n.as_str(), b.nominal, b.lower, b.upper)).collect();
        // apiserver_flowcontrol_{nominal,lower,upper}_limit_seats of kube-apiserver 1.37.
        assert_eq!(
            found,
            [
                ("catch-all", 13, 13, 613),
                ("exempt", 0, 0, 600),
                ("global-default", 49, 24, 649),
                ("leader-election", 25, 25, 625),
                ("node-high", 98, 73, 698),
                ("system", 74, 50, 674),
                ("workload-high", 98, 49, 698),
                ("workload-low", 245, 24, 845),
            ]
        );
    }

    fn claim(nominal: u32, lower: u32, upper: u32, high: u32, smoothed: f64) -> Claim {
        let bounds = Bounds { nominal, lower, upper };
        Claim { bounds, exempt: false, high_watermark: high, smoothed }
    }

    #[test]
    fn an_idle_server_shares_by_what_is_not_lent() {
        let (_, bounds) = builtin();
        let claims: Vec<Claim> = bounds
            .iter()
            .map(|b| Claim { bounds: *b, exempt: b.nominal == 0, high_watermark: 0, smoothed: 0.0 })
            .collect();
        let found = allocate(&claims);
        // 602 seats for 258 that are not lent.
        assert!((found.fair_fraction - 602.0 / 258.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.seats, [30, 0, 56, 58, 170, 117, 114, 56]);
    }

    #[test]
    fn who_wants_more_borrows_from_who_wants_less() {
        let found = allocate(&[claim(100, 50, 1000, 500, 450.0), claim(100, 50, 1000, 0, 0.0)]);
        assert_eq!(found.seats, [150, 50]);
        let found = allocate(&[claim(100, 50, 120, 500, 450.0), claim(100, 50, 1000, 0, 0.0)]);
        assert_eq!(found.seats, [120, 80], "no more than may be borrowed");
        let found = allocate(&[claim(100, 50, 1000, 500, 450.0), claim(100, 50, 1000, 90, 20.0)]);
        assert_eq!(found.seats, [110, 90], "not what was in use");
        let found = allocate(&[claim(100, 0, 100, 9, 9.0), claim(100, 0, 100, 0, 0.0)]);
        assert_eq!(found.seats, [100, 100], "bounds leave no choice");
    }

    #[test]
    fn exempt_requests_leave_others_what_is_not_lent_at_least() {
        let exempt = |high| Claim { exempt: true, ..claim(0, 0, 600, high, 0.0) };
        let found = allocate(&[exempt(120), claim(100, 50, 1000, 100, 100.0), claim(100, 50, 1000, 0, 0.0)]);
        assert_eq!((found.seats, found.fair_fraction), (vec![120, 50, 50], 0.0));
        let found = allocate(&[exempt(60), claim(100, 50, 1000, 100, 100.0), claim(100, 50, 1000, 80, 0.0)]);
        assert_eq!(found.seats, [60, 75, 65], "all give up the same part of what they used");
    }

    #[test]
    fn what_is_shared_out_is_what_there_is() {
        let mut random = 1_u64;
        let mut next = |below: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as u32 % below
        };
        for _ in 0..1000 {
            let claims: Vec<Claim> = (0..2 + next(8))
                .map(|_| {
                    let nominal = next(200);
                    let lower = if nominal == 0 { 0 } else { next(nominal + 1) };
                    claim(nominal, lower, nominal + next(300), next(400), f64::from(next(4000)) / 10.0)
                })
                .collect();
            let found = allocate(&claims);
            let total: i64 = claims.iter().map(|claim| i64::from(claim.bounds.nominal)).sum();
            let sum: i64 = found.seats.iter().map(|seats| i64::from(*seats)).sum();
            assert!((sum - total).abs() <= claims.len() as i64, "{sum} of {total}: {claims:?}");
            for (seats, claim) in found.seats.iter().zip(&claims) {
                assert!(*seats >= claim.bounds.lower && *seats <= claim.bounds.upper, "{seats} of {claim:?}");
            }
        }
    }
}
