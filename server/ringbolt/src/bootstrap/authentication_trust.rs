//! The ConfigMap by which the server tells others whose clients and front proxies it takes, for servers that take the
//! same (`ClusterAuthenticationTrustController`). Several servers may write it: each adds what is its own.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::{authentication::request_header::RequestHeaderConfig, server::hooks::HookContext};
use ringbolt_controlplane::bootstrap::{AUTHENTICATION_TRUST, config_map};
use ringbolt_machinery::{
    json::{self, quote},
    value::Value,
};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};

use super::{MANAGED, create, patch, unexpected};
use crate::trust::Trust;

const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
const USERNAME_HEADERS: &str = "requestheader-username-headers";
const UID_HEADERS: &str = "requestheader-uid-headers";
const GROUP_HEADERS: &str = "requestheader-group-headers";
const EXTRA_PREFIXES: &str = "requestheader-extra-headers-prefix";
const ALLOWED_NAMES: &str = "requestheader-allowed-names";

/// For how long an authority that has expired is kept, for clocks that differ.
const SLACK_S: i64 = 5 * 60;
/// Characters a line of PEM.
const PEM_LINE: usize = 64;

/// Keys and values of the ConfigMap.
type Data = Vec<(String, String)>;

/// Keeps what this server takes in the ConfigMap, beside what other servers put there.
pub(super) fn keep(context: &HookContext, trust: &Trust) -> Result<(), String> {
    let object = config_map(AUTHENTICATION_TRUST, &[]);
    let answer = context.loopback.request("GET", object.path(), Bytes::new());
    let (found, version) = match &answer {
        Some((200, body)) => read(body),
        Some((404, _)) => (Vec::new(), None),
        _ => return Err(unexpected(&object, answer)),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let wanted = match wanted(&found, trust, now) {
        Ok(wanted) => wanted,
        Err(error) => {
            // Others broke it, and theirs it is to mend; this server takes its clients all the same.
            tracing::warn!(%error, AUTHENTICATION_TRUST);
            return Ok(());
        }
    };
    let Some(version) = version else {
        let data: Vec<_> = wanted.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        return if data.is_empty() {
            Ok(())
        } else {
            create(context, &config_map(AUTHENTICATION_TRUST, &data))
        };
    };
    if found == wanted {
        return Ok(());
    }
    match patch(
        context,
        format!("{}{MANAGED}", object.path()),
        "application/merge-patch+json",
        difference(&found, &wanted, &version),
    ) {
        // Another was faster; the next round sees what that one made of it.
        Some((200..=299 | 404 | 409, _)) => Ok(()),
        // It has grown beyond what can be stored: all begin anew.
        Some((code, body)) if code == 413 || String::from_utf8_lossy(&body).contains("Too long") => {
            context.loopback.request("DELETE", object.path(), Bytes::new());
            Err(unexpected(&object, Some((code, body))))
        }
        other => Err(unexpected(&object, other)),
    }
}

/// Data, in the order of keys, and version of a ConfigMap.
fn read(body: &[u8]) -> (Data, Option<String>) {
    let arena = Bump::new();
    let Ok(object) = json::decode_untyped(&arena, arena.alloc_slice_copy(body)) else {
        return Default::default();
    };
    let data = object.path(&["data"]).and_then(Value::as_map);
    let data = data.into_iter().flat_map(|data| data.iter());
    let mut data: Data =
        data.map(|(key, value)| (key.to_owned(), value.as_str().unwrap_or("").to_owned())).collect();
    data.sort();
    (data, Some(object.str_at(&["metadata", "resourceVersion"]).unwrap_or("").to_owned()))
}

/// The merge patch from one to the other.
fn difference(found: &Data, wanted: &Data, version: &str) -> Vec<u8> {
    let mut body = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"data":{{"#).into_bytes();
    let gone = found.iter().filter(|(key, _)| wanted.iter().all(|(other, _)| other != key));
    let members =
        wanted.iter().map(|(key, value)| (key, Some(value))).chain(gone.map(|(key, _)| (key, None)));
    for (at, (key, value)) in members.enumerate() {
        if at > 0 {
            body.push(b',');
        }
        quote::write_string(&mut body, key);
        body.push(b':');
        match value {
            Some(value) => quote::write_string(&mut body, value),
            None => body.extend_from_slice(b"null"),
        }
    }
    body.extend_from_slice(b"}}");
    body
}

/// What is to be there: all that is, and what this server takes; nothing else, in the order of keys.
fn wanted(found: &Data, trust: &Trust, now_s: i64) -> Result<Data, String> {
    let there = |key: &str| found.iter().find(|(k, _)| k == key).map_or("", |(_, value)| value.as_str());
    let mut wanted = Data::new();
    let mut put = |key: &str, value: String| wanted.push((key.to_owned(), value));
    let client_ca = combined(CLIENT_CA, there(CLIENT_CA), trust.client_ca.load().authorities(), now_s)?;
    if !client_ca.is_empty() {
        put(CLIENT_CA, client_ca);
    }
    let (proxy_ca, config) = match &trust.proxies {
        Some((proxies, config)) => {
            (combined(PROXY_CA, there(PROXY_CA), proxies.load().authorities(), now_s)?, config.clone())
        }
        None => (combined(PROXY_CA, there(PROXY_CA), &[], now_s)?, RequestHeaderConfig::default()),
    };
    // Headers mean nothing without somebody to believe them from.
    if !proxy_ca.is_empty() {
        put(USERNAME_HEADERS, listed(USERNAME_HEADERS, there(USERNAME_HEADERS), &config.username_headers)?);
        let uid_headers = listed(UID_HEADERS, there(UID_HEADERS), &config.uid_headers)?;
        if uid_headers != "[]" {
            put(UID_HEADERS, uid_headers);
        }
        put(GROUP_HEADERS, listed(GROUP_HEADERS, there(GROUP_HEADERS), &config.group_headers)?);
        put(EXTRA_PREFIXES, listed(EXTRA_PREFIXES, there(EXTRA_PREFIXES), &config.extra_header_prefixes)?);
        put(PROXY_CA, proxy_ca);
        put(ALLOWED_NAMES, listed(ALLOWED_NAMES, there(ALLOWED_NAMES), &config.allowed_names)?);
    }
    wanted.sort();
    Ok(wanted)
}

/// A list in JSON with those of `ours` that it lacks, each once.
fn listed(key: &str, found: &str, ours: &[String]) -> Result<String, String> {
    let arena = Bump::new();
    let mut all: Vec<String> = Vec::new();
    if !found.is_empty() {
        let list = json::decode_untyped(&arena, arena.alloc_slice_copy(found.as_bytes()));
        let texts = match list {
            Ok(Value::List(list)) => list.iter().map(|v| v.as_str().map(str::to_owned)).collect(),
            Ok(Value::Null) => Some(Vec::new()),
            _ => None,
        };
        all = texts.ok_or_else(|| format!("{key}: no list of texts"))?;
    }
    all.extend_from_slice(ours);
    let mut out = vec![b'['];
    for (at, text) in all.iter().enumerate() {
        if all[..at].contains(text) {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        quote::write_string(&mut out, text);
    }
    out.push(b']');
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// All certificates of a bundle and of this server, each once and none that has expired.
fn combined(key: &str, found: &str, ours: &[CertificateDer<'static>], now_s: i64) -> Result<String, String> {
    let mut kept: Vec<CertificateDer<'_>> = Vec::new();
    let found = CertificateDer::pem_slice_iter(found.as_bytes());
    for certificate in found.chain(ours.iter().map(|certificate| Ok(certificate.clone()))) {
        let certificate = certificate.map_err(|e| format!("{key}: {e}"))?;
        let (_, parsed) =
            x509_parser::parse_x509_certificate(&certificate).map_err(|e| format!("{key}: {e}"))?;
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
#[path = "authentication_trust_tests.rs"]
mod tests;
