//! What a claim got.

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index, quote, write_json_string},
    value::{Map, Value},
};

use super::{
    super::{condition, csi_driver_name, label, maps, placement, required, with_map},
    claims,
    parts::{self, Found},
};
use crate::{
    network,
    tree::{Members, same},
};

const RESERVED_MAX: usize = 256;
const RESULTS_MAX: usize = 32;
const DATA_MAX: usize = 10 * 1024;
const CONDITIONS_MAX: usize = 8;
/// Names and addresses of a network device.
const INTERFACE_MAX: usize = 256;
const HARDWARE_MAX: usize = 128;
const ADDRESSES_MAX: usize = 16;

/// What names a device that was given out.
fn device<'a>(map: &Map<'a>) -> [&'a str; 4] {
    ["driver", "pool", "device", "shareID"].map(|member| map.text(member))
}

/// A changed status.
pub(super) fn validate(object: &Value<'_>, old: &Value<'_>, found: &mut Found) {
    let devices = object.path(&["spec", "devices"]).and_then(Value::as_map);
    let known = |name: &str| devices.is_some_and(|d| claims::is_request(d, name));
    let was = old.path(&["status", "allocation"]).filter(|v| !v.is_null());
    with_map(object, "status", |status| {
        reserved(status, found);
        let allocation = status.child("allocation");
        let results =
            allocation.and_then(|a| a.child("devices")).map(|d| d.items("results")).unwrap_or_default();
        let given: Vec<[&str; 4]> = maps(results).map(|(_, r)| device(r)).collect();
        let whole = |entry: &Map<'_>| device(entry).map(str::to_owned);
        parts::duplicates(status.items("devices"), whole, "status.devices", &mut found.declared);
        for (at, item) in maps(status.items("devices")) {
            self::status_of_device(item, &given, &index("status.devices", at), found);
        }
        if !status.items("reservedFor").is_empty() && allocation.is_none() {
            let why = "may not be specified when `allocated` is not set";
            found.errors.push(FieldError::forbidden("status.reservedFor", why));
        }
        match (was, allocation) {
            (Some(was), Some(_)) if !same(Some(was), status.get("allocation")) => {
                super::declared_immutable("status.allocation", &mut found.declared);
            }
            (None, Some(allocation)) => self::allocation(allocation, &known, "status.allocation", found),
            _ => {}
        }
    });
}

fn reserved(status: &Map<'_>, found: &mut Found) {
    let (list, path) = (status.items("reservedFor"), "status.reservedFor");
    if !found.fits(list, RESERVED_MAX, path) {
        return;
    }
    for (at, user) in maps(list) {
        for member in ["resource", "name", "uid"] {
            required(user, member, &index(path, at), &mut found.errors);
        }
    }
    parts::duplicates(list, |user| user.text("uid").to_owned(), path, &mut found.declared);
}

fn status_of_device(item: &Map<'_>, given: &[[&str; 4]], path: &str, found: &mut Found) {
    let id = device(item);
    let [driver, pool, name, _] = id;
    csi_driver_name(driver, &child(path, "driver"), &mut found.errors);
    parts::pool_name(pool, &child(path, "pool"), &mut found.errors);
    label(name, &child(path, "device"), &mut found.errors);
    if !given.contains(&id) {
        let mut shown = String::from("{");
        for (at, (member, value)) in ["Driver", "Pool", "Device", "ShareID"].into_iter().zip(id).enumerate() {
            shown.push_str(if at == 0 { "" } else { "," });
            write_json_string(member, &mut shown);
            shown.push(':');
            write_json_string(value, &mut shown);
        }
        shown.push('}');
        let why = "must be an allocated device in the claim";
        found.errors.push(FieldError::invalid(path, Verbatim(&shown), why));
    }
    if item.items("conditions").len() > CONDITIONS_MAX {
        let at = child(path, "conditions");
        found.errors.push(FieldError::too_many(at, item.items("conditions").len(), CONDITIONS_MAX));
    }
    condition::conditions(item, path, &mut found.errors);
    if item.has("data") {
        parts::raw_object(item.get("data"), DATA_MAX, &child(path, "data"), &mut found.errors);
    }
    if item.has("shareID") && !is_uuid(item.text("shareID")) {
        let why = "must be a lowercase UUID in 8-4-4-4-12 format";
        found.declared.push(FieldError::invalid(child(path, "shareID"), item.text("shareID"), why));
    }
    if let Some(data) = item.child("networkData") {
        network_data(data, &child(path, "networkData"), found);
    }
}

/// Thirty-two hexadecimal digits in five groups.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'))
}

/// How a network device is known on its node.
fn network_data(data: &Map<'_>, path: &str, found: &mut Found) {
    for (member, max) in [("interfaceName", INTERFACE_MAX), ("hardwareAddress", HARDWARE_MAX)] {
        if data.text(member).len() > max {
            found.declared.push(FieldError::too_long(child(path, member), max));
        }
    }
    let (list, path) = (data.items("ips"), child(path, "ips"));
    if !found.fits(list, ADDRESSES_MAX, &path) {
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (at, address) in list.iter().enumerate() {
        let (address, path) = (address.as_str().unwrap_or(""), index(&path, at));
        match network::parse_legacy_cidr(address) {
            None => {
                let why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
                found.errors.push(FieldError::invalid(path.clone(), address, why));
            }
            Some((ip, bits)) => {
                let canonical = format!("{ip}/{bits}");
                if canonical != address {
                    let why = format!("must be in canonical form ({})", quote(&canonical));
                    found.errors.push(FieldError::invalid(path.clone(), address, why));
                }
            }
        }
        if seen.contains(&address) {
            found.declared.push(FieldError::duplicate(path, address));
        }
        seen.push(address);
    }
}

fn allocation(allocation: &Map<'_>, known: &dyn Fn(&str) -> bool, path: &str, found: &mut Found) {
    if let Some(devices) = allocation.child("devices") {
        let path = child(path, "devices");
        let (list, at) = (devices.items("results"), child(&path, "results"));
        if found.fits(list, RESULTS_MAX, &at) {
            for (n, result) in maps(list) {
                self::result(result, known, &index(&at, n), found);
            }
        }
        parts::configurations(devices.items("config"), 2, known, &child(&path, "config"), found);
    }
    if let Some(selector) = allocation.child("nodeSelector") {
        placement::node_selector(selector, &child(path, "nodeSelector"), &mut found.errors);
    }
}

fn result(result: &Map<'_>, known: &dyn Fn(&str) -> bool, path: &str, found: &mut Found) {
    let [driver, pool, name, _] = device(result);
    parts::request_name(result.text("request"), known, &child(path, "request"), &mut found.errors);
    parts::declared_driver(driver, &child(path, "driver"), &mut found.declared);
    parts::pool_name(pool, &child(path, "pool"), &mut found.declared);
    label(name, &child(path, "device"), &mut found.errors);
    parts::tolerations(result, path, found);
    if result.has("shareID") && !is_uuid(result.text("shareID")) {
        let why = "must be a lowercase UUID in 8-4-4-4-12 format";
        found.declared.push(FieldError::invalid(child(path, "shareID"), result.text("shareID"), why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids() {
        assert!(is_uuid("11111111-2222-3333-4444-5555555555af"));
        for bad in ["", "example", "11111111-2222-3333-4444-5555555555AF", "11111111222233334444555555555555"]
        {
            assert!(!is_uuid(bad), "{bad}");
        }
    }

    #[test]
    fn network_devices() {
        let arena = bumpalo::Bump::new();
        let ask = |ips: &str| {
            let text = arena.alloc_slice_copy(format!(r#"{{"ips":[{ips}]}}"#).as_bytes());
            let data = ringbolt_machinery::json::decode_untyped(&arena, text).unwrap();
            let mut found = Found::default();
            network_data(data.as_map().unwrap(), "n", &mut found);
            let mut errors = Vec::new();
            found.into(&mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(ask(r#""10.9.9.9/24","2001:db8::1/64""#).is_empty());
        assert_eq!(
            ask(r#""127.0.0.1","010.9.9.9/24","10.1.1.1/8","10.1.1.1/8""#),
            [
                "n.ips[0]: Invalid value: \"127.0.0.1\": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
                "n.ips[1]: Invalid value: \"010.9.9.9/24\": must be in canonical form (\"10.9.9.9/24\")",
                "n.ips[3]: Duplicate value: \"10.1.1.1/8\""
            ]
        );
    }
}
