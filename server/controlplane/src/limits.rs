//! Limits of the main server, each with its reason.

use std::time::Duration;

/// How long events live after each write: the default of `--event-ttl`.
pub(crate) const EVENT_TTL_SECONDS: u64 = 3600;

/// Data of a Secret or ConfigMap, values decoded: `MaxSecretSize`, so that an object fits into etcd with room to
/// spare.
pub(crate) const SECRET_MAX_BYTES: usize = 1024 * 1024;

/// Highest priority that is not the system's: `HighestUserDefinablePriority`.
pub(crate) const HIGHEST_USER_DEFINABLE_PRIORITY: i64 = 1_000_000_000;

/// Parameters of a storage class: `maxProvisionerParameterLen`.
pub(crate) const PROVISIONER_PARAMETERS_MAX: usize = 512;

/// Their keys and values together: `maxProvisionerParameterSize`.
pub(crate) const PROVISIONER_PARAMETERS_MAX_BYTES: usize = 256 * 1024;

/// Endpoints of one slice: `maxEndpoints`.
pub(crate) const ENDPOINTS_MAX: usize = 1000;

/// Addresses of one endpoint: `maxAddresses`.
pub(crate) const ENDPOINT_ADDRESSES_MAX: usize = 100;

/// Pairs of ports of one pod that are warned of. There are as many pairs as the ports' square, and an answer carries
/// 4 KiB of warnings, so at most so many of a character each.
pub(crate) const OVERLAPS_MAX: usize = 4 * 1024;

/// Comparisons of a rule that is held with a part of one that is handed out, for one role or binding: some ten
/// milliseconds. A cluster's administrator holds a handful of rules, a role has hundreds of parts.
pub(crate) const ESCALATION_COMPARISONS_MAX: usize = 1024 * 1024;

/// Parts of rules that are not held which an answer may name: some 100 bytes each.
pub(crate) const ESCALATION_MISSING_MAX: usize = 16 * 1024;

/// Pods of a namespace that are held against a level it gets: `defaultNamespaceMaxPodsToCheck`.
pub(crate) const POD_SECURITY_CHECKED_PODS: usize = 3000;

/// For how long at most they are: `defaultNamespacePodCheckTimeout`.
pub(crate) const POD_SECURITY_CHECK_TIME: Duration = Duration::from_secs(1);

/// Buckets of a limit of events, where its configuration does not say: `defaultCacheSize` of EventRateLimit, some 100
/// bytes each.
pub(crate) const EVENT_BUCKETS: usize = 4096;

/// Pods that are decoded and looked at before others on the core have their turn, some 20 µs each.
pub(crate) const POD_SECURITY_PODS_PER_STEP: usize = 16;

/// Pods that are put in order before that, some 2 µs each.
pub(crate) const POD_SECURITY_SORTED_PER_STEP: usize = 128;

/// Series of what policies decided, each a pair of a policy and a binding with an outcome, some 250 bytes each; what
/// comes beyond is not counted.
pub(crate) const POLICY_SERIES_MAX: usize = 4096;

/// Series of each family of metrics about match conditions, which name webhooks and policies. Both come from
/// administrators, who have a few dozen with a handful of operations each; what comes beyond that is counted in one series
/// for all of them.
pub(crate) const CONDITION_SERIES_MAX: usize = 1024;

/// Validation failures that are noted for the audit log of one request (`maxValidationFailures`).
pub(crate) const VALIDATION_FAILURES_MAX: usize = 50;

/// Bytes of one value that is noted for the audit log (`maxAuditAnnotationValueLength`).
pub(crate) const AUDIT_VALUE_BYTES_MAX: usize = 10 * 1024;

/// Series of what was handed out to services: by range, of which there are as many as families, and scope.
pub(crate) const ALLOCATOR_SERIES_MAX: usize = 64;
