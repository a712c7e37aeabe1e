//! The whole chain on one screen.

use std::{rc::Rc, sync::Arc, time::Duration};

use regex::Regex;

use super::{
    Handler, audit_init::AuditInit, authentication::Authentication, authorization::Authorization,
    cache_control::CacheControl, cors::Cors, goaway::ProbabilisticGoaway, hsts::Hsts,
    impersonation::Impersonation, max_in_flight::Limits, mux_and_discovery::MuxAndDiscoveryComplete,
    panic_recovery::PanicRecovery, priority_and_fairness::PriorityAndFairness, request_body::RequestBody,
    request_deadline::RequestDeadline, request_info::WithRequestInfo, retry_after::RetryAfter,
    timeout::TimeoutForNonLongRunningRequests, wait_group::WaitGroup, warning::WarningRecorder,
    watch_termination::WatchTerminationDuringShutdown,
};
use crate::{
    authentication::Authenticators, authorization::Authorizers, flowcontrol::FlowControl, layers,
    metrics::Metrics, server::lifecycle_signals::LifecycleSignals,
};

/// What flags say to the filters that run before anybody is known.
#[derive(Clone, Debug)]
pub struct FrontConfig {
    /// `--shutdown-send-retry-after`
    pub shutdown_send_retry_after: bool,
    /// `--shutdown-watch-termination-grace-period`, zero for none.
    pub shutdown_watch_termination_grace_period: Duration,
    /// `--strict-transport-security-directives`
    pub hsts_directives: Arc<[String]>,
    /// `--cors-allowed-origins`
    pub cors_allowed_origins: Arc<[Regex]>,
}

impl Default for FrontConfig {
    fn default() -> Self {
        FrontConfig {
            shutdown_send_retry_after: false,
            shutdown_watch_termination_grace_period: Duration::ZERO,
            hsts_directives: Arc::default(),
            cors_allowed_origins: Arc::from([]),
        }
    }
}

/// What the filters are made from.
#[derive(Clone)]
pub struct ChainConfig {
    /// The server's life.
    pub signals: Arc<LifecycleSignals>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// The filters in front.
    pub front: FrontConfig,
    /// `--goaway-chance`
    pub goaway_chance: f64,
    /// `--request-timeout`
    pub request_timeout: Duration,
    /// Who asks.
    pub authenticators: Arc<Authenticators>,
    /// A core's share of the limits.
    pub max_in_flight: Limits,
    /// API Priority and Fairness; `None` where it is off, and `max_in_flight` counts.
    pub flow_control: Option<Arc<FlowControl>>,
    /// Who may.
    pub authorizers: Arc<Authorizers>,
    /// How who became whom.
    pub impersonation_modes: Arc<super::impersonation::last_modes::LastModes>,
}

/// `DefaultBuildHandlerChain`: every filter of the generic server, outermost first, numbered as there. What has a
/// number and no filter passes through until it is built.
#[rustfmt::skip]
pub fn default_build_handler_chain(config: &ChainConfig, director: impl Handler + 'static) -> Rc<dyn Handler> {
    let (signals, front) = (&config.signals, &config.front);
    let waits_for_watches = !front.shutdown_watch_termination_grace_period.is_zero();
    Rc::new(layers![
        AuditInit,                                              //  1 every answer carries its Audit-ID, refusals too
        PanicRecovery,                                          //  2 all that follows may panic and cost one request only
        MuxAndDiscoveryComplete(config.signals.clone()),        //  3 looked at before routing, or a 404 could be a race
        /* RequestReceivedTimestamp                                 4 the connection stamps it: a body may take its time */
        WithRequestInfo,                                        //  5 all filters below decide by verb and path
        /* routine                                                  6 alpha, off: a core has no goroutine to spare */
        /* LatencyTrackers                                          7 for audit annotations: with Audit */
        /* HTTPLogging                                              8 */
        RetryAfter { signals: signals.clone(), is_on: front.shutdown_send_retry_after }, // 9 before anything is counted
        Hsts::new(&front.hsts_directives),                      // 10 whatever is answered
        CacheControl,                                           // 11 answers of all filters below say so too
        ProbabilisticGoaway::new(config.goaway_chance),         // 12 before anything refuses: refused clients spread too
        WatchTerminationDuringShutdown { signals: signals.clone(), is_on: waits_for_watches }, // 13 before WaitGroup, which lets watches through
        WaitGroup(config.signals.clone()),                      // 14 counts from here on; what is refused above needs no drain
        RequestDeadline { maximum: config.request_timeout },    // 15 before what may wait
        TimeoutForNonLongRunningRequests,                       // 16 the deadline just set
        WarningRecorder,                                        // 17 authentication is the first that may warn
        Cors::new(front.cors_allowed_origins.clone()),          // 18 browsers ask without credentials first
        Authentication::new(config),                            // 19 who asks
        /* Tracing                                                 20 with --tracing-config-file */
        /* Audit                                                   21 with --audit-policy-file */
        Impersonation::new(config),                             // 22 after Audit, which names both; all below see the other user
        PriorityAndFairness::new(config),                       // 23 before 24: also what is refused there takes its turn
        Authorization::new(config),                             // 24 may they
        RequestBody,                                            //    Go's handlers read it: refused requests need none
        => director                                             // 25
    ])
}
