//! A whole server but for its sockets: every built-in resource, the filter chain, one core.

use std::{
    cell::Cell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use ringbolt_apiserver::{
    admission::{Admission, AdmitAll},
    authentication::{
        Anonymous, Authenticators, UserInfo, service_account::ServiceAccountTokens, token_file::TokenFile,
    },
    authorization::{Authorizers, Mode},
    core::CoreContext,
    endpoints,
    filters::{
        chain::{ChainConfig, FrontConfig, default_build_handler_chain},
        max_in_flight::Limits,
    },
    flowcontrol::{FlowControl, core::CoreFlowControl},
    metrics::Metrics,
    routes::RouteTable,
    server::{director::Director, draining::Draining, lifecycle_signals::LifecycleSignals},
    serving::{
        site::Site,
        tasks::{Spawner, Timers, WakeCore},
        uploads::Uploads,
    },
};
use ringbolt_controlplane::{
    admission::{Config, Configurations, Enabled, Pipeline},
    bootstrap::SYSTEM_PRIORITY_CLASSES,
    registry,
};
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::{
    api::Precondition,
    embedded::Embedded,
    hub::Hub,
    memory_disk::MemoryDisk,
    object::{Object, ResourceId},
    storage::Storage,
};

use crate::{
    Scale,
    client::Client,
    objects,
    policy::Policy,
    requests::{Ask, TOKEN, USER_GROUPS, USER_TOKEN},
    store::{self, Prompt},
    tokens::Key,
};

/// The server.
pub(crate) struct Server {
    pub(crate) site: Rc<Site>,
    pub(crate) store: Arc<Embedded>,
    pub(crate) table: Arc<ArcSwap<RouteTable>>,
    pub(crate) config_maps: ResourceId,
    pub(crate) pods: ResourceId,
    service_accounts: ResourceId,
}

impl Server {
    /// A server whose store has the namespace `default` and nothing else. Only its administrator may do anything; there
    /// is no priority and fairness, but a limit of requests in flight.
    pub(crate) fn new() -> Server {
        Server::start(false, None, None)
    }

    /// A server as clusters have it: the roles of the bootstrap policy and hundreds of bindings, one of which lets the
    /// groups of [`USER_TOKEN`] and of service accounts read in `default`, and priority and fairness as it is at first.
    pub(crate) fn guarded(scale: Scale) -> Server {
        Server::start(false, Some(scale), None)
    }

    /// A guarded server that knows the tokens of its service accounts.
    pub(crate) fn with_tokens(scale: Scale, key: &Key) -> Server {
        Server::start(false, Some(scale), Some(key))
    }

    /// A server with the admission plugins that are on by default, and with what they look at in every cluster: the
    /// default account, and the priorities of the system.
    pub(crate) fn with_admission() -> Server {
        let server = Server::start(true, None, None);
        for class in &SYSTEM_PRIORITY_CLASSES {
            let ask = Ask::send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", class.json.as_bytes());
            server.expect(&ask, "HTTP/1.1 201 ");
        }
        server.with_service_account("default");
        server
    }

    fn start(admits: bool, guards: Option<Scale>, key: Option<&Key>) -> Server {
        let schema = Schema::builtin();
        let registry = registry::build(schema);
        let stored = |resource| registry.find("", "v1", resource).expect("it is built in").stored;
        let (config_maps, pods, service_accounts) =
            (stored("configmaps"), stored("pods"), stored("serviceaccounts"));
        let policy = guards.map(|_| Policy::new(schema, &registry));
        let authorizers = match &policy {
            Some(policy) => policy.authorizers.clone(),
            None => Arc::new(Authorizers::of_modes(&[Mode::Node, Mode::Rbac])),
        };
        let admission: Arc<dyn Admission> = match admits {
            true => {
                let authorizers = authorizers.clone();
                Arc::new(Pipeline::new(schema, &registry, default_admission(), authorizers))
            }
            false => Arc::new(AdmitAll),
        };
        let account_tokens = key.map(|key| key.tokens(&registry));
        let store =
            store::open(registry.stored_names, Some(registry.namespaces), Box::new(MemoryDisk::default()))
                .expect("an empty disk opens");
        let storage: Arc<dyn Storage> = Arc::new(Prompt(store.clone()));
        let mut routes = RouteTable::builder();
        for served in registry.served {
            endpoints::install(&mut routes, schema, served, registry.namespaces, &admission);
        }
        let table = Arc::new(ArcSwap::from_pointee(routes.build().expect("no path twice")));
        let site = Rc::new(site(storage, table.clone(), authorizers, policy.is_some(), account_tokens));
        let server = Server { site, store, table, config_maps, pods, service_accounts };
        let namespace = br#"{"metadata":{"name":"default"}}"#;
        server.expect(&Ask::send("POST", "/api/v1/namespaces", namespace), "HTTP/1.1 201 ");
        if let (Some(policy), Some(scale)) = (policy, guards) {
            policy.fill(&server, scale);
        }
        server
    }

    /// Requests of a flow schema that got a seat; none without priority and fairness.
    pub(crate) fn dispatched(&self, flow_schema: &str) -> u64 {
        let Some(flow_control) = self.site.core.flow_control.get() else { return 0 };
        let flows = flow_control.shared().flows();
        flows.iter().filter(|f| f.flow_schema == flow_schema).map(|f| f.sum(|cells| &cells.dispatched)).sum()
    }

    /// Asks once, and looks at the answer.
    pub(crate) fn expect(&self, ask: &Ask<'_>, expect: &str) {
        let answer = Client::http1(self).ask(ask);
        assert!(answer.contains(expect), "{answer}");
    }

    /// Creates an object through the server, and returns what is stored.
    pub(crate) fn create(&self, resource: ResourceId, target: &str, key: &str, json: &str) -> Arc<Object> {
        self.expect(&Ask::send("POST", target, json.as_bytes()), "HTTP/1.1 201 ");
        self.store.get(resource, key).expect("it was just created")
    }

    /// The ConfigMap `default/settings`.
    pub(crate) fn with_config_map(&self) -> Arc<Object> {
        let json = objects::config_map("settings");
        self.create(self.config_maps, "/api/v1/namespaces/default/configmaps", "default/settings", &json)
    }

    /// The one pod of a server that has no other yet.
    pub(crate) fn with_pod(&self) -> Arc<Object> {
        let json = objects::pod("web-00000");
        self.create(self.pods, "/api/v1/namespaces/default/pods", "default/web-00000", &json)
    }

    /// An account of the namespace `default`.
    pub(crate) fn with_service_account(&self, name: &str) -> Arc<Object> {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        let target = "/api/v1/namespaces/default/serviceaccounts";
        self.create(self.service_accounts, target, &format!("default/{name}"), &json)
    }

    /// So many pods `default/web-00000`, …: the first as the server makes it, the others like it.
    pub(crate) fn with_pods(&self, count: usize) {
        let (first, model) = ("web-00000", self.with_pod());
        let text = store::without_version(&model);
        let write = |number| {
            let name = format!("web-{number:05}");
            store::put(&model, &format!("default/{name}"), Precondition::Absent, text.replace(first, &name))
        };
        store::submit_all(&self.store, (1..count).map(write));
    }
}

/// What no flag says otherwise.
fn default_admission() -> Config {
    Config {
        enabled: Enabled::new(&[], &[]),
        not_ready_seconds: 300,
        unreachable_seconds: 300,
        configurations: Configurations::default(),
    }
}

fn site(
    storage: Arc<dyn Storage>,
    table: Arc<ArcSwap<RouteTable>>,
    authorizers: Arc<Authorizers>,
    is_fair: bool,
    account_tokens: Option<ServiceAccountTokens>,
) -> Site {
    let wake: WakeCore = Arc::new(|| ());
    let (spawner, timers) = (Spawner::new(wake.clone()), Rc::new(Timers::new(wake)));
    let core = CoreContext::new(0, storage.clone(), Hub::new(storage), spawner, timers);
    let signals = Arc::new(LifecycleSignals::default());
    signals.mux_and_discovery_complete.signal();
    let metrics = Metrics::new(1);
    core.metrics.get_or_init(|| metrics.clone());
    let users = format!("{TOKEN},admin,1,system:masters\n{USER_TOKEN},jane,2,\"{USER_GROUPS}\"");
    let tokens = TokenFile::parse(&users).expect("four columns");
    let limits = Limits { readonly: Some(400), mutating: Some(200) };
    let flow_control = is_fair.then(|| FlowControl::new(600, 1, Instant::now()));
    if let Some(shared) = &flow_control {
        core.flow_control.get_or_init(|| CoreFlowControl::new(shared.clone(), 0));
    }
    let mut authenticators = Authenticators::new(None, Some(tokens), Anonymous::new(true));
    authenticators.service_accounts = account_tokens;
    let request_timeout = Duration::from_secs(60);
    let config = ChainConfig {
        signals: signals.clone(),
        front: FrontConfig::default(),
        metrics: metrics.clone(),
        goaway_chance: 0.0,
        request_timeout,
        authenticators: Arc::new(authenticators),
        max_in_flight: limits,
        flow_control,
        authorizers,
        impersonation_modes: Arc::default(),
    };
    let director = Director { table, metrics };
    Site {
        core,
        chain: default_build_handler_chain(&config, director.clone()),
        director,
        uploads: Arc::new(Uploads::default()),
        request_timeout,
        http2_streams_max: 100,
        nobody: UserInfo::anonymous(),
        signals,
        shutdown: Arc::new(Draining::new(1)),
        draining: Cell::new(false),
    }
}
