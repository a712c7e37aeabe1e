//! The scenarios: what is there before, what load, and what one operation is.

/// What counts as one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A request that was answered.
    Request,
    /// An event that a watch was sent.
    Event,
    /// Nothing happens: costs are told a second.
    Second,
}

impl Unit {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Request => "request",
            Unit::Event => "event",
            Unit::Second => "second",
        }
    }
}

/// What makes the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// wrk, HTTP/1.1.
    Wrk { connections: u32, path: &'static str },
    /// h2load, HTTP/2.
    H2load { connections: u32, streams: u32, path: &'static str, accept: &'static str },
    /// `ringbolt-bench load`, with these arguments; how long is appended.
    Bench(&'static [&'static str]),
}

/// A scenario.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What `ringbolt-bench load seed` makes first, if anything.
    pub seed: &'static [&'static str],
    /// The load.
    pub load: Load,
    /// What one operation is.
    pub unit: Unit,
}

const ONE_CONFIGMAP: &[&str] =
    &["--kind=configmaps", "--count=1", "--object-bytes=1024", "--namespace-prefix=get-", "--prefix=object"];
const CONFIGMAP: &str = "/api/v1/namespaces/get-0/configmaps/object-00000000";
const THOUSAND_PODS: &[&str] =
    &["--kind=pods", "--count=1000", "--object-bytes=4096", "--namespace-prefix=list-", "--prefix=pod"];
const PODS: &str = "/api/v1/namespaces/list-0/pods";
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "healthz",
        about: "GET /healthz, HTTP/1.1, 64 connections: the cost of a request that reads nothing",
        seed: &[],
        load: Load::Wrk { connections: 64, path: "/healthz" },
        unit: Unit::Request,
    },
    Scenario {
        name: "get-h1",
        about: "GET a ConfigMap of 1 KiB, HTTP/1.1, 64 connections",
        seed: ONE_CONFIGMAP,
        load: Load::Wrk { connections: 64, path: CONFIGMAP },
        unit: Unit::Request,
    },
    Scenario {
        name: "get-h2",
        about: "GET a ConfigMap of 1 KiB, HTTP/2, 8 connections of 32 streams",
        seed: ONE_CONFIGMAP,
        load: Load::H2load { connections: 8, streams: 32, path: CONFIGMAP, accept: JSON },
        unit: Unit::Request,
    },
    Scenario {
        name: "get-h2-1",
        about: "the same by one connection with one stream: nothing is batched",
        seed: ONE_CONFIGMAP,
        load: Load::H2load { connections: 1, streams: 1, path: CONFIGMAP, accept: JSON },
        unit: Unit::Request,
    },
    Scenario {
        name: "list-json",
        about: "LIST 1,000 pods of 4 KiB, JSON, HTTP/2, 8 connections",
        seed: THOUSAND_PODS,
        load: Load::H2load { connections: 8, streams: 1, path: PODS, accept: JSON },
        unit: Unit::Request,
    },
    Scenario {
        name: "list-protobuf",
        about: "LIST 1,000 pods of 4 KiB, protobuf, HTTP/2, 8 connections",
        seed: THOUSAND_PODS,
        load: Load::H2load { connections: 8, streams: 1, path: PODS, accept: PROTOBUF },
        unit: Unit::Request,
    },
    Scenario {
        name: "create-64",
        about: "create ConfigMaps of 1 KiB, 64 in flight on 2 connections, durable",
        seed: &[],
        load: Load::Bench(&["writes", "create", "--connections=2", "--in-flight=64", "--object-bytes=1024"]),
        unit: Unit::Request,
    },
    Scenario {
        name: "create-1",
        about: "create ConfigMaps of 1 KiB, one at a time, durable",
        seed: &[],
        load: Load::Bench(&["writes", "create", "--connections=1", "--in-flight=1", "--object-bytes=1024"]),
        unit: Unit::Request,
    },
    Scenario {
        name: "update-64",
        about: "update ConfigMaps of 1 KiB, 64 in flight on 2 connections, durable",
        seed: &[],
        load: Load::Bench(&["writes", "update", "--connections=2", "--in-flight=64", "--object-bytes=1024"]),
        unit: Unit::Request,
    },
    Scenario {
        name: "status",
        about: "update the status of pods of 4 KiB, 64 in flight on 2 connections, durable",
        seed: &[],
        load: Load::Bench(&["writes", "status", "--connections=2", "--in-flight=64", "--object-bytes=4096"]),
        unit: Unit::Request,
    },
    Scenario {
        name: "merge-patch",
        about: "merge patch of ConfigMaps of 1 KiB, 64 in flight on 2 connections, durable",
        seed: &[],
        load: Load::Bench(&[
            "writes",
            "merge-patch",
            "--connections=2",
            "--in-flight=64",
            "--object-bytes=1024",
        ]),
        unit: Unit::Request,
    },
    Scenario {
        name: "apply",
        about: "server-side apply of ConfigMaps of 1 KiB, 64 in flight on 2 connections, durable",
        seed: &[],
        load: Load::Bench(&["writes", "apply", "--connections=2", "--in-flight=64", "--object-bytes=1024"]),
        unit: Unit::Request,
    },
    Scenario {
        name: "watch-10x100",
        about: "200 updates a second to 1,000 watches: 10 connections of 100 streams",
        seed: &[],
        load: Load::Bench(&["watch", "--connections=10", "--streams=100", "--updates-per-second=200"]),
        unit: Unit::Event,
    },
    Scenario {
        name: "watch-1000",
        about: "20 updates a second to 1,000 watches on connections of their own",
        seed: &[],
        load: Load::Bench(&["watch", "--connections=1000", "--streams=1", "--updates-per-second=20"]),
        unit: Unit::Event,
    },
    Scenario {
        name: "idle-watches",
        about: "10,000 watches, 100 connections of 100 streams, of which nothing comes",
        seed: &[],
        load: Load::Bench(&["idle-watches", "--connections=100", "--streams=100"]),
        unit: Unit::Second,
    },
];

/// The scenario of this name.
pub fn find(name: &str) -> Result<&'static Scenario, String> {
    SCENARIOS
        .iter()
        .find(|scenario| scenario.name == name)
        .ok_or_else(|| format!("there is no scenario {name:?}; `perf/profile list` names them"))
}

/// One line a scenario.
pub fn list() -> String {
    SCENARIOS.iter().map(|scenario| format!("{:14} {}\n", scenario.name, scenario.about)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), SCENARIOS.len());
        for scenario in SCENARIOS {
            assert_eq!(find(scenario.name).map(|found| found.about), Ok(scenario.about));
            assert!(list().contains(scenario.about));
        }
        assert!(find("none").is_err());
    }
}
