//! Match conditions: expressions that must hold for a webhook to be called.

use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Matched};
use ringbolt_cel::Authorizer;
use ringbolt_controlplane::dynamic::{Asker, Matches, View};
use ringbolt_machinery::{status::Status, value::Value};

use crate::{Plugin, configuration::Webhook};

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
        let Some(conditions) = &hook.conditions else { return Ok(true) };
        let operation = request.attributes.operation.as_str();
        let counted = self.conditions.of_webhook(&hook.name, operation, self.step);
        let asker = Asker { authorizers: &self.authorizers, user: request.attributes.user };
        let matches = request.core.with_arena(|arena| -> Result<Matches, Status> {
            let view = View::new(arena, request, object, old);
            let inputs = view.inputs(matched, Some(&asker as &dyn Authorizer))?;
            Ok(conditions.evaluate(arena, inputs, &[], counted))
        })?;
        match matches {
            Matches::Yes => Ok(true),
            Matches::No => {
                counted.excluded();
                Ok(false)
            }
            Matches::Failed(why) => {
                let (group, _, resource) = request.resource();
                Err(Status::forbidden(group, resource, request.object_name(), &why))
            }
        }
    }
}
