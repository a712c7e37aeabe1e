//! Who goes to kubelets, pods and services.

use std::{net::IpAddr, sync::Arc};

use arc_swap::ArcSwap;
use http::Request;
use ringbolt_apiserver::{
    connector::{Backend, Connector, Purpose, Scheme, Start, Streams, Trust},
    request::Request as ClientRequest,
    response::{Outcome, Response},
    response_writers::Errors,
};
use ringbolt_machinery::status::Status;
use ringbolt_outgoing::{
    Client, ClientPair, Destination, Outgoing, Scheme as OutgoingScheme, TlsSettings, is_global,
};
use ringbolt_protocol::head::BodyLength;

use crate::{
    command::{self, Command},
    forwarding::{self, Forward},
    handshake::{self, Handshake},
    log::{self, Framing, Log},
    ports::{self, Tunnel},
    relayed::{Failures, Relayed, other_error},
    rewriting::{Place, Rewriting},
};

/// Flags about kubelets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletSettings {
    /// `--kubelet-preferred-address-types`
    pub address_types: Vec<String>,
    /// `--kubelet-port`
    pub port: u16,
}

/// What connections have in common, by whom they trust.
struct Clients {
    kubelets: Client,
    any_kubelet: Client,
    anyone: Client,
}

impl Clients {
    fn new(outgoing: &Outgoing, pair: Option<ClientPair>, authorities: Vec<u8>) -> Result<Clients, String> {
        let insecure = TlsSettings { insecure: true, ..TlsSettings::default() };
        let kubelets = TlsSettings {
            // Without authorities nobody can be told from another.
            insecure: authorities.is_empty(),
            authorities,
            pair: pair.clone(),
            only_http1: false,
        };
        Ok(Clients {
            kubelets: Client::new(outgoing, &kubelets)?,
            any_kubelet: Client::new(outgoing, &TlsSettings { pair, ..insecure.clone() })?,
            anyone: Client::new(outgoing, &insecure)?,
        })
    }
}

/// Goes to kubelets, pods and services.
pub struct Kubelets {
    settings: KubeletSettings,
    outgoing: Outgoing,
    clients: ArcSwap<Clients>,
}

impl Kubelets {
    /// Shows kubelets `pair`, and believes those that `authorities`, a PEM text, have signed; all where it is empty.
    ///
    /// # Errors
    /// One of them is none.
    pub fn new(
        outgoing: Outgoing,
        settings: KubeletSettings,
        pair: Option<ClientPair>,
        authorities: Vec<u8>,
    ) -> Result<Kubelets, String> {
        let clients = Clients::new(&outgoing, pair, authorities)?;
        Ok(Kubelets { settings, clients: ArcSwap::from_pointee(clients), outgoing })
    }

    /// The same from now on; connections that were made stay until they end.
    ///
    /// # Errors
    /// One of them is none.
    pub fn replace(&self, pair: Option<ClientPair>, authorities: Vec<u8>) -> Result<(), String> {
        self.clients.store(Arc::new(Clients::new(&self.outgoing, pair, authorities)?));
        Ok(())
    }

    fn client(&self, trust: Trust) -> Client {
        let clients = self.clients.load();
        match trust {
            Trust::Kubelet => clients.kubelets.clone(),
            Trust::AnyKubelet => clients.any_kubelet.clone(),
            Trust::Anyone => clients.anyone.clone(),
        }
    }
}

/// Where to, and how failures are told.
struct Prepared {
    client: Client,
    destination: Destination,
    errors: Errors,
}

impl Connector for Kubelets {
    fn prepare(&self, request: &ClientRequest<'_>, backend: Backend, purpose: Purpose) -> Start {
        let errors = Errors::of(request.head);
        let is_own = |ip: IpAddr| !is_global(ip);
        if backend.only_global && backend.host.parse().is_ok_and(is_own) {
            return answer(errors.response(&Status::bad_request("address not allowed")));
        }
        let destination = Destination {
            scheme: match backend.scheme {
                Scheme::Http => OutgoingScheme::Http,
                Scheme::Https => OutgoingScheme::Https,
            },
            server_name: backend.host.clone(),
            host: backend.host.clone(),
            port: backend.port,
            only_global: backend.only_global,
        };
        let prepared = Prepared { client: self.client(backend.trust), destination, errors };
        let start = match purpose {
            Purpose::Log => prepared.log(request, &backend),
            Purpose::Command(streams) => prepared.command(request, &backend, streams),
            Purpose::Ports(translates) => prepared.ports(request, &backend, translates),
            Purpose::Proxy => prepared.proxy(request, &backend),
        };
        start.unwrap_or_else(|response| answer(*response))
    }

    fn address_types(&self) -> &[String] {
        &self.settings.address_types
    }

    fn kubelet_port(&self) -> u16 {
        self.settings.port
    }
}

fn answer(response: Response) -> Start {
    Box::new(|| Outcome::Ready(response))
}

type Found = Result<Start, Box<Response>>;

impl Prepared {
    /// What is wrong with a request that cannot be written.
    fn unwritable(&self, why: String) -> Box<Response> {
        Box::new(self.errors.response(&other_error(why)))
    }

    fn refuse(&self, status: &Status) -> Box<Response> {
        Box::new(self.errors.response(status))
    }

    fn url(&self, target: &str) -> String {
        format!("{}://{}{target}", self.destination.scheme.as_str(), self.destination.address())
    }

    fn log(self, request: &ClientRequest<'_>, backend: &Backend) -> Found {
        let target = target(backend);
        let outgoing = log::request(&target, &self.destination.address()).map_err(|e| self.unwritable(e))?;
        let (url, pod) = (self.url(&target), request.info.name.to_owned());
        let framing = Framing::of(request.head)?;
        Ok(Box::new(move || {
            let call = self.client.call(self.destination, outgoing, false, false, None);
            call.finish();
            Outcome::Relay(Box::new(Log::new(call, self.errors, url, pod, framing)))
        }))
    }

    fn command(self, request: &ClientRequest<'_>, backend: &Backend, streams: Option<Streams>) -> Found {
        let named = handshake::subprotocols(request.head).unwrap_or_default();
        let translated = streams.filter(|_| named.iter().any(|name| name == command::SUBPROTOCOL));
        let Some(streams) = translated else { return self.upgrade(request, backend, Failures::Kubelet) };
        let target = target(backend);
        let handshake = Handshake::of(request.head)?;
        let outgoing = command::request(&target, &self.destination.address());
        let outgoing = outgoing.map_err(|e| self.unwritable(e))?;
        let url = self.url(&target);
        Ok(Box::new(move || {
            let call = self.client.call(self.destination, outgoing, false, true, None);
            Outcome::Relay(Box::new(Command::new(call, url, streams, handshake)))
        }))
    }

    fn ports(self, request: &ClientRequest<'_>, backend: &Backend, translates: bool) -> Found {
        let named = handshake::subprotocols(request.head).unwrap_or_default();
        let protocols = ports::tunneled(&named);
        if !translates || protocols.is_empty() {
            return self.upgrade(request, backend, Failures::Kubelet);
        }
        let handshake = Handshake::of(request.head)?;
        let mut outgoing = self.forwarded(request, &target(backend), true, "")?;
        ports::without_socket(&mut outgoing, &protocols);
        Ok(Box::new(move || {
            let call = self.client.call(self.destination, outgoing, false, true, None);
            let failures = Failures::Kubelet(self.errors);
            Outcome::Relay(Box::new(Tunnel::new(call, failures, handshake, protocols)))
        }))
    }

    /// Hands on a request for another protocol.
    fn upgrade(
        self,
        request: &ClientRequest<'_>,
        backend: &Backend,
        failures: fn(Errors) -> Failures,
    ) -> Found {
        if !forwarding::is_upgrade(request.head) {
            return Err(self.refuse(&Status::bad_request("Upgrade request required")));
        }
        let outgoing = self.forwarded(request, &target(backend), true, "")?;
        let failures = failures(self.errors);
        Ok(Box::new(move || {
            let call = self.client.call(self.destination, outgoing, false, true, None);
            let relayed = Relayed::new(call, failures, true);
            Outcome::Relay(Box::new(relayed.lasting(true).counted()))
        }))
    }

    fn proxy(self, request: &ClientRequest<'_>, backend: &Backend) -> Found {
        let (head, path) = (request.head, request.info.path);
        if forwarding::is_upgrade(head) {
            return self.upgrade(request, backend, Failures::Proxy);
        }
        let query = head.query();
        if backend.path.is_empty() && matches!(head.method, "GET" | "HEAD") {
            let mark = if query.is_empty() { "" } else { "?" };
            let location = format!("{path}/{mark}{query}");
            let headers = vec![("location", location)];
            return Ok(answer(Response { status: 301, headers, ..Response::default() }));
        }
        let below = if backend.path.is_empty() { "/" } else { &backend.path };
        let place = Place::new(path, &backend.path, self.destination.address(), head.authority);
        let uri = place.forwarded_uri(below);
        let outgoing = match self.forwarded(request, &forwarding::target(below, query), false, &uri) {
            Ok(outgoing) => outgoing,
            // What is no URL as it is: escaped anew.
            Err(_) => {
                let query = forwarding::encode_query(query);
                self.forwarded(request, &forwarding::target(below, &query), false, &uri)?
            }
        };
        let has_body = head.body != BodyLength::None;
        Ok(Box::new(move || {
            let call = self.client.call(self.destination, outgoing, has_body, false, None);
            if !has_body {
                call.finish();
            }
            let relayed = Relayed::new(call, Failures::Proxy(self.errors), false);
            Outcome::Relay(Box::new(relayed.lasting(true).counted().rewriting(Rewriting::new(place))))
        }))
    }

    /// A client's request as the other end gets it.
    fn forwarded(
        &self,
        request: &ClientRequest<'_>,
        target: &str,
        upgrade: bool,
        uri: &str,
    ) -> Result<Request<()>, Box<Response>> {
        let address = self.destination.address();
        let authority = request.head.authority;
        let forward = Forward {
            target: target.to_owned(),
            host: if authority.is_empty() { address.as_bytes() } else { authority.as_bytes() },
            upgrade,
            uri,
            forwarded_host: None,
            identifies: false,
        };
        forwarding::request(request, &forward).map_err(|e| self.unwritable(e))
    }
}

/// Path and query of what was found.
fn target(backend: &Backend) -> String {
    let mut query = String::new();
    for (key, value) in &backend.query {
        if !query.is_empty() {
            query.push('&');
        }
        query.push_str(key);
        query.push('=');
        forwarding::escape_query(&mut query, value);
    }
    let path = if backend.path.is_empty() { "/" } else { &backend.path };
    forwarding::target(path, &query)
}
