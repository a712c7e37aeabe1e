//! Policies and bindings, read from their objects and compiled.

use std::sync::Arc;

use ringbolt_apiserver::{admission::dynamic::Matcher, endpoints::label_selector};
use ringbolt_cel::admission::{Compiled, Compiler, Declarations, Named, Returns};
use ringbolt_machinery::{
    status::Reason,
    value::{Map, Value},
};
use ringbolt_protocol::selector::LabelSelector;

use crate::{dynamic::MatchConditions, tree::Members};

/// A policy with the bindings that put it to use.
pub(super) struct Hook {
    pub(super) policy: Arc<Policy>,
    /// By name.
    pub(super) bindings: Vec<Arc<Binding>>,
}

/// A policy.
pub(super) struct Policy {
    pub(super) name: Box<str>,
    /// Whether what goes wrong is told (`failurePolicy: Fail`).
    pub(super) fail: bool,
    pub(super) param_kind: Option<ParamKind>,
    /// `None` where it says nothing, which validation does not let happen.
    pub(super) matcher: Option<Matcher>,
    pub(super) conditions: Option<MatchConditions>,
    pub(super) variables: Vec<Named>,
    pub(super) body: Body,
}

/// What a policy does.
pub(super) enum Body {
    Validating { validations: Vec<Validation>, annotations: Vec<(Box<str>, Compiled)> },
    Mutating { mutations: Vec<Mutation>, reinvoke: bool },
}

/// One thing that must hold.
pub(super) struct Validation {
    pub(super) expression: Compiled,
    pub(super) message: Box<str>,
    pub(super) message_expression: Option<Compiled>,
    pub(super) reason: Reason,
}

/// One change.
pub(super) struct Mutation {
    pub(super) expression: Compiled,
    pub(super) kind: PatchKind,
}

/// How a change is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchKind {
    ApplyConfiguration,
    JsonPatch,
}

/// The kind of a policy's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParamKind {
    pub(super) group: Box<str>,
    pub(super) version: Box<str>,
    pub(super) kind: Box<str>,
}

/// A binding.
pub(super) struct Binding {
    pub(super) name: Box<str>,
    pub(super) policy: Box<str>,
    pub(super) param_ref: Option<ParamRef>,
    /// `None` where it narrows nothing.
    pub(super) matcher: Option<Matcher>,
    pub(super) actions: Vec<Action>,
}

/// Which parameters a binding is for.
pub(super) struct ParamRef {
    pub(super) name: Box<str>,
    pub(super) namespace: Box<str>,
    /// Where there is no name.
    pub(super) selector: Option<LabelSelector>,
    /// Whether it is an error that there are none.
    pub(super) deny: bool,
}

/// What becomes of a validation that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Deny,
    Audit,
    Warn,
}

impl Action {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Action::Deny => "Deny",
            Action::Audit => "Audit",
            Action::Warn => "Warn",
        }
    }
}

impl std::fmt::Display for ParamKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl ParamKind {
    fn read(kind: &Map<'_>) -> ParamKind {
        let (group, version) =
            kind.text("apiVersion").split_once('/').unwrap_or(("", kind.text("apiVersion")));
        ParamKind { group: group.into(), version: version.into(), kind: kind.text("kind").into() }
    }
}

fn name_of(object: &Value<'_>) -> Box<str> {
    object.str_at(&["metadata", "name"]).unwrap_or("").into()
}

impl Policy {
    /// A validating policy.
    pub(super) fn validating(object: &Value<'_>) -> Option<Policy> {
        Policy::read(object, |spec, compiler, params| {
            let declared = Declarations { params, authorizer: true, patch_types: false };
            let plain = Declarations { authorizer: false, ..declared };
            let validations = maps(spec, "validations").map(|validation| {
                let message_expression = validation.text("messageExpression");
                Validation {
                    expression: compiler.compile(
                        validation.text("expression"),
                        Returns::Bool,
                        declared,
                        true,
                    ),
                    message: validation.text("message").into(),
                    message_expression: (!message_expression.is_empty())
                        .then(|| compiler.compile(message_expression, Returns::String, plain, true)),
                    reason: match validation.text("reason") {
                        "Unauthorized" => Reason::Unauthorized,
                        "Forbidden" => Reason::Forbidden,
                        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
                        _ => Reason::Invalid,
                    },
                }
            });
            let annotations = maps(spec, "auditAnnotations").map(|annotation| {
                let text = annotation.text("valueExpression");
                (annotation.text("key").into(), compiler.compile(text, Returns::StringOrNull, declared, true))
            });
            Body::Validating { validations: validations.collect(), annotations: annotations.collect() }
        })
    }

    /// A mutating policy.
    pub(super) fn mutating(object: &Value<'_>) -> Option<Policy> {
        Policy::read(object, |spec, compiler, params| {
            let declared = Declarations { params, authorizer: true, patch_types: true };
            let mutations = maps(spec, "mutations").filter_map(|mutation| {
                let (member, kind, returns) = match mutation.text("patchType") {
                    "JSONPatch" => ("jsonPatch", PatchKind::JsonPatch, Returns::JsonPatches),
                    _ => ("applyConfiguration", PatchKind::ApplyConfiguration, Returns::Object),
                };
                let text = mutation.child(member)?.text("expression");
                Some(Mutation { expression: compiler.compile(text, returns, declared, true), kind })
            });
            let reinvoke = spec.text("reinvocationPolicy") == "IfNeeded";
            Body::Mutating { mutations: mutations.collect(), reinvoke }
        })
    }

    fn read(object: &Value<'_>, body: impl FnOnce(&Map<'_>, &Compiler, bool) -> Body) -> Option<Policy> {
        let spec = object.as_map()?.child("spec")?;
        let fail = spec.text("failurePolicy") != "Ignore";
        let param_kind = spec.child("paramKind").map(ParamKind::read);
        let params = param_kind.is_some();
        let declared = Declarations { params, authorizer: true, patch_types: false };
        let mut compiler = Compiler::composing();
        let variables = maps(spec, "variables")
            .map(|variable| {
                compiler.variable(variable.text("name"), variable.text("expression"), declared, true)
            })
            .collect();
        Some(Policy {
            name: name_of(object),
            fail,
            param_kind,
            matcher: spec.child("matchConstraints").map(Matcher::of_policy),
            conditions: MatchConditions::compile(spec.items("matchConditions"), &compiler, params, fail),
            body: body(spec, &compiler, params),
            variables,
        })
    }
}

fn maps<'v, 'a>(of: &'v Map<'a>, member: &str) -> impl Iterator<Item = &'v Map<'a>> + use<'v, 'a> {
    of.items(member).iter().filter_map(Value::as_map)
}

impl Binding {
    /// A binding of either kind.
    pub(super) fn read(object: &Value<'_>) -> Option<Binding> {
        let spec = object.as_map()?.child("spec")?;
        let actions = spec.items("validationActions").iter().filter_map(|action| match action.as_str() {
            Some("Deny") => Some(Action::Deny),
            Some("Audit") => Some(Action::Audit),
            Some("Warn") => Some(Action::Warn),
            _ => None,
        });
        Some(Binding {
            name: name_of(object),
            policy: spec.text("policyName").into(),
            param_ref: spec.child("paramRef").map(|reference| ParamRef {
                name: reference.text("name").into(),
                namespace: reference.text("namespace").into(),
                selector: label_selector::selector(reference.get("selector")).unwrap_or_default(),
                deny: reference.text("parameterNotFoundAction") == "Deny",
            }),
            matcher: spec.child("matchResources").map(Matcher::of_policy),
            actions: actions.collect(),
        })
    }
}
