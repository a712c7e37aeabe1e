//! Every limit of the store, each with its reason.

use std::{ops::RangeInclusive, time::Duration};

use crate::disk::BLOCK;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Largest encoded object: etcd's default `--max-request-bytes`, which clusters rely on as the size of a Secret
/// or ConfigMap that still fits.
pub const OBJECT_BYTES_MAX: usize = 3 * MIB / 2;

/// Resources of a store, those included that came and went since it was opened: an empty one takes some hundred bytes.
/// A cluster with thousands of custom kinds fits several times over, and numbers have two bytes.
pub const RESOURCES_MAX: usize = 32 * 1024;
/// Resources that the table of roots makes room for at once, beyond those listed at open.
pub const ROOTS_CHUNK: usize = 64;

/// Writes waiting for the sequencer; more are answered with `Busy`. A few batches: what is queued beyond what the
/// next flush takes only waits longer.
pub const QUEUE_WRITES_MAX: usize = 4096;
/// Bytes of the writes waiting for the sequencer; more are answered with `Busy`.
pub const QUEUE_BYTES_MAX: usize = 32 * MIB;

/// Writes of one batch: they are published at once, so this bounds how long the sequencer is away from its queue.
pub const BATCH_WRITES_MAX: usize = 1024;
/// Bytes of the records of one batch. One object of the largest size fits, and a batch fits the smallest segment.
pub const BATCH_BYTES_MAX: usize = 7 * MIB / 4;
/// Expired objects deleted in one batch, so that a mass expiry does not hold up writes.
pub const BATCH_EXPIRED_MAX: usize = 256;

/// First segment of a journal. Small, as a small store's journal is.
pub const SEGMENT_BYTES_FIRST: u64 = 2 * MIB as u64;
/// Each further segment is four times the one before, up to this: a change of segments then costs nothing that
/// can be measured, and a compaction frees space in small enough steps.
pub const SEGMENT_BYTES_MAX: u64 = 32 * MIB as u64;
/// The same where there is no thread to prepare segments: the sequencer is away for as long as this takes to write.
pub const SEGMENT_BYTES_INLINE: u64 = 8 * MIB as u64;
/// The journal is compacted when it is larger than this and larger than the live objects: recovery reads it all.
pub const JOURNAL_BYTES_COMPACT: u64 = 64 * MIB as u64;
/// What compaction writes in one step where it shares the sequencer's thread: about a millisecond of a disk.
pub const COMPACTION_STEP_BYTES: usize = 256 * KIB;
/// Zeroes that are written in one step ahead of the journal: a write that comes meanwhile waits for them, which is a
/// millisecond of a disk.
pub const ZEROES_STEP_BYTES: usize = 256 * KIB;
/// Work on files beside the sequencer's rests this many times as long as its last step took: writes that wait for the
/// disk find it free most of the time, and a segment is ready long before it is needed.
pub const KEEPER_RESTS: u32 = 3;
/// Free space on the volume below which writes other than deletes are refused: a deletion needs journal space,
/// and what it frees comes back only with the next compaction.
pub const FREE_BYTES_RESERVE: u64 = 16 * MIB as u64;
/// Live objects together; the same as etcd's largest recommended quota.
pub const QUOTA_BYTES: u64 = 8 * 1024 * MIB as u64;

/// Age of the events kept for watches and exact lists: Kubernetes' `--etcd-compaction-interval`.
pub const HISTORY_AGE: Duration = Duration::from_secs(300);
/// What only the history holds, as a part of the bytes of all live objects: a store of twice the size has twice the
/// writers, and watches that come back want to find the same time in it. A third, so that a full round of writes to
/// every object does not double the memory.
pub const HISTORY_SHARE: u64 = 3;
/// The least and the most of that. The least is 4,000 replaced pods of 4 KiB, in a store of any size.
pub const HISTORY_BYTES: RangeInclusive<usize> = 16 * MIB..=256 * MIB;
/// Second encodings of objects (protobuf) that are kept, all objects together; more and some are given up. What is
/// read often, and a list of 10,000 pods nearly; beyond that it is half the memory that the objects themselves take.
pub const KEPT_ENCODINGS_BYTES: usize = 32 * MIB;
/// Events in one chunk of the log; history goes in whole chunks.
pub const CHUNK_EVENTS: usize = 256;
/// A chunk is closed when its events hold this much, so that history can be given back in small steps.
pub const CHUNK_BYTES: usize = MIB;
/// Snapshots pinned by continue tokens. They hold only inner nodes of their own, all objects in them are alive or
/// in the history; a token whose snapshot fell out is served by undoing events instead.
pub const PINNED_SNAPSHOTS_MAX: usize = 64;

/// Events handed to subscriptions in one call of `Hub::pump`: at 100 ns each, well under the 500 µs that a core
/// may be held.
pub const PUMP_DELIVERIES_MAX: usize = 2048;
/// Events looked at in one call of `Hub::pump`.
pub const PUMP_EVENTS_MAX: usize = 1024;
/// Events looked at in one call of `Subscription::next` while it catches up from the history.
pub const CATCH_UP_EVENTS_MAX: usize = 4096;
/// Bytes of the unread events of one subscription; more and it is cut. Enough for a thousand events of 4 KiB on
/// top of what socket buffers hold.
pub const SUBSCRIPTION_BYTES_MAX: usize = 4 * MIB;
/// Unread events of one subscription; more and it is cut.
pub const SUBSCRIPTION_EVENTS_MAX: usize = 16 * 1024;
/// Age of the oldest unread event of a subscription; older and it is cut. A client that reads nothing for this
/// long is better served by a list.
pub const SUBSCRIPTION_AGE_MAX: Duration = Duration::from_secs(30);
/// Bytes of the unread events of all subscriptions of a core, an event counted once; more and the subscription
/// that holds the oldest is cut.
pub const HUB_BYTES_MAX: usize = 32 * MIB;

/// Attempts of `guaranteed_update`: each lost race means that another writer got through, so this is reached
/// only by a precondition that can never hold.
pub const UPDATE_ATTEMPTS_MAX: usize = 256;

const _: () = assert!(OBJECT_BYTES_MAX + 4 * KIB <= BATCH_BYTES_MAX);
// Framing takes 64 bytes a block (frame.rs); the header takes one block.
const _: () = assert!((BATCH_BYTES_MAX / (BLOCK - 64) + 2) * BLOCK + BLOCK <= SEGMENT_BYTES_FIRST as usize);
const _: () =
    assert!(SEGMENT_BYTES_FIRST <= SEGMENT_BYTES_MAX && SEGMENT_BYTES_MAX.is_multiple_of(BLOCK as u64));
const _: () = assert!(CHUNK_BYTES <= *HISTORY_BYTES.start() / 16);
const _: () = assert!(SUBSCRIPTION_BYTES_MAX <= HUB_BYTES_MAX);
