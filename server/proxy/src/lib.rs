//! Requests of clients that another server answers: the relay that aggregated APIs share with the proxies of nodes, pods
//! and services, and what kubelets do for `kubectl logs`, `exec`, `attach` and `port-forward`.
//!
//! The other server is called on the thread of [`ringbolt_outgoing`]; what is here runs on the core of the client's
//! connection, moves bytes between the two and translates what they do not both speak.
#![forbid(unsafe_code)]

mod command;
mod forwarding;
mod handshake;
mod kubelets;
mod limits;
mod links;
mod log;
mod ports;
mod relayed;
mod rewriting;
mod socket;

pub use self::{
    forwarding::{Forward, HopByHop, encode_query, escape_path, is_upgrade, request, target},
    kubelets::{KubeletSettings, Kubelets},
    relayed::{Failures, Relayed},
};
