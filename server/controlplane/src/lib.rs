//! The main server: built-in groups, strategies, bootstrap objects.
#![forbid(unsafe_code)]
