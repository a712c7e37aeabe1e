//! The time as objects carry it.

use bumpalo::Bump;
use jiff::Timestamp;

/// Now, in RFC 3339 to the second.
pub(crate) fn now_seconds(arena: &Bump) -> &str {
    arena.alloc_str(&Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
