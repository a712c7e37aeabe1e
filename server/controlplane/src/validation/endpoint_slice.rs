//! Endpoint slices.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::Value,
};

use super::{Errors, immutable};
use crate::{
    limits::{ENDPOINT_ADDRESSES_MAX, ENDPOINTS_MAX},
    tree::Members,
};

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let Some(slice) = object.as_map() else { return };
    let kind = slice.text("addressType");
    let kinds = ["FQDN", "IPv4", "IPv6"];
    if kind.is_empty() {
        errors.push(FieldError::required("addressType", ""));
    } else if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported("addressType", kind, &kinds));
    }
    let endpoints = slice.items("endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        errors.push(FieldError::too_many("endpoints", endpoints.len(), ENDPOINTS_MAX));
        return;
    }
    for (at, endpoint) in endpoints.iter().enumerate() {
        let Some(endpoint) = endpoint.as_map() else { continue };
        let path = child(&index("endpoints", at), "addresses");
        let addresses = endpoint.items("addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(path, "must contain at least 1 address"));
        } else if addresses.len() > ENDPOINT_ADDRESSES_MAX {
            errors.push(FieldError::too_many(path, addresses.len(), ENDPOINT_ADDRESSES_MAX));
        }
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    validate(object, errors);
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        immutable(new, old, "addressType", "", errors);
    }
}
