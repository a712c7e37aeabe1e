//! What the names of fields are written as, made once.

use super::{Struct, names::NameIndex};

/// Bytes from the index of a field to its name in [`Struct::spelled`].
pub(super) const INDEX_BEFORE: usize = 3;

/// A text that is written for every object that has a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling {
    text: &'static str,
    /// The text, and whatever stands behind it.
    block: &'static [u8; Spelling::BLOCK],
}

impl Spelling {
    /// Few texts are longer.
    const BLOCK: usize = 32;
    /// Nothing yet.
    pub(super) const NONE: Spelling = Spelling { text: "", block: &[0; Spelling::BLOCK] };

    /// The `len` bytes at `start`, which a block's length of others follow.
    fn within(text: &'static str, start: usize, len: usize) -> Spelling {
        let block = text.as_bytes()[start..].first_chunk().expect("a block's length follows the last text");
        Spelling { text: &text[start..start + len], block }
    }

    /// Appends the text.
    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if self.text.len() > Spelling::BLOCK {
            return out.extend_from_slice(self.text.as_bytes());
        }
        // As many bytes as the compiler knows of: two stores, where a call would have to find out how many.
        let end = out.len() + self.text.len();
        out.extend_from_slice(self.block);
        out.truncate(end);
    }

    /// Appends the text without the comma that it begins with.
    pub(crate) fn write_first(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text.as_bytes()[1..]);
    }
}

/// Spells the fields of all structs in one text, which lives as long as the process, as the Schema does.
pub(super) fn spell(structs: &mut [Struct]) {
    let fields = || structs.iter().flat_map(|s| s.fields.iter().enumerate());
    let size: usize = fields().map(|(_, field)| 2 * field.name.len() + 12).sum();
    let mut text = String::with_capacity(size + Spelling::BLOCK);
    for (index, field) in fields() {
        // Below `FIELDS_MAX`, so one byte.
        text.push(char::from(index as u8));
        text.extend([",\"", field.name, "\":", ",\"f:", field.name, "\":{"]);
    }
    text.extend([" "; Spelling::BLOCK]);
    let text: &'static str = text.leak();
    let mut at = 0;
    for s in structs {
        let start = at;
        for field in &mut s.fields {
            let len = field.name.len();
            field.name = &text[at + INDEX_BEFORE..][..len];
            field.member = Spelling::within(text, at + 1, len + 4);
            field.step = Spelling::within(text, at + len + 5, len + 7);
            at += 2 * len + 12;
        }
        s.spelled = &text[start..at];
        s.names = s.fields.iter().map(|field| field.name).collect();
        s.index = NameIndex::new(&s.names);
    }
}
