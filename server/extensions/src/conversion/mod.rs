//! Conversion of custom objects by webhooks: `spec.conversion` of a definition whose strategy is `Webhook`.
//!
//! A [`Webhook`] is asked with a ConversionReview (`review.rs`) about any number of objects at once, and its answer is
//! believed as far as the real server believes one (`checks.rs`): it makes what an object says of itself, its labels and
//! its annotations; all else of its metadata stays. The call runs on the thread of calls (`ringbolt_outgoing`), what is
//! read and checked of the answer on that of conversions.

mod checks;
mod metrics;
mod review;
mod webhook;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use ringbolt_apiserver::{conversion::Conversions, metrics::Exposition, registry::ObjectConvertor};
use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::value::{Map, Value};
use ringbolt_outgoing::{Hook, HookConfig, HookService, Outgoing, ServiceResolver};

use self::{metrics::Counts, review::ReviewVersion, webhook::Webhook};

/// Makes the converters of definitions (`CRConverterFactory`).
#[derive(Clone)]
pub struct ConverterFactory {
    outgoing: Outgoing,
    resolver: Arc<dyn ServiceResolver>,
    conversions: Conversions,
    counts: Arc<Counts>,
}

impl ConverterFactory {
    /// One whose webhooks are called through `outgoing`, and are found by `resolver` where they are behind services.
    pub fn new(outgoing: Outgoing, resolver: Arc<dyn ServiceResolver>) -> Self {
        let (conversions, counts) = Default::default();
        ConverterFactory { outgoing, resolver, conversions, counts }
    }

    /// Where conversions happen.
    pub(crate) fn conversions(&self) -> &Conversions {
        &self.conversions
    }

    /// Shows what was counted.
    pub(crate) fn collect(&self, out: &mut Exposition) {
        self.counts.collect(out);
    }

    /// The converter of a definition; `None` where its strategy is another one. One that cannot be reached as it is
    /// configured says so with each conversion.
    pub(crate) fn converter(
        &self,
        name: &str,
        kind: &str,
        spec: &Map<'_>,
    ) -> Option<Arc<dyn ObjectConvertor>> {
        let conversion = spec.child("conversion")?;
        if conversion.text("strategy") != "Webhook" {
            return None;
        }
        let webhook = conversion.child("webhook");
        let config = config(webhook.and_then(|webhook| webhook.child("clientConfig")));
        let versions = webhook.map(|webhook| webhook.items("conversionReviewVersions")).unwrap_or_default();
        let webhook = Webhook {
            hook: Hook::new(&self.outgoing, self.resolver.clone(), &config),
            // The first of them that there is.
            review: versions.iter().filter_map(Value::as_str).find_map(ReviewVersion::named),
            definition: name.to_owned(),
            kind: kind.to_owned(),
            conversions: self.conversions.clone(),
            counts: self.counts.clone(),
        };
        Some(Arc::new(webhook))
    }
}

/// `clientConfig` as calls take it.
fn config(client: Option<&Map<'_>>) -> HookConfig {
    let Some(client) = client else { return HookConfig::default() };
    let service = client.child("service").map(|service| {
        let port = service.get("port").and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
        HookService {
            namespace: service.text("namespace").to_owned(),
            name: service.text("name").to_owned(),
            port: port.unwrap_or(443),
            path: service.text("path").to_owned(),
        }
    });
    HookConfig {
        url: client.get("url").and_then(Value::as_str).map(str::to_owned),
        service,
        ca_bundle: bundle(client.text("caBundle")),
    }
}

/// The PEM of a bundle; nothing where there are only spaces. What is no base64 is no PEM either, and must not be taken for
/// nothing, which stands for the authorities of the system.
fn bundle(text: &str) -> Vec<u8> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let pem = STANDARD.decode(&text).unwrap_or_else(|_| text.into_bytes());
    if pem.iter().all(u8::is_ascii_whitespace) { Vec::new() } else { pem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles() {
        let check = |text: &str, expect: &[u8]| assert_eq!(bundle(text), expect, "{text:?}");
        check("", b"");
        check("YWJj", b"abc");
        check("IAog", b"");
        check("!", b"!");
    }
}
