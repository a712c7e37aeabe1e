//! Both plugins, and what they have in common.

use std::sync::Arc;

use arc_swap::ArcSwap;
use ringbolt_apiserver::{
    admission::dynamic::{DynamicPlugins, DynamicRequest, Matched, is_exempt},
    authorization::Authorizers,
    informer::Follower,
};
use ringbolt_controlplane::dynamic::ConditionMetrics;
use ringbolt_machinery::{status::Status, value::Value};
use ringbolt_outgoing::{Outgoing, ServiceResolver};
use ringbolt_storage::object::ResourceId;

use crate::{
    configuration::Webhook, metrics::Metrics, mutating::Mutating, source::Source, validating::Validating,
};

/// The resources of the configurations.
#[derive(Clone, Copy, Debug)]
pub struct WebhookResources {
    /// `mutatingwebhookconfigurations`
    pub mutating: ResourceId,
    /// `validatingwebhookconfigurations`
    pub validating: ResourceId,
}

/// What webhooks need of the server.
pub struct Webhooks {
    /// Where they are configured.
    pub resources: WebhookResources,
    /// How they are called.
    pub outgoing: Outgoing,
    /// Where services are.
    pub services: Arc<dyn ServiceResolver>,
    /// Whom match conditions ask.
    pub authorizers: Arc<Authorizers>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What is counted of match conditions.
    pub conditions: Arc<ConditionMetrics>,
    /// Whether MutatingAdmissionWebhook runs.
    pub mutating: bool,
    /// Whether ValidatingAdmissionWebhook runs.
    pub validating: bool,
}

/// Adds the plugins that are on behind those that are there. The followers keep them as the configurations are.
pub fn install(plugins: &mut DynamicPlugins, webhooks: Webhooks) -> Vec<Box<dyn Follower>> {
    let Webhooks { resources, outgoing, services, authorizers, metrics, conditions, mutating, validating } =
        webhooks;
    let mut followers: Vec<Box<dyn Follower>> = Vec::new();
    let mut source = |plugins: &mut DynamicPlugins, resource| {
        let hooks: Hooks = Arc::default();
        let switch = plugins.switch();
        let source = Source::new(resource, outgoing.clone(), services.clone(), hooks.clone(), switch);
        followers.push(Box::new(source));
        hooks
    };
    let shared = |hooks, step| {
        let (authorizers, metrics) = (authorizers.clone(), metrics.clone());
        Plugin { hooks, authorizers, metrics, conditions: conditions.clone(), step }
    };
    if mutating {
        let hooks = source(plugins, resources.mutating);
        plugins.add_mutating(Arc::new(Mutating(shared(hooks, "admit"))));
    }
    if validating {
        let hooks = source(plugins, resources.validating);
        plugins.add_validating(Arc::new(Validating(shared(hooks, "validating"))));
    }
    followers
}

/// All webhooks of a kind, by the names of their configurations and then as these have them.
pub(crate) type Hooks = Arc<ArcSwap<Vec<Arc<Webhook>>>>;

/// What both plugins have.
pub(crate) struct Plugin {
    pub(crate) hooks: Hooks,
    pub(crate) authorizers: Arc<Authorizers>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) conditions: Arc<ConditionMetrics>,
    /// How metrics call it.
    pub(crate) step: &'static str,
}

impl Plugin {
    pub(crate) fn concerns(&self, request: &DynamicRequest<'_>) -> bool {
        !is_exempt(request) && self.hooks.load().iter().any(|hook| hook.matcher.may_match(request))
    }

    /// As what a webhook is to be called, if it is (`ShouldCallHook`).
    pub(crate) fn matched<'r>(
        &self,
        hook: &Webhook,
        request: &DynamicRequest<'r>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<Option<Matched<'r>>, Status> {
        let Some(matched) = hook.matcher.matches(request, object, old)? else { return Ok(None) };
        Ok(self.conditions_hold(hook, request, matched, object, old)?.then_some(matched))
    }
}
