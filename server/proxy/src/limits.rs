//! What is kept of what passes through.

/// Bytes of an answer that says why there is no log: as much as kube-apiserver reads of one.
pub(crate) const LOG_ERROR_BYTES: usize = 50_000;
/// Bytes of what a kubelet says of a command's end, or of why it does not begin. It is a Status; kube-apiserver takes any
/// length.
pub(crate) const COMMAND_STATUS_BYTES: usize = 256 * 1024;
/// Bytes on their way to a kubelet beyond which the client is held back: what it sends is as much as its windows allow,
/// this is what lies here besides.
pub(crate) const UP_BYTES: usize = 64 * 1024;
/// Bytes of one tag of a page whose links are rewritten: a longer one goes on as it is.
pub(crate) const TAG_BYTES: usize = 64 * 1024;
/// Bytes of a compressed page that are opened at once: a thousand times as many may come of them.
pub(crate) const INFLATE_BYTES: usize = 64;
/// Bytes of a page, opened, whose links are looked at before it is the turn of others: about a millisecond.
pub(crate) const REWRITE_BYTES: usize = 64 * 1024;
