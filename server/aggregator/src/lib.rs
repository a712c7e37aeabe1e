//! The aggregator: APIServices, and the servers behind them.
//!
//! One thread ([`manager`]) follows APIServices, definitions of custom resources, services and their endpoints. It makes
//! the APIServices of what this server serves itself, looks whether other servers are there, reads what they have, and
//! publishes routes and discovery through [`ringbolt_apiserver::live`]. Requests never wait for it: the handler of a
//! route ([`proxy`]) has all it needs, but for the address of the service, which it reads from the store.
#![forbid(unsafe_code)]

pub mod api_service;
mod availability;
mod backend;
mod definitions;
mod discovery_documents;
mod inbox;
mod limits;
mod manager;
mod metrics;
mod proxy;
mod queue;
mod registration;
mod remote_discovery;
mod remote_openapi;
mod resolver;
mod server;

pub use self::{
    backend::ProxyIdentity,
    inbox::Resources,
    resolver::{Routing, Services},
    server::{Config, install},
};
