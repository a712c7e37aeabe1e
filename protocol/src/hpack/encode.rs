//! Fields to header blocks.

use super::huffman;
use super::table::{ENTRY_OVERHEAD, EntryId, Found, STATIC, Table, find_static};
use crate::limits::HPACK_ENCODER_TABLE_SIZE;

/// Fields whose value hardly ever comes again: indexing them would only push out those that do.
const CHANGING: [&str; 6] = ["content-length", "audit-id", "etag", "location", "set-cookie", "last-modified"];

/// Places of a block that are remembered. A server's answers have fewer fields; what stands beyond is looked up.
const PLACES: usize = 12;

/// What the field at a place of the last block became. Answers of a server have the same fields in the same places, so
/// comparing with this one is mostly all that a look-up takes.
#[derive(Clone, Copy, Debug)]
enum Place {
    Unknown,
    /// A static field.
    Static(usize),
    /// A dynamic field.
    Dynamic(EntryId),
    /// A changing value behind a static name.
    StaticName(usize),
    /// A changing value behind the name of a dynamic field.
    DynamicName(EntryId),
}

/// The encoder of one connection.
#[derive(Debug)]
pub struct Encoder {
    table: Table,
    places: [Place; PLACES],
    /// The place of the next field.
    place: usize,
    /// A size to announce at the start of the next block: the smallest since the last, and the current one.
    announce: Option<(usize, usize)>,
}

impl Encoder {
    /// An encoder with the table every connection starts with.
    pub fn new() -> Self {
        Encoder {
            table: Table::new(HPACK_ENCODER_TABLE_SIZE),
            places: [Place::Unknown; PLACES],
            place: 0,
            announce: None,
        }
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE changed.
    pub fn set_table_size(&mut self, size: usize) {
        let size = size.min(HPACK_ENCODER_TABLE_SIZE);
        if size == self.table.max() && self.announce.is_none() {
            return;
        }
        let smallest = self.announce.map_or(self.table.max(), |(smallest, _)| smallest).min(size);
        self.announce = Some((smallest, size));
        self.table.set_max(size);
    }

    /// Begins a block.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.place = 0;
        if let Some((smallest, size)) = self.announce.take() {
            if smallest < size {
                integer(out, 0x20, 5, smallest);
            }
            integer(out, 0x20, 5, size);
        }
    }

    /// Appends a field; the name must be lower case.
    pub fn field(&mut self, out: &mut Vec<u8>, name: &str, value: &[u8]) {
        let place = self.place;
        self.place += 1;
        if let Some(known) = self.places.get(place)
            && self.again(out, *known, name.as_bytes(), value)
        {
            return;
        }
        let became = self.look_up(out, name, value);
        if let Some(place) = self.places.get_mut(place) {
            *place = became;
        }
    }

    /// Appends a field if it is what stood here in the last block, or has its name and a changing value.
    fn again(&self, out: &mut Vec<u8>, known: Place, name: &[u8], value: &[u8]) -> bool {
        let is_static = |index: usize| STATIC[index - 1].0.as_bytes() == name;
        let (index, whole) = match known {
            Place::Static(index) if is_static(index) && STATIC[index - 1].1.as_bytes() == value => {
                (index, true)
            }
            Place::StaticName(index) if is_static(index) => (index, false),
            Place::Dynamic(id) => match self.table.index_of(id, name, Some(value)) {
                Some(index) => (index, true),
                None => return false,
            },
            Place::DynamicName(id) => match self.table.index_of(id, name, None) {
                Some(index) => (index, false),
                None => return false,
            },
            Place::Unknown | Place::Static(_) | Place::StaticName(_) => return false,
        };
        if whole {
            integer(out, 0x80, 7, index);
        } else {
            integer(out, 0, 4, index);
            string(out, value, false);
        }
        true
    }

    /// Appends a field as the tables have it, and tells what it became.
    fn look_up(&mut self, out: &mut Vec<u8>, name: &str, value: &[u8]) -> Place {
        let name_bytes = name.as_bytes();
        let fixed = find_static(name_bytes, value);
        if let Found::Field(index) = fixed {
            integer(out, 0x80, 7, index);
            return Place::Static(index);
        }
        let dynamic = self.table.find(name_bytes, value);
        if let Found::Field(index) = dynamic {
            integer(out, 0x80, 7, index);
            return self.table.id(index).map_or(Place::Unknown, Place::Dynamic);
        }
        let known = match (fixed, dynamic) {
            (Found::Name(index), _) | (_, Found::Name(index)) => index,
            _ => 0,
        };
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        // A changing field is indexed once, so that its name has an index.
        let changing = known > 0 && CHANGING.contains(&name);
        if changing || size > self.table.max() / 4 {
            integer(out, 0, 4, known);
            if known == 0 {
                string(out, name_bytes, true);
            }
            string(out, value, false);
            return match self.table.id(known) {
                Some(id) if changing => Place::DynamicName(id),
                None if changing => Place::StaticName(known),
                _ => Place::Unknown,
            };
        }
        integer(out, 0x40, 6, known);
        if known == 0 {
            string(out, name_bytes, true);
        }
        string(out, value, true);
        self.table.insert(name_bytes, value);
        // The newest entry, unless it was larger than the table.
        self.table.id(STATIC.len() + 1).map_or(Place::Unknown, Place::Dynamic)
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Appends an integer behind the high bits of `pattern`, in a prefix of `bits` bits (RFC 7541 section 5.1).
pub fn integer(out: &mut Vec<u8>, pattern: u8, bits: u32, value: usize) {
    let mask = (1usize << bits) - 1;
    if value < mask {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A string, in Huffman code where that is wanted and shorter. What is sent once only is not worth the work.
fn string(out: &mut Vec<u8>, text: &[u8], compress: bool) {
    let coded = if compress { huffman::encoded_len(text) } else { text.len() };
    if coded < text.len() {
        integer(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{Decoder, Fields};
    use super::*;

    /// Encodes blocks, and has a decoder read them.
    fn check(encoder: &mut Encoder, decoder: &mut Decoder, block: &[(&str, &str)]) -> usize {
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for (name, value) in block {
            encoder.field(&mut out, name, value.as_bytes());
        }
        let mut fields = Fields::new(1 << 20);
        decoder.decode(&out, &mut fields).unwrap();
        let expect: Vec<_> = block.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
        assert_eq!(fields.iter().collect::<Vec<_>>(), expect);
        out.len()
    }

    #[test]
    fn fields_in_other_places_with_other_values_are_what_they_are() {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        let ids: Vec<String> = (0..200).map(|i| format!("id-{i}")).collect();
        for (i, id) in ids.iter().enumerate() {
            let (date, length) = (format!("date {}", i / 10), i.to_string());
            let mut block = vec![
                (":status", if i % 7 == 0 { "404" } else { "200" }),
                ("audit-id", id.as_str()),
                ("cache-control", "no-cache, private"),
                ("content-type", if i % 3 == 0 { "text/plain" } else { "application/json" }),
                ("date", date.as_str()),
                ("content-length", length.as_str()),
            ];
            if i % 5 == 0 {
                block.swap(1, 3);
            }
            if i % 11 == 0 {
                block.insert(1, ("warning", "x"));
            }
            if i % 50 == 49 {
                // Everything is evicted, ids and all.
                encoder.set_table_size(0);
                encoder.set_table_size(4096);
            }
            check(&mut encoder, &mut decoder, &block);
        }
    }

    #[test]
    fn a_block_like_the_last_one_is_indices() {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        let block = [
            (":status", "200"),
            ("cache-control", "no-cache, private"),
            ("content-type", "application/json"),
        ];
        check(&mut encoder, &mut decoder, &block);
        assert_eq!(check(&mut encoder, &mut decoder, &block), block.len());
        let long = [("x-long", "v"); PLACES + 3];
        check(&mut encoder, &mut decoder, &long);
        assert_eq!(check(&mut encoder, &mut decoder, &long), long.len());
    }
}
