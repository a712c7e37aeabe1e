//! What the types of the API and their properties are for, in words: the prose of OpenAPI documents.
//!
//! The texts are those of the crate `k8s-openapi`, under the names that OpenAPI has for types
//! (`io.k8s.api.core.v1.Pod`). They are in the program as a deflated table. [`Descriptions::unpack`] makes them
//! readable, which takes megabytes and milliseconds: for whoever writes a document, and only that long.
//!
//! `k8s-openapi` has no types for lists of objects (`PodList`): what is said of those is made here.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::{borrow::Cow, io::Read, ops::Range};

use flate2::read::DeflateDecoder;

/// Made by the build script, which says how it is laid out.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptions.z"));

/// A list, for what all lists have besides their objects.
const ANY_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList";

/// All descriptions, readable.
pub struct Descriptions {
    table: String,
    /// Where the record of each type is, in the order of their names.
    types: Vec<Range<usize>>,
}

impl Descriptions {
    /// Unpacks the table.
    pub fn unpack() -> Descriptions {
        let mut table = String::new();
        DeflateDecoder::new(PACKED).read_to_string(&mut table).expect("the build script packed text");
        let mut types = Vec::new();
        let mut start = 0;
        for (end, _) in table.match_indices('\u{1E}') {
            types.push(start..end);
            start = end + 1;
        }
        Descriptions { table, types }
    }

    /// Names of all types that are described, sorted; lists of objects are not among them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(|record| self.texts(record).next().unwrap_or_default())
    }

    /// What a type is for.
    pub fn of_type(&self, name: &str) -> Option<Cow<'_, str>> {
        if let Some(mut texts) = self.find(name) {
            return texts.nth(1).filter(|text| !text.is_empty()).map(Cow::Borrowed);
        }
        let item = self.item_of_list(name)?;
        Some(Cow::Owned(format!("{item}List is a list of objects of kind {item}.")))
    }

    /// What a property of a type is for.
    pub fn of_property(&self, name: &str, property: &str) -> Option<Cow<'_, str>> {
        if let Some(mut texts) = self.find(name) {
            texts.nth(1)?;
            while let Some(at) = texts.next() {
                let text = texts.next()?;
                if at == property {
                    return Some(Cow::Borrowed(text));
                }
            }
            return None;
        }
        let item = self.item_of_list(name)?;
        Some(match property {
            "items" => Cow::Owned(format!("The objects of the list, each of kind {item}.")),
            "metadata" => Cow::Borrowed(
                "Metadata of the list: the resource version it was read at, and where it goes on if it is not whole.",
            ),
            // The same words everywhere.
            _ => return self.of_property(ANY_LIST, property),
        })
    }

    /// The kind of a list's objects, where the list is one of a type that is described.
    fn item_of_list<'n>(&self, name: &'n str) -> Option<&'n str> {
        let item = name.strip_suffix("List")?;
        self.find(item).and_then(|_| item.rsplit('.').next())
    }

    /// Texts of a type: its name, its description, then name and description of each property.
    fn find(&self, name: &str) -> Option<impl Iterator<Item = &str>> {
        let at = self
            .types
            .binary_search_by(|record| self.texts(record).next().unwrap_or_default().cmp(name))
            .ok()?;
        Some(self.texts(&self.types[at]))
    }

    fn texts(&self, record: &Range<usize>) -> impl Iterator<Item = &str> {
        self.table[record.clone()].split_terminator('\u{1F}')
    }
}
