//! Cases that start a side themselves while the other does not run: start-up, and two cores under uneven load.

use std::{collections::BTreeMap, time::Duration};

use super::{Case, Stage, Work, get};
use crate::{
    compare::{
        bench::Bench,
        h2load,
        latency::Latency,
        proc_fs, seed,
        server::{self, Readings, Server, cpu_between},
        window::{ClientCpu, Seen, Window},
        wrk::{self, Told},
    },
    error::{Error, Result},
    objects::NAMESPACE,
    result::{Measurement, Shape, Side},
};

/// From nothing to `/readyz`, and what it takes at rest after.
struct Start;

impl Work for Start {
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    fn check(&self, _: &Bench, _: &[Server]) -> Result<()> {
        // Both sides answer 200 at /readyz, or the run fails.
        Ok(())
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, _: Option<&Server>) -> Result<Measurement> {
        let server = server::start(side, &bench.common, &bench.server_cores, bench.ports)?;
        let started: Readings = server.cpu()?;
        // What is put off until after the start belongs to no state of rest.
        std::thread::sleep(bench.warm_up + Duration::from_secs(2));
        let window = Window::open(&server, ClientCpu::Children)?;
        std::thread::sleep(Duration::from_secs_f64(bench.seconds));
        let rest = window.close(&server)?;
        let at_rest: f64 = rest.cpu.iter().map(|cpu| cpu.user_seconds + cpu.system_seconds).sum();
        let ready = server.ready;
        server.end();
        let told = Told {
            seconds: ready.as_secs_f64(),
            operations: 1,
            errors: 0,
            bytes: 0,
            latency: Latency::default(),
            extra: BTreeMap::from([
                ("ready_ms".to_owned(), ready.as_secs_f64() * 1e3),
                ("cpu_at_rest_a_second_us".to_owned(), at_rest * 1e6 / rest.seconds),
            ]),
        };
        // The CPU of the case is that of the start; memory is that at rest.
        let seen = Seen { cpu: cpu_between(&Vec::new(), &started), ..rest };
        Ok(bench.measurement(case, side, "none", told, seen))
    }
}

/// One heavy client and light ones on a server of two cores.
struct Imbalance;

impl Work for Imbalance {
    fn programs(&self) -> &'static [&'static str] {
        &["h2load", "wrk"]
    }

    fn check(&self, _: &Bench, _: &[Server]) -> Result<()> {
        // The same GET as in `get-h2` and `get-h1`, and errors are counted.
        Ok(())
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, _: Option<&Server>) -> Result<Measurement> {
        let cores = bench.server_cores.with(&bench.client_cores);
        let server = server::start(side, &bench.common, &cores, bench.ports)?;
        seed::role(&server, &bench.common)?;
        seed::namespace(&server, &bench.common, NAMESPACE)?;
        seed::config_map(&server, &bench.common, get::CONFIG_MAP)?;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{}", get::CONFIG_MAP);
        let url = format!("https://127.0.0.1:{}{path}", server.port);
        let headers = [("Authorization", format!("Bearer {}", bench.common.token))];
        let load = |connections: u32, streams: u32, seconds: f64| wrk::Load {
            url: &url,
            headers: &headers,
            connections,
            streams,
            seconds,
        };
        wrk::run(&load(LIGHT, 1, bench.warm_up.as_secs_f64()), &bench.scratch)?;
        let before = server.cpu()?;
        let window = Window::open(&server, ClientCpu::Children)?;
        let (heavy, light) = std::thread::scope(|scope| {
            let heavy = scope.spawn(|| h2load::run(&load(1, HEAVY_STREAMS, bench.seconds), &bench.scratch));
            let light = wrk::run(&load(LIGHT, 1, bench.seconds), &bench.scratch);
            (heavy.join().unwrap_or_else(|_| Err(Error::new("the heavy client panicked"))), light)
        });
        let seen = window.close(&server)?;
        let (heavy, mut told) = (heavy?, light?);
        let imbalance = core_imbalance(&before, &server.cpu()?);
        told.extra.insert("heavy_per_second".to_owned(), heavy.operations as f64 / heavy.seconds);
        told.extra.insert("light_per_second".to_owned(), told.operations as f64 / told.seconds);
        told.extra.extend(imbalance.map(|value| ("core_imbalance".to_owned(), value)));
        told.operations += heavy.operations;
        told.errors += heavy.errors;
        told.bytes += heavy.bytes;
        server.end();
        Ok(bench.measurement(case, side, "h2load and wrk", told, seen))
    }
}

/// CPU of the busiest core thread by the mean of all; `None` for a server whose threads are not bound to cores, as
/// Go's are not.
fn core_imbalance(before: &Readings, after: &Readings) -> Option<f64> {
    let mut cores = Vec::new();
    for (_, pid, now) in after {
        let then = before.iter().find(|(_, other, _)| other == pid).map(|(_, _, reading)| reading)?;
        for (tid, seconds) in proc_fs::thread_seconds(then, now) {
            if proc_fs::thread_name(*pid, tid).starts_with("core-") {
                cores.push(seconds);
            }
        }
    }
    let most = cores.iter().copied().reduce(f64::max)?;
    let mean = cores.iter().sum::<f64>() / cores.len() as f64;
    (mean > 0.0).then_some(most / mean)
}

/// Connections of light clients.
const LIGHT: u32 = 16;
/// Streams of the heavy client, on one connection.
const HEAVY_STREAMS: u32 = 64;

/// All cases that start a side themselves.
pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, about: &str, shape: Shape, work: Box<dyn Work>| Case {
        name: name.to_owned(),
        about: about.to_owned(),
        stage: Stage::Alone,
        shape,
        nginx: false,
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt, Side::Peer],
        work,
    };
    let uneven = Shape {
        connections: LIGHT + 1,
        streams: 1,
        in_flight: LIGHT + HEAVY_STREAMS,
        object_bytes: 1024,
        objects: 1,
        protocol: "h2 and http/1.1".to_owned(),
        encoding: "json".to_owned(),
        ..Shape::default()
    };
    vec![
        case(
            "start",
            "from exec with an empty store to the first 200 of /readyz; CPU of the start, memory at rest some seconds later",
            Shape::default(),
            Box::new(Start),
        ),
        case(
            "core-imbalance",
            "a server on two cores, which it shares with the clients: one h2 connection with 64 streams and 16 HTTP/1.1 \
             connections, GET of a ConfigMap; latencies are those of the light clients",
            uneven,
            Box::new(Imbalance),
        ),
    ]
}
