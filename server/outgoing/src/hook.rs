//! A webhook, as a `clientConfig` says it is reached (`webhook.ClientManager`), and one question to it.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::header;
use hyper::Request;
use tokio::{task::AbortHandle, time::timeout};

use crate::{
    client::{Client, Destination},
    error::{CallError, Failure},
    fetch::{Answer, timed_out},
    runtime::Outgoing,
    tls::TlsSettings,
};

/// Where services are.
pub trait ServiceResolver: Send + Sync {
    /// An address, or a name to look up, and the port at which a service is found now.
    ///
    /// # Errors
    /// Why there is none, for people.
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), String>;
}

/// A service that a webhook is behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookService {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port.
    pub port: u16,
    /// The path of the webhook.
    pub path: String,
}

/// `clientConfig`: one of the two ways to a webhook, and whom to trust there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookConfig {
    /// A URL.
    pub url: Option<String>,
    /// A service; it counts where both are there.
    pub service: Option<HookService>,
    /// PEM of the authorities; the system's where it is empty.
    pub ca_bundle: Vec<u8>,
}

/// Who webhooks are told that it is.
const USER_AGENT: &str = "kube-apiserver-admission";

/// A webhook.
#[derive(Clone)]
pub struct Hook {
    client: Client,
    outgoing: Outgoing,
    resolver: Arc<dyn ServiceResolver>,
    place: Place,
    /// `https://host:port`, as it was given.
    origin: String,
    path: String,
}

#[derive(Clone)]
enum Place {
    Fixed(Destination),
    Service(HookService),
}

/// An answer that is on its way; it is given up on drop.
pub struct Posted(Option<AbortHandle>);

impl Posted {
    /// Lets it go on without anybody who could give it up.
    pub fn detach(mut self) {
        self.0 = None;
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Hook {
    /// # Errors
    /// The configuration is none that can be used, for people.
    pub fn new(
        outgoing: &Outgoing,
        resolver: Arc<dyn ServiceResolver>,
        config: &HookConfig,
    ) -> Result<Hook, String> {
        let (place, origin, path, only_http1) = match (&config.service, &config.url) {
            (Some(service), _) => {
                let origin = format!("https://{}:{}", server_name(service), service.port);
                (Place::Service(service.clone()), origin, service.path.clone(), true)
            }
            (None, Some(url)) => {
                let (destination, origin, path) = parse(url)?;
                let is_local = is_local(&destination.host);
                (Place::Fixed(destination), origin, path, !is_local)
            }
            (None, None) => return Err("webhook configuration must have either service or URL".to_owned()),
        };
        let settings = TlsSettings {
            authorities: config.ca_bundle.clone(),
            // Of the servers behind a name, one connection of HTTP/2 would find only one.
            only_http1,
            ..TlsSettings::default()
        };
        Ok(Hook {
            client: Client::new(outgoing, &settings)?,
            outgoing: outgoing.clone(),
            resolver,
            place,
            origin,
            path: clean_path(&path),
        })
    }

    /// Asks: sends `body`, which is JSON, and reads up to `body_max` bytes of the answer, for as long as `patience`, of
    /// which the webhook is told in whole seconds. `done` gets the answer, on the thread of calls, or on that of the
    /// caller where nothing can be sent at all. The error says which call failed, as Go's client does.
    pub fn post(
        &self,
        body: Bytes,
        body_max: usize,
        patience: Duration,
        done: impl FnOnce(Result<Answer, CallError>) + Send + 'static,
    ) -> Posted {
        // Told in whole seconds, the last one begun counting.
        let seconds = patience.as_secs() + u64::from(patience.subsec_nanos() > 0);
        let target = format!("{}?timeout={seconds}s", self.path);
        let prefix = format!("Post \"{}{target}\": ", self.origin);
        let told = move |error: CallError| CallError { text: format!("{prefix}{}", error.text), ..error };
        let prepared = self.destination().and_then(|to| Ok((to, self.request(&target, body)?)));
        let (destination, request) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                done(Err(told(error)));
                return Posted(None);
            }
        };
        let permit = match self.outgoing.permit() {
            Ok(permit) => permit,
            Err(busy) => {
                done(Err(told(busy)));
                return Posted(None);
            }
        };
        let client = self.client.clone();
        let spawned = self.outgoing.spawn(async move {
            let answer = match timeout(patience, client.whole(destination, request, body_max)).await {
                Ok(answer) => answer,
                Err(_) => Err(timed_out()),
            };
            drop(permit);
            done(answer.map_err(told));
        });
        match spawned {
            Ok(task) => Posted(Some(task)),
            Err(error) => {
                // `done` went with the task that did not come about, so that nobody is told but the log.
                tracing::error!(%error, "the thread of calls to other servers does not start");
                Posted(None)
            }
        }
    }

    fn destination(&self) -> Result<Destination, CallError> {
        match &self.place {
            Place::Fixed(destination) => Ok(destination.clone()),
            Place::Service(service) => {
                let found = self.resolver.resolve(&service.namespace, &service.name, service.port);
                let (host, port) = found.map_err(|why| CallError::new(Failure::Dial, why))?;
                Ok(Destination { host, port, server_name: server_name(service), ..Destination::default() })
            }
        }
    }

    fn request(&self, target: &str, body: Bytes) -> Result<Request<Bytes>, CallError> {
        let host = self.origin.strip_prefix("https://").unwrap_or(&self.origin);
        Request::post(target)
            .header(header::HOST, host)
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::ACCEPT, "application/json, */*")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|error| CallError::new(Failure::Protocol, error.to_string()))
    }
}

fn server_name(service: &HookService) -> String {
    format!("{}.{}.svc", service.name, service.namespace)
}

/// Where a URL leads, what stands before its path, and the path.
fn parse(url: &str) -> Result<(Destination, String, String), String> {
    let unusable = || format!("Unparsable URL: {url:?}");
    let rest = url.strip_prefix("https://").ok_or_else(unusable)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let path = rest.split(['?', '#']).next().unwrap_or("");
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, port) = bracketed.split_once(']').ok_or_else(unusable)?;
            (host, port.strip_prefix(':').unwrap_or(""))
        }
        None => authority.rsplit_once(':').unwrap_or((authority, "")),
    };
    let port = if port.is_empty() { 443 } else { port.parse().map_err(|_| unusable())? };
    if host.is_empty() {
        return Err(unusable());
    }
    let destination =
        Destination { host: host.to_owned(), port, server_name: host.to_owned(), ..Destination::default() };
    Ok((destination, format!("https://{authority}"), path.to_owned()))
}

fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A path as it is sent: from the root, without what leads nowhere.
pub fn clean_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let check = |url: &str, expect: Option<(&str, u16, &str, &str)>| {
            let found = parse(url).ok();
            let found = found.as_ref().map(|(to, origin, path)| (&*to.host, to.port, &**origin, &**path));
            assert_eq!(found, expect, "{url}");
        };
        check("https://a.b/c/d", Some(("a.b", 443, "https://a.b", "/c/d")));
        check("https://127.0.0.1:8443", Some(("127.0.0.1", 8443, "https://127.0.0.1:8443", "")));
        check("https://[::1]:9/x?y=z", Some(("::1", 9, "https://[::1]:9", "/x")));
        check("https://[::1]/", Some(("::1", 443, "https://[::1]", "/")));
        check("https://a:b/", None);
        check("https:///x", None);
        check("http://a/", None);
    }

    #[test]
    fn paths() {
        let check = |path: &str, expect: &str| assert_eq!(clean_path(path), expect);
        check("", "/");
        check("/", "/");
        check("/a//b/./c/", "/a/b/c");
        check("a/../../b", "/b");
    }

    #[test]
    fn local_ones() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["10.0.0.1", "a.localhost", "::2"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
