//! Cases of custom resources: LIST and GET of them, writes, and what definitions cost in memory.

use std::collections::BTreeMap;

use super::{
    Case, Stage, Work,
    get::{Client, Get, JSON},
    writes::{self, Verb},
};
use crate::{
    compare::{
        bench::Bench,
        latency::Latency,
        seed,
        server::Server,
        window::{ClientCpu, Window},
        wrk::Told,
    },
    error::Result,
    objects::{NAMESPACE, widgets},
    result::{Measurement, Shape, Side},
};

/// Custom resources in the store.
pub const WIDGETS: usize = 1_000;
/// Connections of a LIST, as those of pods.
const CONNECTIONS: u32 = 4;
/// Definitions whose memory is measured.
const DEFINITIONS: usize = 100;

/// Memory of definitions.
struct Definitions;

impl Work for Definitions {
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn check(&self, _: &Bench, _: &[Server]) -> Result<()> {
        Ok(())
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement> {
        let server = bench.going(server)?;
        let before = server.rss_kib();
        let window = Window::open(server, ClientCpu::Children)?;
        for number in 0..DEFINITIONS {
            seed::definition(server, &bench.common, &format!("gadgets{number}"), &format!("Gadget{number}"))?;
        }
        let seen = window.close(server)?;
        let grown = seen.rss_kib.saturating_sub(before);
        let extra = BTreeMap::from([("definition_kib".to_owned(), grown as f64 / DEFINITIONS as f64)]);
        let latency = Latency::default();
        let operations = DEFINITIONS as u64;
        let told = Told { seconds: seen.seconds, operations, errors: 0, bytes: 0, latency, extra };
        Ok(bench.measurement(case, side, "ringbolt-bench", told, seen))
    }
}

/// All cases of custom resources.
pub(super) fn cases() -> Vec<Case> {
    let path = widgets(NAMESPACE);
    let list = Get { path: path.clone(), accept: JSON, objects: Some(WIDGETS), client: Client::Load };
    let get =
        Get { path: format!("{path}/widget-00000"), accept: JSON, objects: Some(1), client: Client::H2load };
    let about = format!("LIST of 1,000 custom resources of 1 KiB; {CONNECTIONS} connections");
    let mut all = vec![
        case("list-custom-json", about, (CONNECTIONS, 1, "http/1.1"), WIDGETS, Box::new(list)),
        case(
            "get-custom-h2",
            "GET of a custom resource of 1 KiB as JSON, most recent; 8 connections × 32 streams".to_owned(),
            (8, 32, "h2"),
            1,
            Box::new(get),
        ),
    ];
    for verb in [Verb::Create, Verb::Update, Verb::MergePatch, Verb::Apply] {
        all.push(writes::custom_case(verb));
    }
    // Last: what was measured before has one definition beside it.
    let about = format!(
        "{DEFINITIONS} definitions, each created and waited for until it is served: memory and CPU of one"
    );
    let mut definitions = case("definitions", about, (1, 1, "h2"), 0, Box::new(Definitions));
    definitions.runs_max = 1;
    all.push(definitions);
    all
}

fn case(
    name: &str,
    about: String,
    (connections, streams, protocol): (u32, u32, &str),
    objects: usize,
    work: Box<dyn Work>,
) -> Case {
    Case {
        name: name.to_owned(),
        about,
        stage: Stage::Custom,
        shape: Shape {
            connections,
            streams,
            in_flight: connections * streams,
            object_bytes: 1024,
            objects: objects as u64,
            protocol: protocol.to_owned(),
            encoding: "json".to_owned(),
            updates_per_second: 0,
        },
        nginx: false,
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt, Side::Peer],
        work,
    }
}
