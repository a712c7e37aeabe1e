//! Endpoint slices.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{
        names::{dns1123_label_errors, dns1123_subdomain_errors, label_value_errors, qualified_name_errors},
        validate_labels,
    },
    value::{Map, Value},
};

use super::{Errors, address, each_invalid, label, maps, one_of, subdomain};
use crate::{
    limits::{ENDPOINT_ADDRESSES_MAX, ENDPOINTS_MAX},
    tree::{Members, same},
};

/// Most ports of a slice, and most labels and hints of an endpoint: `discovery` limits of the API.
const PORTS_MAX: usize = 20_000;
const TOPOLOGY_LABELS_MAX: usize = 16;
const HINTS_MAX: usize = 8;
const KINDS: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const KINDS_DECLARED: [&str; 3] = ["FQDN", "IPv4", "IPv6"];

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    slice(object, true, false, errors);
}

fn slice(object: &Value<'_>, check_endpoints: bool, is_moved: bool, errors: &mut Errors) {
    let Some(slice) = object.as_map() else { return };
    let mut declared = Vec::new();
    let kind = slice.text("addressType");
    // That it may not change is all that its declaration says then.
    let says = if is_moved { &mut *errors } else { &mut declared };
    if kind.is_empty() {
        declared.push(FieldError::required("addressType", ""));
    } else if !KINDS.contains(&kind) {
        says.push(FieldError::not_supported("addressType", kind, &KINDS_DECLARED));
    }
    ports(slice, errors);
    if is_moved {
        super::declared_immutable("addressType", &mut declared);
    }
    if check_endpoints {
        endpoints(slice, kind, errors, &mut declared);
    }
    // What is declared with the fields comes after what is written out.
    errors.append(&mut declared);
}

fn endpoints(slice: &Map<'_>, kind: &str, errors: &mut Errors, declared: &mut Errors) {
    let list = slice.items("endpoints");
    if list.len() > ENDPOINTS_MAX {
        errors.push(FieldError::too_many("endpoints", list.len(), ENDPOINTS_MAX));
        return;
    }
    for (at, endpoint) in maps(list) {
        let item = index("endpoints", at);
        let path = child(&item, "addresses");
        let addresses = endpoint.items("addresses");
        if addresses.is_empty() {
            declared.push(FieldError::required(path.clone(), ""));
        } else if addresses.len() > ENDPOINT_ADDRESSES_MAX {
            declared.push(FieldError::too_many(path.clone(), addresses.len(), ENDPOINT_ADDRESSES_MAX));
        }
        for (at, text) in addresses.iter().enumerate() {
            one_address(text.as_str().unwrap_or(""), kind, &path, at, errors);
        }
        if endpoint.has("nodeName") {
            subdomain(endpoint.text("nodeName"), &child(&item, "nodeName"), errors);
        }
        let path = child(&item, "deprecatedTopology");
        if let Some(topology) = endpoint.child("deprecatedTopology")
            && topology.len() > TOPOLOGY_LABELS_MAX
        {
            errors.push(FieldError::too_many(path.clone(), topology.len(), TOPOLOGY_LABELS_MAX));
        }
        errors.extend(validate_labels(endpoint.get("deprecatedTopology"), &path));
        if endpoint.has("hostname") {
            label(endpoint.text("hostname"), &child(&item, "hostname"), errors);
        }
        if let Some(hints) = endpoint.child("hints") {
            self::hints(hints, &child(&item, "hints"), errors);
        }
    }
}

/// An address of the slice's kind. Errors about the family name the list.
fn one_address(text: &str, kind: &str, list: &str, at: usize, errors: &mut Errors) {
    let path = index(list, at);
    let sound = match kind {
        "IPv4" => address::legacy_ip(text, &[], &path, errors),
        "IPv6" => address::strict_ip(text, &path, errors),
        "FQDN" => {
            fully_qualified(text, &path, errors);
            false
        }
        _ => false,
    };
    if !sound {
        return;
    }
    let is_v4 = crate::network::parse_legacy_ip(text).is_some_and(|a| a.is_ipv4());
    if is_v4 != (kind == "IPv4") {
        errors.push(FieldError::invalid(list, text, format!("must be an {kind} address")));
    }
    address::endpoint_ip(text, &path, errors);
}

fn fully_qualified(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = dns1123_subdomain_errors(name);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path, name, wrong.join(",")));
    } else if !name.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, name, why));
    } else if let Some((part, wrong)) =
        name.split('.').map(|part| (part, dns1123_label_errors(part))).find(|(_, wrong)| !wrong.is_empty())
    {
        errors.push(FieldError::invalid(path, part, wrong.join(",")));
    }
}

fn ports(slice: &Map<'_>, errors: &mut Errors) {
    let list = slice.items("ports");
    if list.len() > PORTS_MAX {
        errors.push(FieldError::too_many("ports", list.len(), PORTS_MAX));
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in maps(list) {
        let path = index("ports", at);
        let name = port.text("name");
        if !name.is_empty() {
            label(name, &child(&path, "name"), errors);
        }
        if names.contains(&name) {
            errors.push(FieldError::duplicate(child(&path, "name"), name));
        } else {
            names.push(name);
        }
        if !port.has("protocol") {
            errors.push(FieldError::required(child(&path, "protocol"), ""));
        } else {
            one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors);
        }
        if port.has("appProtocol") {
            let name = port.text("appProtocol");
            each_invalid(qualified_name_errors(name), &child(&path, "appProtocol"), name, errors);
        }
    }
}

/// Where traffic is best taken from.
fn hints(hints: &Map<'_>, path: &str, errors: &mut Errors) {
    for member in ["forZones", "forNodes"] {
        let check = if member == "forZones" { label_value_errors } else { dns1123_subdomain_errors };
        let (list, path) = (hints.items(member), child(path, member));
        if list.len() > HINTS_MAX {
            errors.push(FieldError::too_many(path, list.len(), HINTS_MAX));
            return;
        }
        let mut seen: Vec<&str> = Vec::new();
        for (at, hint) in maps(list) {
            let (name, path) = (hint.text("name"), child(&index(&path, at), "name"));
            if seen.contains(&name) {
                errors.push(FieldError::duplicate(path.clone(), name));
            } else {
                seen.push(name);
            }
            each_invalid(check(name), &path, name, errors);
        }
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    // Endpoints that stay as they are were fine when they came.
    let changed = !same(object.path(&["endpoints"]), old.path(&["endpoints"]));
    let is_moved = !same(object.path(&["addressType"]), old.path(&["addressType"]));
    slice(object, changed, is_moved, errors);
}
