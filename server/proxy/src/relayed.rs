//! An answer of another server on its way to a client (`UpgradeAwareHandler`).

use std::task::{Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, header};
use ringbolt_apiserver::{
    relay::{Relay, RelayHead, RelayOut},
    response::{Response, StreamState, TEXT},
    response_writers::{Errors, plain_error},
};
use ringbolt_machinery::status::{Reason, Status};
use ringbolt_outgoing::{Call, CallError, Failure, Head};

use crate::{forwarding::HopByHop, limits, rewriting::Rewriting};

/// How a client hears that the other server did not answer.
#[derive(Clone, Copy, Debug)]
pub enum Failures {
    /// In plain text, as of an aggregated API.
    Plain,
    /// As a Status, of a kubelet.
    Kubelet(Errors),
    /// The same, of what is behind a proxy.
    Proxy(Errors),
}

impl Failures {
    pub(crate) fn call(self, error: &CallError, upgrade: bool) -> Response {
        let (errors, is_proxy) = match self {
            Failures::Plain => return plain_error(503, &error.text),
            Failures::Kubelet(errors) => (errors, false),
            Failures::Proxy(errors) => (errors, true),
        };
        errors.response(&match (error.failure, upgrade) {
            (Failure::NotAllowed, _) => Status::bad_request(error.text.clone()),
            // Where a name leads is looked at before it is dialed.
            (Failure::Lookup, _) if is_proxy => {
                Status::bad_request(error.text.strip_prefix("dial tcp: ").unwrap_or(&error.text))
            }
            (Failure::Dial | Failure::Lookup | Failure::Tls | Failure::Timeout | Failure::Busy, true) => {
                other_error(format!("error dialing backend: {}", error.text))
            }
            (_, true) => other_error(error.text.clone()),
            (_, false) => {
                let message = format!("error trying to reach service: {}", error.text);
                Status::failure(503, Reason::ServiceUnavailable, message)
            }
        })
    }

    /// The other server changes to a protocol that nobody asked for.
    fn unasked(self, head: &Head) -> Response {
        let why = match head.headers.get(header::UPGRADE).and_then(|value| value.to_str().ok()) {
            Some(to) => format!("backend tried to switch protocol {to:?} when \"\" was requested"),
            None => "internal error: 101 switching protocols response with non-writable body".to_owned(),
        };
        match self {
            Failures::Plain => plain_error(503, &why),
            Failures::Kubelet(errors) | Failures::Proxy(errors) => errors.response(&other_error(why)),
        }
    }

    pub(crate) fn not_upgraded(self, status: u16) -> Response {
        let why = format!("invalid upgrade response: status code {status}");
        match self {
            Failures::Plain => plain_error(503, &why),
            Failures::Kubelet(errors) | Failures::Proxy(errors) => errors.response(&other_error(why)),
        }
    }
}

/// An error that is no Status by itself (`ErrorToAPIStatus`).
pub(crate) fn other_error(message: String) -> Status {
    Status::failure(500, Reason::Unknown, message)
}

/// A request that is with another server.
pub struct Relayed {
    call: Call,
    failures: Failures,
    /// The head of its answer has gone to the client.
    begun: bool,
    /// The client asked for another protocol.
    upgrade: bool,
    /// It has it.
    upgraded: bool,
    lasts: bool,
    counted: bool,
    rejects_redirects: bool,
    rewriting: Option<Rewriting>,
}

impl Relayed {
    /// A call that was made, to be told of as `failures` says. `upgrade`: for another protocol.
    pub fn new(call: Call, failures: Failures, upgrade: bool) -> Relayed {
        Relayed {
            call,
            failures,
            begun: false,
            upgrade,
            upgraded: false,
            lasts: false,
            counted: false,
            rejects_redirects: false,
            rewriting: None,
        }
    }

    /// It lasts, so that no timeout counts for it.
    pub fn lasting(self, lasts: bool) -> Self {
        Relayed { lasts, ..self }
    }

    /// It counts among the requests of this server.
    pub(crate) fn counted(self) -> Self {
        Relayed { counted: true, ..self }
    }

    /// Redirects are answered 502 (`--aggregator-reject-forwarding-redirect`).
    pub fn rejecting_redirects(self, rejects_redirects: bool) -> Self {
        Relayed { rejects_redirects, ..self }
    }

    /// Links lead through the proxy.
    pub(crate) fn rewriting(self, rewriting: Rewriting) -> Self {
        Relayed { rewriting: Some(rewriting), ..self }
    }

    /// Begins to answer; answers whether parts follow.
    fn begin(&mut self, head: Result<Head, CallError>, out: &mut dyn RelayOut) -> bool {
        let mut head = match head {
            Ok(head) => head,
            Err(error) => {
                out.answer(self.failures.call(&error, self.upgrade));
                return false;
            }
        };
        if head.status == 101 && !self.upgrade {
            // Nothing is said in the protocol that it would change to.
            out.answer(self.failures.unasked(&head));
            return false;
        }
        let bare = self.upgrade && !head.upgraded;
        if bare && head.status < 400 {
            out.answer(self.failures.not_upgraded(head.status));
            return false;
        }
        let redirects = (300..400).contains(&head.status)
            && head.headers.get(header::LOCATION).is_some_and(|location| !location.is_empty());
        if self.rejects_redirects && redirects && !self.upgrade {
            let why = "the backend attempted to redirect this request, which is not permitted";
            out.answer(Response::new(502, TEXT, why));
            return false;
        }
        if let Some(rewriting) = &mut self.rewriting {
            rewriting.head(&mut head.headers);
        }
        self.upgraded = head.upgraded;
        out.begin(&RelayHead {
            status: head.status,
            headers: answered(&head.headers, head.upgraded),
            bare,
            upgraded: head.upgraded,
        });
        true
    }
}

/// What a page of another site may do with an answer.
const CROSS_ORIGIN: [header::HeaderName; 4] = [
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
];

/// The fields of an answer that are for the client. Who may read it from other sites is this server's to say, and where
/// two framings are given the length is not what the body has.
pub(crate) fn answered(headers: &HeaderMap, upgraded: bool) -> Vec<(Box<str>, Bytes)> {
    let hop = HopByHop::of(headers);
    let chunked = headers.contains_key(header::TRANSFER_ENCODING);
    headers
        .iter()
        .filter(|(name, _)| upgraded || !hop.has(name.as_str()))
        .filter(|(name, _)| !CROSS_ORIGIN.contains(name))
        .filter(|(name, _)| !chunked || *name != header::CONTENT_LENGTH)
        .map(|(name, value)| (name.as_str().into(), Bytes::copy_from_slice(value.as_bytes())))
        .collect()
}

impl Relay for Relayed {
    fn data(&mut self, part: &[u8]) {
        self.call.send(Bytes::copy_from_slice(part));
    }

    fn end(&mut self) {
        self.call.finish();
    }

    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState {
        out.passed(self.call.take_sent(waker));
        if !self.begun {
            let Poll::Ready(head) = self.call.poll_head(waker) else { return StreamState::Pending };
            self.begun = true;
            if !self.begin(head, out) {
                return StreamState::End;
            }
        }
        let (mut sent, mut opened) = (0, 0);
        while sent < room {
            if let Some(rewriting) = self.rewriting.as_mut().filter(|rewriting| rewriting.waits()) {
                if opened >= limits::REWRITE_BYTES {
                    // It is the turn of others: little may come out of much.
                    waker.wake_by_ref();
                    return StreamState::Pending;
                }
                let Ok((piece, bytes)) = rewriting.piece() else { return StreamState::Abort };
                sent += piece.len();
                opened += bytes;
                if !piece.is_empty() {
                    out.put(piece);
                }
                continue;
            }
            match self.call.poll_part(waker) {
                Poll::Pending => return StreamState::Pending,
                Poll::Ready(None) => {
                    if let Some(rest) = self.rewriting.as_mut().map(Rewriting::finish) {
                        out.put(rest);
                    }
                    return StreamState::End;
                }
                Poll::Ready(Some(Ok(part))) => match &mut self.rewriting {
                    Some(rewriting) => rewriting.part(part),
                    None => {
                        sent += part.len();
                        out.put(part);
                    }
                },
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "the answer of another server broke off");
                    return StreamState::Abort;
                }
            }
        }
        StreamState::Full
    }

    fn is_watch(&self) -> bool {
        self.lasts || self.upgraded
    }

    fn is_counted(&self) -> bool {
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn fields_that_are_for_the_client() {
        let check = |fields: &[(&'static str, &'static str)], expect: &[&str]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, HeaderValue::from_static(value));
            }
            let found = answered(&headers, false);
            assert_eq!(found.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), expect);
        };
        check(&[("content-length", "3"), ("x-a", "b")], &["content-length", "x-a"]);
        check(&[("content-length", "3"), ("transfer-encoding", "chunked")], &[]);
        check(
            &[
                ("access-control-allow-origin", "*"),
                ("access-control-allow-credentials", "true"),
                ("access-control-allow-headers", "a"),
                ("access-control-allow-methods", "GET"),
                ("access-control-max-age", "1"),
            ],
            &["access-control-max-age"],
        );
    }
}
