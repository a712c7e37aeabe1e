//! LimitPodHardAntiAffinityTopology: a pod keeps others off its node at most, not off a whole zone.

use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{status::Status, value::Value};

use crate::tree::Members;

/// The label of nodes that is allowed (`v1.LabelHostname`).
const HOST: &str = "kubernetes.io/hostname";

/// Refuses pods that ask for more.
pub(super) fn validate(attributes: &Attributes<'_>, pod: Option<&Value<'_>>) -> Result<(), Status> {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    let Some(pod) = pod.filter(|_| writes && attributes.is("", "pods")) else { return Ok(()) };
    let terms =
        pod.path(&["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"]);
    let terms = terms.and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_map);
    match terms.map(|term| term.text("topologyKey")).find(|key| *key != HOST) {
        None => Ok(()),
        Some(key) => Err(attributes.forbidden(&format!(
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOST} is allowed"
        ))),
    }
}
