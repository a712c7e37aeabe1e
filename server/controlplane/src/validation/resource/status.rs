//! What a claim got.

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index, write_json_string},
    value::{Map, Value},
};

use super::{
    super::{condition, csi_driver_name, label, maps, placement, required, with_map},
    claims,
    parts::{self, Found},
};
use crate::tree::{Members, same};

const RESERVED_MAX: usize = 256;
const RESULTS_MAX: usize = 32;
const DATA_MAX: usize = 10 * 1024;
const CONDITIONS_MAX: usize = 8;

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
}
