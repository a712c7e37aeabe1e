//! The parser of HTTP/1 heads. It is our own because httparse cannot answer as Go does: it refuses folded values
//! and header names followed by a space only at another point, refuses a target beyond ASCII, knows versions 1.0
//! and 1.1 alone, needs an array of known size, and starts over for every piece of a cut head. This one goes on
//! where it stopped, and refuses a line as soon as Go does. httparse is its oracle in the tests.

use super::chars::{HOST, TOKEN, is_field_value, list_has, trim};
use super::target::{self, Target};
use crate::head::{BodyLength, Head, HeaderSpan, Span, Version};
use crate::limits::{H1_HEAD_SLACK, HEAD_BYTES_MAX};

/// Why a head is refused. Each has the answer Go gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    BadRequest,
    MissingHost,
    MalformedHost,
    InvalidFieldName,
    TooLarge,
    TransferEncoding,
    Version,
}

impl Refusal {
    /// Status and reason, and the text of the body.
    pub(crate) fn answer(self) -> (&'static str, &'static str) {
        match self {
            Refusal::BadRequest => ("400 Bad Request", "400 Bad Request"),
            Refusal::MissingHost => (
                "400 Bad Request: missing required Host header",
                "400 Bad Request: missing required Host header",
            ),
            Refusal::MalformedHost => {
                ("400 Bad Request: malformed Host header", "400 Bad Request: malformed Host header")
            }
            Refusal::InvalidFieldName => {
                ("400 Bad Request: invalid header name", "400 Bad Request: invalid header name")
            }
            Refusal::TooLarge => {
                ("431 Request Header Fields Too Large", "431 Request Header Fields Too Large")
            }
            Refusal::TransferEncoding => ("501 Not Implemented", "Unsupported transfer encoding"),
            Refusal::Version => (
                "505 HTTP Version Not Supported: unsupported protocol version",
                "505 HTTP Version Not Supported: unsupported protocol version",
            ),
        }
    }
}

/// What a client expects before it sends the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Nothing,
    Continue,
    Other,
}

/// What the head says about its connection and its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    pub(crate) version: Version,
    pub(crate) body: BodyLength,
    /// The connection ends with the response.
    pub(crate) close: bool,
    /// HTTP/1.0 with `Connection: keep-alive`.
    pub(crate) keep_alive_10: bool,
    pub(crate) expect: Expect,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    RequestLine,
    FirstField,
    Field,
}

/// Parses one head out of a buffer that grows; all offsets are from the start of the head.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    at: At,
    /// Start of the field being read, whose value may be folded over several lines.
    field: usize,
    /// The end of the lines of `field` seen so far, past the last line break; 0 where none is.
    field_end: usize,
    /// Where to look for the next line feed.
    scanned: usize,
    method: Span,
    target: Span,
    authority: Span,
    version: (u8, u8),
    headers: Vec<HeaderSpan>,
    folded: bool,
    beyond_ascii: bool,
    /// The head written anew, where it was folded or beyond ASCII.
    rewritten: Vec<u8>,
}

fn span(start: usize, end: usize) -> Span {
    // Heads are cut off at HEAD_BYTES_MAX, far below 4 GiB.
    Span { start: start as u32, end: end as u32 }
}

/// A line without its line feed and one carriage return before it.
fn line(buffer: &[u8], start: usize, feed: usize) -> &[u8] {
    let bytes = &buffer[start..feed];
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

impl Parser {
    /// Forgets the head, keeps small buffers.
    pub(crate) fn reset(&mut self) {
        let headers = std::mem::take(&mut self.headers);
        *self = Parser { headers, ..Parser::default() };
        self.headers.clear();
        if self.headers.capacity() * size_of::<HeaderSpan>() > crate::limits::BUFFER_KEPT_MAX {
            self.headers = Vec::new();
        }
    }

    /// Starts at a section of fields alone: a trailer.
    pub(crate) fn start_trailer(&mut self) {
        self.reset();
        self.at = At::FirstField;
    }

    /// Goes on with a head that begins at `buffer[0]`. The length of the head once it is whole.
    pub(crate) fn parse(&mut self, buffer: &[u8]) -> Result<Option<usize>, Refusal> {
        let whole = self.lines(buffer)?;
        let length = whole.unwrap_or(buffer.len());
        if length >= HEAD_BYTES_MAX + H1_HEAD_SLACK {
            return Err(Refusal::TooLarge);
        }
        Ok(whole)
    }

    fn lines(&mut self, buffer: &[u8]) -> Result<Option<usize>, Refusal> {
        loop {
            // A field is whole only when the byte after its line tells that it is not folded.
            if self.field_end > 0 {
                match buffer.get(self.field_end) {
                    None => return Ok(None),
                    Some(b' ' | b'\t') => self.folded = true,
                    Some(_) => {
                        self.finish_field(buffer)?;
                        self.field = self.field_end;
                        self.field_end = 0;
                    }
                }
            }
            let start = self.field_end.max(self.field);
            let Some(feed) = memchr::memchr(b'\n', &buffer[self.scanned..]) else {
                self.scanned = buffer.len();
                return Ok(None);
            };
            let feed = self.scanned + feed;
            self.scanned = feed + 1;
            let text = line(buffer, start, feed);
            match self.at {
                At::RequestLine => {
                    self.request_line(text)?;
                    self.field = feed + 1;
                    self.at = At::FirstField;
                }
                At::FirstField | At::Field => {
                    if self.field_end > 0 {
                        self.field_end = feed + 1;
                        continue;
                    }
                    if text.is_empty() {
                        return Ok(Some(feed + 1));
                    }
                    let leading_space = matches!(text[0], b' ' | b'\t');
                    if (self.at == At::FirstField && leading_space) || memchr::memchr(b':', text).is_none() {
                        return Err(Refusal::BadRequest);
                    }
                    self.at = At::Field;
                    self.field_end = feed + 1;
                }
            }
        }
    }

    fn request_line(&mut self, text: &[u8]) -> Result<(), Refusal> {
        let bad = Refusal::BadRequest;
        let method_end = memchr::memchr(b' ', text).ok_or(bad)?;
        let rest = method_end + 1;
        let target_end = rest + memchr::memchr(b' ', &text[rest..]).ok_or(bad)?;
        if method_end == 0 || !TOKEN.all(&text[..method_end]) {
            return Err(bad);
        }
        self.version = match &text[target_end + 1..] {
            [b'H', b'T', b'T', b'P', b'/', major @ b'0'..=b'9', b'.', minor @ b'0'..=b'9'] => {
                (major - b'0', minor - b'0')
            }
            _ => return Err(bad),
        };
        let connect = &text[..method_end] == b"CONNECT";
        let Target { path_and_query, authority, beyond_ascii } =
            target::parse(connect, &text[rest..target_end]).ok_or(bad)?;
        self.method = span(0, method_end);
        self.target = span(rest + path_and_query.start, rest + path_and_query.end);
        self.authority = span(rest + authority.start, rest + authority.end);
        self.beyond_ascii = beyond_ascii;
        Ok(())
    }

    fn finish_field(&mut self, buffer: &[u8]) -> Result<(), Refusal> {
        let bad = Refusal::BadRequest;
        let field = &buffer[self.field..self.field_end];
        let colon = memchr::memchr(b':', field).ok_or(bad)?;
        let name = &field[..colon];
        // A space in a name is refused only when the whole head is there, with another text.
        if name.is_empty() || !name.iter().all(|b| TOKEN.has(*b) || *b == b' ') {
            return Err(bad);
        }
        let value = &field[colon + 1..];
        let value = value.strip_suffix(b"\n").unwrap_or(value);
        let value = value.strip_suffix(b"\r").unwrap_or(value);
        let valid = if memchr::memchr(b'\n', value).is_none() {
            is_field_value(value)
        } else {
            value.split(|b| *b == b'\n').all(|l| is_field_value(l.strip_suffix(b"\r").unwrap_or(l)))
        };
        if !valid {
            return Err(bad);
        }
        let trimmed = trim(value);
        let start = self.field + colon + 1 + (value.len() - trim_start(value).len());
        self.headers.push(HeaderSpan {
            name: span(self.field, self.field + colon),
            value: span(start, start + trimmed.len()),
        });
        Ok(())
    }

    /// What the whole head says, in the order in which Go finds fault.
    pub(crate) fn framing(&mut self, buffer: &[u8]) -> Result<Framing, Refusal> {
        if self.folded || self.beyond_ascii {
            self.rewrite(buffer);
        }
        let buffer = self.buffer(buffer);
        let (mut host, mut hosts) = (&b""[..], 0);
        let (mut codings, mut coding) = (0, &b""[..]);
        let mut lengths: Option<&[u8]> = None;
        let (mut says_close, mut says_keep_alive) = (false, false);
        let mut expect = None;
        let (mut conflict, mut spaced_name, mut bad_trailer) = (false, false, false);
        for header in &self.headers {
            let (name, value) = (header.name.of(buffer), header.value.of(buffer));
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            match name.len() {
                4 if is(b"host") => {
                    hosts += 1;
                    if hosts == 1 {
                        host = value;
                    }
                }
                6 if is(b"expect") => {
                    expect.get_or_insert(value);
                }
                7 if is(b"trailer") => {
                    let forbidden: [&[u8]; 3] = [b"transfer-encoding", b"trailer", b"content-length"];
                    bad_trailer |= forbidden.iter().any(|key| list_has(value, key));
                }
                10 if is(b"connection") => {
                    says_close |= list_has(value, b"close");
                    says_keep_alive |= list_has(value, b"keep-alive");
                }
                14 if is(b"content-length") => {
                    conflict |= lengths.is_some_and(|first| first != value);
                    lengths.get_or_insert(value);
                }
                17 if is(b"transfer-encoding") => {
                    codings += 1;
                    coding = value;
                }
                _ => spaced_name = spaced_name || memchr::memchr(b' ', name).is_some(),
            }
        }
        let preface =
            self.version == (2, 0) && self.method.of(buffer) == b"PRI" && self.target.of(buffer) == b"*";
        let http11 = self.version >= (1, 1);
        if hosts > 1 {
            return Err(Refusal::BadRequest);
        }
        // HTTP/1.0 knows no transfer codings; there the field is as if it were not there.
        let chunked = http11 && codings > 0;
        if chunked && (codings > 1 || !coding.eq_ignore_ascii_case(b"chunked")) {
            return Err(Refusal::TransferEncoding);
        }
        let length = lengths.map(content_length).transpose();
        let Ok(length) = length else { return Err(Refusal::BadRequest) };
        if conflict || (chunked && bad_trailer) {
            return Err(Refusal::BadRequest);
        }
        if self.version.0 != 1 && !preface {
            return Err(Refusal::Version);
        }
        let connect = self.method.of(buffer) == b"CONNECT";
        if http11 && hosts == 0 && !connect && !(preface && self.headers.is_empty()) {
            return Err(Refusal::MissingHost);
        }
        if !HOST.all(host) {
            return Err(Refusal::MalformedHost);
        }
        if spaced_name {
            return Err(Refusal::InvalidFieldName);
        }
        let expect = match expect {
            None | Some(b"") => Expect::Nothing,
            Some(value) => {
                let mut tokens = value.split(|b| matches!(b, b' ' | b',' | b'\t'));
                if tokens.any(|token| token.eq_ignore_ascii_case(b"100-continue")) {
                    Expect::Continue
                } else {
                    Expect::Other
                }
            }
        };
        Ok(Framing {
            version: if http11 { Version::Http11 } else { Version::Http10 },
            body: match length {
                _ if chunked => BodyLength::Unknown,
                None | Some(0) => BodyLength::None,
                Some(length) => BodyLength::Exact(length),
            },
            close: says_close || preface || (!http11 && !says_keep_alive),
            keep_alive_10: self.version == (1, 0) && says_keep_alive,
            expect,
        })
    }

    /// The head, after [`Self::framing`] found no fault.
    pub(crate) fn head<'b>(&'b self, buffer: &'b [u8], framing: &Framing) -> Head<'b> {
        let buffer = self.buffer(buffer);
        // Method, target and authority were checked to be ASCII, or rewritten to be.
        let text = |span: Span| std::str::from_utf8(span.of(buffer)).unwrap_or_default();
        let mut authority = text(self.authority);
        if authority.is_empty() {
            let host = self.headers.iter().find(|h| h.name.of(buffer).eq_ignore_ascii_case(b"host"));
            authority = host.map(|h| text(h.value)).unwrap_or_default();
        }
        Head {
            buffer,
            method: text(self.method),
            target: text(self.target),
            authority,
            version: framing.version,
            headers: &self.headers,
            body: framing.body,
        }
    }

    fn buffer<'b>(&'b self, buffer: &'b [u8]) -> &'b [u8] {
        if self.rewritten.is_empty() { buffer } else { &self.rewritten }
    }

    /// Copies the head with folds made single spaces and the target made ASCII, and points the spans there.
    fn rewrite(&mut self, buffer: &[u8]) {
        let out = &mut self.rewritten;
        for part in [&mut self.method, &mut self.target, &mut self.authority] {
            let start = out.len();
            target::push_ascii(out, part.of(buffer));
            *part = span(start, out.len());
        }
        for header in &mut self.headers {
            let start = out.len();
            out.extend_from_slice(header.name.of(buffer));
            let name_end = out.len();
            for (i, line) in header.value.of(buffer).split(|b| *b == b'\n').enumerate() {
                if i > 0 {
                    out.push(b' ');
                }
                out.extend_from_slice(trim(line.strip_suffix(b"\r").unwrap_or(line)));
            }
            let value_start = name_end + (out.len() - name_end - trim_start(&out[name_end..]).len());
            let value = span(value_start, out.len());
            *header = HeaderSpan { name: span(start, name_end), value };
        }
        self.folded = false;
        self.beyond_ascii = false;
    }
}

fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// Digits alone, below 2^63.
fn content_length(value: &[u8]) -> Result<u64, ()> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(());
    }
    let mut n = 0u64;
    for digit in value {
        n = n.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0'))).ok_or(())?;
    }
    if n > i64::MAX as u64 { Err(()) } else { Ok(n) }
}
