//! Secrets whose tokens were used: they carry the day of it as a label, by which a controller knows which of them nobody
//! needs (KEP-2799). The label is written later, by a thread that is no core's.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use crate::limits::LEGACY_TOKEN_USES;

/// The label that says when a token was last used.
pub const LAST_USED_LABEL: &str = "kubernetes.io/legacy-token-last-used";

/// A use of the token in a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyTokenUse {
    /// Namespace of the secret.
    pub namespace: String,
    /// Its name.
    pub secret: String,
    /// Its identifier.
    pub uid: String,
    /// The day, `2006-01-02`, in UTC.
    pub day: String,
}

/// Uses that no label tells of yet, at most [`LEGACY_TOKEN_USES`].
#[derive(Debug, Default)]
pub struct LegacyTokenUses {
    queue: Mutex<VecDeque<LegacyTokenUse>>,
    more: Condvar,
}

impl LegacyTokenUses {
    /// Notes a use, unless it is noted or there is no room: then a use to come is noted. Answers whether it is.
    pub(super) fn note(&self, found: LegacyTokenUse) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.contains(&found) {
            return true;
        }
        if queue.len() >= LEGACY_TOKEN_USES {
            return false;
        }
        queue.push_back(found);
        self.more.notify_one();
        true
    }

    /// The next use to write down, if one comes within `timeout`.
    pub fn next(&self, timeout: Duration) -> Option<LegacyTokenUse> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.more.wait_timeout_while(queue, timeout, |queue| queue.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_is_noted_once_and_only_so_many() {
        let uses = LegacyTokenUses::default();
        let found = |number: usize| LegacyTokenUse {
            namespace: "ns".to_owned(),
            secret: format!("s-{number}"),
            uid: "u".to_owned(),
            day: "2026-11-30".to_owned(),
        };
        assert!(uses.note(found(0)) && uses.note(found(0)));
        assert_eq!(uses.next(Duration::ZERO), Some(found(0)));
        assert_eq!(uses.next(Duration::ZERO), None);
        assert!((0..LEGACY_TOKEN_USES).all(|number| uses.note(found(number))));
        assert!(uses.note(found(1)) && !uses.note(found(LEGACY_TOKEN_USES)));
        assert_eq!(uses.next(Duration::ZERO), Some(found(0)));
        assert!(uses.note(found(LEGACY_TOKEN_USES)));
    }
}
