//! Two ConfigMaps of kube-system by which the server tells others about itself: whose certificates it takes, for
//! servers that take the same clients, and since when it notes the use of tokens that never expire, for the
//! controller that removes those nobody uses.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use ringbolt_apiserver::server::hooks::HookContext;
use ringbolt_controlplane::bootstrap::{
    AUTHENTICATION_TRUST, BootstrapObject, LEGACY_TOKEN_TRACKING, config_map,
};
use ringbolt_machinery::{json::quote, scan, time, time::Moment};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};

use super::{MANAGED, create, patch, unexpected};

/// The key of the authorities of client certificates.
const CLIENT_CA: &str = "client-ca-file";
/// The key of the day from which the use of tokens is noted.
const SINCE: &str = "since";
/// For how long an authority that has expired is kept, for clocks that differ.
const SLACK_S: i64 = 5 * 60;
/// Characters a line of PEM.
const PEM_LINE: usize = 64;

/// Keeps the authorities of client certificates in their ConfigMap, beside those that other servers put there.
pub(super) fn trust(context: &HookContext, client_ca: &str) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    keep_key(context, AUTHENTICATION_TRUST, CLIENT_CA, |found| {
        match combined(found.unwrap_or_default(), client_ca, now) {
            Ok(combined) => (!combined.is_empty() && found != Some(&combined)).then_some(combined),
            Err(error) => {
                // Others broke it, and theirs it is to mend; this server takes its clients all the same.
                tracing::warn!(%error, AUTHENTICATION_TRUST);
                None
            }
        }
    })
}

/// Keeps the day from which the use of tokens is noted: the first on which the server ran.
pub(super) fn track(context: &HookContext) -> Result<(), String> {
    keep_key(context, LEGACY_TOKEN_TRACKING, SINCE, |found| {
        let now = Moment::now().to_time();
        let today = now.split('T').next().unwrap_or_default();
        (!found.is_some_and(is_date)).then(|| today.to_owned())
    })
}

/// Creates a ConfigMap with one key where it is not there, or sets the key; `wanted` gets what it holds and answers
/// what it is to hold, `None` where all is well.
fn keep_key(
    context: &HookContext,
    name: &'static str,
    key: &str,
    wanted: impl Fn(Option<&str>) -> Option<String>,
) -> Result<(), String> {
    let object = |value: &str| config_map(name, &[(key, value)]);
    let answer = context.loopback.request("GET", config_map(name, &[]).path(), Bytes::new());
    let stored = match &answer {
        Some((200, body)) => body.get(1..).unwrap_or_default(),
        Some((404, _)) => {
            return match wanted(None) {
                Some(value) => create(context, &object(&value)),
                None => Ok(()),
            };
        }
        _ => return Err(unexpected(&config_map(name, &[]), answer)),
    };
    let found = scan::scalar(stored, &["data", key]);
    let Some(value) = wanted(found.as_deref()) else { return Ok(()) };
    let version = scan::scalar(stored, &["metadata", "resourceVersion"]).unwrap_or_default();
    set(context, &object(&value), &version, key, &value)
}

fn set(
    context: &HookContext,
    object: &BootstrapObject,
    version: &str,
    key: &str,
    value: &str,
) -> Result<(), String> {
    let mut body =
        format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"data":{{"{key}":"#).into_bytes();
    quote::write_string(&mut body, value);
    body.extend_from_slice(b"}}");
    match patch(context, format!("{}{MANAGED}", object.path()), "application/merge-patch+json", body) {
        // Another was faster; the next round sees what that one made of it.
        Some((200..=299 | 409, _)) => Ok(()),
        other => Err(unexpected(object, other)),
    }
}

/// Whether a text is a date as Go's `2006-01-02`.
fn is_date(text: &str) -> bool {
    text.len() == 10 && time::parse_time(&format!("{text}T00:00:00Z")).is_ok()
}

/// All certificates of two bundles, each once and none that has expired.
fn combined(found: &str, ours: &str, now_s: i64) -> Result<String, String> {
    let mut kept: Vec<CertificateDer<'_>> = Vec::new();
    for certificate in
        [found, ours].into_iter().flat_map(|pem| CertificateDer::pem_slice_iter(pem.as_bytes()))
    {
        let certificate = certificate.map_err(|e| format!("{CLIENT_CA}: {e}"))?;
        let (_, parsed) =
            x509_parser::parse_x509_certificate(&certificate).map_err(|e| format!("{CLIENT_CA}: {e}"))?;
        let expired = parsed.validity().not_after.timestamp() <= now_s - SLACK_S;
        if !expired && !kept.contains(&certificate) {
            kept.push(certificate);
        }
    }
    let mut pem = String::new();
    for certificate in kept {
        pem.push_str("-----BEGIN CERTIFICATE-----\n");
        let text = BASE64_STANDARD.encode(&certificate);
        // Base64 is ASCII, so that every position is one between characters.
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(PEM_LINE));
            pem.push_str(line);
            pem.push('\n');
            rest = after;
        }
        pem.push_str("-----END CERTIFICATE-----\n");
    }
    Ok(pem)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

    use super::*;

    fn authority(name: &str) -> String {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let pem = parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
        pem.replace("\r\n", "\n")
    }

    #[test]
    fn bundles_are_combined() {
        let (a, b) = (authority("a"), authority("b"));
        let check = |found: &str, ours: &str, now_s, expect: &str| {
            assert_eq!(combined(found, ours, now_s).unwrap(), expect, "{found} {ours} at {now_s}");
        };
        let (now, end) = (1_800_000_000, 1_893_456_000);
        check("", &a, now, &a);
        check(&a, &a, now, &a);
        check(&a, &b, now, &format!("{a}{b}"));
        check(&format!("{a}{b}"), &a, now, &format!("{a}{b}"));
        check(&format!("what is no PEM\n{b}"), &a, now, &format!("{b}{a}"));
        check(&a, "", end + SLACK_S - 1, &a);
        check(&a, "", end + SLACK_S, "");
        assert!(combined("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &a, now).is_err());
    }

    #[test]
    fn dates() {
        for (text, expect) in [
            ("2026-11-30", true),
            ("2026-1-30", false),
            ("2026-11-31", false),
            ("2026-11-30T", false),
            ("", false),
            ("yesterday!", false),
        ] {
            assert_eq!(is_date(text), expect, "{text}");
        }
    }
}
