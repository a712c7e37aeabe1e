//! The extensions server in the chain: its hooks, and the thread that they start.

use std::sync::Arc;

use ringbolt_apiserver::{
    admission::Admission,
    live::Owner,
    server::{
        GenericApiServer,
        hooks::{DuplicateHook, HookContext},
    },
};
use ringbolt_machinery::schema::{Schema, StructId};
use ringbolt_storage::object::ResourceId;

use crate::{
    catalog::{Catalog, Site},
    controllers::{Inbox, Manager, Shared, Watcher},
    conversion::ConverterFactory,
};

/// What serves custom resources. CustomResourceDefinitions themselves are in the registry of the main server
/// ([`served`](crate::definition::served)).
pub struct ExtensionsServer {
    /// The Schema.
    pub schema: &'static Schema,
    /// Where definitions are stored, and their type.
    pub definitions: (ResourceId, StructId),
    /// Where namespaces are stored.
    pub namespaces: ResourceId,
    /// The admission chain that writes of custom resources go through.
    pub admission: Arc<dyn Admission>,
    /// The webhooks that convert.
    pub converters: ConverterFactory,
}

impl ExtensionsServer {
    /// Puts it into a server that has not started. Custom resources of a store that is opened again are served before
    /// the server is ready.
    ///
    /// # Errors
    /// It is there already.
    pub fn install(self, server: &mut GenericApiServer) -> Result<(), DuplicateHook> {
        let live = server.live().clone();
        live.expect(Owner::Extensions);
        let counted = self.converters.clone();
        server.metrics().register(move |out| counted.collect(out));
        let shared = Arc::new(Shared::default());
        let inbox = Arc::new(Inbox::default());
        server.follow(Box::new(Watcher { definitions: self.definitions.0, inbox: inbox.clone() }));
        let follow = {
            let shared = shared.clone();
            move |hook: &HookContext| {
                let (hook, signals) = (hook.clone(), hook.signals.clone());
                let ExtensionsServer { schema, definitions, namespaces, admission, converters } = self;
                let storage = hook.storage.clone();
                let site = Site { schema, storage, namespaces, admission, converters };
                let context = hook.clone();
                hook.spawn("extensions", move || {
                    let catalog = Catalog::new(site);
                    Manager::new(schema, definitions, &context, live, catalog, shared, inbox).run(&signals);
                })
            }
        };
        server.add_post_start_hook("start-apiextensions-informers", Box::new(follow))?;
        for name in ["start-apiextensions-controllers", "crd-informer-synced"] {
            let shared = shared.clone();
            let synced = move |hook: &HookContext| {
                shared.wait(&hook.signals);
                Ok(())
            };
            server.add_post_start_hook(name, Box::new(synced))?;
        }
        Ok(())
    }
}
