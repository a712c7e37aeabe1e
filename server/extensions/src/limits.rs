//! Limits of the extensions server, each with its reason.

use std::time::Duration;

/// Fields that field selectors may name, a version: the API server's own limit (`MaxSelectableFields`).
pub const SELECTABLE_FIELDS_MAX: usize = 8;

/// Requests of the controllers under way at once: they share the flush of a batch, and are few beside the 4,096 writes
/// that may wait for the sequencer.
pub const CALLS_AT_ONCE: usize = 64;

/// Definitions that are looked at before what came of them is published and written: enough that thousands at once are
/// not published one by one, and few enough that the first need not wait long for the last.
pub const DEFINITIONS_A_TURN: usize = 64;

/// The longest rest after a publication: what a definition that comes in it waits for.
pub const PUBLISH_REST_MAX: Duration = Duration::from_millis(50);

/// How long objects have to go before their definition says that they do not (the API server's own minute).
pub const CLEANUP_WAIT_MAX: Duration = Duration::from_secs(60);

/// Between looks at how many objects are left.
pub const CLEANUP_LOOK: Duration = Duration::from_millis(100);

/// The longest sleep without anything to do. Whatever comes wakes the thread, and so does the end of the server.
pub const SLEEP_MAX: Duration = Duration::from_secs(10);

/// First pause after a write failed; it doubles with each further one.
pub const RETRY_FIRST: Duration = Duration::from_millis(20);

/// The longest pause after a write failed.
pub const RETRY_MAX: Duration = Duration::from_secs(60);

/// Pause after a panic; then everything is read anew.
pub const PANIC_PAUSE: Duration = Duration::from_secs(1);

/// What a conversion webhook may take (the real server's clients of webhooks).
pub const WEBHOOK_PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of a webhook's answer: objects that are converted at once are far smaller together, and a webhook may well make
/// them larger.
pub const REVIEW_BYTES_MAX: usize = 64 << 20;

/// The share of one object in that: twice what the store takes, so that few large ones do not fail.
pub const CONVERTED_OBJECT_BYTES_MAX: usize = 3 << 20;

/// Combinations of definition, versions and outcome that conversions are counted by, some 300 bytes each.
pub const CONVERSION_SERIES_MAX: usize = 4096;
