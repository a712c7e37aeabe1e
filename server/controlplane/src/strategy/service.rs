//! Services.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    validation::names,
    value::{Map, Value},
};

use super::{Rules, selectable::SERVICE};
use crate::{
    tree::{Members, list, root},
    validation, warnings,
};

pub(super) fn rules() -> Rules {
    Rules {
        name: names::name_is_dns_label,
        create_on_update: true,
        returns_deleted: true,
        selectable: &SERVICE,
        prepare_for_create: Some(prepare),
        prepare_for_update: Some(prepare_update),
        validate: Some(validation::service::validate),
        validate_update: Some(validation::service::validate_update),
        warnings: Some(warnings::service),
        status_warnings: Some(warnings::service_status),
        ..Rules::STATUS
    }
}

fn prepare<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    // What decoding an empty status makes of it.
    let root = root(arena, object);
    root.map_mut("status").map_mut("loadBalancer");
    let spec = root.map_mut("spec");
    if spec.text("type") == "ExternalName" {
        spec.remove("internalTrafficPolicy");
    }
    if !spec.lacks("clusterIP") && spec.lacks("clusterIPs") {
        let address = spec.text("clusterIP");
        spec.insert("clusterIPs", list(arena, [Value::String(address)]));
    }
}

fn prepare_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part != Part::Main {
        return;
    }
    let root = root(arena, object);
    let empty = Map::new_in(arena);
    let was = old.path(&["spec"]).map(|s| s.copy_into(arena));
    let was = was.as_ref().and_then(Value::as_map).unwrap_or(&empty);
    let spec = root.map_mut("spec");
    drop_type_dependent(spec, was);
    keep_allocated(spec, was);
    match_cluster_addresses(arena, spec, was);
    if spec.text("type") == "ExternalName" {
        spec.remove("internalTrafficPolicy");
    }
    if spec.text("type") != "LoadBalancer" {
        let status = root.map_mut("status");
        status.insert("loadBalancer", Value::Map(Map::new_in(arena)));
    }
}

/// Addresses and ports that an update leaves out stay what they are as long as the service needs them.
fn keep_allocated<'a>(spec: &mut Map<'a>, was: &Map<'a>) {
    let needs_ip = |spec: &Map<'_>| spec.text("type") != "ExternalName";
    if needs_ip(was) && needs_ip(spec) {
        for key in ["clusterIP", "clusterIPs"] {
            if let Some(value) = was.get(key).filter(|_| spec.lacks(key)) {
                spec.insert(key, value.clone());
            }
        }
        for key in ["ipFamilyPolicy", "ipFamilies"] {
            if let Some(value) = was.get(key).filter(|_| spec.lacks(key)) {
                spec.insert(key, value.clone());
            }
        }
    }
    let open = |spec: &Map<'_>| kind_in(spec, &["NodePort", "LoadBalancer"]);
    if open(was) && open(spec) {
        let ports = |spec: &Map<'a>| -> Vec<(&'a str, i64)> {
            let ports = spec.items("ports").iter().filter_map(Value::as_map);
            ports.map(|p| (p.text("name"), p.int("nodePort").unwrap_or(0))).collect()
        };
        let (before, given) = (ports(was), ports(spec));
        spec.each_mut("ports", |port| {
            let Some((_, old)) = before.iter().rev().find(|(name, _)| *name == port.text("name")) else {
                return;
            };
            if *old != 0 && !given.iter().any(|(_, p)| p == old) {
                port.default_zero("nodePort", Value::Int(*old));
            }
        });
    }
    let checked =
        |spec: &Map<'_>| spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local";
    if let (true, Some(port)) = (checked(was) && checked(spec), was.int("healthCheckNodePort")) {
        spec.default_zero("healthCheckNodePort", Value::Int(port));
    }
}

/// `clusterIPs` follows `clusterIP` where only that was changed.
fn match_cluster_addresses<'a>(arena: &'a Bump, spec: &mut Map<'a>, was: &Map<'a>) {
    let (new, old) = (spec.text("clusterIP"), was.text("clusterIP"));
    if new != old && crate::tree::same(spec.get("clusterIPs"), was.get("clusterIPs")) {
        let addresses = (!new.is_empty()).then(|| list(arena, [Value::String(new)]));
        spec.put("clusterIPs", addresses);
    }
}

/// Whether a service's type is one of some.
pub(crate) fn kind_in(spec: &Map<'_>, kinds: &[&str]) -> bool {
    kinds.contains(&spec.text("type"))
}

/// Fields that the old type needed and the new one does not are dropped where the client just sent them back.
fn drop_type_dependent<'a>(spec: &mut Map<'a>, was: &Map<'a>) {
    let same = |spec: &Map<'_>, key: &str| {
        let absent = |v: Option<&Value<'_>>| v.is_none_or(crate::tree::is_zero);
        crate::tree::same(spec.get(key), was.get(key)) || (absent(spec.get(key)) && absent(was.get(key)))
    };
    let needs = |kinds: &'static [&'static str]| move |spec: &Map<'_>| kind_in(spec, kinds);
    let needs_ip = |spec: &Map<'_>| spec.text("type") != "ExternalName";
    if needs_ip(was) && !needs_ip(spec) {
        if same(spec, "clusterIP") && same(spec, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if same(spec, key) {
                spec.remove(key);
            }
        }
    }
    let needs_port = needs(&["NodePort", "LoadBalancer"]);
    let ports = |spec: &Map<'_>| -> Vec<i64> {
        let items = spec.items("ports").iter().filter_map(Value::as_map);
        items.filter_map(|p| p.int("nodePort")).filter(|p| *p != 0).collect()
    };
    if needs_port(was) && !needs_port(spec) && ports(spec).iter().all(|p| ports(was).contains(p)) {
        spec.each_mut("ports", |port| {
            port.remove("nodePort");
        });
    }
    let needs_health_check =
        |spec: &Map<'_>| spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local";
    if needs_health_check(was) && !needs_health_check(spec) && same(spec, "healthCheckNodePort") {
        spec.remove("healthCheckNodePort");
    }
    let balances = needs(&["LoadBalancer"]);
    if balances(was) && !balances(spec) {
        for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(spec, key) {
                spec.remove(key);
            }
        }
    }
    if externally_accessible(was) && !externally_accessible(spec) && same(spec, "externalTrafficPolicy") {
        spec.remove("externalTrafficPolicy");
    }
}

/// Whether a service can be reached from outside, so that `externalTrafficPolicy` means something.
pub(crate) fn externally_accessible(spec: &Map<'_>) -> bool {
    kind_in(spec, &["NodePort", "LoadBalancer"])
        || (kind_in(spec, &["ClusterIP"]) && !spec.lacks("externalIPs"))
}
