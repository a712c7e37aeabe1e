//! The handshake of WebSockets (RFC 6455 section 4.2).

use aws_lc_rs::digest;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use ringbolt_apiserver::{
    relay::RelayHead,
    response::{Response, TEXT},
};
use ringbolt_protocol::head::Head;

use crate::forwarding;

/// What the key of a client is hashed with (RFC 6455 section 1.3).
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The subprotocols that a request for a WebSocket names; nothing where it is none.
pub(crate) fn subprotocols(head: &Head<'_>) -> Option<Vec<String>> {
    let upgrade = head.header("upgrade")?;
    if !upgrade.eq_ignore_ascii_case(b"websocket") || !forwarding::is_upgrade(head) {
        return None;
    }
    let named = String::from_utf8_lossy(head.header("sec-websocket-protocol").unwrap_or_default());
    Some(named.split(',').map(|name| name.trim().to_owned()).collect())
}

/// What answers a client, once the subprotocol is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    accept: String,
}

impl Handshake {
    /// Of a request for a WebSocket.
    ///
    /// # Errors
    /// The answer to one that is no good.
    pub(crate) fn of(head: &Head<'_>) -> Result<Handshake, Box<Response>> {
        let bad = |status, why: &str| Err(Box::new(Response::new(status, TEXT, why.to_owned()).closing()));
        if head.method != "GET" {
            return bad(405, "bad method");
        }
        let key = head.header("sec-websocket-key").unwrap_or_default();
        if key.is_empty() {
            return bad(400, "mismatch challenge/response");
        }
        if head.header("sec-websocket-version") != Some(b"13") {
            let mut response = Response::new(400, TEXT, "missing or bad WebSocket Version").closing();
            response.headers.push(("sec-websocket-version", "13".to_owned()));
            return Err(Box::new(response));
        }
        let hashed = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &[key, MAGIC.as_bytes()].concat());
        Ok(Handshake { accept: BASE64_STANDARD.encode(hashed) })
    }

    /// The answer; with no subprotocol where that is empty.
    pub(crate) fn answer(&self, subprotocol: &str) -> RelayHead {
        let field = |name: &str, value: &str| (name.into(), Bytes::copy_from_slice(value.as_bytes()));
        let mut headers = vec![
            field("upgrade", "websocket"),
            field("connection", "Upgrade"),
            field("sec-websocket-accept", &self.accept),
        ];
        if !subprotocol.is_empty() {
            headers.push(field("sec-websocket-protocol", subprotocol));
        }
        RelayHead { status: 101, headers, bare: false, upgraded: true }
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_protocol::head::{BodyLength, HeaderSpan, Span, Version};

    use super::*;

    fn with_head<T>(method: &str, fields: &[(&str, &str)], work: impl FnOnce(&Head<'_>) -> T) -> T {
        let (mut buffer, mut headers) = (String::new(), Vec::new());
        for (name, value) in fields {
            let mut put = |text: &str| {
                let start = buffer.len() as u32;
                buffer.push_str(text);
                Span { start, end: buffer.len() as u32 }
            };
            headers.push(HeaderSpan { name: put(name), value: put(value) });
        }
        work(&Head {
            buffer: buffer.as_bytes(),
            method,
            target: "/",
            authority: "",
            version: Version::Http11,
            headers: &headers,
            body: BodyLength::None,
        })
    }

    #[test]
    fn requests_for_web_sockets() {
        let check = |fields: &[(&str, &str)], expect: Option<&[&str]>| {
            let found = with_head("GET", fields, subprotocols);
            let expect = expect.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(found, expect, "{fields:?}");
        };
        let upgrade = ("Connection", "keep-alive, Upgrade");
        check(&[upgrade, ("Upgrade", "WebSocket")], Some(&[""]));
        check(&[upgrade, ("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", "a, b")], Some(&["a", "b"]));
        check(&[upgrade, ("Upgrade", "SPDY/3.1")], None);
        check(&[("Upgrade", "websocket")], None);
    }

    #[test]
    fn answers() {
        let check = |method, fields: &[(&str, &str)], expect: Result<&str, u16>| {
            let found = with_head(method, fields, Handshake::of);
            let found = found.as_ref().map(|handshake| &*handshake.accept);
            assert_eq!(found.map_err(|response| response.status), expect, "{fields:?}");
        };
        let (key, version) =
            (("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"));
        // The example of RFC 6455.
        check("GET", &[key, version], Ok("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        check("POST", &[key, version], Err(405));
        check("GET", &[version], Err(400));
        check("GET", &[key, ("Sec-WebSocket-Version", "8")], Err(400));
        check("GET", &[key], Err(400));
        let head = Handshake { accept: "x".to_owned() }.answer("");
        assert!(head.upgraded && head.headers.len() == 3);
    }
}
