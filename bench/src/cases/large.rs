//! Cases of a store of 10,000 pods: what they take while nobody asks, LISTs of all at once, LISTs by pages.

use std::collections::BTreeMap;

use super::{Case, Stage, Work};
use crate::{
    compare::{
        bench::Bench,
        check::{Shown, same_work},
        latency::Latency,
        own,
        server::Server,
        window::{ClientCpu, Window},
        wrk::Told,
    },
    error::{Context as _, Result},
    result::{Measurement, Shape, Side},
    summary::thousands,
};

/// All pods.
const PATH: &str = "/api/v1/pods";
/// LISTs at the same time.
const PARALLEL: u32 = 10;
/// LISTs of a run: two rounds.
const LISTS: u32 = 2 * PARALLEL;
/// Pods of a page, as client-go's pager asks.
const PAGE: u64 = 500;
/// Walkers of pages.
const WALKERS: u32 = 4;

/// What is done with all pods.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Large {
    Resident,
    ParallelLists,
    Pages,
}

impl Work for Large {
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn check(&self, bench: &Bench, servers: &[Server]) -> Result<()> {
        let (query, objects) = match self {
            Large::Pages => (format!("?limit={PAGE}"), PAGE as usize),
            _ => (String::new(), bench.large),
        };
        let mut shown = Vec::new();
        for server in servers {
            let answer =
                server.measured_client(&bench.common)?.get(&format!("{PATH}{query}"), "application/json")?;
            shown.push(Shown::of(server.side, &answer)?);
        }
        same_work(&shown, Some(objects))
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement> {
        let server = bench.going(server)?;
        let arguments = match self {
            Large::Resident => return resident(bench, case, side, server),
            Large::ParallelLists => {
                format!("lists --parallel {PARALLEL} --connections {PARALLEL} --count {LISTS}")
            }
            Large::Pages => format!(
                "pages --limit {PAGE} --parallel {WALKERS} --connections {WALKERS} --seconds {} --warmup {}",
                bench.seconds,
                bench.warm_up.as_secs_f64()
            ),
        };
        let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        arguments.extend(["--path".to_owned(), PATH.to_owned()]);
        let (told, seen) = own::run(bench, server, &arguments, &["walk_p50_us", "walk_p99_us"])?;
        let seen = seen.context("the load client told no window")?;
        Ok(bench.measurement(case, side, "ringbolt-bench load", told, seen))
    }
}

/// Memory and CPU while nothing is asked.
fn resident(bench: &Bench, case: &Case, side: Side, server: &Server) -> Result<Measurement> {
    let window = Window::open(server, ClientCpu::Children)?;
    std::thread::sleep(std::time::Duration::from_secs_f64(bench.seconds));
    let seen = window.close(server)?;
    let grown = seen.rss_kib.saturating_sub(server.empty_rss_kib);
    let extra = BTreeMap::from([
        ("empty_rss_kib".to_owned(), server.empty_rss_kib as f64),
        ("grown_kib".to_owned(), grown as f64),
        ("object_kib".to_owned(), grown as f64 / bench.large as f64),
    ]);
    let latency = Latency::default();
    let told = Told { seconds: seen.seconds, operations: 0, errors: 0, bytes: 0, latency, extra };
    Ok(bench.measurement(case, side, "none", told, seen))
}

/// All cases of 10,000 pods but for the selections.
pub(super) fn cases(large: usize) -> Vec<Case> {
    let case = |name: &str, about: String, connections: u32, objects: u64, runs_max: u32, work: Large| Case {
        name: name.to_owned(),
        about,
        stage: Stage::Large,
        shape: Shape {
            connections,
            streams: u32::from(connections > 0),
            in_flight: connections,
            object_bytes: 4096,
            objects,
            protocol: if connections > 0 { "h2" } else { "" }.to_owned(),
            encoding: if connections > 0 { "json" } else { "" }.to_owned(),
            updates_per_second: 0,
        },
        nginx: false,
        runs_max,
        sides: &[Side::Ringbolt, Side::Peer],
        work: Box::new(work),
    };
    let all = large as u64;
    let pods = thousands(all);
    vec![
        // Once a server is filled: filling it anew for each run would take longer than everything else.
        case(
            "pods-resident",
            format!("memory of a server that holds {pods} pods of 4 KiB and is asked nothing"),
            0,
            all,
            1,
            Large::Resident,
        ),
        case(
            "list-paged",
            format!(
                "LIST of {pods} pods by pages of 500 with continue tokens; 4 walkers, an operation is a page"
            ),
            WALKERS,
            PAGE,
            u32::MAX,
            Large::Pages,
        ),
        case(
            "pods-parallel-lists",
            format!("20 LISTs of {pods} pods as JSON, 10 at the same time: peak memory"),
            PARALLEL,
            all,
            u32::MAX,
            Large::ParallelLists,
        ),
    ]
}
