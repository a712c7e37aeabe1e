//! `ringbolt-bench overload`: one tenant asks for ten times as much as another, and a node goes on with its work.
//!
//! Light tenant and node ask at a steady pace, which leaves most of the server to others, and are measured without the heavy
//! tenant and beside it, in turn, so that what else goes on on the machine is the same for both. What matters is how much
//! longer their requests take beside it, and that every request is answered: served, or turned away with 429.

mod counts;
mod parts;

pub use counts::Counts;

use crate::{
    error::Error,
    load::{
        self, Encoding, Kind, LengthArgs, ListsArgs, Load, LoadArgs, LoadOutcome, PlaceArgs, Protocol,
        SeedArgs, ServerArgs, Verb, WritesArgs,
    },
};
use clap::{Args, ValueEnum};
use counts::Served;
use parts::together;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, thread, time::Duration};

/// How often the server's counts are looked at, until they are right.
const LOOKS: usize = 20;
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);

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
    /// Requests that the light tenant has on the way at once, at most.
    #[arg(long, default_value_t = 4)]
    pub in_flight: usize,
    /// How many times as much the heavy one has, all the time, and as many connections.
    #[arg(long, default_value_t = 10)]
    pub factor: usize,
    /// Requests a second of the light tenant, and of the node; 0 for as fast as they are answered.
    #[arg(long, default_value_t = 40.0)]
    pub rate: f64,
    /// Seconds that are measured, with the heavy tenant and without.
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// In how many parts, with and without it in turn.
    #[arg(long, default_value_t = 5)]
    pub parts: usize,
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
    /// What was sent, and what became of it.
    pub counts: Counts,
}

/// Runs the overload, and prints what it came to as a line of JSON.
///
/// # Errors
/// When a load cannot be run, or what was sent is not what was answered.
pub fn run(args: &OverloadArgs) -> Result<(), Error> {
    let outcome = measure(args).map_err(|error| Error::new(error.to_string()))?;
    println!("{}", serde_json::to_string(&outcome).map_err(Error::from)?);
    outcome.counts.check().map_err(Error::new)
}

/// Runs the overload.
///
/// # Errors
/// When a load cannot be run.
pub fn measure(args: &OverloadArgs) -> Result<OverloadOutcome, load::LoadError> {
    for tenant in ["heavy", "light"] {
        load::run(LoadArgs { load: Load::Seed(seed(args, tenant)) })?;
    }
    let (light, node, heavy) = (tenant(args, "light"), node(args), tenant(args, "heavy"));
    // What is made ready once for all parts is not to be in the counts.
    together(vec![short(&light), short(&node), short(&heavy)])?;
    let before = Served::of(&server(args, &args.token, 1))?;
    let (mut idle, mut overloaded) = (Vec::new(), Vec::new());
    for _ in 0..args.parts.max(1) {
        idle.push(together(vec![light.clone(), node.clone()])?);
        overloaded.push(together(vec![light.clone(), node.clone(), heavy.clone()])?);
    }
    let of = |parts: &[Vec<LoadOutcome>], load: usize| {
        load::joined(parts.iter().filter_map(|part| part.get(load)))
    };
    let [light_idle, node_idle] = [of(&idle, 0)?, of(&idle, 1)?];
    let [light_then, node_then, heavy] = [of(&overloaded, 0)?, of(&overloaded, 1)?, of(&overloaded, 2)?];
    let loads = [&light_idle, &node_idle, &light_then, &node_then, &heavy];
    let counts = counted(args, loads, &before)?;
    Ok(OverloadOutcome {
        light: share(light_idle, light_then),
        node: share(node_idle, node_then),
        heavy,
        counts,
    })
}

/// The counts, as soon as the server has counted all it answered: it may do so after the answer has left.
fn counted(
    args: &OverloadArgs,
    loads: [&LoadOutcome; 5],
    before: &Served,
) -> Result<Counts, load::LoadError> {
    let mut asked = 0;
    loop {
        let after = Served::of(&server(args, &args.token, 1))?;
        let counts = Counts::new(loads, after.since(before, args.work), probes(args));
        asked += 1;
        if counts.check().is_ok() || asked == LOOKS {
            return Ok(counts);
        }
        thread::sleep(LOOK);
    }
}

/// Lists that are asked for before the loads begin, one each, to see how many items there are.
fn probes(args: &OverloadArgs) -> u64 {
    let parts = args.parts.max(1) as u64;
    // Nodes in both halves of a part; tenants where they list.
    match args.work {
        TenantWork::Updates => 2 * parts,
        TenantWork::Lists => 5 * parts,
    }
}

fn share(idle: LoadOutcome, overloaded: LoadOutcome) -> Share {
    let p99_ratio = if idle.p99_us > 0.0 { overloaded.p99_us / idle.p99_us } else { 0.0 };
    Share { idle, overloaded, p99_ratio }
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
    let seconds = args.seconds / args.parts.max(1) as f64;
    LengthArgs { seconds: Some(seconds), count: None, warmup: seconds / 10.0 }
}

/// The same load, just long enough to make ready what it needs.
fn short(load: &Load) -> Load {
    let mut load = load.clone();
    if let Load::Writes(WritesArgs { length, .. }) | Load::Lists(ListsArgs { length, .. }) = &mut load {
        *length = LengthArgs { seconds: Some(0.0), count: None, warmup: 0.0 };
    }
    load
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
    let is_heavy = name == "heavy";
    let (token, times) = if is_heavy { (&args.heavy, args.factor.max(1)) } else { (&args.light, 1) };
    let (in_flight, server) = (args.in_flight * times, server(args, token, times));
    let rate = if is_heavy { None } else { rate(args) };
    match args.work {
        TenantWork::Updates => Load::Writes(WritesArgs {
            verb: Verb::Update,
            kind: None,
            server,
            length: length(args),
            place: place(name),
            in_flight,
            objects: None,
            rate,
            prefix: None,
            prepare: false,
        }),
        TenantWork::Lists => Load::Lists(ListsArgs {
            server,
            length: length(args),
            path: format!("/api/v1/namespaces/overload-{name}-0/configmaps"),
            parallel: in_flight,
            rate,
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
        rate: rate(args),
        encoding: Encoding::Json,
    })
}

fn rate(args: &OverloadArgs) -> Option<f64> {
    (args.rate > 0.0).then_some(args.rate)
}
