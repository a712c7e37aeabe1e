//! `ringbolt-bench compare`: both sides on one machine, the same work, one side at a time.

mod args;
pub mod bench;
pub mod check;
mod cores;
pub mod flush;
pub mod h2load;
pub mod http;
pub mod latency;
pub mod limits;
mod memory;
mod meta;
mod nginx;
pub mod own;
mod peer;
mod pki;
pub mod proc_fs;
mod process;
mod ringbolt;
mod rules;
mod runner;
pub mod seed;
pub mod server;
pub mod table;
pub mod window;
pub mod wrk;

use std::{path::Path, process::ExitCode, time::Duration};

pub use args::CompareArgs;

use self::{
    bench::Bench,
    pki::Pki,
    server::{Common, Ports},
};
use crate::{
    cases,
    error::{Context as _, Result},
};

/// Runs the comparison. The exit code is a failure if a case was left out; requests that failed are part of results.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    if args.list {
        for case in cases::all(args.large()) {
            println!("{:<28} {}", case.name, case.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(&args.out).context(args.out.display())?;
    // Below --out by default, not in /tmp: that may be memory, and nothing would be flushed.
    let folder = match &args.work_dir {
        Some(folder) => {
            std::fs::create_dir_all(folder).context(folder.display())?;
            WorkFolder::Kept(folder.clone())
        }
        None => WorkFolder::Temporary(
            tempfile::Builder::new().prefix(".work-").tempdir_in(&args.out).context("a folder to work in")?,
        ),
    };
    process::end_all_when_interrupted()?;
    let bench = prepare(args, folder.path())?;
    bench.client_cores.enter()?;
    runner::run(args, &bench)
}

enum WorkFolder {
    Temporary(tempfile::TempDir),
    Kept(std::path::PathBuf),
}

impl WorkFolder {
    fn path(&self) -> &Path {
        match self {
            WorkFolder::Temporary(folder) => folder.path(),
            WorkFolder::Kept(folder) => folder,
        }
    }
}

fn prepare(args: &CompareArgs, folder: &Path) -> Result<Bench> {
    let folder = folder.canonicalize().context(folder.display())?;
    let scratch = folder.join("clients");
    std::fs::create_dir_all(&scratch).context(scratch.display())?;
    let (admin_token, user_token) = ("admintoken", "usertoken0");
    let users =
        format!("{admin_token},admin,1,\"system:masters\"\n{user_token},user,2,\"{}\"\n", seed::GROUP);
    let tokens = folder.join("tokens.csv");
    std::fs::write(&tokens, users).context(tokens.display())?;
    let (server_cores, client_cores) = args.cores()?;
    Ok(Bench {
        common: Common {
            pki: Pki::make(&folder)?,
            tokens,
            admin_token: admin_token.to_owned(),
            token: if args.as_administrator { admin_token } else { user_token }.to_owned(),
            ringbolt: args.ringbolt_binary()?,
            peer: args.peer_binaries()?,
            folder,
        },
        server_cores,
        client_cores,
        ports: Ports { ringbolt: args.port, peer: args.port + 1, nginx: args.port + 2, etcd: args.port + 3 },
        scratch,
        seconds: args.seconds,
        warm_up: Duration::from_secs_f64(args.warm_up),
        large: args.large(),
    })
}
