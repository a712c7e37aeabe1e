//! Requests of clients that another server answers (`proxyHandler`, `UpgradeAwareHandler`).

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, header};
use ringbolt_apiserver::{
    request::{self, Request as ClientRequest},
    response::Outcome,
    response_writers::plain_error,
    routes::Handler,
};
use ringbolt_protocol::head::BodyLength;
use ringbolt_proxy::{Failures, Forward, Relayed, encode_query, escape_path};

use crate::{
    backend::Backend,
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
    let upgrade = ringbolt_proxy::is_upgrade(request.head);
    let address = destination.address();
    let forward = Forward {
        target: ringbolt_proxy::target(request.info.path, &encode_query(request.head.query())),
        host: address.as_bytes(),
        upgrade,
        uri: &escape_path(request.info.path),
        forwarded_host: Some(&address),
        identifies: true,
    };
    let outgoing = match ringbolt_proxy::request(request, &forward) {
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
    let relayed = Relayed::new(call, Failures::Plain, upgrade)
        .lasting(request::is_long_running(request.info))
        .rejecting_redirects(proxying.rejects_redirects);
    Outcome::Relay(Box::new(relayed))
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
