//! ValidatingAdmissionPolicies and MutatingAdmissionPolicies, with their bindings.
//!
//! Policies are compiled once a change by a follower of the store ([`PolicyFollower`]), which publishes what there is of
//! each kind as one immutable list of [`Hook`](definition::Hook)s. Writes load that list; where it is empty they do not
//! come here at all. Parameters and namespaces are read from the newest published state, so that there is nothing to be
//! kept of them.

mod asked;
mod conditions;
mod decision;
mod definition;
mod follower;
mod metrics;
mod mutating;
mod params;
mod validating;
mod view;

use std::sync::Arc;

use ringbolt_apiserver::{
    admission::dynamic::{DynamicPlugins, Switch},
    authorization::Authorizers,
    informer::Follower,
    live::Live,
    metrics::Metrics,
};
use ringbolt_machinery::schema::Schema;

pub use self::{
    asked::Asker,
    conditions::{MatchConditions, Matches},
    view::View,
};
use self::{
    follower::PolicyFollower, metrics::Counters, mutating::MutatingPolicies, params::ParamKinds,
    validating::ValidatingPolicies,
};
use crate::{
    admission::{Enabled, Plugin},
    registry::Registry,
};

/// What the plugins of both kinds share.
pub(crate) struct Shared {
    schema: &'static Schema,
    params: ParamKinds,
    authorizers: Authorizers,
    counters: Counters,
}

/// What follows the policies of a store that is not served yet.
pub struct Policies {
    published: follower::Published,
    kinds: follower::Kinds,
}

impl Policies {
    /// For the store that `registry` is of.
    pub fn new(registry: &Registry) -> Self {
        Policies { published: follower::Published::default(), kinds: follower::Kinds::new(registry) }
    }

    /// What keeps them as the objects are. The first list is there before the first request.
    pub fn follower(&self, schema: &'static Schema) -> Box<dyn Follower> {
        Box::new(PolicyFollower::new(schema, self.kinds, self.published.clone()))
    }

    /// Adds the plugins that are enabled.
    pub fn install(
        &self,
        enabled: Enabled,
        plugins: &mut DynamicPlugins,
        schema: &'static Schema,
        registry: &Registry,
        live: &Live,
        authorizers: &Authorizers,
        metrics: &Metrics,
    ) {
        let shared = Arc::new(Shared {
            schema,
            params: ParamKinds::new(registry, live.clone()),
            authorizers: authorizers.clone(),
            counters: Counters::default(),
        });
        let counted = shared.clone();
        metrics.register(move |out| counted.counters.show(out));
        if enabled.has(Plugin::MutatingAdmissionPolicy) {
            self.published.mutating.switch_by(plugins.switch());
            plugins.add_mutating(Arc::new(MutatingPolicies::new(
                shared.clone(),
                self.published.mutating.clone(),
            )));
        }
        if enabled.has(Plugin::ValidatingAdmissionPolicy) {
            self.published.validating.switch_by(plugins.switch());
            plugins
                .add_validating(Arc::new(ValidatingPolicies::new(shared, self.published.validating.clone())));
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
