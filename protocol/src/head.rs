//! Request heads: spans into one byte slice, the same shape for HTTP/1.1 and HTTP/2.

/// The HTTP version a request arrived with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2
    Http2,
}

/// A range of bytes within the head's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes of `buffer` this span covers.
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..self.end as usize]
    }
}

/// One header field; the name is lower case for HTTP/2 and as sent for HTTP/1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderSpan {
    /// Field name.
    pub name: Span,
    /// Field value, without surrounding white space.
    pub value: Span,
}

/// How the body that follows a head is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// No body follows.
    None,
    /// Exactly this many bytes (Content-Length).
    Exact(u64),
    /// Until the framing says it ends (chunked, or HTTP/2 END_STREAM).
    Unknown,
}

/// A request head that borrows from the buffer it was parsed in.
#[derive(Clone, Copy, Debug)]
pub struct Head<'r> {
    /// The buffer all spans point into.
    pub buffer: &'r [u8],
    /// Method as sent, a token (`GET`).
    pub method: &'r str,
    /// Request target as sent: path and query. Always ASCII; `*` for `OPTIONS *`.
    pub target: &'r str,
    /// `:authority` or `Host`; empty where neither was sent.
    pub authority: &'r str,
    /// Version.
    pub version: Version,
    /// Header fields in order, pseudo headers left out.
    pub headers: &'r [HeaderSpan],
    /// What delimits the body.
    pub body: BodyLength,
}

impl<'r> Head<'r> {
    /// The first value of a field; `name` must be lower case ASCII. Compares without regard to case.
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers_named(name).next()
    }

    /// All values of a field in order; `name` must be lower case ASCII.
    pub fn headers_named<'n>(&self, name: &'n str) -> impl Iterator<Item = &'r [u8]> + use<'r, 'n> {
        let (buffer, headers) = (self.buffer, self.headers);
        headers
            .iter()
            .filter(move |h| h.name.of(buffer).eq_ignore_ascii_case(name.as_bytes()))
            .map(move |h| h.value.of(buffer))
    }

    /// All fields in order as (name, value).
    pub fn fields(&self) -> impl Iterator<Item = (&'r [u8], &'r [u8])> + use<'r> {
        let buffer = self.buffer;
        self.headers.iter().map(move |h| (h.name.of(buffer), h.value.of(buffer)))
    }

    /// The target up to the first `?`.
    pub fn path(&self) -> &'r str {
        self.question_mark().map_or(self.target, |at| &self.target[..at])
    }

    /// What follows the first `?`, empty where there is none.
    pub fn query(&self) -> &'r str {
        self.question_mark().map_or("", |at| &self.target[at + 1..])
    }

    fn question_mark(&self) -> Option<usize> {
        memchr::memchr(b'?', self.target.as_bytes())
    }
}

/// An owned copy of a head, for requests that outlive the bytes they came in. Reused: `assign` keeps the
/// allocations of earlier heads.
#[derive(Debug, Default)]
pub struct HeadBuf {
    bytes: Vec<u8>,
    headers: Vec<HeaderSpan>,
    method: Span,
    target: Span,
    authority: Span,
    version: Option<Version>,
    body: Option<BodyLength>,
}

impl HeadBuf {
    /// Replaces the content with a copy of `head`.
    pub fn assign(&mut self, head: &Head<'_>) {
        self.bytes.clear();
        self.headers.clear();
        self.method = self.copy(head.method.as_bytes());
        self.target = self.copy(head.target.as_bytes());
        self.authority = self.copy(head.authority.as_bytes());
        for (name, value) in head.fields() {
            let field = HeaderSpan { name: self.copy(name), value: self.copy(value) };
            self.headers.push(field);
        }
        self.version = Some(head.version);
        self.body = Some(head.body);
    }

    /// The head that was last assigned; an empty GET where none was.
    pub fn head(&self) -> Head<'_> {
        let text = |span: Span| std::str::from_utf8(span.of(&self.bytes)).unwrap_or("");
        Head {
            buffer: &self.bytes,
            method: text(self.method),
            target: text(self.target),
            authority: text(self.authority),
            version: self.version.unwrap_or(Version::Http11),
            headers: &self.headers,
            body: self.body.unwrap_or(BodyLength::None),
        }
    }

    /// Bytes held, for pool accounting.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() + self.headers.capacity() * size_of::<HeaderSpan>()
    }

    fn copy(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        Span { start, end: self.bytes.len() as u32 }
    }
}
