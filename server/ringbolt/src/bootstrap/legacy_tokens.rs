//! Tokens that lie in secrets and never expire: the server notes when each was last used, and tells in a ConfigMap since
//! when it does, for the controller that removes those nobody uses.

use std::{sync::Arc, thread};

use bytes::Bytes;
use ringbolt_apiserver::{
    authentication::service_account::{LAST_USED_LABEL, LegacyTokenUse, LegacyTokenUses},
    server::hooks::HookContext,
};
use ringbolt_controlplane::bootstrap::{BootstrapObject, LEGACY_TOKEN_TRACKING, config_map};
use ringbolt_machinery::{json::quote, scan, time, time::Moment};

use super::{MANAGED, RESYNC, create, patch, unexpected};

/// The key of the day from which the use of tokens is noted.
const SINCE: &str = "since";

/// Writes the uses of tokens into the labels of their secrets, on a thread of its own.
pub(super) fn note_uses(context: &HookContext, uses: Arc<LegacyTokenUses>) -> Result<(), String> {
    let context = context.clone();
    let note = move || {
        while !context.signals.shutdown_initiated.is_signaled() {
            if let Some(found) = uses.next(RESYNC) {
                note(&context, &found);
            }
        }
    };
    thread::Builder::new().name("legacy-tokens".to_owned()).spawn(note).map(drop).map_err(|e| e.to_string())
}

fn note(context: &HookContext, found: &LegacyTokenUse) {
    let LegacyTokenUse { namespace, secret, uid, day } = found;
    // It must still be the same secret.
    let body = format!(r#"{{"metadata":{{"uid":"{uid}","labels":{{"{LAST_USED_LABEL}":"{day}"}}}}}}"#);
    let target = format!("/api/v1/namespaces/{namespace}/secrets/{secret}{MANAGED}");
    match patch(context, target, "application/merge-patch+json", body.into_bytes()) {
        Some((200..=299, _)) => {}
        Some((code, answer)) => {
            let answer = String::from_utf8_lossy(&answer);
            tracing::warn!(namespace, secret, code, %answer, "the use of a token is not noted");
        }
        None => tracing::warn!(namespace, secret, "the use of a token is not noted: no answer"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
