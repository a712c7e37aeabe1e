//! What every namespace has: the ServiceAccount `default`, and the ConfigMap `kube-root-ca.crt` with the authority of
//! the server's certificate (`ServiceAccountsController` and `Publisher`).

use std::time::Instant;

use bumpalo::Bump;
use ringbolt_machinery::value::Value;
use ringbolt_storage::object::{Event, EventKind};

use crate::{
    client::{Client, Reply, Request},
    context::{Context, Control},
    kinds::Kind,
    limits,
    object::{self, map, text},
    queue::WorkQueue,
};

/// The account of pods that name none.
const ACCOUNT: &str = "default";
/// The ConfigMap with the authority, and what stands in it.
const ROOT_CA: &str = "kube-root-ca.crt";
const ROOT_CA_KEY: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
/// The words of kube-controller-manager: people find the ConfigMap by them.
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                                endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                                guaranteed across distributions of Kubernetes clusters.";

/// The controller.
pub(crate) struct ServiceAccountController {
    accounts_client: Client,
    publisher_client: Client,
    namespaces: Kind,
    accounts: Kind,
    config_maps: Kind,
    /// Namespaces to look at.
    queue: WorkQueue<String>,
}

impl ServiceAccountController {
    pub(crate) fn new(context: &Context) -> Self {
        ServiceAccountController {
            accounts_client: context.client("service-account-controller"),
            publisher_client: context.client("root-ca-cert-publisher"),
            namespaces: context.kinds.built_in("", "namespaces"),
            accounts: context.kinds.built_in("", "serviceaccounts"),
            config_maps: context.kinds.built_in("", "configmaps"),
            queue: WorkQueue::default(),
        }
    }

    fn sync(&self, context: &Context, namespace: &str) -> Result<(), String> {
        let active = context.get(&self.namespaces, "", namespace).is_some_and(|n| !n.attributes.terminating);
        if !active {
            return Ok(());
        }
        if context.get(&self.accounts, namespace, ACCOUNT).is_none() {
            let body = format!(
                r#"{{"kind":"ServiceAccount","apiVersion":"v1","metadata":{{"name":"{ACCOUNT}","namespace":"{namespace}"}}}}"#
            );
            let request = Request::create(&self.accounts, namespace, body.into_bytes());
            settled(self.accounts_client.send(request))?;
        }
        self.publish(context, namespace)
    }

    /// Makes or mends the ConfigMap.
    fn publish(&self, context: &Context, namespace: &str) -> Result<(), String> {
        let arena = Bump::new();
        let data = || map(&arena, [(ROOT_CA_KEY, text(&arena, &context.root_ca))]);
        let Some(stored) = context.get(&self.config_maps, namespace, ROOT_CA) else {
            let metadata = map(
                &arena,
                [
                    ("name", Value::String(ROOT_CA)),
                    ("namespace", text(&arena, namespace)),
                    ("annotations", map(&arena, [(DESCRIPTION, Value::String(DESCRIPTION_TEXT))])),
                ],
            );
            let tree = map(
                &arena,
                [
                    ("apiVersion", Value::String("v1")),
                    ("kind", Value::String("ConfigMap")),
                    ("metadata", metadata),
                    ("data", data()),
                ],
            );
            let request = Request::create(&self.config_maps, namespace, object::body(&tree));
            return settled(self.publisher_client.send(request));
        };
        let Some(mut tree) = object::tree(&arena, &self.config_maps, &stored) else { return Ok(()) };
        let described =
            tree.str_at(&["metadata", "annotations", DESCRIPTION]).is_some_and(|text| !text.is_empty());
        if described && tree.path(&["data"]) == Some(&data()) {
            return Ok(());
        }
        if let Some(root) = tree.as_map_mut() {
            root.insert("data", data());
            let annotations = root.map_mut("metadata").map_mut("annotations");
            annotations.insert(DESCRIPTION, Value::String(DESCRIPTION_TEXT));
        }
        let path = self.config_maps.path(namespace, ROOT_CA);
        match self.publisher_client.send(Request::update(&path, object::body(&tree))) {
            // Its event comes and leads here again.
            Reply::Conflict | Reply::Done => Ok(()),
            other => settled(other),
        }
    }
}

/// Whether a create is done: also where somebody else was quicker, or nothing may be created any more.
fn settled(reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Done | Reply::Conflict | Reply::NotFound | Reply::Terminating => Ok(()),
        Reply::Failed(why) => Err(why),
    }
}

impl Control for ServiceAccountController {
    fn resync(&mut self, context: &Context, now: Instant) {
        self.queue.clear();
        let snapshot = context.storage.snapshot(self.namespaces.stored);
        for namespace in snapshot.range("", None) {
            self.queue.add(namespace.name().to_owned(), now);
        }
    }

    fn observe(&mut self, _: &Context, event: &Event, now: Instant) {
        let object = &event.object;
        let namespace = if object.resource == self.namespaces.stored {
            if event.kind == EventKind::Deleted {
                self.queue.remove(&object.name().to_owned());
                return;
            }
            object.name()
        } else if object.resource == self.accounts.stored {
            if event.kind != EventKind::Deleted || object.name() != ACCOUNT {
                return;
            }
            object.namespace()
        } else if object.resource == self.config_maps.stored {
            if event.kind == EventKind::Added || object.name() != ROOT_CA {
                return;
            }
            object.namespace()
        } else {
            return;
        };
        self.queue.add(namespace.to_owned(), now);
    }

    fn work(&mut self, context: &Context, now: Instant) {
        for _ in 0..limits::KEYS_A_TURN {
            let Some(namespace) = self.queue.pop(now) else { return };
            match self.sync(context, &namespace) {
                Ok(()) => self.queue.forget(&namespace),
                Err(why) => {
                    tracing::warn!(namespace, why, "service account controller");
                    self.queue.retry(namespace, Instant::now());
                }
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        self.queue.next()
    }
}
