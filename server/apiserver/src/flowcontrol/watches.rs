//! How many watches hear of a write: what telling them costs is part of what the write costs.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use ringbolt_engine::counters;
use ringbolt_protocol::{query, request_info::RequestInfo};

use super::dealer::hash_flow;
use crate::limits::APF_WATCH_COUNTERS;

/// Counts watches by what they watch, in counters that are found by hash: two that share one are counted together,
/// which makes a write of the one look dearer than it is, never cheaper.
pub struct WatchTracker {
    counters: Box<[AtomicU32]>,
}

impl Default for WatchTracker {
    fn default() -> Self {
        WatchTracker { counters: counters(APF_WATCH_COUNTERS) }
    }
}

/// A watch that is counted for as long as this lives.
pub struct CountedWatch {
    tracker: Arc<WatchTracker>,
    counter: usize,
}

impl Drop for CountedWatch {
    fn drop(&mut self) {
        self.tracker.counters[self.counter].fetch_sub(1, Relaxed);
    }
}

impl WatchTracker {
    fn counter(info: &RequestInfo<'_>, namespace: &str, name: &str) -> usize {
        // The separator of a path is in none of them.
        let hash = hash_flow(info.api_group, info.resource) ^ hash_flow(namespace, name).rotate_left(17);
        hash as usize % APF_WATCH_COUNTERS
    }

    /// Counts a watch. Pods of one node are not: such a watch hears of few writes, and nobody can tell beforehand
    /// whether it hears of this one.
    pub fn register(self: &Arc<Self>, info: &RequestInfo<'_>, query: &str) -> Option<CountedWatch> {
        if info.resource == "pods" && names_a_node(query) {
            return None;
        }
        let counter = Self::counter(info, info.namespace, info.name);
        self.counters[counter].fetch_add(1, Relaxed);
        Some(CountedWatch { tracker: self.clone(), counter })
    }

    /// Watches that hear of a write: those of the resource, of its namespace, and of the object.
    pub fn interested(&self, info: &RequestInfo<'_>) -> u32 {
        let count = |namespace, name| self.counters[Self::counter(info, namespace, name)].load(Relaxed);
        let mut found = count("", "");
        if !info.namespace.is_empty() {
            found += count(info.namespace, "");
        }
        if !info.name.is_empty() {
            found += count(info.namespace, info.name);
        }
        found
    }
}

/// Whether a field selector asks for one value of `spec.nodeName`.
fn names_a_node(query: &str) -> bool {
    query::get(query, "fieldSelector").is_some_and(|selector| {
        selector.split(',').any(|term| {
            let value = term.trim().strip_prefix("spec.nodeName").and_then(|rest| rest.strip_prefix('='));
            value.is_some_and(|value| !value.trim_start_matches('=').is_empty())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info<'r>(method: &'r str, path: &'r str, query: &'r str) -> RequestInfo<'r> {
        RequestInfo::new(method, path, query).expect("a well-formed path")
    }

    #[test]
    fn a_write_counts_watches_of_all_namespaces_its_own_and_its_object() {
        let tracker = Arc::new(WatchTracker::default());
        let watch = |path, query| tracker.register(&info("GET", path, query), query);
        let everywhere = watch("/api/v1/pods", "watch=1");
        let kept = [
            watch("/api/v1/namespaces/a/pods", "watch=1"),
            watch("/api/v1/namespaces/b/pods", "watch=1"),
            watch("/api/v1/namespaces/a/pods", "watch=1&fieldSelector=metadata.name%3Dp"),
            watch("/api/v1/namespaces/a/configmaps", "watch=1"),
        ];
        assert!(kept.iter().all(Option::is_some));
        assert!(watch("/api/v1/pods", "watch=1&fieldSelector=spec.nodeName%3Dn").is_none());
        assert!(watch("/api/v1/pods", "watch=1&fieldSelector=spec.nodeName%3D").is_some());
        let check = |method, path, expect| {
            assert_eq!(tracker.interested(&info(method, path, "")), expect, "{method} {path}");
        };
        check("PUT", "/api/v1/namespaces/a/pods/p", 3);
        check("PUT", "/api/v1/namespaces/a/pods/q", 2);
        check("POST", "/api/v1/namespaces/b/pods", 2);
        check("POST", "/api/v1/namespaces/c/pods", 1);
        check("POST", "/api/v1/namespaces/a/configmaps", 1);
        check("PUT", "/apis/apps/v1/namespaces/a/deployments/p", 0);
        drop((everywhere, kept));
        check("PUT", "/api/v1/namespaces/a/pods/p", 0);
    }
}
