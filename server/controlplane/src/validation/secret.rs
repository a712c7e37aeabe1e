//! Secrets.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, key},
    json,
    validation::names::config_map_key_errors,
    value::Value,
};

use super::{
    Errors,
    config_map::{decoded_len, entries, frozen},
    each_invalid,
};
use crate::base64;
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
        "kubernetes.io/dockercfg" => docker_config(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(&data, ".dockerconfigjson", errors),
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

/// Credentials of registries: a JSON object.
fn docker_config(data: &[(&str, &str)], name: &str, errors: &mut Errors) {
    let path = key("data", name);
    let Some((_, value)) = data.iter().find(|(k, _)| *k == name) else {
        errors.push(FieldError::required(path, ""));
        return;
    };
    let arena = Bump::new();
    let text = arena.alloc_slice_copy(&base64::decode(value));
    let why = match json::decode_untyped(&arena, text) {
        Err(error) => error.message().to_owned(),
        Ok(Value::Map(_) | Value::Null) => return,
        Ok(other) => {
            format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                kind_of(&other)
            )
        }
    };
    errors.push(FieldError::invalid(path, "<secret contents redacted>", why));
}

/// What Go calls a JSON value that an object is expected for.
fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::List(_) => "array",
        _ => "number",
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
