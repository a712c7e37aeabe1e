//! The measured window: when it begins, when it ends, and what the servers' processes spend in it.

use super::{error::LoadError, outcome::LoadOutcome};
use std::{
    fs,
    time::{Duration, Instant},
};

/// How long a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// This long.
    Time(Duration),
    /// Until this many operations are done.
    Count(u64),
}

/// Where a load stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Under load, not yet measured.
    WarmUp,
    /// Measured.
    Measured,
    /// Over: nothing new is sent.
    Over,
}

/// The measured window of a load. It says on standard error when it begins and ends, for whoever reads along.
#[derive(Debug)]
pub(crate) struct Window {
    start: Instant,
    warm_up: Duration,
    length: Length,
    begin: Option<Instant>,
    end: Option<Instant>,
    processes: Vec<u32>,
    cpu: Vec<f64>,
    client_cpu: f64,
    rss_kib: u64,
}

impl Window {
    /// A window that begins `warm_up` after `start`.
    pub(crate) fn new(start: Instant, warm_up: Duration, length: Length, processes: &[u32]) -> Window {
        let processes = processes.to_vec();
        Window {
            start,
            warm_up,
            length,
            begin: None,
            end: None,
            processes,
            cpu: Vec::new(),
            client_cpu: 0.0,
            rss_kib: 0,
        }
    }

    /// Where the load stands now, with so many operations done in the window.
    pub(crate) fn phase(&mut self, now: Instant, done: u64) -> Result<Phase, LoadError> {
        if self.end.is_some() {
            return Ok(Phase::Over);
        }
        let Some(begin) = self.begin else {
            if now < self.start + self.warm_up {
                return Ok(Phase::WarmUp);
            }
            self.cpu = self.processes.iter().map(|pid| cpu_seconds(*pid)).collect::<Result<_, _>>()?;
            self.client_cpu = cpu_seconds(std::process::id())?;
            self.begin = Some(now);
            eprintln!("window begins");
            return Ok(Phase::Measured);
        };
        let over = match self.length {
            Length::Time(length) => now >= begin + length,
            Length::Count(count) => done >= count,
        };
        if !over {
            return Ok(Phase::Measured);
        }
        self.finish(now)?;
        Ok(Phase::Over)
    }

    /// Ends the window now.
    pub(crate) fn finish(&mut self, now: Instant) -> Result<(), LoadError> {
        if self.end.is_none() && self.begin.is_some() {
            self.end = Some(now);
            self.client_cpu = rounded(cpu_seconds(std::process::id())? - self.client_cpu);
            for (pid, cpu) in self.processes.iter().zip(&mut self.cpu) {
                *cpu = rounded(cpu_seconds(*pid)? - *cpu);
                self.rss_kib += rss_kib(*pid)?;
            }
            eprintln!("window ends");
        }
        Ok(())
    }

    /// When the phase changes by itself.
    pub(crate) fn next(&self) -> Option<Instant> {
        match (self.begin, self.length, self.end) {
            (None, ..) => Some(self.start + self.warm_up),
            (Some(begin), Length::Time(length), None) => Some(begin + length),
            _ => None,
        }
    }

    /// Whether an operation that was done at `now` belongs to the window.
    pub(crate) fn holds(&self, now: Instant) -> bool {
        self.begin.is_some_and(|begin| now >= begin) && self.end.is_none_or(|end| now <= end)
    }

    /// Seconds of the window.
    pub(crate) fn seconds(&self) -> f64 {
        match (self.begin, self.end) {
            (Some(begin), Some(end)) => end.duration_since(begin).as_secs_f64(),
            _ => 0.0,
        }
    }

    /// Writes length, the client's CPU, and CPU and memory of the processes.
    pub(crate) fn report(&self, outcome: &mut LoadOutcome) {
        outcome.seconds = self.seconds();
        outcome.extra.insert("client_cpu_seconds".to_owned(), self.client_cpu);
        for (pid, cpu) in self.processes.iter().zip(&self.cpu) {
            outcome.extra.insert(format!("cpu_seconds_{pid}"), *cpu);
        }
        if !self.processes.is_empty() {
            let cpu = rounded(self.cpu.iter().sum());
            outcome.extra.insert("cpu_seconds".to_owned(), cpu);
            outcome.extra.insert("rss_kib".to_owned(), self.rss_kib as f64);
            if outcome.operations > 0 {
                outcome
                    .extra
                    .insert("cpu_us_per_operation".to_owned(), cpu * 1e6 / outcome.operations as f64);
            }
        }
    }
}

/// CPU seconds a process has spent, in user and system mode, its ended threads included; in steps of 10 ms.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64, LoadError> {
    /// Clock ticks of a second, as `/proc` counts them on every Linux.
    const TICKS: f64 = 100.0;
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).map_err(|error| LoadError::new(format!("{path}: {error}")))?;
    // The second field, a name in parentheses, may hold anything; user time is the 14th, system time the 15th.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    match ticks[..] {
        [user, system] => Ok((user + system) / TICKS),
        _ => Err(LoadError::new(format!("{path} has no times"))),
    }
}

/// Without what the subtraction of two of them adds.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

fn rss_kib(pid: u32) -> Result<u64, LoadError> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    text.lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| LoadError::new(format!("memory of process {pid}: no VmRSS")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_time() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut window = Window::new(start, second, Length::Time(2 * second), &[std::process::id()]);
        assert_eq!(window.phase(start, 0).unwrap(), Phase::WarmUp);
        assert_eq!(window.next(), Some(start + second));
        assert!(!window.holds(start));
        assert_eq!(window.phase(start + second, 0).unwrap(), Phase::Measured);
        assert_eq!(window.next(), Some(start + 3 * second));
        assert_eq!(window.phase(start + 2 * second, 5).unwrap(), Phase::Measured);
        assert!(window.holds(start + 2 * second));
        assert_eq!(window.phase(start + 3 * second, 9).unwrap(), Phase::Over);
        assert!(!window.holds(start + 4 * second));
        let mut outcome = LoadOutcome { operations: 9, ..LoadOutcome::default() };
        window.report(&mut outcome);
        assert!((outcome.seconds - 2.0).abs() < 1e-9);
        assert!(outcome.extra["cpu_seconds"] >= 0.0 && outcome.extra["rss_kib"] > 0.0);
    }

    #[test]
    fn a_window_of_operations() {
        let start = Instant::now();
        let mut window = Window::new(start, Duration::ZERO, Length::Count(3), &[]);
        assert_eq!(window.phase(start, 0).unwrap(), Phase::Measured);
        assert_eq!(window.next(), None);
        assert_eq!(window.phase(start + Duration::from_secs(9), 2).unwrap(), Phase::Measured);
        assert_eq!(window.phase(start + Duration::from_secs(10), 3).unwrap(), Phase::Over);
        assert!((window.seconds() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_process_that_is_not_there_is_said() {
        let start = Instant::now();
        let mut window = Window::new(start, Duration::ZERO, Length::Count(1), &[u32::MAX]);
        assert!(window.phase(start, 0).unwrap_err().to_string().contains("/proc/4294967295/stat"));
    }

    #[test]
    fn our_own_cpu_grows() {
        let before = cpu_seconds(std::process::id()).unwrap();
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        assert!(cpu_seconds(std::process::id()).unwrap() > before);
    }
}
