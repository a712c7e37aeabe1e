//! Starting the cores, and the handle that ends them.

use crate::{
    app::App,
    buffers::Buffers,
    config::{EngineConfig, Listener},
    core::{Core, CoreListener},
    core_state::CoreState,
    error::{StartError, StartStep},
    limits,
    ring::Ring,
    stats::{Shared, Stats},
    sys,
    wake::{CoreHandle, Message},
};
use std::{
    io,
    net::{SocketAddr, TcpListener},
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The way to start an engine.
pub struct Engine;

impl Engine {
    /// Opens the listeners and starts one pinned thread a core. `make_app` runs on each of them. Returns once every
    /// core accepts connections.
    pub fn start<A, F>(
        mut config: EngineConfig,
        listeners: Vec<Listener>,
        make_app: F,
    ) -> Result<EngineHandle, StartError>
    where
        A: App,
        F: Fn(CoreHandle) -> A + Send + Sync + 'static,
    {
        if config.cores.is_empty() {
            config.cores = sys::affinity().map_err(|err| StartError::new(StartStep::Affinity, err))?;
        }
        // As Go's runtime does: the low soft limit is for programs that use select(2).
        match sys::raise_descriptors() {
            Ok(descriptors) if descriptors < u64::from(config.connections_max) => tracing::info!(
                descriptors,
                connections_max = config.connections_max,
                "the limit of descriptors (RLIMIT_NOFILE) is reached before that of connections"
            ),
            Ok(_) => {}
            Err(err) => tracing::warn!(error = %err, "cannot raise the limit of descriptors (RLIMIT_NOFILE)"),
        }
        let config = Arc::new(config);
        let count = config.cores.len();
        let slots = config.connections_max.saturating_add(limits::CONNECTIONS_SLACK);
        let mut handles = Vec::with_capacity(count);
        for index in 0..count {
            let fd = sys::event_fd().map_err(|err| StartError::new(StartStep::Thread, err))?;
            handles.push(CoreHandle::new(index, fd, slots));
        }
        let handles: Arc<[CoreHandle]> = handles.into();

        let mut addresses = Vec::with_capacity(listeners.len());
        let mut of_cores: Vec<Vec<CoreListener>> = (0..count).map(|_| Vec::new()).collect();
        for listener in listeners {
            let sockets = bind(listener.addr, count)
                .map_err(|err| StartError::new(StartStep::Listen(listener.addr), err))?;
            addresses.push(sockets[0].local_addr().unwrap_or(listener.addr));
            for (of_core, socket) in of_cores.iter_mut().zip(sockets) {
                of_core.push(CoreListener::new(socket, listener.tls.clone(), listener.id, handles.clone()));
            }
        }

        let shared = Arc::new(Shared::new(count));
        shared.listening.store(of_cores.iter().map(Vec::len).sum(), Ordering::Relaxed);
        let make_app = Arc::new(make_app);
        let (ready, started) = mpsc::channel();
        let engine = EngineHandle { handles, shared, addresses, threads: Mutex::new(Vec::new()) };
        for (index, listeners) in of_cores.into_iter().enumerate() {
            let (config, shared, make_app) = (config.clone(), engine.shared.clone(), make_app.clone());
            let (handle, ready) = (engine.handles[index].clone(), ready.clone());
            let thread = thread::Builder::new()
                .name(format!("core-{index}"))
                .stack_size(limits::CORE_STACK_BYTES)
                .spawn(move || {
                    run_core(config.cores[index], &ready, || {
                        let ring = Ring::new(config.ring_entries).map_err(|err| (StartStep::Ring, err))?;
                        let buffers =
                            Buffers::new(&ring, config.receive_buffers, config.receive_buffer_bytes)
                                .map_err(|err| (StartStep::Buffers, err))?;
                        let app = make_app(handle.clone());
                        let state = CoreState::new(ring, handle, config.clone(), shared);
                        Ok(Core::new(state, buffers, listeners, app))
                    });
                })
                .map_err(|err| StartError::new(StartStep::Thread, err))?;
            engine.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        drop(ready);
        for _ in 0..count {
            match started.recv() {
                Ok(Ok(())) => {}
                Ok(Err((step, err))) => return Err(StartError::new(step, err)),
                // The thread ended before it said anything: making the application panicked.
                Err(_) => {
                    return Err(StartError::new(StartStep::Thread, io::Error::other("a core did not start")));
                }
            }
        }
        Ok(engine)
    }
}

type Started = Result<(), (StartStep, io::Error)>;

/// The whole life of a core's thread.
fn run_core<A: App>(
    cpu: usize,
    ready: &mpsc::Sender<Started>,
    make: impl FnOnce() -> Result<Core<A>, (StartStep, io::Error)>,
) {
    let core = match sys::pin(cpu).map_err(|err| (StartStep::Affinity, err)).and_then(|()| make()) {
        Ok(core) => core,
        Err(err) => {
            // Nobody listens if another core failed first.
            let _ = ready.send(Err(err));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    match catch_unwind(AssertUnwindSafe(|| core.run())) {
        Ok(Ok(())) => {}
        Ok(Err(err)) => fatal(cpu, &format!("its io_uring failed: {err}")),
        // Not the application (its calls are guarded) but the engine: memory the kernel writes to may be gone.
        Err(_) => fatal(cpu, "the engine panicked"),
    }
}

/// Ends the process: a server with a core missing would accept connections that nobody serves.
fn fatal(cpu: usize, why: &str) -> ! {
    tracing::error!(cpu, why, "a core failed");
    eprintln!("fatal: core on CPU {cpu}: {why}");
    process::abort();
}

/// Binds an address, and tries for a moment while it is taken.
fn bind(addr: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    let until = Instant::now() + limits::PORT_RETRY;
    loop {
        match sys::bind(addr, count) {
            Err(err) if err.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

/// A running engine. Dropping it stops the engine.
pub struct EngineHandle {
    handles: Arc<[CoreHandle]>,
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl EngineHandle {
    /// Addresses of the listeners, in their order, with the ports that were chosen for port 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The cores.
    pub fn cores(&self) -> &[CoreHandle] {
        &self.handles
    }

    /// Connections of all cores.
    pub fn open_connections(&self) -> usize {
        self.shared.open_total()
    }

    /// Connections of each core.
    pub fn open_connections_by_core(&self) -> Vec<usize> {
        self.shared.open.iter().map(|open| open.load(Ordering::Relaxed)).collect()
    }

    /// Counters since the start.
    pub fn stats(&self) -> Stats {
        self.shared.snapshot()
    }

    /// Whether a listener is still open: closing them takes each core a turn.
    pub fn is_listening(&self) -> bool {
        self.shared.listening.load(Ordering::Acquire) > 0
    }

    /// Closes the listeners. Connections go on, those among them that the kernel has taken and no core has yet.
    pub fn stop_accepting(&self) {
        self.tell(|| Message::StopAccepting);
    }

    /// Has [`App::announced`] called for every connection that is open now. Listeners go on.
    pub fn announce(&self) {
        self.tell(|| Message::Announce);
    }

    /// Closes the listeners and has [`App::drain`] called for every connection.
    pub fn drain(&self) {
        self.tell(|| Message::Drain);
    }

    /// Ends every connection at once, and the cores.
    pub fn stop(&self) {
        self.tell(|| Message::Stop);
    }

    /// Waits until the cores have ended, which takes [`EngineHandle::stop`].
    pub fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A core that panics ends the process, so there is no other result.
            let _ = thread.join();
        }
    }

    fn tell(&self, message: impl Fn() -> Message) {
        for handle in self.handles.iter() {
            handle.send(message());
        }
    }
}

impl Drop for EngineHandle {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}
