//! The aggregator in the chain of servers: its hooks, its health check, its thread.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use ringbolt_apiserver::{
    healthz::{Check, Done},
    live::{Owner, priorities},
    metrics::RequestLabels,
    server::{
        GenericApiServer,
        hooks::{DuplicateHook, HookContext},
    },
};
use ringbolt_outgoing::Outgoing;

use crate::{
    backend::ProxyIdentity,
    inbox::{Inbox, Notes, Resources},
    limits,
    manager::{Manager, Plan, Progress},
    metrics::Counts,
    proxy::Proxying,
    registration::Wanted,
    resolver::Routing,
};

/// What the aggregator is told.
pub struct Config {
    /// Where it reads.
    pub resources: Resources,
    /// Group-versions that are built in, core as an empty group.
    pub built_in: Vec<(&'static str, &'static str)>,
    /// `--enable-aggregator-routing`
    pub routing: Routing,
    /// `--aggregator-reject-forwarding-redirect`
    pub rejects_redirects: bool,
    /// Whether it comes from files that are read anew.
    pub reloads_identity: bool,
    /// What this server shows others.
    pub identity: Arc<ProxyIdentity>,
    /// The way out.
    pub outgoing: Outgoing,
}

/// How often hooks look whether what they wait for is done.
const POLL: Duration = Duration::from_millis(1);

/// Adds the aggregator to the server at the end of the chain's front.
///
/// # Errors
/// A hook has a name that another one has.
pub fn install(server: &mut GenericApiServer, config: Config) -> Result<(), DuplicateHook> {
    let Config { resources, built_in, routing, rejects_redirects, reloads_identity, identity, outgoing } =
        config;
    let inbox: Arc<Inbox> = Arc::default();
    let progress = Progress::default();
    let counts: Arc<Counts> = Arc::default();
    note_watches(server);
    server.follow(Box::new(Notes { inbox: inbox.clone(), resources, noted: false }));
    let told = inbox.clone();
    identity.tell(move || told.ring());
    server.live().expect(Owner::Aggregator);
    let plan = Plan {
        live: server.live().clone(),
        inbox,
        proxying: Proxying { resources, routing, rejects_redirects },
        identity,
        outgoing,
        built_in: built_in.into_iter().filter_map(wanted).collect(),
        progress: progress.clone(),
        counts: counts.clone(),
    };
    server.metrics().register(move |out| counts.collect(out));
    let plan = Mutex::new(Some(plan));
    if reloads_identity {
        // The thread that looks after files is at it.
        server.add_post_start_hook("aggregator-reload-proxy-client-cert", Box::new(|_| Ok(())))?;
    }
    server.add_post_start_hook(
        "start-kube-aggregator-informers",
        Box::new(move |context| {
            let plan = plan.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(plan) = plan else { return Ok(()) };
            let manager = Manager::new(plan, context);
            let signals = context.signals.clone();
            context.spawn("aggregator", move || manager.run(&signals))
        }),
    )?;
    // The thread does the work of all of them; each waits for its part of the beginning.
    let Progress { registered, auto_registered, discovered } = progress;
    let parts = [
        ("apiservice-status-local-available-controller", registered.clone()),
        ("apiservice-status-remote-available-controller", registered.clone()),
        ("apiservice-registration-controller", registered.clone()),
        ("apiservice-discovery-controller", discovered),
        ("kube-apiserver-autoregistration", auto_registered.clone()),
        ("apiservice-openapi-controller", registered.clone()),
        ("apiservice-openapiv3-controller", registered),
    ];
    for (name, done) in parts {
        server.add_post_start_hook(name, Box::new(move |context| wait(context, name, &done)))?;
    }
    let why = "the APIServices of this server are not there yet";
    server.add_boot_sequence_check(Check::until("autoregister-completion", &auto_registered, why));
    Ok(())
}

/// What is followed is counted as kube-apiserver's aggregator is, which watches through itself.
fn note_watches(server: &GenericApiServer) {
    const FOLLOWED: [(&str, &str); 4] = [
        ("apiregistration.k8s.io", "apiservices"),
        ("", "services"),
        ("discovery.k8s.io", "endpointslices"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
    ];
    for (group, resource) in FOLLOWED {
        let labels = RequestLabels {
            verb: "WATCH",
            dry_run: "",
            group,
            version: "v1",
            resource,
            subresource: "",
            scope: "cluster",
            component: "apiserver",
            is_read: false,
        };
        server.metrics().begin_long_running(0, &labels, true);
    }
}

/// The APIService of a built-in group-version; those without a place have none.
fn wanted((group, version): (&'static str, &'static str)) -> Option<Wanted> {
    if group == crate::api_service::GROUP {
        return None;
    }
    let priority = priorities::built_in(group, version)?;
    Some(Wanted {
        group: group.to_owned(),
        version: version.to_owned(),
        group_priority: priority.group.into(),
        version_priority: priority.version.into(),
        always: false,
    })
}

fn wait(context: &HookContext, name: &str, done: &Done) -> Result<(), String> {
    let until = Instant::now() + limits::START_PATIENCE;
    while !done.is_set() {
        if context.signals.shutdown_initiated.is_signaled() {
            return Ok(());
        }
        if Instant::now() >= until {
            // What is missing is what checks tell of; it is tried again for as long as the server runs.
            tracing::warn!(name, "the aggregator has not finished its start");
            return Ok(());
        }
        thread::sleep(POLL);
    }
    Ok(())
}
