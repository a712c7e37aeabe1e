//! `ringbolt-bench overload`: one tenant asks for ten times as much as another, and a node goes on with its work.
//!
//! Light tenant and node are measured alone, and then again while the heavy tenant does all it can. What matters is
//! how much longer their requests take then, and that every request is answered: served, or turned away with 429.

use crate::{
    error::Error,
    load::{
        self, Encoding, Kind, LengthArgs, ListsArgs, Load, LoadArgs, LoadOutcome, PlaceArgs, Protocol,
        SeedArgs, ServerArgs, Verb, WritesArgs,
    },
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, thread};

/// The heavy tenant among loads that run together.
const HEAVY_PLACE: usize = 2;

/// Names of the threads, in the order of the loads: a scheduler can be told apart by them who is to run first.
const NAMES: [&str; 3] = ["light", "node", "heavy"];

/// How much less the heavy tenant's side has of the processors than the others': the least there is.
const HEAVY_NICE: i32 = 19;

/// Arguments of `overload`.
#[derive(Debug, Clone, Args)]
pub struct OverloadArgs {
    /// https://HOST:PORT.
    #[arg(long)]
    pub url: String,
    /// PEM file of the authority that signed the server's certificate.
    #[arg(long)]
    pub ca: Option<PathBuf>,
    /// Token of an administrator, who makes the objects.
    #[arg(long)]
    pub token: String,
    /// Token of the tenant that asks for much.
    #[arg(long)]
    pub heavy: String,
    /// Token of the tenant that asks for little.
    #[arg(long)]
    pub light: String,
    /// Token of a node.
    #[arg(long)]
    pub node: String,
    /// What the tenants do.
    #[arg(long, value_enum, default_value = "updates")]
    pub work: TenantWork,
    /// Requests that the light tenant has on the way at once.
    #[arg(long, default_value_t = 4)]
    pub in_flight: usize,
    /// How many times as much the heavy one has, and as many connections.
    #[arg(long, default_value_t = 10)]
    pub factor: usize,
    /// Seconds of each of the two parts.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// ConfigMaps of 1 KiB that each tenant has.
    #[arg(long, default_value_t = 500)]
    pub objects: u64,
}

/// What tenants do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TenantWork {
    /// PUT of ConfigMaps, each in turn.
    Updates,
    /// LIST of their ConfigMaps.
    Lists,
}

/// What became of one who asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Without the heavy tenant.
    pub idle: LoadOutcome,
    /// Beside it.
    pub overloaded: LoadOutcome,
    /// 99th percentile beside it ÷ without it.
    pub p99_ratio: f64,
}

/// What an overload came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverloadOutcome {
    /// The tenant that asks for little.
    pub light: Share,
    /// The node.
    pub node: Share,
    /// The tenant that asks for much.
    pub heavy: LoadOutcome,
    /// Answers of all that were neither as they should be nor 429.
    pub unexpected: u64,
}

/// Runs the overload, and prints what it came to as a line of JSON.
///
/// # Errors
/// When a load cannot be run.
pub fn run(args: &OverloadArgs) -> Result<(), Error> {
    let outcome = measure(args).map_err(|error| Error::new(error.to_string()))?;
    println!("{}", serde_json::to_string(&outcome).map_err(Error::from)?);
    Ok(())
}

/// Runs the overload.
///
/// # Errors
/// When a load cannot be run.
pub fn measure(args: &OverloadArgs) -> Result<OverloadOutcome, load::LoadError> {
    for tenant in ["heavy", "light"] {
        load::run(LoadArgs { load: Load::Seed(seed(args, tenant)) })?;
    }
    let (light_load, node_load) = (tenant(args, "light"), node(args));
    let mut idle = together(vec![light_load.clone(), node_load.clone()])?;
    let mut overloaded = together(vec![light_load, node_load, tenant(args, "heavy")])?;
    let (Some(heavy), Some(node_then), Some(light_then)) =
        (overloaded.pop(), overloaded.pop(), overloaded.pop())
    else {
        return Err(load::LoadError::new("a load has no outcome"));
    };
    let (Some(node_alone), Some(light_alone)) = (idle.pop(), idle.pop()) else {
        return Err(load::LoadError::new("a load has no outcome"));
    };
    let all = [&light_alone, &node_alone, &light_then, &node_then, &heavy];
    let refused = |outcome: &LoadOutcome| outcome.statuses.get(&429).copied().unwrap_or(0);
    let unexpected = all.iter().map(|outcome| outcome.errors.saturating_sub(refused(outcome))).sum();
    Ok(OverloadOutcome {
        light: share(light_alone, light_then),
        node: share(node_alone, node_then),
        heavy,
        unexpected,
    })
}

fn share(idle: LoadOutcome, overloaded: LoadOutcome) -> Share {
    let p99_ratio = if idle.p99_us > 0.0 { overloaded.p99_us / idle.p99_us } else { 0.0 };
    Share { idle, overloaded, p99_ratio }
}

/// Runs loads at the same time, each on a thread of its own.
fn together(loads: Vec<Load>) -> Result<Vec<LoadOutcome>, load::LoadError> {
    let running: Vec<thread::JoinHandle<_>> = loads
        .into_iter()
        .enumerate()
        .map(|(place, load)| {
            let work = move || {
                if place == HEAVY_PLACE {
                    // Of this thread and those that it starts. Who measures must not wait for a processor that the one
                    // who only asks for much has: the server's fairness is in question, not the scheduler's.
                    let _ = rustix::process::nice(HEAVY_NICE);
                }
                load::run(LoadArgs { load })
            };
            let thread = thread::Builder::new().name(NAMES.get(place).copied().unwrap_or("load").to_owned());
            thread.spawn(work).map_err(|error| load::LoadError::new(error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    let end = |running: thread::JoinHandle<_>| {
        running.join().unwrap_or_else(|_| Err(load::LoadError::new("a load panicked")))
    };
    running.into_iter().map(end).collect()
}

fn server(args: &OverloadArgs, token: &str, connections: usize) -> ServerArgs {
    ServerArgs {
        url: args.url.clone(),
        ca: args.ca.clone(),
        token: Some(token.to_owned()),
        protocol: Protocol::H2,
        connections,
        cpu_of: Vec::new(),
    }
}

fn length(args: &OverloadArgs) -> LengthArgs {
    LengthArgs { seconds: Some(args.seconds), count: None, warmup: args.seconds / 10.0 }
}

fn place(tenant: &str) -> PlaceArgs {
    PlaceArgs { object_bytes: 1024, namespaces: 1, namespace_prefix: format!("overload-{tenant}-") }
}

fn seed(args: &OverloadArgs, tenant: &str) -> SeedArgs {
    SeedArgs {
        server: server(args, &args.token, 1),
        place: place(tenant),
        kind: Kind::Configmaps,
        count: args.objects,
        in_flight: 32,
        prefix: "seed".to_owned(),
        with_status: false,
    }
}

fn tenant(args: &OverloadArgs, name: &str) -> Load {
    let (token, times) = if name == "heavy" { (&args.heavy, args.factor.max(1)) } else { (&args.light, 1) };
    let (in_flight, server) = (args.in_flight * times, server(args, token, times));
    match args.work {
        TenantWork::Updates => Load::Writes(WritesArgs {
            verb: Verb::Update,
            kind: None,
            server,
            length: length(args),
            place: place(name),
            in_flight,
            objects: None,
            rate: None,
            prefix: None,
            prepare: false,
        }),
        TenantWork::Lists => Load::Lists(ListsArgs {
            server,
            length: length(args),
            path: format!("/api/v1/namespaces/overload-{name}-0/configmaps"),
            parallel: in_flight,
            encoding: Encoding::Json,
        }),
    }
}

/// What every node does all the time: it looks at its own kind.
fn node(args: &OverloadArgs) -> Load {
    Load::Lists(ListsArgs {
        server: server(args, &args.node, 1),
        length: length(args),
        path: "/api/v1/nodes?resourceVersion=0".to_owned(),
        parallel: 1,
        encoding: Encoding::Json,
    })
}
