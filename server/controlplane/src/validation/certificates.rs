//! Certificate signing requests and trust bundles.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::FieldError,
    validation::names::{dns1123_subdomain_errors, path_segment_errors},
    value::Value,
};

use super::{Errors, each_invalid, with_map};
use crate::tree::Members;

/// Shortest life that may be asked for: `certificates.MinExpirationSeconds` of the API.
const EXPIRATION_MIN_SECONDS: i64 = 600;

pub(crate) fn validate_request(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        if spec.lacks("usages") {
            errors.push(FieldError::required("spec.usages", ""));
        }
        if spec.text("signerName").is_empty() {
            errors.push(FieldError::required("spec.signerName", ""));
        }
        if let Some(seconds) = spec.int("expirationSeconds").filter(|s| *s < EXPIRATION_MIN_SECONDS) {
            let why =
                format!("may not specify a duration less than {EXPIRATION_MIN_SECONDS} seconds (10 minutes)");
            errors.push(FieldError::invalid("spec.expirationSeconds", seconds, why));
        }
    });
}

pub(crate) fn validate_trust_bundle(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    let signer = object.str_at(&["spec", "signerName"]).unwrap_or("");
    if !name.is_empty() {
        each_invalid(trust_bundle_name_errors(name, signer), "metadata.name", name, errors);
    }
}

/// A bundle of a signer has the signer's name, slashes as colons, in front of its own.
fn trust_bundle_name_errors(name: &str, signer: &str) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
        }
        return dns1123_subdomain_errors(name);
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => {
            let mut errors = path_segment_errors(name, false);
            errors.extend(dns1123_subdomain_errors(rest));
            errors
        }
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")]
        }
    }
}

pub(crate) fn validate_trust_bundle_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    validate_trust_bundle(object, errors);
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| super::immutable(new, old, "signerName", "spec", errors));
    });
}
