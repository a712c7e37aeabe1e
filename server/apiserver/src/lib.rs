//! The Generic API Server: filters, route table, endpoints, serving, lifecycle.
#![forbid(unsafe_code)]

pub mod admission;
pub mod authentication;
pub mod authorization;
pub mod connector;
pub mod conversion;
pub mod core;
pub mod discovery;
pub mod duration;
pub mod endpoints;
pub mod filters;
pub mod flowcontrol;
pub mod healthz;
pub mod informer;
pub mod limits;
pub mod live;
pub mod metrics;
pub mod openapi;
pub mod registry;
pub mod relay;
pub mod request;
pub mod response;
pub mod response_writers;
pub mod reviews;
pub mod routes;
pub mod selectable;
pub mod server;
pub mod serving;
pub mod templates;
pub mod version;
pub mod zpages;
