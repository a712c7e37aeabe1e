//! The plugin MutatingAdmissionPolicy.

use std::{collections::HashSet, future::ready, sync::Arc, time::Instant};

use bumpalo::Bump;
use ringbolt_apiserver::admission::dynamic::{
    DynamicRequest, Matched, MutatingPlugin, Reinvocation, Verdict,
};
use ringbolt_cel::{
    Activation, Authorizer, Inputs,
    admission::{Answer, Object, Patch},
    limits::POLICY_COST_MAX,
};
use ringbolt_machinery::{
    json,
    patch::{PatchError, apply_json},
    status::{Cause, Reason, Status},
    value::{Map, Value},
};

use super::{
    Shared,
    definition::{Binding, Body, Hook, Mutation, PatchKind, Policy},
    follower::Hooks,
    is_about_policies,
    metrics::ErrorType,
    params::Param,
    validating::Unusable,
};
use crate::dynamic::{Asker, Matches, NamespaceView, View, shown};

const PLUGIN: &str = "MutatingAdmissionPolicy";

/// The plugin.
pub(super) struct MutatingPolicies {
    shared: Arc<Shared>,
    hooks: Hooks,
}

impl MutatingPolicies {
    pub(super) fn new(shared: Arc<Shared>, hooks: Hooks) -> Self {
        MutatingPolicies { shared, hooks }
    }
}

impl MutatingPlugin for MutatingPolicies {
    fn concerns(&self, request: &DynamicRequest<'_>) -> bool {
        let matches = |hook: &Hook| hook.policy.matcher.as_ref().is_none_or(|m| m.may_match(request));
        !is_about_policies(request) && self.hooks.load().iter().any(matches)
    }

    fn admit<'f, 'a: 'f>(
        &'f self,
        request: &'f DynamicRequest<'f>,
        arena: &'a Bump,
        object: Option<&'f mut Value<'a>>,
        old: Option<&'f Value<'f>>,
        reinvocation: &'f Reinvocation,
    ) -> Verdict<'f> {
        let scratch = Bump::new();
        let (before, old) =
            (object.as_deref().map(|o| o.copy_into(&scratch)), old.map(|o| o.copy_into(&scratch)));
        let hooks = self.hooks.load();
        let mut round = Round {
            shared: &self.shared,
            request,
            view: View::new(&scratch, request, before.as_ref(), old.as_ref()),
            object: before.as_ref(),
            old: old.as_ref(),
            errors: Vec::new(),
        };
        let outcome = round.admit(&hooks, reinvocation).map(|changed| {
            if let (Some(changed), Some(object)) = (changed, object) {
                *object = changed.copy_into(arena);
            }
        });
        Box::pin(ready(outcome))
    }
}

/// One policy with one binding and one parameter.
struct Invocation<'a> {
    policy: &'a Policy,
    binding: &'a Binding,
    matched: Matched<'a>,
    param: Option<Param<'a>>,
}

/// Which one, from run to run.
type Key = (Box<str>, Box<str>, Box<str>);

/// What is kept from the first run to the second.
#[derive(Default)]
struct Runs {
    /// The object as policies left it.
    output: Option<Vec<u8>>,
    /// Those that may run again, and have run since something changed for them.
    invoked: HashSet<Key>,
    /// Those that are to run again.
    again: HashSet<Key>,
}

impl Runs {
    fn require_all(&mut self) {
        self.again.extend(self.invoked.drain());
    }
}

struct PolicyError {
    message: String,
    /// What the answer's reason is to be, where it is the first.
    reason: Option<Reason>,
    fail: bool,
}

/// All policies over one request.
struct Round<'a> {
    shared: &'a Shared,
    request: &'a DynamicRequest<'a>,
    view: View<'a>,
    object: Option<&'a Value<'a>>,
    old: Option<&'a Value<'a>>,
    errors: Vec<PolicyError>,
}

impl<'a> Round<'a> {
    /// The object that takes the place of the one there was; `None` where nothing changed.
    fn admit(
        &mut self,
        hooks: &'a [Hook],
        reinvocation: &Reinvocation,
    ) -> Result<Option<&'a Value<'a>>, Status> {
        let mut invocations = Vec::new();
        for hook in hooks {
            self.invocations(hook, &mut invocations);
        }
        let changed = match invocations.is_empty() {
            true => None,
            false => self.dispatch(&invocations, reinvocation)?,
        };
        let mut told = self.errors.iter().filter(|error| error.fail).peekable();
        let Some(first) = told.peek() else { return Ok(changed) };
        let mut status = self.request.attributes.forbidden("admission request denied by policy");
        status.message.clone_from(&first.message);
        if let Some(reason) = first.reason {
            status.reason = reason;
        }
        let causes = &mut status.details.get_or_insert_default().causes;
        causes.extend(told.map(|error| Cause {
            reason: "",
            message: error.message.clone(),
            field: String::new(),
        }));
        Err(status)
    }

    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        let message = match binding {
            None => format!(
                "policy {} denied request: failed to configure policy: {why}",
                ringbolt_machinery::field::quote(&policy.name)
            ),
            Some(binding) => denied(policy, binding, &format!("failed to configure binding: {why}")),
        };
        self.errors.push(PolicyError { message, reason: None, fail: policy.fail });
    }

    fn failed(&mut self, invocation: &Invocation<'_>, why: &str) {
        let message = denied(invocation.policy, invocation.binding, why);
        self.errors.push(PolicyError {
            message,
            reason: Some(Reason::Invalid),
            fail: invocation.policy.fail,
        });
    }

    fn invocations(&mut self, hook: &'a Hook, out: &mut Vec<Invocation<'a>>) {
        let policy = &*hook.policy;
        let Some(matcher) = &policy.matcher else {
            self.misconfigured(policy, None, "policy contained no match constraints, a required field");
            return;
        };
        let matched = match matcher.matches(self.request, self.object, self.old) {
            Ok(Some(matched)) => matched,
            Ok(None) => return,
            Err(status) => return self.misconfigured(policy, None, &status.message),
        };
        for binding in &hook.bindings {
            let found = match &binding.matcher {
                None => Ok(Some(matched)),
                Some(matcher) => matcher.matches(self.request, self.object, self.old),
            };
            match found {
                Ok(Some(_)) => {}
                Ok(None) => continue,
                Err(status) => {
                    self.misconfigured(policy, Some(binding), &status.message);
                    continue;
                }
            }
            match self.shared.params_of(self.view.arena(), self.request, policy, binding) {
                Ok(params) => {
                    out.extend(params.into_iter().map(|param| Invocation { policy, binding, matched, param }))
                }
                Err(Unusable::Policy(why)) => return self.misconfigured(policy, None, &why),
                Err(Unusable::Binding(why)) => self.misconfigured(policy, Some(binding), &why),
            }
        }
    }

    fn dispatch(
        &mut self,
        invocations: &[Invocation<'a>],
        reinvocation: &Reinvocation,
    ) -> Result<Option<&'a Value<'a>>, Status> {
        let namespace = self.view.namespace()?;
        let is_second = reinvocation.is_under_way();
        let mut current = self.object;
        if is_second {
            let now = encoded(current);
            reinvocation.with(PLUGIN, |runs: &mut Runs| {
                if runs.output != now {
                    // Others have changed it since.
                    runs.require_all();
                }
            });
        }
        let mut changed = None;
        for invocation in invocations {
            let begun = current;
            let next = self.invoke(invocation, current, namespace, reinvocation, is_second)?;
            if let Some(next) = next {
                current = Some(next);
                changed = current;
            }
            if !same(begun, current) {
                reinvocation.with(PLUGIN, Runs::require_all);
                reinvocation.want();
            }
        }
        reinvocation.with(PLUGIN, |runs: &mut Runs| {
            if changed.is_some() {
                runs.require_all();
            }
            runs.output = encoded(current);
        });
        if changed.is_some() {
            reinvocation.want();
        }
        Ok(changed)
    }

    /// All mutations of one policy; the object as they leave it, where one was made.
    fn invoke(
        &mut self,
        invocation: &Invocation<'a>,
        object: Option<&'a Value<'a>>,
        namespace: Option<NamespaceView<'a>>,
        reinvocation: &Reinvocation,
        is_second: bool,
    ) -> Result<Option<&'a Value<'a>>, Status> {
        let Invocation { policy, binding, matched, param } = invocation;
        let Body::Mutating { mutations, reinvoke } = &policy.body else { return Ok(None) };
        let arena = self.view.arena();
        let user = self.request.attributes.user;
        let authorizer = &*arena.alloc(Asker { authorizers: &self.shared.authorizers, user });
        let params = param.as_ref().map(|param| param.value);
        let show = |object: Option<&'a Value<'a>>| -> Result<Option<&'a Value<'a>>, Status> {
            object.map(|object| shown(arena, self.request, object, matched.version)).transpose()
        };
        let mut live = show(object)?;
        let inputs = self.view.inputs_of(live, *matched, Some(authorizer as &dyn Authorizer))?;
        let inputs = Inputs { params, ..inputs };
        if let Some(conditions) = &policy.conditions {
            let operation = self.request.attributes.operation.as_str();
            let counted = self.shared.conditions.of_policy(&policy.name, operation);
            match conditions.evaluate(arena, inputs, &policy.variables, counted) {
                Matches::Yes => {}
                Matches::No => return Ok(None),
                Matches::Failed(why) => {
                    self.failed(invocation, &why);
                    return Ok(None);
                }
            }
        }
        let key: Key = (
            policy.name.clone(),
            binding.name.clone(),
            param.as_ref().map_or_else(Box::default, |param| param.key.clone()),
        );
        if is_second && !reinvocation.with(PLUGIN, |runs: &mut Runs| runs.again.contains(&key)) {
            return Ok(None);
        }
        let mut made = None;
        for mutation in mutations {
            // Nothing can be changed of what is deleted.
            let Some(now) = live else { continue };
            let begun = Instant::now();
            let inputs = Inputs { object: live, namespace: namespace.map(|n| n.shown), ..inputs };
            let changed = self.mutate(policy, mutation, inputs, now, *matched);
            let error = match &changed {
                Ok(_) => ErrorType::None,
                Err(Trouble::Refused(status)) => ErrorType::of(&status.message),
                Err(Trouble::Failed(why)) => ErrorType::of(why),
            };
            self.shared.counters.mutated(&policy.name, &binding.name, error, begun.elapsed());
            match changed {
                Ok(None) => {}
                Ok(Some(changed)) => {
                    made = Some(changed);
                    live = Some(shown(arena, self.request, changed, matched.version)?);
                }
                Err(Trouble::Refused(status)) => return Err(status),
                Err(Trouble::Failed(why)) => self.failed(invocation, &why),
            }
        }
        if *reinvoke {
            reinvocation.with(PLUGIN, |runs: &mut Runs| {
                runs.invoked.insert(key);
            });
        }
        Ok(made)
    }

    /// One mutation of an object as clients see it; the object that comes of it, as handlers have it, where it was
    /// changed at all.
    fn mutate(
        &self,
        policy: &'a Policy,
        mutation: &'a Mutation,
        inputs: Inputs<'a>,
        live: &'a Value<'a>,
        matched: Matched<'a>,
    ) -> Result<Option<&'a Value<'a>>, Trouble> {
        if let Some(error) = mutation.expression.error() {
            return Err(Trouble::Failed(error.detail.clone()));
        }
        let arena = self.view.arena();
        let activation = Activation::new(arena, inputs, &policy.variables);
        let mut budget = POLICY_COST_MAX;
        let answer = activation
            .evaluate(&mutation.expression, &mut budget)
            .map_err(|spent| Trouble::Failed(spent.to_string()))?
            .map_err(|why| Trouble::Failed(why.to_owned()))?;
        let (changed, strictly) = match (mutation.kind, answer) {
            (PatchKind::ApplyConfiguration, Answer::Object(object)) => {
                (self.apply(object, live, matched).map_err(Trouble::Failed)?, false)
            }
            (PatchKind::JsonPatch, Answer::Patches(steps)) => match self.patch(steps, live)? {
                Some(changed) => (changed, true),
                None => return Ok(None),
            },
            // The compiler has seen to what comes of it.
            (_, _) => return Err(Trouble::Failed("unsupported return type of the expression".into())),
        };
        let (group, wanted, kind) = self.request.kind();
        let is_custom = self.request.attributes.served.custom.is_some();
        if !is_custom && (matched.version.group, matched.version.version) != (group, wanted) {
            // The real server has no way from one version that clients see to another.
            let shown = matched.version.version;
            let why = format!("converting ({shown}.{kind}) to ({wanted}.{kind}): unknown conversion");
            return Err(Trouble::Failed(why));
        }
        let taken = match strictly {
            true => {
                self.request.take_back_strictly(arena, &changed, matched.version).map_err(Trouble::Refused)?
            }
            false => self
                .request
                .take_back(arena, &changed, matched.version)
                .map_err(|why| Trouble::Failed(self.unfit(&why, matched)))?,
        };
        Ok(Some(arena.alloc(taken)))
    }

    /// Why a merged object is none of its kind: numbers alone may still not fit.
    fn unfit(&self, why: &str, matched: Matched<'_>) -> String {
        let integer = ["int32", "int64"].into_iter().find(|integer| why.ends_with(integer));
        match integer.filter(|_| why.contains("cannot unmarshal number")) {
            None => why.to_owned(),
            Some(integer) => format!(
                "unable to convert unstructured object to {}, Kind={}: cannot convert float64 to {integer}",
                matched.version.group_version(),
                self.request.kind().2
            ),
        }
    }

    fn apply(
        &self,
        object: Object<'a>,
        live: &'a Value<'a>,
        matched: Matched<'a>,
    ) -> Result<Value<'a>, String> {
        let arena = self.view.arena();
        let mut config = object.value(arena)?;
        if let Some(map) = config.as_map_mut() {
            for member in ["apiVersion", "kind"] {
                let text = live.str_at(&[member]).unwrap_or("");
                map.insert(member, Value::String(arena.alloc_str(text)));
            }
        }
        self.request
            .merge(arena, live, &config, matched.version)
            .map_err(|why| format!("error applying patch: {why}"))
    }

    /// `None` where a test in the patch says that it is not to be made.
    fn patch(&self, steps: &[Patch<'a>], live: &'a Value<'a>) -> Result<Option<Value<'a>>, Trouble> {
        let arena = self.view.arena();
        let mut operations = bumpalo::collections::Vec::with_capacity_in(steps.len(), arena);
        for step in steps {
            let mut operation = Map::new_in(arena);
            operation.push_unique("op", Value::String(step.op));
            operation.push_unique("path", Value::String(step.path));
            if !step.from.is_empty() {
                operation.push_unique("from", Value::String(step.from));
            }
            if let Some(value) = step.value(arena).map_err(Trouble::Failed)? {
                operation.push_unique("value", value);
            }
            operations.push(Value::Map(operation));
        }
        let mut target = live.clone();
        match apply_json(arena, &mut target, &Value::List(operations)) {
            Ok(()) => Ok(Some(target)),
            Err(PatchError::NotApplicable(why)) if why.ends_with("test failed") => Ok(None),
            Err(
                PatchError::NotApplicable(why)
                | PatchError::Malformed(why)
                | PatchError::TooLarge(why)
                | PatchError::Unclassified(why),
            ) => Err(Trouble::Failed(format!("JSON Patch: {why}"))),
        }
    }
}

/// Why a mutation was not made.
enum Trouble {
    /// This is the answer.
    Refused(Status),
    /// It is told, or ignored, as the policy says.
    Failed(String),
}

fn denied(policy: &Policy, binding: &Binding, why: &str) -> String {
    format!("policy '{}' with binding '{}' denied request: {why}", policy.name, binding.name)
}

fn encoded(object: Option<&Value<'_>>) -> Option<Vec<u8>> {
    object.map(|object| {
        let mut out = Vec::new();
        json::encode_untyped(object, &mut out);
        out
    })
}

fn same(a: Option<&Value<'_>>, b: Option<&Value<'_>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b) || encoded(Some(a)) == encoded(Some(b)),
        (None, None) => true,
        _ => false,
    }
}
