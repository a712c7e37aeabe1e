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
            if series.labels.iter().zip(labels).all(|(own, asked)| is_same(own.as_bytes(), asked.as_bytes()))
            {
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

/// Multiplies a word at a time into the hash, as FxHash does. Labels are short, and a request looks for its series
/// once: byte by byte that was a fourteenth of a GET. Needs no state; a table that clients fill with colliding names
/// only counts some of them together.
fn hash(labels: &[&str]) -> u64 {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    let mut hash = 0_u64;
    let mut add = |word: u64| hash = (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    for label in labels {
        let bytes = label.as_bytes();
        // Labels of other lengths that run into each other differ here.
        add(bytes.len() as u64);
        match bytes {
            [] => {}
            [_, _, _, _, _, _, _, _, ..] => {
                let (words, _) = bytes.as_chunks::<8>();
                words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
                add(last_word(bytes));
            }
            _ => add(short_word(bytes)),
        }
    }
    hash ^ (hash >> 32)
}

/// Whether two labels are the same; without a call for those of up to 16 bytes, which nearly all are.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0 => true,
        1..8 => short_word(a) == short_word(b),
        8..=16 => first_word(a) == first_word(b) && last_word(a) == last_word(b),
        _ => a == b,
    }
}

/// Up to seven bytes as one word. Of those of one length, only equal ones come to the same word.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word))
}

#[inline]
fn last_word(bytes: &[u8]) -> u64 {
    bytes.last_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word))
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
    fn sameness() {
        let text = b"abcdefghijklmnopqrstuvwxyz";
        for length in 0..=text.len() {
            assert!(is_same(&text[..length], &{ *text }[..length]), "{length}");
            assert!(length == 0 || !is_same(&text[..length], &text[..length - 1]));
            for changed in 0..length {
                let mut other = text[..length].to_vec();
                other[changed] ^= 0x20;
                assert!(!is_same(&text[..length], &other), "{length} {changed}");
            }
        }
    }

    /// What a busy cluster counts spreads over the table: none of it is counted as the rest.
    #[test]
    fn hashes_spread() {
        let table: Table<4, AtomicU64> = Table::new(4096);
        let mut sets = 0;
        for resource in 0..75 {
            let resource = format!("resource{resource}s");
            for verb in ["GET", "LIST", "POST", "PUT", "PATCH", "DELETE", "WATCH", "APPLY"] {
                for scope in ["", "cluster"] {
                    table.value(table.find(["apps", &resource, scope, verb], true)).fetch_add(1, Relaxed);
                    sets += 1;
                }
            }
        }
        assert_eq!(table.iter().count(), sets);
        assert!(table.rest.get().is_none());
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
