//! `perf` on a running process, for a window whose ends are known exactly.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::{
    limits,
    meter::{Meter, Window},
};

/// A `perf` that was started with its counters off. Starting takes long with many events; the window begins when they
/// are switched on.
#[derive(Debug)]
pub struct Perf {
    child: Child,
    control: File,
    acknowledged: Receiver<()>,
    log: PathBuf,
}

impl Perf {
    /// Starts `perf` with these arguments on a process. Its pipes and its log go into `folder`.
    pub fn start(pid: u32, arguments: &[String], folder: &Path) -> Result<Perf, String> {
        let (control, acknowledge) = (folder.join("perf.control"), folder.join("perf.acknowledge"));
        for pipe in [&control, &acknowledge] {
            let _ = fs::remove_file(pipe);
            let made = Command::new("mkfifo").arg(pipe).status();
            if !made.is_ok_and(|status| status.success()) {
                return Err(format!("mkfifo {} failed", pipe.display()));
            }
        }
        let log = folder.join("perf.log");
        let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let child = Command::new("perf")
            .args(arguments)
            .args(["--delay=-1", &format!("--control=fifo:{},{}", control.display(), acknowledge.display())])
            .args(["-p", &pid.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .map_err(|e| format!("perf: {e}"))?;
        // For reading and writing, so that opening does not wait for the other side.
        let open = |path: &Path| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .map_err(|e| format!("{}: {e}", path.display()))
        };
        let (control, acknowledge) = (open(&control)?, open(&acknowledge)?);
        let (sender, acknowledged) = mpsc::channel();
        // Ends when the receiver is gone and one more line comes, or with the process.
        thread::spawn(move || {
            let mut lines = BufReader::new(acknowledge).lines();
            while lines.next().is_some_and(|line| line.is_ok()) && sender.send(()).is_ok() {}
        });
        Ok(Perf { child, control, acknowledged, log })
    }

    /// Switches the counters on for a while, then ends `perf`. What the meter read at both ends is told. It reads within
    /// the window, because switching probes on takes a good part of a second in which requests go on; so the server's
    /// work for the second reading is among what is counted.
    pub fn run(mut self, window: Duration, meter: &Meter) -> Result<Window, String> {
        self.tell("enable")?;
        let before = meter.read()?;
        thread::sleep(window);
        let after = meter.read()?;
        self.tell("disable")?;
        // `perf stat` knows no command to end; the signal is how it ends otherwise, too.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        self.child.wait().map_err(|e| format!("perf: {e}"))?;
        Ok(after - before)
    }

    fn tell(&mut self, what: &str) -> Result<(), String> {
        writeln!(self.control, "{what}").map_err(|e| format!("perf: {e}"))?;
        let step = Duration::from_millis(100);
        let mut waited = Duration::ZERO;
        while self.acknowledged.recv_timeout(step).is_err() {
            waited += step;
            let ended = !matches!(self.child.try_wait(), Ok(None));
            if ended || waited > limits::PERF_START {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(format!("perf did not {what}: {}", log.trim()));
            }
        }
        Ok(())
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The event that samples are taken by: the processor's cycles where it counts them, else the timer of each CPU.
pub fn sample_event() -> &'static str {
    let tried = Command::new("perf").args(["stat", "-x,", "-e", "cycles", "true"]).output();
    let counted = tried.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().any(|line| {
            line.contains("cycles") && line.split(',').next().is_some_and(|n| n.parse::<u64>().is_ok())
        })
    });
    if counted { "cycles" } else { "cpu-clock" }
}

/// The text that `perf script` makes of a recording.
pub fn script(data: &Path, fields: &str) -> Result<Vec<u8>, String> {
    let output = Command::new("perf")
        .args(["script", "-F", fields, "-i"])
        .arg(data)
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| format!("perf script: {e}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("perf script: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Whether the kernel has this tracepoint, `group:name`, and this user may use it.
pub fn has_tracepoint(name: &str) -> bool {
    let path = name.replace(':', "/");
    fs::metadata(format!("/sys/kernel/tracing/events/{path}/id")).is_ok()
}
