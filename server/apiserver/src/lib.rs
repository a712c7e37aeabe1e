//! The Generic API Server: filters, route table, endpoints, serving, lifecycle.
#![forbid(unsafe_code)]

pub mod authentication;
pub mod core;
pub mod limits;
pub mod registry;
pub mod request;
pub mod response;
pub mod serving;
