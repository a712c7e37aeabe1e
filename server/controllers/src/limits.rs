//! Limits of the controllers, each with its reason.

use std::time::Duration;

/// Requests that a controller has under way at once: they share the flush of a batch, and are few beside the 4,096
/// writes that may wait for the sequencer.
pub(crate) const CALLS_AT_ONCE: usize = 64;

/// Deletions of one namespace before others have their turn: some 50 ms of work.
pub(crate) const DELETIONS_A_TURN: usize = 4 * CALLS_AT_ONCE;

/// Keys that a controller works on before the others have their turn.
pub(crate) const KEYS_A_TURN: usize = 16;

/// Events that are looked at before the controllers work: half a chunk of the log or so, a millisecond.
pub(crate) const EVENTS_A_TURN: usize = 4096;

/// Pause after work, so that a busy store wakes the thread a few hundred times a second and not with each batch.
pub(crate) const REST: Duration = Duration::from_millis(2);

/// The longest sleep without anything to do: how soon the end of the server is seen.
pub(crate) const SLEEP_MAX: Duration = Duration::from_millis(250);

/// First pause after a failure; it doubles with each further one (`DefaultTypedControllerRateLimiter`, whose 5 ms are
/// for a server that answers from a cache).
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(20);

/// The longest pause after a failure. kube-controller-manager goes up to 1,000 s; what fails here is next door, so it
/// is looked at more often.
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(60);

/// Between the end of an object in a namespace that is being deleted and the next look at what is left, so that many
/// ends are one look.
pub(crate) const NAMESPACE_LOOK: Duration = Duration::from_millis(100);

/// Between a change in a namespace and counting again for its quotas, so that many changes are one count of all its
/// objects.
pub(crate) const QUOTA_LOOK: Duration = Duration::from_millis(100);

/// How often each quota is counted again though nothing happened (`--resource-quota-sync-period`).
pub(crate) const QUOTA_RESYNC: Duration = Duration::from_secs(300);

/// Pause after a controller panicked; then everything is read anew.
pub(crate) const PANIC_PAUSE: Duration = Duration::from_secs(1);

/// How long a namespace waits at most for kinds that are not served yet, while the server starts, before it is looked at
/// again: it is told when they are.
pub(crate) const KINDS_LOOK: Duration = Duration::from_secs(5);
