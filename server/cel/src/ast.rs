//! The syntax tree of an expression, macros expanded.

/// A node: its number counts from 0 and finds its place, its type and its overloads.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) id: usize,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Ident(String),
    Select(Box<Select>),
    Call(Box<Call>),
    List(Vec<Element>),
    Map(Vec<Entry>),
    Struct(Box<Struct>),
    Comprehension(Box<Comprehension>),
    /// Stands where an error has been reported.
    Unspecified,
}

/// A value that stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

/// `operand.field`, or `has(operand.field)`.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub(crate) operand: Expr,
    pub(crate) field: String,
    pub(crate) test_only: bool,
}

/// `function(args)` or `target.function(args)`; operators have names such as `_+_`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) target: Option<Expr>,
    pub(crate) function: String,
    pub(crate) args: Vec<Expr>,
}

/// One element of a list, `?` before it or not.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// One entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// `Type{field: value}`
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) fields: Vec<StructField>,
}

/// One field of a [`Struct`].
#[derive(Clone, Debug)]
pub(crate) struct StructField {
    /// Where it stands: at its colon.
    pub(crate) id: usize,
    pub(crate) name: String,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A fold over a list or a map.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expr,
    pub(crate) var: String,
    pub(crate) var2: Option<String>,
    pub(crate) accu_var: String,
    pub(crate) init: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

/// The name of the variable that a macro gathers its result in.
pub(crate) const ACCUMULATOR: &str = "@result";
/// Its older name, which nobody may take either.
pub(crate) const OLD_ACCUMULATOR: &str = "__result__";

/// A parsed expression.
#[derive(Debug)]
pub(crate) struct Ast {
    pub(crate) root: Expr,
    /// Where each node stands, in code points.
    pub(crate) offsets: Vec<u32>,
}

impl Ast {
    pub(crate) fn offset(&self, id: usize) -> Option<u32> {
        self.offsets.get(id).copied()
    }
}

impl Expr {
    /// Calls `visit` with each node right below.
    pub(crate) fn children<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            Kind::Literal(_) | Kind::Ident(_) | Kind::Unspecified => {}
            Kind::Struct(object) => object.fields.iter().for_each(|field| visit(&field.value)),
            Kind::Select(select) => visit(&select.operand),
            Kind::Call(call) => call.target.iter().chain(&call.args).for_each(visit),
            Kind::List(elements) => elements.iter().for_each(|element| visit(&element.value)),
            Kind::Map(entries) => {
                for entry in entries {
                    visit(&entry.key);
                    visit(&entry.value);
                }
            }
            Kind::Comprehension(fold) => {
                [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result]
                    .into_iter()
                    .for_each(visit);
            }
        }
    }
    /// Calls `visit` with this node and all below it, parents first.
    pub(crate) fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.children(&mut |child| child.walk(visit));
    }
    /// The name, where it is an identifier.
    pub(crate) fn ident(&self) -> Option<&str> {
        if let Kind::Ident(name) = &self.kind { Some(name) } else { None }
    }
}
