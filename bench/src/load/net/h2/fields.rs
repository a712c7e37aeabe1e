//! Header blocks of requests (RFC 7541): what stays the same is put into the server's table once, and is a byte after.

use ringbolt_protocol::hpack::integer;

use super::super::{super::limits, Request, decimal};

/// Places in the static table (RFC 7541 appendix A).
mod index {
    pub(super) const AUTHORITY: u8 = 1;
    pub(super) const METHOD: u8 = 2;
    pub(super) const METHOD_POST: u8 = 3;
    pub(super) const PATH: u8 = 4;
    pub(super) const SCHEME_HTTP: u8 = 6;
    pub(super) const SCHEME_HTTPS: u8 = 7;
    pub(super) const ACCEPT: u8 = 19;
    pub(super) const AUTHORIZATION: u8 = 23;
    pub(super) const CONTENT_LENGTH: u8 = 28;
    pub(super) const CONTENT_TYPE: u8 = 31;
    pub(super) const USER_AGENT: u8 = 58;
    /// Entries of the static table; the newest dynamic one is the next.
    pub(super) const STATIC: usize = 61;
}

/// Bytes that an entry of a table counts beside its text (RFC 7541 section 4.1).
const ENTRY_OVERHEAD: usize = 32;

/// The encoder of one connection.
#[derive(Debug)]
pub(crate) struct RequestFields {
    authority: String,
    authorization: Option<String>,
    scheme: u8,
    /// Entries of the server's table, oldest first: static place of the name, value.
    indexed: Vec<(u8, Vec<u8>)>,
    indexed_bytes: usize,
    /// What the server's table holds.
    table_bytes: usize,
    /// A size to announce at the start of the next block (RFC 7541 section 4.2).
    announce: bool,
}

impl RequestFields {
    pub(crate) fn new(authority: &str, authorization: Option<&str>, secure: bool) -> Self {
        RequestFields {
            authority: authority.to_owned(),
            authorization: authorization.map(str::to_owned),
            scheme: if secure { index::SCHEME_HTTPS } else { index::SCHEME_HTTP },
            indexed: Vec::new(),
            indexed_bytes: 0,
            table_bytes: 4096,
            announce: false,
        }
    }

    /// The server's SETTINGS_HEADER_TABLE_SIZE. A smaller table is not used at all; a larger one as if it were 4,096.
    pub(crate) fn set_table_size(&mut self, size: u32) {
        if (size as usize) < self.table_bytes {
            (self.table_bytes, self.indexed_bytes, self.announce) = (0, 0, true);
            self.indexed.clear();
        }
    }

    /// Appends the header block of a request.
    pub(crate) fn encode(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.announce) {
            out.push(0x20);
        }
        match request.method {
            "GET" => out.push(0x80 | index::METHOD),
            "POST" => out.push(0x80 | index::METHOD_POST),
            method => self.same(index::METHOD, method.as_bytes(), out),
        }
        out.push(0x80 | self.scheme);
        let authority = std::mem::take(&mut self.authority);
        self.same(index::AUTHORITY, authority.as_bytes(), out);
        self.authority = authority;
        literal(index::PATH, request.path.as_bytes(), out);
        if let Some(authorization) = self.authorization.take() {
            self.same(index::AUTHORIZATION, authorization.as_bytes(), out);
            self.authorization = Some(authorization);
        }
        self.same(index::USER_AGENT, crate::load::USER_AGENT.as_bytes(), out);
        self.same(index::ACCEPT, request.accept.as_bytes(), out);
        if !request.content_type.is_empty() {
            self.same(index::CONTENT_TYPE, request.content_type.as_bytes(), out);
            let mut digits = [0; 20];
            literal(index::CONTENT_LENGTH, decimal(request.body.len(), &mut digits), out);
        }
    }

    /// A field that comes again: from the table, or into it.
    fn same(&mut self, name: u8, value: &[u8], out: &mut Vec<u8>) {
        if let Some(at) = self.indexed.iter().position(|(known, text)| *known == name && text == value) {
            let index = index::STATIC + self.indexed.len() - at;
            return integer(out, 0x80, 7, index);
        }
        // No name behind a place of the static table is longer than 32 bytes.
        let bytes = value.len() + 32 + ENTRY_OVERHEAD;
        if self.indexed.len() == limits::INDEXED_FIELDS_MAX || self.indexed_bytes + bytes > self.table_bytes {
            return literal(name, value, out);
        }
        self.indexed_bytes += bytes;
        integer(out, 0x40, 6, name as usize);
        string(value, out);
        self.indexed.push((name, value.to_vec()));
    }
}

/// A literal without indexing (RFC 7541 section 6.2.2).
fn literal(name: u8, value: &[u8], out: &mut Vec<u8>) {
    integer(out, 0, 4, name as usize);
    string(value, out);
}

fn string(value: &[u8], out: &mut Vec<u8>) {
    integer(out, 0, 7, value.len());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringbolt_protocol::hpack::{Decoder, Fields};

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Fields::new(1 << 16);
        decoder.decode(block, &mut fields).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        fields.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn put(path: &str) -> Request<'_> {
        Request {
            method: "PUT",
            path,
            accept: "application/json",
            content_type: "application/json",
            body: b"0123456789",
        }
    }

    fn expect(path: &str) -> Vec<(String, String)> {
        [
            (":method", "PUT"),
            (":scheme", "https"),
            (":authority", "127.0.0.1:1"),
            (":path", path),
            ("authorization", "Bearer t"),
            ("user-agent", crate::load::USER_AGENT),
            ("accept", "application/json"),
            ("content-type", "application/json"),
            ("content-length", "10"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    #[test]
    fn a_block_says_the_same_each_time_and_is_short_from_the_second_on() {
        let mut fields = RequestFields::new("127.0.0.1:1", Some("Bearer t"), true);
        let mut decoder = Decoder::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        fields.encode(&put("/a"), &mut first);
        fields.encode(&put("/b"), &mut second);
        assert_eq!(decoded(&mut decoder, &first), expect("/a"));
        assert_eq!(decoded(&mut decoder, &second), expect("/b"));
        assert!(second.len() < 20, "{}", second.len());
    }

    #[test]
    fn more_values_than_the_table_takes_go_as_they_are() {
        let mut fields = RequestFields::new("127.0.0.1:1", Some(&"x".repeat(3900)), true);
        let mut decoder = Decoder::new();
        for path in ["/a", "/b", "/c"] {
            let mut block = Vec::new();
            fields.encode(&put(path), &mut block);
            let mut expect = expect(path);
            expect[4].1 = "x".repeat(3900);
            assert_eq!(decoded(&mut decoder, &block), expect);
        }
    }

    #[test]
    fn a_server_without_a_table_gets_literals() {
        let mut fields = RequestFields::new("127.0.0.1:1", Some("Bearer t"), true);
        let mut decoder = Decoder::new();
        let mut block = Vec::new();
        fields.encode(&put("/a"), &mut block);
        decoded(&mut decoder, &block);
        fields.set_table_size(0);
        for path in ["/b", "/c"] {
            block.clear();
            fields.encode(&put(path), &mut block);
            assert_eq!(decoded(&mut decoder, &block), expect(path));
        }
    }
}
