//! What a validating policy makes of a request.

use std::time::{Duration, Instant};

use ringbolt_cel::{
    Activation, Authorizer, Inputs,
    admission::{Answer, Compiled, Named},
    limits::{MESSAGE_BYTES_MAX, POLICY_COST_MAX},
};
use ringbolt_machinery::{status::Reason, value::Value};

use super::definition::{Body, Policy, Validation};
use crate::dynamic::{Counted, Matches, NamespaceView};

/// What one validation comes to.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    pub(super) message: String,
    pub(super) reason: Reason,
    pub(super) took: Duration,
}

/// How a validation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It holds.
    Admitted,
    /// It does not.
    Denied,
    /// It failed, and that is ignored.
    Ignored,
    /// It failed.
    Failed,
}

impl Verdict {
    pub(super) fn denies(self) -> bool {
        matches!(self, Verdict::Denied | Verdict::Failed)
    }
}

/// An annotation for the audit log, or why there is none.
pub(super) struct Annotation<'p> {
    pub(super) key: &'p str,
    pub(super) value: Result<String, String>,
    pub(super) took: Duration,
}

/// All that a policy says of a request.
#[derive(Default)]
pub(super) struct Outcome<'p> {
    pub(super) decisions: Vec<Decision>,
    pub(super) annotations: Vec<Annotation<'p>>,
}

/// A policy at work on one request with one parameter.
pub(super) struct Run<'a> {
    pub(super) policy: &'a Policy,
    pub(super) inputs: Inputs<'a>,
    pub(super) params: Option<&'a Value<'a>>,
    pub(super) namespace: Option<NamespaceView<'a>>,
    pub(super) authorizer: &'a dyn Authorizer,
    pub(super) arena: &'a bumpalo::Bump,
    pub(super) counted: Counted<'a>,
}

impl<'a> Run<'a> {
    fn error(&self, message: impl Into<String>, took: Duration) -> Decision {
        let verdict = if self.policy.fail { Verdict::Failed } else { Verdict::Ignored };
        Decision { verdict, message: message.into(), reason: Reason::Invalid, took }
    }

    fn all_failed(&self, message: impl Into<String>) -> Outcome<'a> {
        Outcome { decisions: vec![self.error(message, Duration::ZERO)], annotations: Vec::new() }
    }

    fn activation(&self, authorizer: Option<&'a dyn Authorizer>, whole: bool) -> &'a Activation<'a> {
        let namespace = self.namespace.map(|namespace| if whole { namespace.whole } else { namespace.shown });
        let inputs = Inputs { params: self.params, namespace, authorizer, ..self.inputs };
        Activation::new(self.arena, inputs, variables(self.policy))
    }

    /// Whether the policy is to look at the request at all, and what it says of it.
    pub(super) fn validate(&self) -> Outcome<'a> {
        let Body::Validating { validations, annotations } = &self.policy.body else {
            return Outcome::default();
        };
        if let Some(conditions) = &self.policy.conditions {
            // Conditions see no namespace.
            let inputs = Inputs {
                params: self.params,
                namespace: None,
                authorizer: Some(self.authorizer),
                ..self.inputs
            };
            match conditions.evaluate(self.arena, inputs, variables(self.policy), self.counted) {
                Matches::Yes => {}
                Matches::No => return Outcome::default(),
                Matches::Failed(why) => return self.all_failed(why),
            }
        }
        let decisions = match self.decisions(validations) {
            Ok(decisions) => decisions,
            Err(why) => return self.all_failed(why),
        };
        match self.annotations(annotations) {
            Ok(annotations) => Outcome { decisions, annotations },
            Err(why) => self.all_failed(why),
        }
    }

    fn decisions(&self, validations: &'a [Validation]) -> Result<Vec<Decision>, String> {
        let activation = self.activation(Some(self.authorizer), false);
        let mut budget = POLICY_COST_MAX;
        let mut answers = Vec::with_capacity(validations.len());
        for validation in validations {
            let begun = Instant::now();
            let answer = activation.evaluate(&validation.expression, &mut budget);
            answers.push((answer.map_err(|spent| spent.to_string())?, begun.elapsed()));
        }
        let (messages, spent) = self.messages(validations, budget);
        let decided =
            validations.iter().zip(answers).enumerate().map(|(at, (validation, (answer, took)))| {
                match (answer, &spent) {
                    (Err(why), _) => self.error(why, took),
                    (Ok(_), Some(spent)) => self.error(format!("failed messageExpression: {spent}"), took),
                    (Ok(Answer::Bool(true)), None) => Decision {
                        verdict: Verdict::Admitted,
                        message: String::new(),
                        reason: Reason::Invalid,
                        took,
                    },
                    (Ok(_), None) => Decision {
                        verdict: Verdict::Denied,
                        message: message(validation, messages.get(at).copied().flatten()),
                        reason: validation.reason,
                        took,
                    },
                }
            });
        Ok(decided.collect())
    }

    /// The messages that expressions make, in the order of validations, and whether the budget was spent by them.
    fn messages(
        &self,
        validations: &'a [Validation],
        mut budget: u64,
    ) -> (Vec<Option<&'a str>>, Option<String>) {
        if validations.iter().all(|validation| validation.message_expression.is_none()) {
            return (Vec::new(), None);
        }
        // Messages cannot ask what is allowed.
        let activation = self.activation(None, false);
        let mut messages = Vec::with_capacity(validations.len());
        for validation in validations {
            let Some(expression) = &validation.message_expression else {
                messages.push(None);
                continue;
            };
            match activation.evaluate(expression, &mut budget) {
                Err(spent) => return (Vec::new(), Some(spent.to_string())),
                Ok(Ok(Answer::String(text))) => messages.push(Some(text)),
                Ok(_) => messages.push(None),
            }
        }
        (messages, None)
    }

    fn annotations(&self, list: &'a [(Box<str>, Compiled)]) -> Result<Vec<Annotation<'a>>, String> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        // Nor can annotations, though they may say so.
        let activation = self.activation(None, true);
        let mut budget = POLICY_COST_MAX;
        let mut out = Vec::with_capacity(list.len());
        for (key, expression) in list {
            let begun = Instant::now();
            let answer = activation.evaluate(expression, &mut budget).map_err(|spent| spent.to_string())?;
            let value = match answer {
                Ok(Answer::String(text)) => Ok(text.trim().to_owned()),
                Ok(Answer::Null) => Ok(String::new()),
                Ok(_) => Err(format!(
                    "valueExpression '{}' resulted in unsupported return type. Return type must be either string or null.",
                    expression.text()
                )),
                Err(_) if !self.policy.fail => Ok(String::new()),
                Err(why) => Err(why.to_owned()),
            };
            out.push(Annotation { key, value, took: begun.elapsed() });
        }
        Ok(out)
    }
}

fn variables(policy: &Policy) -> &[Named] {
    &policy.variables
}

/// What is told of a validation that does not hold.
fn message(validation: &Validation, made: Option<&str>) -> String {
    let made = made.map(str::trim).filter(|text| text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n'));
    if let Some(text) = made.filter(|text| !text.is_empty()) {
        return text.to_owned();
    }
    match validation.message.trim() {
        "" => format!("failed expression: {}", validation.expression.text().trim()),
        given => given.to_owned(),
    }
}
