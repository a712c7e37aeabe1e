//! Cases of one GET again and again: health, one object.

use std::time::Duration;

use super::{Case, Stage, Work};
use crate::{
    compare::{
        bench::Bench,
        check::{Shown, same_work},
        h2load, limits, own,
        server::Server,
        window::{ClientCpu, Seen, Window},
        wrk::{self, Told},
    },
    error::{Context as _, Error, Result},
    objects::NAMESPACE,
    result::{Measurement, Shape, Side},
};

/// Media type of JSON.
pub(super) const JSON: &str = "application/json";
/// Media type of Kubernetes' protobuf.
pub(super) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The ConfigMap that is read.
pub const CONFIG_MAP: &str = "settings";

/// One path, asked again and again.
pub(super) struct Get {
    /// Path and query.
    pub(super) path: String,
    /// `Accept`.
    pub(super) accept: &'static str,
    /// Objects in the answer, where that is known.
    pub(super) objects: Option<usize>,
    /// By what.
    pub(super) client: Client,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// wrk, over HTTP/1.1.
    Wrk,
    /// h2load, over HTTP/2.
    H2load,
    /// Our own, over HTTP/1.1. Its window opens under load and closes under load, so that of the few long answers none
    /// is cut: wrk would count the CPU of those that were under way when its time was over.
    Load,
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::Wrk => "wrk",
            Client::H2load => "h2load",
            Client::Load => "ringbolt-bench load",
        }
    }
}

impl Get {
    fn load(&self, bench: &Bench, case: &Case, server: &Server, seconds: f64) -> Result<Told> {
        let headers =
            [("Authorization", format!("Bearer {}", bench.common.token)), ("Accept", self.accept.to_owned())];
        let load = wrk::Load {
            url: &format!("https://127.0.0.1:{}{}", server.port, self.path),
            headers: &headers,
            connections: case.shape.connections,
            streams: case.shape.streams,
            seconds,
        };
        match self.client {
            Client::H2load => h2load::run(&load, &bench.scratch),
            _ => wrk::run(&load, &bench.scratch),
        }
    }

    fn by_own_client(&self, bench: &Bench, case: &Case, server: &Server) -> Result<(Told, Seen)> {
        let connections = case.shape.connections.to_string();
        let arguments = [
            "lists",
            "--protocol",
            "h1",
            "--connections",
            &connections,
            "--parallel",
            &connections,
            "--encoding",
            &case.shape.encoding,
            "--path",
            &self.path,
            "--seconds",
            &bench.seconds.to_string(),
            "--warmup",
            &bench.warm_up.as_secs_f64().to_string(),
        ];
        let (told, seen) = own::run(bench, server, &arguments.map(str::to_owned), &[])?;
        Ok((told, seen.context("the load client told no window")?))
    }
}

impl Work for Get {
    fn programs(&self) -> &'static [&'static str] {
        match self.client {
            Client::Wrk => &["wrk"],
            Client::H2load => &["h2load"],
            Client::Load => &[],
        }
    }

    fn check(&self, bench: &Bench, servers: &[Server]) -> Result<()> {
        let mut shown = Vec::new();
        for server in servers {
            let answer = server.measured_client(&bench.common)?.get(&self.path, self.accept)?;
            shown.push(Shown::of(server.side, &answer)?);
        }
        same_work(&shown, self.objects)
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement> {
        let server = bench.going(server)?;
        let (told, seen) = if self.client == Client::Load {
            self.by_own_client(bench, case, server)?
        } else {
            self.load(bench, case, server, bench.warm_up.as_secs_f64())?;
            std::thread::sleep(Duration::min(limits::SETTLE, bench.warm_up));
            let window = Window::open(server, ClientCpu::Children)?;
            let told = self.load(bench, case, server, bench.seconds)?;
            (told, window.close(server)?)
        };
        if told.operations == 0 && told.errors == 0 {
            return Err(Error::new("no request was answered within the window: give more --seconds"));
        }
        Ok(bench.measurement(case, side, self.client.name(), told, seen))
    }
}

/// Healthz, and a ConfigMap in all its ways.
pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for client in [Client::Wrk, Client::H2load] {
        let work = Get { path: "/healthz".to_owned(), accept: "*/*", objects: None, client };
        all.push(case("healthz", "GET /healthz: the chain of filters and no object", work));
    }
    for (variant, query, accept, about) in [
        ("get", "", JSON, "GET of a ConfigMap of 1 KiB as JSON, most recent"),
        ("get-rv0", "?resourceVersion=0", JSON, "GET of a ConfigMap of 1 KiB as JSON, resourceVersion=0"),
        ("get-protobuf", "", PROTOBUF, "GET of a ConfigMap of 1 KiB as protobuf, most recent"),
        (
            "get-rv0-protobuf",
            "?resourceVersion=0",
            PROTOBUF,
            "GET of a ConfigMap of 1 KiB as protobuf, resourceVersion=0",
        ),
    ] {
        for client in [Client::Wrk, Client::H2load] {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}{query}");
            all.push(case(variant, about, Get { path, accept, objects: Some(1), client }));
        }
    }
    all
}

fn case(name: &str, about: &str, work: Get) -> Case {
    let (suffix, protocol, connections, streams) =
        if work.client == Client::H2load { ("h2", "h2", 8, 32) } else { ("h1", "http/1.1", 64, 1) };
    let how = if work.client == Client::H2load { "8 connections × 32 streams" } else { "64 connections" };
    Case {
        name: format!("{name}-{suffix}"),
        about: format!("{about}; {how}"),
        stage: Stage::Small,
        shape: Shape {
            connections,
            streams,
            in_flight: connections * streams,
            object_bytes: if work.objects.is_some() { 1024 } else { 0 },
            objects: u64::from(work.objects.is_some()),
            protocol: protocol.to_owned(),
            encoding: if work.accept == PROTOBUF { "protobuf" } else { "json" }.to_owned(),
            updates_per_second: 0,
        },
        // The reference answers as many bytes as the plainest GET.
        nginx: name == "get",
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt, Side::Peer],
        work: Box::new(work),
    }
}
