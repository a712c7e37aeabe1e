//! Where the entries of a map stand among the fields of a struct.

use super::{FIELDS_MAX, Struct};
use crate::value::{Map, Value};

/// The entries of a map by the field that they name, whatever order they have.
pub(crate) struct Placed {
    /// The places that have an entry, a bit each.
    given: u64,
    /// The entry of each place that has one.
    entries: [u8; FIELDS_MAX],
    /// Whether there are entries that are no field.
    strangers: bool,
}

impl Placed {
    /// By the indices of the fields. `None` where the map has more entries than any struct has fields.
    #[inline]
    pub(crate) fn by_field(of: &Struct, map: &Map<'_>) -> Option<Placed> {
        Placed::new(of, map, |index| index)
    }

    /// By the places that the fields' names have among all in order.
    #[inline]
    pub(crate) fn by_name(of: &Struct, map: &Map<'_>) -> Option<Placed> {
        Placed::new(of, map, |index| usize::from(of.rank[index]))
    }

    #[inline]
    fn new(of: &Struct, map: &Map<'_>, place: impl Fn(usize) -> usize) -> Option<Placed> {
        if map.len() > usize::from(u8::MAX) {
            return None;
        }
        let mut placed = Placed { given: 0, entries: [0; FIELDS_MAX], strangers: false };
        for ((key, _), entry) in map.iter().zip(0..) {
            match of.index_of(key).map(&place) {
                Some(at) => {
                    placed.given |= 1 << at;
                    placed.entries[at % FIELDS_MAX] = entry;
                }
                None => placed.strangers = true,
            }
        }
        Some(placed)
    }

    /// The places that have an entry, a bit each.
    #[inline]
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Whether there are entries that are no field.
    pub(crate) fn has_strangers(&self) -> bool {
        self.strangers
    }

    /// The entry of a place, where it has one.
    #[inline]
    pub(crate) fn entry(&self, place: usize) -> Option<usize> {
        let place = place % FIELDS_MAX;
        (self.given >> place & 1 != 0).then(|| usize::from(self.entries[place]))
    }

    /// The value of a place in the map that this was made of.
    #[inline]
    pub(crate) fn value<'v, 'a>(&self, map: &'v Map<'a>, place: usize) -> Option<&'v Value<'a>> {
        map.entry_at(self.entry(place)?).map(|(_, value)| value)
    }
}

/// The bits that are set in a number, lowest first.
#[inline]
pub(crate) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros() as usize;
        // Without its lowest bit.
        let rest = set & set.checked_sub(1)?;
        set = rest;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn all_bits() {
        assert_eq!(bits(0).count(), 0);
        assert_eq!(bits(1 | 1 << 7 | 1 << 63).collect::<Vec<_>>(), [0, 7, 63]);
        assert_eq!(bits(u64::MAX).collect::<Vec<_>>(), (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn keys_of_any_origin() {
        let schema = Schema::builtin();
        let of = schema.get(schema.kind("", "v1", "Pod").unwrap().ty);
        let arena = Bump::new();
        let mut map = Map::new_in(&arena);
        // The text of the program, of the schema, and a copy.
        map.insert("status", Value::Int(1));
        map.insert(of.fields[2].name, Value::Int(2));
        map.insert(arena.alloc_str("kind"), Value::Int(3));
        let placed = Placed::by_field(of, &map).unwrap();
        assert_eq!(placed.given(), 0b10101);
        assert_eq!([0, 1, 2, 3, 4].map(|at| placed.entry(at)), [Some(2), None, Some(1), None, Some(0)]);
        assert_eq!(placed.value(&map, 2), Some(&Value::Int(2)));
        assert!(!placed.has_strangers());
        // apiVersion, kind, metadata, spec, status.
        let placed = Placed::by_name(of, &map).unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|at| placed.entry(at)), [None, Some(2), Some(1), None, Some(0)]);
    }

    #[test]
    fn keys_that_are_no_fields() {
        let schema = Schema::builtin();
        let (pod, node) =
            ["Pod", "Node"].map(|kind| schema.get(schema.kind("", "v1", kind).unwrap().ty)).into();
        let arena = Bump::new();
        let mut map = Map::new_in(&arena);
        // Part of a name, and the same name in another struct.
        map.insert(&of_name(pod, "status")[..4], Value::Null);
        map.insert(of_name(node, "spec"), Value::Null);
        let placed = Placed::by_field(pod, &map).unwrap();
        assert!(placed.has_strangers());
        assert_eq!((placed.given(), placed.entry(3)), (1 << 3, Some(1)));
        for n in 0..255 {
            map.insert(arena.alloc_str(&n.to_string()), Value::Null);
        }
        assert!(Placed::by_field(pod, &map).is_none());
    }

    fn of_name(of: &Struct, name: &str) -> &'static str {
        of.field(name).unwrap().1.name
    }
}
