//! A side of the comparison: its processes, and how to reach it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use super::{
    cores::Cores,
    http::Client,
    limits,
    pki::Pki,
    proc_fs::{self, CpuReading},
    process::Process,
};
use crate::{
    error::{Context as _, Result},
    result::{ProcessCpu, Side},
};

/// What all servers of a run share.
#[derive(Debug, Clone)]
pub struct Common {
    /// Keys and certificates.
    pub pki: Pki,
    /// `--token-auth-file` of both API servers.
    pub tokens: PathBuf,
    /// Token of the user `admin` in `system:masters`, who seeds.
    pub admin_token: String,
    /// Token of the user whose requests are measured.
    pub token: String,
    /// Folder below which each server gets one of its own; one file system for all.
    pub folder: PathBuf,
    /// Binary of Ringbolt.
    pub ringbolt: PathBuf,
    /// Binaries of the peer, if there is one.
    pub peer: Option<PeerBinaries>,
}

/// Binaries of the peer.
#[derive(Debug, Clone)]
pub struct PeerBinaries {
    /// `kube-apiserver`.
    pub kube_apiserver: PathBuf,
    /// `etcd`.
    pub etcd: PathBuf,
}

/// A running side.
#[derive(Debug)]
pub struct Server {
    /// Which.
    pub side: Side,
    /// HTTPS port on 127.0.0.1.
    pub port: u16,
    /// From exec to the first successful `/readyz`.
    pub ready: Duration,
    /// Resident memory before the store was filled.
    pub empty_rss_kib: u64,
    processes: Vec<Process>,
}

/// CPU readings of a side's processes, in their order.
pub type Readings = Vec<(&'static str, u32, CpuReading)>;

impl Server {
    /// A side of `processes` that serves on `port`; not ready yet.
    #[must_use]
    pub fn new(side: Side, port: u16, processes: Vec<Process>) -> Server {
        Server { side, port, ready: Duration::ZERO, empty_rss_kib: 0, processes }
    }

    /// Waits until `/readyz` answers 200, counting from `since`.
    pub fn wait_ready(&mut self, common: &Common, since: Instant) -> Result<()> {
        let config = common.pki.client(&["http/1.1"])?;
        loop {
            for process in &mut self.processes {
                process.check_alive()?;
            }
            let ready = Client::connect(self.port, &config, &common.admin_token)
                .and_then(|mut client| client.get("/readyz", "*/*"))
                .is_ok_and(|answer| answer.status == 200);
            self.ready = since.elapsed();
            if ready {
                return Ok(());
            }
            if self.ready > limits::READY {
                let logs: Vec<String> = self.processes.iter().map(Process::log_end).collect();
                let seconds = limits::READY.as_secs();
                return Err(logs.join("\n")).context(format!("not ready after {seconds} s"));
            }
            std::thread::sleep(limits::READY_STEP);
        }
    }

    /// A connection for seeding, as the administrator.
    pub fn client(&self, common: &Common) -> Result<Client> {
        Client::connect(self.port, &common.pki.client(&["http/1.1"])?, &common.admin_token)
    }

    /// A connection for checks, as the user whose requests are measured.
    pub fn measured_client(&self, common: &Common) -> Result<Client> {
        Client::connect(self.port, &common.pki.client(&["http/1.1"])?, &common.token)
    }

    /// The processes with their numbers: those started, and nginx's workers.
    #[must_use]
    pub fn pids(&self) -> Vec<(&'static str, u32)> {
        let mut pids = Vec::new();
        for process in &self.processes {
            pids.push((process.name, process.pid()));
            pids.extend(proc_fs::child_processes(process.pid()).into_iter().map(|pid| (process.name, pid)));
        }
        pids
    }

    /// CPU of all processes as it stands.
    pub fn cpu(&self) -> Result<Readings> {
        self.pids().into_iter().map(|(name, pid)| Ok((name, pid, proc_fs::cpu(pid)?))).collect()
    }

    /// Resident memory of all processes.
    #[must_use]
    pub fn rss_kib(&self) -> u64 {
        self.pids().iter().map(|&(_, pid)| proc_fs::rss_kib(pid)).sum()
    }

    /// Makes all processes stand still, so that they take nothing from the side that is measured.
    pub fn pause(&self) {
        self.processes.iter().for_each(Process::pause);
    }

    /// Lets all go on.
    pub fn resume(&self) {
        self.processes.iter().for_each(Process::resume);
    }

    /// An error if a process has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Process::check_alive)
    }

    /// Ends all, in the order of their start but last first: the API server before its store.
    pub fn end(mut self) {
        while let Some(mut process) = self.processes.pop() {
            process.end();
        }
    }
}

/// CPU between two readings, by the name of the process.
#[must_use]
pub fn cpu_between(before: &Readings, after: &Readings) -> Vec<ProcessCpu> {
    let mut all: Vec<ProcessCpu> = Vec::new();
    for (name, pid, now) in after {
        let then = before.iter().find(|(_, other, _)| other == pid).map(|(_, _, reading)| reading.clone());
        let used = proc_fs::used(&then.unwrap_or_default(), now);
        match all.iter_mut().find(|cpu| cpu.name == *name) {
            Some(cpu) => {
                cpu.user_seconds += used.user;
                cpu.system_seconds += used.system;
            }
            None => all.push(ProcessCpu {
                name: (*name).to_owned(),
                user_seconds: used.user,
                system_seconds: used.system,
            }),
        }
    }
    all
}

/// A command with arguments, for the starters of sides.
pub(super) fn command(program: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// An empty folder of `name` below the run's folder.
pub(super) fn fresh_folder(common: &Common, name: &str) -> Result<PathBuf> {
    let folder = common.folder.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context(folder.display())?;
    }
    std::fs::create_dir_all(&folder).context(folder.display())?;
    Ok(folder)
}

/// Starts a side with an empty store and waits until it is ready.
pub fn start(side: Side, common: &Common, cores: &Cores, ports: Ports) -> Result<Server> {
    match side {
        Side::Ringbolt => super::ringbolt::start(common, cores, ports.ringbolt),
        Side::Peer => super::peer::start(common, cores, ports),
        Side::Nginx => Err(crate::error::Error::new("nginx starts with an answer to serve")),
    }
}

/// Ports on 127.0.0.1.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// Ringbolt.
    pub ringbolt: u16,
    /// kube-apiserver.
    pub peer: u16,
    /// etcd for clients; the next one is for its peers.
    pub etcd: u16,
    /// nginx.
    pub nginx: u16,
}
