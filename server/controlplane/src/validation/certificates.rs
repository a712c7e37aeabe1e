//! Certificate signing requests and trust bundles.

use std::collections::BTreeMap;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index, quote},
    validation::names::{dns1123_label_errors, dns1123_subdomain_errors, path_segment_errors},
    value::{Map, Value},
};

use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::{Errors, certification_request, condition, each_invalid, maps, one_of, pem, required, with_map};
use crate::{base64, tree::Members};

/// Shortest life that may be asked for: `certificates.MinExpirationSeconds` of the API.
const EXPIRATION_MIN_SECONDS: i64 = 600;

/// Longest trust bundle: `certificates.MaxTrustBundleSize` of the API.
const TRUST_BUNDLE_MAX: usize = 1 << 20;

/// Conditions that are true or not there.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(crate) fn validate_request(object: &Value<'_>, errors: &mut Errors) {
    request(object, &Value::Null, errors);
}

pub(crate) fn validate_request_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    request(object, old, errors);
    let conditions = |v: &Value<'_>, kind: &str| {
        with_map(v, "status", |s| maps(s.items("conditions")).filter(|(_, c)| c.text("type") == kind).count())
    };
    let mut forbid = |path: &str, why: String| errors.push(FieldError::forbidden(path, why));
    for kind in DECISIONS {
        if conditions(object, kind) < conditions(old, kind) {
            let why = format!("updates may not remove a condition of type {}", quote(kind));
            forbid("status.conditions", why);
        }
    }
    for kind in &DECISIONS[..2] {
        if !matches!(part, Part::Other(_)) && conditions(object, kind) > conditions(old, kind) {
            forbid("status.conditions", format!("updates may not add a condition of type {}", quote(kind)));
        }
    }
    let certificate = |v: &Value<'_>| v.str_at(&["status", "certificate"]).unwrap_or("").to_owned();
    let was = certificate(old);
    if certificate(object) != was {
        if part != Part::Status {
            forbid("status.certificate", "updates may not set certificate content".to_owned());
        } else if !was.is_empty() {
            forbid("status.certificate", "updates may not modify existing certificate content".to_owned());
        }
    }
    exclusive(object, old, errors);
}

fn request(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| with_map(old, "spec", |was| request_spec(spec, was, errors)));
    with_map(object, "status", |now| {
        with_map(old, "status", |was| {
            request_conditions(now, was, errors);
            let (new, old) = (now.text("certificate"), was.text("certificate"));
            // What was stored with faults may keep them.
            let lenient = new == old || issued(old).is_err();
            if let Some(why) = issued(new).err().filter(|_| !lenient) {
                errors.push(FieldError::invalid("status.certificate", "<certificate data>", why));
            }
        });
    });
    if old.is_null() {
        exclusive(object, old, errors);
    }
}

fn request_spec(spec: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let shown = spec.get("request").cloned().unwrap_or(Value::Null);
    let request = base64::decode(spec.text("request"));
    let first = String::from_utf8_lossy(&request);
    if let Err(why) = certification_request::check(&first) {
        errors.push(FieldError::invalid("spec.request", shown, why));
    }
    usages(spec, was, errors);
    let signer = spec.text("signerName");
    if signer == LEGACY_SIGNER && was.text("signerName") != LEGACY_SIGNER {
        let why = "the legacy signerName is not allowed via this API version";
        errors.push(FieldError::invalid("spec.signerName", signer, why));
    } else {
        signer_name(signer, "spec.signerName", errors);
    }
    if let Some(seconds) = spec.int("expirationSeconds").filter(|s| *s < EXPIRATION_MIN_SECONDS) {
        let why =
            format!("may not specify a duration less than {EXPIRATION_MIN_SECONDS} seconds (10 minutes)");
        errors.push(FieldError::invalid("spec.expirationSeconds", seconds, why));
    }
}

/// What a key is for. What was stored with faults may keep them.
fn usages(spec: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    fn texts<'a>(spec: &Map<'a>) -> Vec<&'a str> {
        spec.items("usages").iter().map(|u| u.as_str().unwrap_or("")).collect()
    }
    let repeats = |all: &[&str], at: usize| all[..at].contains(&all[at]);
    let (now, was) = (texts(spec), texts(was));
    if now.is_empty() {
        errors.push(FieldError::required("spec.usages", ""));
    }
    if was.iter().all(|usage| USAGES.contains(usage)) {
        for (at, usage) in now.iter().enumerate().filter(|(_, usage)| !USAGES.contains(usage)) {
            errors.push(FieldError::not_supported(index("spec.usages", at), *usage, &USAGES));
        }
    }
    if !(0..was.len()).any(|at| repeats(&was, at)) {
        for at in (0..now.len()).filter(|at| repeats(&now, *at)) {
            errors.push(FieldError::duplicate(index("spec.usages", at), now[at]));
        }
    }
}

fn request_conditions(now: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    fn kinds<'a>(status: &Map<'a>) -> Vec<&'a str> {
        status.items("conditions").iter().map(|c| c.str_at(&["type"]).unwrap_or("")).collect()
    }
    let repeats = |all: &[&str], at: usize| all[..at].contains(&all[at]);
    let (now_kinds, was_kinds) = (kinds(now), kinds(was));
    let repeated = (0..was_kinds.len()).any(|at| repeats(&was_kinds, at));
    for (at, condition) in maps(now.items("conditions")) {
        let (path, kind) = (index("status.conditions", at), condition.text("type"));
        if kind.is_empty() && !was_kinds.contains(&"") {
            errors.push(FieldError::required(child(&path, "type"), ""));
        }
        let supported: &[&str] = if DECISIONS.contains(&kind) { &["True"] } else { &condition::STATUSES };
        if required(condition, "status", &path, errors) {
            one_of(condition, "status", &path, supported, errors);
        }
        if !repeated && repeats(&now_kinds, at) {
            errors.push(FieldError::duplicate(child(&path, "type"), kind));
        }
    }
}

/// A request is approved or denied.
fn exclusive(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let both = |v: &Value<'_>| {
        with_map(v, "status", |s| {
            DECISIONS[..2]
                .iter()
                .all(|kind| maps(s.items("conditions")).any(|(_, c)| c.text("type") == *kind))
        })
    };
    if both(object) && !both(old) {
        let [approved, denied] =
            ["Approved", "Denied"].map(|kind| format!(r#"conditions[{{"type": "{kind}"}}]"#));
        let why = format!("must specify at most one of: `{approved}`, `{denied}`");
        errors.push(FieldError::invalid("status.conditions", format!("{{{approved}, {denied}}}"), why));
    }
}

/// What is wrong with a certificate that was issued.
fn issued(certificate: &str) -> Result<(), String> {
    let data = base64::decode(certificate);
    if data.is_empty() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&data);
    let mut count = 0;
    for block in pem::blocks(&text) {
        if block.kind != "CERTIFICATE" {
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found {}", quote(block.kind)));
        }
        if block.has_headers {
            return Err("no PEM block headers are permitted".to_owned());
        }
        count += 1;
        let mut rest = &block.bytes[..];
        if rest.is_empty() {
            return Err("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
        while !rest.is_empty() {
            // Go says more exactly what it stumbled over where it came past the outermost of it.
            let malformed = |_| "x509: malformed certificate".to_owned();
            (rest, _) = X509Certificate::from_der(rest).map_err(malformed)?;
        }
    }
    if count == 0 { Err("must contain at least one CERTIFICATE PEM block".to_owned()) } else { Ok(()) }
}

pub(crate) fn validate_trust_bundle(object: &Value<'_>, errors: &mut Errors) {
    trust_bundle_names(object, errors);
    trust_anchors(trust_bundle(object), "spec.trustBundle", errors);
}

fn trust_bundle<'a>(object: &Value<'a>) -> &'a str {
    object.str_at(&["spec", "trustBundle"]).unwrap_or("")
}

/// The certificates of a bundle: of authorities, each once, and at least one.
fn trust_anchors(bundle: &str, path: &str, errors: &mut Errors) {
    if bundle.len() > TRUST_BUNDLE_MAX {
        errors.push(FieldError::too_long(path, TRUST_BUNDLE_MAX));
        return;
    }
    let mut wrong = |why: String| errors.push(FieldError::invalid(path, "<value omitted>", why));
    let mut malformed = false;
    let mut anchors: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for (at, block) in pem::blocks(bundle).enumerate() {
        let problem = match trust_anchor(&block) {
            Ok(()) => {
                anchors.entry(block.bytes.to_vec()).or_default().push(at);
                continue;
            }
            Err(problem) => problem,
        };
        malformed = true;
        wrong(format!("entry {at} {problem}"));
    }
    if malformed {
        return;
    }
    if anchors.is_empty() {
        wrong("at least one trust anchor must be provided".to_owned());
    }
    for places in anchors.values().filter(|places| places.len() > 1) {
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        wrong(format!("duplicate trust anchor (indices [{}])", places.join(" ")));
    }
}

/// What is wrong with an entry of a bundle.
fn trust_anchor(block: &pem::Block<'_>) -> Result<(), String> {
    if block.kind != "CERTIFICATE" {
        return Err(format!("has bad block type: {}", block.kind));
    }
    if block.has_headers {
        return Err("has PEM block headers".to_owned());
    }
    match X509Certificate::from_der(&block.bytes) {
        Ok(([], certificate)) => match certificate.is_ca() {
            true => Ok(()),
            false => Err("does not have the CA bit set".to_owned()),
        },
        _ => Err("does not parse as X.509".to_owned()),
    }
}

fn trust_bundle_names(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    let signer = object.str_at(&["spec", "signerName"]).unwrap_or("");
    if !name.is_empty() {
        each_invalid(trust_bundle_name_errors(name, signer), "metadata.name", name, errors);
    }
    if !signer.is_empty() {
        signer_name(signer, "spec.signerName", errors);
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
    trust_bundle_names(object, errors);
    // One that was taken once is not looked at again.
    if trust_bundle(object) != trust_bundle(old) {
        trust_anchors(trust_bundle(object), "spec.trustBundle", errors);
    }
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
            let why = format!("validating label {}: {why}", quote(part));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pem: &str, expect: Result<(), &str>) {
        let encoded = base64::encode(pem);
        assert_eq!(issued(&encoded), expect.map_err(str::to_owned), "{pem}");
    }

    /// What kube-apiserver 1.37.2 says of each.
    #[test]
    fn issued_certificates() {
        let block =
            |kind: &str, body: &str| format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n");
        let good = include_str!("../../../apiserver/src/authentication/testdata/version-1.crt");
        check("", Ok(()));
        check(good, Ok(()));
        check(&format!("before\n{good}between\n{good}after"), Ok(()));
        check("text", Err("must contain at least one CERTIFICATE PEM block"));
        check(&block("CERTIFICATE", "AAAA"), Err("x509: malformed certificate"));
        check(&format!("{good}{}", block("CERTIFICATE", "AAAA")), Err("x509: malformed certificate"));
        check(&block("CERTIFICATE", ""), Err("found CERTIFICATE PEM block containing 0 certificates"));
        check(&block("KEY", "AAAA"), Err(r#"only CERTIFICATE PEM blocks are allowed, found "KEY""#));
        check(&block("CERTIFICATE", "a: b\n\nAAAA"), Err("no PEM block headers are permitted"));
    }
}
