//! What happened since the aggregator's thread last looked: noted by the thread that follows the store, as little of it
//! as is of interest.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, Thread},
};

use arc_swap::ArcSwap;
use ringbolt_apiserver::informer::Follower;
use ringbolt_storage::{
    object::{Event, ResourceId},
    storage::Storage,
};

/// The label that says whose an EndpointSlice is.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The resources that are followed.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// APIServices.
    pub api_services: ResourceId,
    /// Services.
    pub services: ResourceId,
    /// EndpointSlices.
    pub endpoint_slices: ResourceId,
    /// CustomResourceDefinitions.
    pub definitions: ResourceId,
}

/// Keys of what changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// All may have.
    pub(crate) resync: bool,
    /// Names of APIServices.
    pub(crate) api_services: BTreeSet<String>,
    /// `namespace/name` of services, which changed themselves or by their endpoints.
    pub(crate) services: BTreeSet<String>,
    /// Names of definitions.
    pub(crate) definitions: BTreeSet<String>,
    /// Something else is done that was waited for.
    pub(crate) rang: bool,
}

/// Where it is noted.
#[derive(Default)]
pub(crate) struct Inbox {
    news: Mutex<News>,
    thread: OnceLock<Thread>,
    /// The services of APIServices: others are of no interest.
    interesting: ArcSwap<HashSet<String>>,
}

impl Inbox {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread that is woken is this one.
    pub(crate) fn wakes_this_thread(&self) {
        // There is one such thread.
        let _ = self.thread.set(thread::current());
    }

    /// Takes what there is.
    pub(crate) fn take(&self) -> News {
        std::mem::take(&mut *self.news())
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self.news() == News::default()
    }

    /// Says which services are of interest.
    pub(crate) fn set_interesting(&self, services: HashSet<String>) {
        self.interesting.store(Arc::new(services));
    }

    /// Has everything read anew.
    pub(crate) fn resync(&self) {
        self.news().resync = true;
        self.wake();
    }

    /// Something is done that was waited for.
    pub(crate) fn ring(&self) {
        self.news().rang = true;
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Follows the store and notes.
pub(crate) struct Notes {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) resources: Resources,
    pub(crate) noted: bool,
}

impl Follower for Notes {
    fn resources(&self) -> Vec<ResourceId> {
        let Resources { api_services, services, endpoint_slices, definitions } = self.resources;
        vec![api_services, services, endpoint_slices, definitions]
    }

    fn resync(&mut self, _: &dyn Storage) {
        self.inbox.news().resync = true;
        self.noted = true;
    }

    fn observe(&mut self, event: &Event) {
        let object = &event.object;
        if object.resource == self.resources.api_services {
            self.inbox.news().api_services.insert(object.name().to_owned());
        } else if object.resource == self.resources.definitions {
            self.inbox.news().definitions.insert(object.name().to_owned());
        } else {
            let service = if object.resource == self.resources.services {
                object.key.to_string()
            } else {
                let owner = object.labels().find(|(key, _)| *key == SERVICE_NAME);
                let Some((_, service)) = owner else { return };
                format!("{}/{service}", object.namespace())
            };
            if !self.inbox.interesting.load().contains(&service) {
                return;
            }
            self.inbox.news().services.insert(service);
        }
        self.noted = true;
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.noted) {
            self.inbox.wake();
        }
    }
}
