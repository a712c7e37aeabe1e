//! Every limit of the generic server, each with where it comes from.

use std::time::Duration;

/// First chunk of an arena: the tree of a small object fits.
pub const ARENA_FIRST: usize = 16 << 10;
/// An arena that grew past this is freed instead of kept: one request of 3 MiB must not pin its memory.
pub const ARENA_KEPT: usize = 512 << 10;
/// Arenas kept a core: nested use is two deep at most, tasks hold a few.
pub const ARENAS_KEPT: usize = 4;
/// What a core keeps of the memory that objects are encoded in before they are stored. Nearly all are smaller.
pub const ENCODING_KEPT: usize = 64 << 10;
/// What the specs take that a core knows (see `templates`): 60 of 4 KiB, with all that came of them.
pub const SPEC_TEMPLATES_BYTES: usize = 2 << 20;
/// A longer spec is decoded each time: it would take the place of many.
pub const SPEC_TEMPLATE_SOURCE: usize = 64 << 10;
/// Specs, by their hashes, that a core remembers to have seen once: more than are in turn where many controllers make
/// pods at a time.
pub const SPEC_SIGHTINGS: usize = 512;
/// So many times in a row something else becomes of a spec before that is what is expected of it.
pub const SPEC_TEMPLATE_MISSES: u32 = 8;
/// Random bytes drawn with one system call: 64 UUIDs.
pub const RANDOM_BLOCK: usize = 1024;
/// Largest request body; larger ones get 413 (`MaxRequestBodyBytes` of the generic server).
pub const REQUEST_BODY: usize = 3 << 20;
/// For how long the verdict on a connection's certificate holds before the chain is verified again. The end of
/// the certificate itself is always seen at once.
pub const CERTIFICATE_VERDICT_SECONDS: i64 = 60;
/// Signatures that are checked on the way from a client's certificate to an authority, where webpki does not look for
/// the way: chains have two or three, and one made up so that every certificate could have signed every other must not
/// keep a core (webpki's own bound is 100).
pub const CERTIFICATE_SIGNATURES: u32 = 20;
/// The same for one that was refused: its time may begin, so it is looked at again sooner.
pub const BAD_CERTIFICATE_VERDICT_SECONDS: i64 = 5;
/// Tokens of service accounts that a core knows the signatures of: those of all pods of a large machine, and of the
/// controllers. About 1.5 KiB each; beyond it the least used are checked again when they come back.
pub const VERIFIED_TOKENS: usize = 2048;
/// Users whose last mode of impersonation is known, some 20 bytes each (the size of `modeIndexCache`).
pub const IMPERSONATION_MODES: usize = 10_000;
/// Secrets whose tokens were used for the first time on a day and whose labels are not written yet. Each is one write;
/// those beyond it are noted with a later use.
pub const LEGACY_TOKEN_USES: usize = 1024;
/// A token that is used all the time is counted so often (`TokenSuccessCacheTTL`).
pub const TOKEN_COUNTED_SECONDS: i64 = 10;
/// Longest storage key: a namespace (63, RFC 1123 label), a slash, a name (253, RFC 1123 subdomain), rounded up.
pub const KEY_MAX_BYTES: usize = 320;
/// Names that a create with generateName tries (`maxNameGenerationCreateAttempts`).
pub const GENERATE_NAME_ATTEMPTS: usize = 8;
/// How often a create is tried that lacks what a controller is about to make (the attempts of the ServiceAccount
/// admission plugin).
pub const ADMISSION_ATTEMPTS: usize = 10;
/// How long it waits between two of them, at least, and how much longer at most.
pub const ADMISSION_WAIT: Duration = Duration::from_millis(100);
/// How often a write without a precondition is tried again when another writer came first. Each try loses only to
/// a write that was made, so this many writers of one object must overtake it in a row.
pub const UPDATE_ATTEMPTS: usize = 256;
/// How long a read waits for a revision that is not committed yet (the watch cache's `blockTimeout`).
pub const FUTURE_VERSION_WAIT: Duration = Duration::from_secs(3);
/// A list up to this size goes out in one piece; a larger one in parts with back-pressure.
pub const LIST_INLINE_BYTES: usize = 128 << 10;
/// An answer in one piece from which on it is told whose it is: the engine has connections take turns by flow.
pub const FLOW_BODY_MIN: usize = 16 << 10;
/// Of so many requests with short answers on a connection it is told of one whose it is: they are one's nearly always, and
/// to tell costs as much as to classify.
pub const FLOW_ASKED_EVERY: u64 = 64;
/// Bytes of stored objects that a long list decodes and encodes anew before others on the core have their turn: about
/// half a millisecond's work.
pub const LIST_ENCODE_SLICE_BYTES: usize = 128 << 10;
/// What a SelfSubjectRulesReview encodes in one piece.
pub const RULES_PIECE_BYTES: usize = 32 << 10;
/// Bindings that it goes along before others on the core have their turn, some 30 ns each.
pub const RULES_STEP_BINDINGS: usize = 2_048;
/// Encoded items that a list in protobuf holds from when it had to know their length until their turn comes, where
/// they are not kept with their objects. Beyond it they are encoded a second time.
pub const LIST_HELD_BYTES: usize = 1 << 20;
/// An answer longer than this is compressed for clients that take gzip (Kubernetes' `defaultGzipThresholdBytes`).
pub const GZIP_THRESHOLD_BYTES: usize = 128 << 10;
/// Bytes of OpenAPI documents kept for who asks next: those of v2 in both forms and of the groups that clients look at
/// most. Others are built again, in tens of milliseconds.
pub const OPENAPI_KEPT_BYTES: usize = 8 << 20;
/// What is compressed of a long list before others on the core have their turn: about half a millisecond's work.
pub const GZIP_SLICE_BYTES: usize = 64 << 10;
/// Bytes of one stream (a watch, a long list) that wait for the connection: one list part in flight, one waiting.
pub const STREAM_QUEUE_BYTES: usize = 256 << 10;
/// Bytes of a connection that wait for the socket before its streams are no longer drained into it.
pub const CONNECTION_QUEUE_BYTES: usize = 256 << 10;
/// Bodies being received, all connections together: beyond this, flow control stops the senders.
pub const UPLOADS_SOFT_BYTES: usize = 64 << 20;
/// Bodies being received, all connections together: beyond this, a body that grows gets 429. What lies between is
/// what senders may still send after flow control stopped them.
pub const UPLOADS_HARD_BYTES: usize = 128 << 20;
/// First allocation of a body, at most; most objects fit. What a client only announces takes no memory.
pub const BODY_FIRST_BYTES: usize = 16 << 10;
/// Headers of an answer that need no allocation: the common ones, and a few of the handler's.
pub const HEADERS_INLINE: usize = 12;
/// `ReadHeaderTimeout` of the generic server.
pub const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(32);
/// How long an HTTP/2 connection that said GOAWAY and has answered everything goes on taking frames: what is under way
/// (pings, resets) is answered rather than cut. Go's server waits as long.
pub const GOAWAY_TIMEOUT: Duration = Duration::from_secs(1);
/// For how long a connection that was told of the shutdown still gets answers to what was sent before its peer heard:
/// a round trip around the world, and a moment to notice. Go's server keeps HTTP/2 connections for a second.
pub const SHUTDOWN_NOTICE: Duration = Duration::from_millis(500);
/// How many watches a shutdown ends a second, at least (the floor of the generic server).
pub const WATCH_TERMINATION_RATE: f64 = 200.0;
/// How long connections may take to close that have nothing more to say, where the server went on listening until all
/// was answered (`shutdownTimeout` with `--shutdown-send-retry-after`).
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a thread of a hook may take to end once the server does: a request that it makes to the server itself and
/// that waits for the disk.
pub const THREADS_TIMEOUT: Duration = Duration::from_secs(5);
/// `IdleTimeout` of the generic server.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

const _: () = assert!(REQUEST_BODY < UPLOADS_SOFT_BYTES && UPLOADS_SOFT_BYTES < UPLOADS_HARD_BYTES);
/// Series of request metrics a core keeps, a power of two: verbs times scopes of 150 built-in resources come to
/// about 1,000 in a busy cluster, custom resources double it. 8 bytes a slot, 600 bytes a series in use.
pub const REQUEST_SERIES: usize = 4096;
/// Series a core keeps of metrics by resource, a power of two; more resources than most clusters have.
pub const RESOURCE_SERIES: usize = 1024;
/// How soon after a lone write the next one belongs to the same row: an answer and a request within a rack.
pub const IN_A_ROW: Duration = Duration::from_micros(500);
/// How long after a lone write in a row a core stays awake for the next one: whoever writes one object after the other
/// takes less from an answer to the next request.
pub const NEXT_WRITE: Duration = Duration::from_micros(100);
/// Shortest time a watch lives without `timeoutSeconds`, where `--min-request-timeout` says nothing else; each lives
/// between this and twice as long, so that clients that came together do not come back together.
pub const WATCH_TIMEOUT_MIN: Duration = Duration::from_secs(1800);
/// How often a watch that takes bookmarks gets one (the watch cache's `bookmarkFrequency`).
pub const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// Below so many connections woken for events nothing is gained by handing out the next ones later, as long as there are
/// fewer than [`FAN_OUT_WATCHES_MIN`] watches on them.
pub const FAN_OUT_CONNECTIONS_MIN: usize = 64;
/// From so many watches woken on, however few their connections.
pub const FAN_OUT_WATCHES_MIN: usize = 256;
/// How long handing out rests for each connection that was woken, or each watch where they are many: about twice what
/// writing one event to a connection takes, ten times what it takes for a watch that shares one.
pub const FAN_OUT_REST: Duration = Duration::from_micros(12);
/// The longest such rest: what an event may wait here at most, so that with the writes it is there within 20 ms.
pub const FAN_OUT_REST_MAX: Duration = Duration::from_millis(12);
/// Events whose bytes a core keeps for the next watcher, a power of two. Watchers of one core are told of an event
/// within the same few turns, and one turn hands on no more events than these places hold in two forms each.
pub const EVENT_FRAMES_KEPT: usize = 512;
/// Bytes of all of them. Most objects are a few KiB; above it all are forgotten and made anew.
pub const EVENT_FRAMES_BYTES: usize = 4 << 20;
/// An event up to this size is put together in one piece, which each watcher's output copies; a larger one goes by
/// reference to the stored object. One TLS record.
pub const EVENT_FRAME_WHOLE_BYTES: usize = 16 << 10;
/// Queues of one priority level on a core, at most; a configuration that asks for more gets these. More do not make
/// flows fairer, and each takes 150 bytes a core.
pub const APF_QUEUES_MAX: usize = 4096;
/// How long a request is thought to take before it has (`estimatedServiceDuration` of a queue set).
pub const APF_SERVICE_GUESS: Duration = Duration::from_millis(3);
/// Requests of a core that wait for a seat, all levels together. Queues have lengths of their own, but nobody limits
/// their number: beyond this it is 429.
pub const APF_WAITING: usize = 8192;
/// Bytes of heads that wait with them; bodies belong to the pool of uploads.
pub const APF_WAITING_BYTES: usize = 16 << 20;
/// Bytes of a list that take a seat (`bytesPerSeat`).
pub const APF_BYTES_PER_SEAT: u64 = 100_000;
/// Bytes of a list that are worked on at once, since it goes out in parts (`cacheWithStreamingMaxMemoryUsage`).
pub const APF_LIST_BYTES_AT_ONCE: u64 = 1_000_000;
/// Seats of a list at most (`MaximumListSeatsLimit` with SizeBasedListCostEstimate).
pub const APF_LIST_SEATS_MAX: u32 = 100;
/// Seats of a write at most (`MaximumMutatingSeatsLimit`).
pub const APF_MUTATING_SEATS_MAX: u32 = 10;
/// Watches that hear of a write for which it keeps a seat when it is done (`watchesPerSeat`).
pub const APF_WATCHES_PER_SEAT: u32 = 10;
/// For how long it keeps that seat. Ten watches are told here in 50 µs, where kube-apiserver reckons with 5 ms
/// (`eventAdditionalDuration`): seats count real work.
pub const APF_EVENT_LATENCY: Duration = Duration::from_micros(50);
/// Counters of watches, 4 bytes each: with 100,000 watches of single objects each counter has one or two of them.
pub const APF_WATCH_COUNTERS: usize = 1 << 16;
/// How often seats are lent anew among priority levels (`borrowingAdjustmentPeriod`).
pub const APF_ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);
/// How much of the smoothed demand stays at each adjustment (`seatDemandSmoothingCoefficient`): half of it in 5 minutes.
pub const APF_DEMAND_SMOOTHING: f64 = 0.977;
/// Schemas that no configuration has any more whose counts are still told, a kilobyte a core each: as many as a change
/// of a cluster's policy replaces, and few beside what a loop that makes and deletes schemas would leave.
pub const APF_PAST_FLOWS: usize = 256;
/// Longest wait for a seat, whatever a request's deadline is.
pub const APF_WAIT_MAX: Duration = Duration::from_secs(60);
/// Seats that would stay taken for less than this after an answer are not kept: the core's timer is no finer.
pub const APF_LINGER_MIN: Duration = Duration::from_millis(1);
/// Objects of a resource whose sizes stand for those of all, when a list is weighed.
pub const APF_OBJECTS_WEIGHED: usize = 8;
/// How often an eviction tries again when the pod was changed meanwhile (`EvictionsRetry`).
pub const EVICTION_ATTEMPTS: usize = 20;
/// Pods a budget may wait for whose end its controller has not confirmed (`MaxDisruptedPodSize`).
pub const DISRUPTED_PODS_MAX: usize = 2000;
/// Bytes of a field manager's name (`FieldManagerMaxLength`).
pub const FIELD_MANAGER_MAX: usize = 128;
/// Where a scheduler on this machine serves (`DefaultKubeSchedulerPort`).
pub const SCHEDULER_PORT: u16 = 10259;
/// Where a controller manager on this machine serves (`KubeControllerManagerPort`).
pub const CONTROLLER_MANAGER_PORT: u16 = 10257;
/// How long a component may take to say how it is (`probeTimeOut`).
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of its answer that are read (`maxRespBodyLength`).
pub const PROBE_BODY_MAX: u64 = 10 << 10;
/// Events that wait for the informer. Beyond it everything it follows is read anew, which costs no more than so many
/// events do.
pub const INFORMER_EVENTS_MAX: usize = 1 << 16;
/// Pause of the informer after work, so that a storm of writes wakes it a thousand times a second and not with each
/// batch; a change of policy is in force that much later.
pub const INFORMER_REST: Duration = Duration::from_millis(1);
/// Conditions of flow schemas that are written at once: those of all that a cluster usually has, and few beside the
/// writes that may wait.
pub const DANGLING_BATCH_MAX: usize = 64;
/// How often in a minute the condition of one flow schema is written (as kube-apiserver's config controller has it).
pub const DANGLING_UPDATES_MAX: usize = 6;
/// That minute.
pub const DANGLING_UPDATES_PERIOD: Duration = Duration::from_secs(60);
/// The informer's longest sleep: how soon it sees the end of the server.
pub const INFORMER_SLEEP_MAX: Duration = Duration::from_millis(250);
/// Roles of one subject in one namespace that a decision looks at one by one, some 2 ns each; more are put together in
/// a table when they change.
pub const ROLES_WALKED: usize = 64;
/// Names of a rule that are compared one by one; more are found by a table.
pub const RULE_NAMES_WALKED: usize = 32;
/// Rules of a role about some objects only that are looked at one by one for a question about their resource; where
/// there are more they are found by the name of the object. A role with more rules than this is looked at once for each
/// question, by however many groups it is bound.
pub const ROLE_RULES_WALKED: usize = 32;
/// Events that the index of bindings may be behind for it to tell still whose binding is what, some 20 ns each; further
/// behind, all bindings are looked at.
pub const UNSEEN_EVENTS_MAX: usize = 4_096;
/// Roles that are told by name in the reason of a refusal because they are missing; a subject that thousands of bindings
/// without a role are for would have each refusal tell megabytes.
pub const MISSING_ROLES_TOLD: usize = 1_000;
/// Entries that a rule has in a table of rules for each name that it lists, of verbs, groups, resources or objects: with
/// five groups and twenty resources, or eight verbs on ten resources, each combination is one. A rule that would have more
/// is looked at for each question, so that a few kilobytes of names do not come to megabytes of combinations.
pub const RULE_ENTRIES_PER_NAME: usize = 4;
/// Entries of all such tables of subjects with many roles, up to 64 bytes each. A subject whose roles would go beyond has
/// them walked.
pub const MERGED_ENTRIES: usize = 1 << 19;
/// How often watched files are read though nobody told of a change, for file systems that tell nothing
/// (`FileRefreshDuration` of the generic server).
pub const FILE_CHECK: Duration = Duration::from_secs(60);
/// The same where the kernel has no room to tell anything.
pub const FILE_CHECK_UNTOLD: Duration = Duration::from_secs(2);
/// For how long a folder must be quiet before its files are read: writers have come to an end then.
pub const FILE_SETTLE: Duration = Duration::from_millis(50);
/// For how long that is waited for in a folder that is never quiet.
pub const FILE_SETTLE_MAX: Duration = Duration::from_secs(1);

/// Custom resources, each in each version and shape counted, that a server keeps facts of: they stay for as long as it
/// runs, some 300 bytes each besides their names. As many as the store has numbers for resources.
pub const CUSTOM_FACTS_MAX: usize = 32 * 1024;
/// Bytes of all their names: five names of 50 bytes each.
pub const CUSTOM_FACTS_BYTES: usize = 8 << 20;

/// Stack of a thread beside the cores that reads definitions of kinds or writes documents of them: as much as a core's,
/// for it walks the same trees. Only touched pages count.
pub const DEEP_STACK_BYTES: usize = 16 << 20;

/// Bytes of converted objects that are kept for whoever wants them next, of all kinds together: a few ten thousand
/// objects, for which the real server keeps all objects once more for each version. What is not kept is converted again.
pub const CONVERTED_BYTES: usize = 64 << 20;
/// Bytes of stored objects that are being converted at once, of all requests. Each is there up to four times meanwhile:
/// as it is asked about, as it is answered, and as it was before and is after. Beyond that nothing more is begun.
pub const CONVERTING_BYTES_MAX: usize = 64 << 20;
/// Objects that a list has converted in one call, and their bytes: a call of the largest page that clients of Kubernetes
/// ask for, and an answer that a webhook can make in a few seconds.
pub const CONVERT_AT_ONCE: usize = 1_000;
/// See [`CONVERT_AT_ONCE`].
pub const CONVERT_AT_ONCE_BYTES: usize = 8 << 20;
/// Events that a watch has converted at once: they are ahead of what was sent, in memory that its queue does not count.
pub const WATCH_CONVERT_AT_ONCE: usize = 64;
/// First pause of a watch whose event could not be converted; it doubles with each further one (`Reflector`'s back-off).
pub const CONVERT_RETRY_FIRST: Duration = Duration::from_millis(800);
/// The longest such pause.
pub const CONVERT_RETRY_MAX: Duration = Duration::from_secs(30);
/// Objects that cannot be read which are told of where a list has such (the API server's own limit).
pub const CORRUPT_OBJECTS_TOLD: usize = 100;
/// Conversions that the managed fields of one write may need, one after the other: about six for each version that a
/// writer is known in.
pub const MANAGED_FIELDS_CONVERSIONS_MAX: usize = 128;

const _: () = assert!(CONVERT_AT_ONCE_BYTES < CONVERTING_BYTES_MAX);
