//! Events: through the hub, and to the bytes of watches.

use std::sync::Arc;

use ringbolt_storage::{
    api::Precondition,
    hub::{Hub, Scope},
    object::Object,
    storage::Storage,
};

use crate::{Run, Scale, client::Client, requests::Ask, server::Server, store};

const WATCH: &str =
    "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0&allowWatchBookmarks=true";

/// Changes one object again and again.
struct Changes {
    storage: Arc<dyn Storage>,
    object: Arc<Object>,
    text: String,
}

impl Changes {
    fn of(server: &Server) -> Changes {
        let object = server.with_config_map();
        Changes { storage: server.site.core.storage.clone(), text: store::without_version(&object), object }
    }

    fn next(&mut self) {
        let at = Precondition::Revision(self.object.revision);
        let write = store::put(&self.object, &self.object.key, at, self.text.clone());
        self.object = self.storage.submit(write).wait().expect("nobody else writes");
    }
}

/// Changes come to `watches` on one connection.
fn watch(mut client: Client, server: &Server, watches: usize) -> Run {
    let mut changes = Changes::of(server);
    for _ in 0..watches {
        let answer = client.ask(&Ask::get(WATCH));
        assert!(answer.contains("\"ADDED\""), "{answer}");
    }
    let hub = server.site.core.hub.clone();
    let least = changes.text.len() * watches;
    Box::new(move || {
        changes.next();
        assert!(!hub.pump().more);
        let sent = client.woken();
        assert!(sent >= least, "{sent} bytes");
        client.give_back();
    })
}

pub(super) fn http2(scale: Scale) -> Run {
    let server = Server::new();
    watch(Client::http2(&server), &server, scale.of(100))
}

pub(super) fn http1(_: Scale) -> Run {
    let server = Server::new();
    watch(Client::http1(&server), &server, 1)
}

pub(super) fn hub(scale: Scale) -> Run {
    let server = Server::new();
    let mut changes = Changes::of(&server);
    let hub = Hub::new(changes.storage.clone());
    let scope =
        Scope { resource: server.config_maps, namespace: Some("default".into()), name: None, value: None };
    let after = changes.storage.revision();
    let subscriptions: Vec<_> = (0..scale.of(1000))
        .map(|_| hub.subscribe(scope.clone(), after).expect("it is the newest revision"))
        .collect();
    Box::new(move || {
        changes.next();
        assert!(!hub.pump().more);
        for subscription in &subscriptions {
            assert!(subscription.next().is_some());
        }
    })
}
