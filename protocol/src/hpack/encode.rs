//! Fields to header blocks.

use super::huffman;
use super::table::{ENTRY_OVERHEAD, Found, Table, find_static};
use crate::limits::HPACK_ENCODER_TABLE_SIZE;

/// Fields whose value hardly ever comes again: indexing them would only push out those that do.
const CHANGING: [&str; 6] = ["content-length", "audit-id", "etag", "location", "set-cookie", "last-modified"];

/// The encoder of one connection.
#[derive(Debug)]
pub struct Encoder {
    table: Table,
    /// A size to announce at the start of the next block: the smallest since the last, and the current one.
    announce: Option<(usize, usize)>,
}

impl Encoder {
    /// An encoder with the table every connection starts with.
    pub fn new() -> Self {
        Encoder { table: Table::new(HPACK_ENCODER_TABLE_SIZE), announce: None }
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
        if let Some((smallest, size)) = self.announce.take() {
            if smallest < size {
                integer(out, 0x20, 5, smallest);
            }
            integer(out, 0x20, 5, size);
        }
    }

    /// Appends a field; the name must be lower case.
    pub fn field(&mut self, out: &mut Vec<u8>, name: &str, value: &[u8]) {
        let name_bytes = name.as_bytes();
        let fixed = find_static(name_bytes, value);
        if let Found::Field(index) = fixed {
            return integer(out, 0x80, 7, index);
        }
        let dynamic = self.table.find(name_bytes, value);
        if let Found::Field(index) = dynamic {
            return integer(out, 0x80, 7, index);
        }
        let known = match (fixed, dynamic) {
            (Found::Name(index), _) | (_, Found::Name(index)) => index,
            _ => 0,
        };
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        // A changing field is indexed once, so that its name has an index.
        if (known > 0 && CHANGING.contains(&name)) || size > self.table.max() / 4 {
            integer(out, 0, 4, known);
            if known == 0 {
                string(out, name_bytes, true);
            }
            return string(out, value, false);
        }
        integer(out, 0x40, 6, known);
        if known == 0 {
            string(out, name_bytes, true);
        }
        string(out, value, true);
        self.table.insert(name_bytes, value);
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

fn integer(out: &mut Vec<u8>, pattern: u8, bits: u32, value: usize) {
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
