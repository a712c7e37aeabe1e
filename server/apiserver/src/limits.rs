//! Every limit of the generic server, each with where it comes from.

/// First chunk of an arena: the tree of a small object fits.
pub const ARENA_FIRST: usize = 16 << 10;
/// An arena that grew past this is freed instead of kept: one request of 3 MiB must not pin its memory.
pub const ARENA_KEPT: usize = 512 << 10;
/// Arenas kept a core: nested use is two deep at most, tasks hold a few.
pub const ARENAS_KEPT: usize = 4;
/// Random bytes drawn with one system call: 64 UUIDs.
pub const RANDOM_BLOCK: usize = 1024;
/// Largest request body; larger ones get 413 (`MaxRequestBodyBytes` of the generic server).
pub const REQUEST_BODY: usize = 3 << 20;
