//! Header blocks to fields.

use super::table::{ENTRY_OVERHEAD, Table};
use super::{Error, huffman};
use crate::head::{HeaderSpan, Span};
use crate::limits::{BUFFER_KEPT_MAX, HPACK_DECODER_TABLE_SIZE};

/// The fields of one head: one buffer and spans into it, reused from head to head.
#[derive(Debug)]
pub struct Fields {
    /// Names and values, one after another.
    pub buffer: Vec<u8>,
    /// The fields in order.
    pub spans: Vec<HeaderSpan>,
    /// The size as RFC 9113 section 6.5.2 counts it went beyond the limit; what is beyond was not kept.
    pub too_large: bool,
    size: usize,
    limit: usize,
}

impl Fields {
    /// An empty list that keeps fields up to `limit`.
    pub fn new(limit: usize) -> Self {
        Fields { buffer: Vec::new(), spans: Vec::new(), too_large: false, size: 0, limit }
    }

    /// Empties the list; large buffers are given back.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_KEPT_MAX);
        self.spans.clear();
        self.spans.shrink_to(BUFFER_KEPT_MAX / size_of::<HeaderSpan>());
        (self.too_large, self.size) = (false, 0);
    }

    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|field| (field.name.of(&self.buffer), field.value.of(&self.buffer)))
    }

    /// Takes the bytes from `start` as a field whose name ends at `middle`, or drops them above the limit.
    fn keep(&mut self, start: usize, middle: usize) {
        let end = self.buffer.len();
        self.size += end - start + ENTRY_OVERHEAD;
        if self.size > self.limit {
            self.too_large = true;
            self.buffer.truncate(start);
            return;
        }
        // The limit is far below 4 GiB.
        self.spans.push(HeaderSpan {
            name: Span { start: start as u32, end: middle as u32 },
            value: Span { start: middle as u32, end: end as u32 },
        });
    }
}

/// The decoder of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// What was announced in SETTINGS_HEADER_TABLE_SIZE.
    announced: usize,
}

impl Decoder {
    /// A decoder with the default table.
    pub fn new() -> Self {
        Self::with_table_size(HPACK_DECODER_TABLE_SIZE)
    }

    /// A decoder whose table was announced to have `size` bytes.
    pub fn with_table_size(size: usize) -> Self {
        Decoder { table: Table::new(size), announced: size }
    }

    /// Decodes a whole block and appends its fields. After an error the tables of both sides differ: the
    /// connection is over.
    pub fn decode(&mut self, block: &[u8], fields: &mut Fields) -> Result<(), Error> {
        let mut input = block;
        let mut at_start = true;
        while let Some(&first) = input.first() {
            if first & 0xe0 == 0x20 {
                let size = integer(&mut input, 5)?;
                if !at_start || size > self.announced {
                    return Err(Error::TableSize);
                }
                self.table.set_max(size);
                continue;
            }
            at_start = false;
            let start = fields.buffer.len();
            if first & 0x80 != 0 {
                let index = integer(&mut input, 7)?;
                let (name, value) = self.table.get(index).ok_or(Error::Index)?;
                fields.buffer.extend_from_slice(name);
                fields.buffer.extend_from_slice(value);
                fields.keep(start, start + name.len());
                continue;
            }
            let indexed = first & 0x40 != 0;
            let index = integer(&mut input, if indexed { 6 } else { 4 })?;
            if index == 0 {
                string(&mut input, &mut fields.buffer)?;
            } else {
                fields.buffer.extend_from_slice(self.table.get(index).ok_or(Error::Index)?.0);
            }
            let middle = fields.buffer.len();
            string(&mut input, &mut fields.buffer)?;
            if indexed {
                let (name, value) = fields.buffer[start..].split_at(middle - start);
                self.table.insert(name, value);
            }
            fields.keep(start, middle);
        }
        Ok(())
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// An integer with a prefix of `bits` (RFC 7541 section 5.1).
fn integer(input: &mut &[u8], bits: u32) -> Result<usize, Error> {
    let (&first, mut rest) = input.split_first().ok_or(Error::Truncated)?;
    let mask = (1u8 << bits) - 1;
    let mut value = u64::from(first & mask);
    if first & mask == mask {
        let mut shift = 0;
        loop {
            let (&byte, tail) = rest.split_first().ok_or(Error::Truncated)?;
            rest = tail;
            // Five bytes reach 2^35; more would only be leading zeros, which hide work.
            if shift > 28 {
                return Err(Error::Integer);
            }
            value += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    u32::try_from(value).map(|value| value as usize).map_err(|_| Error::Integer)
}

fn string(input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let coded = input.first().ok_or(Error::Truncated)? & 0x80 != 0;
    let length = integer(input, 7)?;
    let (text, rest) = input.split_at_checked(length).ok_or(Error::Truncated)?;
    *input = rest;
    if coded {
        return huffman::decode(text, out);
    }
    out.extend_from_slice(text);
    Ok(())
}
