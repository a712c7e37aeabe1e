//! Which cores servers and clients run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::{Context as _, Error, Result};

/// A set of cores, written as `0` or `0,2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

impl Cores {
    /// From its text.
    pub fn parse(text: &str) -> Result<Cores> {
        let cores = text
            .split(',')
            .map(|core| core.trim().parse::<usize>().context(format!("{text:?} is no list of cores")))
            .collect::<Result<Vec<_>>>()?;
        if cores.iter().any(|&core| core >= CpuSet::MAX_CPU) {
            return Err(Error::new(format!("{text:?} names a core that cannot be")));
        }
        Ok(Cores(cores))
    }

    /// The `n`-th core, from 0, that this process may run on.
    pub fn nth(n: usize) -> Result<Cores> {
        let set = sched_getaffinity(None).context("cannot read the cores of this thread")?;
        let core = (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).nth(n);
        let core = core.context("servers and clients need a core each, and this process has but one")?;
        Ok(Cores(vec![core]))
    }

    /// These and those.
    #[must_use]
    pub fn with(&self, other: &Cores) -> Cores {
        let mut all = self.0.clone();
        all.extend(other.0.iter().filter(|core| !self.0.contains(core)));
        Cores(all)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether a core is in both.
    #[must_use]
    pub fn overlaps(&self, other: &Cores) -> bool {
        self.0.iter().any(|core| other.0.contains(core))
    }

    /// Keeps the calling thread, and what it starts from now on, on these cores.
    pub fn enter(&self) -> Result<()> {
        let mut set = CpuSet::new();
        for &core in &self.0 {
            set.set(core);
        }
        sched_setaffinity(None, &set).context(format!("cannot run on cores {self}"))
    }

    /// Runs `start` on these cores: processes inherit the mask of the thread that starts them. Go and Ringbolt both
    /// make as many threads as the mask has cores.
    pub fn within<T>(&self, start: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = sched_getaffinity(None).context("cannot read the cores of this thread")?;
        self.enter()?;
        let started = start();
        sched_setaffinity(None, &before).context("cannot go back to the client's cores")?;
        started
    }
}

impl std::fmt::Display for Cores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&text.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::Cores;

    #[test]
    fn cores_are_read_and_written() {
        let cores = Cores::parse("0, 2").unwrap();
        assert_eq!(cores.to_string(), "0,2");
        assert_eq!(cores.with(&Cores::parse("2,3").unwrap()).to_string(), "0,2,3");
        assert!(cores.overlaps(&Cores::parse("2").unwrap()));
        assert!(!cores.overlaps(&Cores::parse("1").unwrap()));
        assert!(Cores::parse("").is_err() && Cores::parse("0-1").is_err() && Cores::parse("99999").is_err());
    }

    #[test]
    fn a_mask_is_left_again() {
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let inside = Cores::parse("0")
            .unwrap()
            .within(|| Ok(rustix::thread::sched_getaffinity(None).unwrap()))
            .unwrap();
        assert_eq!(inside.count(), 1);
        assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), before);
    }
}
