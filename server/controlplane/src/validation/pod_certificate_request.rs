//! Requests of certificates for pods.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child},
    validation::names::dns1123_subdomain_errors,
    value::{Map, Value},
};

use super::{
    Errors, certificates,
    condition::{self, conditions},
    each_invalid, go, maps,
    projected::domain_prefixed_key,
    with_map,
};
use crate::tree::{Members, same};

/// What a request comes to.
const ENDS: [&str; 3] = ["Issued", "Denied", "Failed"];
const UID_MAX_BYTES: usize = 128;
const EXPIRATION_MIN_SECONDS: i64 = 60 * 60;
const EXPIRATION_MAX_SECONDS: i64 = 91 * 24 * 60 * 60;
/// The same where the signer is Kubernetes' own.
const KUBERNETES_EXPIRATION_MAX_SECONDS: i64 = 24 * 60 * 60;
const KEY_MAX_BYTES: usize = 10 * 1024;
const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| validate_spec(spec, errors));
}

fn validate_spec(spec: &Map<'_>, errors: &mut Errors) {
    let signer = spec.text("signerName");
    certificates::signer_name(signer, "spec.signerName", errors);
    user_annotations(spec.child("unverifiedUserAnnotations"), errors);
    for (name, uid) in
        [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")]
    {
        let value = spec.text(name);
        each_invalid(dns1123_subdomain_errors(value), &child("spec", name), value, errors);
        let (value, path) = (spec.text(uid), child("spec", uid));
        if value.is_empty() {
            errors.push(FieldError::invalid(path, value, "must not be empty"));
        } else if value.len() > UID_MAX_BYTES {
            errors.push(FieldError::too_long(path, UID_MAX_BYTES));
        }
    }
    let Some(seconds) = spec.int("maxExpirationSeconds") else {
        errors.push(FieldError::required("spec.maxExpirationSeconds", "must be set"));
        return;
    };
    let max = match certificates::is_kubernetes_signer(signer) {
        true => KUBERNETES_EXPIRATION_MAX_SECONDS,
        false => EXPIRATION_MAX_SECONDS,
    };
    if !(EXPIRATION_MIN_SECONDS..=max).contains(&seconds) {
        let why = format!("must be in the range [{EXPIRATION_MIN_SECONDS}, {max}]");
        errors.push(FieldError::invalid("spec.maxExpirationSeconds", seconds, why));
    }
    let given = ["stubPKCS10Request", "pkixPublicKey", "proofOfPossession"].map(|m| !spec.lacks(m));
    match given {
        [true, false, false] => stub_request(spec, errors),
        [false, true, true] => public_key(spec, errors),
        _ => {
            let why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            errors.push(FieldError::invalid("spec", Verbatim(""), why));
        }
    }
}

fn user_annotations(annotations: Option<&Map<'_>>, errors: &mut Errors) {
    const PATH: &str = "spec.unverifiedUserAnnotations";
    let entries = super::sorted(annotations);
    for (key, _) in &entries {
        domain_prefixed_key(&key.to_lowercase(), PATH, errors);
    }
    if entries.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > ANNOTATIONS_MAX_BYTES {
        errors.push(FieldError::too_long(PATH, ANNOTATIONS_MAX_BYTES));
    }
}

/// Whether a text of base64 is of one ASN.1 sequence, which is how all requests and keys begin. The signatures in
/// them are not looked at.
fn is_sequence(base64: &str) -> bool {
    let bytes = crate::base64::decode(base64);
    let (Some(0x30), Some(length)) = (bytes.first(), bytes.get(1)) else { return false };
    let (length, header) = match *length {
        short @ 0..=0x7f => (usize::from(short), 2),
        long => {
            let count = usize::from(long & 0x7f);
            let Some(digits) = bytes.get(2..2 + count).filter(|_| (1..=4).contains(&count)) else {
                return false;
            };
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), 2 + count)
        }
    };
    bytes.len() == header + length
}

fn stub_request(spec: &Map<'_>, errors: &mut Errors) {
    const PATH: &str = "spec.stubPKCS10Request";
    let request = spec.text("stubPKCS10Request");
    if crate::base64::decode(request).len() > KEY_MAX_BYTES {
        errors.push(FieldError::too_long(PATH, KEY_MAX_BYTES));
    } else if !is_sequence(request) {
        errors.push(FieldError::invalid(PATH, Verbatim(""), "must be a valid PKCS#10 CSR"));
    }
}

fn public_key(spec: &Map<'_>, errors: &mut Errors) {
    for member in ["pkixPublicKey", "proofOfPossession"] {
        if crate::base64::decode(spec.text(member)).len() > KEY_MAX_BYTES {
            errors.push(FieldError::too_long(child("spec", member), KEY_MAX_BYTES));
            return;
        }
    }
    let key = spec.text("pkixPublicKey");
    if !is_sequence(key) {
        let why = "must be a valid PKIX-serialized public key";
        errors.push(FieldError::invalid("spec.pkixPublicKey", key, why));
    }
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Status {
        with_map(object, "status", |now| with_map(old, "status", |was| status(now, was, errors)));
        return;
    }
    let spec = |v| Value::path(v, &["spec"]);
    if !same(spec(object), spec(old)) {
        let shown = go::zero_or_text("certificates", "PodCertificateRequestSpec", spec(object));
        errors.push(FieldError::invalid("spec", Verbatim(&shown), "field is immutable"));
    }
}

/// Whether a request came to one of some ends.
fn ended(status: &Map<'_>, ends: &[&str]) -> bool {
    maps(status.items("conditions"))
        .any(|(_, c)| ends.contains(&c.text("type")) && c.text("status") == "True")
}

fn status(now: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let before = errors.len();
    let mut known = 0;
    for (at, condition) in maps(now.items("conditions")) {
        // The place is a field of its own here.
        let path = |member: &str| format!("status.conditions.[{at}].{member}");
        let kind = condition.text("type");
        if !ENDS.contains(&kind) {
            errors.push(FieldError::not_supported(path("type"), kind, &ENDS));
            continue;
        }
        known += 1;
        if known > 1 {
            let why = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            errors.push(FieldError::invalid(path("type"), kind, why));
        }
        let value = condition.text("status");
        if value != "True" {
            errors.push(FieldError::not_supported(path("status"), value, &condition::STATUSES[1..2]));
        }
    }
    conditions(now, "status", errors);
    if errors.len() > before {
        return;
    }
    if ended(was, &ENDS) {
        if !same(Some(&Value::Map(now.clone())), Some(&Value::Map(was.clone()))) {
            let why = "immutable after PodCertificateRequest is issued, denied, or failed";
            errors.push(FieldError::invalid("status", Verbatim(""), why));
        }
    } else if ended(now, &ENDS[1..])
        && now.iter().any(|(member, value)| member != "conditions" && !value.is_null())
    {
        let why =
            "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
        errors.push(FieldError::invalid("status", Verbatim(""), why));
    } else if ended(now, &ENDS[..1]) {
        issued(now, errors);
    }
}

/// What comes with a certificate. Whether it fits its request is for those who use it to find.
fn issued(status: &Map<'_>, errors: &mut Errors) {
    let chain = status.text("certificateChain");
    let mut invalid = |why: &str| errors.push(FieldError::invalid("status.certificateChain", chain, why));
    let mut blocks = super::pem::blocks(chain);
    match blocks.next() {
        None => return invalid("issued certificate chain must contain at least one certificate"),
        Some(leaf) if leaf.kind != "CERTIFICATE" => {
            return invalid("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
        }
        Some(_) => {}
    }
    let inside = "must be present and in the range [notbefore+10min, notafter-10min]";
    let as_issued = "must be present and consistent with the issued certificate";
    for (member, why) in [("notBefore", as_issued), ("notAfter", as_issued), ("beginRefreshAt", inside)] {
        if !status.has(member) {
            errors.push(FieldError::required(child("status", member), why));
        }
    }
}
