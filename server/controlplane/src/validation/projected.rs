//! Volumes that are made of several things: projected ones, and those of the downward API.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{labels::validate_label_name, validate_label_selector},
    value::Map,
};

use super::{Errors, certificates, each_invalid, field_selector, maps, required, volume_source};
use crate::tree::Members;

/// Longest life of a certificate: what signers of Kubernetes give, and what others may.
const KUBERNETES_EXPIRATION_MAX: i64 = 24 * 60 * 60;
const EXPIRATION_MAX: i64 = 91 * 24 * 60 * 60;
const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/// A volume of the downward API. Errors of its items name the volume alone.
pub(crate) fn downward(source: &Map<'_>, path: &str, errors: &mut Errors) {
    volume_source::mode(source, "defaultMode", path, errors);
    for (_, file) in maps(source.items("items")) {
        downward_file(file, path, errors);
    }
}

fn downward_file(file: &Map<'_>, path: &str, errors: &mut Errors) {
    required(file, "path", path, errors);
    volume_source::not_reserved(file.text("path"), &child(path, "path"), errors);
    match (file.child("fieldRef"), file.child("resourceFieldRef")) {
        (Some(field), resource) => {
            field_selector::object_field(field, false, &child(path, "fieldRef"), errors);
            if resource.is_some() {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path, "resource", why));
            }
        }
        (None, Some(resource)) => {
            field_selector::resource_field(resource, true, &child(path, "resourceFieldRef"), errors);
        }
        (None, None) => {
            errors.push(FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
        }
    }
    volume_source::mode(file, "mode", path, errors);
}

/// Files that the sources of one volume have taken so far.
struct Taken<'a> {
    paths: Vec<&'a str>,
}

impl<'a> Taken<'a> {
    /// Takes a path; `shown` stands in the error where it is taken already.
    fn take(&mut self, target: &'a str, shown: &str, path: &str, errors: &mut Errors) {
        if self.paths.contains(&target) {
            errors.push(FieldError::invalid(path, shown, "conflicting duplicate paths"));
        } else {
            self.paths.push(target);
        }
    }
}

/// A projected volume.
pub(crate) fn validate(volume: &Map<'_>, path: &str, errors: &mut Errors) {
    volume_source::mode(volume, "defaultMode", path, errors);
    let mut taken = Taken { paths: Vec::new() };
    for (at, source) in maps(volume.items("sources")) {
        let item = index(&child(path, "sources"), at);
        let mut sources = 0;
        for kind in ["secret", "configMap"] {
            let Some(keyed) = source.child(kind) else { continue };
            sources += 1;
            let item = child(&item, kind);
            required(keyed, "name", &item, errors);
            for (at, key) in maps(keyed.items("items")) {
                volume_source::key_to_path(key, &index(&child(&item, "items"), at), errors);
                let target = key.text("path");
                if !target.is_empty() {
                    taken.take(target, keyed.text("name"), path, errors);
                }
            }
        }
        if let Some(downward) = source.child("downwardAPI") {
            sources += 1;
            for (_, file) in maps(downward.items("items")) {
                downward_file(file, &child(&item, "downwardAPI"), errors);
                let target = file.text("path");
                if !target.is_empty() {
                    taken.take(target, target, path, errors);
                }
            }
        }
        if let Some(token) = source.child("serviceAccountToken") {
            sources += 1;
            service_account_token(token, &child(&item, "serviceAccountToken"), path, errors);
        }
        if let Some(bundle) = source.child("clusterTrustBundle") {
            sources += 1;
            trust_bundle(bundle, &child(&item, "clusterTrustBundle"), errors);
            let target = bundle.text("path");
            taken.take(target, target, path, errors);
        }
        if let Some(certificate) = source.child("podCertificate") {
            sources += 1;
            pod_certificate(certificate, &child(&item, "podCertificate"), path, &mut taken, errors);
        }
        if sources > 1 {
            errors.push(FieldError::forbidden(item, "may not specify more than 1 volume type per source"));
        }
    }
}

/// A token; `volume` is the path that errors about the file name.
fn service_account_token(token: &Map<'_>, path: &str, volume: &str, errors: &mut Errors) {
    let at = child(path, "expirationSeconds");
    match token.int("expirationSeconds") {
        None => errors.push(FieldError::required(at, "")),
        Some(seconds) if seconds < 600 => {
            let why = "may not specify a duration less than 10 minutes";
            errors.push(FieldError::invalid(at, seconds, why));
        }
        Some(seconds) if seconds > 1 << 32 => {
            let why = "may not specify a duration larger than 2^32 seconds";
            errors.push(FieldError::invalid(at, seconds, why));
        }
        Some(_) => {}
    }
    if required(token, "path", volume, errors) {
        volume_source::not_reserved(token.text("path"), &child(volume, "path"), errors);
    }
}

fn trust_bundle(bundle: &Map<'_>, path: &str, errors: &mut Errors) {
    match (bundle.has("name"), bundle.has("signerName")) {
        (true, true) => {
            let shown = ringbolt_machinery::value::Value::Map(bundle.clone());
            let why = "only one of name and signerName may be used";
            errors.push(FieldError::invalid(path, &shown, why));
        }
        (true, false) => {
            let name = bundle.text("name");
            let at = child(path, "name");
            if name.is_empty() {
                errors.push(FieldError::required(at.clone(), "must be a valid object name"));
            }
            let signer = name.rfind(':').map(|split| name[..split].replace(':', "/")).unwrap_or_default();
            for why in certificates::trust_bundle_name_errors(name, &signer) {
                let why = format!("not a valid clustertrustbundlename: {why}");
                errors.push(FieldError::invalid(at.clone(), name, why));
            }
            if let Some(selector) = bundle.get("labelSelector").filter(|s| !s.is_null()) {
                let why = "labelSelector must be unset if name is specified";
                errors.push(FieldError::invalid(child(path, "labelSelector"), selector, why));
            }
        }
        (false, true) => {
            let signer = bundle.text("signerName");
            let at = child(path, "signerName");
            if signer.is_empty() {
                errors.push(FieldError::required(at.clone(), "must be a valid signer name"));
            }
            certificates::signer_name(signer, &at, errors);
            let at = child(path, "labelSelector");
            errors.extend(validate_label_selector(bundle.get("labelSelector"), &at));
        }
        (false, false) => {
            errors.push(FieldError::required(path, "either name or signerName must be specified"));
        }
    }
    required(bundle, "path", path, errors);
    volume_source::not_reserved(bundle.text("path"), &child(path, "path"), errors);
}

fn pod_certificate<'a>(
    certificate: &Map<'a>,
    path: &str,
    volume: &str,
    taken: &mut Taken<'a>,
    errors: &mut Errors,
) {
    let signer = certificate.text("signerName");
    certificates::signer_name(signer, &child(path, "signerName"), errors);
    for (key, _) in super::sorted(certificate.child("userAnnotations")) {
        domain_prefixed_key(&key.to_lowercase(), &child(path, "userAnnotations"), errors);
    }
    super::one_of(certificate, "keyType", path, &KEY_TYPES, errors);
    if let Some(seconds) = certificate.int("maxExpirationSeconds") {
        let at = child(path, "maxExpirationSeconds");
        if seconds < 3600 {
            let why = "if provided, maxExpirationSeconds must be >= 3600";
            errors.push(FieldError::invalid(at.clone(), seconds, why));
        }
        let max = match certificates::is_kubernetes_signer(signer) {
            true => KUBERNETES_EXPIRATION_MAX,
            false => EXPIRATION_MAX,
        };
        if seconds > max {
            let why = format!("if provided, maxExpirationSeconds must be <= {max}");
            errors.push(FieldError::invalid(at, seconds, why));
        }
    }
    let mut files = 0;
    for member in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let target = certificate.text(member);
        if !target.is_empty() {
            files += 1;
            volume_source::not_reserved(target, &child(path, member), errors);
            taken.take(target, target, volume, errors);
        }
    }
    if files == 0 {
        let why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.push(FieldError::required(path, why));
    }
}

/// A key with a domain in front.
pub(crate) fn domain_prefixed_key(key: &str, path: &str, errors: &mut Errors) {
    if key.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let wrong = validate_label_name(key, path);
    if !wrong.is_empty() {
        errors.extend(wrong);
    } else if !key.contains('/') {
        let why = "must be a domain-prefixed key (such as \"acme.io/foo\")".to_owned();
        each_invalid(vec![why], path, key, errors);
    }
}
