//! What an expression costs at worst, before any object is there: what a schema's rules are admitted by.
//!
//! The figures are part of the interface: a rule that one server takes, another must take as well.

use std::collections::HashMap;

use crate::{
    ast::{ACCUMULATOR, Ast, Comprehension, Expr, Kind, Literal, OLD_ACCUMULATOR},
    checker::Checked,
    decl::{DeclType, Shape},
    library_cost::{call_estimate, compares},
    types::Type,
};

pub(crate) const STRING_FACTOR: f64 = 0.1;
pub(crate) const REGEX_FACTOR: f64 = 0.25;
pub(crate) const LIST_COST: u64 = 10;
pub(crate) const MAP_COST: u64 = 30;
pub(crate) const STRUCT_COST: u64 = 40;

/// From so much to so much; of a size or of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Range {
    pub(crate) const UNKNOWN: Range = Range { min: 0, max: u64::MAX };

    pub(crate) fn fixed(n: u64) -> Range {
        Range { min: n, max: n }
    }
    pub(crate) fn new(min: u64, max: u64) -> Range {
        Range { min, max }
    }
    pub(crate) fn plus(self, other: Range) -> Range {
        Range::new(self.min.saturating_add(other.min), self.max.saturating_add(other.max))
    }
    pub(crate) fn times(self, other: Range) -> Range {
        Range::new(self.min.saturating_mul(other.min), self.max.saturating_mul(other.max))
    }
    pub(crate) fn factor(self, factor: f64) -> Range {
        Range::new(by_factor(self.min, factor), by_factor(self.max, factor))
    }
    pub(crate) fn union(self, other: Range) -> Range {
        Range::new(self.min.min(other.min), self.max.max(other.max))
    }
}

fn by_factor(n: u64, factor: f64) -> u64 {
    // Casts saturate.
    (n as f64 * factor).ceil() as u64
}

/// A node of a call, as estimates of functions see it.
#[derive(Clone)]
pub(crate) struct Node<'e> {
    pub(crate) expr: Option<&'e Expr>,
    pub(crate) t: Type,
    pub(crate) size: Option<Range>,
    path: Vec<String>,
}

/// What a call costs, its arguments not counted, and how large its result is.
pub(crate) struct Estimate {
    pub(crate) cost: Range,
    pub(crate) size: Option<Range>,
}

impl Estimate {
    pub(crate) fn of(cost: Range) -> Estimate {
        Estimate { cost, size: None }
    }
    pub(crate) fn sized(cost: Range, size: Range) -> Estimate {
        Estimate { cost, size: Some(size) }
    }
}

#[derive(Clone, Copy)]
struct EntrySize {
    is_list: bool,
    key: Range,
    value: Range,
}

impl EntrySize {
    fn union(a: Option<EntrySize>, b: Option<EntrySize>) -> Option<EntrySize> {
        let (a, b) = (a?, b?);
        Some(EntrySize { is_list: a.is_list, key: a.key.union(b.key), value: a.value.union(b.value) })
    }
}

struct Local {
    name: String,
    path: Vec<String>,
    size: Option<Range>,
    entry: Option<EntrySize>,
}

/// Estimates costs over the declared type of `self`.
pub(crate) struct Coster<'c> {
    checked: &'c Checked,
    /// The type of `self`; without one, nothing is known of sizes.
    root: Option<&'c DeclType>,
    paths: HashMap<usize, Vec<String>>,
    locals: Vec<Local>,
    sizes: HashMap<usize, Range>,
    entries: HashMap<usize, EntrySize>,
}

/// The cost of a checked expression.
pub(crate) fn estimate(ast: &Ast, checked: &Checked, root: Option<&DeclType>) -> Range {
    let mut coster = Coster {
        checked,
        root,
        paths: HashMap::new(),
        locals: Vec::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
    };
    coster.cost(&ast.root)
}

impl<'c> Coster<'c> {
    fn cost(&mut self, e: &'c Expr) -> Range {
        match &e.kind {
            Kind::Literal(_) | Kind::Unspecified => Range::fixed(0),
            Kind::Ident(name) => {
                let path = self.local(name).map_or_else(|| vec![name.clone()], |l| l.path.clone());
                self.paths.insert(e.id, path);
                Range::fixed(1)
            }
            Kind::Select(select) => {
                let mut sum = self.cost(&select.operand);
                if select.test_only {
                    return sum;
                }
                if matches!(
                    self.checked.type_of(select.operand.id),
                    Type::Map(_) | Type::Struct(_) | Type::Var(_)
                ) {
                    sum = sum.plus(Range::fixed(1));
                }
                let mut path = self.path(&select.operand);
                path.push(select.field.clone());
                self.paths.insert(e.id, path);
                sum
            }
            Kind::Call(_) => self.call(e),
            Kind::List(elements) => {
                let mut sum = Range::fixed(LIST_COST);
                let mut item = Range::new(if elements.is_empty() { 0 } else { u64::MAX }, 0);
                for element in elements {
                    sum = sum.plus(self.cost(&element.value));
                    item = item.union(self.size_or_unknown(&element.value));
                }
                let entry = EntrySize { is_list: true, key: Range::fixed(1), value: item };
                self.entries.insert(e.id, entry);
                sum
            }
            Kind::Map(entries) => {
                let mut sum = Range::fixed(MAP_COST);
                let none = Range::new(if entries.is_empty() { 0 } else { u64::MAX }, 0);
                let (mut key, mut value) = (none, none);
                for entry in entries {
                    sum = sum.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entries.insert(e.id, EntrySize { is_list: false, key, value });
                sum
            }
            Kind::Struct(object) => object
                .fields
                .iter()
                .fold(Range::fixed(STRUCT_COST), |sum, field| sum.plus(self.cost(&field.value))),
            Kind::Comprehension(fold) if is_binding(fold) => {
                let sum = self.cost(&fold.range).plus(self.cost(&fold.init));
                self.push_accumulator(fold);
                let sum = sum.plus(self.cost(&fold.result));
                self.locals.pop();
                self.copy_sizes(e, &fold.result);
                sum
            }
            Kind::Comprehension(fold) => self.fold(e, fold),
        }
    }

    fn fold(&mut self, e: &'c Expr, fold: &'c Comprehension) -> Range {
        let sum = self.cost(&fold.range).plus(self.cost(&fold.init));
        self.push_accumulator(fold);
        let outer = self.locals.len();
        let entry = self.entry_size(&fold.range);
        let is_list =
            entry.map_or_else(|| matches!(self.checked.type_of(fold.range.id), Type::List(_)), |e| e.is_list);
        let key = entry.map(|e| e.key);
        let value = entry.map(|e| e.value);
        let mut push = |name: &str, part: &str, size| {
            let mut path = self.path(&fold.range);
            path.push(part.to_owned());
            self.locals.push(Local { name: name.to_owned(), path, size, entry: None });
        };
        match &fold.var2 {
            Some(var2) => {
                push(&fold.var, if is_list { "@indices" } else { "@keys" }, key);
                push(var2, if is_list { "@items" } else { "@values" }, value);
            }
            None if is_list => push(&fold.var, "@items", value),
            None => push(&fold.var, "@keys", key),
        }
        let round = self.cost(&fold.condition).plus(self.cost(&fold.step));
        self.locals.truncate(outer);
        let sum = sum.plus(self.cost(&fold.result));
        self.locals.pop();
        let count = self.size_or_unknown(&fold.range);
        match &fold.init.kind {
            Kind::Literal(_) => {
                if let Some(size) = self.size(&fold.init) {
                    self.sizes.insert(e.id, size);
                }
            }
            Kind::List(_) | Kind::Map(_) => {
                self.sizes.insert(e.id, count);
                if let Some(entry) = self.entry_size(&fold.step) {
                    self.entries.insert(e.id, entry);
                }
            }
            _ => {}
        }
        sum.plus(count.times(round))
    }

    fn push_accumulator(&mut self, fold: &'c Comprehension) {
        let local = Local {
            name: fold.accu_var.clone(),
            path: self.path(&fold.init),
            size: self.size(&fold.init),
            entry: self.entry_size(&fold.init),
        };
        self.locals.push(local);
    }

    fn call(&mut self, e: &'c Expr) -> Range {
        let Kind::Call(call) = &e.kind else { return Range::fixed(0) };
        if call.function == "dyn"
            && let Some(arg) = call.args.first()
        {
            let cost = self.cost(arg);
            self.copy_sizes(e, arg);
            return cost.plus(Range::fixed(1));
        }
        let mut costs = Vec::with_capacity(call.args.len());
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            costs.push(self.cost(arg));
            args.push(self.node(arg));
        }
        let checked = self.checked;
        let overloads = checked.overloads_of(e.id);
        if overloads.is_empty() {
            return Range::fixed(0);
        }
        let mut sum = Range::fixed(0);
        let mut target = None;
        if let Some(expr) = &call.target {
            sum = self.cost(expr);
            target = Some(self.node(expr));
        }
        let mut cost = Range::new(u64::MAX, 0);
        let mut size: Option<Range> = None;
        for overload in overloads {
            let one = self.overload(e, &call.function, overload, target.as_ref(), &args, &costs);
            cost = cost.union(one.cost);
            if let Some(result) = one.size {
                size = Some(size.map_or(result, |s| s.union(result)));
            }
            if matches!(*overload, "index_list" | "index_map") {
                size = self.entry_size(&call.args[0]).map(|entry| entry.value);
                let mut path = self.path(&call.args[0]);
                path.push(if *overload == "index_list" { "@items" } else { "@values" }.to_owned());
                self.paths.insert(e.id, path);
            }
            if size.is_none() {
                size = self.size(e);
            }
        }
        if let Some(size) = size {
            self.sizes.insert(e.id, size);
        }
        sum.plus(cost)
    }

    fn overload(
        &mut self,
        e: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Node<'c>>,
        args: &[Node<'c>],
        costs: &[Range],
    ) -> Estimate {
        let args_cost = costs.iter().fold(Range::fixed(0), |sum, cost| sum.plus(*cost));
        let size_of = |node: &Node<'_>| node.size.unwrap_or(Range::UNKNOWN);
        if let Some(mut estimate) = call_estimate(self, function, overload, target, args) {
            estimate.cost = estimate.cost.plus(args_cost);
            return estimate;
        }
        let plain = |cost: Range| Estimate::of(cost.plus(args_cost));
        match (overload, target, args) {
            ("string_format", Some(target), _) => plain(size_of(target).factor(STRING_FACTOR)),
            ("string_to_bytes", _, [arg]) => {
                let size = size_of(arg);
                Estimate::sized(
                    size.factor(STRING_FACTOR).plus(args_cost),
                    Range::new(size.min, size.max.wrapping_mul(4)),
                )
            }
            ("bytes_to_string", _, [arg]) => {
                let size = size_of(arg);
                Estimate::sized(
                    size.factor(STRING_FACTOR).plus(args_cost),
                    Range::new(size.min / 4, size.max),
                )
            }
            ("strings_quote", _, [arg]) => {
                let size = size_of(arg);
                Estimate::sized(
                    size.factor(STRING_FACTOR).plus(args_cost),
                    Range::new(size.min.wrapping_add(2), size.max.wrapping_mul(2).wrapping_add(2)),
                )
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => {
                plain(size_of(arg).factor(STRING_FACTOR))
            }
            ("in_list", _, [_, list]) => plain(size_of(list).factor(1.0)),
            ("matches_string", Some(text), [regex]) | ("matches", None, [text, regex]) => {
                let text = size_of(text).plus(Range::fixed(1)).factor(STRING_FACTOR);
                plain(text.times(size_of(regex).factor(REGEX_FACTOR)))
            }
            ("contains_string", Some(text), [part]) => {
                let text = size_of(text).factor(STRING_FACTOR);
                plain(text.times(size_of(part).factor(STRING_FACTOR)))
            }
            ("logical_or" | "logical_and", _, _) => {
                let (left, right) = (costs[0], costs[1]);
                Estimate::of(Range::new(left.min, left.max.saturating_add(right.max)))
            }
            ("conditional", _, [_, yes, no]) => {
                let entry = EntrySize::union(self.entry_of(yes), self.entry_of(no));
                if let Some(entry) = entry {
                    self.entries.insert(e.id, entry);
                }
                Estimate::sized(costs[0].plus(costs[1].union(costs[2])), size_of(yes).union(size_of(no)))
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let size = size_of(left).plus(size_of(right));
                let entry = EntrySize::union(self.entry_of(left), self.entry_of(right));
                if let Some(entry) = entry {
                    self.entries.insert(e.id, entry);
                }
                let cost = if overload == "add_list" { Range::fixed(1) } else { size.factor(STRING_FACTOR) };
                Estimate::sized(cost.plus(args_cost), size)
            }
            (overload, _, [left, right]) if compares(overload) => {
                let max = size_of(left).max.min(size_of(right).max);
                plain(Range::new(u64::from(max > 0), max).factor(STRING_FACTOR))
            }
            _ => plain(Range::fixed(1)),
        }
    }

    fn node(&mut self, e: &'c Expr) -> Node<'c> {
        let mut path = self.path(e);
        if path.first().is_some_and(|name| name == ACCUMULATOR || name == OLD_ACCUMULATOR) {
            path.clear();
        }
        Node { expr: Some(e), t: self.checked.type_of(e.id).clone(), size: self.size(e), path }
    }

    /// A node's elements, for functions that go over all of a list.
    pub(crate) fn list_element(&self, list: &Node<'c>) -> Option<Node<'c>> {
        let t = match &list.t {
            Type::List(of) | Type::Optional(of) | Type::Meta(Some(of)) => (**of).clone(),
            Type::Map(of) => of.0.clone(),
            _ => return None,
        };
        let mut path = list.path.clone();
        if !path.is_empty() {
            path.push("@items".to_owned());
        }
        Some(Node { expr: None, t, size: None, path })
    }

    /// A node's size: computed, or by the schema, or unknown.
    pub(crate) fn node_size(&self, node: &Node<'_>) -> Range {
        node.size.or_else(|| self.by_schema(&node.path)).unwrap_or(Range::UNKNOWN)
    }

    fn by_schema(&self, path: &[String]) -> Option<Range> {
        const KEY: Range = Range { min: 0, max: 0 };
        let mut at = self.root?;
        let mut is_key = false;
        for part in path.split_first()?.1 {
            if is_key {
                return None;
            }
            match part.as_str() {
                "@items" | "@values" => at = at.element()?,
                "@keys" => {
                    is_key = matches!(at.shape, Shape::Map(_));
                    if !is_key {
                        return None;
                    }
                }
                field => at = at.field(field)?,
            }
        }
        // The type of keys says nothing of their length.
        Some(if is_key { KEY } else { Range::new(0, at.elements_max as u64) })
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn path(&self, e: &Expr) -> Vec<String> {
        if let Some(name) = e.ident()
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&e.id).cloned().unwrap_or_default()
    }

    fn size_or_unknown(&mut self, e: &Expr) -> Range {
        self.size(e).unwrap_or(Range::UNKNOWN)
    }

    fn size(&mut self, e: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&e.id) {
            return Some(*size);
        }
        let own = match &e.kind {
            Kind::Literal(Literal::String(text)) => Some(text.chars().count() as u64),
            Kind::Literal(Literal::Bytes(bytes)) => Some(bytes.len() as u64),
            Kind::Literal(_) => Some(1),
            Kind::List(elements) => Some(elements.len() as u64),
            Kind::Map(entries) => Some(entries.len() as u64),
            _ => None,
        };
        if let Some(own) = own {
            return Some(Range::fixed(own));
        }
        if let Some(size) = self.by_schema(&self.path(e)) {
            self.sizes.insert(e.id, size);
            return Some(size);
        }
        if self.checked.type_of(e.id).is_scalar() {
            return Some(Range::fixed(1));
        }
        self.local(e.ident()?)?.size
    }

    fn entry_size(&self, e: &Expr) -> Option<EntrySize> {
        self.entries.get(&e.id).copied().or_else(|| self.local(e.ident()?)?.entry)
    }

    fn entry_of(&self, node: &Node<'_>) -> Option<EntrySize> {
        self.entry_size(node.expr?)
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        if let Some(size) = self.size(from) {
            self.sizes.insert(to.id, size);
        }
        if let Some(entry) = self.entry_size(from) {
            self.entries.insert(to.id, entry);
        }
    }
}

/// Whether a fold goes over nothing: a variable for its result.
fn is_binding(fold: &Comprehension) -> bool {
    matches!(&fold.range.kind, Kind::List(elements) if elements.is_empty())
        && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)))
        && fold.accu_var != OLD_ACCUMULATOR
}
