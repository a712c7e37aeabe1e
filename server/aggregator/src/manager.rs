//! The thread of the aggregator: what happened in the store comes in, APIServices and routes go out.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Instant,
};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::{
    healthz::Done,
    live::{
        Contributions, GroupVersion, Live, Owner, Routes, ServiceOrder,
        facts::{Freshness, Text, VersionFacts},
        priorities::Priority,
    },
    response::JSON,
    server::{hooks::HookContext, lifecycle_signals::LifecycleSignals},
    serving::loopback::{Answer, Call, Loopback},
};
use ringbolt_machinery::{json, value::Value};
use ringbolt_outgoing::Outgoing;
use ringbolt_storage::storage::Storage;

use crate::{
    api_service::{ApiService, Available, GROUP, PATH, VERSION},
    availability::{self, Availability},
    backend::{Backend, ProxyIdentity},
    definitions::Definitions,
    inbox::{Inbox, News},
    limits,
    metrics::Counts,
    proxy::{self, Proxying},
    queue::DueQueue,
    registration::{Action, Wanted, decide},
    remote_discovery::RemoteDiscovery,
    remote_openapi::RemoteOpenApi,
    resolver::Resolver,
};

/// Who owns what is written.
const MANAGER: &str = "kube-apiserver";

/// What the rest of the server waits for.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    /// All APIServices are routed.
    pub(crate) registered: Done,
    /// Those of this server are there.
    pub(crate) auto_registered: Done,
    /// Every other server was asked what it has.
    pub(crate) discovered: Done,
}

/// What the thread starts with.
pub(crate) struct Plan {
    pub(crate) live: Live,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) proxying: Proxying,
    pub(crate) identity: Arc<ProxyIdentity>,
    pub(crate) outgoing: Outgoing,
    /// Built-in group-versions.
    pub(crate) built_in: Vec<Wanted>,
    pub(crate) progress: Progress,
    pub(crate) counts: Arc<Counts>,
}

/// The aggregator's state.
pub(crate) struct Manager {
    plan: Plan,
    storage: Arc<dyn Storage>,
    loopback: Arc<Loopback>,
    services: BTreeMap<String, ApiService>,
    backends: HashMap<String, Arc<Backend>>,
    /// Of [`ProxyIdentity::changes`].
    identity: u64,
    built_in: HashMap<String, Wanted>,
    definitions: Definitions,
    registrations: DueQueue,
    synced: HashSet<String>,
    at_start: Option<HashSet<String>>,
    availability: Availability,
    discovery: RemoteDiscovery,
    openapi: RemoteOpenApi,
    /// What is published is not what there is.
    changed: bool,
    random: u64,
}

impl Manager {
    pub(crate) fn new(plan: Plan, context: &HookContext) -> Self {
        let built_in = plan.built_in.iter().map(|wanted| (wanted.name(), wanted.clone())).collect();
        Manager {
            storage: context.storage.clone(),
            loopback: context.loopback.clone(),
            services: BTreeMap::new(),
            backends: HashMap::new(),
            identity: 0,
            built_in,
            definitions: Definitions::default(),
            registrations: DueQueue::new(limits::REGISTRATION_BACKOFF),
            synced: HashSet::new(),
            at_start: None,
            availability: Availability::new(),
            discovery: RemoteDiscovery::new(),
            openapi: RemoteOpenApi::new(),
            changed: true,
            random: 0,
            plan,
        }
    }

    /// Runs until the server ends.
    pub(crate) fn run(mut self, signals: &LifecycleSignals) {
        self.plan.inbox.wakes_this_thread();
        self.plan.inbox.resync();
        while !signals.shutdown_initiated.is_signaled() {
            // A fault must not be for ever.
            if catch_unwind(AssertUnwindSafe(|| self.turn())).is_err() {
                tracing::error!("the aggregator panicked; everything is read anew");
                self.plan.inbox.resync();
                thread::sleep(limits::PANIC_PAUSE);
            }
        }
    }

    fn turn(&mut self) {
        let news = self.plan.inbox.take();
        self.take(news);
        if self.changed {
            self.publish();
            self.plan.progress.registered.set();
        }
        self.register();
        self.look();
        self.discover();
        if self.changed {
            self.publish();
        }
        self.note_progress();
        let queues = [
            self.registrations.next(),
            self.availability.queue.next(),
            self.discovery.next(),
            self.openapi.next(),
        ];
        let next = queues.into_iter().flatten().min();
        let pause = next.map_or(limits::SLEEP_MAX, |at| {
            at.saturating_duration_since(Instant::now()).min(limits::SLEEP_MAX)
        });
        // Whoever notes unparks it, also between this look and its sleep; while it waited for answers that went unnoticed.
        if !pause.is_zero() && self.plan.inbox.is_empty() {
            thread::park_timeout(pause);
        }
    }

    /// What happened.
    fn take(&mut self, news: News) {
        let now = Instant::now();
        if news.resync {
            self.resync(now);
            return;
        }
        for name in news.definitions {
            let object = self.storage.get(self.plan.proxying.resources.definitions, &name);
            for name in self.definitions.set(&name, object.as_deref()) {
                self.registrations.add(&name, now);
            }
        }
        for name in news.api_services {
            self.read(&name, now);
        }
        for service in news.services {
            for (name, api_service) in &self.services {
                if key_of(api_service).as_deref() == Some(&service) {
                    self.availability.queue.add(name, now);
                }
            }
        }
        let identity = self.plan.identity.changes();
        if identity != self.identity {
            self.identity = identity;
            let names: Vec<_> = self.services.keys().cloned().collect();
            names.iter().for_each(|name| self.read(name, now));
        }
    }

    fn resync(&mut self, now: Instant) {
        let resources = self.plan.proxying.resources;
        self.definitions.clear();
        for object in self.storage.snapshot(resources.definitions).range("", None) {
            self.definitions.set(object.name(), Some(object));
        }
        let mut names: HashSet<String> = self.services.keys().cloned().collect();
        let stored = self.storage.snapshot(resources.api_services);
        names.extend(stored.range("", None).map(|object| object.name().to_owned()));
        if self.at_start.is_none() {
            self.at_start = Some(names.clone());
        }
        self.identity = self.plan.identity.changes();
        names.iter().for_each(|name| self.read(name, now));
        let wanted = self.definitions.served().map(|wanted| wanted.name());
        let wanted: Vec<_> = self.built_in.keys().cloned().chain(wanted).collect();
        wanted.iter().for_each(|name| self.registrations.add(name, now));
    }

    /// Reads an APIService anew.
    fn read(&mut self, name: &str, now: Instant) {
        let stored = self.storage.get(self.plan.proxying.resources.api_services, name);
        let read = stored.as_deref().and_then(ApiService::read);
        self.registrations.add(name, now);
        self.changed = true;
        let Some(read) = read else {
            self.services.remove(name);
            self.backends.remove(name);
            self.availability.forget(name);
            self.discovery.forget(name);
            self.openapi.forget(name);
            self.plan.counts.forget(name);
            return;
        };
        match &read.service {
            None => {
                self.backends.remove(name);
                self.discovery.forget(name);
                self.openapi.forget(name);
            }
            Some(service) => {
                let before = self.backends.get(name).map(|backend| &**backend);
                let backend = Backend::new(&self.plan.outgoing, &self.plan.identity, &read, service, before);
                self.backends.insert(name.to_owned(), Arc::new(backend));
                self.discovery.add(&read, now);
                self.openapi.add(&read, now);
            }
        }
        self.availability.queue.add(name, now);
        self.services.insert(name.to_owned(), read);
    }

    /// Writes what is due of the APIServices that this server looks after.
    fn register(&mut self) {
        let now = Instant::now();
        let mut names = Vec::new();
        let mut calls = Vec::new();
        while names.len() < limits::REGISTRATIONS_AT_ONCE
            && let Some(name) = self.registrations.pop(now)
        {
            let wanted = self.built_in.get(&name).cloned().or_else(|| self.definitions.wanted(&name));
            let at_start = self.at_start.as_ref().is_some_and(|names| names.contains(&name));
            let action =
                decide(wanted.as_ref(), self.services.get(&name), self.synced.contains(&name), at_start);
            match self.call(action, &name, wanted.as_ref()) {
                Some(call) => {
                    calls.push(call);
                    names.push(name);
                }
                None => {
                    self.synced.insert(name);
                }
            }
        }
        if calls.is_empty() {
            return;
        }
        let answers = self.loopback.call_all(calls);
        for (name, answer) in names.into_iter().zip(answers) {
            match answer {
                // What somebody else did meanwhile comes as an event, and leads here again.
                Some((200..=299 | 404 | 409, _)) => {
                    self.registrations.settle(&name);
                    self.synced.insert(name);
                }
                other => {
                    tracing::warn!(name, error = said(other), "an APIService could not be registered");
                    self.registrations.retry(&name, Instant::now());
                }
            }
        }
    }

    fn call(&self, action: Action, name: &str, wanted: Option<&Wanted>) -> Option<Call> {
        let path = format!("{PATH}/{name}?fieldManager={MANAGER}");
        match (action, wanted) {
            (Action::Create, Some(wanted)) => {
                let target = format!("{PATH}?fieldManager={MANAGER}");
                Some(Call::of_server("POST", target, JSON, wanted.object().into()))
            }
            (Action::Update, Some(wanted)) => {
                let spec = wanted.spec();
                let body = self.changed_object(name, |arena, object| {
                    let spec = json::decode_untyped(arena, arena.alloc_slice_copy(spec.as_bytes())).ok()?;
                    object.as_map_mut()?.insert("spec", spec);
                    Some(())
                })?;
                Some(Call::of_server("PUT", path, JSON, body))
            }
            (Action::Delete, _) => {
                let uid = &self.services.get(name)?.uid;
                let options = format!(
                    r#"{{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{{"uid":"{uid}"}}}}"#
                );
                Some(Call::of_server("DELETE", format!("{PATH}/{name}"), JSON, options.into()))
            }
            _ => None,
        }
    }

    /// The stored object of a name, changed, as the body of a request. `None` where it is gone, or nothing changes.
    fn changed_object(
        &self,
        name: &str,
        change: impl for<'a> FnOnce(&'a Bump, &mut Value<'a>) -> Option<()>,
    ) -> Option<Bytes> {
        let stored = self.storage.get(self.plan.proxying.resources.api_services, name)?;
        let arena = Bump::new();
        let mut text = format!(r#"{{"kind":"APIService","apiVersion":"{GROUP}/{VERSION}","#).into_bytes();
        text.extend_from_slice(&stored.json);
        let mut object = json::decode_untyped(&arena, arena.alloc_slice_copy(&text)).ok()?;
        change(&arena, &mut object)?;
        let mut body = Vec::new();
        json::encode_untyped(&object, &mut body);
        Some(body.into())
    }

    /// Looks whether servers are there.
    fn look(&mut self) {
        let now = Instant::now();
        let mut conditions = Vec::new();
        while let Some(name) = self.availability.queue.pop(now) {
            let Some(api_service) = self.services.get(&name) else { continue };
            let Proxying { resources, routing, .. } = self.plan.proxying;
            let resolver = Resolver { storage: &*self.storage, resources, routing };
            let backend = self.backends.get(&name).map(|backend| &**backend);
            let mut random = self.random;
            let condition = self.availability.look(api_service, backend, &resolver, &self.plan.inbox, || {
                random = random.wrapping_add(1);
                random
            });
            self.random = random;
            if api_service.service.is_some() {
                self.availability.queue.add(&name, availability::again(now));
            }
            conditions.extend(condition.map(|condition| (name, condition)));
        }
        for (name, revision, condition) in self.availability.found() {
            if self.services.get(&name).is_none_or(|now| now.service.is_none() || now.revision < revision) {
                continue;
            }
            if condition.status == "True" {
                self.availability.queue.settle(&name);
            } else {
                self.availability.queue.retry(&name, now);
            }
            conditions.push((name, condition));
        }
        self.write(conditions);
    }

    /// Writes conditions into statuses, where they say something new.
    fn write(&mut self, conditions: Vec<(String, Available)>) {
        let mut calls = Vec::new();
        let mut names = Vec::new();
        for (name, condition) in conditions {
            if let Some(before) = self.services.get(&name) {
                let is = condition.status == "True";
                self.plan.counts.note(&name, before.available, is, condition.reason);
            }
            let body = self.changed_object(&name, |arena, object| {
                let conditions = condition.among(arena, object)?;
                object.as_map_mut()?.map_mut("status").insert("conditions", conditions);
                Some(())
            });
            if let Some(body) = body {
                let target = format!("{PATH}/{name}/status?fieldManager={MANAGER}");
                calls.push(Call::of_server("PUT", target, JSON, body));
                names.push(name);
            }
        }
        if calls.is_empty() {
            return;
        }
        for (name, answer) in names.into_iter().zip(self.loopback.call_all(calls)) {
            if !matches!(answer, Some((200..=299 | 404, _))) {
                if !matches!(answer, Some((409, _))) {
                    tracing::warn!(
                        name,
                        error = said(answer),
                        "the status of an APIService could not be written"
                    );
                }
                self.availability.queue.retry(&name, Instant::now());
            }
        }
    }

    /// Asks other servers what they have, and what they say about it.
    fn discover(&mut self) {
        let Proxying { resources, routing, .. } = self.plan.proxying;
        let resolver = Resolver { storage: &*self.storage, resources, routing };
        self.random = self.random.wrapping_add(1);
        self.changed |=
            self.discovery.work(&self.backends, &resolver, &self.plan.inbox, self.random, Instant::now());
        self.changed |=
            self.openapi.work(&self.backends, &resolver, &self.plan.inbox, self.random, Instant::now());
    }

    /// Routes and discovery of what there is now.
    fn publish(&mut self) {
        self.changed = false;
        self.plan.inbox.set_interesting(self.services.values().filter_map(key_of).collect());
        let versions = self.services.values().filter_map(|api_service| {
            let backend = self.backends.get(&api_service.name)?;
            // The core group is served by this server alone.
            if api_service.group.is_empty() {
                return None;
            }
            let facts = self.discovery.facts(&api_service.name).unwrap_or_else(|| VersionFacts {
                group: Text::Owned(api_service.group.clone()),
                version: Text::Owned(api_service.version.clone()),
                resources: Vec::new(),
                freshness: Freshness::Stale,
            });
            let handler = proxy::handler(self.plan.proxying, backend.clone(), api_service.available);
            let openapi = self.openapi.contribution(&api_service.name, &handler);
            let version = GroupVersion::new(facts, priority(api_service), Routes::Proxy(handler), openapi);
            Some(Arc::new(version))
        });
        let order = |api_service: &ApiService| ServiceOrder {
            group: Text::Owned(api_service.group.clone()),
            version: Text::Owned(api_service.version.clone()),
            priority: priority(api_service),
        };
        // Before the APIServices of this server are there, lists show what it has.
        let services =
            self.plan.progress.auto_registered.is_set().then(|| self.services.values().map(order).collect());
        let versions = versions.collect();
        self.plan.live.replace(Owner::Aggregator, Contributions { versions, services });
    }

    fn note_progress(&mut self) {
        let progress = &self.plan.progress;
        if !progress.auto_registered.is_set() {
            let there = |name: &String| self.services.get(name).is_some_and(|service| service.available);
            let users = |name: &String| self.services.get(name).is_some_and(|s| s.automanaged.is_empty());
            if self.built_in.keys().all(|name| there(name) || users(name)) {
                progress.auto_registered.set();
                self.publish();
            }
        }
        if !self.plan.progress.discovered.is_set() && self.discovery.is_settled() {
            self.plan.progress.discovered.set();
        }
    }
}

/// `namespace/name` of the service behind an APIService.
fn key_of(api_service: &ApiService) -> Option<String> {
    let service = api_service.service.as_ref()?;
    Some(format!("{}/{}", service.namespace, service.name))
}

fn priority(api_service: &ApiService) -> Priority {
    let number = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
    Priority { group: number(api_service.group_priority), version: number(api_service.version_priority) }
}

fn said(answer: Option<Answer>) -> String {
    match answer {
        Some((code, body)) => format!("{code}: {}", String::from_utf8_lossy(&body)),
        None => "no answer".to_owned(),
    }
}
