//! MutatingAdmissionWebhook: webhooks change an object one after the other.

use std::{collections::HashSet, time::Instant};

use bumpalo::Bump;
use ringbolt_apiserver::admission::dynamic::{DynamicRequest, MutatingPlugin, Reinvocation, Verdict};
use ringbolt_controlplane::dynamic::Review;
use ringbolt_machinery::{status::Status, value::Value};

use crate::{
    Plugin,
    configuration::Webhook,
    failure::Failure,
    invoke::{Shown, json},
    patch::patched,
};

const NAME: &str = "MutatingAdmissionWebhook";

/// The plugin.
pub(crate) struct Mutating(pub(crate) Plugin);

/// What is kept from the first run for the second.
#[derive(Default)]
struct Runs {
    /// The object as the last run left it.
    output: Option<Vec<u8>>,
    /// Webhooks that were called and may be called again.
    called: HashSet<Box<str>>,
    /// Those that are to be called again.
    again: HashSet<Box<str>>,
}

impl Runs {
    /// The object was changed: whoever was called before has not seen that.
    fn require(&mut self) {
        self.again.extend(self.called.drain());
    }
}

impl MutatingPlugin for Mutating {
    fn concerns(&self, request: &DynamicRequest<'_>) -> bool {
        self.0.concerns(request)
    }

    fn admit<'f, 'a: 'f>(
        &'f self,
        request: &'f DynamicRequest<'f>,
        arena: &'a Bump,
        object: Option<&'f mut Value<'a>>,
        old: Option<&'f Value<'f>>,
        reinvocation: &'f Reinvocation,
    ) -> Verdict<'f> {
        Box::pin(self.dispatch(request, arena, object, old, reinvocation))
    }
}

/// An object as it is compared.
fn output(request: &DynamicRequest<'_>, object: Option<&Value<'_>>) -> Result<Option<Vec<u8>>, Status> {
    object.map(|object| json(request, request.version(), object)).transpose()
}

impl Mutating {
    async fn dispatch<'a>(
        &self,
        request: &DynamicRequest<'_>,
        arena: &'a Bump,
        mut object: Option<&mut Value<'a>>,
        old: Option<&Value<'_>>,
        reinvocation: &Reinvocation,
    ) -> Result<(), Status> {
        if reinvocation.is_under_way() {
            // The built-in plugins may have changed it.
            let now = output(request, object.as_deref())?;
            reinvocation.with(NAME, |runs: &mut Runs| {
                if runs.output != now {
                    runs.require();
                }
            });
        }
        self.each(request, arena, object.as_deref_mut(), old, reinvocation).await?;
        let now = output(request, object.as_deref())?;
        reinvocation.with(NAME, |runs: &mut Runs| runs.output = now);
        Ok(())
    }

    async fn each<'a>(
        &self,
        request: &DynamicRequest<'_>,
        arena: &'a Bump,
        mut object: Option<&mut Value<'a>>,
        old: Option<&Value<'_>>,
        reinvocation: &Reinvocation,
    ) -> Result<(), Status> {
        let plugin = &self.0;
        let hooks = plugin.hooks.load_full();
        for (index, hook) in hooks.iter().enumerate() {
            let Some(matched) = plugin.matched(hook, request, object.as_deref(), old)? else { continue };
            let again = |runs: &mut Runs| runs.again.contains(&hook.uid);
            // Who was not called before is not called for the first time now.
            if reinvocation.is_under_way() && !reinvocation.with(NAME, again) {
                continue;
            }
            let review = Review { request, matched };
            let begun = Instant::now();
            let called = self.call(hook, review, arena, object.as_deref_mut(), old).await;
            plugin.note(hook, request, begun, called.as_ref().err());
            let changed = matches!(called, Ok(true));
            let round = u8::from(reinvocation.is_under_way());
            annotate(request, hook, (round, index), changed);
            reinvocation.with(NAME, |runs: &mut Runs| {
                if changed {
                    runs.require();
                }
                if hook.reinvokes {
                    runs.called.insert(hook.uid.clone());
                }
            });
            if changed {
                reinvocation.want();
            }
            match called {
                Ok(_) => {}
                Err(Failure::Calling { reason, .. }) if hook.fails_open => {
                    tracing::warn!(webhook = &*hook.name, reason, "failed calling a webhook, failing open");
                    let key =
                        format!("failed-open.mutation.webhook.admission.k8s.io/round_{round}_index_{index}");
                    request.annotate(key, &*hook.name);
                }
                Err(failure) => return Err(failure.into_status(&hook.name)),
            }
        }
        Ok(())
    }

    /// Calls one; whether it changed the object.
    async fn call<'a>(
        &self,
        hook: &Webhook,
        review: Review<'_>,
        arena: &'a Bump,
        object: Option<&mut Value<'a>>,
        old: Option<&Value<'_>>,
    ) -> Result<bool, Failure> {
        let (request, version) = (review.request, review.matched.version);
        let shown = Shown::new(request, version, object.as_deref(), old).map_err(Failure::Other)?;
        let response = self.0.call(hook, review, &shown, true).await?;
        let new = patched(arena, request, version, &hook.name, shown.object.as_deref(), &response)?;
        let (Some(new), Some(object)) = (new, object) else { return Ok(false) };
        let now = json(request, version, &new).map_err(Failure::Other)?;
        *object = new;
        Ok(shown.object.as_deref() != Some(&now))
    }
}

/// Notes for the audit log whether a webhook changed the object.
fn annotate(request: &DynamicRequest<'_>, hook: &Webhook, (round, index): (u8, usize), changed: bool) {
    use ringbolt_machinery::json::quote::write_string;
    let mut value = b"{\"configuration\":".to_vec();
    write_string(&mut value, &hook.configuration);
    value.extend_from_slice(b",\"webhook\":");
    write_string(&mut value, &hook.name);
    value.extend_from_slice(if changed { b",\"mutated\":true}" } else { b",\"mutated\":false}" });
    let key = format!("mutation.webhook.admission.k8s.io/round_{round}_index_{index}");
    request.annotate(key, String::from_utf8_lossy(&value));
}
