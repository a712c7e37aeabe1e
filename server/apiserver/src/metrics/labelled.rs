//! Families whose labels are not known before, counted by any thread behind a lock: for what happens seldom enough, as
//! calls to other servers do.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::exposition::{Exposition, Family};

/// Stands for the labels of all series beyond those that are kept.
const OTHER: &str = "other";

/// The series of a family. Names of labels are sorted.
struct Series<T> {
    family: Family,
    names: &'static [&'static str],
    series_max: usize,
    counted: Mutex<BTreeMap<Box<[Box<str>]>, T>>,
}

impl<T: Default> Series<T> {
    fn new(family: Family, names: &'static [&'static str], series_max: usize) -> Self {
        debug_assert!(names.is_sorted());
        Series { family, names, series_max, counted: Mutex::default() }
    }

    fn counted(&self) -> MutexGuard<'_, BTreeMap<Box<[Box<str>]>, T>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, labels: &[&str], count: impl FnOnce(&mut T)) {
        let key: Box<[Box<str>]> = labels.iter().map(|label| Box::from(*label)).collect();
        let mut counted = self.counted();
        let is_full = counted.len() >= self.series_max && !counted.contains_key(&key);
        let key = if is_full { labels.iter().map(|_| Box::from(OTHER)).collect() } else { key };
        count(counted.entry(key).or_default());
    }

    fn each(&self, mut show: impl FnMut(&[(&str, &str)], &T)) {
        for (labels, value) in &*self.counted() {
            let pairs: Vec<_> = self.names.iter().copied().zip(labels.iter().map(|label| &**label)).collect();
            show(&pairs, value);
        }
    }
}

/// Counters by labels.
pub struct LabelledCounter(Series<u64>);

impl LabelledCounter {
    /// One of up to `series_max` series; what comes beyond them is counted in one more. `names` must be sorted.
    pub fn new(family: Family, names: &'static [&'static str], series_max: usize) -> Self {
        LabelledCounter(Series::new(family, names, series_max))
    }

    /// Counts one; the labels are in the order of their names.
    pub fn add(&self, labels: &[&str]) {
        self.0.count(labels, |count| *count += 1);
    }

    /// Shows them.
    pub fn collect(&self, out: &mut Exposition) {
        self.0.each(|labels, count| out.sample(&self.0.family, labels, *count as f64));
    }
}

#[derive(Default)]
struct Durations {
    /// By bound; those beyond the last are in `count` alone.
    buckets: Vec<u64>,
    count: u64,
    sum: Duration,
}

/// Histograms of durations by labels.
pub struct LabelledHistogram {
    series: Series<Durations>,
    bounds: &'static [f64],
}

impl LabelledHistogram {
    /// As [`LabelledCounter::new`]; bounds are in seconds.
    pub fn new(
        family: Family,
        names: &'static [&'static str],
        bounds: &'static [f64],
        series_max: usize,
    ) -> Self {
        LabelledHistogram { series: Series::new(family, names, series_max), bounds }
    }

    /// Counts one; the labels are in the order of their names.
    pub fn observe(&self, labels: &[&str], took: Duration) {
        let bucket = self.bounds.iter().position(|bound| took.as_secs_f64() <= *bound);
        self.series.count(labels, |durations| {
            durations.buckets.resize(self.bounds.len(), 0);
            if let Some(bucket) = bucket {
                durations.buckets[bucket] += 1;
            }
            durations.count += 1;
            durations.sum += took;
        });
    }

    /// Shows them.
    pub fn collect(&self, out: &mut Exposition) {
        self.series.each(|labels, durations| {
            let Durations { buckets, count, sum } = durations;
            out.counted(&self.series.family, labels, (self.bounds, buckets), *count, sum.as_secs_f64());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Kind, *};

    #[test]
    fn series_beyond_the_limit_are_counted_together() {
        const FAMILY: Family = Family { name: "asked_total", help: "[ALPHA] Asked.", kind: Kind::Counter };
        let counter = LabelledCounter::new(FAMILY, &["code", "name"], 2);
        for labels in [["200", "a"], ["200", "b"], ["200", "c"], ["500", "d"], ["200", "a"]] {
            counter.add(&labels);
        }
        let mut out = Exposition::default();
        counter.collect(&mut out);
        let text = out.finish();
        for line in [
            "asked_total{code=\"200\",name=\"a\"} 2\n",
            "asked_total{code=\"200\",name=\"b\"} 1\n",
            "asked_total{code=\"other\",name=\"other\"} 2\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn durations_by_bound() {
        const FAMILY: Family = Family { name: "took_seconds", help: "[ALPHA] Took.", kind: Kind::Histogram };
        let histogram = LabelledHistogram::new(FAMILY, &["name"], &[0.005, 0.5], 8);
        for took in [1, 5, 200, 900] {
            histogram.observe(&["a"], Duration::from_millis(took));
        }
        let mut out = Exposition::default();
        histogram.collect(&mut out);
        let text = out.finish();
        for line in [
            "took_seconds_bucket{name=\"a\",le=\"0.005\"} 2\n",
            "took_seconds_bucket{name=\"a\",le=\"0.5\"} 3\n",
            "took_seconds_bucket{name=\"a\",le=\"+Inf\"} 4\n",
            "took_seconds_sum{name=\"a\"} 1.106\n",
            "took_seconds_count{name=\"a\"} 4\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
