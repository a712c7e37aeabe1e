//! Requests of clients that another server answers (`proxyHandler`, `UpgradeAwareHandler`).

use std::{sync::Arc, task::Waker};

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use ringbolt_apiserver::{
    relay::{Relay, RelayHead, RelayOut},
    request::{self, Request as ClientRequest},
    response::{Outcome, Response, StreamState, TEXT},
    response_writers::plain_error,
    routes::Handler,
};
use ringbolt_outgoing::{Call, CallError, Head};
use ringbolt_protocol::head::BodyLength;

use crate::{
    backend::Backend,
    forwarding,
    inbox::Resources,
    limits,
    resolver::{Resolver, Routing},
};

/// What all proxies have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proxying {
    pub(crate) resources: Resources,
    pub(crate) routing: Routing,
    /// `--aggregator-reject-forwarding-redirect`
    pub(crate) rejects_redirects: bool,
}

/// Who answers for an APIService that is another server's.
pub(crate) fn handler(proxying: Proxying, backend: Arc<Backend>, available: bool) -> Handler {
    Arc::new(move |request| serve(proxying, &backend, available, request))
}

fn unavailable() -> Outcome {
    Outcome::Ready(plain_error(503, "service unavailable"))
}

fn serve(proxying: Proxying, backend: &Backend, available: bool, request: &ClientRequest<'_>) -> Outcome {
    if !available {
        return unavailable();
    }
    let client = match &backend.client {
        Ok(client) => client,
        Err(why) => return Outcome::Ready(plain_error(500, why)),
    };
    let Proxying { resources, routing, .. } = proxying;
    let resolver = Resolver { storage: &*request.core.storage, resources, routing };
    let destination = match resolver.resolve(&backend.service, request.core.random_u64()) {
        Ok(destination) => destination,
        Err(error) => {
            tracing::warn!(error, "the service of an aggregated API cannot be resolved");
            return unavailable();
        }
    };
    let upgrade = forwarding::is_upgrade(request.head);
    let outgoing = match forwarding::request(request, &destination.address(), upgrade) {
        Ok(outgoing) => outgoing,
        Err(error) => return Outcome::Ready(plain_error(503, &error)),
    };
    let has_body = request.head.body != BodyLength::None;
    // `/apis/GROUP/VERSION` is discovery.
    let is_discovery =
        !request.info.is_resource_request && request.info.path.trim_matches('/').split('/').count() == 3;
    let patience = is_discovery.then_some(limits::CLIENT_DISCOVERY_TIMEOUT);
    let call = client.call(destination, outgoing, has_body, upgrade, patience);
    if !has_body && !upgrade {
        call.finish();
    }
    Outcome::Relay(Box::new(Proxied {
        call,
        begun: false,
        upgrade,
        upgraded: false,
        lasts: request::is_long_running(request.info),
        rejects_redirects: proxying.rejects_redirects,
    }))
}

/// A request that is with another server.
struct Proxied {
    call: Call,
    /// The head of its answer has gone to the client.
    begun: bool,
    /// The client asked for another protocol.
    upgrade: bool,
    /// It has it.
    upgraded: bool,
    lasts: bool,
    rejects_redirects: bool,
}

impl Proxied {
    /// Begins to answer; answers whether parts follow.
    fn begin(&mut self, head: Result<Head, CallError>, out: &mut dyn RelayOut) -> bool {
        let head = match head {
            Ok(head) => head,
            Err(error) => {
                out.answer(plain_error(503, &error.text));
                return false;
            }
        };
        let bare = self.upgrade && !head.upgraded;
        if bare && head.status < 400 {
            let why = format!("invalid upgrade response: status code {}", head.status);
            out.answer(plain_error(503, &why));
            return false;
        }
        let redirects = (300..400).contains(&head.status)
            && head.headers.get(header::LOCATION).is_some_and(|location| !location.is_empty());
        if self.rejects_redirects && redirects && !self.upgrade {
            let why = "the backend attempted to redirect this request, which is not permitted";
            out.answer(Response::new(502, TEXT, why));
            return false;
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

/// The fields of an answer that are for the client.
fn answered(headers: &HeaderMap, upgraded: bool) -> Vec<(Box<str>, Bytes)> {
    let hop = forwarding::HopByHop::of(headers);
    headers
        .iter()
        .filter(|(name, _)| upgraded || !hop.has(name.as_str()))
        .map(|(name, value)| (name.as_str().into(), Bytes::copy_from_slice(value.as_bytes())))
        .collect()
}

impl Relay for Proxied {
    fn data(&mut self, part: &[u8]) {
        self.call.send(Bytes::copy_from_slice(part));
    }

    fn end(&mut self) {
        self.call.finish();
    }

    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState {
        out.passed(self.call.take_sent(waker));
        if !self.begun {
            let std::task::Poll::Ready(head) = self.call.poll_head(waker) else {
                return StreamState::Pending;
            };
            self.begun = true;
            if !self.begin(head, out) {
                return StreamState::End;
            }
        }
        let mut sent = 0;
        while sent < room {
            match self.call.poll_part(waker) {
                std::task::Poll::Pending => return StreamState::Pending,
                std::task::Poll::Ready(None) => return StreamState::End,
                std::task::Poll::Ready(Some(Ok(part))) => {
                    sent += part.len();
                    out.put(part);
                }
                std::task::Poll::Ready(Some(Err(error))) => {
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
}

/// A request of this server itself to another one.
pub(crate) fn own_request(
    path: &str,
    address: &str,
    accept: &str,
    user: &str,
    groups: &[&str],
    etag: Option<&str>,
) -> Option<Request<Bytes>> {
    let mut request = Request::get(path).header(header::HOST, address);
    if !accept.is_empty() {
        request = request.header(header::ACCEPT, accept);
    }
    if let Some(etag) = etag.filter(|etag| !etag.is_empty()) {
        request = request.header(header::IF_NONE_MATCH, etag);
    }
    request = request.header("x-remote-user", user);
    for group in groups {
        request = request.header("x-remote-group", *group);
    }
    request.body(Bytes::new()).ok()
}
