//! From keys to numbers of what has them: open addressing in one allocation.

use super::asked::filter_bit;

/// Marks a place without an entry.
const NOTHING: u32 = u32::MAX;

/// A table that is made once.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    /// A power of two, at least twice the entries, so that a walk ends soon.
    places: Box<[(u64, u32)]>,
    /// The bits of all keys, see [`filter_bit`].
    pub(super) filter: u64,
}

impl KeyTable {
    /// A table of pairs; a key may stand in many.
    pub(super) fn new(mut pairs: Vec<(u64, u32)>) -> KeyTable {
        pairs.sort_unstable();
        pairs.dedup();
        if pairs.is_empty() {
            return KeyTable::default();
        }
        let mut places = vec![(0, NOTHING); (pairs.len() * 2).next_power_of_two()].into_boxed_slice();
        let mask = places.len() - 1;
        let (mut filter, mut before) = (0, None);
        for (key, number) in pairs {
            filter |= filter_bit(key);
            // Those of one key stand behind each other: the next one begins where the last one ended.
            let mut at = match before {
                Some((same, place)) if same == key => place,
                _ => key as usize & mask,
            };
            while places[at].1 != NOTHING {
                at = (at + 1) & mask;
            }
            places[at] = (key, number);
            before = Some((key, at));
        }
        KeyTable { places, filter }
    }

    /// The numbers of a key.
    pub(super) fn find(&self, key: u64) -> Found<'_> {
        let is_there = self.filter & filter_bit(key) != 0;
        let places: &[(u64, u32)] = if is_there { &self.places } else { &[(0, NOTHING)] };
        Found { places, key, at: key as usize & (places.len() - 1) }
    }
}

/// What [`KeyTable::find`] finds.
pub(super) struct Found<'t> {
    places: &'t [(u64, u32)],
    key: u64,
    at: usize,
}

impl Iterator for Found<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            let (key, number) = self.places[self.at];
            if number == NOTHING {
                return None;
            }
            self.at = (self.at + 1) & (self.places.len() - 1);
            if key == self.key {
                return Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_all_of_a_key_and_no_other() {
        // Keys that begin at the same place, one that is there many times, and one at the end, whose walk goes around.
        let end = u64::MAX;
        let pairs = vec![(8, 1), (16, 2), (8, 3), (8, 3), (1 << 63, 4), (end, 5), (end, 6), (0, 7)];
        let table = KeyTable::new(pairs);
        let found = |key| {
            let mut numbers: Vec<u32> = table.find(key).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(found(8), [1, 3]);
        assert_eq!(found(16), [2]);
        assert_eq!(found(1 << 63), [4]);
        assert_eq!(found(end), [5, 6]);
        assert_eq!(found(0), [7]);
        assert_eq!(found(24), []);
        assert_eq!(found(1), []);
        assert_eq!(KeyTable::new(Vec::new()).find(0).count(), 0);
    }
}
