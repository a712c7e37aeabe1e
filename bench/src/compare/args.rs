//! Flags of `ringbolt-bench compare`.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;

use super::{cores::Cores, server::PeerBinaries};
use crate::{
    cases::Case,
    error::{Context as _, Error, Result},
};

/// Flags of `ringbolt-bench compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Cases to run: names or beginnings of names, comma-separated; all by default.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Cases to leave out, likewise.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// Print the names of all cases and what they do, and run none.
    #[arg(long)]
    pub list: bool,
    /// Runs of each case on each side, interleaved; medians are compared.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Seconds a run measures.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Seconds of load before a run measures.
    #[arg(long, default_value_t = 1.0)]
    pub warm_up: f64,
    /// Folder for results: `results.jsonl`, `table.txt`, `report.html`.
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    pub out: PathBuf,
    /// Folder for stores, logs and certificates; a temporary one below `--out` by default, removed at the end.
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
    /// Ringbolt's binary; by default `target/release/ringbolt`.
    #[arg(long, value_name = "PATH")]
    pub ringbolt: Option<PathBuf>,
    /// The peer's API server, as `kube-apiserver=PATH`; by default what `bench/peer/build` has built.
    #[arg(long, value_name = "kube-apiserver=PATH")]
    pub peer: Option<String>,
    /// The peer's etcd.
    #[arg(long, value_name = "PATH")]
    pub peer_etcd: Option<PathBuf>,
    /// Measure Ringbolt alone.
    #[arg(long)]
    pub no_peer: bool,
    /// Measure requests of an administrator (`system:masters`): no role is asked about them, and they are exempt from
    /// priority and fairness. Such results compare with no others.
    #[arg(long)]
    pub as_administrator: bool,
    /// Leave nginx out.
    #[arg(long)]
    pub no_nginx: bool,
    /// Cores the servers run on, comma-separated; by default the first this process may run on.
    #[arg(long, value_name = "CORES")]
    pub server_cores: Option<String>,
    /// Cores the clients run on; by default the second.
    #[arg(long, value_name = "CORES")]
    pub client_cores: Option<String>,
    /// First of the ports that are used on 127.0.0.1: +0 Ringbolt, +1 kube-apiserver, +2 nginx, +3 and +4 etcd.
    #[arg(long, default_value_t = 7400)]
    pub port: u16,
    /// Pods of the large store, in thousands. Fewer than 10 make a quicker run whose results compare with no other.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub large_thousands: u32,
}

impl CompareArgs {
    /// Pods of the large store.
    #[must_use]
    pub fn large(&self) -> usize {
        self.large_thousands as usize * 1000
    }

    /// The cases that are wanted. A name takes its case alone even if others begin with it.
    #[must_use]
    pub fn wanted(&self, mut cases: Vec<Case>) -> Vec<Case> {
        let all: BTreeSet<String> = cases.iter().map(|case| case.name.clone()).collect();
        let takes = |name: &str, case: &Case| {
            if all.contains(name) { case.name == name } else { case.name.starts_with(name) }
        };
        let named = |names: &[String], case: &Case| names.iter().any(|name| takes(name, case));
        cases.retain(|case| (self.only.is_empty() || named(&self.only, case)) && !named(&self.skip, case));
        cases
    }

    /// Ringbolt's binary.
    pub fn ringbolt_binary(&self) -> Result<PathBuf> {
        let path = self.ringbolt.clone().unwrap_or_else(|| PathBuf::from("target/release/ringbolt"));
        program(path, "build it with `cargo build --release`, or name it by --ringbolt PATH")
    }

    /// The peer's binaries; `None` with `--no-peer`.
    pub fn peer_binaries(&self) -> Result<Option<PeerBinaries>> {
        if self.no_peer {
            return Ok(None);
        }
        let built = match (std::env::var_os("RINGBOLT_PEERS"), std::env::var_os("HOME")) {
            (Some(folder), _) => PathBuf::from(folder),
            (None, Some(home)) => PathBuf::from(home).join(".cache/ringbolt-bench/peer"),
            (None, None) => PathBuf::from("peer"),
        };
        let kube_apiserver = match &self.peer {
            Some(text) => PathBuf::from(
                text.strip_prefix("kube-apiserver=")
                    .context(format!("--peer {text:?} is not of the form kube-apiserver=PATH"))?,
            ),
            None => built.join("kube-apiserver"),
        };
        let etcd = self.peer_etcd.clone().unwrap_or_else(|| built.join("etcd"));
        let hint = "build it with bench/peer/build, name binaries by --peer kube-apiserver=PATH --peer-etcd=PATH, or \
                    measure without it by --no-peer";
        Ok(Some(PeerBinaries { kube_apiserver: program(kube_apiserver, hint)?, etcd: program(etcd, hint)? }))
    }

    /// Cores of servers and clients.
    pub fn cores(&self) -> Result<(Cores, Cores)> {
        let cores = |text: &Option<String>, nth| match text {
            Some(text) => Cores::parse(text),
            None => Cores::nth(nth),
        };
        let (server, client) = (cores(&self.server_cores, 0)?, cores(&self.client_cores, 1)?);
        if server.overlaps(&client) {
            return Err(Error::new("servers and clients must not share a core"));
        }
        Ok((server, client))
    }
}

fn program(path: PathBuf, hint: &str) -> Result<PathBuf> {
    if path.is_file() {
        return path.canonicalize().context(path.display());
    }
    Err(Error::new(format!("{} is not there: {hint}", path.display())))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompareArgs,
    }

    fn wanted(flags: &[&str]) -> Vec<String> {
        let line = Line::parse_from([&["compare"], flags].concat());
        line.args.wanted(crate::cases::all(1000)).into_iter().map(|case| case.name).collect()
    }

    #[test]
    fn names_and_beginnings_of_names() {
        assert_eq!(wanted(&["--only", "watch-10x100-20"]), ["watch-10x100-20"]);
        assert_eq!(
            wanted(&["--only", "create,lease"]),
            ["create-custom-64", "create-64", "create-1", "create-pods-64", "lease-1000"]
        );
        assert_eq!(
            wanted(&["--only", "create", "--skip", "create-1"]),
            ["create-custom-64", "create-64", "create-pods-64"]
        );
        assert_eq!(wanted(&[]).len(), crate::cases::all(1000).len());
        assert!(wanted(&["--only", "nothing"]).is_empty());
    }

    #[test]
    fn cores_are_not_shared() {
        let cores = |server: &str, client: &str| {
            let flags = ["compare", "--server-cores", server, "--client-cores", client];
            Line::parse_from(flags).args.cores()
        };
        assert!(cores("0", "1").is_ok());
        assert!(cores("0,1", "1").is_err());
    }
}
