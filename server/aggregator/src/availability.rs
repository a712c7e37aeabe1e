//! Whether the servers behind APIServices are there (`AvailableConditionController`).

use std::{collections::HashMap, sync::Arc, time::Instant};

use bumpalo::Bump;
use ringbolt_machinery::value::Value;
use ringbolt_outgoing::{Client, Pending};

use crate::{
    api_service::{ApiService, Available, ServiceReference, local_available},
    backend::Backend,
    inbox::Inbox,
    limits, proxy,
    queue::DueQueue,
    resolver::{Resolver, is_ready, port_named, tree},
};

/// Which APIServices to look at, and what is being found out.
pub(crate) struct Availability {
    pub(crate) queue: DueQueue,
    probes: HashMap<String, Probe>,
}

/// Requests that find out whether a server is there.
struct Probe {
    /// The APIService they were made for.
    revision: u64,
    attempts: Vec<(String, Pending)>,
    last_error: String,
}

impl Availability {
    pub(crate) fn new() -> Self {
        Availability { queue: DueQueue::new(limits::AVAILABILITY_BACKOFF), probes: HashMap::new() }
    }

    /// An APIService is gone.
    pub(crate) fn forget(&mut self, name: &str) {
        self.queue.forget(name);
        self.probes.remove(name);
    }

    /// Looks at one; the condition, unless its server has to be asked first.
    pub(crate) fn look(
        &mut self,
        api_service: &ApiService,
        backend: Option<&Backend>,
        resolver: &Resolver<'_>,
        inbox: &Arc<Inbox>,
        random: impl FnMut() -> u64,
    ) -> Option<Available> {
        self.probes.remove(&api_service.name);
        let (Some(service), Some(backend)) = (&api_service.service, backend) else {
            return Some(local_available());
        };
        if let Some(not) = check(service, resolver) {
            return Some(not);
        }
        match &backend.client {
            Ok(client) => self.ask(api_service, service, client, resolver, inbox, random),
            // What it says of itself stays.
            Err(error) => {
                tracing::warn!(name = api_service.name, error, "an aggregated API cannot be reached")
            }
        }
        None
    }

    /// Asks a server several times at once: one answer is enough.
    fn ask(
        &mut self,
        api_service: &ApiService,
        service: &ServiceReference,
        client: &Client,
        resolver: &Resolver<'_>,
        inbox: &Arc<Inbox>,
        mut random: impl FnMut() -> u64,
    ) {
        let path = match api_service.path() {
            path if path == "/api" => format!("/api/{}", api_service.version),
            path => path,
        };
        let mut probe =
            Probe { revision: api_service.revision, attempts: Vec::new(), last_error: String::new() };
        for _ in 0..limits::AVAILABILITY_ATTEMPTS {
            let destination = match resolver.resolve(service, random()) {
                Ok(destination) => destination,
                Err(error) => {
                    probe.last_error = error;
                    continue;
                }
            };
            let url = format!("https://{}{path}", destination.address());
            let address = destination.address();
            let groups = ["system:masters"];
            let Some(request) =
                proxy::own_request(&path, &address, "", "system:kube-aggregator", &groups, None)
            else {
                continue;
            };
            let inbox = inbox.clone();
            let pending = client.fetch(
                destination,
                request,
                limits::HEAD_ONLY_BYTES,
                limits::AVAILABILITY_TIMEOUT,
                move || inbox.ring(),
            );
            probe.attempts.push((url, pending));
        }
        self.probes.insert(api_service.name.clone(), probe);
    }

    /// What has been found out: names of APIServices, the revision that was asked about, and the condition.
    pub(crate) fn found(&mut self) -> Vec<(String, u64, Available)> {
        let mut found = Vec::new();
        self.probes.retain(|name, probe| {
            let mut passed = false;
            probe.attempts.retain_mut(|(url, pending)| {
                let Some(answer) = pending.take() else { return true };
                match answer {
                    Ok(answer) if (200..300).contains(&answer.status) => passed = true,
                    Ok(answer) => {
                        let status = answer.status;
                        probe.last_error = format!(
                            "failing or missing response from {url}: bad status from {url}: {status}"
                        );
                    }
                    Err(error) => {
                        probe.last_error = format!(
                            "failing or missing response from {url}: Get {:?}: {error}",
                            url.as_str()
                        );
                    }
                }
                false
            });
            let condition = match (passed, probe.attempts.is_empty()) {
                (true, _) => Available::yes("Passed", "all checks passed"),
                (false, true) => Available::no("FailedDiscoveryCheck", std::mem::take(&mut probe.last_error)),
                (false, false) => return true,
            };
            found.push((name.clone(), probe.revision, condition));
            false
        });
        found
    }
}

/// Why a server cannot be asked, as far as the store tells.
fn check(service: &ServiceReference, resolver: &Resolver<'_>) -> Option<Available> {
    let (namespace, name, port) = (&service.namespace, &service.name, service.port);
    let arena = Bump::new();
    let object = resolver.storage.get(resolver.resources.services, &format!("{namespace}/{name}"));
    let Some(stored) = object.as_ref().and_then(|object| tree(&arena, object)) else {
        let why = format!("service/{name} in {namespace:?} is not present");
        return Some(Available::no("ServiceNotFound", why));
    };
    if stored.str_at(&["spec", "type"]) != Some("ClusterIP") {
        return None;
    }
    let ports = stored.path(&["spec", "ports"]).and_then(Value::as_list);
    let declared = ports
        .into_iter()
        .flatten()
        .find(|declared| declared.path(&["port"]).and_then(Value::as_i64) == Some(i64::from(port)));
    let Some(declared) = declared else {
        let why = format!("service/{name} in {namespace:?} is not listening on port {port}");
        return Some(Available::no("ServicePortError", why));
    };
    let port_name = declared.str_at(&["name"]).unwrap_or("");
    let mut takes_requests = false;
    let slices = resolver.each_slice(namespace, name, |slice| {
        let endpoints = slice.path(&["endpoints"]).and_then(Value::as_list);
        let ready = endpoints.into_iter().flatten().any(is_ready);
        takes_requests |= ready && port_named(slice, port_name).is_some();
    });
    if slices == 0 {
        let why = format!("cannot find endpointslices for service/{name} in {namespace:?}");
        return Some(Available::no("EndpointsNotFound", why));
    }
    if !takes_requests {
        let why = format!(
            "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
        );
        return Some(Available::no("MissingEndpoints", why));
    }
    None
}

/// When an APIService is looked at again that nothing happens to.
pub(crate) fn again(now: Instant) -> Instant {
    now + limits::AVAILABILITY_RESYNC
}
