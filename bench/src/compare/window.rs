//! What is measured around a load: CPU of the server and of the client, memory over time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Instant,
};

use super::{
    limits,
    proc_fs::{self, CpuReading, CpuUsed},
    server::{Readings, Server, cpu_between},
};
use crate::{
    error::{Error, Result},
    result::ProcessCpu,
};

/// Reads memory on a thread of its own until it is stopped.
struct MemorySampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(f64, u64)>>,
}

impl MemorySampler {
    fn start(pids: Vec<u32>) -> Result<MemorySampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("memory".to_owned()).spawn(move || {
            let since = Instant::now();
            let mut curve = Vec::new();
            loop {
                let last = seen.load(Ordering::Acquire);
                let kib = pids.iter().map(|&pid| proc_fs::rss_kib(pid)).sum();
                curve.push((since.elapsed().as_secs_f64(), kib));
                if last {
                    return curve;
                }
                std::thread::park_timeout(limits::MEMORY_STEP);
            }
        })?;
        Ok(MemorySampler { stop, thread })
    }

    fn stop(self) -> Result<Vec<(f64, u64)>> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().map_err(|_| Error::new("the thread that reads memory panicked"))
    }
}

/// Whose CPU is the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCpu {
    /// That of child processes that begin and end within the window.
    Children,
    /// That of a process that lives when the window opens and when it closes.
    Process(u32),
}

/// CPU of the client as it stood when the window opened.
enum ClientBefore {
    Children(CpuUsed),
    Process(u32, CpuReading),
}

impl ClientBefore {
    fn read(client: ClientCpu) -> Result<ClientBefore> {
        Ok(match client {
            ClientCpu::Children => ClientBefore::Children(proc_fs::children()?),
            ClientCpu::Process(pid) => ClientBefore::Process(pid, proc_fs::cpu(pid)?),
        })
    }

    fn used(&self) -> Result<CpuUsed> {
        Ok(match self {
            ClientBefore::Children(before) => {
                let now = proc_fs::children()?;
                CpuUsed { user: now.user - before.user, system: now.system - before.system }
            }
            ClientBefore::Process(pid, before) => proc_fs::used(before, &proc_fs::cpu(*pid)?),
        })
    }
}

/// An open window of measurement.
pub struct Window {
    before: Readings,
    client_before: ClientBefore,
    memory: MemorySampler,
    since: Instant,
    /// Whether the kernel counts the peak for us, to the page.
    exact_peak: bool,
}

/// What a window saw.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Length.
    pub seconds: f64,
    /// CPU of the server's processes.
    pub cpu: Vec<ProcessCpu>,
    /// CPU of the client.
    pub client: CpuUsed,
    /// Resident memory at the end, KiB.
    pub rss_kib: u64,
    /// Highest resident memory, KiB.
    pub peak_rss_kib: u64,
    /// Memory over time.
    pub memory_curve: Vec<(f64, u64)>,
}

impl Window {
    /// Opens a window on `server`.
    pub fn open(server: &Server, client: ClientCpu) -> Result<Window> {
        let pids: Vec<u32> = server.pids().into_iter().map(|(_, pid)| pid).collect();
        // Of several processes each would have its peak at another moment, and their sum would be too high.
        let exact_peak = pids.len() == 1 && pids.iter().all(|&pid| proc_fs::forget_peak(pid));
        let memory = MemorySampler::start(pids)?;
        let client_before = ClientBefore::read(client)?;
        Ok(Window { before: server.cpu()?, client_before, memory, since: Instant::now(), exact_peak })
    }

    /// Closes it.
    pub fn close(self, server: &Server) -> Result<Seen> {
        let after = server.cpu()?;
        let seconds = self.since.elapsed().as_secs_f64();
        let client = self.client_before.used()?;
        let curve = self.memory.stop()?;
        let sampled = curve.iter().map(|&(_, kib)| kib).max().unwrap_or(0);
        let counted = if self.exact_peak {
            server.pids().iter().map(|&(_, pid)| proc_fs::peak_rss_kib(pid)).sum()
        } else {
            0
        };
        Ok(Seen {
            seconds,
            cpu: cpu_between(&self.before, &after),
            client,
            rss_kib: server.rss_kib(),
            peak_rss_kib: sampled.max(counted),
            memory_curve: thin(curve),
        })
    }
}

/// Keeps at most [`limits::MEMORY_POINTS`] points: of each stretch its highest.
fn thin(curve: Vec<(f64, u64)>) -> Vec<(f64, u64)> {
    let stretch = curve.len().div_ceil(limits::MEMORY_POINTS).max(1);
    curve.chunks(stretch).filter_map(|points| points.iter().copied().max_by_key(|&(_, kib)| kib)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_curve_keeps_its_peak() {
        let curve: Vec<(f64, u64)> = (0..1000).map(|n| (f64::from(n), u64::from(n % 777 == 5))).collect();
        let thinned = thin(curve);
        assert!(thinned.len() <= limits::MEMORY_POINTS);
        assert_eq!(thinned.iter().filter(|&&(_, kib)| kib == 1).count(), 2);
        assert!(thin(Vec::new()).is_empty());
    }
}
