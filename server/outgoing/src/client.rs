//! Calls that have their settings of TLS, and the connections made with them, in common.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use hyper::{
    Request, Response,
    body::{Body, Incoming},
    client::conn::http1,
};

use crate::{
    call::Upload,
    connect::{Sender, connect},
    error::{CallError, Failure},
    limits,
    pool::{Found, Place, Pool},
    runtime::Outgoing,
    tls::{TlsConfigs, TlsSettings},
};

/// What is spoken at a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP/1.1 as it is.
    Http,
    /// Either protocol, under TLS.
    #[default]
    Https,
}

impl Scheme {
    /// As URLs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// Where a call goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Destination {
    /// What is spoken there.
    pub scheme: Scheme,
    /// An address, or a name to look up.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Who is expected there, under TLS.
    pub server_name: String,
    /// Addresses of this machine, and of its link, are none of it: who has a client's requests sent must not reach what
    /// trusts this server.
    pub only_global: bool,
}

impl Destination {
    /// `host:port`, the host in brackets where it has colons.
    pub fn address(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// Makes calls. Clones have the same connections.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) outgoing: Outgoing,
    tls: TlsConfigs,
    pool: Pool,
    swept: AtomicBool,
}

/// What keeps a connection while its answer is read.
pub(crate) enum Lease {
    /// Goes back into the pool when the answer is at its end.
    Http1(http1::SendRequest<Upload>),
    Http2 {
        _place: Place,
    },
}

impl Client {
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(outgoing: &Outgoing, settings: &TlsSettings) -> Result<Self, String> {
        let shared = Shared {
            outgoing: outgoing.clone(),
            tls: settings.configs()?,
            pool: Pool::default(),
            swept: AtomicBool::new(false),
        };
        Ok(Client(Arc::new(shared)))
    }

    /// Drops idle connections.
    pub fn close_idle(&self) {
        self.0.pool.forget();
    }
}

impl Shared {
    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        destination: &Destination,
        mut request: Request<Upload>,
    ) -> Result<(Response<Incoming>, Lease), CallError> {
        loop {
            let (sender, place, fresh) = match self.pool.take(destination) {
                Found::Http1(sender) => (Sender::Http1(sender), None, false),
                Found::Http2(sender, place) => (Sender::Http2(sender), Some(place), false),
                Found::Full => return Err(CallError::busy()),
                Found::Nothing => (connect(destination, &self.tls.any).await?, None, true),
            };
            let spare = if fresh { None } else { repeatable(&request) };
            let sent = match sender {
                Sender::Http1(mut sender) => {
                    let sent = sender.try_send_request(for_http1(request)).await;
                    sent.map(|response| (response, Lease::Http1(sender)))
                }
                Sender::Http2(mut sender) => {
                    let place = place.unwrap_or_else(|| self.pool.share(destination, &sender));
                    self.sweep_later();
                    let sent = sender.try_send_request(for_http2(request, destination)).await;
                    sent.map(|response| (response, Lease::Http2 { _place: place }))
                }
            };
            match sent {
                Ok(sent) => return Ok(sent),
                Err(mut failed) => match failed.take_message() {
                    // A connection that the other end closed while nobody used it: nothing of the request has left.
                    Some(unsent) if !fresh => request = unsent,
                    _ => match (CallError::exchange(failed.error()), spare) {
                        // It was closed while the request was on its way, and to ask twice does no harm.
                        (error, Some(spare)) if error.failure == Failure::Closed => request = spare,
                        (error, _) => return Err(error),
                    },
                },
            }
        }
    }

    /// The same on a connection of its own, in HTTP/1.1: the answer may be another protocol.
    pub(crate) async fn upgrade(
        &self,
        destination: &Destination,
        request: Request<Upload>,
    ) -> Result<(Response<Incoming>, http1::SendRequest<Upload>), CallError> {
        match connect(destination, &self.tls.http1).await? {
            Sender::Http1(mut sender) => {
                let response = sender.send_request(for_http1(request)).await;
                response.map(|response| (response, sender)).map_err(|e| CallError::exchange(&e))
            }
            Sender::Http2(_) => {
                Err(CallError::new(Failure::Protocol, "HTTP/2 was agreed on and not asked for"))
            }
        }
    }

    /// An answer was read to its end.
    pub(crate) fn give_back(self: &Arc<Self>, destination: &Destination, lease: Lease) {
        if let Lease::Http1(sender) = lease {
            self.pool.give_back(destination, sender);
            self.sweep_later();
        }
    }

    /// Looks after idle connections from time to time while there are any.
    fn sweep_later(self: &Arc<Self>) {
        if self.swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared: Weak<Shared> = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(limits::IDLE_TIME / 4).await;
                let Some(shared) = shared.upgrade() else { return };
                if !shared.pool.sweep(Instant::now()) {
                    shared.swept.store(false, Ordering::Relaxed);
                    return;
                }
            }
        });
    }
}

/// A copy of a request that only reads and has no body.
fn repeatable(request: &Request<Upload>) -> Option<Request<Upload>> {
    if !request.method().is_safe() || !request.body().is_end_stream() {
        return None;
    }
    let mut copy = Request::new(Upload::none());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// HTTP/1.1 has path and query in its first line, and the authority in a field.
fn for_http1(mut request: Request<Upload>) -> Request<Upload> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
    if let Ok(target) = target.parse() {
        *request.uri_mut() = target;
    }
    *request.version_mut() = http::Version::HTTP_11;
    request
}

/// HTTP/2 has everything in pseudo fields.
fn for_http2(mut request: Request<Upload>, destination: &Destination) -> Request<Upload> {
    let host = request.headers_mut().remove(http::header::HOST);
    let authority = host
        .as_ref()
        .and_then(|host| host.to_str().ok())
        .map_or_else(|| destination.address(), str::to_owned);
    let target = request.uri().path_and_query().cloned();
    let uri = http::Uri::builder()
        .scheme("https")
        .authority(authority)
        .path_and_query(target.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")))
        .build();
    if let Ok(uri) = uri {
        *request.uri_mut() = uri;
    }
    *request.version_mut() = http::Version::HTTP_2;
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let check = |host: &str, expect: &str| {
            let destination = Destination { host: host.to_owned(), port: 443, ..Destination::default() };
            assert_eq!(destination.address(), expect);
        };
        check("10.0.0.1", "10.0.0.1:443");
        check("fd00::1", "[fd00::1]:443");
        check("a.b", "a.b:443");
    }

    #[test]
    fn targets_by_protocol() {
        let destination = Destination {
            host: "10.0.0.1".to_owned(),
            port: 443,
            server_name: "s".to_owned(),
            ..Destination::default()
        };
        let request = || {
            let request = Request::get("/apis/a/v1?x=%20").header("host", "h:1");
            request.body(Upload::none()).unwrap()
        };
        assert_eq!(for_http1(request()).uri(), "/apis/a/v1?x=%20");
        assert_eq!(for_http1(request()).headers()["host"], "h:1");
        let http2 = for_http2(request(), &destination);
        assert_eq!(http2.uri(), "https://h:1/apis/a/v1?x=%20");
        assert!(http2.headers().get("host").is_none());
        let again = for_http1(http2);
        assert_eq!(again.uri(), "/apis/a/v1?x=%20");
    }
}
