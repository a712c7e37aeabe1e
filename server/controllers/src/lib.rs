//! The controllers inside the server: what a cluster needs besides its API server so that namespaces empty, service
//! accounts appear and owners' dependents go, where no kube-controller-manager runs.
//!
//! They run on one thread off the data path. What they look at are snapshots and the committed events of the store;
//! what they write goes through the handlers that clients' requests go through, as the service accounts that
//! kube-controller-manager gives its controllers.
#![forbid(unsafe_code)]

mod client;
mod cluster_role_aggregation;
mod context;
mod garbage_collector;
mod kinds;
mod limits;
mod manager;
mod names;
mod namespace;
mod object;
mod queue;
mod resource_quota;
mod service_account;

pub use self::{
    manager::{Config, start},
    names::{Controller, Controllers},
};
