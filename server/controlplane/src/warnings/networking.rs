//! Slices of endpoints, ingresses.

use ringbolt_machinery::{
    field::{child, index},
    value::Value,
};

use super::annotations;
use crate::{network, tree::Members, validation::maps};

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// Controllers that write addresses as they should be.
const CAREFUL: [&str; 2] = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/// Slices of endpoints.
pub(crate) fn endpoint_slice(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if old.is_none() && object.str_at(&["addressType"]) == Some("FQDN") {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    if CAREFUL.contains(&object.str_at(&["metadata", "labels", MANAGED_BY]).unwrap_or("")) {
        return;
    }
    let Some(slice) = object.as_map() else { return };
    for (at, endpoint) in maps(slice.items("endpoints")) {
        for (n, address) in endpoint.items("addresses").iter().enumerate() {
            let path = index(&child(&index("endpoints", at), "addresses"), n);
            warnings.extend(network::ip_warning(&path, address.as_str().unwrap_or("")));
        }
    }
}

/// Ingresses.
pub(crate) fn ingress(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let annotated = annotations(object).is_some_and(|a| a.get(INGRESS_CLASS).is_some());
    let classless = object.path(&["spec", "ingressClassName"]).is_none_or(Value::is_null);
    if old.is_none() && annotated && classless {
        warnings.push(format!(
            "annotation \"{INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
        ));
    }
}

/// Statuses of ingresses.
pub(crate) fn ingress_status(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let points = object.path(&["status", "loadBalancer", "ingress"]).and_then(Value::as_list);
    for (at, point) in points.into_iter().flatten().enumerate() {
        let ip = point.str_at(&["ip"]).unwrap_or("");
        if !ip.is_empty() {
            warnings.extend(network::ip_warning(&index("status.loadBalancer.ingress", at), ip));
        }
    }
}
