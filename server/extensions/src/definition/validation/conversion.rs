//! Conversion among versions.

use std::collections::HashSet;

use ringbolt_controlplane::{tree::Members, webhook_client};
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::dns1035_label_errors,
    value::{Map, Value},
};

use super::{Errors, Strictness};

/// Versions of reviews that the server speaks.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

fn webhook<'v, 'a>(spec: &'v Map<'a>) -> Option<&'v Map<'a>> {
    spec.child("conversion")?.child("webhook")
}

fn reviews<'v, 'a>(spec: &'v Map<'a>) -> &'v [Value<'a>] {
    webhook(spec).map(|webhook| webhook.items("conversionReviewVersions")).unwrap_or_default()
}

/// Whether one of the review versions is known, or none is named.
pub(super) fn has_recognized_review(spec: &Map<'_>) -> bool {
    let versions = reviews(spec);
    versions.is_empty() || versions.iter().filter_map(Value::as_str).any(|version| REVIEWS.contains(&version))
}

/// Whether there are authorities that cannot be read.
pub(super) fn has_bad_ca_bundle(spec: &Map<'_>) -> bool {
    webhook(spec)
        .and_then(|webhook| webhook.child("clientConfig"))
        .is_some_and(|client| webhook_client::ca_bundle(client.text("caBundle")).is_some())
}

/// What is wrong with `spec.conversion`.
pub(super) fn validate(spec: &Map<'_>, strict: &Strictness, errors: &mut Errors) {
    let Some(conversion) = spec.child("conversion") else { return };
    let path = "spec.conversion";
    let strategy = conversion.text("strategy");
    let at = child(path, "strategy");
    match strategy {
        "None" | "Webhook" => {}
        "" => errors.push(FieldError::required(at, "")),
        _ => errors.push(FieldError::not_supported(at, strategy, &["None", "Webhook"])),
    }
    let client = webhook(spec).and_then(|webhook| webhook.child("clientConfig"));
    let client_path = child(path, "webhookClientConfig");
    let reviews_path = child(path, "conversionReviewVersions");
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            errors.push(FieldError::forbidden(client_path, why));
        }
        if !reviews(spec).is_empty() {
            errors.push(FieldError::forbidden(reviews_path, why));
        }
        return;
    }
    match client {
        None => errors.push(FieldError::required(client_path, "required when strategy is set to Webhook")),
        Some(client) => {
            let url = client.get("url").and_then(Value::as_str);
            match (url, client.child("service")) {
                (Some(url), None) => webhook_client::url(url, &child(&client_path, "url"), errors),
                (None, Some(service)) => {
                    webhook_client::service(service, &child(&client_path, "service"), errors)
                }
                _ => {
                    let why = "exactly one of url or service is required";
                    errors.push(FieldError::required(client_path.clone(), why));
                }
            }
            let bundle = client.text("caBundle");
            if strict.ca_bundle
                && let Some(why) = webhook_client::ca_bundle(bundle)
            {
                errors.push(FieldError::invalid(child(&client_path, "caBundle"), bundle, why));
            }
        }
    }
    review_versions(spec, strict, &reviews_path, errors);
}

fn review_versions(spec: &Map<'_>, strict: &Strictness, path: &str, errors: &mut Errors) {
    let versions = reviews(spec);
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut seen = HashSet::new();
    for (at, version) in versions.iter().enumerate() {
        let (version, path) = (version.as_str().unwrap_or(""), index(path, at));
        if !seen.insert(version) {
            errors.push(FieldError::invalid(path, version, "duplicate version"));
            continue;
        }
        for why in dns1035_label_errors(version) {
            errors.push(FieldError::invalid(path.clone(), version, why));
        }
    }
    if strict.recognized_review && !REVIEWS.iter().any(|version| seen.contains(version)) {
        let shown = webhook(spec).and_then(|webhook| webhook.get("conversionReviewVersions"));
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(path, shown.unwrap_or(&Value::Null), why));
    }
}
