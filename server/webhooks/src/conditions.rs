//! Match conditions: expressions that must hold for a webhook to be called.

use std::time::Instant;

use bumpalo::Bump;
use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Matched};
use ringbolt_cel::{Activation, Authorizer, Inputs, admission::Answer, limits::MATCH_CONDITIONS_COST_MAX};
use ringbolt_machinery::{status::Status, value::Value};

use crate::{Plugin, configuration::Webhook};
use crate::{
    authorizer::{RequestAuthorizer, request_resource},
    review::Review,
};

/// What all conditions of a webhook come to.
struct Outcome {
    /// One of them does not hold.
    excluded: bool,
    /// What went wrong with others.
    errors: Vec<String>,
}

impl Plugin {
    /// Whether all of them hold. Where some cannot be told and none fails, the failure policy decides: the webhook is left
    /// out, or the request refused.
    pub(crate) fn conditions_hold(
        &self,
        hook: &Webhook,
        request: &DynamicRequest<'_>,
        matched: Matched<'_>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<bool, Status> {
        if hook.conditions.is_empty() {
            return Ok(true);
        }
        let begun = Instant::now();
        let Outcome { excluded, errors } = request
            .core
            .with_arena(|arena| self.evaluate(hook, Review { request, matched }, arena, object, old))?;
        let holds = !excluded && errors.is_empty();
        let refused = !excluded && !errors.is_empty() && !hook.fails_open;
        let of = ("webhook", &*hook.name, request.attributes.operation.as_str(), self.step);
        self.metrics.conditions_evaluated(of, begun.elapsed(), errors.len(), !holds && !refused);
        if refused {
            let (group, _, resource) = request.resource();
            return Err(Status::forbidden(group, resource, request.object_name(), &aggregate(errors)));
        }
        Ok(holds)
    }

    fn evaluate(
        &self,
        hook: &Webhook,
        review: Review<'_>,
        arena: &Bump,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<Outcome, Status> {
        let request = review.request;
        let show = |object: Option<&Value<'_>>| -> Result<Option<&Value<'_>>, Status> {
            let shown =
                object.map(|object| request.show(arena, object, review.matched.version)).transpose()?;
            Ok(shown.map(|shown| &*arena.alloc(shown)))
        };
        let asking = RequestAuthorizer { authorizers: &self.authorizers, user: request.attributes.user };
        let inputs = Inputs {
            object: show(object)?,
            old_object: show(old)?,
            request: Some(arena.alloc(review.tree(arena))),
            authorizer: Some(&asking as &dyn Authorizer),
            request_resource: request_resource(request),
            ..Inputs::default()
        };
        let activation = Activation::new(arena, inputs, &[]);
        let mut budget = MATCH_CONDITIONS_COST_MAX;
        let mut outcome = Outcome { excluded: false, errors: Vec::new() };
        for condition in &hook.conditions {
            match activation.evaluate(condition, &mut budget) {
                Ok(Ok(Answer::Bool(holds))) => outcome.excluded |= !holds,
                Ok(Ok(_)) => outcome.errors.push("the condition is neither true nor false".to_owned()),
                Ok(Err(why)) => outcome.errors.push(why.to_owned()),
                // Whatever came of the others: what was not run may not hold.
                Err(spent) => return Ok(Outcome { excluded: false, errors: vec![spent.to_string()] }),
            }
        }
        Ok(outcome)
    }
}

/// Several errors as one (`utilerrors.NewAggregate`).
fn aggregate(mut errors: Vec<String>) -> String {
    let mut seen = std::collections::HashSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    match errors.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
