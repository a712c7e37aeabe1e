//! The chain of servers: each takes over what the next one has installed and adds its own.

use super::hooks::Hooks;
use crate::{healthz::Check, live::Live, routes::RouteTableBuilder};

/// What a server hands to the one in front of it. All servers of the chain answer from one route table, so
/// delegation costs a request nothing.
#[derive(Default)]
pub struct Delegated {
    /// Routes so far.
    pub routes: RouteTableBuilder,
    /// Hooks so far.
    pub hooks: Hooks,
    /// Health checks of the start besides those of the hooks.
    pub boot_checks: Vec<Check>,
    /// What changes while the servers run: one for the whole chain.
    pub live: Live,
}

/// A server that another one can stand in front of.
pub trait DelegationTarget {
    /// Hands over everything that was installed.
    fn delegate(self) -> Delegated;
}

/// The end of the chain: nothing is installed. What no server of the chain knows is answered 404 by the route
/// table, or 503 while paths are still being installed.
pub struct NotFound;

impl DelegationTarget for NotFound {
    fn delegate(self) -> Delegated {
        Delegated::default()
    }
}
