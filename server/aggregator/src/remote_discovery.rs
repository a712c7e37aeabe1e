//! What other servers have, as they tell it themselves (`discoveryManager`).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};

use ringbolt_apiserver::live::facts::{Freshness, Text, VersionFacts};
use ringbolt_outgoing::{Answer, CallError, Client, Pending};

use crate::{
    api_service::{ApiService, ServiceReference},
    backend::Backend,
    discovery_documents::{self as documents, Versions},
    inbox::Inbox,
    limits, proxy,
    queue::DueQueue,
    resolver::Resolver,
};

/// What aggregated discovery is asked for by.
const ACCEPT_V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Who asks.
const USER: &str = "system:kube-aggregator";

/// What is known of an APIService.
struct Known {
    group: String,
    version: String,
    service: ServiceReference,
    /// Nothing was heard yet.
    facts: Option<VersionFacts>,
    /// It was asked once at least.
    asked: bool,
}

/// An answer that is awaited.
enum Asked {
    /// Of all the server has.
    Aggregated(Pending),
    /// Of one group-version: the server knows no other way.
    Single(Pending),
}

/// The aggregated document of a server, while its other APIServices may use it.
struct Cached {
    etag: String,
    versions: Versions,
    read: Instant,
}

/// All of it.
pub(crate) struct RemoteDiscovery {
    known: BTreeMap<String, Known>,
    cached: HashMap<ServiceReference, Cached>,
    queue: DueQueue,
    /// When an APIService last changed: what was read before that does not count.
    marked: HashMap<String, Instant>,
    asked: HashMap<String, (Asked, Instant)>,
}

impl RemoteDiscovery {
    pub(crate) fn new() -> Self {
        RemoteDiscovery {
            known: BTreeMap::new(),
            cached: HashMap::new(),
            queue: DueQueue::new(limits::DISCOVERY_BACKOFF),
            marked: HashMap::new(),
            asked: HashMap::new(),
        }
    }

    /// An APIService is there, or has changed.
    pub(crate) fn add(&mut self, api_service: &ApiService, now: Instant) {
        let Some(service) = &api_service.service else { return };
        let name = &api_service.name;
        let known = self.known.entry(name.clone()).or_insert_with(|| Known {
            group: api_service.group.clone(),
            version: api_service.version.clone(),
            service: service.clone(),
            facts: None,
            asked: false,
        });
        known.service = service.clone();
        self.marked.insert(name.clone(), now);
        self.queue.settle(name);
        self.queue.add(name, now);
        self.drop_unused();
    }

    /// An APIService is gone, or this server's own.
    pub(crate) fn forget(&mut self, name: &str) {
        if self.known.remove(name).is_some() {
            self.queue.forget(name);
            self.marked.remove(name);
            self.asked.remove(name);
            self.drop_unused();
        }
    }

    fn drop_unused(&mut self) {
        let known = &self.known;
        self.cached.retain(|service, _| known.values().any(|k| k.service == *service));
    }

    /// What is known of an APIService's group-version.
    pub(crate) fn facts(&self, name: &str) -> Option<VersionFacts> {
        self.known.get(name)?.facts.clone()
    }

    /// Whether every server was asked once.
    pub(crate) fn is_settled(&self) -> bool {
        self.known.values().all(|known| known.asked)
    }

    /// When there is something to do, if nothing happens.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.next()
    }

    /// Takes what has come, and asks what is due. Answers whether anything is known otherwise than before.
    pub(crate) fn work(
        &mut self,
        backends: &HashMap<String, Arc<Backend>>,
        resolver: &Resolver<'_>,
        inbox: &Arc<Inbox>,
        random: u64,
        now: Instant,
    ) -> bool {
        let mut changed = false;
        let mut come = Vec::new();
        self.asked.retain(|name, (asked, begun)| {
            let pending = match asked {
                Asked::Aggregated(pending) | Asked::Single(pending) => pending,
            };
            let Some(answer) = pending.take() else { return true };
            come.push((name.clone(), matches!(asked, Asked::Aggregated(_)), *begun, answer));
            false
        });
        for (name, aggregated, begun, answer) in come {
            changed |= match self.take(&name, aggregated, begun, answer) {
                Taken::Settled(changed) => changed,
                Taken::AskAgain => {
                    let path = self.known.get(&name).map(|k| format!("/apis/{}/{}", k.group, k.version));
                    path.is_some_and(|path| {
                        let asked = self.ask(&name, &path, backends, resolver, inbox, random);
                        self.begun(&name, asked.map(Asked::Single), begun)
                    })
                }
            };
        }
        while let Some(name) = self.queue.pop(now) {
            let Some(known) = self.known.get(&name) else { continue };
            if self.asked.contains_key(&name) {
                // What is awaited may be older than the change; it is asked again when that has come.
                self.queue.add(&name, now + limits::DISCOVERY_BACKOFF.0);
                continue;
            }
            let marked = self.marked.get(&name).copied().unwrap_or(now);
            let fresh = self.cached.get(&known.service).is_some_and(|cached| cached.read > marked);
            if fresh {
                changed |= self.settle(&name);
                continue;
            }
            let asked = self.ask(&name, "/apis", backends, resolver, inbox, random);
            changed |= self.begun(&name, asked.map(Asked::Aggregated), now);
        }
        changed
    }

    /// A question is on its way, or could not be asked.
    fn begun(&mut self, name: &str, asked: Result<Asked, String>, now: Instant) -> bool {
        match asked {
            Ok(asked) => {
                self.asked.insert(name.to_owned(), (asked, now));
                false
            }
            Err(error) => self.failed(name, &error),
        }
    }

    fn ask(
        &self,
        name: &str,
        path: &str,
        backends: &HashMap<String, Arc<Backend>>,
        resolver: &Resolver<'_>,
        inbox: &Arc<Inbox>,
        random: u64,
    ) -> Result<Pending, String> {
        let backend = backends.get(name).ok_or("it has no server")?;
        let client: &Client = backend.client.as_ref().map_err(Clone::clone)?;
        let destination = resolver.resolve(&backend.service, random)?;
        let aggregated = path == "/apis";
        let etag =
            self.cached.get(&backend.service).map(|cached| cached.etag.as_str()).filter(|_| aggregated);
        let groups: &[&str] = if aggregated { &["system:masters"] } else { &[] };
        let accept = if aggregated { ACCEPT_V2 } else { "application/json" };
        let request = proxy::own_request(path, &destination.address(), accept, USER, groups, etag)
            .ok_or("its name does not stand in a path")?;
        let inbox = inbox.clone();
        let (bytes, patience) = (limits::DISCOVERY_BYTES, limits::DISCOVERY_TIMEOUT);
        Ok(client.fetch(destination, request, bytes, patience, move || inbox.ring()))
    }

    fn take(
        &mut self,
        name: &str,
        aggregated: bool,
        begun: Instant,
        answer: Result<Answer, CallError>,
    ) -> Taken {
        let Some(known) = self.known.get(name) else { return Taken::Settled(false) };
        let answer = match answer {
            Ok(answer) if answer.status == 503 => {
                return Taken::Settled(self.failed(name, "it answers 503"));
            }
            Ok(answer) => answer,
            Err(error) => return Taken::Settled(self.failed(name, &error.text)),
        };
        let header = |name: &str| {
            answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned()
        };
        if !aggregated {
            if answer.status != 200 {
                let why = format!("failed to download legacy discovery: {}", answer.status);
                return Taken::Settled(self.failed(name, &why));
            }
            let resources = documents::resource_list(&answer.body, &known.group, &known.version);
            return Taken::Settled(match resources {
                Ok(resources) => {
                    let facts = VersionFacts {
                        group: Text::Owned(known.group.clone()),
                        version: Text::Owned(known.version.clone()),
                        resources,
                        freshness: Freshness::Current,
                    };
                    self.learned(name, facts)
                }
                Err(error) => self.failed(name, &error),
            });
        }
        match answer.status {
            304 if self.cached.contains_key(&known.service) => {
                if let Some(cached) = self.cached.get_mut(&known.service) {
                    cached.read = begun;
                }
            }
            200 if documents::is_aggregated(&header("content-type")) => {
                match documents::group_list(&answer.body) {
                    Ok(versions) => {
                        let cached = Cached { etag: header("etag"), versions, read: begun };
                        self.cached.insert(known.service.clone(), cached);
                    }
                    Err(error) => return Taken::Settled(self.failed(name, &error)),
                }
            }
            _ => return Taken::AskAgain,
        }
        Taken::Settled(self.settle(name))
    }

    /// Takes what the document of its server says of an APIService.
    fn settle(&mut self, name: &str) -> bool {
        let Some(known) = self.known.get(name) else { return false };
        let cached = self.cached.get(&known.service);
        let key = (known.group.clone(), known.version.clone());
        let resources = cached.and_then(|cached| cached.versions.get(&key)).cloned().unwrap_or_default();
        let facts = VersionFacts {
            group: Text::Owned(key.0),
            version: Text::Owned(key.1),
            resources,
            freshness: Freshness::Current,
        };
        self.learned(name, facts)
    }

    fn learned(&mut self, name: &str, facts: VersionFacts) -> bool {
        let now = Instant::now();
        self.queue.settle(name);
        self.marked.insert(name.to_owned(), now);
        self.queue.add(name, now + limits::DISCOVERY_REFRESH);
        let Some(known) = self.known.get_mut(name) else { return false };
        known.asked = true;
        let facts = Some(facts);
        let changed = known.facts != facts;
        known.facts = facts;
        changed
    }

    /// What was known last stays, and says that it may no longer be so.
    fn failed(&mut self, name: &str, why: &str) -> bool {
        tracing::debug!(name, why, "discovery of an aggregated API");
        self.queue.retry(name, Instant::now());
        let Some(known) = self.known.get_mut(name) else { return false };
        let first = !std::mem::replace(&mut known.asked, true);
        match &mut known.facts {
            Some(facts) if facts.freshness != Freshness::Stale => {
                facts.freshness = Freshness::Stale;
                true
            }
            _ => first,
        }
    }
}

/// What came of an answer.
enum Taken {
    /// It is known now, otherwise than before or not.
    Settled(bool),
    /// The server does not know aggregated discovery.
    AskAgain,
}
