//! Rules of a definition that is to be admitted: whether they compile, and what they would cost at worst.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    structural::{
        Node, Rule, Structural,
        check::{RuleChecks, RuleSite, Step},
        internal,
    },
    value::Value,
};

use super::compile::{RuleSet, SELF_TYPE, compile_rule};
use crate::{
    decl::{DeclType, decl_type},
    escaping::escape,
    limits::{OBJECT_COST_MAX, RULE_ESTIMATE_MAX, SCHEMA_ESTIMATE_MAX},
    schema::Schema,
};

/// Rules named as the most expensive, at most.
const EXPENSIVE_MAX: usize = 4;

/// Expressions that a definition had before: they may go on to use what only stored expressions may.
#[derive(Clone, Debug, Default)]
pub struct Expressions {
    rules: HashSet<String>,
    messages: HashSet<String>,
}

impl Expressions {
    /// Takes in all of a schema.
    pub fn add(&mut self, schema: &Value<'_>) {
        match schema {
            Value::Map(map) => {
                for (name, value) in map.iter() {
                    if name == "x-kubernetes-validations" {
                        for rule in value.as_list().into_iter().flatten() {
                            self.rules.extend(rule.str_at(&["rule"]).map(str::to_owned));
                            self.messages.extend(rule.str_at(&["messageExpression"]).map(str::to_owned));
                        }
                    } else {
                        self.add(value);
                    }
                }
            }
            Value::List(list) => list.iter().for_each(|value| self.add(value)),
            _ => {}
        }
    }
}

/// The checks of a schema's rules, for whoever walks the schema.
#[derive(Debug)]
pub struct SchemaRules<'e> {
    before: &'e Expressions,
    /// The schema is as it was: what its rules cost was accepted once.
    unchanged: bool,
    total: u64,
    expensive: Vec<(String, u64)>,
    /// Bytes of defaults' rules that may still be spent.
    budget: i64,
    types: HashMap<usize, Option<TypeInfo>>,
}

/// What rules at one place see.
#[derive(Clone, Debug)]
struct TypeInfo {
    schema: Arc<Schema>,
    decl: Arc<DeclType>,
}

impl<'e> SchemaRules<'e> {
    /// Checks for one schema; `unchanged` where it is as it was before an update.
    pub fn new(before: &'e Expressions, unchanged: bool) -> Self {
        SchemaRules {
            before,
            unchanged,
            total: 0,
            expensive: Vec::new(),
            budget: OBJECT_COST_MAX,
            types: HashMap::new(),
        }
    }

    fn observe(&mut self, path: String, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < SCHEMA_ESTIMATE_MAX / 100 {
            return;
        }
        self.expensive.push((path, cost));
        self.expensive.sort_by_key(|(_, cost)| Reverse(*cost));
        self.expensive.truncate(EXPENSIVE_MAX);
    }

    /// The types at a place, by way of the outermost schema around it that has rules.
    fn type_info(&mut self, site: &RuleSite<'_, '_, '_>) -> Option<TypeInfo> {
        let mut info: Option<TypeInfo> = None;
        let (mut in_scope, mut followed) = (false, false);
        let schemas = site.ancestors.iter().map(|(schema, step)| (*schema, Some(step)));
        let mut step_before: Option<&Step<'_>> = None;
        for (at, (schema, step)) in schemas.chain([(site.schema, None)]).enumerate() {
            in_scope |= has_rules(schema);
            if in_scope {
                let below = info.as_ref().zip(step_before).and_then(|(info, step)| info.follow(step));
                followed = below.is_some();
                info = below.or_else(|| self.converted(schema, at == 0));
            }
            step_before = step;
        }
        if let Some(info) = info.as_mut().filter(|_| followed) {
            // Objects are named after what is `self` to a rule.
            info.decl = Arc::new(info.decl.renamed(SELF_TYPE));
        }
        info
    }

    /// The types of a schema by itself.
    fn converted(&mut self, schema: &Value<'_>, is_root: bool) -> Option<TypeInfo> {
        let address = std::ptr::from_ref(schema).addr();
        let made = self.types.entry(address).or_insert_with(|| {
            let structural = Structural::compile(schema).ok()?;
            let root = structural.root();
            let schema = Schema::of(root);
            let decl = decl_type(&schema, is_root || root.is_embedded_resource(), SELF_TYPE)?;
            Some(TypeInfo { schema, decl: Arc::new(decl) })
        });
        made.clone()
    }

    fn one(
        &mut self,
        rule: &Value<'_>,
        path: &str,
        info: &TypeInfo,
        cardinality: Option<u64>,
        uncorrelatable: Option<&str>,
        errors: &mut Vec<FieldError>,
    ) {
        let source = rule_of(rule);
        let is_known = |set: &HashSet<String>, text: &str| set.contains(text);
        let compiled = compile_rule(
            &source,
            &info.decl,
            is_known(&self.before.rules, &source.rule),
            is_known(&self.before.messages, &source.message_expression),
        );
        let rule_path = child(path, "rule");
        let times = cardinality.unwrap_or_else(|| info.decl.cardinality_max());
        let cost = if compiled.cost == 0 { 0 } else { compiled.cost.saturating_mul(times) };
        if !self.unchanged && cost > RULE_ESTIMATE_MAX {
            let text = exceeded("estimated rule cost", cost, RULE_ESTIMATE_MAX);
            errors.push(FieldError::forbidden(rule_path.clone(), text));
        }
        self.observe(rule_path.clone(), cost);
        let mut shown = String::new();
        internal::write_rule(rule, &mut shown);
        if let Err(why) = &compiled.program {
            errors.push(FieldError::invalid(rule_path.clone(), Verbatim(&shown), why.as_str()));
        }
        let message_path = child(path, "messageExpression");
        match &compiled.message {
            Err(why) => {
                errors.push(FieldError::invalid(message_path, Verbatim(&shown), why.as_str()));
            }
            Ok(None) => {}
            Ok(Some((_, cost))) => {
                if !self.unchanged && *cost > RULE_ESTIMATE_MAX {
                    let text = exceeded("estimated messageExpression cost", *cost, RULE_ESTIMATE_MAX);
                    errors.push(FieldError::forbidden(message_path.clone(), text));
                }
                self.observe(message_path, *cost);
            }
        }
        if compiled.uses_old_self {
            if let Some(around) = uncorrelatable {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {around}"
                );
                errors.push(FieldError::invalid(rule_path, &*source.rule, why));
            }
        } else if let Some(given) = source.optional_old_self {
            let at = child(path, "optionalOldSelf");
            errors.push(FieldError::invalid(at, given, "may not be set if oldSelf is not used in rule"));
        }
    }
}

impl TypeInfo {
    /// The types one step below; `None` where expressions see nothing of it.
    fn follow(&self, step: &Step<'_>) -> Option<TypeInfo> {
        let (schema, decl) = match step {
            Step::Property(name) => {
                let decl = self.decl.field(&escape(name)?)?;
                (self.schema.property(name).cloned().unwrap_or_else(|| self.schema.clone()), decl)
            }
            Step::Items => (self.schema.items.clone()?, self.decl.element()?),
            Step::AdditionalProperties => (self.schema.additional.clone()?, self.decl.element()?),
        };
        Some(TypeInfo { schema, decl: decl.clone() })
    }
}

impl RuleChecks for SchemaRules<'_> {
    fn default_errors(
        &mut self,
        node: Node<'_>,
        value: &Value<'_>,
        is_resource: bool,
        path: &str,
    ) -> Vec<FieldError> {
        let Some(rules) = RuleSet::of_node(node, is_resource) else { return Vec::new() };
        if self.budget < 0 {
            return Vec::new();
        }
        // A default takes the place of itself, and of nothing.
        let (found, mut left) = rules.validate_at(value, Some(value), path, self.budget, false);
        let mut errors = found.errors;
        if errors.is_empty() {
            let (found, other) = rules.validate_at(value, None, path, self.budget, false);
            errors = found.errors;
            left = left.min(other);
        }
        self.budget = left;
        errors
    }

    fn rule_errors(&mut self, site: &RuleSite<'_, '_, '_>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let at = child(site.path, "x-kubernetes-validations");
        let Some(info) = self.type_info(site) else {
            let why = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            errors.push(FieldError::internal(at, why));
            return errors;
        };
        let cardinality = site.ancestors.iter().try_fold(1u64, |product, (schema, _)| {
            elements_max(schema).map(|max| if product == 0 { 0 } else { product.saturating_mul(max) })
        });
        let rules = site.schema.path(&["x-kubernetes-validations"]).and_then(Value::as_list);
        for (number, rule) in rules.into_iter().flatten().enumerate() {
            self.one(rule, &index(&at, number), &info, cardinality, site.uncorrelatable, &mut errors);
        }
        errors
    }

    fn total_errors(&mut self, path: &str) -> Vec<FieldError> {
        if self.total <= SCHEMA_ESTIMATE_MAX {
            return Vec::new();
        }
        let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let mut errors: Vec<FieldError> =
            self.expensive.iter().map(|(path, _)| FieldError::forbidden(path.as_str(), why)).collect();
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(path, exceeded(what, self.total, SCHEMA_ESTIMATE_MAX)));
        errors
    }
}

fn has_rules(schema: &Value<'_>) -> bool {
    let rules = schema.path(&["x-kubernetes-validations"]).and_then(Value::as_list);
    rules.is_some_and(|rules| !rules.is_empty())
}

/// How many values of what is below one value may have; `None` where nothing bounds them.
fn elements_max(schema: &Value<'_>) -> Option<u64> {
    let bound = |name| {
        let max = schema.path(&[name])?.as_i64()?;
        Some(u64::try_from(max).unwrap_or(0))
    };
    let has = |name| schema.path(&[name]).is_some_and(|value| !value.is_null());
    match schema.str_at(&["type"]) {
        Some("object") if has("additionalProperties") => bound("maxProperties"),
        Some("array") => bound("maxItems"),
        _ => Some(1),
    }
}

fn rule_of(rule: &Value<'_>) -> Rule {
    let text = |name| rule.str_at(&[name]).unwrap_or_default().into();
    Rule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: rule.str_at(&["reason"]).map(Into::into),
        field_path: text("fieldPath"),
        optional_old_self: rule.path(&["optionalOldSelf"]).and_then(Value::as_bool),
    }
}

fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}
