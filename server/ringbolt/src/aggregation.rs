//! The aggregator: its flags, and its place in front of the main server.

use std::{fs, path::PathBuf, sync::Arc};

use ringbolt_aggregator::{Config, ProxyIdentity, Resources, Routing, Services};
use ringbolt_apiserver::server::{GenericApiServer, watched_files::WatchedFiles};
use ringbolt_controlplane::registry::Registry;
use ringbolt_outgoing::{ClientPair, Outgoing};
use ringbolt_storage::{object::ResourceId, storage::Storage};

use crate::flags::Flags;

/// Flags about other servers' APIs.
#[derive(Clone, Debug)]
pub struct AggregationSettings {
    /// `--enable-aggregator-routing`
    pub routing: Routing,
    /// `--aggregator-reject-forwarding-redirect`
    pub rejects_redirects: bool,
    /// `--proxy-client-cert-file` and `--proxy-client-key-file`
    pub identity: Option<[PathBuf; 2]>,
}

impl AggregationSettings {
    /// Checks the flags.
    pub fn new(flags: &Flags, errors: &mut Vec<String>) -> Self {
        let by_endpoint = flags.bool("enable-aggregator-routing");
        let files = [flags.path("proxy-client-cert-file"), flags.path("proxy-client-key-file")];
        let identity = match files {
            [Some(certificate), Some(key)] => Some([certificate, key]),
            [None, None] => None,
            _ => {
                let why = "--proxy-client-cert-file and --proxy-client-key-file go together";
                errors.push(why.to_owned());
                None
            }
        };
        AggregationSettings {
            routing: if by_endpoint { Routing::Endpoint } else { Routing::ClusterIp },
            rejects_redirects: flags.bool("aggregator-reject-forwarding-redirect"),
            identity,
        }
    }

    /// What this server shows others, kept as it is in the files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(&self, watched: &mut WatchedFiles) -> Result<Arc<ProxyIdentity>, String> {
        let identity: Arc<ProxyIdentity> = Arc::default();
        let Some(paths) = &self.identity else { return Ok(identity) };
        let read = |path: &PathBuf| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        let [certificate, key] = [read(&paths[0])?, read(&paths[1])?];
        identity.set(ClientPair { certificate: certificate.clone(), key: key.clone() })?;
        let kept = identity.clone();
        watched.add("aggregator-proxy-cert", paths.to_vec(), &[certificate, key], move |contents| {
            match contents {
                [certificate, key] => {
                    kept.set(ClientPair { certificate: certificate.clone(), key: key.clone() })
                }
                _ => Err("two files are awaited".to_owned()),
            }
        });
        Ok(identity)
    }
}

/// What services and APIServices are read from.
pub fn resources(registry: &Registry) -> Resources {
    let stored = |group: &str, version: &str, resource: &str| -> ResourceId {
        match registry.find(group, version, resource) {
            Some(served) => served.stored,
            None => unreachable!("{resource} of group {group:?} is built in"),
        }
    };
    Resources {
        api_services: stored("apiregistration.k8s.io", "v1", "apiservices"),
        services: registry.services,
        endpoint_slices: stored("discovery.k8s.io", "v1", "endpointslices"),
        definitions: stored("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    }
}

/// What the aggregator reads and what is built in.
pub struct Stored {
    resources: Resources,
    built_in: Vec<(&'static str, &'static str)>,
}

impl Stored {
    /// That of a registry.
    pub fn new(registry: &Registry) -> Self {
        let mut built_in: Vec<_> = registry
            .served
            .iter()
            .map(|served| (served.facts.group, served.facts.version))
            .chain(registry.virtuals.iter().map(|found| (found.facts.group, found.facts.version)))
            .collect();
        built_in.sort_unstable();
        built_in.dedup();
        Stored { resources: resources(registry), built_in }
    }

    /// The services of the cluster, for webhooks.
    pub fn services(&self, storage: Arc<dyn Storage>, settings: &AggregationSettings) -> Arc<Services> {
        Arc::new(Services { storage, resources: self.resources, routing: settings.routing })
    }
}

/// Puts the aggregator in front.
///
/// # Errors
/// For people.
pub fn install(
    server: &mut GenericApiServer,
    settings: &AggregationSettings,
    stored: Stored,
    identity: Arc<ProxyIdentity>,
    outgoing: Outgoing,
) -> Result<(), String> {
    let config = Config {
        resources: stored.resources,
        built_in: stored.built_in,
        routing: settings.routing,
        rejects_redirects: settings.rejects_redirects,
        reloads_identity: settings.identity.is_some(),
        identity,
        outgoing,
    };
    ringbolt_aggregator::install(server, config).map_err(|e| e.to_string())
}
