//! The Generic API Server: filters, route table, endpoints, serving, lifecycle.
#![forbid(unsafe_code)]

pub mod registry;
pub mod request;
pub mod response;
