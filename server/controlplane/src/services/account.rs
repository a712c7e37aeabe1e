//! The account of what services have: what is stored, and what is set aside for writes under way, until they are made or
//! given up.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    value::{Map, Value},
};
use ringbolt_storage::{
    object::{EventKind, Object, ResourceId},
    storage::Storage,
};

use super::{
    addresses,
    range::{AddressRange, PortRange},
};
use crate::{network, tree::Members};

/// How long something stays set aside for a write whose client went away before it was made: longer than any write takes.
const SET_ASIDE: Duration = Duration::from_secs(10);

/// One attempt to write a service, for which goods are set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim(u64);

/// What is set aside for the service of a key.
struct Aside {
    key: Arc<str>,
    since: Instant,
    /// By whom: two attempts to write one service may ask for the same.
    claims: Vec<Claim>,
}

/// Something that only one service can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Good {
    Address(IpAddr),
    Port(u16),
}

pub(super) struct Account {
    storage: Arc<dyn Storage>,
    services: ResourceId,
    ip_addresses: ResourceId,
    pub(super) addresses: Vec<AddressRange>,
    pub(super) ports: PortRange,
    /// The revision up to which the store's events are in here; `None` before the first look.
    seen: Option<u64>,
    /// Goods of stored services by their keys, and the other way round.
    held: HashMap<Arc<str>, Vec<Good>>,
    holders: HashMap<Good, Arc<str>>,
    /// Goods of services on their way.
    aside: HashMap<Good, Aside>,
    /// The number of the last claim.
    claimed: u64,
}

impl Account {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        services: ResourceId,
        ip_addresses: ResourceId,
        addresses: Vec<AddressRange>,
        ports: PortRange,
    ) -> Self {
        Account {
            storage,
            services,
            ip_addresses,
            addresses,
            ports,
            seen: None,
            held: HashMap::new(),
            holders: HashMap::new(),
            aside: HashMap::new(),
            claimed: 0,
        }
    }

    /// Takes in what was stored since the last look.
    pub(super) fn catch_up(&mut self) {
        self.aside.retain(|_, aside| aside.since.elapsed() < SET_ASIDE);
        let now = self.storage.revision();
        let Some(seen) = self.seen else { return self.rebuild() };
        // Where more happened than there are services, their present state is the shorter read.
        if now.saturating_sub(seen) > self.storage.count(self.services) as u64 + 64 {
            return self.rebuild();
        }
        let Ok(mut events) = self.storage.events_after(seen) else { return self.rebuild() };
        while let Some(event) = events.next(now) {
            if event.object.resource != self.services {
                continue;
            }
            match event.kind {
                EventKind::Deleted => self.forget(&event.object.key),
                _ => self.store(&event.object),
            }
        }
        self.seen = Some(now);
    }

    fn rebuild(&mut self) {
        let snapshot = self.storage.snapshot(self.services);
        self.held.clear();
        self.holders.clear();
        for object in snapshot.range("", None) {
            self.store(object);
        }
        self.seen = Some(snapshot.revision());
    }

    fn forget(&mut self, key: &str) {
        for good in self.held.remove(key).unwrap_or_default() {
            if self.holders.get(&good).is_some_and(|holder| &**holder == key) {
                self.holders.remove(&good);
            }
        }
    }

    fn store(&mut self, object: &Object) {
        self.forget(&object.key);
        let goods = goods_of(&object.json);
        for good in &goods {
            self.holders.insert(*good, object.key.clone());
            // It is in the store: from here on the store says whose it is.
            if self.aside.get(good).is_some_and(|aside| aside.key == object.key) {
                self.aside.remove(good);
            }
        }
        self.held.insert(object.key.clone(), goods);
    }

    /// Whether someone else than `key` has something.
    pub(super) fn is_taken(&self, good: Good, key: &str) -> bool {
        self.holders.get(&good).is_some_and(|holder| &**holder != key)
            || self.aside.get(&good).is_some_and(|aside| &*aside.key != key)
            || self.is_reserved(good)
    }

    /// Whether an address is something else's than a service's, by an IPAddress object that somebody made. Those of
    /// services follow the services, which are known here.
    fn is_reserved(&self, good: Good) -> bool {
        let Good::Address(address) = good else { return false };
        let object = self.storage.get(self.ip_addresses, &address.to_string());
        object.is_some_and(|object| addresses::parent(&object).is_none())
    }

    /// Addresses of a range that stored services have.
    pub(super) fn addresses_within(&self, range: AddressRange) -> usize {
        let within = |good: &&Good| matches!(good, Good::Address(address) if range.contains(*address));
        self.holders.keys().filter(within).count()
    }

    /// Ports that stored services have.
    pub(super) fn ports_taken(&self) -> usize {
        self.holders.keys().filter(|good| matches!(good, Good::Port(_))).count()
    }

    /// A claim of its own for one attempt.
    pub(super) fn claim(&mut self) -> Claim {
        self.claimed += 1;
        Claim(self.claimed)
    }

    /// Sets something aside for the service of a key. Answers whether there was need to.
    pub(super) fn set_aside(&mut self, good: Good, key: &str, claim: Claim) -> bool {
        if self.holders.contains_key(&good) {
            return false;
        }
        let new = || Aside { key: key.into(), since: Instant::now(), claims: Vec::new() };
        let aside = self.aside.entry(good).or_insert_with(new);
        aside.since = Instant::now();
        aside.claims.push(claim);
        true
    }

    /// Ends a claim: what nobody else claims is free, but for what is stored.
    pub(super) fn release(&mut self, claim: Claim) {
        self.aside.retain(|_, aside| {
            aside.claims.retain(|other| *other != claim);
            !aside.claims.is_empty()
        });
    }
}

/// What a stored service has.
fn goods_of(stored: &[u8]) -> Vec<Good> {
    let arena = Bump::new();
    // The stored form lacks the brace that opens it.
    let text = arena.alloc_slice_fill_copy(stored.len() + 1, b'{');
    text[1..].copy_from_slice(stored);
    let Ok(object) = json::decode_untyped(&arena, text) else { return Vec::new() };
    object.path(&["spec"]).and_then(Value::as_map).map(goods).unwrap_or_default()
}

/// The goods that a spec names.
pub(super) fn goods(spec: &Map<'_>) -> Vec<Good> {
    let addresses = spec.items("clusterIPs").iter().filter_map(Value::as_str);
    let addresses = addresses.filter_map(network::parse_legacy_ip).map(Good::Address);
    let ports = spec.items("ports").iter().filter_map(Value::as_map).filter_map(|p| p.int("nodePort"));
    let ports = ports.chain(spec.int("healthCheckNodePort"));
    let ports = ports.filter_map(|p| u16::try_from(p).ok()).filter(|p| *p != 0).map(Good::Port);
    addresses.chain(ports).collect()
}
