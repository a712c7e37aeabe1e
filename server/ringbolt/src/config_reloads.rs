//! What is counted when `--authorization-config` and `--authentication-config` are read anew:
//! `apiserver_authorization_config_controller_…` and `apiserver_authentication_config_controller_…`.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use ringbolt_apiserver::metrics::{Exposition, Family, Kind, Metrics};
use sha2::{Digest, Sha256};

/// The names of the families of one file.
#[derive(Debug)]
pub struct ReloadFamilies {
    total: Family,
    last: Family,
    info: Family,
}

/// Those of `--authorization-config`.
pub static AUTHORIZATION: ReloadFamilies = ReloadFamilies {
    total: Family {
        name: "apiserver_authorization_config_controller_automatic_reloads_total",
        help: "[BETA] Times that the file of authorizers was read anew, by outcome.",
        kind: Kind::Counter,
    },
    last: Family {
        name: "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
        help: "[BETA] When that was the last time, by outcome.",
        kind: Kind::Gauge,
    },
    info: Family {
        name: "apiserver_authorization_config_controller_last_config_info",
        help: "[ALPHA] Always 1; its label is the hash of the file in use.",
        kind: Kind::Gauge,
    },
};

/// Those of `--authentication-config`.
pub static AUTHENTICATION: ReloadFamilies = ReloadFamilies {
    total: Family {
        name: "apiserver_authentication_config_controller_automatic_reloads_total",
        help: "[BETA] Times that the file of authenticators was read anew, by outcome.",
        kind: Kind::Counter,
    },
    last: Family {
        name: "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
        help: "[BETA] When that was the last time, by outcome.",
        kind: Kind::Gauge,
    },
    info: Family {
        name: "apiserver_authentication_config_controller_last_config_info",
        help: "[ALPHA] Always 1; its label is the hash of the file in use.",
        kind: Kind::Gauge,
    },
};

/// How often one outcome was, and when last.
#[derive(Debug, Default)]
struct Outcome {
    count: AtomicU64,
    /// Milliseconds of the Unix clock.
    last: AtomicU64,
}

impl Outcome {
    fn note(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last.store(now.as_millis() as u64, Relaxed);
        self.count.fetch_add(1, Relaxed);
    }
}

/// The counts of one file.
#[derive(Debug)]
pub struct ConfigReloads {
    families: &'static ReloadFamilies,
    succeeded: Outcome,
    failed: Outcome,
    /// Of the file in use.
    hash: Mutex<String>,
}

fn hash(data: &[u8]) -> String {
    let digest = Sha256::digest(data);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl ConfigReloads {
    /// Of a file that is in use.
    pub fn new(families: &'static ReloadFamilies, text: &[u8]) -> Arc<ConfigReloads> {
        let (succeeded, failed) = Default::default();
        Arc::new(ConfigReloads { families, succeeded, failed, hash: Mutex::new(hash(text)) })
    }

    /// The file was read anew: what came of it.
    pub fn note(&self, text: &[u8], outcome: Result<(), String>) -> Result<(), String> {
        if outcome.is_ok() {
            *self.hash.lock().unwrap_or_else(PoisonError::into_inner) = hash(text);
            self.succeeded.note();
        } else {
            self.failed.note();
        }
        outcome
    }

    /// Shows them; `identity` is the name of the server.
    pub fn register(self: Arc<Self>, metrics: &Metrics, identity: &str) {
        let identity = hash(identity.as_bytes());
        metrics.register(move |out| self.show(&identity, out));
    }

    fn show(&self, identity: &str, out: &mut Exposition) {
        for (status, outcome) in [("success", &self.succeeded), ("failure", &self.failed)] {
            let labels = [("apiserver_id_hash", identity), ("status", status)];
            let count = outcome.count.load(Relaxed);
            if count > 0 {
                out.sample(&self.families.total, &labels, count as f64);
                out.sample(&self.families.last, &labels, outcome.last.load(Relaxed) as f64 / 1e3);
            }
        }
        let hash = self.hash.lock().unwrap_or_else(PoisonError::into_inner).clone();
        out.sample(&self.families.info, &[("apiserver_id_hash", identity), ("hash", &hash)], 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_outcome_and_tells_what_is_in_use() {
        let reloads = ConfigReloads::new(&AUTHORIZATION, b"a");
        let shown = |reloads: &ConfigReloads| {
            let mut out = Exposition::default();
            reloads.show("me", &mut out);
            out.finish()
        };
        assert!(!shown(&reloads).contains("_total"), "nothing was read anew");
        assert_eq!(reloads.note(b"b", Err("no good".to_owned())), Err("no good".to_owned()));
        let of =
            |text: &[u8]| format!("last_config_info{{apiserver_id_hash=\"me\",hash=\"{}\"}} 1", hash(text));
        assert!(shown(&reloads).contains(&of(b"a")), "what was there before is in use");
        assert_eq!(reloads.note(b"c", Ok(())), Ok(()));
        let text = shown(&reloads);
        assert!(text.contains(&of(b"c")));
        for status in ["success", "failure"] {
            let line = format!("automatic_reloads_total{{apiserver_id_hash=\"me\",status=\"{status}\"}} 1\n");
            assert!(text.contains(&line), "{text}");
        }
        assert_eq!(hash(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
