//! Rules of a schema, compiled: one tree of programs beside the schema's.

use std::sync::Arc;

use ringbolt_machinery::structural::{Node, Rule, Structural, check::field_path};

use crate::{
    cost::{Range, estimate},
    decl::{DeclType, decl_type},
    escaping::escape,
    expression::Expression,
    program::Program,
    schema::{ListType, Schema},
    types::Type,
};

/// What object types of a schema are named after.
pub(super) const SELF_TYPE: &str = "selfType";

/// The rules of a schema.
#[derive(Debug)]
pub struct RuleSet {
    pub(super) root: RuleNode,
}

/// Rules at one place, and those below it.
#[derive(Debug)]
pub(super) struct RuleNode {
    pub(super) schema: Arc<Schema>,
    pub(super) rules: Vec<CompiledRule>,
    /// There are rules, but nothing that they could see.
    pub(super) blind: bool,
    pub(super) items: Option<Box<RuleNode>>,
    pub(super) additional: Option<Box<RuleNode>>,
    pub(super) properties: Vec<(Box<str>, RuleNode)>,
    pub(super) all_of: Vec<RuleNode>,
}

/// One rule.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) source: Rule,
    /// `None` of a rule without text.
    pub(super) program: Result<Option<Program>, String>,
    pub(super) message: Option<Program>,
    pub(super) uses_old_self: bool,
    /// The field that the error is about, from here.
    pub(super) field: String,
    pub(super) optional_old_self: bool,
}

/// What came of compiling a rule.
pub(super) struct Compilation {
    pub(super) program: Result<Option<Program>, String>,
    pub(super) cost: u64,
    pub(super) uses_old_self: bool,
    pub(super) message: Result<Option<(Program, u64)>, String>,
}

/// Whether there is a rule anywhere; of alternatives nobody asks.
fn has_rules(node: Node<'_>) -> bool {
    !node.rules().is_empty()
        || node.items().is_some_and(has_rules)
        || node.additional_schema().is_some_and(has_rules)
        || node.properties().any(|(_, property)| has_rules(property))
}

impl RuleSet {
    /// The rules of a schema for resources; `None` where it has none.
    pub fn compile(structural: &Structural) -> Option<RuleSet> {
        RuleSet::of_node(structural.root(), true)
    }

    /// The rules of a node, as if it were a schema of its own.
    pub(super) fn of_node(node: Node<'_>, resource: bool) -> Option<RuleSet> {
        if !has_rules(node) {
            return None;
        }
        let schema = Schema::of(node);
        let decl = decl_type(&schema, resource, SELF_TYPE);
        let view = if resource { schema.as_resource() } else { schema };
        Some(RuleSet { root: rule_node(node, node, &view, decl.as_ref())? })
    }
}

/// `rules` is where rules and what is below them come from, `node` is what values are.
fn rule_node(
    rules: Node<'_>,
    node: Node<'_>,
    schema: &Arc<Schema>,
    decl: Option<&DeclType>,
) -> Option<RuleNode> {
    let mut out = RuleNode {
        schema: schema.clone(),
        rules: Vec::new(),
        blind: !rules.rules().is_empty() && decl.is_none(),
        items: None,
        additional: None,
        properties: Vec::new(),
        all_of: Vec::new(),
    };
    if let Some(decl) = decl {
        out.rules = rules.rules().iter().map(|rule| compiled(rule, node, decl)).collect();
    }
    let element = decl.and_then(DeclType::element).map(|of| &**of);
    if let (Some(below), Some(items), Some(of)) = (rules.items(), node.items(), &schema.items) {
        out.items = rule_node(below, items, of, element).map(Box::new);
    }
    if let (Some(below), Some(values), Some(of)) =
        (rules.additional_schema(), node.additional_schema(), &schema.additional)
    {
        out.additional = rule_node(below, values, of, element).map(Box::new);
    }
    for (name, below) in rules.properties() {
        let Some(property) = node.property(name) else { continue };
        // What all resources have takes the place of what the schema says of it.
        let own = schema.declared_property(name).cloned().unwrap_or_else(|| Schema::of(property));
        let node = match escape(name) {
            Some(identifier) => match decl.and_then(|decl| decl.field(&identifier)) {
                Some(field) => rule_node(below, property, &own, Some(field)),
                None => None,
            },
            None => match decl_type(&own, own.embedded, SELF_TYPE) {
                Some(decl) => rule_node(below, property, &own, Some(&decl)),
                None => None,
            },
        };
        out.properties.extend(node.map(|node| (Box::from(name), node)));
    }
    for alternative in rules.validation().into_iter().flat_map(|validation| validation.all_of()) {
        out.all_of.extend(rule_node(alternative, node, schema, decl));
    }
    let empty = out.rules.is_empty()
        && !out.blind
        && out.items.is_none()
        && out.additional.is_none()
        && out.properties.is_empty()
        && out.all_of.is_empty();
    if empty { None } else { Some(out) }
}

fn compiled(rule: &Rule, node: Node<'_>, decl: &DeclType) -> CompiledRule {
    // What was admitted may use all that there is.
    let mut compilation = compile_rule(rule, decl, true, true);
    if compilation.program.is_err() {
        // The error is to name objects after what is `self` here.
        compilation = compile_rule(rule, &decl.renamed(SELF_TYPE), true, true);
    }
    let Compilation { program, uses_old_self, message, .. } = compilation;
    let field = match rule.field_path.is_empty() {
        true => String::new(),
        false => field_path(&rule.field_path, node, true).map_or_else(|_| String::new(), |path| path.text),
    };
    CompiledRule {
        program,
        message: message.ok().flatten().map(|(program, _)| program),
        uses_old_self,
        field,
        optional_old_self: rule.optional_old_self == Some(true),
        source: rule.clone(),
    }
}

/// Compiles a rule and its message; `stored` and `message_stored` where they were there before.
pub(super) fn compile_rule(rule: &Rule, decl: &DeclType, stored: bool, message_stored: bool) -> Compilation {
    let mut out = Compilation { program: Ok(None), cost: 0, uses_old_self: false, message: Ok(None) };
    if rule.rule.trim().is_empty() {
        return out;
    }
    let optional = rule.optional_old_self == Some(true);
    let failed = |text: &str| format!("compilation failed: {text}");
    let expression = match Expression::compile(&rule.rule, &decl.env(optional, stored)) {
        Ok(expression) => expression,
        Err(issues) => {
            out.program = Err(failed(&issues));
            return out;
        }
    };
    if *expression.output() != Type::Bool {
        out.program = Err("cel expression must evaluate to a bool".into());
        return out;
    }
    out.uses_old_self = expression.uses("oldSelf");
    match expression.program() {
        Ok(program) => out.program = Ok(Some(program)),
        Err(why) => {
            out.program = Err(format!("program instantiation failed: {why}"));
            return out;
        }
    }
    out.cost = cost(&expression, decl).max;
    if !rule.message_expression.is_empty() {
        out.message = compile_message(&rule.message_expression, decl, optional, message_stored);
    }
    out
}

fn cost(expression: &Expression, decl: &DeclType) -> Range {
    estimate(&expression.ast, &expression.checked, Some(decl))
}

fn compile_message(
    text: &str,
    decl: &DeclType,
    optional: bool,
    stored: bool,
) -> Result<Option<(Program, u64)>, String> {
    let expression = Expression::compile(text, &decl.env(optional, stored))
        .map_err(|issues| format!("messageExpression compilation failed: {issues}"))?;
    if *expression.output() != Type::String {
        return Err("messageExpression must evaluate to a string".into());
    }
    let program =
        expression.program().map_err(|why| format!("messageExpression instantiation failed: {why}"))?;
    Ok(Some((program, cost(&expression, decl).max)))
}

impl RuleNode {
    /// Whether items are found again by their keys.
    pub(super) fn has_keyed_items(&self) -> bool {
        self.schema.list_type == ListType::Map
    }
}
