//! Calls to other servers: aggregated APIs, and whatever else a server asks on behalf of its clients.
//!
//! Here runs a library's client on a library's runtime, on one thread beside the cores: no call is on the hot path, and
//! what the protocols ask of a client is much. The thread is there once somebody calls. A core talks to a call through
//! two [`Pipe`]s, which hold a bounded number of bytes and wake whoever waits for them; a call that is dropped is over.
#![forbid(unsafe_code)]

mod call;
mod client;
mod connect;
mod error;
mod fetch;
mod hook;
pub mod limits;
mod pipe;
mod pool;
mod runtime;
mod tls;
mod verifier;

pub use self::{
    call::{Call, Head},
    client::{Client, Destination, Scheme},
    connect::is_global,
    error::{CallError, Failure},
    fetch::{Answer, Pending},
    hook::{Hook, HookConfig, HookService, Posted, ServiceResolver, clean_path},
    pipe::Pipe,
    runtime::Outgoing,
    tls::{ClientPair, TlsSettings},
};
