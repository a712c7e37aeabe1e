//! Endpoints.

use std::net::IpAddr;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::inclusive_range_error,
    value::Value,
};

use super::{Errors, each_invalid, immutable, one_of};
use crate::{network, tree::Members};

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let subsets = object.path(&["subsets"]).and_then(Value::as_list);
    for (at, subset) in subsets.into_iter().flatten().enumerate() {
        let path = index("subsets", at);
        let Some(subset) = subset.as_map() else { continue };
        if subset.lacks("addresses") && subset.lacks("notReadyAddresses") {
            errors
                .push(FieldError::required(path.clone(), "must specify `addresses` or `notReadyAddresses`"));
        }
        for list in ["addresses", "notReadyAddresses"] {
            for (at, address) in subset.items(list).iter().enumerate() {
                let path = index(&child(&path, list), at);
                let ip = address.str_at(&["ip"]).unwrap_or("");
                address_errors(ip, &child(&path, "ip"), errors);
            }
        }
        let several = subset.items("ports").len() > 1;
        for (at, port) in subset.items("ports").iter().enumerate() {
            let path = index(&child(&path, "ports"), at);
            let Some(port) = port.as_map() else { continue };
            let name = port.text("name");
            if several && name.is_empty() {
                errors.push(FieldError::required(child(&path, "name"), ""));
            } else if !name.is_empty() {
                let messages = ringbolt_machinery::validation::names::dns1123_label_errors(name);
                each_invalid(messages, &child(&path, "name"), name, errors);
            }
            let number = port.int("port").unwrap_or(0);
            if !(1..=65535).contains(&number) {
                errors.push(FieldError::invalid(
                    child(&path, "port"),
                    number,
                    inclusive_range_error(1, 65535),
                ));
            }
            match port.text("protocol") {
                "" => errors.push(FieldError::required(child(&path, "protocol"), "")),
                _ => one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors),
            }
        }
    }
}

fn address_errors(ip: &str, path: &str, errors: &mut Errors) {
    let Some(address) = network::parse_legacy_ip(ip) else {
        errors.push(FieldError::invalid(path, ip, "must be a valid IP address"));
        return;
    };
    let mut refuse = |bad: bool, why: &str| {
        if bad {
            errors.push(FieldError::invalid(path, ip, why));
        }
    };
    refuse(address.is_unspecified(), &format!("may not be unspecified ({ip})"));
    refuse(address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    };
    refuse(link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    let link_local_multicast = match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    };
    refuse(link_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
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
