//! DefaultTolerationSeconds: how long a pod stays on a node that is gone, where it does not say.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::value::{Map, Value};

use super::{
    Config,
    taints::{NOT_READY, UNREACHABLE},
};
use crate::tree::{Members, list_mut, map, root};

/// Adds the two tolerations that a pod lacks.
pub(super) fn admit<'a>(config: &Config, attributes: &Attributes<'_>, arena: &'a Bump, pod: &mut Value<'a>) {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    if !writes || !attributes.is("", "pods") {
        return;
    }
    let spec = root(arena, pod).map_mut("spec");
    for (taint, seconds) in [(NOT_READY, config.not_ready_seconds), (UNREACHABLE, config.unreachable_seconds)]
    {
        let tolerates = |toleration: &Map<'_>| {
            let covers =
                |key: &str, value: &str| matches!(toleration.text(key), t if t.is_empty() || t == value);
            covers("key", taint) && covers("effect", "NoExecute")
        };
        if spec.items("tolerations").iter().filter_map(Value::as_map).any(tolerates) {
            continue;
        }
        let toleration = [
            ("key", Value::String(taint)),
            ("operator", Value::String("Exists")),
            ("effect", Value::String("NoExecute")),
            ("tolerationSeconds", Value::Int(seconds)),
        ];
        list_mut(spec, "tolerations").push(map(arena, toleration));
    }
}
