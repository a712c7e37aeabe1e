//! ExtendedResourceToleration: pods that ask for a device tolerate the taint that keeps others off its nodes.

use std::collections::BTreeSet;

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::value::{Map, Value};

use crate::{
    tree::{Members, list_mut, map, root},
    validation::resource_name::is_extended,
};

/// Gives a pod a toleration for each extended resource it requests.
pub(super) fn admit<'a>(attributes: &Attributes<'_>, arena: &'a Bump, pod: &mut Value<'a>) {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    if !writes || !attributes.is("", "pods") {
        return;
    }
    let spec = root(arena, pod).map_mut("spec");
    let mut requested = BTreeSet::new();
    for container in ["containers", "initContainers"].iter().flat_map(|list| spec.items(list)) {
        let requests = container.path(&["resources", "requests"]).and_then(Value::as_map);
        let names = requests.into_iter().flat_map(Map::iter).map(|(name, _)| name);
        requested.extend(names.filter(|name| is_extended(name)));
    }
    for resource in requested {
        let toleration = || {
            let text = Value::String;
            map(
                arena,
                [("key", text(resource)), ("operator", text("Exists")), ("effect", text("NoSchedule"))],
            )
        };
        let is_it = |toleration: &Map<'_>| {
            toleration.text("key") == resource
                && toleration.text("operator") == "Exists"
                && toleration.text("effect") == "NoSchedule"
                && toleration.text("value").is_empty()
        };
        let tolerations = list_mut(spec, "tolerations");
        let mut found = false;
        for known in tolerations.iter_mut().filter(|known| known.as_map().is_some_and(is_it)) {
            *known = toleration();
            found = true;
        }
        if !found {
            tolerations.push(toleration());
        }
    }
}
