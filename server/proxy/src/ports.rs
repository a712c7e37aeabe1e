//! SPDY within a WebSocket: port-forward of clients that come with one, to kubelets that do not speak it
//! (`SPDY/3.1+portforward.k8s.io`).

use std::task::{Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use ringbolt_apiserver::{
    relay::{Relay, RelayHead, RelayOut},
    response::StreamState,
    response_writers::plain_error,
};
use ringbolt_outgoing::{Call, CallError, Head};
use ringbolt_protocol::websocket::{self, Opcode};

use crate::{
    handshake::Handshake,
    relayed::{Failures, answered},
    socket::{NORMAL, Socket},
};

/// What stands before a protocol that is tunneled, in the name of the subprotocol.
const TUNNELED: &str = "SPDY/3.1+";
/// What it ends with.
const OF_KUBERNETES: &str = ".k8s.io";
/// What is chosen of the protocols within.
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");

/// The protocols within, of a request that tunnels any.
pub(crate) fn tunneled(subprotocols: &[String]) -> Vec<String> {
    let tunneled =
        |name: &String| name.strip_prefix(TUNNELED)?.ends_with(OF_KUBERNETES).then(|| name.clone());
    subprotocols.iter().filter_map(tunneled).map(|name| name[TUNNELED.len()..].to_owned()).collect()
}

/// Makes a request for a WebSocket one for SPDY.
pub(crate) fn without_socket(request: &mut Request<()>, protocols: &[String]) {
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    for name in ["sec-websocket-protocol", "sec-websocket-key", "sec-websocket-version"] {
        headers.remove(name);
    }
    headers.insert(header::UPGRADE, HeaderValue::from_static("SPDY/3.1"));
    headers.remove(PROTOCOL_VERSION);
    for protocol in protocols {
        if let Ok(protocol) = HeaderValue::from_str(protocol) {
            headers.append(PROTOCOL_VERSION, protocol);
        }
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
}

/// Whether an answer has come to speak SPDY.
pub(crate) fn speaks_spdy(headers: &HeaderMap) -> bool {
    let says = |name, what: &str| {
        let value = headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or("");
        value.to_ascii_lowercase().contains(what)
    };
    says(header::CONNECTION, "upgrade") && says(header::UPGRADE, "spdy/3.1")
}

/// The protocol that the other end chose.
pub(crate) fn chosen(headers: &HeaderMap) -> &str {
    headers.get(PROTOCOL_VERSION).and_then(|value| value.to_str().ok()).unwrap_or("").trim()
}

/// How far a tunnel is.
enum Stage {
    Asked,
    /// Frames are put around what passes.
    Open,
    /// The other end would not, and says so.
    Refused,
}

/// A port-forward whose client speaks WebSocket and whose kubelet speaks SPDY.
pub(crate) struct Tunnel {
    call: Call,
    failures: Failures,
    handshake: Handshake,
    /// The protocols within that the client knows.
    protocols: Vec<String>,
    socket: Socket,
    stage: Stage,
}

impl Tunnel {
    pub(crate) fn new(
        call: Call,
        failures: Failures,
        handshake: Handshake,
        protocols: Vec<String>,
    ) -> Tunnel {
        Tunnel { call, failures, handshake, protocols, socket: Socket::default(), stage: Stage::Asked }
    }

    /// Begins to answer; answers whether parts follow.
    fn begin(&mut self, head: Result<Head, CallError>, out: &mut dyn RelayOut) -> bool {
        let head = match head {
            Ok(head) => head,
            Err(error) => {
                out.answer(self.failures.call(&error, true));
                return false;
            }
        };
        if !head.upgraded {
            if head.status < 400 {
                out.answer(self.failures.not_upgraded(head.status));
                return false;
            }
            self.stage = Stage::Refused;
            let headers = answered(&head.headers, false);
            out.begin(&RelayHead { status: head.status, headers, bare: true, upgraded: false });
            return true;
        }
        if !speaks_spdy(&head.headers) {
            let why = "unable to upgrade: missing upgrade headers in response";
            out.answer(plain_error(500, why).closing());
            return false;
        }
        let protocol = chosen(&head.headers);
        let known = self.protocols.iter().any(|known| known == protocol);
        let subprotocol = if known { format!("{TUNNELED}{protocol}") } else { String::new() };
        out.begin(&self.handshake.answer(&subprotocol));
        self.stage = Stage::Open;
        true
    }
}

impl Relay for Tunnel {
    fn data(&mut self, part: &[u8]) {
        let (mut plain, mut understood) = (Vec::with_capacity(part.len()), true);
        self.socket.data(part, &mut |part| {
            plain.extend_from_slice(part.bytes);
            understood = part.binary;
            understood
        });
        if understood && !plain.is_empty() {
            self.socket.send(&self.call, plain.into());
        }
    }

    fn end(&mut self) {
        self.socket.gone();
    }

    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState {
        if matches!(self.stage, Stage::Asked) {
            let Poll::Ready(head) = self.call.poll_head(waker) else { return StreamState::Pending };
            if !self.begin(head, out) {
                return StreamState::End;
            }
        }
        self.socket.settle(&self.call, 0, waker, out);
        if self.socket.is_closed() {
            return StreamState::End;
        }
        let mut sent = 0;
        while sent < room {
            match self.call.poll_part(waker) {
                Poll::Pending => return StreamState::Pending,
                Poll::Ready(Some(Ok(part))) => {
                    sent += part.len();
                    if matches!(self.stage, Stage::Open) {
                        let mut head = Vec::with_capacity(10);
                        websocket::put_head(&mut head, Opcode::Binary, part.len());
                        out.put(head.into());
                    }
                    out.put(part);
                }
                Poll::Ready(None | Some(Err(_))) => {
                    if matches!(self.stage, Stage::Open) {
                        out.put(Bytes::from(websocket::close_frame(NORMAL)));
                    }
                    return StreamState::End;
                }
            }
        }
        StreamState::Full
    }

    fn is_watch(&self) -> bool {
        true
    }

    fn is_counted(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_within() {
        let check = |names: &[&str], expect: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(tunneled(&names), expect, "{names:?}");
        };
        check(&["SPDY/3.1+portforward.k8s.io"], &["portforward.k8s.io"]);
        check(&["v4.channel.k8s.io", "SPDY/3.1+x", "SPDY/3.1+a.k8s.io"], &["a.k8s.io"]);
        check(&[""], &[]);
    }

    #[test]
    fn requests_are_made_for_spdy() {
        let mut request = Request::get("/portForward/a/b")
            .header("upgrade", "websocket")
            .header("connection", "Upgrade")
            .header("sec-websocket-key", "k")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-protocol", "SPDY/3.1+portforward.k8s.io")
            .header("x-forwarded-for", "1.2.3.4")
            .body(())
            .unwrap();
        without_socket(&mut request, &["portforward.k8s.io".to_owned()]);
        let mut fields: Vec<_> =
            request.headers().iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect();
        fields.sort();
        assert_eq!(
            fields,
            [
                "connection: Upgrade",
                "content-length: 0",
                "upgrade: SPDY/3.1",
                "x-forwarded-for: 1.2.3.4",
                "x-stream-protocol-version: portforward.k8s.io",
            ]
        );
        assert_eq!(request.method(), Method::POST);
    }
}
