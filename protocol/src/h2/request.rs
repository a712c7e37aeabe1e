//! From decoded fields to a request head: the rules of RFC 9113 section 8.

use crate::h1::chars::{LOWER_TOKEN, is_field_value};
use crate::h1::target::{self, Target};
use crate::head::{BodyLength, Head, HeaderSpan, Span, Version};
use crate::hpack::Fields;

/// The request is malformed (RFC 9113 section 8.1.1): its stream ends with PROTOCOL_ERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a valid head consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    method: Span,
    target: Span,
    authority: Span,
    /// Pseudo fields at the start of the list.
    pseudo: usize,
    pub(crate) content_length: Option<u64>,
    pub(crate) body: BodyLength,
    pub(crate) expect_continue: bool,
}

fn push(buffer: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Span {
    let start = buffer.len() as u32;
    write(buffer);
    Span { start, end: buffer.len() as u32 }
}

/// Checks the fields of a head. Joins cookies and makes the target ASCII, in place.
pub(crate) fn check(fields: &mut Fields, end_stream: bool) -> Result<Request, Malformed> {
    let buffer = &fields.buffer;
    let (mut method, mut scheme, mut path, mut authority) = (None, None, None, None);
    let mut host = None;
    let mut pseudo = 0;
    let mut content_length = None;
    let mut expect_continue = false;
    let mut cookies = 0;
    for (i, field) in fields.spans.iter().enumerate() {
        let (name, value) = (field.name.of(buffer), field.value.of(buffer));
        if !is_field_value(value) {
            return Err(Malformed);
        }
        if name.first() == Some(&b':') {
            let place = match name {
                b":method" => &mut method,
                b":scheme" => &mut scheme,
                b":path" => &mut path,
                b":authority" => &mut authority,
                _ => return Err(Malformed),
            };
            if pseudo < i || place.replace(field.value).is_some() {
                return Err(Malformed);
            }
            pseudo += 1;
            continue;
        }
        regular(name, value)?;
        match name {
            b"cookie" => cookies += 1,
            b"host" => host = host.or(Some(field.value)),
            b"expect" => expect_continue = value.eq_ignore_ascii_case(b"100-continue"),
            b"content-length" => {
                let length = number(value).ok_or(Malformed)?;
                if content_length.replace(length).is_some_and(|other| other != length) {
                    return Err(Malformed);
                }
            }
            _ => {}
        }
    }
    let method = method.ok_or(Malformed)?;
    if method.start == method.end || !crate::h1::chars::TOKEN.all(method.of(buffer)) {
        return Err(Malformed);
    }
    let connect = method.of(buffer) == b"CONNECT";
    let (mut target, mut beyond_ascii) = (Span::default(), false);
    match (scheme, path) {
        (None, None) if connect && authority.is_some() => {}
        (Some(scheme), Some(path)) if !connect => {
            if !matches!(scheme.of(buffer), b"http" | b"https") {
                return Err(Malformed);
            }
            let raw = path.of(buffer);
            if !raw.starts_with(b"/") && raw != b"*" {
                return Err(Malformed);
            }
            let Target { beyond_ascii: beyond, .. } = target::parse(false, raw).ok_or(Malformed)?;
            (target, beyond_ascii) = (path, beyond);
        }
        _ => return Err(Malformed),
    }
    if end_stream && content_length.is_some_and(|length| length > 0) {
        return Err(Malformed);
    }
    if cookies > 1 {
        join_cookies(fields);
    }
    if beyond_ascii {
        let raw = target.of(&fields.buffer).to_vec();
        target = push(&mut fields.buffer, |buffer| target::push_ascii(buffer, &raw));
    }
    let body = match content_length {
        _ if end_stream => BodyLength::None,
        Some(length) => BodyLength::Exact(length),
        None => BodyLength::Unknown,
    };
    let authority = authority.or(host).unwrap_or_default();
    Ok(Request { method, target, authority, pseudo, content_length, body, expect_continue })
}

/// The fields of a trailer, which has no pseudo fields.
pub(crate) fn check_trailer(fields: &Fields) -> Result<(), Malformed> {
    fields.iter().try_for_each(|(name, value)| {
        regular(name, value)?;
        if is_field_value(value) { Ok(()) } else { Err(Malformed) }
    })
}

impl Request {
    /// The head, in the buffer of the fields that were checked.
    pub(crate) fn head<'f>(&self, fields: &'f Fields) -> Head<'f> {
        let text = |span: Span| std::str::from_utf8(span.of(&fields.buffer)).unwrap_or_default();
        Head {
            buffer: &fields.buffer,
            method: text(self.method),
            target: text(self.target),
            authority: text(self.authority),
            version: Version::Http2,
            headers: fields.spans.get(self.pseudo..).unwrap_or_default(),
            body: self.body,
        }
    }
}

/// Names in lower case, and none that belongs to a connection (RFC 9113 section 8.2).
fn regular(name: &[u8], value: &[u8]) -> Result<(), Malformed> {
    if name.is_empty() || !LOWER_TOKEN.all(name) {
        return Err(Malformed);
    }
    match name {
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
            Err(Malformed)
        }
        b"te" if value != b"trailers" => Err(Malformed),
        _ => Ok(()),
    }
}

fn number(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok().filter(|n| *n <= i64::MAX as u64)
}

/// Puts all cookies into the first field (RFC 9113 section 8.2.3), since HTTP/1 semantics know one only.
fn join_cookies(fields: &mut Fields) {
    let start = fields.buffer.len();
    let mut first: Option<usize> = None;
    let mut kept: usize = 0;
    for i in 0..fields.spans.len() {
        let field: HeaderSpan = fields.spans[i];
        if field.name.of(&fields.buffer) == b"cookie" {
            if fields.buffer.len() > start {
                fields.buffer.extend_from_slice(b"; ");
            }
            fields.buffer.extend_from_within(field.value.start as usize..field.value.end as usize);
            if first.is_some() {
                continue;
            }
            first = Some(kept);
        }
        fields.spans[kept] = field;
        kept += 1;
    }
    fields.spans.truncate(kept);
    if let Some(first) = first {
        fields.spans[first].value = Span { start: start as u32, end: fields.buffer.len() as u32 };
    }
}
