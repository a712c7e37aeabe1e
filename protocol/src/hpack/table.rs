//! The static table of RFC 7541 appendix A, and the dynamic table that decoder and encoder each have one of.

use std::collections::VecDeque;

/// What an entry counts beyond its bytes (RFC 7541 section 4.1).
pub(crate) const ENTRY_OVERHEAD: usize = 32;

/// Entries 1 to 61.
#[rustfmt::skip]
pub(crate) static STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
    ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
    ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
    ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""),
    ("retry-after", ""), ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""),
    ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

const NAME_LONGEST: usize = 27;

/// Static entries ordered by the length of their name, and where each length starts.
static BY_LENGTH: ([u8; STATIC.len()], [u8; NAME_LONGEST + 2]) = by_length();

const fn by_length() -> ([u8; STATIC_LEN], [u8; NAME_LONGEST + 2]) {
    let (mut order, mut start) = ([0; STATIC_LEN], [0; NAME_LONGEST + 2]);
    let (mut count, mut length) = (0, 0);
    while length <= NAME_LONGEST {
        start[length] = count as u8;
        let mut i = 0;
        while i < STATIC_LEN {
            if NAME_LENGTHS[i] as usize == length {
                order[count] = i as u8;
                count += 1;
            }
            i += 1;
        }
        length += 1;
    }
    start[NAME_LONGEST + 1] = count as u8;
    (order, start)
}

const STATIC_LEN: usize = 61;

/// Lengths of the static names, since a static cannot be read in a constant.
#[rustfmt::skip]
const NAME_LENGTHS: [u8; STATIC_LEN] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12,
    6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3, 16,
];

/// Where a field was found: the index that stands for name and value, or for the name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Field(usize),
    Name(usize),
    Nothing,
}

/// Looks a field up in the static table.
pub(crate) fn find_static(name: &[u8], value: &[u8]) -> Found {
    if name.len() > NAME_LONGEST {
        return Found::Nothing;
    }
    let (from, to) = (BY_LENGTH.1[name.len()], BY_LENGTH.1[name.len() + 1]);
    let mut found = Found::Nothing;
    for &i in &BY_LENGTH.0[usize::from(from)..usize::from(to)] {
        let entry = STATIC[usize::from(i)];
        if entry.0.as_bytes() != name {
            continue;
        }
        let index = usize::from(i) + 1;
        if entry.1.as_bytes() == value {
            return Found::Field(index);
        }
        if found == Found::Nothing {
            found = Found::Name(index);
        }
    }
    found
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    name: u32,
    value: u32,
    /// Of name and value, and of the name alone.
    hash: u32,
    name_hash: u32,
}

/// The dynamic table: entries one after another in one buffer, the newest at the front of the queue.
#[derive(Debug)]
pub(crate) struct Table {
    bytes: Vec<u8>,
    entries: VecDeque<Entry>,
    /// Entries that were ever added.
    added: u64,
    size: usize,
    max: usize,
}

/// One dynamic entry of a table, whatever is added and evicted after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryId(u64);

impl Table {
    pub(crate) fn new(max: usize) -> Self {
        Table { bytes: Vec::new(), entries: VecDeque::new(), added: 0, size: 0, max }
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Changes the size and evicts what no longer fits.
    pub(crate) fn set_max(&mut self, max: usize) {
        self.max = max;
        self.evict(0);
    }

    /// The entry with an index of the joint address space, 1 being the first static one.
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if let Some((name, value)) = STATIC.get(index.checked_sub(1)?) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(index - STATIC.len() - 1)?;
        Some(self.parts(entry))
    }

    /// Adds a field; one larger than the table leaves it empty (RFC 7541 section 4.4).
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        self.evict(size);
        if size > self.max {
            return;
        }
        if self.bytes.len() + name.len() + value.len() > 2 * self.max {
            let from = self.entries.back().map_or(self.bytes.len(), |oldest| oldest.start as usize);
            self.bytes.drain(..from);
            for entry in &mut self.entries {
                entry.start -= from as u32;
            }
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_front(Entry {
            start,
            name: name.len() as u32,
            value: value.len() as u32,
            hash: hash(name, value),
            name_hash: hash(name, &[]),
        });
        self.added += 1;
        self.size += size;
    }

    /// The entry with this index, if it is a dynamic one.
    pub(crate) fn id(&self, index: usize) -> Option<EntryId> {
        let newer = index.checked_sub(STATIC.len() + 1)?;
        if newer < self.entries.len() { Some(EntryId(self.added - 1 - newer as u64)) } else { None }
    }

    /// The index of an entry if it is still there and has this name, and this value if one is given.
    pub(crate) fn index_of(&self, id: EntryId, name: &[u8], value: Option<&[u8]>) -> Option<usize> {
        let newer = (self.added - 1 - id.0) as usize;
        let (its_name, its_value) = self.parts(self.entries.get(newer)?);
        let same = its_name == name && value.is_none_or(|value| its_value == value);
        same.then_some(STATIC.len() + 1 + newer)
    }

    /// Looks a field up among the dynamic entries.
    pub(crate) fn find(&self, name: &[u8], value: &[u8]) -> Found {
        let (hash, name_hash) = (hash(name, value), hash(name, &[]));
        let mut found = Found::Nothing;
        for (i, entry) in self.entries.iter().enumerate() {
            if entry.name_hash != name_hash {
                continue;
            }
            let index = STATIC.len() + 1 + i;
            if entry.hash == hash && self.parts(entry) == (name, value) {
                return Found::Field(index);
            }
            if found == Found::Nothing && self.parts(entry).0 == name {
                found = Found::Name(index);
            }
        }
        found
    }

    fn parts(&self, entry: &Entry) -> (&[u8], &[u8]) {
        let start = entry.start as usize;
        let middle = start + entry.name as usize;
        (&self.bytes[start..middle], &self.bytes[middle..middle + entry.value as usize])
    }

    /// Makes room for an entry of `size`.
    fn evict(&mut self, size: usize) {
        while self.size + size > self.max {
            let Some(oldest) = self.entries.pop_back() else { break };
            self.size -= (oldest.name + oldest.value) as usize + ENTRY_OVERHEAD;
        }
        if self.entries.is_empty() {
            self.bytes.clear();
        }
    }
}

/// Tells most fields apart by the ends of name and value; a clash costs one comparison.
fn hash(name: &[u8], value: &[u8]) -> u32 {
    let mut hash = name.len() as u64 | (value.len() as u64) << 32;
    for part in [name, value] {
        let ends = [part.first_chunk::<8>(), part.last_chunk::<8>()];
        for end in ends {
            let bits = match end {
                Some(chunk) => u64::from_le_bytes(*chunk),
                None => part.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
            };
            hash = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        }
    }
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_look_up() {
        for (i, (name, value)) in STATIC.iter().enumerate() {
            assert_eq!(usize::from(NAME_LENGTHS[i]), name.len(), "{name}");
            assert_eq!(find_static(name.as_bytes(), value.as_bytes()), Found::Field(i + 1), "{name}");
        }
        assert_eq!(find_static(b":status", b"201"), Found::Name(8));
        assert_eq!(find_static(b"audit-id", b""), Found::Nothing);
    }

    #[test]
    fn entries_keep_their_id() {
        let mut table = Table::new(200);
        table.insert(b"name", b"1");
        let first = table.id(62).unwrap();
        assert_eq!((table.id(61), table.id(63)), (None, None));
        table.insert(b"name", b"2");
        assert_eq!(table.index_of(first, b"name", Some(b"1")), Some(63));
        assert_eq!(table.index_of(first, b"name", None), Some(63));
        assert_eq!(table.index_of(first, b"name", Some(b"2")), None);
        assert_eq!(table.index_of(first, b"other", None), None);
        for _ in 0..10 {
            table.insert(b"name", b"3");
        }
        assert_eq!(table.index_of(first, b"name", Some(b"1")), None, "evicted");
    }

    #[test]
    fn eviction_and_compaction() {
        let mut table = Table::new(100);
        for i in 0..1000 {
            let value = format!("{i:04}");
            table.insert(b"name", value.as_bytes());
            assert!(table.size <= 100 && table.bytes.len() <= 200);
            assert_eq!(table.get(62), Some((&b"name"[..], value.as_bytes())));
            assert_eq!(table.find(b"name", value.as_bytes()), Found::Field(62));
        }
        assert_eq!(table.entries.len(), 2);
        table.insert(b"large", &[b'x'; 100]);
        assert_eq!((table.entries.len(), table.size), (0, 0));
        assert_eq!(table.get(62), None);
        assert_eq!(table.get(0), None);
    }
}
