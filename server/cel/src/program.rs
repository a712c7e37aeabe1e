//! A checked expression, planned: names resolved to places, constants folded, patterns compiled.

use std::collections::HashSet;

use crate::regex_syntax::Regex;
use bumpalo::Bump;

use crate::{
    ast::{Ast, Call, Comprehension, Expr, Kind},
    checker::Checked,
    constant::Const,
    eval::{Context, Variables},
    library::{self, Function},
    regex_syntax,
    value::Val,
};

/// A program: made once, run for every object.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) root: Node,
    /// Variables of folds that are there at once at most.
    pub(crate) slots: usize,
}

/// One step.
#[derive(Debug)]
pub(crate) enum Node {
    Const(Const),
    Attribute(Box<Attribute>),
    Conditional(Box<[Node; 3]>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal {
        args: Box<[Node; 2]>,
        negated: bool,
    },
    Call(Box<CallNode>),
    /// `value in [constants]`
    InSet {
        value: Box<Node>,
        set: ConstSet,
    },
    List(Box<[(Node, bool)]>),
    Map(Box<[(Node, Node, bool)]>),
    /// An object that the expression makes.
    Struct {
        name: Box<str>,
        fields: Box<[(Box<str>, Node, bool)]>,
    },
    Fold(Box<Fold>),
    OptionalOr {
        args: Box<[Node; 2]>,
        value: bool,
    },
}

/// A value and the way from it to another.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
    /// Whether it only asks if the last is there.
    pub(crate) test_only: bool,
}

/// Where a way begins.
#[derive(Debug)]
pub(crate) enum Base {
    Variable(Variable),
    Slot(usize),
    Node(Node),
}

/// What a name of the surroundings stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    SelfValue,
    OldSelf,
    Object,
    OldObject,
    Params,
    Request,
    NamespaceObject,
    Authorizer,
    RequestResource,
    Variables,
}

impl Variable {
    const ALL: [(&str, Variable); 10] = [
        ("self", Variable::SelfValue),
        ("oldSelf", Variable::OldSelf),
        ("object", Variable::Object),
        ("oldObject", Variable::OldObject),
        ("params", Variable::Params),
        ("request", Variable::Request),
        ("namespaceObject", Variable::NamespaceObject),
        ("authorizer", Variable::Authorizer),
        ("authorizer.requestResource", Variable::RequestResource),
        ("variables", Variable::Variables),
    ];

    pub(crate) fn named(name: &str) -> Option<Variable> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, variable)| *variable)
    }

    /// What an expression is told that asks for what is not there.
    pub(crate) fn missing(self) -> &'static str {
        match self {
            Variable::SelfValue => "no such attribute(s): self",
            Variable::OldSelf => "no such attribute(s): oldSelf",
            Variable::Authorizer => "no such attribute(s): authorizer",
            Variable::RequestResource => "no such attribute(s): authorizer.requestResource",
            // The others may be null, but they are there.
            _ => "no such attribute(s)",
        }
    }
}

/// One step of a way.
#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: Key,
    pub(crate) optional: bool,
}

/// What a step asks for.
#[derive(Debug)]
pub(crate) enum Key {
    Const(Const),
    Node(Node),
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    /// The overload, where it can be only one.
    pub(crate) overload: Option<&'static str>,
    pub(crate) args: Box<[Node]>,
    /// The compiled pattern of a regular expression that is constant.
    pub(crate) regex: Option<Regex>,
}

/// A fold.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
    /// Places of the accumulator and of the variables.
    pub(crate) accu: usize,
    pub(crate) var: usize,
    pub(crate) var2: Option<usize>,
}

/// Constants that a value may be one of.
#[derive(Debug, Default)]
pub(crate) struct ConstSet {
    strings: HashSet<Box<str>>,
    others: Vec<Const>,
}

impl ConstSet {
    fn of(list: &[Const]) -> Option<ConstSet> {
        let mut set = ConstSet::default();
        for constant in list {
            match constant {
                Const::String(text) => {
                    set.strings.insert(text.clone());
                }
                Const::Bool(_) | Const::Int(_) | Const::Uint(_) | Const::Double(_) => {
                    set.others.push(constant.clone());
                }
                _ => return None,
            }
        }
        Some(set)
    }
    pub(crate) fn contains(&self, val: Val<'_>) -> bool {
        match val {
            Val::String(text) => self.strings.contains(text),
            _ => self.others.iter().any(|constant| crate::value::same_key(constant.val(), val)),
        }
    }
}

/// Plans an expression; the error is why it cannot be run.
pub(crate) fn plan(ast: &Ast, checked: &Checked) -> Result<Program, String> {
    let mut planner = Planner { checked, scope: Vec::new(), slots: 0 };
    let root = planner.plan(&ast.root)?;
    Ok(Program { root, slots: planner.slots })
}

struct Planner<'p> {
    checked: &'p Checked,
    /// Names of folds' variables; a name's place is its slot.
    scope: Vec<String>,
    slots: usize,
}

impl Planner<'_> {
    fn plan(&mut self, e: &Expr) -> Result<Node, String> {
        if let Some(t) = self.checked.type_names.get(&e.id) {
            return Ok(Node::Const(Const::Type(t.clone())));
        }
        Ok(match &e.kind {
            Kind::Literal(literal) => Node::Const(Const::of(literal)),
            Kind::Ident(name) => Node::Attribute(Box::new(Attribute {
                base: self.base(name)?,
                qualifiers: Vec::new(),
                test_only: false,
            })),
            Kind::Select(select) => {
                let operand = self.plan(&select.operand)?;
                let key = Key::Const(Const::String(select.field.as_str().into()));
                let mut attribute = attribute(operand);
                attribute.qualifiers.push(Qualifier { key, optional: false });
                attribute.test_only = select.test_only;
                Node::Attribute(attribute)
            }
            Kind::Call(call) => self.call(e, call)?,
            Kind::List(elements) => {
                let mut nodes = Vec::with_capacity(elements.len());
                for element in elements {
                    nodes.push((self.plan(&element.value)?, element.optional));
                }
                if nodes.iter().all(|(node, optional)| matches!(node, Node::Const(_)) && !optional) {
                    Node::Const(Const::List(
                        nodes.into_iter().filter_map(|(node, _)| constant(node)).collect(),
                    ))
                } else {
                    Node::List(nodes.into())
                }
            }
            Kind::Map(entries) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for entry in entries {
                    nodes.push((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional));
                }
                let all = nodes.iter().all(|(key, value, optional)| {
                    matches!((key, value), (Node::Const(_), Node::Const(_))) && !optional
                });
                if all { Node::Const(const_map(nodes)) } else { Node::Map(nodes.into()) }
            }
            Kind::Comprehension(fold) => self.fold(fold)?,
            Kind::Struct(object) => {
                let mut fields = Vec::with_capacity(object.fields.len());
                for field in &object.fields {
                    fields.push((field.name.as_str().into(), self.plan(&field.value)?, field.optional));
                }
                Node::Struct { name: object.name.as_str().into(), fields: fields.into() }
            }
            Kind::Unspecified => return Err("unsupported expr".into()),
        })
    }

    fn base(&self, name: &str) -> Result<Base, String> {
        if let Some(slot) = self.scope.iter().rposition(|n| n == name) {
            return Ok(Base::Slot(slot));
        }
        let name = name.strip_prefix('.').unwrap_or(name);
        match Variable::named(name) {
            Some(variable) => Ok(Base::Variable(variable)),
            None => Err(format!("no such attribute(s): {name}")),
        }
    }

    fn fold(&mut self, fold: &Comprehension) -> Result<Node, String> {
        let init = self.plan(&fold.init)?;
        let range = self.plan(&fold.range)?;
        let accu = self.scope.len();
        self.scope.push(fold.accu_var.clone());
        self.scope.push(fold.var.clone());
        let var2 = fold.var2.as_ref().map(|name| {
            self.scope.push(name.clone());
            accu + 2
        });
        self.slots = self.slots.max(self.scope.len());
        let condition = self.plan(&fold.condition)?;
        let step = self.plan(&fold.step)?;
        self.scope.truncate(accu + 1);
        let result = self.plan(&fold.result)?;
        self.scope.truncate(accu);
        Ok(Node::Fold(Box::new(Fold { range, init, condition, step, result, accu, var: accu + 1, var2 })))
    }

    fn call(&mut self, e: &Expr, call: &Call) -> Result<Node, String> {
        let mut args = Vec::with_capacity(call.args.len() + 1);
        for arg in call.target.iter().chain(&call.args) {
            args.push(self.plan(arg)?);
        }
        let args = match call.function.as_str() {
            "_&&_" => return Ok(Node::And(pair(args)?)),
            "_||_" => return Ok(Node::Or(pair(args)?)),
            "_==_" => return Ok(Node::Equal { args: pair(args)?, negated: false }),
            "_!=_" => return Ok(Node::Equal { args: pair(args)?, negated: true }),
            "_?_:_" => {
                let three: Result<Box<[Node; 3]>, _> = args.into_boxed_slice().try_into();
                return three.map(Node::Conditional).map_err(|_| "no such overload: _?_:_".into());
            }
            "_[_]" => return index(args, false),
            "_[?_]" | "_?._" => return index(args, true),
            "or" => return Ok(Node::OptionalOr { args: pair(args)?, value: false }),
            "orValue" => return Ok(Node::OptionalOr { args: pair(args)?, value: true }),
            _ => args,
        };
        let overload = match self.checked.overloads_of(e.id) {
            [one] => Some(*one),
            _ => None,
        };
        let name = call.function.trim_start_matches('.');
        if overload == Some("in_list") {
            return Ok(in_list(args, overload));
        }
        let Some((name, function)) = library::find(name) else {
            return Err(format!("no such overload: {name}"));
        };
        let mut regex = None;
        if matches!(name, "matches" | "find" | "findAll")
            && let Some(Node::Const(Const::String(pattern))) = args.get(1)
        {
            regex = Some(regex_syntax::compile(pattern)?);
        }
        let node = CallNode { name, function, overload, args: args.into(), regex };
        folded(node)
    }
}

fn constant(node: Node) -> Option<Const> {
    if let Node::Const(constant) = node { Some(constant) } else { None }
}

fn pair(args: Vec<Node>) -> Result<Box<[Node; 2]>, String> {
    args.into_boxed_slice().try_into().map_err(|_| "no such overload".into())
}

/// The way that a node is, or one that begins at it.
fn attribute(node: Node) -> Box<Attribute> {
    match node {
        Node::Attribute(attribute) if !attribute.test_only => attribute,
        other => Box::new(Attribute { base: Base::Node(other), qualifiers: Vec::new(), test_only: false }),
    }
}

fn index(args: Vec<Node>, optional: bool) -> Result<Node, String> {
    let [operand, key] = *pair(args)?;
    let mut attribute = attribute(operand);
    let key = match key {
        Node::Const(constant) => Key::Const(constant),
        node => Key::Node(node),
    };
    attribute.qualifiers.push(Qualifier { key, optional });
    Ok(Node::Attribute(attribute))
}

/// Of two entries with the same key the latter is meant.
fn const_map(nodes: Vec<(Node, Node, bool)>) -> Const {
    let mut out: Vec<(Const, Const)> = Vec::with_capacity(nodes.len());
    for (key, value, _) in nodes {
        if let (Some(key), Some(value)) = (constant(key), constant(value)) {
            match out.iter_mut().find(|(k, _)| crate::value::same_key(k.val(), key.val())) {
                Some(slot) => slot.1 = value,
                None => out.push((key, value)),
            }
        }
    }
    Const::Map(out.into())
}

fn in_list(mut args: Vec<Node>, overload: Option<&'static str>) -> Node {
    if let [_, Node::Const(Const::List(list))] = args.as_slice() {
        if list.is_empty() {
            return Node::Const(Const::Bool(false));
        }
        if let Some(set) = ConstSet::of(list) {
            return Node::InSet { value: Box::new(args.swap_remove(0)), set };
        }
    }
    let (name, function) = library::IN;
    Node::Call(Box::new(CallNode { name, function, overload, args: args.into(), regex: None }))
}

/// Conversions of constants are constants.
fn folded(node: CallNode) -> Result<Node, String> {
    let converts = matches!(
        node.name,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    );
    if converts && let [Node::Const(arg)] = &*node.args {
        let arena = Bump::new();
        let context = Context::new(&arena, Variables::default(), u64::MAX, 0);
        let val = (node.function)(&context, &[arg.val()], None);
        if let Val::Error(message) = val {
            return Err(message.to_owned());
        }
        if node.name == "dyn" {
            return Ok(Node::Const(arg.clone()));
        }
        if let Some(constant) = Const::from_val(val) {
            return Ok(Node::Const(constant));
        }
    }
    Ok(Node::Call(Box::new(node)))
}
