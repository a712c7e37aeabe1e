//! Logs of containers (`LocationStreamer`).

use std::task::{Poll, Waker};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use ringbolt_apiserver::{
    relay::{Relay, RelayHead, RelayOut},
    response::{Response, StreamState},
    response_writers::Errors,
};
use ringbolt_machinery::{
    field::quote,
    status::{Details, Reason, Status},
};
use ringbolt_outgoing::{Call, Head};
use ringbolt_protocol::{
    head::Head as RequestHead,
    websocket::{self, Opcode},
};

use crate::{
    handshake::{self, Handshake},
    limits,
    relayed::other_error,
    socket::{NORMAL, Socket},
};

/// The request for a kubelet: nothing of it is the client's.
///
/// # Errors
/// It cannot be written.
pub(crate) fn request(target: &str, host: &str) -> Result<Request<()>, String> {
    let host = HeaderValue::from_str(host).map_err(|e| e.to_string())?;
    Request::get(target).header(header::HOST, host).body(()).map_err(|e| e.to_string())
}

/// How a log is sent in a WebSocket.
pub(crate) struct Framing {
    handshake: Handshake,
    subprotocol: String,
    is_base64: bool,
}

impl Framing {
    /// As a request says that asks for a WebSocket.
    ///
    /// # Errors
    /// The answer to one that asks for what is not known.
    pub(crate) fn of(head: &RequestHead<'_>) -> Result<Option<Framing>, Box<Response>> {
        let Some(named) = handshake::subprotocols(head) else { return Ok(None) };
        let handshake = Handshake::of(head)?;
        let known = ["", "binary.k8s.io", "base64.binary.k8s.io"];
        let Some(subprotocol) = named.into_iter().find(|name| known.contains(&name.as_str())) else {
            return Err(Box::new(Response { status: 403, ..Response::default() }.closing()));
        };
        let is_base64 = subprotocol.starts_with("base64.");
        Ok(Some(Framing { handshake, subprotocol, is_base64 }))
    }

    /// A message with a part of the log.
    fn message(&self, part: &[u8]) -> Bytes {
        match self.is_base64 {
            true => websocket::frame(Opcode::Text, BASE64_STANDARD.encode(part).as_bytes()),
            false => websocket::frame(Opcode::Binary, part),
        }
        .into()
    }
}

/// How far it is.
enum Stage {
    Asked,
    /// It is passed on.
    Runs,
    /// There is none: the status, and what the kubelet says of it.
    Failed(u16, Vec<u8>),
}

/// A log on its way.
pub(crate) struct Log {
    call: Call,
    errors: Errors,
    url: String,
    pod: String,
    stage: Stage,
    framing: Option<Framing>,
    /// The client's end of a WebSocket, where nothing but an end is awaited.
    socket: Socket,
}

impl Log {
    pub(crate) fn new(call: Call, errors: Errors, url: String, pod: String, framing: Option<Framing>) -> Log {
        Log { call, errors, url, pod, stage: Stage::Asked, framing, socket: Socket::default() }
    }

    fn begin(&mut self, head: &Head, out: &mut dyn RelayOut) {
        if !(200..=206).contains(&head.status) {
            self.stage = Stage::Failed(head.status, Vec::new());
            return;
        }
        self.stage = Stage::Runs;
        if let Some(framing) = &self.framing {
            out.begin(&framing.handshake.answer(&framing.subprotocol));
            // Tells that it has begun.
            out.put(framing.message(b""));
            return;
        }
        let headers = vec![("content-type".into(), Bytes::from_static(b"text/plain"))];
        out.begin(&RelayHead { status: 200, headers, ..RelayHead::default() });
    }

    fn fail(&self, status: &Status, out: &mut dyn RelayOut) -> StreamState {
        out.answer(self.errors.response(status));
        StreamState::End
    }
}

impl Relay for Log {
    fn data(&mut self, part: &[u8]) {
        self.socket.data(part, &mut |_| true);
    }

    fn end(&mut self) {
        self.socket.gone();
    }

    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState {
        if matches!(self.stage, Stage::Asked) {
            match self.call.poll_head(waker) {
                Poll::Pending => return StreamState::Pending,
                Poll::Ready(Err(error)) => {
                    let why = format!("Get {}: {}", quote(&self.url), error.text);
                    return self.fail(&other_error(why), out);
                }
                Poll::Ready(Ok(head)) if is_redirect(&head) => {
                    let location = head.headers[header::LOCATION].to_str().unwrap_or("");
                    let why = format!("Get {}: redirects forbidden", quote(location));
                    return self.fail(&other_error(why), out);
                }
                Poll::Ready(Ok(head)) => self.begin(&head, out),
            }
        }
        if self.framing.is_some() {
            self.socket.settle(&self.call, 0, waker, out);
            if self.socket.is_closed() {
                return StreamState::End;
            }
        }
        let mut sent = 0;
        while sent < room {
            match (self.call.poll_part(waker), &mut self.stage) {
                (Poll::Pending, _) => return StreamState::Pending,
                (Poll::Ready(Some(Ok(part))), Stage::Failed(code, said)) => {
                    let room = limits::LOG_ERROR_BYTES - said.len();
                    said.extend_from_slice(&part[..part.len().min(room)]);
                    if said.len() == limits::LOG_ERROR_BYTES {
                        let status = failed(*code, said, &self.pod);
                        return self.fail(&status, out);
                    }
                }
                (Poll::Ready(Some(Ok(part))), _) => {
                    sent += part.len();
                    out.put(match &self.framing {
                        Some(framing) => framing.message(&part),
                        None => part,
                    });
                }
                (Poll::Ready(None), Stage::Failed(code, said)) => {
                    let status = failed(*code, said, &self.pod);
                    return self.fail(&status, out);
                }
                (Poll::Ready(Some(Err(error))), Stage::Failed(..)) => {
                    return self.fail(&Status::internal_error(error.text), out);
                }
                // The real server ends what broke off as what is whole.
                (Poll::Ready(None | Some(Err(_))), _) => {
                    if self.framing.is_some() {
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

fn is_redirect(head: &Head) -> bool {
    matches!(head.status, 301 | 302 | 303 | 307 | 308) && head.headers.contains_key(header::LOCATION)
}

/// What a kubelet's refusal means (`GenericHttpResponseChecker`).
fn failed(code: u16, said: &[u8], pod: &str) -> Status {
    let said = String::from_utf8_lossy(said).into_owned();
    let plain = |reason, text: &str| (reason, text.to_owned());
    let (reason, message) = match code {
        500 => return Status::internal_error(said),
        400 => return Status::bad_request(said),
        409 => plain(Reason::Conflict, "the server reported a conflict"),
        404 => plain(Reason::NotFound, "the server could not find the requested resource"),
        401 => plain(Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => (Reason::Forbidden, said),
        406 if said.is_empty() || said == "unknown" => plain(
            Reason::NotAcceptable,
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => (Reason::NotAcceptable, said),
        415 => (Reason::UnsupportedMediaType, said),
        405 => {
            plain(Reason::MethodNotAllowed, "the server does not allow this method on the requested resource")
        }
        422 => plain(Reason::Invalid, "the server rejected our request due to an error in our request"),
        503 => plain(Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => plain(
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        429 => plain(
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later",
        ),
        code if code >= 500 => {
            let message = format!(
                "an error on the server ({}) has prevented the request from succeeding",
                quote(&said)
            );
            (Reason::InternalError, message)
        }
        code => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            (Reason::Unknown, message)
        }
    };
    let mut status = Status::failure(code, reason, format!("{message} ( pods/log {pod})"));
    status.details =
        Some(Box::new(Details { name: pod.to_owned(), kind: "pods/log".to_owned(), ..Details::default() }));
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_kubelets() {
        let check = |code: u16, said: &str, expect: (u16, Reason, &str)| {
            let status = failed(code, said.as_bytes(), "p");
            assert_eq!((status.code, status.reason, &*status.message), expect, "{code}");
        };
        check(500, "x", (500, Reason::InternalError, "Internal error occurred: x"));
        check(400, "no such container", (400, Reason::BadRequest, "no such container"));
        let text = "the server could not find the requested resource ( pods/log p)";
        check(404, "gone", (404, Reason::NotFound, text));
        check(403, "may not", (403, Reason::Forbidden, "may not ( pods/log p)"));
        let text = "an error on the server (\"bad\") has prevented the request from succeeding ( pods/log p)";
        check(502, "bad", (502, Reason::InternalError, text));
        let text =
            "the server responded with the status code 418 but did not return more information ( pods/log p)";
        check(418, "", (418, Reason::Unknown, text));
    }
}
