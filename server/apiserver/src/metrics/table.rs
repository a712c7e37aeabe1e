//! A table of series by their labels: fixed in size, filled as labels turn up, read while it is written.

use std::sync::OnceLock;

/// Labels of a series, in the order its family declares them.
pub(super) type Labels<'l, const L: usize> = [&'l str; L];

/// A series: its labels, and what is counted for them.
#[derive(Debug)]
pub(super) struct Series<const L: usize, V> {
    pub(super) labels: [Box<str>; L],
    pub(super) value: V,
}

/// Series of one family on one core. Only that core adds series; any thread may read. A label set beyond the
/// capacity is counted in one series that stands for all of them, so that no client can make the table grow.
#[derive(Debug)]
pub(super) struct Table<const L: usize, V> {
    slots: Box<[OnceLock<Box<Series<L, V>>>]>,
    rest: OnceLock<Box<Series<L, V>>>,
}

/// Where a series stands, for those who count in it often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(u32);

/// The series that stands for all others.
const REST: u32 = u32::MAX;
/// Slots looked at before a label set counts as one too many.
const PROBES: usize = 16;

impl<const L: usize, V: Default> Table<L, V> {
    /// A table of `capacity` slots, a power of two. A slot costs a pointer until it is used.
    pub(super) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two());
        Table { slots: (0..capacity).map(|_| OnceLock::new()).collect(), rest: OnceLock::new() }
    }

    /// The series of these labels, added where it is not there and `admit` says so.
    pub(super) fn find(&self, labels: Labels<'_, L>, admit: bool) -> SeriesId {
        let mask = self.slots.len() - 1;
        let start = hash(&labels) as usize;
        for probe in 0..PROBES {
            let index = start.wrapping_add(probe) & mask;
            let slot = &self.slots[index];
            let series = match slot.get() {
                Some(series) => series,
                None if admit => slot
                    .get_or_init(|| Box::new(Series { labels: labels.map(Box::from), value: V::default() })),
                None => break,
            };
            if series.labels.iter().zip(labels).all(|(own, asked)| **own == *asked) {
                return SeriesId(index as u32);
            }
        }
        SeriesId(REST)
    }

    /// What is counted in a series.
    pub(super) fn value(&self, id: SeriesId) -> &V {
        match self.slots.get(id.0 as usize).and_then(OnceLock::get) {
            Some(series) => &series.value,
            None => {
                let other = || Box::new(Series { labels: [""; L].map(Box::from), value: V::default() });
                &self.rest.get_or_init(other).value
            }
        }
    }

    /// All series, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Series<L, V>> {
        self.slots.iter().chain(std::iter::once(&self.rest)).filter_map(|slot| slot.get().map(Box::as_ref))
    }
}

/// FNV-1a with a separator between labels; spreads well enough for a table, and needs no state.
fn hash(labels: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for label in labels {
        label.bytes().for_each(&mut add);
        add(0xff);
    }
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn one_series_a_label_set() {
        let table: Table<2, AtomicU64> = Table::new(64);
        let a = table.find(["a", "b"], true);
        assert_eq!(table.find(["a", "b"], true), a);
        assert_ne!(table.find(["ab", ""], true), a);
        table.value(a).fetch_add(3, Relaxed);
        assert_eq!(table.iter().map(|s| s.value.load(Relaxed)).sum::<u64>(), 3);
    }

    #[test]
    fn what_is_not_admitted_counts_for_the_rest() {
        let table: Table<1, AtomicU64> = Table::new(64);
        let id = table.find(["unknown"], false);
        table.value(id).fetch_add(1, Relaxed);
        let known = table.find(["known"], true);
        assert_eq!(table.find(["known"], false), known);
        let names: Vec<&str> = table.iter().map(|s| &*s.labels[0]).collect();
        assert_eq!(names.len(), 2);
        assert!(names.contains(&"") && names.contains(&"known"));
    }

    #[test]
    fn never_grows() {
        let table: Table<1, AtomicU64> = Table::new(32);
        for i in 0..10_000 {
            table.value(table.find([&i.to_string()], true)).fetch_add(1, Relaxed);
        }
        assert!(table.iter().count() <= 33);
        assert_eq!(table.iter().map(|s| s.value.load(Relaxed)).sum::<u64>(), 10_000);
    }
}
