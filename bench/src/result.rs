//! What one run of one case on one server measured: a JSON line of a results file.

use serde::{Deserialize, Serialize};

/// Which server a run was against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Ringbolt.
    Ringbolt,
    /// The Go kube-apiserver with its etcd.
    Peer,
    /// nginx with a static reply of the same size, a reference near the limit.
    Nginx,
}

/// The shape of a load. What does not apply is 0 or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shape {
    /// Connections of the client.
    pub connections: u32,
    /// Streams in flight on each connection (HTTP/2), else 1.
    pub streams: u32,
    /// Requests in flight over all connections.
    pub in_flight: u32,
    /// Bytes of one object, as it was sent or asked for.
    pub object_bytes: u64,
    /// Objects in an answer or in the store, where that is the point of the case.
    pub objects: u64,
    /// `http/1.1` or `h2`.
    pub protocol: String,
    /// `json` or `protobuf`.
    pub encoding: String,
    /// Updates a second that a watch case asks for.
    pub updates_per_second: u32,
}

/// CPU seconds of one process during the measured window, from `/proc/PID/stat` or finer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessCpu {
    /// `ringbolt`, `kube-apiserver`, `etcd`, `nginx`, or the client's name.
    pub name: String,
    /// User seconds.
    pub user_seconds: f64,
    /// System seconds.
    pub system_seconds: f64,
}

/// One run of one case on one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The case's name: `get-h2`, `list-pods-json` …
    pub case: String,
    /// The server.
    pub side: Side,
    /// Number of this run among the interleaved ones, from 1.
    pub run: u32,
    /// The shape of the load.
    pub shape: Shape,
    /// `wrk`, `h2load` or `ringbolt-bench load`.
    pub client: String,
    /// Length of the measured window.
    pub seconds: f64,
    /// Requests answered as they should be (for watches: events delivered).
    pub operations: u64,
    /// Requests that failed, answers of another status, events lost.
    pub errors: u64,
    /// Bytes the client received.
    pub bytes: u64,
    /// CPU of each server process in the window; their sum by `operations` is the CPU a request.
    pub cpu: Vec<ProcessCpu>,
    /// CPU of the client, so that a client at its limit can be seen.
    pub client_cpu: Option<ProcessCpu>,
    /// Latency (for watches: from the writer's acknowledgement or send to delivery), microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<f64>,
    /// Latency curve: (percentile 0–100, microseconds), rising.
    #[serde(default)]
    pub latency_curve: Vec<(f64, f64)>,
    /// Resident memory of all server processes at the end, KiB.
    pub rss_kib: u64,
    /// Highest resident memory in the window, KiB.
    pub peak_rss_kib: u64,
    /// Memory over time: (seconds since the start of the window, KiB of all server processes).
    #[serde(default)]
    pub memory_curve: Vec<(f64, u64)>,
    /// What else a case measures, by name with unit: `ready_ms`, `idle_rss_kib`, `core_imbalance` …
    #[serde(default)]
    pub extra: std::collections::BTreeMap<String, f64>,
}

impl Measurement {
    /// CPU microseconds of all server processes a request; `None` without requests.
    #[must_use]
    pub fn cpu_us_per_operation(&self) -> Option<f64> {
        let seconds: f64 = self.cpu.iter().map(|cpu| cpu.user_seconds + cpu.system_seconds).sum();
        (self.operations > 0).then(|| seconds * 1e6 / self.operations as f64)
    }
}
