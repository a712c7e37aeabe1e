//! The values of an object's selectable fields, kept beside it so that a selector reads a short text instead of the
//! whole object.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

/// Values in the order that the resource's columns have. Each is its length and its bytes, so that no byte is special;
/// empty values at the end are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Box<[u8]>);

/// A length of this or more follows in four bytes.
const LONG: u8 = u8::MAX;

impl Fields {
    /// The values of columns 0, 1, ….
    pub fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Fields {
        let mut writer = FieldsWriter::default();
        values.into_iter().for_each(|value| writer.push(value));
        writer.finish()
    }
    /// The value in a column; empty where there is none.
    pub fn get(&self, column: usize) -> &[u8] {
        let mut rest = &*self.0;
        for _ in 0..column {
            match take(rest) {
                Some((_, after)) => rest = after,
                None => return &[],
            }
        }
        take(rest).map_or(&[], |(value, _)| value)
    }
    /// Whether all values are empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Bytes it takes.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The first value, and what follows it.
fn take(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&short, rest) = bytes.split_first()?;
    if short < LONG {
        return rest.split_at_checked(short as usize);
    }
    let (long, rest) = rest.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*long) as usize)
}

/// Collects [`Fields`].
#[derive(Debug, Default)]
pub struct FieldsWriter {
    bytes: Vec<u8>,
    /// Length up to the end of the last value that is not empty.
    used: usize,
}

impl FieldsWriter {
    /// The value of the next column.
    pub fn push(&mut self, value: &str) {
        // Room for the values of most objects at once.
        self.bytes.reserve(if self.bytes.is_empty() { 96 } else { value.len() + 5 });
        match u8::try_from(value.len()) {
            Ok(short) if short < LONG => self.bytes.push(short),
            _ => {
                self.bytes.push(LONG);
                self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(value.as_bytes());
        if !value.is_empty() {
            self.used = self.bytes.len();
        }
    }
    /// What was collected.
    pub fn finish(&mut self) -> Fields {
        let fields = Fields(self.bytes[..self.used].into());
        self.bytes.clear();
        self.used = 0;
        fields
    }
}

/// The place of a value in an index: a keyed hash, so that nobody can choose values that share one. Values that do are
/// told apart by whoever reads the index.
pub(crate) fn place(value: &[u8]) -> u64 {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let check = |values: &[&str], len: usize| {
            let fields = Fields::new(values.iter().copied());
            for (column, value) in values.iter().enumerate() {
                assert_eq!(fields.get(column), value.as_bytes(), "{values:?} {column}");
            }
            assert_eq!(fields.get(values.len()), b"");
            assert_eq!((fields.len(), fields.is_empty()), (len, len == 0), "{values:?}");
        };
        check(&[], 0);
        check(&["", ""], 0);
        check(&["a", "", "b\0c", "", ""], 7);
        check(&["", "x"], 3);
        let (just, over) = ("s".repeat(254), "l".repeat(255));
        check(&[&just, &over, "z"], 255 + 260 + 2);
        check(&[&"h".repeat(70_000), "", "z"], 70_005 + 1 + 2);
    }

    #[test]
    fn a_writer_starts_anew() {
        let mut writer = FieldsWriter::default();
        writer.push("a");
        assert_eq!(writer.finish(), Fields::new(["a"]));
        writer.push("");
        assert_eq!(writer.finish(), Fields::default());
    }
}
