//! ValidatingAdmissionWebhook: all webhooks are asked at once.

use std::{future::poll_fn, pin::Pin, task::Poll, time::Instant};

use ringbolt_apiserver::admission::dynamic::{DynamicRequest, ValidatingPlugin, Verdict};
use ringbolt_controlplane::dynamic::Review;
use ringbolt_machinery::{status::Status, value::Value};

use crate::{Plugin, configuration::Webhook, failure::Failure, invoke::Shown};

/// The plugin.
pub(crate) struct Validating(pub(crate) Plugin);

impl ValidatingPlugin for Validating {
    fn concerns(&self, request: &DynamicRequest<'_>) -> bool {
        self.0.concerns(request)
    }

    fn validate<'f>(
        &'f self,
        request: &'f DynamicRequest<'f>,
        object: Option<&'f Value<'f>>,
        old: Option<&'f Value<'f>>,
    ) -> Verdict<'f> {
        Box::pin(self.dispatch(request, object, old))
    }
}

impl Validating {
    async fn dispatch(
        &self,
        request: &DynamicRequest<'_>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let plugin = &self.0;
        let hooks = plugin.hooks.load_full();
        let mut calls: Vec<Pin<Box<dyn Future<Output = Option<Status>> + '_>>> = Vec::new();
        // Which are called is settled before any is.
        for hook in &*hooks {
            let Some(matched) = plugin.matched(hook, request, object, old)? else { continue };
            let shown = Shown::new(request, matched.version, object, old)?;
            let (review, index) = (Review { request, matched }, calls.len());
            calls.push(Box::pin(async move { self.call(hook, review, &shown, index).await }));
        }
        match first_refusal(calls).await {
            Some(status) => Err(status),
            None => Ok(()),
        }
    }

    async fn call(&self, hook: &Webhook, review: Review<'_>, shown: &Shown, index: usize) -> Option<Status> {
        let begun = Instant::now();
        let failure = self.0.call(hook, review, shown, false).await.err();
        self.0.note(hook, review.request, begun, failure.as_ref());
        match failure? {
            Failure::Calling { reason, .. } if hook.fails_open => {
                tracing::warn!(webhook = &*hook.name, reason, "failed calling a webhook, failing open");
                let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}");
                review.request.annotate(key, &*hook.name);
                None
            }
            failure => Some(failure.into_status(&hook.name)),
        }
    }
}

/// Waits for all calls; answers the refusal that was there first.
async fn first_refusal(mut calls: Vec<Pin<Box<dyn Future<Output = Option<Status>> + '_>>>) -> Option<Status> {
    let mut first = None;
    poll_fn(|context| {
        calls.retain_mut(|call| match call.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(refusal) => {
                if first.is_none() {
                    first = refusal;
                }
                false
            }
        });
        if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    first
}
