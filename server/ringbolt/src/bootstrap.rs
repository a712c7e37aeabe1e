//! The objects that every cluster has: created at start, and seen to from then on.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_apiserver::{
    authentication::service_account::LegacyTokenUses,
    flowcontrol::consumer::FlowControlObjects,
    server::{
        GenericApiServer,
        hooks::{DuplicateHook, HookContext},
    },
    serving::loopback::Call,
};
use ringbolt_controlplane::{
    bootstrap::{self, BootstrapObject, policy::BootstrapPolicy},
    services::repair::Repair,
};
use ringbolt_machinery::time::Moment;

use crate::{settings::Settings, trust::Trust};

mod authentication_trust;
mod legacy_tokens;
mod priority_and_fairness;
mod roles;

/// How often the objects are looked after, as kube-apiserver does it with the namespaces.
const RESYNC: Duration = Duration::from_secs(60);
/// For how long an object that cannot be created yet is tried: its namespace is made meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);
/// Who owns the objects.
pub const MANAGED: &str = "?fieldManager=kube-apiserver";
/// Who owns the status of the default ServiceCIDR.
const CIDR_CONTROLLER: &str = "kubernetes-service-cidr-controller";

/// Adds the hooks that make the objects, each by its name in kube-apiserver.
pub fn install(
    server: &mut GenericApiServer,
    settings: &Settings,
    trust: Arc<Trust>,
    token_uses: Arc<LegacyTokenUses>,
    repair: Repair,
    flow_control: FlowControlObjects,
    policy: BootstrapPolicy,
) -> Result<(), DuplicateHook> {
    let port = settings.advertised.port();
    let address = settings.service_addresses.first().map(|range| range.first_address());
    let service = address.map(|ip| bootstrap::kubernetes_service(ip, port, settings.kubernetes_node_port));
    let endpoints = match settings.advertised.ip() {
        // Nobody else would find the server there, and endpoints may not have such addresses.
        ip if ip.is_loopback() || !settings.reconcile_endpoints => Vec::new(),
        ip => bootstrap::kubernetes_endpoints(ip, port).to_vec(),
    };
    let ranges: Vec<String> = settings.service_addresses.iter().map(ToString::to_string).collect();
    let cidr = bootstrap::service_cidr(&ranges);
    keep(server, "start-system-namespaces-controller", |context| {
        bootstrap::SYSTEM_NAMESPACES.iter().try_for_each(|object| ensure(context, object))
    })?;
    let changed = trust.changed.clone();
    keep_waiting(
        server,
        "start-cluster-authentication-info-controller",
        move |context| authentication_trust::keep(context, &trust),
        move |context| {
            let ends = || context.signals.shutdown_initiated.is_signaled();
            changed.wait(RESYNC, ends);
            ends()
        },
    )?;
    let noting = AtomicBool::new(false);
    keep(server, "start-legacy-token-tracking-controller", move |context| {
        if !noting.swap(true, Ordering::Relaxed) {
            legacy_tokens::note_uses(context, token_uses.clone())?;
        }
        legacy_tokens::track(context)
    })?;
    server.add_post_start_hook(
        "start-service-ip-repair-controllers",
        Box::new(move |context| repair.start(context)),
    )?;
    server.add_post_start_hook(
        "rbac/bootstrap-roles",
        Box::new(move |context| roles::reconcile(context, &policy)),
    )?;
    server.add_post_start_hook(
        "scheduling/bootstrap-system-priority-classes",
        Box::new(|context| {
            bootstrap::SYSTEM_PRIORITY_CLASSES.iter().try_for_each(|object| ensure(context, object))
        }),
    )?;
    keep(server, "priority-and-fairness-config-producer", move |context| {
        priority_and_fairness::ensure(context, flow_control)
    })?;
    // What is left behind when the server goes, where every server counts; else the others see to it.
    let forgotten = if settings.removes_endpoints { endpoints.clone() } else { Vec::new() };
    let stopped = Arc::new(Mutex::new(false));
    let stops = stopped.clone();
    keep(server, "bootstrap-controller", move |context| {
        let stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if *stopped {
            return Ok(());
        }
        service.iter().try_for_each(|object| ensure(context, object))?;
        endpoints.iter().try_for_each(|object| renew(context, object))
    })?;
    server.add_pre_shutdown_hook(
        "stop-kubernetes-service-controller",
        Box::new(move |context| {
            *stops.lock().unwrap_or_else(PoisonError::into_inner) = true;
            forgotten.iter().try_for_each(|object| forget(context, object))
        }),
    )?;
    keep(server, "start-kubernetes-service-cidr-controller", move |context| {
        ensure(context, &cidr)?;
        mark_ready(context, &cidr, &ranges)
    })
}

/// Runs `work` in a hook, and again from time to time.
fn keep(
    server: &mut GenericApiServer,
    name: &'static str,
    work: impl Fn(&HookContext) -> Result<(), String> + Send + 'static,
) -> Result<(), DuplicateHook> {
    keep_waiting(server, name, work, |context| context.signals.shutdown_initiated.wait(RESYNC))
}

/// The same; `wait` comes back when it is time to work again, and answers whether the server ends.
fn keep_waiting(
    server: &mut GenericApiServer,
    name: &'static str,
    work: impl Fn(&HookContext) -> Result<(), String> + Send + 'static,
    wait: impl Fn(&HookContext) -> bool + Send + 'static,
) -> Result<(), DuplicateHook> {
    let hook = move |context: &HookContext| {
        work(context)?;
        let later = context.clone();
        context.spawn(name.trim_start_matches("start-"), move || {
            while !wait(&later) {
                if let Err(error) = work(&later) {
                    tracing::warn!(%error, name);
                }
            }
        })
    };
    server.add_post_start_hook(name, Box::new(hook))
}

/// An answer that is no good.
fn unexpected(object: &BootstrapObject, answer: Option<(u16, Vec<u8>)>) -> String {
    let (resource, name) = (object.resource, object.name);
    match answer {
        Some((code, body)) => format!("{resource} {name}: {code}: {}", String::from_utf8_lossy(&body)),
        None => format!("{resource} {name}: no answer"),
    }
}

/// Creates an object that is not there.
fn ensure(context: &HookContext, object: &BootstrapObject) -> Result<(), String> {
    match context.loopback.request("GET", object.path(), Bytes::new()) {
        Some((200, _)) => Ok(()),
        _ => create(context, object),
    }
}

/// Creates an object, unless it is there by then.
fn create(context: &HookContext, object: &BootstrapObject) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let body = Bytes::copy_from_slice(object.json.as_bytes());
        match context.loopback.request("POST", format!("{}{MANAGED}", object.collection()), body) {
            Some((200..=299 | 409, _)) => return Ok(()),
            // Its namespace is on its way.
            Some((404, _)) if !object.namespace.is_empty() && begun.elapsed() < PATIENCE => {
                thread::sleep(PAUSE)
            }
            other => return Err(unexpected(object, other)),
        }
    }
}

/// Creates an object, or brings it up to date where the server has moved.
fn renew(context: &HookContext, object: &BootstrapObject) -> Result<(), String> {
    ensure(context, object)?;
    // Without its own metadata, so that the same state is written again as long as nobody changed it: then nothing is
    // stored.
    let body = Bytes::copy_from_slice(object.json.as_bytes());
    match context.loopback.request("PUT", format!("{}{MANAGED}", object.path()), body) {
        Some((200..=299, _)) => Ok(()),
        other => Err(unexpected(object, other)),
    }
}

/// Takes the addresses out of the endpoints that this server wrote.
fn forget(context: &HookContext, object: &BootstrapObject) -> Result<(), String> {
    let empty = if object.resource == "endpoints" { r#"{"subsets":null}"# } else { r#"{"endpoints":[]}"# };
    let target = format!("{}{MANAGED}", object.path());
    match patch(context, target, "application/merge-patch+json", empty.into()) {
        Some((200..=299 | 404, _)) => Ok(()),
        other => Err(unexpected(object, other)),
    }
}

/// Says in the status of the ranges that they may be used, where nothing is said and they are those of this server.
fn mark_ready(context: &HookContext, object: &BootstrapObject, ranges: &[String]) -> Result<(), String> {
    let answer = context.loopback.request("GET", object.path(), Bytes::new());
    let Some((200, body)) = answer else { return Err(unexpected(object, answer)) };
    let text = String::from_utf8_lossy(&body);
    let quoted: Vec<_> = ranges.iter().map(|range| format!("{range:?}")).collect();
    if text.contains(r#""type":"Ready""#) || !text.contains(&format!(r#""cidrs":[{}]"#, quoted.join(","))) {
        return Ok(());
    }
    let now = Moment::now().to_time();
    let target = format!("{}/status?fieldManager={CIDR_CONTROLLER}&force=true", object.path());
    let body = bootstrap::service_cidr_ready(&now);
    match patch(context, target, "application/apply-patch+yaml", body.into()) {
        Some((200..=299, _)) => Ok(()),
        other => Err(unexpected(object, other)),
    }
}

/// Sends a patch as the server itself.
pub fn patch(
    context: &HookContext,
    target: String,
    content_type: &'static str,
    body: Vec<u8>,
) -> Option<(u16, Vec<u8>)> {
    let call = Call::of_server("PATCH", target, content_type, body.into());
    context.loopback.call_all(vec![call]).pop().flatten()
}
