//! One call of a webhook, up to what it answers.

use std::time::{Duration, Instant};

use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Version};
use ringbolt_controlplane::dynamic::Review;
use ringbolt_machinery::{status::Status, value::Value};

use crate::{
    Plugin,
    ask::ask,
    configuration::{DryRun, Webhook},
    failure::{Failure, no_dry_run, refusal},
    metrics::{Asked, RejectionKind},
    response::{self, Response},
};

/// JSON of what is sent.
pub(crate) struct Shown {
    pub(crate) object: Option<Vec<u8>>,
    pub(crate) old: Option<Vec<u8>>,
}

impl Shown {
    /// Objects as clients of a version see them.
    pub(crate) fn new(
        request: &DynamicRequest<'_>,
        version: Version<'_>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<Shown, Status> {
        let show =
            |object: Option<&Value<'_>>| object.map(|object| json(request, version, object)).transpose();
        Ok(Shown { object: show(object)?, old: show(old)? })
    }
}

/// JSON of an object in a version.
pub(crate) fn json(
    request: &DynamicRequest<'_>,
    version: Version<'_>,
    object: &Value<'_>,
) -> Result<Vec<u8>, Status> {
    request.core.with_arena(|arena| {
        let shown = request.show(arena, object, version)?;
        let mut out = Vec::with_capacity(1024);
        request.encode(&shown, version, &mut out);
        Ok(out)
    })
}

impl Plugin {
    /// Calls a webhook; its answer is one that lets the request go on. Nothing of the request's trees is held while it is
    /// waited for.
    pub(crate) async fn call(
        &self,
        hook: &Webhook,
        review: Review<'_>,
        shown: &Shown,
        mutating: bool,
    ) -> Result<Response, Failure> {
        let request = review.request;
        if request.attributes.dry_run {
            match hook.dry_run {
                DryRun::Fine => {}
                DryRun::Unknown => return Err(Failure::calling("Webhook SideEffects is nil", 400)),
                DryRun::Unsupported => return Err(Failure::Other(no_dry_run(&hook.name))),
            }
        }
        let Some(version) = hook.review_version else {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions \
                       (v1, v1beta1)";
            return Err(Failure::calling(why, 400));
        };
        let client = hook
            .hook
            .as_ref()
            .map_err(|why| Failure::calling(format!("could not get REST client: {why}"), 500))?;
        let uid = request.core.uuid();
        let uid = std::str::from_utf8(&uid).unwrap_or_default();
        let body = review.body(version, uid, shown.object.as_deref(), shown.old.as_deref());
        let failed = |why: &str| Failure::calling(format!("failed to call webhook: {why}"), 503);
        let answer = match ask(client, body, patience(hook, request)).await {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => {
                // Those who wait with a deadline of their own are told of that alone.
                let text = error.text.split(" (Client.Timeout exceeded").next().unwrap_or("");
                return Err(failed(text));
            }
            None => return Err(failed("context canceled")),
        };
        let mut response = response::read(&answer, version, uid, mutating)?;
        for (key, value) in &response.audit_annotations {
            request.annotate(format!("{}/{key}", hook.name), value);
        }
        for warning in &response.warnings {
            request.warn(warning);
        }
        if !response.allowed {
            return Err(Failure::Rejection(refusal(&hook.name, response.result.take())));
        }
        Ok(response)
    }

    /// Counts a call, and what came of it.
    pub(crate) fn note(
        &self,
        hook: &Webhook,
        request: &DynamicRequest<'_>,
        begun: Instant,
        failure: Option<&Failure>,
    ) {
        let operation = request.attributes.operation.as_str();
        let asked = Asked { name: &hook.name, operation, step: self.step };
        let (rejected, kind, code) = match failure {
            None => (false, None, 200),
            Some(Failure::Calling { code, .. }) if hook.fails_open => {
                self.metrics.failed_open(asked);
                (false, None, *code)
            }
            Some(Failure::Calling { code, .. }) => (true, Some(RejectionKind::CallingWebhook), *code),
            Some(Failure::Rejection(status)) => (true, Some(RejectionKind::NoError), status.code),
            Some(Failure::Other(_)) => (true, Some(RejectionKind::Internal), 0),
        };
        if let Some(kind) = kind {
            self.metrics.rejected(asked, kind, code);
        }
        self.metrics.called(asked, begun.elapsed(), rejected, code);
    }
}

/// For how long a webhook is waited for: no longer than the request may take.
fn patience(hook: &Webhook, request: &DynamicRequest<'_>) -> Duration {
    let left = request.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.map_or(hook.timeout, |left| left.min(hook.timeout))
}
