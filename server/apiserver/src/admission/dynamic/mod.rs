//! Dynamic admission: plugins whose rules are objects that come and go, policies and webhooks. They may wait for others,
//! which the built-in plugins never do.
//!
//! The mutating ones run after the built-in mutating plugins, the validating ones after the built-in validating plugins
//! and before quota, as kube-apiserver orders them. Where nothing is configured a write pays one atomic load for them:
//! handlers ask [`Admission::dynamic`](super::Admission::dynamic) once, when they take the request in, and what comes of
//! it goes along with the request.

mod matching;
mod merging;
pub(crate) mod options;
mod phases;
mod reinvocation;
mod request;

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bumpalo::Bump;
use ringbolt_machinery::{status::Status, value::Value};

pub use self::{
    matching::{Matched, Matcher, is_exempt},
    reinvocation::Reinvocation,
    request::{DynamicRequest, Version},
};
pub(crate) use self::{
    options::OperationOptions,
    phases::{Call, Dynamic, at_once},
};

/// What a plugin comes to, now or later.
pub type Verdict<'f> = Pin<Box<dyn Future<Output = Result<(), Status>> + 'f>>;

/// A plugin of the mutating phase.
pub trait MutatingPlugin: Send + Sync {
    /// Whether it may have something to say of a request. Asked before anything is made for it, so it must be quick.
    fn concerns(&self, request: &DynamicRequest<'_>) -> bool;

    /// Changes `object`, which is none where something is deleted, or refuses it. Trees are those that handlers have;
    /// [`DynamicRequest::show`] and [`DynamicRequest::take_back`] have them as clients do.
    fn admit<'f, 'a: 'f>(
        &'f self,
        request: &'f DynamicRequest<'f>,
        arena: &'a Bump,
        object: Option<&'f mut Value<'a>>,
        old: Option<&'f Value<'f>>,
        reinvocation: &'f Reinvocation,
    ) -> Verdict<'f>;
}

/// A plugin of the validating phase.
pub trait ValidatingPlugin: Send + Sync {
    /// Whether it may have something to say of a request.
    fn concerns(&self, request: &DynamicRequest<'_>) -> bool;

    /// Refuses a request, or lets it go on.
    fn validate<'f>(
        &'f self,
        request: &'f DynamicRequest<'f>,
        object: Option<&'f Value<'f>>,
        old: Option<&'f Value<'f>>,
    ) -> Verdict<'f>;
}

/// The dynamic plugins of a server, in their order.
#[derive(Default)]
pub struct DynamicPlugins {
    configured: Arc<AtomicU32>,
    switches: u32,
    mutating: Vec<Arc<dyn MutatingPlugin>>,
    validating: Vec<Arc<dyn ValidatingPlugin>>,
}

impl DynamicPlugins {
    /// A switch for one more plugin, which is off.
    pub fn switch(&mut self) -> Switch {
        let bit = 1 << self.switches;
        self.switches += 1;
        Switch { configured: self.configured.clone(), bit }
    }

    /// Adds a plugin behind the others of its phase.
    pub fn add_mutating(&mut self, plugin: Arc<dyn MutatingPlugin>) {
        self.mutating.push(plugin);
    }

    /// Adds a plugin behind the others of its phase.
    pub fn add_validating(&mut self, plugin: Arc<dyn ValidatingPlugin>) {
        self.validating.push(plugin);
    }

    /// Whether any of them has anything to do.
    pub fn are_configured(&self) -> bool {
        self.configured.load(Ordering::Acquire) != 0
    }
}

/// Says whether a plugin is configured at all.
pub struct Switch {
    configured: Arc<AtomicU32>,
    bit: u32,
}

impl Switch {
    /// What is configured must be published before it is switched on.
    pub fn set(&self, on: bool) {
        if on {
            self.configured.fetch_or(self.bit, Ordering::AcqRel);
        } else {
            self.configured.fetch_and(!self.bit, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_while_any_switch_is_on() {
        let mut plugins = DynamicPlugins::default();
        let (first, second) = (plugins.switch(), plugins.switch());
        assert!(!plugins.are_configured());
        first.set(true);
        second.set(true);
        first.set(false);
        assert!(plugins.are_configured());
        second.set(false);
        assert!(!plugins.are_configured());
    }
}
