//! ValidatingAdmissionPolicies and MutatingAdmissionPolicies, with their bindings.
//!
//! Policies are compiled once a change by a follower of the store ([`PolicyFollower`]), which publishes what there is of
//! each kind as one immutable list of [`Hook`](definition::Hook)s. Writes load that list; where it is empty they do not
//! come here at all. Parameters and namespaces are read from the newest published state, so that there is nothing to be
//! kept of them.

mod decision;
mod definition;
mod follower;
mod metrics;
mod mutating;
mod params;
mod validating;

use std::sync::Arc;

use ringbolt_apiserver::{
    admission::dynamic::{DynamicPlugins, Switch},
    authorization::Authorizers,
    informer::Follower,
    server::GenericApiServer,
};
use ringbolt_machinery::schema::Schema;

use self::{
    follower::{PolicyFollower, Published},
    metrics::Counters,
    mutating::MutatingPolicies,
    params::ParamKinds,
    validating::ValidatingPolicies,
};
use crate::{
    admission::{Enabled, Plugin},
    dynamic::ConditionMetrics,
    registry::Registry,
};

/// What the plugins of both kinds share.
pub(crate) struct Shared {
    schema: &'static Schema,
    params: ParamKinds,
    authorizers: Authorizers,
    counters: Counters,
    conditions: Arc<ConditionMetrics>,
}

/// Policies of a store, followed before it is served.
pub struct Policies {
    schema: &'static Schema,
    published: follower::Published,
    kinds: follower::Kinds,
}

impl Policies {
    /// For the store that `registry` is of.
    pub fn new(schema: &'static Schema, registry: &Registry) -> Self {
        Policies { schema, published: follower::Published::default(), kinds: follower::Kinds::new(registry) }
    }

    /// What keeps them as the objects are. The first list is there before the first request.
    pub fn follower(&self) -> Box<dyn Follower> {
        Box::new(PolicyFollower::new(self.schema, self.kinds, self.published.clone()))
    }

    /// Adds the plugins that are enabled to those of a server.
    pub fn install(
        &self,
        plugins: &mut DynamicPlugins,
        enabled: Enabled,
        server: &GenericApiServer,
        authorizers: &Authorizers,
        registry: &Registry,
        conditions: Arc<ConditionMetrics>,
    ) {
        let shared = Arc::new(Shared {
            schema: self.schema,
            params: ParamKinds::new(registry, server.live().clone()),
            authorizers: authorizers.clone(),
            counters: Counters::default(),
            conditions,
        });
        let counted = shared.clone();
        server.metrics().register(move |out| counted.counters.show(out));
        let Published { mutating, validating } = &self.published;
        if enabled.has(Plugin::MutatingAdmissionPolicy) {
            mutating.switch_by(plugins.switch());
            plugins.add_mutating(Arc::new(MutatingPolicies::new(shared.clone(), mutating.clone())));
        }
        if enabled.has(Plugin::ValidatingAdmissionPolicy) {
            validating.switch_by(plugins.switch());
            plugins.add_validating(Arc::new(ValidatingPolicies::new(shared, validating.clone())));
        }
    }
}

/// Whether a request is about a policy or a binding, which no policy is about.
fn is_about_policies(request: &ringbolt_apiserver::admission::dynamic::DynamicRequest<'_>) -> bool {
    let facts = request.attributes.served.facts;
    facts.group == "admissionregistration.k8s.io"
        && matches!(
            facts.resource,
            "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
                | "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
        )
}

/// Says when a plugin has something to do; kept by what is published.
type PluginSwitch = std::sync::OnceLock<Switch>;
