//! The thread of the controllers: events in, work in slices, sleep.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::Instant,
};

use ringbolt_apiserver::{
    live::Live,
    server::{hooks::HookContext, lifecycle_signals::LifecycleSignals},
};
use ringbolt_controlplane::{quota::Calculator, registry::Registry};
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::{api::CommitListener, event_log::Cursor};

use crate::{
    cluster_role_aggregation::ClusterRoleAggregationController,
    context::{Context, Control},
    garbage_collector::GarbageCollector,
    kinds::{Kind, Kinds},
    limits,
    names::{Controller, Controllers},
    namespace::NamespaceController,
    resource_quota::ResourceQuotaController,
    service_account::ServiceAccountController,
};

/// What the controllers need to know before there is a server.
pub struct Config {
    controllers: Controllers,
    kinds: Kinds,
    live: Live,
    quotas: Calculator,
    root_ca: String,
}

impl Config {
    /// For a server with these resources. `root_ca` is the PEM of the authority that its certificate is known by.
    pub fn new(
        controllers: Controllers,
        schema: &'static Schema,
        registry: &Registry,
        live: Live,
        root_ca: String,
    ) -> Self {
        let quotas = Calculator::new(schema, registry);
        Config { controllers, kinds: Kinds::new(registry), live, quotas, root_ca }
    }
}

/// Starts the thread; it ends with the server. Nothing starts where no controller is wanted.
///
/// # Errors
/// The system has no thread to give.
pub fn start(config: Config, hook: &HookContext) -> Result<(), String> {
    if config.controllers.is_empty() {
        return Ok(());
    }
    let context = Context {
        storage: hook.storage.clone(),
        kinds: config.kinds.clone(),
        has_all_kinds: false,
        loopback: hook.loopback.clone(),
        root_ca: config.root_ca.clone(),
    };
    let signals = hook.signals.clone();
    hook.spawn("controllers", move || Manager::new(context, config).run(&signals))
}

/// Wakes the thread where it sleeps.
struct Alarm {
    sleeps: AtomicBool,
    thread: Thread,
}

impl Alarm {
    fn wake(&self) {
        if self.sleeps.swap(false, Ordering::AcqRel) {
            self.thread.unpark();
        }
    }
}

impl CommitListener for Alarm {
    fn committed(&self, _: u64) {
        self.wake();
    }
}

struct Manager {
    context: Context,
    controllers: Vec<Box<dyn Control>>,
    /// The kinds that are built in.
    built_in: Kinds,
    live: Live,
    /// The publication that the kinds are of.
    publication: u64,
    alarm: Arc<Alarm>,
    /// Where the events that nobody looked at begin; `None` before everything was read.
    cursor: Option<Cursor>,
}

impl Manager {
    fn new(context: Context, config: Config) -> Self {
        let Config { controllers: wanted, kinds: built_in, live, quotas, .. } = config;
        let mut controllers: Vec<Box<dyn Control>> = Vec::new();
        if wanted.has(Controller::Namespace) {
            controllers.push(Box::new(NamespaceController::new(&context)));
        }
        if wanted.has(Controller::ServiceAccount) {
            controllers.push(Box::new(ServiceAccountController::new(&context)));
        }
        if wanted.has(Controller::GarbageCollector) {
            controllers.push(Box::new(GarbageCollector::new(&context)));
        }
        if wanted.has(Controller::ClusterRoleAggregation) {
            controllers.push(Box::new(ClusterRoleAggregationController::new(&context)));
        }
        if wanted.has(Controller::ResourceQuota) {
            controllers.push(Box::new(ResourceQuotaController::new(&context, quotas)));
        }
        let alarm = Arc::new(Alarm { sleeps: AtomicBool::new(false), thread: thread::current() });
        context.storage.add_listener(alarm.clone());
        let told = alarm.clone();
        live.listen(Box::new(move |_| told.wake()));
        Manager { context, controllers, built_in, live, publication: 0, alarm, cursor: None }
    }

    fn run(mut self, signals: &LifecycleSignals) {
        while !signals.shutdown_initiated.is_signaled() {
            // A fault in one controller must not end the others, and not be for ever.
            if catch_unwind(AssertUnwindSafe(|| self.turn())).is_err() {
                tracing::error!("a controller panicked; everything is read anew");
                self.cursor = None;
                thread::sleep(limits::PANIC_PAUSE);
            }
        }
    }

    /// Events, work, and sleep until there is more of either.
    fn turn(&mut self) {
        self.take_kinds();
        let more = self.take_events();
        for controller in &mut self.controllers {
            controller.work(&self.context, Instant::now());
        }
        let next = self.controllers.iter().filter_map(|c| c.next()).min();
        let now = Instant::now();
        if more || next.is_some_and(|at| at <= now) {
            return;
        }
        let pause =
            next.map_or(limits::SLEEP_MAX, |at| at.saturating_duration_since(now).min(limits::SLEEP_MAX));
        thread::sleep(pause.min(limits::REST));
        self.alarm.sleeps.store(true, Ordering::Release);
        // What was committed or published before the alarm was set did not wake anybody.
        if !self.has_events() && !self.has_kinds() {
            thread::park_timeout(pause.saturating_sub(limits::REST));
        }
        self.alarm.sleeps.store(false, Ordering::Release);
    }

    fn has_kinds(&self) -> bool {
        self.live.published().number != self.publication
            || self.live.is_complete() != self.context.has_all_kinds
    }

    /// Takes in which kinds there are now. Objects of new ones may be there already: those of a definition that was
    /// away while they were not.
    fn take_kinds(&mut self) {
        if !self.has_kinds() {
            return;
        }
        let has_all_kinds = self.live.is_complete();
        let published = self.live.published();
        let before = std::mem::replace(&mut self.context.kinds, self.built_in.with(&published));
        (self.publication, self.context.has_all_kinds) = (published.number, has_all_kinds);
        let is_new = |kind: &&Kind| before.of(kind.stored).is_none();
        let new: Vec<Kind> = self.context.kinds.custom().filter(is_new).cloned().collect();
        for controller in &mut self.controllers {
            controller.kinds_changed(&self.context, &new, Instant::now());
        }
    }

    fn has_events(&self) -> bool {
        let revision = self.context.storage.revision();
        self.cursor.as_ref().is_none_or(|cursor| cursor.clone().next(revision).is_some())
    }

    /// Shows new events to all controllers; answers whether there are more.
    fn take_events(&mut self) -> bool {
        let now = Instant::now();
        let Some(cursor) = &mut self.cursor else {
            // Snapshots that are taken from here on have everything up to this revision.
            self.cursor = self.context.storage.events_after(self.context.storage.revision()).ok();
            for controller in &mut self.controllers {
                controller.resync(&self.context, now);
            }
            return true;
        };
        let revision = self.context.storage.revision();
        for _ in 0..limits::EVENTS_A_TURN {
            let Some(event) = cursor.next(revision) else { return false };
            for controller in &mut self.controllers {
                controller.observe(&self.context, &event, now);
            }
        }
        true
    }
}
