//! The load client: writes, lists, pages and watches against one server, from one thread that spends little a request.
//!
//! It shares a small machine with the server it measures, so it is built for that: one epoll, TLS records opened where
//! they were received, HTTP/2 with no more than this needs, and no JSON parsed in the measured window. It is the same
//! against every server.

mod args;
mod batch;
mod error;
mod events;
mod latency;
mod limits;
mod net;
mod objects;
mod outcome;
mod pace;
mod reads;
mod target;
mod watch;
mod window;
mod writes;

pub use args::{
    IdleWatchesArgs, LengthArgs, ListsArgs, Load, LoadArgs, PagesArgs, PlaceArgs, SeedArgs, ServerArgs,
    WatchArgs, WritesArgs,
};
pub use error::LoadError;
pub use objects::Kind;
pub use outcome::LoadOutcome;
pub(crate) use outcome::joined;
pub use reads::Encoding;
pub use target::Protocol;
pub use writes::Verb;

use net::driver::Driver;
use objects::Generator;
use std::time::Duration;
use target::Target;
use window::{Length, Window};

/// How the client calls itself.
const USER_AGENT: &str = concat!("ringbolt-bench/", env!("CARGO_PKG_VERSION"));

/// Seconds of a window if nothing is said.
const SECONDS: f64 = 10.0;

/// Runs a load to its end.
///
/// # Errors
/// When the server cannot be reached, closes a connection, or does not answer at all; and when what the load needs
/// cannot be made ready. Answers that are not as they should be are counted in the outcome instead.
pub fn run(args: LoadArgs) -> Result<LoadOutcome, LoadError> {
    match args.load {
        Load::Writes(args) => writes(args),
        Load::Seed(args) => seed(args),
        Load::Lists(args) => reads(
            args.server,
            args.length,
            reads::Plan {
                path: args.path,
                encoding: args.encoding,
                parallel: args.parallel,
                limit: None,
                rate: args.rate,
            },
        ),
        Load::Pages(args) => reads(
            args.server,
            args.length,
            reads::Plan {
                path: args.path,
                encoding: Encoding::Json,
                parallel: args.parallel,
                limit: Some(args.limit.max(1)),
                rate: None,
            },
        ),
        Load::Watch(args) => watch(args),
        Load::IdleWatches(args) => idle_watches(args),
    }
}

/// The server's page of metrics.
pub(crate) fn metrics(server: &ServerArgs) -> Result<String, LoadError> {
    let page = [batch::Call::get("/metrics".to_owned())];
    let answer = batch::call(&mut connect(server)?, &page)?.remove(0);
    batch::expect(&page[0], &answer, &[200])?;
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

fn target(server: &ServerArgs, protocol: Protocol) -> Result<Target, LoadError> {
    Target::new(&server.url, server.ca.as_deref(), server.token.as_deref(), protocol)
}

fn connect(server: &ServerArgs) -> Result<Driver, LoadError> {
    Driver::open(&target(server, server.protocol)?, server.connections.max(1))
}

fn seconds(seconds: f64) -> Result<Duration, LoadError> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| LoadError::new(format!("{seconds} seconds: {error}")))
}

/// The length of a window.
fn length(args: &LengthArgs) -> Result<(Duration, Length), LoadError> {
    let length = match args.count {
        Some(count) => Length::Count(count),
        None => Length::Time(seconds(args.seconds.unwrap_or(SECONDS))?),
    };
    Ok((seconds(args.warmup)?, length))
}

fn generator(kind: Kind, place: &PlaceArgs, prefix: &str) -> Result<Generator, LoadError> {
    Generator::new(kind, place.object_bytes, prefix, place.namespaces, &place.namespace_prefix)
}

fn writes(args: WritesArgs) -> Result<LoadOutcome, LoadError> {
    let kind = args.kind.unwrap_or(match args.verb {
        Verb::Lease => Kind::Leases,
        Verb::Status => Kind::Pods,
        _ => Kind::Configmaps,
    });
    if (args.verb == Verb::Lease) != (kind == Kind::Leases)
        && args.verb != Verb::Create
        && args.verb != Verb::Delete
    {
        return Err(LoadError::new(
            "Leases are written by `lease`, `create` and `delete`, and nothing else by `lease`",
        ));
    }
    if args.verb == Verb::Status && !kind.has_status() {
        return Err(LoadError::new(format!("{} have no status", kind.resource())));
    }
    let prefix = match (args.prefix, args.verb) {
        (Some(prefix), _) => prefix,
        (None, Verb::Create) => format!("c{:x}", jiff::Timestamp::now().as_millisecond()),
        (None, Verb::Delete) => "delete".to_owned(),
        // Objects of one size are made once, and used by all that follow.
        (None, verb) => format!("{verb:?}-{}", args.place.object_bytes).to_lowercase(),
    };
    let (warm_up, length) = length(&args.length)?;
    let objects = match (args.verb, args.objects, length) {
        (Verb::Create, objects, Length::Count(count)) => objects.unwrap_or(u64::MAX).min(count),
        (Verb::Create, objects, Length::Time(_)) => objects.unwrap_or(u64::MAX),
        (Verb::Delete, objects, Length::Count(count)) => objects.unwrap_or(count),
        (Verb::Delete, Some(objects), Length::Time(_)) => objects,
        (Verb::Delete, None, Length::Time(_)) => {
            return Err(LoadError::new("delete needs --objects or --count: how many there are"));
        }
        (_, objects, _) => objects.unwrap_or(0).max(args.in_flight as u64),
    };
    let generator = generator(kind, &args.place, &prefix)?;
    let mut driver = connect(&args.server)?;
    let mut plan = writes::Plan {
        verb: args.verb,
        generator,
        in_flight: args.in_flight.max(1),
        objects,
        rate: args.rate,
    };
    if args.prepare && args.verb == Verb::Delete {
        plan.verb = Verb::Create;
    }
    let bodies = writes::prepare(&mut driver, &plan)?;
    match (args.prepare, args.verb) {
        (true, Verb::Delete) => {
            let window = |now| Window::new(now, Duration::ZERO, Length::Count(objects), &[]);
            writes::run(&mut driver, writes::Plan { rate: None, ..plan }, bodies, window)
        }
        (true, _) => Ok(LoadOutcome::default()),
        (false, _) => {
            let window = |now| Window::new(now, warm_up, length, &args.server.cpu_of);
            writes::run(&mut driver, plan, bodies, window)
        }
    }
}

fn seed(args: SeedArgs) -> Result<LoadOutcome, LoadError> {
    let generator = generator(args.kind, &args.place, &args.prefix)?;
    let mut driver = connect(&args.server)?;
    let plan = writes::Plan {
        verb: Verb::Create,
        generator: generator.clone(),
        in_flight: args.in_flight.max(1),
        objects: args.count,
        rate: None,
    };
    let bodies = writes::prepare(&mut driver, &plan)?;
    let window = |now| Window::new(now, Duration::ZERO, Length::Count(args.count), &args.server.cpu_of);
    let outcome = writes::run(&mut driver, plan, bodies, window)?;
    if args.with_status {
        batch::statuses(&mut driver, &generator, args.count)?;
    }
    Ok(outcome)
}

fn reads(server: ServerArgs, args: LengthArgs, plan: reads::Plan) -> Result<LoadOutcome, LoadError> {
    let (warm_up, length) = length(&args)?;
    let mut driver = connect(&server)?;
    reads::run(&mut driver, plan, args.count, |now| Window::new(now, warm_up, length, &server.cpu_of))
}

fn watch(args: WatchArgs) -> Result<LoadOutcome, LoadError> {
    if matches!(args.kind, Kind::Leases) {
        return Err(LoadError::new("Leases have no room for the number that watchers look for"));
    }
    let mut driver = connect(&args.server)?;
    watch::run(
        &mut driver,
        watch::Plan {
            generator: Generator::new(args.kind, args.object_bytes, "watched", 1, &args.namespace_prefix)?,
            connections: args.server.connections.max(1),
            streams: args.streams.max(1),
            hold: Duration::ZERO,
            updates_per_second: args.updates_per_second,
            write: seconds(args.seconds)?,
            grace: seconds(args.grace)?,
            objects: args.objects.max(1),
            // A writer has many updates in flight, whatever the watchers speak.
            writer: target(&args.server, Protocol::H2)?,
            processes: args.server.cpu_of,
        },
    )
}

fn idle_watches(args: IdleWatchesArgs) -> Result<LoadOutcome, LoadError> {
    let mut driver = connect(&args.server)?;
    watch::run(
        &mut driver,
        watch::Plan {
            generator: Generator::new(Kind::Configmaps, 1024, "idle", 1, &args.namespace_prefix)?,
            connections: args.server.connections.max(1),
            streams: args.streams.max(1),
            hold: seconds(args.seconds)?,
            // One update.
            updates_per_second: 1.0,
            write: Duration::from_secs(1),
            grace: seconds(args.grace)?,
            objects: 1,
            writer: target(&args.server, Protocol::H2)?,
            processes: args.server.cpu_of,
        },
    )
}
