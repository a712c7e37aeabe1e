//! The comparison benchmark of Ringbolt and the Go kube-apiserver.
#![forbid(unsafe_code)]

pub mod result;
