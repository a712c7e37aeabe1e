//! Every limit of dynamic admission, with its reason.

use std::time::Duration;

/// Bytes of a webhook's answer. A patch may bring a new object, of which no more than 1.5 MiB are stored; in base64, and
/// with what else an answer says, that is well below this.
pub const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a webhook may take where its configuration does not say (`timeoutSeconds`), which defaults fill in.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// Bytes that a refusal quotes of an answer that is none (`maxUnstructuredResponseTextBytes`).
pub const QUOTED_BYTES_MAX: usize = 2048;

/// Series of each family of metrics that name webhooks. Configurations come from administrators, who have a few dozen
/// webhooks with a handful of operations each; what comes beyond that is counted in one series for all of them.
pub const SERIES_MAX: usize = 1024;
