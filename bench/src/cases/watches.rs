//! Cases of watches by our own client: fan-out of updates to 1,000 watchers, and 10,000 that nothing comes of.

use super::{Case, Stage, Work};
use crate::{
    compare::{
        bench::Bench,
        check::{Shown, same_work},
        own, seed,
        server::Server,
    },
    error::{Context as _, Result},
    objects::NAMESPACE,
    result::{Measurement, Shape, Side},
};

/// Updates a second that are asked for.
const RATES: [u32; 4] = [20, 50, 200, 1000];

/// What of the client's outcome belongs to a case.
const KEEP: &[&str] = &[
    "established_ms",
    "updates_due",
    "updates_acknowledged",
    "update_p50_us",
    "update_p99_us",
    "delay_from_ack_p99_us",
    "events_expected",
    "events_missing",
    "watches_ended",
];

/// Watches of a namespace.
struct Watches {
    connections: u32,
    streams: u32,
    /// 0: one update at the end.
    updates_per_second: u32,
}

impl Work for Watches {
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn check(&self, bench: &Bench, servers: &[Server]) -> Result<()> {
        let mut shown = Vec::new();
        for server in servers {
            let name = format!("check-{}-{}", self.connections, self.updates_per_second);
            seed::config_map(server, &bench.common, &name)?;
            let path = format!(
                "/api/v1/namespaces/{NAMESPACE}/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D{name}"
            );
            let answer = server.measured_client(&bench.common)?.get(&path, "application/json")?;
            let events = answer.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            shown.push(Shown {
                side: server.side,
                status: answer.status,
                media_type: answer.content_type.clone(),
                objects: events.count(),
                length: answer.body.len(),
            });
        }
        same_work(&shown, Some(1))
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement> {
        let server = bench.going(server)?;
        let load = if self.updates_per_second == 0 { "idle-watches" } else { "watch" };
        let mut arguments = vec![load.to_owned()];
        let mut flag = |name: &str, value: String| arguments.extend([format!("--{name}"), value]);
        flag("connections", self.connections.to_string());
        flag("streams", self.streams.to_string());
        flag("seconds", bench.seconds.to_string());
        // A namespace of its own for each run: objects of an earlier one would already have what is written to them.
        flag("namespace-prefix", format!("{}-{:x}-", case.name, jiff::Timestamp::now().as_millisecond()));
        if self.updates_per_second > 0 {
            flag("updates-per-second", self.updates_per_second.to_string());
        }
        let (told, seen) = own::run(bench, server, &arguments, KEEP)?;
        let seen = seen.context("the load client told no window")?;
        Ok(bench.measurement(case, side, "ringbolt-bench load", told, seen))
    }
}

/// All cases of watches.
pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![case("idle-watches".to_owned(), 100, 100, 0)];
    for (name, connections, streams) in [("watch-10x100", 10, 100), ("watch-1000", 1000, 1)] {
        for rate in RATES {
            all.push(case(format!("{name}-{rate}"), connections, streams, rate));
        }
    }
    all
}

fn case(name: String, connections: u32, streams: u32, updates_per_second: u32) -> Case {
    let watches = connections * streams;
    let about = if updates_per_second == 0 {
        format!(
            "{watches} watches on {connections} connections of which nothing comes: memory, then one event to all"
        )
    } else {
        format!(
            "{updates_per_second} updates a second of ConfigMaps of 1 KiB to {watches} watchers on {connections} connections; \
             an operation is an event delivered, latency is from sending the update to delivery"
        )
    };
    Case {
        name,
        about,
        stage: Stage::Watches,
        shape: Shape {
            connections,
            streams,
            in_flight: 0,
            object_bytes: 1024,
            objects: 0,
            protocol: "h2".to_owned(),
            encoding: "json".to_owned(),
            updates_per_second,
        },
        nginx: false,
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt, Side::Peer],
        work: Box::new(Watches { connections, streams, updates_per_second }),
    }
}
