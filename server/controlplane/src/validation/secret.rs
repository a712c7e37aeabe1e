//! Secrets.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, key},
    validation::names::config_map_key_errors,
    value::Value,
};

use super::{
    Errors,
    config_map::{decoded_len, entries, frozen},
    each_invalid,
};
use crate::limits::SECRET_MAX_BYTES;

const SERVICE_ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let data = entries(object, "data");
    let mut size = 0;
    for (name, value) in &data {
        each_invalid(config_map_key_errors(name), &key("data", name), name, errors);
        size += decoded_len(value);
    }
    if size > SECRET_MAX_BYTES {
        errors.push(FieldError::too_long("data", SECRET_MAX_BYTES));
    }
    let has = |name: &str| data.iter().any(|(k, _)| *k == name);
    let mut require = |name: &str| errors.push(FieldError::required(key("data", name), ""));
    match object.str_at(&["type"]).unwrap_or("") {
        "kubernetes.io/service-account-token"
            if object.str_at(&["metadata", "annotations", SERVICE_ACCOUNT_NAME]).unwrap_or("").is_empty() =>
        {
            errors.push(FieldError::required(key("metadata.annotations", SERVICE_ACCOUNT_NAME), ""));
        }
        "kubernetes.io/dockercfg" if !has(".dockercfg") => require(".dockercfg"),
        "kubernetes.io/dockerconfigjson" if !has(".dockerconfigjson") => require(".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if data.iter().all(|(k, v)| *k != "ssh-privatekey" || v.is_empty()) => {
            require("ssh-privatekey");
        }
        "kubernetes.io/tls" => {
            for name in ["tls.crt", "tls.key"] {
                if !has(name) {
                    require(name);
                }
            }
        }
        _ => {}
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let kind = |v: &Value<'_>| v.str_at(&["type"]).unwrap_or("").to_owned();
    if kind(object) != kind(old) {
        errors.push(FieldError::invalid("type", kind(object), "field is immutable"));
    }
    frozen(object, old, &["data"], errors);
    validate(object, errors);
}
