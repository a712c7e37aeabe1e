//! Axes: from values to places, and the ticks between.

/// A stretch of values on a stretch of the drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// An axis of equal steps from 0, its end moved to a tick.
    pub(super) fn linear(high: f64, from: f64, to: f64) -> Axis {
        let step = step(high);
        let high = (high / step).ceil().max(1.0) * step;
        Axis { low: 0.0, high, from, to, log: false }
    }

    /// An axis of equal factors; both ends moved to 1, 2 or 5 times a power of ten.
    pub(super) fn log(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let low = round_125(low, false);
        let high = round_125(high, true);
        Axis { low, high: if high > low { high } else { low * 10.0 }, from, to, log: true }
    }

    /// An axis that ends where its values do.
    pub(super) fn exact(low: f64, high: f64, from: f64, to: f64) -> Axis {
        Axis { low, high, from, to, log: false }
    }

    /// The place of a value, kept within the axis.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = if self.log {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Values to draw lines at.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let step = step(self.high);
            return (0..=(self.high / step).round() as u32).map(|n| f64::from(n) * step).collect();
        }
        // Three decades have room for 1-2-5; more have not.
        let steps: &[f64] = if (self.high / self.low).log10() <= 3.1 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001)
            .collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten that cuts `high` into three to six parts.
fn step(high: f64) -> f64 {
    let rough = high.max(f64::MIN_POSITIVE) / 5.0;
    round_125(rough, true)
}

/// The next 1, 2 or 5 times a power of ten, upwards or downwards; a value that is one stays.
fn round_125(value: f64, up: bool) -> f64 {
    let value = value.max(1e-9);
    let decade = 10f64.powf(value.log10().floor());
    let share = value / decade;
    let near = |step: f64| (share / step - 1.0).abs() < 1e-9;
    let steps = [1.0, 2.0, 5.0, 10.0];
    if let Some(step) = steps.into_iter().find(|step| near(*step)) {
        return step * decade;
    }
    let step = if up {
        steps.into_iter().find(|step| *step > share)
    } else {
        steps.into_iter().rev().find(|step| *step < share)
    };
    step.unwrap_or(1.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_a_log_axis_are_round() {
        let axis = Axis::log(0.7, 48.0, 0.0, 100.0);
        assert_eq!(axis.ticks(), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert!(axis.at(0.5).abs() < 1e-9);
        assert!((axis.at(5.0) - 50.0).abs() < 1e-9);
        assert!((axis.at(1e9) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn wide_log_axes_show_decades_only() {
        assert_eq!(
            Axis::log(1.0, 100_000.0, 0.0, 1.0).ticks(),
            [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]
        );
    }

    #[test]
    fn linear_axes_start_at_zero() {
        let axis = Axis::linear(487.0, 200.0, 0.0);
        assert_eq!(axis.ticks(), [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]);
        assert!((axis.at(0.0) - 200.0).abs() < 1e-9);
        assert!(axis.at(500.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_of_one_value_has_a_length() {
        for axis in [Axis::log(5.0, 5.0, 0.0, 10.0), Axis::linear(0.0, 0.0, 10.0)] {
            assert!(axis.at(5.0).is_finite(), "{axis:?}");
            assert!(axis.ticks().len() >= 2, "{axis:?}");
        }
    }
}
