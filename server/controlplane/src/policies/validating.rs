//! The plugin ValidatingAdmissionPolicy.

use std::{collections::BTreeMap, future::ready, sync::Arc, time::Duration};

use bumpalo::Bump;
use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Matched, Matcher, ValidatingPlugin, Verdict};
use ringbolt_machinery::{
    json::quote::write_string,
    status::{Cause, Reason, Status},
    value::Value,
};

use super::{
    Shared,
    decision::{Outcome, Run, Verdict as Decided},
    definition::{Action, Binding, Hook, Policy},
    follower::Hooks,
    is_about_policies,
    metrics::ErrorType,
    params::Param,
};
use crate::{
    dynamic::{Asker, View},
    limits::{AUDIT_VALUE_BYTES_MAX, VALIDATION_FAILURES_MAX},
};

/// The plugin.
pub(super) struct ValidatingPolicies {
    shared: Arc<Shared>,
    hooks: Hooks,
}

impl ValidatingPolicies {
    pub(super) fn new(shared: Arc<Shared>, hooks: Hooks) -> Self {
        ValidatingPolicies { shared, hooks }
    }
}

impl ValidatingPlugin for ValidatingPolicies {
    fn concerns(&self, request: &DynamicRequest<'_>) -> bool {
        let matches = |hook: &Hook| hook.policy.matcher.as_ref().is_none_or(|m| m.may_match(request));
        !is_about_policies(request) && self.hooks.load().iter().any(matches)
    }

    fn validate<'f>(
        &'f self,
        request: &'f DynamicRequest<'f>,
        object: Option<&'f Value<'f>>,
        old: Option<&'f Value<'f>>,
    ) -> Verdict<'f> {
        let arena = Bump::new();
        let (object, old) = (object.map(|o| o.copy_into(&arena)), old.map(|o| o.copy_into(&arena)));
        let hooks = self.hooks.load();
        let mut round = Round {
            shared: &self.shared,
            request,
            view: View::new(&arena, request, object.as_ref(), old.as_ref()),
            object: object.as_ref(),
            old: old.as_ref(),
            refusal: None,
            failures: Vec::new(),
        };
        Box::pin(ready(round.validate(&hooks)))
    }
}

/// The first thing that a request is refused for.
struct Refusal {
    message: String,
    reason: Reason,
}

/// A validation that did not hold, for the audit log.
struct Failure<'h> {
    policy: &'h str,
    binding: &'h Binding,
    index: usize,
    message: String,
}

/// All policies over one request.
struct Round<'a> {
    shared: &'a Shared,
    request: &'a DynamicRequest<'a>,
    view: View<'a>,
    object: Option<&'a Value<'a>>,
    old: Option<&'a Value<'a>>,
    refusal: Option<Refusal>,
    failures: Vec<Failure<'a>>,
}

impl<'a> Round<'a> {
    fn validate(&mut self, hooks: &'a [Hook]) -> Result<(), Status> {
        for hook in hooks {
            self.policy(hook)?;
        }
        self.note_failures();
        let Some(Refusal { message, reason }) = self.refusal.take() else { return Ok(()) };
        let mut status = self.request.attributes.forbidden(&message);
        status.code = match reason {
            Reason::Unauthorized => 401,
            Reason::Forbidden => 403,
            Reason::RequestEntityTooLarge => 413,
            _ => 422,
        };
        status.reason = reason;
        let details = status.details.get_or_insert_default();
        details.causes.push(Cause { reason: "", message, field: String::new() });
        Err(status)
    }

    fn refuse(&mut self, policy: &Policy, binding: Option<&Binding>, message: &str, reason: Reason) {
        let of_binding = binding.map_or(String::new(), |binding| format!(" with binding '{}'", binding.name));
        self.refusal.get_or_insert_with(|| Refusal {
            message: format!(
                "ValidatingAdmissionPolicy '{}'{of_binding} denied request: {message}",
                policy.name
            ),
            reason,
        });
    }

    /// Something is wrong with the policy itself, or with a binding.
    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        if policy.fail {
            let what = if binding.is_some() { "binding" } else { "policy" };
            self.refuse(policy, binding, &format!("failed to configure {what}: {why}"), Reason::Invalid);
        }
    }

    fn matches(&self, matcher: &Matcher) -> Result<Option<Matched<'a>>, String> {
        matcher.matches(self.request, self.object, self.old).map_err(|status| status.message)
    }

    fn policy(&mut self, hook: &'a Hook) -> Result<(), Status> {
        let policy = &*hook.policy;
        let Some(matcher) = &policy.matcher else {
            self.misconfigured(policy, None, "policy contained no match constraints, a required field");
            return Ok(());
        };
        let matched = match self.matches(matcher) {
            Ok(Some(matched)) => matched,
            Ok(None) => return Ok(()),
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let mut annotations = BTreeMap::new();
        for binding in &hook.bindings {
            self.binding(policy, binding, matched, &mut annotations)?;
        }
        for (key, values) in annotations {
            self.request.annotate(format!("{}/{key}", policy.name), values.join(", "));
        }
        Ok(())
    }

    fn binding(
        &mut self,
        policy: &'a Policy,
        binding: &'a Binding,
        matched: Matched<'a>,
        annotations: &mut BTreeMap<&'a str, Vec<String>>,
    ) -> Result<(), Status> {
        let found = match &binding.matcher {
            None => Ok(Some(matched)),
            Some(matcher) => self.matches(matcher),
        };
        match found {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(why) => {
                self.misconfigured(policy, Some(binding), &why);
                return Ok(());
            }
        }
        let arena = self.view.arena();
        let params = match self.shared.params_of(arena, self.request, policy, binding) {
            Ok(params) => params,
            Err(Unusable::Policy(why)) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
            Err(Unusable::Binding(why)) => {
                self.misconfigured(policy, Some(binding), &why);
                return Ok(());
            }
        };
        if params.is_empty() {
            return Ok(());
        }
        let namespace = self.view.namespace()?;
        let user = self.request.attributes.user;
        let authorizer = &*arena.alloc(Asker { authorizers: &self.shared.authorizers, user });
        let inputs = match self.view.inputs(matched, Some(authorizer)) {
            Ok(inputs) => inputs,
            Err(status) => {
                let why = format!("failed to convert object version: {}", status.message);
                self.misconfigured(policy, Some(binding), &why);
                return Ok(());
            }
        };
        let operation = self.request.attributes.operation.as_str();
        let counted = self.shared.conditions.of_policy(&policy.name, operation);
        for param in params {
            let params = param.map(|param| param.value);
            let run = Run { policy, inputs, params, namespace, authorizer, arena, counted };
            self.tell(policy, binding, run.validate(), annotations);
        }
        Ok(())
    }

    /// Does with what a policy said as its binding says.
    fn tell(
        &mut self,
        policy: &'a Policy,
        binding: &'a Binding,
        outcome: Outcome<'a>,
        annotations: &mut BTreeMap<&'a str, Vec<String>>,
    ) {
        let counted = |error, action, took: Duration| {
            self.shared.counters.validated(&policy.name, &binding.name, error, action, took);
        };
        for (index, decision) in outcome.decisions.into_iter().enumerate() {
            let error = ErrorType::of(&decision.message);
            if decision.verdict == Decided::Ignored {
                counted(error, "allow", decision.took);
            }
            if !decision.verdict.denies() {
                continue;
            }
            for action in &binding.actions {
                let name = match action {
                    Action::Deny => {
                        self.refuse(policy, Some(binding), &decision.message, decision.reason);
                        "deny"
                    }
                    Action::Audit => {
                        let message = decision.message.clone();
                        self.failures.push(Failure { policy: &binding.policy, binding, index, message });
                        "audit"
                    }
                    Action::Warn => {
                        self.request.warn(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                            policy.name, binding.name, decision.message
                        ));
                        "warn"
                    }
                };
                self.shared.counters.validated(&policy.name, &binding.name, error, name, decision.took);
            }
        }
        for annotation in outcome.annotations {
            match annotation.value {
                Ok(value) if value.is_empty() => {}
                Ok(mut value) => {
                    value.truncate(value.floor_char_boundary(AUDIT_VALUE_BYTES_MAX));
                    let values = annotations.entry(annotation.key).or_default();
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                Err(why) => {
                    let error = ErrorType::of(&why);
                    self.refuse(policy, Some(binding), &why, Reason::Invalid);
                    self.shared.counters.validated(
                        &policy.name,
                        &binding.name,
                        error,
                        "deny",
                        annotation.took,
                    );
                }
            }
        }
    }

    fn note_failures(&self) {
        if self.failures.is_empty() {
            return;
        }
        let mut out = vec![b'['];
        for (at, failure) in self.failures.iter().take(VALIDATION_FAILURES_MAX).enumerate() {
            out.extend_from_slice(if at == 0 { b"{" } else { b",{" });
            for (name, text) in [
                ("message", &*failure.message),
                ("policy", failure.policy),
                ("binding", &*failure.binding.name),
            ] {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                write_string(&mut out, text);
                out.push(b',');
            }
            let actions: Vec<String> =
                failure.binding.actions.iter().map(|action| format!("\"{}\"", action.as_str())).collect();
            let rest = format!(
                "\"expressionIndex\":{},\"validationActions\":[{}]}}",
                failure.index,
                actions.join(",")
            );
            out.extend_from_slice(rest.as_bytes());
        }
        out.push(b']');
        let text = String::from_utf8_lossy(&out);
        self.request.annotate("validation.policy.admission.k8s.io/validation_failure", text);
    }
}

/// Why parameters cannot be had.
pub(super) enum Unusable {
    /// By what the policy says.
    Policy(String),
    /// By what the binding says.
    Binding(String),
}

impl Shared {
    /// The parameters of a policy by a binding; one that is none where there are none to be had.
    pub(super) fn params_of<'a>(
        &self,
        arena: &'a Bump,
        request: &DynamicRequest<'_>,
        policy: &Policy,
        binding: &Binding,
    ) -> Result<Vec<Option<Param<'a>>>, Unusable> {
        let Some(kind) = &policy.param_kind else { return Ok(vec![None]) };
        let Some(found) = self.params.find(kind) else {
            return Err(Unusable::Policy(format!(
                "failed to find resource referenced by paramKind: '{kind}'"
            )));
        };
        let Some(wanted) = &binding.param_ref else { return Ok(vec![None]) };
        let storage = request.attributes.storage;
        found
            .collect(arena, self.schema, storage, kind, wanted, request.namespace())
            .map(|params| params.into_iter().map(Some).collect())
            .map_err(Unusable::Binding)
    }
}
