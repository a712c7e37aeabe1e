//! The admissionregistration group.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

const TIMEOUT_SECONDS: i64 = 10;
const HTTPS_PORT: i64 = 443;

fn selectors<'a>(arena: &'a Bump, map: &mut Map<'a>) {
    map.default_nil("matchPolicy", Value::String("Equivalent"));
    map.default_nil("namespaceSelector", Value::Map(Map::new_in(arena)));
    map.default_nil("objectSelector", Value::Map(Map::new_in(arena)));
}

fn webhook<'a>(arena: &'a Bump, webhook: &mut Map<'a>) {
    webhook.default_nil("failurePolicy", Value::String("Fail"));
    selectors(arena, webhook);
    webhook.default_nil("timeoutSeconds", Value::Int(TIMEOUT_SECONDS));
    if let Some(service) = webhook.child_mut("clientConfig").and_then(|c| c.child_mut("service")) {
        service.default_nil("port", Value::Int(HTTPS_PORT));
    }
    webhook.each_mut("rules", rule);
}

fn rule(rule: &mut Map<'_>) {
    rule.default_nil("scope", Value::String("*"));
}

pub(super) fn validating_webhooks<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    object.each_mut("webhooks", |hook| webhook(arena, hook));
}

pub(super) fn mutating_webhooks<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    object.each_mut("webhooks", |hook| {
        webhook(arena, hook);
        hook.default_nil("reinvocationPolicy", Value::String("Never"));
    });
}

fn match_resources<'a>(arena: &'a Bump, resources: &mut Map<'a>) {
    selectors(arena, resources);
    for key in ["resourceRules", "excludeResourceRules"] {
        resources.each_mut(key, rule);
    }
}

/// A validating or mutating policy.
pub(super) fn policy<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_nil("failurePolicy", Value::String("Fail"));
    if let Some(resources) = spec.child_mut("matchConstraints") {
        match_resources(arena, resources);
    }
}

/// A binding of either.
pub(super) fn binding<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    if let Some(resources) = object.map_mut("spec").child_mut("matchResources") {
        match_resources(arena, resources);
    }
}
