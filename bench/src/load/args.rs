//! The arguments of `ringbolt-bench load`.

use super::{objects::Kind, reads::Encoding, target::Protocol, writes::Verb};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Puts load on one server from one thread, and prints what it measured as a line of JSON.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// What to do.
    #[command(subcommand)]
    pub load: Load,
}

/// What a load does.
#[derive(Debug, Clone, Subcommand)]
pub enum Load {
    /// Create, update, patch, delete.
    Writes(WritesArgs),
    /// Make objects, so that there are some.
    Seed(SeedArgs),
    /// Read whole collections.
    Lists(ListsArgs),
    /// Read collections page by page.
    Pages(PagesArgs),
    /// Watch a namespace while objects in it are updated.
    Watch(WatchArgs),
    /// Hold watches of which nothing comes, then deliver one event on each.
    IdleWatches(IdleWatchesArgs),
}

/// The server, and how to reach it.
#[derive(Debug, Clone, Args)]
pub struct ServerArgs {
    /// https://HOST:PORT, or http:// for a port without TLS.
    #[arg(long)]
    pub url: String,
    /// PEM file of the authority that signed the server's certificate.
    #[arg(long)]
    pub ca: Option<PathBuf>,
    /// Bearer token.
    #[arg(long)]
    pub token: Option<String>,
    /// Protocol of the connections.
    #[arg(long, value_enum, default_value = "h2")]
    pub protocol: Protocol,
    /// Connections.
    #[arg(long, default_value_t = 1)]
    pub connections: usize,
    /// Processes of the server, whose CPU in the window and memory at its end are told.
    #[arg(long, value_delimiter = ',')]
    pub cpu_of: Vec<u32>,
}

/// How long a load is.
#[derive(Debug, Clone, Args)]
pub struct LengthArgs {
    /// Length of the window; 10 if there is no count.
    #[arg(long, conflicts_with = "count")]
    pub seconds: Option<f64>,
    /// Operations after which the window ends.
    #[arg(long)]
    pub count: Option<u64>,
    /// Seconds under load before the window.
    #[arg(long, default_value_t = 0.0)]
    pub warmup: f64,
}

/// Where the objects are.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// Bytes of an object as it is sent.
    #[arg(long, default_value_t = 1024)]
    pub object_bytes: usize,
    /// Namespaces that the objects are spread over.
    #[arg(long, default_value_t = 1)]
    pub namespaces: usize,
    /// What the namespaces' names begin with; a number follows.
    #[arg(long, default_value = "bench-")]
    pub namespace_prefix: String,
}

/// Arguments of `writes`.
#[derive(Debug, Clone, Args)]
pub struct WritesArgs {
    /// What is written.
    #[arg(value_enum)]
    pub verb: Verb,
    /// Kind of the objects; Leases for `lease`, pods for `status`, else ConfigMaps.
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// Server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Length.
    #[command(flatten)]
    pub length: LengthArgs,
    /// Objects.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Requests in flight over all connections.
    #[arg(long, default_value_t = 1)]
    pub in_flight: usize,
    /// Objects written in turn (for Leases: clients); as many as are in flight at least. For `delete`: how many were
    /// made by `--prepare`.
    #[arg(long, visible_alias = "clients")]
    pub objects: Option<u64>,
    /// Writes a second over all, by a schedule; without, as fast as they are answered.
    #[arg(long)]
    pub rate: Option<f64>,
    /// What the objects' names begin with; a number follows. For `create`, a new one each time if not given.
    #[arg(long)]
    pub prefix: Option<String>,
    /// Only make ready what the writes need: for `delete`, the objects; for `create`, the namespaces.
    #[arg(long)]
    pub prepare: bool,
}

/// Arguments of `seed`.
#[derive(Debug, Clone, Args)]
pub struct SeedArgs {
    /// Server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Objects.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Kind of the objects.
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// How many.
    #[arg(long)]
    pub count: u64,
    /// Requests in flight over all connections.
    #[arg(long, default_value_t = 64)]
    pub in_flight: usize,
    /// What the objects' names begin with; a number follows.
    #[arg(long, default_value = "seed")]
    pub prefix: String,
    /// Give each a status, too.
    #[arg(long)]
    pub with_status: bool,
}

/// Arguments of `lists`.
#[derive(Debug, Clone, Args)]
pub struct ListsArgs {
    /// Server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Length.
    #[command(flatten)]
    pub length: LengthArgs,
    /// Path and query of the collection: `/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-007`.
    #[arg(long)]
    pub path: String,
    /// Readers at the same time.
    #[arg(long, default_value_t = 1)]
    pub parallel: usize,
    /// Lists a second over all, by a schedule; without, as fast as they are answered.
    #[arg(long)]
    pub rate: Option<f64>,
    /// Encoding of the answers.
    #[arg(long, value_enum, default_value = "json")]
    pub encoding: Encoding,
}

/// Arguments of `pages`.
#[derive(Debug, Clone, Args)]
pub struct PagesArgs {
    /// Server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Length; a count is one of walks.
    #[command(flatten)]
    pub length: LengthArgs,
    /// Path and query of the collection.
    #[arg(long)]
    pub path: String,
    /// Items of a page.
    #[arg(long, default_value_t = 500)]
    pub limit: u64,
    /// Walks at the same time.
    #[arg(long, default_value_t = 1)]
    pub parallel: usize,
}

/// Arguments of `watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Watches on each connection.
    #[arg(long, default_value_t = 1)]
    pub streams: usize,
    /// Updates a second.
    #[arg(long, default_value_t = 20.0)]
    pub updates_per_second: f64,
    /// Seconds of updates.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Seconds that events may come after the last update.
    #[arg(long, default_value_t = 10.0)]
    pub grace: f64,
    /// Objects updated in turn.
    #[arg(long, default_value_t = 64)]
    pub objects: u64,
    /// Bytes of an object as it is sent.
    #[arg(long, default_value_t = 1024)]
    pub object_bytes: usize,
    /// Kind of the objects.
    #[arg(long, value_enum, default_value = "configmaps")]
    pub kind: Kind,
    /// Namespace, but for the 0 that follows.
    #[arg(long, default_value = "watch-")]
    pub namespace_prefix: String,
}

/// Arguments of `idle-watches`.
#[derive(Debug, Clone, Args)]
pub struct IdleWatchesArgs {
    /// Server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Watches on each connection.
    #[arg(long, default_value_t = 100)]
    pub streams: usize,
    /// Seconds that the watches are held before the one update.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Seconds that its event may take to all.
    #[arg(long, default_value_t = 30.0)]
    pub grace: f64,
    /// Namespace, but for the 0 that follows.
    #[arg(long, default_value = "idle-")]
    pub namespace_prefix: String,
}
