//! The end of a server, in the order that [`super::lifecycle_signals`] draws.

use std::{
    thread,
    time::{Duration, Instant},
};

use ringbolt_engine::EngineHandle;

use super::{
    draining::{Draining, InWork},
    hooks::{HookContext, Hooks},
};
use crate::{filters::chain::FrontConfig, limits};

/// How often a shutdown looks whether what it waits for has come.
const CHECK: Duration = Duration::from_millis(2);

/// What a shutdown needs to know.
#[derive(Clone, Debug)]
pub(super) struct ShutdownConfig {
    /// `--shutdown-delay-duration`
    pub(super) delay: Duration,
    /// `--request-timeout`: no request lasts longer.
    pub(super) request_timeout: Duration,
    /// Whether it goes on listening, and how long watches may take.
    pub(super) front: FrontConfig,
}

/// Ends the server in good order: unready first, then deaf, then done with what was asked before.
pub(super) fn run(
    config: &ShutdownConfig,
    engine: &EngineHandle,
    draining: &Draining,
    context: &HookContext,
    hooks: &mut Hooks,
) {
    let signals = &context.signals;
    signals.shutdown_initiated.signal();
    context.threads.wake();
    thread::scope(|scope| {
        // Hooks and the delay run side by side. Without a delay nothing need be started for it.
        if config.delay.is_zero() {
            signals.after_shutdown_delay_duration.signal();
        } else {
            scope.spawn(|| {
                thread::sleep(config.delay);
                signals.after_shutdown_delay_duration.signal();
            });
        }
        hooks.run_pre_shutdown(context);
        signals.pre_shutdown_hooks_stopped.signal();
    });

    let begun = Instant::now();
    signals.not_accepting_new_request.signal();
    let grace = config.front.shutdown_watch_termination_grace_period;
    if !grace.is_zero() {
        // Cores count at their next turn; a core that has none within a second is stuck.
        let counted = until(begun + Duration::from_secs(1), || left(engine, draining).is_some());
        let watches = draining.left().map_or(0, |left| left.watches);
        tracing::info!(watches, counted, "[graceful-termination] active watch request(s) to drain");
        draining.end_watches(Instant::now(), watches, grace);
    }
    if config.front.shutdown_send_retry_after {
        if !grace.is_zero() {
            engine.announce();
        }
        wait_for_requests(config, engine, draining, begun);
        signals.in_flight_requests_drained.signal();
        stop_listening(engine, context);
        wait_for_connections(engine, Instant::now() + limits::CLOSE_TIMEOUT);
    } else {
        stop_listening(engine, context);
        wait_for_requests(config, engine, draining, begun);
        signals.in_flight_requests_drained.signal();
        wait_for_connections(engine, begun + config.request_timeout);
    }
    context.threads.join(Instant::now() + limits::THREADS_TIMEOUT);
    engine.stop();
    engine.join();
    tracing::info!("[graceful-termination] apiserver is exiting");
}

/// Polls until `done`; whether it was before `deadline`.
fn until(deadline: Instant, mut done: impl FnMut() -> bool) -> bool {
    while !done() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(CHECK);
    }
    true
}

/// What all cores have in work; asks them anew.
fn left(engine: &EngineHandle, draining: &Draining) -> Option<InWork> {
    for core in engine.cores() {
        core.wake_core();
    }
    draining.left()
}

/// Closes listeners and tells every connection.
fn stop_listening(engine: &EngineHandle, context: &HookContext) {
    engine.drain();
    if !until(Instant::now() + limits::CLOSE_TIMEOUT, || !engine.is_listening()) {
        tracing::warn!("a core does not close its listeners");
    }
    context.signals.http_server_stopped_listening.signal();
}

/// Waits for requests, which end by the request timeout, and for watches, whose time is their grace period.
fn wait_for_requests(config: &ShutdownConfig, engine: &EngineHandle, draining: &Draining, begun: Instant) {
    let grace = config.front.shutdown_watch_termination_grace_period;
    let requests = until(begun + config.request_timeout, || {
        left(engine, draining).is_some_and(|left| left.requests == 0)
    });
    if requests {
        tracing::info!("[graceful-termination] in-flight non long-running request(s) have drained");
    } else {
        let left = draining.left().map(|left| left.requests);
        tracing::warn!(left, "[graceful-termination] in-flight request(s) have not drained in time");
    }
    if grace.is_zero() {
        tracing::info!("[graceful-termination] not going to wait for active watch request(s) to drain");
        return;
    }
    // The last one ends when the grace does, and is reported a turn later.
    let end = begun + grace + limits::CLOSE_TIMEOUT;
    let watches = until(end, || left(engine, draining).is_some_and(|left| left.watches == 0));
    tracing::info!(all = watches, "[graceful-termination] active watch request(s) have drained");
}

/// Waits until the last connection is gone.
fn wait_for_connections(engine: &EngineHandle, deadline: Instant) {
    if !until(deadline, || engine.open_connections() == 0) {
        tracing::warn!(connections = engine.open_connections(), "not drained in time");
    }
}
