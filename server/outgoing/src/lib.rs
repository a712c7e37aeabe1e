//! Calls to other servers.
