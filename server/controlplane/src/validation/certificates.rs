//! Certificate signing requests and trust bundles.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::FieldError,
    validation::names::{dns1123_label_errors, dns1123_subdomain_errors, path_segment_errors},
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
pub(super) fn trust_bundle_name_errors(name: &str, signer: &str) -> Vec<String> {
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

/// Whether a signer is Kubernetes' own.
pub(super) fn is_kubernetes_signer(name: &str) -> bool {
    let host = name.split('/').next().unwrap_or("");
    host == "kubernetes.io" || host.ends_with(".kubernetes.io")
}

/// The name of a signer: a domain, a slash, and a path of names.
pub(super) fn signer_name(name: &str, path: &str, errors: &mut Errors) {
    const DOMAIN_MAX: usize = 253;
    const ALL_MAX: usize = DOMAIN_MAX + (DOMAIN_MAX + 63 + 1) + 1;
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let segments: Vec<&str> = name.split('/').collect();
    let [domain, rest] = segments[..] else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path, name, why));
        return;
    };
    if domain.len() > DOMAIN_MAX {
        errors.push(FieldError::too_long(path, DOMAIN_MAX));
    }
    let first_wrong = |text: &str, check: fn(&str) -> Vec<String>, errors: &mut Errors| {
        let wrong = text.split('.').map(|part| (part, check(part))).find(|(_, wrong)| !wrong.is_empty());
        for (part, why) in wrong.into_iter().flat_map(|(part, all)| all.into_iter().map(move |w| (part, w))) {
            let why = format!("validating label {}: {why}", ringbolt_machinery::field::quote(part));
            errors.push(FieldError::invalid(path, text, why));
        }
    };
    first_wrong(domain, dns1123_label_errors, errors);
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, domain, why));
    }
    first_wrong(rest, dns1123_subdomain_errors, errors);
    if name.len() > ALL_MAX {
        errors.push(FieldError::too_long(path, ALL_MAX));
    }
}
