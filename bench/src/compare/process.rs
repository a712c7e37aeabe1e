//! Processes that the benchmark starts: kept on their cores, stood still while others are measured, and always ended.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{cores::Cores, limits};
use crate::error::{Context as _, Error, Result};

/// Processes to end if the benchmark is interrupted.
static STARTED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn started() -> std::sync::MutexGuard<'static, Vec<u32>> {
    STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn signal(pid: u32, signal: Signal) {
    // A process that is gone needs no signal.
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _gone = kill_process(pid, signal);
    }
}

/// Ends what was started when this process is asked to end: children would live on, and those that stand still would
/// do so for ever.
pub(super) fn end_all_when_interrupted() -> Result<()> {
    let mut signals =
        signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])
            .context("signals")?;
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            for &pid in started().iter() {
                signal(pid, Signal::KILL);
            }
            eprintln!("interrupted: all servers are ended");
            std::process::exit(130);
        }
    })?;
    Ok(())
}

/// A running process.
#[derive(Debug)]
pub struct Process {
    /// Name in results.
    pub name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` on `cores`; what it says goes to `log`.
    pub fn start(name: &'static str, command: &mut Command, cores: &Cores, log: &Path) -> Result<Process> {
        let out = File::create(log).context(log.display())?;
        let err = out.try_clone()?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let child = cores.within(|| {
            command.spawn().context(format!("cannot start {}", command.get_program().display()))
        })?;
        started().push(child.id());
        Ok(Process { name, child, log: log.to_owned() })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it where it is.
    pub fn pause(&self) {
        signal(self.pid(), Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        signal(self.pid(), Signal::CONT);
    }

    /// An error with the end of its log if it has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(Error::new(format!(
                "{} ended with {status}; the end of {}:\n{}",
                self.name,
                self.log.display(),
                self.log_end()
            ))),
        }
    }

    /// The last lines it said.
    #[must_use]
    pub fn log_end(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// Asks it to end, and kills it if it does not.
    pub fn end(&mut self) {
        self.resume();
        signal(self.pid(), Signal::TERM);
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if since.elapsed() > limits::END {
                signal(self.pid(), Signal::KILL);
                let _status = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        started().retain(|&pid| pid != self.child.id());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.resume();
            signal(self.pid(), Signal::KILL);
            let _status = self.child.wait();
        }
        started().retain(|&pid| pid != self.child.id());
    }
}
