//! The Lease by which others see that this server lives: `apiserver-HASH` in kube-system, renewed while the server
//! does and gone with it. Leases that servers left behind are collected.

use std::{
    fs,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use ringbolt_apiserver::server::{
    GenericApiServer,
    hooks::{DuplicateHook, HookContext},
};
use ringbolt_machinery::{
    json::quote::write_string,
    scan,
    time::{Moment, parse_micro_time},
};
use ringbolt_storage::object::{Object, ResourceId};
use sha2::{Digest as _, Sha256};

use crate::bootstrap;

/// Says whose lease it is, among those of elections.
const IDENTITY_LABEL: &str = "apiserver.kubernetes.io/identity";
/// What the label says of the main server.
const IDENTITY: &str = "kube-apiserver";
const NAMESPACE: &str = "kube-system";
const COLLECTION: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
/// For how long a lease is good (`IdentityLeaseDurationSeconds`).
const DURATION_SECONDS: i64 = 3600;
/// How often it is renewed (`IdentityLeaseRenewIntervalPeriod`).
const RENEW_INTERVAL: Duration = Duration::from_secs(10);
/// When it is tried again that could not be renewed, first and at most (`maxBackoff`).
const RETRY_FIRST: Duration = Duration::from_millis(5);
const RETRY_MAX: Duration = Duration::from_secs(7);
/// How often leases that ran out are looked for (`IdentityLeaseGCPeriod`).
const COLLECT_INTERVAL: Duration = Duration::from_secs(3600);

/// The lease of this server.
struct IdentityLease {
    name: String,
    holder: String,
    host: String,
    address: SocketAddr,
    /// Set when the server stops. Held while the lease is written, so that nothing brings it back.
    stopped: Mutex<bool>,
}

/// Adds the hooks, each by its name in kube-apiserver. `address` is where others reach the server, `leases` the
/// resource.
pub fn install(
    server: &mut GenericApiServer,
    address: SocketAddr,
    leases: ResourceId,
) -> Result<(), DuplicateHook> {
    let host = host();
    let name = identity(&host);
    // A name for this run of the server.
    let run = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let holder = format!("{name}_{}", run.trim());
    let lease = Arc::new(IdentityLease { name, holder, host, address, stopped: Mutex::new(false) });
    let stopped = lease.clone();
    server.add_post_start_hook(
        "start-kube-apiserver-identity-lease-controller",
        Box::new(move |context| lease.start(context)),
    )?;
    server.add_pre_shutdown_hook(
        "stop-kube-apiserver-identity-lease-controller",
        Box::new(move |context| stopped.stop(context)),
    )?;
    server.add_post_start_hook(
        "start-kube-apiserver-identity-lease-garbage-collector",
        Box::new(move |context| {
            let later = context.clone();
            context.spawn("lease-collector", move || {
                collect(&later, leases);
                while !later.signals.shutdown_initiated.wait(COLLECT_INTERVAL) {
                    collect(&later, leases);
                }
            })
        }),
    )
}

/// The name of the machine.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// `apiserver-` and a hash of what tells this server from others: the host and what serves there.
pub fn identity(host: &str) -> String {
    let mut hash = Sha256::new();
    for part in [host, IDENTITY] {
        hash.update((part.len() as u16).to_be_bytes());
        hash.update(part);
    }
    format!("apiserver-{}", base32(&hash.finalize()[..16]))
}

/// RFC 4648 section 6 in lower case and without padding.
fn base32(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut waiting, mut bits) = (0_u32, 0);
    for byte in bytes {
        waiting = waiting << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(DIGITS[(waiting >> bits) as usize & 31]));
        }
    }
    if bits > 0 {
        text.push(char::from(DIGITS[(waiting << (5 - bits)) as usize & 31]));
    }
    text
}

impl IdentityLease {
    /// Takes away what an earlier run left, so that nobody talks to a server that is gone, and goes on renewing.
    fn start(self: &Arc<Self>, context: &HookContext) -> Result<(), String> {
        self.delete(context);
        let (this, later) = (self.clone(), context.clone());
        context.spawn("identity-lease", move || {
            let mut pause = RETRY_FIRST;
            while !later.signals.shutdown_initiated.is_signaled() {
                if this.renew(&later) {
                    pause = RENEW_INTERVAL;
                } else {
                    // Its namespace is made meanwhile.
                    pause = (pause * 2).min(RETRY_MAX);
                }
                later.signals.shutdown_initiated.wait(pause);
            }
        })
    }

    fn stop(&self, context: &HookContext) -> Result<(), String> {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.delete(context);
        Ok(())
    }

    fn path(&self) -> String {
        format!("{COLLECTION}/{}", self.name)
    }

    fn delete(&self, context: &HookContext) {
        match context.loopback.request("DELETE", self.path(), Bytes::new()) {
            Some((200..=299 | 404, _)) => {}
            other => warn("DELETE", &self.name, other),
        }
    }

    /// Makes the lease, or says in it that the server lives; whether that could be done. What others have written into
    /// it stays.
    fn renew(&self, context: &HookContext) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if *stopped {
            return true;
        }
        let target = format!("{}{}", self.path(), bootstrap::MANAGED);
        let patched = bootstrap::patch(context, target, "application/merge-patch+json", self.object(false));
        let answer = match patched {
            Some((404, _)) => {
                let target = format!("{COLLECTION}{}", bootstrap::MANAGED);
                context.loopback.request("POST", target, self.object(true).into())
            }
            other => other,
        };
        match answer {
            Some((200..=299, _)) => true,
            other => {
                tracing::debug!(answer = ?other.map(|(code, _)| code), "the Lease {} cannot be renewed", self.name);
                false
            }
        }
    }

    /// The lease as it is made, or the part of it that is renewed.
    fn object(&self, whole: bool) -> Vec<u8> {
        let mut json = Vec::with_capacity(512);
        let text = |json: &mut Vec<u8>, key: &str, value: &str| {
            write_string(json, key);
            json.push(b':');
            write_string(json, value);
        };
        json.push(b'{');
        if whole {
            json.extend_from_slice(br#""apiVersion":"coordination.k8s.io/v1","kind":"Lease","#);
        }
        json.extend_from_slice(br#""metadata":{"#);
        if whole {
            text(&mut json, "name", &self.name);
            json.push(b',');
            text(&mut json, "namespace", NAMESPACE);
            json.push(b',');
        }
        json.extend_from_slice(br#""labels":{"#);
        text(&mut json, IDENTITY_LABEL, IDENTITY);
        json.push(b',');
        text(&mut json, "kubernetes.io/hostname", &self.host);
        json.extend_from_slice(br#"},"annotations":{"#);
        text(&mut json, "kubernetes.io/peer-advertise-address", &self.address.to_string());
        json.extend_from_slice(br#"}},"spec":{"#);
        if whole {
            text(&mut json, "holderIdentity", &self.holder);
            json.push(b',');
        }
        json.extend_from_slice(format!(r#""leaseDurationSeconds":{DURATION_SECONDS},"#).as_bytes());
        text(&mut json, "renewTime", &Moment::now().to_micro_time());
        json.extend_from_slice(b"}}");
        json
    }
}

/// Deletes the leases of servers that no longer renew them.
fn collect(context: &HookContext, leases: ResourceId) {
    let now = Moment::now();
    let all = context.storage.snapshot(leases);
    for lease in all.range("", None).filter(|lease| is_over(lease, now)) {
        // Not one that has been renewed meanwhile.
        let version = lease.revision.to_string();
        let body = format!(r#"{{"preconditions":{{"resourceVersion":"{version}"}}}}"#);
        let target = format!("{COLLECTION}/{}", lease.name());
        match context.loopback.request("DELETE", target, body.into()) {
            Some((200..=299 | 404 | 409, _)) => {}
            other => warn("DELETE", lease.name(), other),
        }
    }
}

/// Whether a lease is a server's, and has run out. One that does not say until when is good for nothing.
fn is_over(lease: &Object, now: Moment) -> bool {
    let is_identity = lease.labels().any(|(key, value)| key == IDENTITY_LABEL && value == IDENTITY);
    if lease.namespace() != NAMESPACE || !is_identity {
        return false;
    }
    let renewed = scan::scalar(&lease.json, &["spec", "renewTime"]);
    let renewed = renewed.and_then(|text| parse_micro_time(&text).ok());
    let seconds = scan::scalar(&lease.json, &["spec", "leaseDurationSeconds"]);
    let seconds = seconds.and_then(|text| text.parse::<i64>().ok());
    match (renewed, seconds) {
        (Some(renewed), Some(seconds)) => {
            Moment { seconds: renewed.seconds.saturating_add(seconds), ..renewed } < now
        }
        _ => true,
    }
}

fn warn(method: &str, name: &str, answer: Option<(u16, Vec<u8>)>) {
    match answer {
        Some((code, body)) => {
            tracing::warn!(code, body = %String::from_utf8_lossy(&body), "{method} of the Lease {name}");
        }
        None => tracing::warn!("{method} of the Lease {name}: no answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_the_real_server_makes_them() {
        // A live 1.37.2 on a host of this name.
        assert_eq!(identity("vm"), "apiserver-wlv32tlttr4jl3gtroqexyxapa");
    }

    #[test]
    fn base32_of_rfc_4648() {
        let check = |text: &str, expect: &str| assert_eq!(base32(text.as_bytes()), expect, "{text}");
        check("", "");
        check("f", "my");
        check("fo", "mzxq");
        check("foo", "mzxw6");
        check("foob", "mzxw6yq");
        check("fooba", "mzxw6ytb");
        check("foobar", "mzxw6ytboi");
    }

    #[test]
    fn a_lease_is_json_whatever_the_host_is_called() {
        let lease = IdentityLease {
            name: "apiserver-x".to_owned(),
            holder: "apiserver-x_1".to_owned(),
            host: "a\"b".to_owned(),
            address: "10.0.0.1:6443".parse().unwrap(),
            stopped: Mutex::new(false),
        };
        for (whole, holder) in [(true, Some("apiserver-x_1")), (false, None)] {
            let json = lease.object(whole);
            let get = |path: &[&str]| scan::scalar(&json[1..], path);
            assert_eq!(get(&["spec", "holderIdentity"]).as_deref(), holder);
            assert_eq!(get(&["metadata", "labels", "kubernetes.io/hostname"]).as_deref(), Some("a\"b"));
            let address = get(&["metadata", "annotations", "kubernetes.io/peer-advertise-address"]);
            assert_eq!(address.as_deref(), Some("10.0.0.1:6443"));
            assert_eq!(get(&["spec", "leaseDurationSeconds"]).as_deref(), Some("3600"));
            assert!(parse_micro_time(&get(&["spec", "renewTime"]).unwrap()).is_ok());
        }
    }
}
