//! How often which kind of token was used.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::metrics::{Exposition, Family, Kind};

/// Counts under the names of kube-apiserver. It counts a token once while its cache holds it, and so does this.
#[derive(Debug, Default)]
pub struct TokenCounts {
    pub(super) legacy: AtomicU64,
    pub(super) stale: AtomicU64,
    pub(super) valid: AtomicU64,
    pub(super) manual: AtomicU64,
    pub(super) auto_generated: AtomicU64,
    pub(super) invalidated: AtomicU64,
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

const fn family(name: &'static str, help: &'static str) -> Family {
    Family { name, help, kind: Kind::Counter }
}

impl TokenCounts {
    /// Writes all of them.
    pub fn collect(&self, out: &mut Exposition) {
        const LEGACY: Family =
            family("serviceaccount_legacy_tokens_total", "[ALPHA] Uses of tokens that name no audience.");
        const STALE: Family = family(
            "serviceaccount_stale_tokens_total",
            "[ALPHA] Uses of tokens beyond the time they were asked for.",
        );
        const VALID: Family = family(
            "serviceaccount_valid_tokens_total",
            "[ALPHA] Uses of tokens within the time they were asked for, where that was extended.",
        );
        const MANUAL: Family = family(
            "serviceaccount_legacy_manual_token_uses_total",
            "[ALPHA] Uses of tokens in secrets that somebody made.",
        );
        const AUTO: Family = family(
            "serviceaccount_legacy_auto_token_uses_total",
            "[ALPHA] Uses of tokens in secrets that a controller made.",
        );
        const INVALID: Family = family(
            "serviceaccount_invalid_legacy_auto_token_uses_total",
            "[ALPHA] Uses of tokens in secrets that were marked as invalid.",
        );
        let counts = [
            (&LEGACY, &self.legacy),
            (&STALE, &self.stale),
            (&VALID, &self.valid),
            (&MANUAL, &self.manual),
            (&AUTO, &self.auto_generated),
            (&INVALID, &self.invalidated),
        ];
        for (family, counter) in counts {
            out.sample(family, &[], counter.load(Ordering::Relaxed) as f64);
        }
    }
}
