//! What clients are warned about with services.

use ringbolt_machinery::{
    field::{index, quote},
    value::Value,
};

use crate::{
    network,
    tree::Members,
    validation::{service::is_headless, with_map},
};

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";

/// Of a service that is made or changed.
pub(crate) fn service(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if object.path(&["metadata", "annotations", HINTS]).is_some() {
        warnings.push(format!("annotation {HINTS} is deprecated, please use {MODE} instead"));
    }
    with_map(object, "spec", |spec| {
        let addresses = |member: &'static str| {
            let texts = spec.items(member).iter().filter_map(Value::as_str).enumerate();
            texts.filter_map(move |(at, text)| {
                network::ip_warning(&index(&format!("spec.{member}"), at), text)
            })
        };
        let (kind, headless) = (spec.text("type"), is_headless(spec));
        let external = !spec.lacks("externalIPs");
        if !matches!(spec.text("clusterIP"), "" | "None") {
            warnings.extend(addresses("clusterIPs"));
        }
        if headless {
            if !spec.text("loadBalancerIP").is_empty() {
                warnings.push("spec.loadBalancerIP is ignored for headless services".to_owned());
            }
            if external {
                warnings.push("spec.externalIPs is ignored for headless services".to_owned());
            }
            if spec.text("sessionAffinity") != "None" {
                warnings.push("spec.SessionAffinity is ignored for headless services".to_owned());
            }
        }
        warnings.extend(addresses("externalIPs"));
        if external && !headless && kind != "ExternalName" {
            let why = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
            warnings.push(why.to_owned());
        }
        warnings.extend(network::ip_warning("spec.loadBalancerIP", spec.text("loadBalancerIP")));
        for (at, range) in spec.items("loadBalancerSourceRanges").iter().enumerate() {
            let path = index("spec.loadBalancerSourceRanges", at);
            warnings.extend(network::cidr_warning(&path, range.as_str().unwrap_or("")));
        }
        if kind == "ExternalName" && external {
            warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
        }
        if kind != "ExternalName" && !spec.text("externalName").is_empty() {
            warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
        }
        if spec.text("trafficDistribution") == "PreferClose" {
            warnings.push(format!(
                "spec.trafficDistribution: {} is deprecated; use {}",
                quote("PreferClose"),
                quote("PreferSameZone")
            ));
        }
    });
}

/// Of a service whose status is changed.
pub(crate) fn service_status(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let ingress = object.path(&["status", "loadBalancer", "ingress"]).and_then(Value::as_list);
    for (at, point) in ingress.into_iter().flatten().enumerate() {
        let path = index("status.loadBalancer.ingress", at);
        warnings.extend(network::ip_warning(&path, point.str_at(&["ip"]).unwrap_or("")));
    }
}
