//! Finds the fields of a struct by name: a hash table of the names' first bytes.

use super::same_text;

/// Bytes of a name that its head holds first.
const FIRST: usize = 7;
/// Bytes that it holds of the end.
const LAST: usize = 8;

/// The first and last bytes of a name and its length, as two numbers: all there is to most names, and what is different
/// in the others of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    first: u64,
    /// 0 of a name that is shorter.
    last: u64,
}

impl Head {
    /// Of a name.
    pub(crate) fn of(name: &str) -> Head {
        let bytes = name.as_bytes();
        let block = match bytes.first_chunk::<8>() {
            Some(block) => u64::from_le_bytes(*block),
            None => bytes.iter().rev().fold(0, |block, byte| block << 8 | u64::from(*byte)),
        };
        Head::of_block(block, name)
    }

    /// Of a name that `block` begins with, whatever follows it there.
    #[inline]
    pub(crate) fn of_block(block: u64, name: &str) -> Head {
        let kept = name.len().min(FIRST) as u32 * 8;
        let length = name.len().min(0xFF) as u64;
        let last = name.as_bytes().last_chunk::<LAST>();
        Head {
            first: block & ((1 << kept) - 1) | length << (8 * FIRST),
            last: last.map_or(0, |last| u64::from_le_bytes(*last)),
        }
    }

    /// Where to look for it first.
    #[inline]
    fn hash(self) -> usize {
        // The middle bits of a product depend on all bits of the number but the high ones.
        let mixed = self.first ^ self.first >> 32;
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize
    }
}

/// The names of a struct's fields, to be looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameIndex {
    /// A power of two, at least twice as many as there are fields: an index and one, or 0 where none is.
    table: Vec<u8>,
    heads: Vec<Head>,
}

impl NameIndex {
    /// Of a struct's names, at most [`FIELDS_MAX`](super::FIELDS_MAX) of them.
    pub(super) fn new(names: &[&str]) -> NameIndex {
        let heads: Vec<Head> = names.iter().map(|name| Head::of(name)).collect();
        let mut table = vec![0u8; (2 * names.len()).next_power_of_two()];
        let last = table.len() - 1;
        for (head, place) in heads.iter().zip(1..) {
            let mut at = head.hash() & last;
            while table[at] != 0 {
                at = (at + 1) & last;
            }
            table[at] = place;
        }
        NameIndex { table, heads }
    }

    /// The index of a name, whose head is `head`, among those that this was made of.
    #[inline(always)]
    pub(super) fn find(&self, names: &[&str], name: &str, head: Head) -> Option<usize> {
        let last = self.table.len().wrapping_sub(1);
        let mut at = head.hash() & last;
        loop {
            let index = usize::from(*self.table.get(at)?).checked_sub(1)?;
            if self.heads.get(index) == Some(&head)
                && (name.len() <= FIRST + LAST
                    || names.get(index).is_some_and(|known| same_text(known, name)))
            {
                return Some(index);
            }
            at = (at + 1) & last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        assert_eq!(Head::of("name"), Head::of_block(u64::from_le_bytes(*b"name\":1}"), "name"));
        assert_eq!(Head::of("emptyDir"), Head::of_block(u64::from_le_bytes(*b"emptyDir"), "emptyDir"));
        assert_ne!(Head::of("emptyDir"), Head::of("emptyDi"));
        assert_ne!(Head::of(""), Head::of("a"));
    }

    #[test]
    fn names_alike() {
        let names = [
            "volumeMounts",
            "volumeDevice",
            "volumeM",
            "volumeMo",
            "v",
            "terminationMessagePath",
            "terminationMessaggPath",
        ];
        let index = NameIndex::new(&names);
        for (at, name) in names.iter().enumerate() {
            assert_eq!(index.find(&names, name, Head::of(name)), Some(at));
        }
        for name in ["", "w", "volume", "volumeMount", "volumeDevicf", "terminationMessagePats"] {
            assert_eq!(index.find(&names, name, Head::of(name)), None, "{name}");
        }
        assert_eq!(NameIndex::new(&[]).find(&[], "a", Head::of("a")), None);
        assert_eq!(NameIndex::default().find(&[], "a", Head::of("a")), None);
    }
}
