//! How often the aggregator looks, how long it waits, and what it takes of other servers.

use std::time::Duration;

/// How often another server is asked whether it is there, though nothing happened (`RemoteAvailabilityController`).
pub(crate) const AVAILABILITY_RESYNC: Duration = Duration::from_secs(30);
/// How many requests at once find out whether another server is there: one of many endpoints may not be.
pub(crate) const AVAILABILITY_ATTEMPTS: usize = 5;
/// What one of them may take.
pub(crate) const AVAILABILITY_TIMEOUT: Duration = Duration::from_secs(5);
/// The first pause after a failure, doubled with each that follows, and the longest.
pub(crate) const AVAILABILITY_BACKOFF: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_secs(30));
/// The same for writes of APIServices.
pub(crate) const REGISTRATION_BACKOFF: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_secs(1000));
/// APIServices written at once: all built-in ones are one batch of the journal, and far from what may wait for it.
pub(crate) const REGISTRATIONS_AT_ONCE: usize = 64;

/// How often another server's discovery is read anew.
pub(crate) const DISCOVERY_REFRESH: Duration = Duration::from_secs(60);
/// The pauses after failures of that.
pub(crate) const DISCOVERY_BACKOFF: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(60));
/// What reading it may take.
pub(crate) const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a discovery document: a group-version with ten thousand resources has a few megabytes.
pub(crate) const DISCOVERY_BYTES: usize = 8 * 1024 * 1024;

/// How often another server's OpenAPI documents are read anew.
pub(crate) const OPENAPI_REFRESH: Duration = Duration::from_secs(60);
/// The pauses after failures of that (`failedUpdateMaxExpDelay`).
pub(crate) const OPENAPI_BACKOFF: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(3600));
/// What reading one may take (`specDownloadTimeout`).
pub(crate) const OPENAPI_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of an OpenAPI document. That of kube-apiserver itself has 4 MB.
pub(crate) const OPENAPI_BYTES: usize = 16 * 1024 * 1024;

/// What a discovery request of a client may take at another server: clients ask all of them one by one.
pub(crate) const CLIENT_DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of an answer that is not read beyond its head.
pub(crate) const HEAD_ONLY_BYTES: usize = 1024 * 1024;
/// The longest sleep of the aggregator's thread.
pub(crate) const SLEEP_MAX: Duration = Duration::from_secs(10);
/// The pause after a panic: a fault must not hold a processor.
pub(crate) const PANIC_PAUSE: Duration = Duration::from_secs(1);
/// How long a start waits for the APIServices of this server to be there.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(60);
