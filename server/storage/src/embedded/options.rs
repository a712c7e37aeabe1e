//! How an embedded store is opened.

use std::{fmt, io, ops::RangeInclusive, sync::Arc, time::Duration};

use crate::{
    clock::{Clock, SystemClock},
    limits,
    object::{Inspect, ResourceId},
};

/// How to open an embedded store. [`EmbeddedOptions::new`] fills in the limits of `limits.rs`.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// Names of the resources; the index is the [`ResourceId`]. They are written to the journal: an object comes
    /// back under the same name, whatever its number is then.
    pub resources: Vec<String>,
    /// The resource of namespaces, for writes that need one.
    pub namespaces: Option<ResourceId>,
    /// Reads attributes of objects that come back from the journal.
    pub inspect: Arc<dyn Inspect>,
    /// The clock of expiry and history.
    pub clock: Arc<dyn Clock>,
    /// Bytes of all live objects; more and writes that add are refused.
    pub quota_bytes: u64,
    /// Largest encoded object.
    pub object_bytes_max: usize,
    /// Age of the events kept.
    pub history_age: Duration,
    /// Bytes that only the history holds: a share of the live objects' bytes within these bounds.
    pub history_bytes: RangeInclusive<usize>,
    /// Size of the first journal segment, and of the largest.
    pub segment_bytes: (u64, u64),
    /// Size of the journal at which it is compacted, if the live objects are smaller.
    pub compact_bytes: u64,
    /// Writes that go into the journal together.
    pub batch_writes_max: usize,
    /// Writes waiting for the sequencer.
    pub queue_writes_max: usize,
}

impl EmbeddedOptions {
    /// Options with the default limits.
    pub fn new(resources: Vec<String>, namespaces: Option<ResourceId>, inspect: Arc<dyn Inspect>) -> Self {
        EmbeddedOptions {
            resources,
            namespaces,
            inspect,
            clock: Arc::new(SystemClock::default()),
            quota_bytes: limits::QUOTA_BYTES,
            object_bytes_max: limits::OBJECT_BYTES_MAX,
            history_age: limits::HISTORY_AGE,
            history_bytes: limits::HISTORY_BYTES,
            segment_bytes: (limits::SEGMENT_BYTES_FIRST, limits::SEGMENT_BYTES_MAX),
            compact_bytes: limits::JOURNAL_BYTES_COMPACT,
            batch_writes_max: limits::BATCH_WRITES_MAX,
            queue_writes_max: limits::QUEUE_WRITES_MAX,
        }
    }
}

/// Why a store could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The disk failed.
    Io(io::Error),
    /// What is on the disk is not what was written. Nothing was changed.
    Corrupt {
        /// The file.
        file: String,
        /// What is wrong in it.
        problem: String,
    },
    /// The options make no sense.
    Options(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => write!(f, "the data directory cannot be read or written: {error}"),
            OpenError::Corrupt { file, problem } => write!(
                f,
                "the data directory is damaged: {file}: {problem}; nothing was changed; restore a backup, or move \
                 the directory away to start empty"
            ),
            OpenError::Options(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}
