//! What a claim asks for.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{
    super::{dns1123_subdomain_errors, each_invalid, label, maps, one_of},
    parts::{self, Found},
};
use crate::tree::Members;

const REQUESTS_MAX: usize = 32;
const CONSTRAINTS_MAX: usize = 32;
const ALTERNATIVES_MAX: usize = 8;

/// The spec of a claim.
pub(super) fn spec(spec: &Map<'_>, path: &str, found: &mut Found) {
    let Some(devices) = spec.child("devices") else { return };
    let path = child(path, "devices");
    let known = |name: &str| is_request(devices, name);
    let at = child(&path, "requests");
    if found.fits(devices.items("requests"), REQUESTS_MAX, &at) {
        let named = |request: &Map<'_>| request.text("name").to_owned();
        parts::duplicates(devices.items("requests"), named, &at, &mut found.declared);
        for (n, item) in devices.items("requests").iter().enumerate() {
            let empty;
            let item = match item.as_map() {
                Some(map) => map,
                None => {
                    empty = Map::new_in(devices.arena());
                    &empty
                }
            };
            request(item, &index(&at, n), found);
        }
    }
    let at = child(&path, "constraints");
    if found.fits(devices.items("constraints"), CONSTRAINTS_MAX, &at) {
        for (n, constraint) in maps(devices.items("constraints")) {
            self::constraint(constraint, &known, &index(&at, n), found);
        }
    }
    parts::configurations(devices.items("config"), 1, &known, &child(&path, "config"), found);
}

/// Whether there is a request of a name, or an alternative of one as `request/alternative`.
pub(super) fn is_request(devices: &Map<'_>, name: &str) -> bool {
    let (request, alternative) = match name.split_once('/') {
        Some((request, alternative)) => (request, Some(alternative)),
        None => (name, None),
    };
    maps(devices.items("requests")).any(|(_, r)| {
        r.text("name") == request
            && alternative.is_none_or(|a| maps(r.items("firstAvailable")).any(|(_, s)| s.text("name") == a))
    })
}

fn request(request: &Map<'_>, path: &str, found: &mut Found) {
    label(request.text("name"), &child(path, "name"), &mut found.errors);
    let alternatives = request.items("firstAvailable");
    match (request.child("exactly"), alternatives) {
        (None, []) => found
            .errors
            .push(FieldError::required(path, "exactly one of `exactly` or `firstAvailable` is required")),
        (Some(exactly), [_, ..]) => {
            let why = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            found.errors.push(FieldError::invalid(path, &Value::Null, why));
            // What is declared with the fields is said of both.
            let mut both = Found::default();
            self::exactly(exactly, path, &mut both);
            self::alternatives(alternatives, path, &mut both);
            found.declared.append(&mut both.declared);
        }
        (Some(exactly), []) => self::exactly(exactly, path, found),
        (None, list) => self::alternatives(list, path, found),
    }
}

fn exactly(exactly: &Map<'_>, path: &str, found: &mut Found) {
    let path = child(path, "exactly");
    device_class(exactly.text("deviceClassName"), &child(&path, "deviceClassName"), &mut found.errors);
    devices(exactly, &path, found);
}

fn alternatives(list: &[Value<'_>], path: &str, found: &mut Found) {
    let path = child(path, "firstAvailable");
    if !found.fits(list, ALTERNATIVES_MAX, &path) {
        return;
    }
    parts::duplicates(list, |request| request.text("name").to_owned(), &path, &mut found.declared);
    for (at, alternative) in maps(list) {
        let path = index(&path, at);
        label(alternative.text("name"), &child(&path, "name"), &mut found.errors);
        let class = alternative.text("deviceClassName");
        device_class(class, &child(&path, "deviceClassName"), &mut found.declared);
        devices(alternative, &path, found);
    }
}

fn device_class(name: &str, path: &str, errors: &mut Vec<FieldError>) {
    match name {
        "" => errors.push(FieldError::required(path, "")),
        _ => each_invalid(dns1123_subdomain_errors(name), path, name, errors),
    }
}

/// Which devices, and how many.
fn devices(request: &Map<'_>, path: &str, found: &mut Found) {
    parts::selectors(request, path, found);
    let count = request.int("count").unwrap_or(0);
    let at = child(path, "count");
    match request.text("allocationMode") {
        "All" if count != 0 => {
            let why = "must not be specified when allocationMode is 'All'";
            found.errors.push(FieldError::invalid(at, count, why));
        }
        "ExactCount" if count <= 0 => {
            found.errors.push(FieldError::invalid(at, count, "must be greater than zero"));
        }
        "All" | "ExactCount" => {}
        _ => one_of(request, "allocationMode", path, &["All", "ExactCount"], &mut found.declared),
    }
    parts::tolerations(request, path, found);
}

fn constraint(constraint: &Map<'_>, known: &dyn Fn(&str) -> bool, path: &str, found: &mut Found) {
    parts::request_names(constraint, known, path, found);
    let given = ["matchAttribute", "distinctAttribute"].into_iter().filter(|member| constraint.has(member));
    let mut any = false;
    for member in given {
        any = true;
        parts::fully_qualified(constraint.text(member), &child(path, member), &mut found.declared);
    }
    if any {
        return;
    }
    let why =
        "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
    found.errors.push(FieldError::required(path, why));
}
