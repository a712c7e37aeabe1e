//! Rules over objects.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::{ErrorKind, FieldError, child, index, key, quote},
    value::Value,
};

use super::{
    compile::{CompiledRule, RuleNode, RuleSet},
    ratchet::{Correlated, Items, Ratchet},
    shown,
};
use crate::{
    data,
    eval::Variables,
    limits::{MESSAGE_BYTES_MAX, OBJECT_COST_MAX, PER_CALL_COST_MAX},
    program::Program,
    schema::Kind,
    value::Val,
};

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What rules found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong.
    pub errors: Vec<FieldError>,
    /// What is wrong, but was so before.
    pub warnings: Vec<String>,
}

impl RuleSet {
    /// Runs all rules over an object, whose place in it is new where there is no `old`. `ratchets` where errors about
    /// what an update leaves as it was are warnings.
    pub fn validate(&self, object: &Value<'_>, old: Option<&Value<'_>>) -> Findings {
        self.validate_at(object, old, "", OBJECT_COST_MAX, true).0
    }

    /// As [`RuleSet::validate`] for a value that stands at `path`, with what may be spent; answers what is left of it.
    pub(super) fn validate_at<'a>(
        &'a self,
        value: &'a Value<'a>,
        old: Option<&'a Value<'a>>,
        path: &str,
        budget: i64,
        ratchets: bool,
    ) -> (Findings, i64) {
        let arena = Bump::new();
        let schema = &*self.root.schema;
        let current = old.filter(|_| ratchets).map(|old| Correlated { schema, old, new: value });
        let mut run = Run { arena: &arena, budget, findings: Findings::default() };
        // The arena lives as long as the run, and values of it no longer.
        run.node(&self.root, value, old, path, Ratchet { current, parent: None });
        let Run { budget, findings, .. } = run;
        (findings, budget)
    }
}

struct Run<'b> {
    arena: &'b Bump,
    /// Below zero, no rule is run any more.
    budget: i64,
    findings: Findings,
}

/// A path as errors have it.
fn place(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

impl<'b> Run<'b> {
    fn node<'a: 'b>(
        &mut self,
        node: &'a RuleNode,
        value: &'a Value<'a>,
        old: Option<&'a Value<'a>>,
        path: &str,
        ratchet: Ratchet<'a>,
    ) {
        if value.is_null() {
            return;
        }
        self.rules(node, value, old, path, ratchet);
        for alternative in &node.all_of {
            if self.budget < 0 {
                return;
            }
            self.node(alternative, value, old, path, ratchet.alternative());
        }
        match value {
            Value::List(list) => {
                let Some(below) = node.items.as_deref() else { return };
                let keyed = node.has_keyed_items().then_some(old).flatten();
                let items = Items::of(&node.schema, keyed);
                for (at, item) in list.iter().enumerate() {
                    if self.budget < 0 {
                        return;
                    }
                    let old = items.get(item);
                    self.node(below, item, old, &index(path, at), ratchet.item(old, item));
                }
            }
            Value::Map(map) => {
                let old = old.and_then(Value::as_map);
                let old_of = |name: &str| old.and_then(|old| old.get(name));
                if let Some(below) = node.additional.as_deref() {
                    for (name, value) in map.iter() {
                        if self.budget < 0 {
                            return;
                        }
                        let at = key(path, name);
                        self.node(below, value, old_of(name), &at, ratchet.member(name));
                    }
                }
                for (name, below) in &node.properties {
                    if self.budget < 0 {
                        return;
                    }
                    if let Some(value) = map.get(name) {
                        let at = child(path, name);
                        self.node(below, value, old_of(name), &at, ratchet.member(name));
                    }
                }
            }
            _ => {}
        }
    }

    fn invalid(&mut self, path: &str, node: &RuleNode, detail: impl Into<String>) {
        self.findings.errors.push(FieldError::invalid(place(path), node.schema.kind.name(), detail));
    }

    /// Takes what a program cost off the budget; `false` where it is not there.
    fn spend(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.budget => {
                self.budget -= cost;
                true
            }
            _ => false,
        }
    }

    fn rules<'a: 'b>(
        &mut self,
        node: &'a RuleNode,
        value: &'a Value<'a>,
        old: Option<&'a Value<'a>>,
        path: &str,
        ratchet: Ratchet<'a>,
    ) {
        let old = old.filter(|old| !old.is_null());
        if node.blind {
            let why =
                "rule compiler initialization error: failed to convert to declType for CEL validation rules";
            self.invalid(path, node, why);
            return;
        }
        if node.rules.is_empty() {
            return;
        }
        if self.budget <= 0 {
            self.invalid(path, node, OUT_OF_BUDGET);
            self.budget = -1;
            return;
        }
        let arena = self.arena;
        let own = data::val(value, &node.schema, arena);
        let uses_old = node.rules.iter().any(|rule| rule.uses_old_self);
        let before = old.filter(|_| uses_old).map(|old| data::val(old, &node.schema, arena));
        let plain = Variables { self_value: Some(own), old_self: before, admission: None };
        let optional = match before {
            _ if !uses_old => plain,
            Some(val) => Variables { old_self: Some(val.some(arena)), ..plain },
            None => Variables { old_self: Some(Val::Optional(None)), ..plain },
        };
        for rule in &node.rules {
            let program = match &rule.program {
                Ok(Some(program)) => program,
                Ok(None) => continue,
                Err(why) => {
                    self.invalid(path, node, format!("rule compile error: {why}"));
                    continue;
                }
            };
            if rule.uses_old_self && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let variables = if rule.optional_old_self { optional } else { plain };
            if !self.rule(node, rule, program, variables, plain, value, path, ratchet) {
                self.budget = -1;
                return;
            }
        }
    }

    /// One rule; `false` where no other is to be run.
    #[expect(clippy::too_many_arguments, reason = "all of it is about one rule")]
    fn rule<'a: 'b>(
        &mut self,
        node: &'a RuleNode,
        rule: &'a CompiledRule,
        program: &'a Program,
        variables: Variables<'b>,
        plain: Variables<'b>,
        value: &'a Value<'a>,
        path: &str,
        ratchet: Ratchet<'a>,
    ) -> bool {
        let outcome = program.run(self.arena, variables, PER_CALL_COST_MAX);
        if !self.spend(outcome.cost) {
            self.invalid(path, node, OUT_OF_BUDGET);
            return false;
        }
        let name = shown(&rule.source.rule, &rule.source.message);
        if let Val::Error(why) = outcome.val {
            if why.starts_with("no such overload") {
                let detail = format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {name}"
                );
                self.invalid(path, node, detail);
            } else if outcome.is_cancelled() {
                let detail = format!(
                    "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {name}"
                );
                self.invalid(path, node, detail);
                return false;
            } else {
                self.invalid(path, node, format!("{why} evaluating rule: {name}"));
            }
            return true;
        }
        if matches!(outcome.val, Val::Bool(true)) {
            return true;
        }
        let at = if rule.field.is_empty() { path.to_owned() } else { child(path, &rule.field) };
        let mut detail = None;
        let mut goes_on = true;
        let mut error = None;
        if let Some(message) = &rule.message {
            match self.message(message, &rule.source.message_expression, plain) {
                Ok(text) => detail = text,
                Err(why) => {
                    error = Some(FieldError::invalid(place(&at), node.schema.kind.name(), why));
                    goes_on = false;
                }
            }
        }
        let error = error.unwrap_or_else(|| {
            let detail = detail.unwrap_or_else(|| match rule.source.message.is_empty() {
                true => format!("failed rule: {name}"),
                false => name.to_owned(),
            });
            failure(node, rule, value, place(&at), detail)
        });
        if !rule.uses_old_self && ratchet.tolerates() {
            self.findings.warnings.push(error.to_string());
        } else {
            self.findings.errors.push(error);
        }
        goes_on
    }

    /// The text of a message expression; `None` where it makes none that can be shown.
    fn message(
        &mut self,
        program: &'b Program,
        source: &str,
        variables: Variables<'b>,
    ) -> Result<Option<String>, String> {
        let outcome = program.run(self.arena, variables, PER_CALL_COST_MAX);
        if i64::try_from(outcome.cost).map_or(true, |cost| cost > self.budget) {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
                    .into(),
            );
        }
        if outcome.is_cancelled() {
            return Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                quote(source)
            ));
        }
        self.spend(outcome.cost);
        let Val::String(text) = outcome.val else { return Ok(None) };
        let text = text.trim();
        let shows = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
        Ok(shows.then(|| text.to_owned()))
    }
}

fn failure(
    node: &RuleNode,
    rule: &CompiledRule,
    value: &Value<'_>,
    path: &str,
    detail: String,
) -> FieldError {
    let shows_value = !matches!(node.schema.kind, Kind::Object | Kind::Array);
    let mut error = match rule.source.reason.as_deref() {
        Some("FieldValueForbidden") => return FieldError::forbidden(path, detail),
        Some("FieldValueRequired") => return FieldError::required(path, detail),
        Some("FieldValueDuplicate") => FieldError::duplicate(path, value),
        _ => FieldError::invalid(path, value, detail),
    };
    if !shows_value {
        error.bad_value.clear();
    }
    debug_assert!(matches!(error.kind, ErrorKind::Duplicate | ErrorKind::Invalid));
    error
}
