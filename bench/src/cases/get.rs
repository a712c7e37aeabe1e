//! Cases of one GET again and again, by wrk over HTTP/1.1 or by h2load over HTTP/2: health, one object.

use std::time::Duration;

use super::{Case, Stage, Work};
use crate::{
    compare::{
        bench::Bench,
        check::{Shown, same_work},
        h2load, limits,
        server::Server,
        window::Window,
        wrk,
    },
    error::Result,
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
    /// Whether by h2load.
    pub(super) h2: bool,
}

impl Get {
    fn load(&self, bench: &Bench, case: &Case, server: &Server, seconds: f64) -> Result<wrk::Told> {
        let headers = [
            ("Authorization", format!("Bearer {}", bench.common.admin_token)),
            ("Accept", self.accept.to_owned()),
        ];
        let load = wrk::Load {
            url: &format!("https://127.0.0.1:{}{}", server.port, self.path),
            headers: &headers,
            connections: case.shape.connections,
            streams: case.shape.streams,
            seconds,
        };
        if self.h2 { h2load::run(&load, &bench.scratch) } else { wrk::run(&load, &bench.scratch) }
    }
}

impl Work for Get {
    fn programs(&self) -> &'static [&'static str] {
        if self.h2 { &["h2load"] } else { &["wrk"] }
    }

    fn check(&self, bench: &Bench, servers: &[Server]) -> Result<()> {
        let mut shown = Vec::new();
        for server in servers {
            let answer = server.client(&bench.common)?.get(&self.path, self.accept)?;
            shown.push(Shown::of(server.side, &answer)?);
        }
        same_work(&shown, self.objects)
    }

    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement> {
        let server = bench.going(server)?;
        self.load(bench, case, server, bench.warm_up.as_secs_f64())?;
        std::thread::sleep(Duration::min(limits::SETTLE, bench.warm_up));
        let window = Window::open(server)?;
        let told = self.load(bench, case, server, bench.seconds)?;
        let seen = window.close(server)?;
        Ok(bench.measurement(case, side, if self.h2 { "h2load" } else { "wrk" }, told, seen))
    }
}

/// Healthz, and a ConfigMap in all its ways.
pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for h2 in [false, true] {
        let work = Get { path: "/healthz".to_owned(), accept: "*/*", objects: None, h2 };
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
        for h2 in [false, true] {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}{query}");
            all.push(case(variant, about, Get { path, accept, objects: Some(1), h2 }));
        }
    }
    all
}

fn case(name: &str, about: &str, work: Get) -> Case {
    let (suffix, protocol, connections, streams) =
        if work.h2 { ("h2", "h2", 8, 32) } else { ("h1", "http/1.1", 64, 1) };
    let how = if work.h2 { "8 connections × 32 streams" } else { "64 connections" };
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
        work: Box::new(work),
    }
}
