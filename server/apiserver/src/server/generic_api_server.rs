//! The server from its configuration to its end: `new`, [`GenericApiServer::prepare_run`],
//! [`PreparedGenericApiServer::start`], [`RunningServer::shutdown`].

use std::{
    net::SocketAddr,
    rc::Rc,
    sync::{Arc, OnceLock, mpsc},
    time::Duration,
};

use arc_swap::ArcSwap;
use ringbolt_engine::{CoreHandle, Engine, EngineHandle, Listener, StartError};
use ringbolt_protocol::limits::H2_MAX_CONCURRENT_STREAMS;
use ringbolt_storage::{hub::Hub, storage::Storage};

use super::{
    config::CompletedConfig,
    delegation::{Delegated, DelegationTarget},
    director::Director,
    draining::Draining,
    health,
    hooks::{DuplicateHook, HookContext, HookFunc, Hooks},
    lifecycle_signals::LifecycleSignals,
    shutdown::{self, ShutdownConfig},
};
use crate::{
    authentication::UserInfo,
    core::CoreContext,
    discovery,
    filters::chain::{ChainConfig, default_build_handler_chain},
    flowcontrol::{
        FlowControl,
        core::CoreFlowControl,
        estimate::{ObjectStats, ObjectStatsOf},
    },
    healthz::Check,
    informer::{Feed, Follower, Informer},
    limits,
    live::Live,
    metrics::Metrics,
    routes::{DuplicateRoute, Route, RouteTable, RouteTableBuilder},
    serving::{
        app::{CommitWaker, ServerApp, wake_core},
        loopback::Loopback,
        site::Site,
        tasks::{Spawner, Timers},
        uploads::Uploads,
    },
};

/// A server being put together.
pub struct GenericApiServer {
    config: CompletedConfig,
    delegated: Delegated,
}

/// A server with all its routes.
pub struct PreparedGenericApiServer {
    config: CompletedConfig,
    table: RouteTable,
    live: Live,
    hooks: Hooks,
    /// What `/readyz` asks whether followers are in step.
    feed: Arc<OnceLock<Arc<Feed>>>,
}

/// A server that serves.
pub struct RunningServer {
    engine: EngineHandle,
    hooks: Hooks,
    context: HookContext,
    failures: mpsc::Receiver<(&'static str, String)>,
    draining: Arc<Draining>,
    shutdown: ShutdownConfig,
}

impl DelegationTarget for GenericApiServer {
    fn delegate(self) -> Delegated {
        self.delegated
    }
}

impl GenericApiServer {
    /// A server in front of `delegate`.
    pub fn new(config: CompletedConfig, delegate: impl DelegationTarget) -> Self {
        GenericApiServer { config, delegated: delegate.delegate() }
    }

    /// Where routes are installed.
    pub fn routes(&mut self) -> &mut RouteTableBuilder {
        &mut self.delegated.routes
    }

    /// What is served besides what is installed before the start.
    pub fn live(&self) -> &Live {
        &self.delegated.live
    }

    /// Its life.
    pub fn signals(&self) -> &Arc<LifecycleSignals> {
        &self.config.chain.signals
    }

    /// What is counted.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.config.chain.metrics
    }

    /// API Priority and Fairness, where it is on: whoever reads its objects publishes here what they say.
    pub fn flow_control(&self) -> Option<&Arc<FlowControl>> {
        self.config.chain.flow_control.as_ref()
    }

    /// Adds what keeps in step with the store.
    pub fn follow(&mut self, follower: Box<dyn Follower>) {
        self.config.config.followers.push(follower);
    }

    /// The store.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.config.config.storage
    }

    /// Adds a hook that runs once the server listens; it is a health check until and after it has run.
    pub fn add_post_start_hook(&mut self, name: &'static str, run: HookFunc) -> Result<(), DuplicateHook> {
        self.delegated.hooks.add_post_start(name, run)
    }

    /// Adds a health check of the start, which all three endpoints ask.
    pub fn add_boot_sequence_check(&mut self, check: Check) {
        self.delegated.boot_checks.push(check);
    }

    /// Adds a hook that runs when the server is told to stop.
    pub fn add_pre_shutdown_hook(&mut self, name: &'static str, run: HookFunc) -> Result<(), DuplicateHook> {
        self.delegated.hooks.add_pre_shutdown(name, run)
    }

    /// Installs the paths that need to know all others, and closes the route table.
    pub fn prepare_run(self) -> Result<PreparedGenericApiServer, DuplicateRoute> {
        let GenericApiServer { config, delegated: Delegated { mut routes, hooks, boot_checks, live } } = self;
        let CompletedConfig { config: c, chain } = &config;
        let feed = Arc::default();
        health::install(&mut routes, &hooks, boot_checks, &c.storage, chain, &feed, c.livez_grace_period);
        chain.metrics.install(&mut routes, c.profiling);
        discovery::install(&mut routes, &live);
        Ok(PreparedGenericApiServer { table: routes.build()?, live, config, hooks, feed })
    }
}

impl PreparedGenericApiServer {
    /// Opens the listeners, starts the cores and the post-start hooks.
    pub fn start(self) -> Result<RunningServer, StartError> {
        let PreparedGenericApiServer {
            config: CompletedConfig { config, chain },
            table,
            live,
            mut hooks,
            feed,
        } = self;
        let mut listeners = vec![Listener {
            addr: config.secure_serving.address,
            tls: Some(config.secure_serving.tls),
            id: 0,
        }];
        if let Some(bench) = config.insecure_bench {
            listeners.push(Listener { addr: bench.address(), tls: None, id: 1 });
        }
        let loopback = Arc::new(Loopback::default());
        let counted = loopback.clone();
        chain.metrics.register(move |out| counted.collect(out));
        // Before the first request, which must not find an empty policy.
        let informer = Informer::new(config.storage.clone(), config.followers);
        feed.get_or_init(|| informer.feed());
        let context = HookContext {
            storage: config.storage.clone(),
            feed: informer.feed(),
            signals: chain.signals.clone(),
            loopback: loopback.clone(),
            threads: Arc::default(),
        };
        let draining = Arc::new(Draining::new(config.engine.cores.len()));
        let shutdown = ShutdownConfig {
            delay: config.shutdown_delay_duration,
            request_timeout: config.request_timeout,
            front: config.front,
        };
        let signals = chain.signals.clone();
        let shared = Shared {
            table: live.open(table),
            chain,
            storage: config.storage,
            uploads: Arc::default(),
            http2_streams_max: match config.http2_streams_max {
                0 => H2_MAX_CONCURRENT_STREAMS,
                streams => streams,
            },
            min_request_timeout: config.min_request_timeout,
            draining: draining.clone(),
            loopback,
        };
        if let Some(flow_control) = &shared.chain.flow_control {
            flow_control.set_objects(object_stats(shared.table.clone(), shared.storage.clone()));
        }
        // What is built in is on the table before the first connection can be.
        live.complete(context.signals.clone());
        let engine = Engine::start(config.engine, listeners, move |handle| shared.app(&handle))?;
        let (failed, failures) = mpsc::channel();
        let report = move |hook, why| drop(failed.send((hook, why)));
        if let Some(run) = informer.start(move || signals.in_flight_requests_drained.is_signaled()) {
            context
                .spawn("informer", run)
                .unwrap_or_else(|error| report("generic-apiserver-start-informers", error));
        }
        hooks
            .run_post_start(&context, &report)
            .unwrap_or_else(|error| report("start of post-start hooks", error.to_string()));
        Ok(RunningServer { engine, hooks, context, failures, draining, shutdown })
    }
}

/// Objects of a resource, of which the first few stand for all.
fn object_stats(table: Arc<ArcSwap<RouteTable>>, storage: Arc<dyn Storage>) -> Box<ObjectStatsOf> {
    Box::new(move |info| {
        let table = table.load();
        let (Route::Resource(endpoint) | Route::Custom(endpoint)) = table.lookup(info, info.path) else {
            return None;
        };
        let snapshot = storage.snapshot(endpoint.stored()?);
        let sizes =
            snapshot.range("", None).take(limits::APF_OBJECTS_WEIGHED).map(|object| object.json.len());
        let (count, bytes) = sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size as u64));
        Some(ObjectStats { count: snapshot.len() as u64, bytes_each: bytes.checked_div(count).unwrap_or(0) })
    })
}

/// What every core's application is made from.
struct Shared {
    table: Arc<ArcSwap<RouteTable>>,
    chain: ChainConfig,
    storage: Arc<dyn Storage>,
    uploads: Arc<Uploads>,
    http2_streams_max: u32,
    min_request_timeout: Duration,
    draining: Arc<Draining>,
    loopback: Arc<Loopback>,
}

impl Shared {
    fn app(&self, handle: &CoreHandle) -> ServerApp {
        let wake = wake_core(handle);
        let (spawner, timers) = (Spawner::new(wake.clone()), Rc::new(Timers::new(wake.clone())));
        // Listens before the hub looks, so that no commit falls in between.
        self.storage.add_listener(Arc::new(CommitWaker(wake.clone())));
        let hub = Hub::new(self.storage.clone());
        let core =
            CoreContext::new(handle.index(), self.storage.clone(), hub, spawner.clone(), timers.clone());
        core.min_request_timeout.set(self.min_request_timeout);
        core.metrics.get_or_init(|| self.chain.metrics.clone());
        core.authenticators.get_or_init(|| self.chain.authenticators.clone());
        if let Some(shared) = &self.chain.flow_control {
            core.flow_control.get_or_init(|| CoreFlowControl::new(shared.clone(), handle.index()));
            shared.set_wake(handle.index(), wake.clone());
            // For the first look at its timers.
            wake();
        }
        let director = Director { table: self.table.clone(), metrics: self.chain.metrics.clone() };
        let site = Site {
            core,
            chain: default_build_handler_chain(&self.chain, director.clone()),
            director,
            uploads: self.uploads.clone(),
            request_timeout: self.chain.request_timeout,
            http2_streams_max: self.http2_streams_max,
            nobody: UserInfo::anonymous(),
            signals: self.chain.signals.clone(),
            shutdown: self.draining.clone(),
            draining: false.into(),
        };
        let loopback = (handle.index() == 0).then(|| {
            self.loopback.answered_by(wake);
            self.loopback.clone()
        });
        ServerApp::new(Rc::new(site), spawner, timers, loopback)
    }
}

impl RunningServer {
    /// The address served over TLS, and the one without.
    pub fn addresses(&self) -> (SocketAddr, Option<SocketAddr>) {
        let addresses = self.engine.addresses();
        (addresses[0], addresses.get(1).copied())
    }

    /// Its life.
    pub fn signals(&self) -> &Arc<LifecycleSignals> {
        &self.context.signals
    }

    /// Blocks until every post-start hook has run; the first that fails, and why.
    pub fn wait_for_hooks(&self) -> Result<(), (&'static str, String)> {
        // Hooks that have run drop their end of the channel.
        match self.failures.recv() {
            Ok(failed) => Err(failed),
            Err(mpsc::RecvError) => Ok(()),
        }
    }

    /// Ends the server in good order: unready first, then deaf, then done with what was asked before.
    pub fn shutdown(mut self) {
        shutdown::run(&self.shutdown, &self.engine, &self.draining, &self.context, &mut self.hooks);
    }
}
