//! A whole server but for its sockets: every built-in resource, the filter chain, one core.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use ringbolt_apiserver::{
    admission::{Admission, AdmitAll},
    authentication::{Authenticators, UserInfo, token_file::TokenFile},
    authorization::{Authorizers, Mode},
    core::CoreContext,
    endpoints,
    filters::{
        chain::{ChainConfig, default_build_handler_chain},
        max_in_flight::Limits,
    },
    metrics::Metrics,
    routes::RouteTable,
    server::{director::Director, lifecycle_signals::LifecycleSignals},
    serving::{
        site::Site,
        tasks::{Spawner, Timers, WakeCore},
        uploads::Uploads,
    },
};
use ringbolt_controlplane::registry;
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
    client::Client,
    objects,
    requests::{Ask, TOKEN},
    store::{self, Prompt},
};

/// The server.
pub(crate) struct Server {
    pub(crate) site: Rc<Site>,
    pub(crate) store: Arc<Embedded>,
    pub(crate) table: Arc<ArcSwap<RouteTable>>,
    pub(crate) config_maps: ResourceId,
    pub(crate) pods: ResourceId,
}

impl Server {
    /// A server whose store has the namespace `default` and nothing else.
    pub(crate) fn new() -> Server {
        let schema = Schema::builtin();
        let registry = registry::build(schema);
        let stored = |resource| registry.find("", "v1", resource).expect("it is built in").stored;
        let (config_maps, pods) = (stored("configmaps"), stored("pods"));
        let store =
            store::open(registry.stored_names, Some(registry.namespaces), Box::new(MemoryDisk::default()))
                .expect("an empty disk opens");
        let storage: Arc<dyn Storage> = Arc::new(Prompt(store.clone()));
        let mut routes = RouteTable::builder();
        for served in registry.served {
            let admission: Arc<dyn Admission> = Arc::new(AdmitAll);
            endpoints::install(&mut routes, schema, served, registry.namespaces, &admission);
        }
        let table = Arc::new(ArcSwap::from_pointee(routes.build().expect("no path twice")));
        let site = Rc::new(site(storage, table.clone()));
        let server = Server { site, store, table, config_maps, pods };
        let namespace = br#"{"metadata":{"name":"default"}}"#;
        server.expect(&Ask::send("POST", "/api/v1/namespaces", namespace), "HTTP/1.1 201 ");
        server
    }

    /// Asks once, and looks at the answer.
    fn expect(&self, ask: &Ask<'_>, expect: &str) {
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

fn site(storage: Arc<dyn Storage>, table: Arc<ArcSwap<RouteTable>>) -> Site {
    let wake: WakeCore = Arc::new(|| ());
    let (spawner, timers) = (Spawner::new(wake.clone()), Rc::new(Timers::new(wake)));
    let core = CoreContext::new(0, storage.clone(), Hub::new(storage), spawner, timers);
    let signals = Arc::new(LifecycleSignals::default());
    signals.mux_and_discovery_complete.signal();
    let metrics = Metrics::new(1);
    core.metrics.get_or_init(|| metrics.clone());
    let tokens = TokenFile::parse(&format!("{TOKEN},admin,1,system:masters")).expect("four columns");
    let request_timeout = Duration::from_secs(60);
    let config = ChainConfig {
        signals,
        metrics: metrics.clone(),
        goaway_chance: 0.0,
        request_timeout,
        authenticators: Arc::new(Authenticators::new(None, Some(tokens), true)),
        max_in_flight: Limits { readonly: Some(400), mutating: Some(200) },
        authorizers: Arc::new(Authorizers::new(vec![Mode::Node, Mode::Rbac])),
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
        draining: Cell::new(false),
    }
}
