//! The comparison benchmark of Ringbolt and the Go kube-apiserver.
#![forbid(unsafe_code)]

pub mod budget;
pub mod cases;
pub mod compare;
pub mod comparison;
pub mod error;
pub mod load;
pub mod objects;
pub mod overload;
pub mod report;
pub mod result;
pub mod store;
pub mod summary;
