//! What a server is made from.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ringbolt_engine::{EngineConfig, TlsConfig};
use ringbolt_storage::storage::Storage;

use super::{cores, lifecycle_signals::LifecycleSignals};
use crate::{
    authentication::Authenticators,
    authorization::Authorizers,
    filters::{
        chain::{ChainConfig, FrontConfig},
        max_in_flight::Limits,
    },
    flowcontrol::FlowControl,
    informer::Follower,
    metrics::Metrics,
    reviews::Reviewers,
};

/// An address served over TLS.
#[derive(Clone)]
pub struct SecureServing {
    /// Address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Certificates and versions.
    pub tls: Arc<TlsConfig>,
}

/// A loopback address served without TLS, for benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsecureBench(SocketAddr);

/// An address that is not loopback was asked to be served without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLoopback(pub SocketAddr);

impl std::fmt::Display for NotLoopback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is no loopback address: plain text is served on loopback only, for benchmarks", self.0)
    }
}

impl std::error::Error for NotLoopback {}

impl InsecureBench {
    /// Refuses every address that others could reach.
    pub fn new(address: SocketAddr) -> Result<Self, NotLoopback> {
        if address.ip().is_loopback() { Ok(InsecureBench(address)) } else { Err(NotLoopback(address)) }
    }

    /// The address.
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

/// Everything a server needs to know.
pub struct Config {
    /// The store.
    pub storage: Arc<dyn Storage>,
    /// Where it serves.
    pub secure_serving: SecureServing,
    /// Where it serves without TLS.
    pub insecure_bench: Option<InsecureBench>,
    /// Who asks.
    pub authenticators: Arc<Authenticators>,
    /// Who may.
    pub authorizers: Arc<Authorizers>,
    /// `--max-requests-inflight`, 0 for no limit.
    pub max_requests_inflight: u32,
    /// `--max-mutating-requests-inflight`, 0 for no limit.
    pub max_mutating_requests_inflight: u32,
    /// `--enable-priority-and-fairness`: the limits above are shared out among priority levels, together.
    pub priority_and_fairness: bool,
    /// `--request-timeout`
    pub request_timeout: Duration,
    /// `--min-request-timeout`: what a watch without a timeout lives at least.
    pub min_request_timeout: Duration,
    /// `--http2-max-streams-per-connection`, 0 for the usual number.
    pub http2_streams_max: u32,
    /// `--shutdown-delay-duration`
    pub shutdown_delay_duration: Duration,
    /// `--livez-grace-period`
    pub livez_grace_period: Duration,
    /// The filters in front.
    pub front: FrontConfig,
    /// `--goaway-chance`
    pub goaway_chance: f64,
    /// `--profiling`: DELETE of `/metrics` resets.
    pub profiling: bool,
    /// What keeps in step with the store from before the first request to after the last.
    pub followers: Vec<Box<dyn Follower>>,
    /// Sizes of the engine. Without cores it takes those the process may run on.
    pub engine: EngineConfig,
}

/// A [`Config`] with nothing left to guess.
pub struct CompletedConfig {
    pub(super) config: Config,
    pub(super) chain: ChainConfig,
}

impl Config {
    /// Fills in what follows from the rest.
    pub fn complete(mut self) -> CompletedConfig {
        if self.engine.cores.is_empty() {
            self.engine.cores = cores::allowed();
        }
        let cores = self.engine.cores.len();
        let chain = ChainConfig {
            signals: Arc::new(LifecycleSignals::default()),
            metrics: Metrics::new(cores),
            front: self.front.clone(),
            goaway_chance: self.goaway_chance,
            request_timeout: self.request_timeout,
            authenticators: self.authenticators.clone(),
            max_in_flight: Limits::per_core(
                self.max_requests_inflight,
                self.max_mutating_requests_inflight,
                cores,
            ),
            flow_control: self.priority_and_fairness.then(|| {
                let total = self.max_requests_inflight.saturating_add(self.max_mutating_requests_inflight);
                FlowControl::new(total, cores, Instant::now())
            }),
            authorizers: self.authorizers.clone(),
            impersonation_modes: Arc::default(),
        };
        CompletedConfig { config: self, chain }
    }
}

impl CompletedConfig {
    /// Who answers reviews: the same as decide about requests.
    pub fn reviewers(&self) -> Reviewers {
        Reviewers {
            authenticators: self.config.authenticators.clone(),
            authorizers: self.config.authorizers.clone(),
            api_audiences: match &self.config.authenticators.service_accounts {
                Some(tokens) => tokens.audiences.clone(),
                None => Arc::default(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_on_loopback() {
        let check = |address: &str, expect: bool| {
            assert_eq!(InsecureBench::new(address.parse().unwrap()).is_ok(), expect, "{address}");
        };
        check("127.0.0.1:8080", true);
        check("127.1.2.3:8080", true);
        check("[::1]:8080", true);
        check("0.0.0.0:8080", false);
        check("10.0.0.1:8080", false);
        check("[::]:8080", false);
    }
}
