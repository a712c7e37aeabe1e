//! Conversions between versions of one kind, on trees.

pub(crate) mod autoscaling;
pub(crate) mod event;
mod metrics;
