//! Running programs: values, errors that are values, and what it costs.

use std::cell::{Cell, RefCell};

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    activation::Activation,
    cost::{LIST_COST, MAP_COST, STRUCT_COST},
    escaping::unescape,
    program::{Attribute, Base, Fold, Key, Node, Program, Variable},
    runtime_cost::call_cost,
    value::{List, MapVal, NO_SUCH_OVERLOAD, ObjectVal, Val},
};

/// What an expression's surroundings hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variables<'a> {
    pub(crate) self_value: Option<Val<'a>>,
    pub(crate) old_self: Option<Val<'a>>,
    pub(crate) admission: Option<&'a Activation<'a>>,
}

/// A variable of a fold; one that nobody asked for yet has no value.
#[derive(Clone, Copy)]
struct Slot<'a> {
    val: Val<'a>,
    pending: Option<&'a Node>,
}

/// One run of a program.
pub(crate) struct Context<'a> {
    pub(crate) arena: &'a Bump,
    variables: Variables<'a>,
    slots: RefCell<ArenaVec<'a, Slot<'a>>>,
    cost: Cell<u64>,
    limit: u64,
}

pub(crate) const CANCELLED: &str = "operation cancelled: actual cost limit exceeded";

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) val: Val<'a>,
    pub(crate) cost: u64,
}

impl Outcome<'_> {
    /// Whether it was ended because it cost too much.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self.val, Val::Error(CANCELLED))
    }
}

impl Program {
    /// Runs the program, to `limit` at most.
    pub(crate) fn run<'a>(&'a self, arena: &'a Bump, variables: Variables<'a>, limit: u64) -> Outcome<'a> {
        let context = Context::new(arena, variables, limit, self.slots);
        let val = context.eval(&self.root);
        let cost = context.cost.get();
        Outcome { val: if cost > limit { Val::Error(CANCELLED) } else { val }, cost }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(arena: &'a Bump, variables: Variables<'a>, limit: u64, slots: usize) -> Self {
        let mut places = ArenaVec::with_capacity_in(slots, arena);
        places.resize(slots, Slot { val: Val::Null, pending: None });
        Context { arena, variables, slots: RefCell::new(places), cost: Cell::new(0), limit }
    }

    fn charge(&self, cost: u64) {
        self.cost.set(self.cost.get().saturating_add(cost));
    }
    fn is_over(&self) -> bool {
        self.cost.get() > self.limit
    }
    pub(crate) fn error(&self, message: impl AsRef<str>) -> Val<'a> {
        Val::error(self.arena, message)
    }
    /// A value with memory of its own, which is given back with the arena.
    pub(crate) fn owned<T>(&self, value: T) -> &'a T {
        bumpalo::boxed::Box::leak(bumpalo::boxed::Box::new_in(value, self.arena))
    }

    fn eval(&self, node: &'a Node) -> Val<'a> {
        if self.is_over() {
            return Val::Error(CANCELLED);
        }
        match node {
            Node::Const(constant) => constant.val(),
            Node::Attribute(attribute) => {
                let val = self.attribute(attribute);
                if !attribute.test_only && !matches!(attribute.base, Base::Node(Node::Conditional(_))) {
                    self.charge(1);
                }
                val
            }
            Node::Conditional(parts) => self.conditional(parts),
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Equal { args, negated } => {
                let (left, right) = (self.eval(&args[0]), self.eval(&args[1]));
                self.charge(call_cost(
                    if *negated { "_!=_" } else { "_==_" },
                    Some(if *negated { "not_equals" } else { "equals" }),
                    &[left, right],
                    Val::Null,
                    self.arena,
                ));
                if left.is_error() {
                    return left;
                }
                if right.is_error() {
                    return right;
                }
                match left.equals(right, self.arena) {
                    Val::Bool(equal) => Val::Bool(equal != *negated),
                    // What cannot be compared is not equal.
                    _ if *negated => Val::Bool(true),
                    error => error,
                }
            }
            Node::Call(call) => {
                let mut args = [Val::Null; 4];
                let count = call.args.len().min(args.len());
                for (at, arg) in call.args.iter().enumerate().take(count) {
                    args[at] = self.eval(arg);
                    if count > 2 && at + 1 < count && args[at].is_error() {
                        return args[at];
                    }
                }
                let args = &args[..count];
                let failed = args.iter().find(|arg| arg.is_error() && call.name != "@not_strictly_false");
                let val = match failed {
                    Some(error) => *error,
                    None => (call.function)(self, args, call.regex.as_ref()),
                };
                self.charge(call_cost(call.name, call.overload, args, val, self.arena));
                val
            }
            Node::InSet { value, set } => {
                let val = self.eval(value);
                if val.is_error() { val } else { Val::Bool(set.contains(val)) }
            }
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Struct { name, fields } => self.structure(name, fields),
            Node::Fold(fold) => self.fold(fold),
            Node::OptionalOr { args, value } => match self.eval(&args[0]) {
                error @ Val::Error(_) => error,
                Val::Optional(Some(inner)) if *value => *inner,
                some @ Val::Optional(Some(_)) => some,
                Val::Optional(None) => self.eval(&args[1]),
                _ => Val::Error(NO_SUCH_OVERLOAD),
            },
        }
    }

    /// A branch or a key: a way that is one costs its steps only.
    fn resolve(&self, node: &'a Node) -> Val<'a> {
        match node {
            Node::Attribute(attribute) if !self.is_over() => self.attribute(attribute),
            _ => self.eval(node),
        }
    }

    fn conditional(&self, parts: &'a [Node; 3]) -> Val<'a> {
        match self.eval(&parts[0]) {
            Val::Bool(true) => self.resolve(&parts[1]),
            Val::Bool(false) => self.resolve(&parts[2]),
            error @ Val::Error(_) => error,
            _ => Val::Error(NO_SUCH_OVERLOAD),
        }
    }

    /// `&&` ends at `false`, `||` at `true`, whatever else went wrong.
    fn logical(&self, terms: &'a [Node; 2], ends: bool) -> Val<'a> {
        let mut failed = None;
        for term in terms {
            match self.eval(term) {
                Val::Bool(b) if b == ends => return Val::Bool(ends),
                Val::Bool(_) => {}
                error @ Val::Error(_) => failed = failed.or(Some(error)),
                _ => failed = failed.or(Some(Val::Error(NO_SUCH_OVERLOAD))),
            }
        }
        failed.unwrap_or(Val::Bool(!ends))
    }

    fn base(&self, base: &'a Base) -> Val<'a> {
        match base {
            Base::Variable(variable) => {
                let val = match variable {
                    Variable::SelfValue => self.variables.self_value,
                    Variable::OldSelf => self.variables.old_self,
                    _ => self.variables.admission.and_then(|admission| admission.get(*variable)),
                };
                val.unwrap_or(Val::Error(variable.missing()))
            }
            Base::Slot(at) => {
                let Slot { val, pending } = self.slots.borrow()[*at];
                let Some(init) = pending else { return val };
                self.set(*at, Val::Null);
                let val = self.growing(self.eval(init));
                self.set(*at, val);
                val
            }
            Base::Node(node) => self.eval(node),
        }
    }

    /// A list or map that is empty is gathered in place.
    fn growing(&self, val: Val<'a>) -> Val<'a> {
        match val {
            Val::List(list) if list.len() == 0 => {
                Val::List(List::Growing(self.arena.alloc(RefCell::new(ArenaVec::new_in(self.arena)))))
            }
            Val::Map(map) if map.len() == 0 => {
                Val::Map(MapVal::Growing(self.arena.alloc(RefCell::new(ArenaVec::new_in(self.arena)))))
            }
            other => other,
        }
    }

    /// What is gathered no more.
    fn settled(&self, val: Val<'a>) -> Val<'a> {
        match val {
            Val::List(List::Growing(list)) => {
                let vals = list.replace(ArenaVec::new_in(self.arena)).into_bump_slice();
                Val::List(List::Vals(vals))
            }
            Val::Map(MapVal::Growing(map)) => {
                let entries = map.replace(ArenaVec::new_in(self.arena)).into_bump_slice();
                Val::Map(MapVal::Vals(entries))
            }
            other => other,
        }
    }

    fn set(&self, at: usize, val: Val<'a>) {
        self.slots.borrow_mut()[at] = Slot { val, pending: None };
    }

    fn attribute(&self, attribute: &'a Attribute) -> Val<'a> {
        let mut val = self.base(&attribute.base);
        let mut optional = false;
        if let Val::Optional(inner) = val
            && !attribute.qualifiers.is_empty()
        {
            match inner {
                None if attribute.test_only => return Val::Bool(false),
                None => return val,
                Some(inner) => val = *inner,
            }
            optional = true;
        }
        if val.is_error() {
            return val;
        }
        let last = attribute.qualifiers.len();
        for (at, qualifier) in attribute.qualifiers.iter().enumerate() {
            let key = match &qualifier.key {
                Key::Const(constant) => constant.val(),
                Key::Node(node) => self.resolve(node),
            };
            if key.is_error() {
                return key;
            }
            optional |= qualifier.optional;
            let presence_only = attribute.test_only && at + 1 == last;
            let found = self.qualify(val, key, optional || presence_only);
            if !optional || found.is_some() {
                self.charge(1);
            }
            match found {
                Some(error @ Val::Error(_)) => return error,
                Some(_) if presence_only => return Val::Bool(true),
                Some(inner) => val = inner,
                None if attribute.test_only => return Val::Bool(false),
                None => return Val::Optional(None),
            }
        }
        if optional { val.some(self.arena) } else { val }
    }

    /// One step; `None` where there is nothing, and that may be.
    fn qualify(&self, val: Val<'a>, key: Val<'a>, may_be_absent: bool) -> Option<Val<'a>> {
        let missing = |what: &str| {
            if may_be_absent { None } else { Some(self.error(format!("{what}: {key}"))) }
        };
        match val {
            Val::Map(map) => map.find(key, self.arena).or_else(|| missing("no such key")),
            Val::Object(object) => match key {
                Val::String(name) => match object.get(name) {
                    None if may_be_absent => None,
                    found => Some(found.unwrap_or(Val::Null)),
                },
                _ => missing("no such key"),
            },
            Val::Variables(admission) => match key {
                Val::String(name) => unescape(name)
                    .and_then(|name| admission.variable(&name))
                    .or_else(|| missing("no such key")),
                _ => missing("no such key"),
            },
            Val::List(list) => {
                let index = match key {
                    Val::Int(n) => n,
                    Val::Uint(n) if i64::try_from(n).is_ok() => n as i64,
                    Val::Double(d) if d.fract() == 0.0 && d.abs() < 2f64.powi(63) => d as i64,
                    Val::Uint(_) | Val::Double(_) => {
                        return Some(self.error(format!("unsupported index value {key} in list")));
                    }
                    _ => {
                        let t = key.type_of();
                        return Some(self.error(format!("unsupported index type '{}' in list", t.name())));
                    }
                };
                if matches!(list, List::Data(..)) && !matches!(key, Val::Int(_)) {
                    return Some(self.error(format!("unsupported index: {key}")));
                }
                let at = usize::try_from(index).ok();
                at.and_then(|at| list.get(at, self.arena)).or_else(|| missing("index out of bounds"))
            }
            _ => missing("no such key"),
        }
    }

    fn list(&self, elements: &'a [(Node, bool)]) -> Val<'a> {
        let val = self.list_of(elements);
        self.charge(LIST_COST);
        val
    }

    fn list_of(&self, elements: &'a [(Node, bool)]) -> Val<'a> {
        let mut out = ArenaVec::with_capacity_in(elements.len(), self.arena);
        for (node, optional) in elements {
            let val = self.eval(node);
            match val {
                Val::Error(_) => return val,
                Val::Optional(None) if *optional => {}
                Val::Optional(Some(inner)) if *optional => out.push(*inner),
                _ if *optional => {
                    return self.error(format!(
                        "cannot initialize optional list element from non-optional value {val}"
                    ));
                }
                _ => out.push(val),
            }
        }
        Val::List(List::Vals(out.into_bump_slice()))
    }

    fn map(&self, entries: &'a [(Node, Node, bool)]) -> Val<'a> {
        let val = self.map_of(entries);
        self.charge(MAP_COST);
        val
    }

    fn map_of(&self, entries: &'a [(Node, Node, bool)]) -> Val<'a> {
        let mut out: ArenaVec<'a, (Val<'a>, Val<'a>)> = ArenaVec::with_capacity_in(entries.len(), self.arena);
        for (key, value, optional) in entries {
            let key = self.eval(key);
            if key.is_error() {
                return key;
            }
            let at = out.iter().position(|(k, _)| crate::value::same_key(*k, key));
            if let Err(error) = self.enter(&mut out, at, key, value, *optional) {
                return error;
            }
        }
        Val::Map(MapVal::Vals(out.into_bump_slice()))
    }

    fn structure(&self, name: &'a str, fields: &'a [(Box<str>, Node, bool)]) -> Val<'a> {
        let val = self.structure_of(name, fields);
        self.charge(STRUCT_COST);
        val
    }

    fn structure_of(&self, name: &'a str, fields: &'a [(Box<str>, Node, bool)]) -> Val<'a> {
        let mut out: ArenaVec<'a, (&'a str, Val<'a>)> = ArenaVec::with_capacity_in(fields.len(), self.arena);
        for (field, node, optional) in fields {
            let at = out.iter().position(|(name, _)| *name == &**field);
            if let Err(error) = self.enter(&mut out, at, &**field, node, *optional) {
                return error;
            }
        }
        Val::Object(self.arena.alloc(ObjectVal { name, fields: out.into_bump_slice() }))
    }

    /// Puts an entry of a map or a structure to those before, of which the one at `at` has the same key.
    fn enter<K: std::fmt::Display>(
        &self,
        out: &mut ArenaVec<'a, (K, Val<'a>)>,
        at: Option<usize>,
        key: K,
        node: &'a Node,
        optional: bool,
    ) -> Result<(), Val<'a>> {
        let val = match self.eval(node) {
            error @ Val::Error(_) => return Err(error),
            Val::Optional(None) if optional => {
                if let Some(at) = at {
                    out.remove(at);
                }
                return Ok(());
            }
            Val::Optional(Some(inner)) if optional => *inner,
            val if optional => {
                let why = format!("cannot initialize optional entry '{key}' from non-optional value {val}");
                return Err(self.error(why));
            }
            val => val,
        };
        match at {
            Some(at) => out[at].1 = val,
            None => out.push((key, val)),
        }
        Ok(())
    }

    fn fold(&self, fold: &'a Fold) -> Val<'a> {
        let range = self.eval(&fold.range);
        if range.is_error() {
            return range;
        }
        // A fold within a fold's step finds its places as it left them.
        self.slots.borrow_mut()[fold.accu] = Slot { val: Val::Null, pending: Some(&fold.init) };
        match range {
            Val::List(list) => {
                for at in 0..list.len() {
                    let Some(val) = list.get(at, self.arena) else { break };
                    let (first, second) = match fold.var2 {
                        Some(_) => (Val::Int(at as i64), val),
                        None => (val, Val::Null),
                    };
                    if !self.round(fold, first, second) {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for (key, val) in map.entries(self.arena) {
                    if !self.round(fold, key, val) {
                        break;
                    }
                }
            }
            other => {
                let name = go_name(other);
                return self.error(match fold.var2 {
                    Some(_) => format!("unsupported comprehension range type: {name}"),
                    None => format!("got '{name}', expected iterable type"),
                });
            }
        }
        self.settled(self.eval(&fold.result))
    }

    /// One element; whether there is to be another.
    fn round(&self, fold: &'a Fold, first: Val<'a>, second: Val<'a>) -> bool {
        if self.is_over() {
            return false;
        }
        self.set(fold.var, first);
        if let Some(at) = fold.var2 {
            self.set(at, second);
        }
        if matches!(self.eval(&fold.condition), Val::Bool(false)) {
            return false;
        }
        let val = self.eval(&fold.step);
        self.set(fold.accu, val);
        true
    }
}

/// What Go calls the type of a value that cannot be iterated over.
pub(crate) fn go_name(val: Val<'_>) -> &'static str {
    match val {
        Val::Null => "types.Null",
        Val::Bool(_) => "types.Bool",
        Val::Int(_) => "types.Int",
        Val::Uint(_) => "types.Uint",
        Val::Double(_) => "types.Double",
        Val::String(_) => "types.String",
        Val::Bytes(_) => "types.Bytes",
        Val::Timestamp(_) => "types.Timestamp",
        Val::Duration(_) => "types.Duration",
        Val::Type(_) => "*types.Type",
        Val::Optional(_) => "*types.Optional",
        _ => "ref.Val",
    }
}
