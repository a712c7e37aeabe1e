//! What is served changes while the server runs: custom resources and other servers' APIs come and go.
//!
//! The servers of the chain get a [`Live`] handle before they start
//! ([`GenericApiServer::live`](crate::server::GenericApiServer::live)), and say through it at any time, from any thread,
//! what they have now. Each call of [`Live::replace`] publishes a new route table and new discovery documents at once;
//! requests never wait for that, and those on their way finish with what they began with. The table of what is built in
//! is the same in all of them.

mod contribution;
pub mod facts;
pub mod priorities;
mod published;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use ringbolt_machinery::schema::{Resource, Schema};

pub use self::{
    contribution::{
        Contributions, GroupVersion, OpenApi, OpenApiSource, Owner, ResourceRoute, Routes, ServiceOrder,
        V2Part,
    },
    published::Published,
};
use crate::{
    discovery::{BuiltInDiscovery, Documents},
    routes::{Layer, RouteTable},
    server::lifecycle_signals::LifecycleSignals,
};

/// Told of every publication, after it can be seen, in order. Publishers wait for it.
pub type Listener = Box<dyn Fn(&Arc<Published>) + Send + Sync>;

/// What is contributed, and what came of it. A handle: clones are the same.
#[derive(Clone, Default)]
pub struct Live(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Only publishers lock it.
    state: Mutex<State>,
    published: ArcSwap<Published>,
    documents: Arc<ArcSwap<Documents>>,
    table: OnceLock<Arc<ArcSwap<RouteTable>>>,
    is_complete: AtomicBool,
}

#[derive(Default)]
struct State {
    owners: BTreeMap<Owner, Contributions>,
    built_in: Arc<BuiltInDiscovery>,
    /// Who has to say something before the paths are complete.
    awaited: BTreeSet<Owner>,
    signals: Option<Arc<LifecycleSignals>>,
    listeners: Vec<Listener>,
}

impl Live {
    /// Says what `owner` has from now on, in place of all it had.
    pub fn replace(&self, owner: Owner, contributions: Contributions) {
        let mut state = self.state();
        state.owners.insert(owner, contributions);
        state.awaited.remove(&owner);
        self.publish(&mut state);
    }

    /// Holds back 404s, as 503s, until `owner` has said what it has. To be called before the server starts.
    pub fn expect(&self, owner: Owner) {
        let mut state = self.state();
        if !state.owners.contains_key(&owner) {
            state.awaited.insert(owner);
        }
    }

    /// Whether everybody who is expected to has said what it has.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete.load(Ordering::Acquire)
    }

    /// What is published now.
    pub fn published(&self) -> Arc<Published> {
        self.0.published.load_full()
    }

    /// Tells `listener` of what is published now and of all that follows.
    pub fn listen(&self, listener: Listener) {
        let mut state = self.state();
        listener(&self.published());
        state.listeners.push(listener);
    }

    /// Shows built-in resources of the Schema in discovery: those that `served` says the server has.
    pub fn add_built_in(&self, schema: &'static Schema, served: impl Fn(&Resource) -> bool) {
        let mut state = self.state();
        let mut built_in = (*state.built_in).clone();
        built_in.add(schema, served);
        state.built_in = Arc::new(built_in);
        self.publish(&mut state);
    }

    /// The `host:port` that `/api` shows.
    pub fn set_server_address(&self, address: impl Into<String>) {
        let mut state = self.state();
        let mut built_in = (*state.built_in).clone();
        built_in.server_address = address.into();
        state.built_in = Arc::new(built_in);
        self.publish(&mut state);
    }

    /// Built-in discovery as it is told so far.
    pub(crate) fn built_in(&self) -> Arc<BuiltInDiscovery> {
        self.state().built_in.clone()
    }

    /// The discovery documents, as they are at any time.
    pub(crate) fn documents(&self) -> Arc<ArcSwap<Documents>> {
        self.0.documents.clone()
    }

    /// Takes what is built in, and gives the table that requests are routed by from now on.
    pub fn open(&self, table: RouteTable) -> Arc<ArcSwap<RouteTable>> {
        let mut state = self.state();
        let table = self.0.table.get_or_init(|| Arc::new(ArcSwap::from_pointee(table))).clone();
        self.publish(&mut state);
        table
    }

    /// Signals that all paths are there, now or once everybody has said what they have.
    pub fn complete(&self, signals: Arc<LifecycleSignals>) {
        let mut state = self.state();
        state.signals = Some(signals);
        self.look(&state);
    }

    fn publish(&self, state: &mut State) {
        let shared = &self.0;
        let number = shared.published.load().number + 1;
        let published = Arc::new(Published::new(number, state.built_in.clone(), &state.owners));
        let documents = Arc::new(Documents::new(&published, &shared.documents.load()));
        // Whoever sees a route finds its documents.
        shared.documents.store(documents.clone());
        shared.published.store(published.clone());
        if let Some(table) = shared.table.get() {
            let layer = Layer::new(&published, documents);
            table.store(Arc::new(table.load().with_layer(layer)));
        }
        self.look(state);
        for listener in &state.listeners {
            listener(&published);
        }
    }

    /// Whether it is complete by now.
    fn look(&self, state: &State) {
        if let Some(signals) = state.signals.as_ref().filter(|_| state.awaited.is_empty()) {
            self.0.is_complete.store(true, Ordering::Release);
            signals.mux_and_discovery_complete.signal();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
