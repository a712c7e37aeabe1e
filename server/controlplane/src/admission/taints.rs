//! TaintNodesByCondition: a new node is not ready until its kubelet says so.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::value::Value;

use crate::tree::{Members, list_mut, map, root};

/// Taint of a node that is not ready (`v1.TaintNodeNotReady`).
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// Taint of a node that nobody hears of (`v1.TaintNodeUnreachable`).
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Taints a new node.
pub(super) fn admit<'a>(attributes: &Attributes<'_>, arena: &'a Bump, node: &mut Value<'a>) {
    if attributes.operation != Operation::Create || !attributes.is("", "nodes") {
        return;
    }
    let spec = root(arena, node).map_mut("spec");
    let is_tainted = |taint: &Value<'_>| {
        taint.as_map().is_some_and(|t| t.text("key") == NOT_READY && t.text("effect") == "NoSchedule")
    };
    if !spec.items("taints").iter().any(is_tainted) {
        let taint = [("key", Value::String(NOT_READY)), ("effect", Value::String("NoSchedule"))];
        list_mut(spec, "taints").push(map(arena, taint));
    }
}
