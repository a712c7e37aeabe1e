//! Reasons that others give, webhooks above all: Kubernetes passes on what it does not know.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use super::Reason;

/// Texts of reasons that are kept for good. A reason is a word of a program, so there are few; what comes beyond is taken
/// for no reason at all.
const KEPT_MAX: usize = 1024;
/// Bytes of one of them.
const BYTES_MAX: usize = 128;

static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// A text that lives as long as the process; empty where there are too many, or it is too long.
pub(super) fn keep(text: &str) -> &'static str {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some(known) = kept.get(text) {
        return known;
    }
    if kept.len() >= KEPT_MAX || text.len() > BYTES_MAX {
        return "";
    }
    let text: &'static str = Box::leak(text.into());
    kept.insert(text);
    text
}

/// Reasons with a meaning of their own.
const KNOWN: [Reason; 19] = [
    Reason::Unauthorized,
    Reason::Forbidden,
    Reason::NotFound,
    Reason::AlreadyExists,
    Reason::Conflict,
    Reason::Expired,
    Reason::Gone,
    Reason::Invalid,
    Reason::ServerTimeout,
    Reason::Timeout,
    Reason::TooManyRequests,
    Reason::BadRequest,
    Reason::MethodNotAllowed,
    Reason::NotAcceptable,
    Reason::RequestEntityTooLarge,
    Reason::UnsupportedMediaType,
    Reason::InternalError,
    Reason::ServiceUnavailable,
    Reason::StoreReadError,
];

impl Reason {
    /// The reason of a text that somebody else gave.
    pub fn of(text: &str) -> Reason {
        let known = KNOWN.into_iter().find(|reason| reason.as_str() == text);
        known.unwrap_or_else(|| match text {
            "" => Reason::Unknown,
            other => Reason::Other(keep(other)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_back_as_they_were_given() {
        let check = |text: &str, expect: Reason| {
            assert_eq!(Reason::of(text), expect);
            assert_eq!(Reason::of(text).as_str(), text);
        };
        check("", Reason::Unknown);
        check("Conflict", Reason::Conflict);
        check("StorageReadError", Reason::StoreReadError);
        check("BecauseISaidSo", Reason::Other("BecauseISaidSo"));
        assert_eq!(Reason::of(&"x".repeat(BYTES_MAX + 1)).as_str(), "");
        assert!(std::ptr::eq(keep("once").as_ptr(), keep("once").as_ptr()));
    }
}
