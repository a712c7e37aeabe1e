//! Endpoints.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::qualified_name_errors,
    value::Value,
};

use super::{Errors, address, each_invalid, immutable, label, maps, one_of, port_number, subdomain};
use crate::{network, tree::Members};

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let subsets = object.path(&["subsets"]).and_then(Value::as_list);
    for (at, subset) in maps(subsets.map_or(&[], |s| s.as_slice())) {
        let path = index("subsets", at);
        if subset.lacks("addresses") && subset.lacks("notReadyAddresses") {
            errors
                .push(FieldError::required(path.clone(), "must specify `addresses` or `notReadyAddresses`"));
        }
        for list in ["addresses", "notReadyAddresses"] {
            for (at, one) in maps(subset.items(list)) {
                let path = index(&child(&path, list), at);
                let (ip, host) = (one.text("ip"), one.text("hostname"));
                address::legacy_ip(ip, &[], &child(&path, "ip"), errors);
                if !host.is_empty() {
                    label(host, &child(&path, "hostname"), errors);
                }
                if one.has("nodeName") {
                    subdomain(one.text("nodeName"), &child(&path, "nodeName"), errors);
                }
                address::endpoint_ip(ip, &child(&path, "ip"), errors);
            }
        }
        let several = subset.items("ports").len() > 1;
        for (at, port) in maps(subset.items("ports")) {
            let path = index(&child(&path, "ports"), at);
            let name = port.text("name");
            if several && name.is_empty() {
                errors.push(FieldError::required(child(&path, "name"), ""));
            } else if !name.is_empty() {
                label(name, &child(&path, "name"), errors);
            }
            port_number(port.int("port").unwrap_or(0), &child(&path, "port"), errors);
            match port.text("protocol") {
                "" => errors.push(FieldError::required(child(&path, "protocol"), "")),
                _ => one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors),
            }
            if port.has("appProtocol") {
                let name = port.text("appProtocol");
                each_invalid(qualified_name_errors(name), &child(&path, "appProtocol"), name, errors);
            }
        }
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let mut unused = Vec::new();
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        immutable(new, old, "subsets", "", &mut unused);
    }
    // Subsets that stay as they are were fine when they came.
    if !unused.is_empty() {
        validate(object, errors);
    }
}

pub(crate) fn warnings(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let managed = object.str_at(&["metadata", "labels", "endpoints.kubernetes.io/managed-by"]);
    if managed == Some("endpoint-controller") {
        return;
    }
    let subsets = object.path(&["subsets"]).and_then(Value::as_list);
    for (at, subset) in subsets.into_iter().flatten().enumerate() {
        let Some(subset) = subset.as_map() else { continue };
        for list in ["addresses", "notReadyAddresses"] {
            for (i, address) in subset.items(list).iter().enumerate() {
                let path = format!("subsets[{at}].{list}[{i}].ip");
                warnings.extend(network::ip_warning(&path, address.str_at(&["ip"]).unwrap_or("")));
            }
        }
    }
}
