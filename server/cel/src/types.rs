//! Types as the checker reckons with them, and their names in errors.

use std::{fmt, sync::Arc};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Dyn,
    /// The type of what could not be typed: goes with everything, its error is reported already.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Arc<Type>),
    Map(Arc<(Type, Type)>),
    /// An object type: of a schema, or of a library (`kubernetes.Quantity`).
    Struct(Arc<str>),
    /// A type with a name only.
    Opaque(&'static str),
    Optional(Arc<Type>),
    /// The type of a type.
    Meta(Option<Arc<Type>>),
    /// A type to be found out.
    Var(u32),
}

pub(crate) const QUANTITY: &str = "kubernetes.Quantity";
pub(crate) const URL: &str = "kubernetes.URL";
pub(crate) const SEMVER: &str = "kubernetes.Semver";
pub(crate) const NAMED_FORMAT: &str = "kubernetes.NamedFormat";
pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
pub(crate) const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
pub(crate) const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
pub(crate) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
pub(crate) const DECISION: &str = "kubernetes.authorization.Decision";
/// The type of a policy's variables.
pub(crate) const VARIABLES: &str = "kubernetes.variables";
/// What an expression that mutates makes: the object, and each step of a JSON patch.
pub(crate) const OBJECT: &str = "Object";
pub(crate) const JSON_PATCH: &str = "JSONPatch";
pub(crate) const IP: &str = "net.IP";
pub(crate) const CIDR: &str = "net.CIDR";

impl Type {
    pub(crate) fn list(of: Type) -> Type {
        Type::List(Arc::new(of))
    }
    pub(crate) fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }
    pub(crate) fn optional(of: Type) -> Type {
        Type::Optional(Arc::new(of))
    }
    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn)
    }
    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }
    /// The name without parameters, as values have it at run time.
    pub(crate) fn name(&self) -> &str {
        match self {
            Type::Dyn => "dyn",
            Type::Error => "error",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration => "google.protobuf.Duration",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Struct(name) => name,
            Type::Opaque(name) => name,
            Type::Optional(_) => "optional_type",
            Type::Meta(_) => "type",
            Type::Var(_) => "var",
        }
    }
    /// The name with parameters, as Go prints it.
    pub(crate) fn go_string(&self) -> String {
        match self {
            Type::List(of) => format!("list({})", of.go_string()),
            Type::Map(of) => format!("map({}, {})", of.0.go_string(), of.1.go_string()),
            Type::Optional(of) => format!("optional_type({})", of.go_string()),
            Type::Meta(Some(of)) => format!("type({})", of.go_string()),
            other => other.name().to_owned(),
        }
    }
    /// Whether a value of this type has one size always.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
            Type::Optional(of) => of.is_scalar(),
            _ => false,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::List(of) => write!(f, "list({of})"),
            Type::Map(of) => write!(f, "map({}, {})", of.0, of.1),
            Type::Optional(of) => write!(f, "optional_type({of})"),
            Type::Meta(Some(of)) => write!(f, "type({of})"),
            Type::Var(n) => write!(f, "_var{n}"),
            other => f.write_str(other.name()),
        }
    }
}

/// What type variables stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapping(Vec<(u32, Type)>);

impl Mapping {
    fn find(&self, var: u32) -> Option<&Type> {
        self.0.iter().find(|(v, _)| *v == var).map(|(_, t)| t)
    }
    fn add(&mut self, var: u32, t: Type) {
        match self.0.iter_mut().find(|(v, _)| *v == var) {
            Some(slot) => slot.1 = t,
            None => self.0.push((var, t)),
        }
    }
    /// A type with what its variables stand for in their place; those that stand for nothing stay, or are dynamic.
    pub(crate) fn substitute(&self, t: &Type, to_dyn: bool) -> Type {
        match t {
            Type::Var(var) => match self.find(*var) {
                Some(stands_for) => self.substitute(stands_for, to_dyn),
                None if to_dyn => Type::Dyn,
                None => t.clone(),
            },
            Type::List(of) => Type::list(self.substitute(of, to_dyn)),
            Type::Map(of) => Type::map(self.substitute(&of.0, to_dyn), self.substitute(&of.1, to_dyn)),
            Type::Optional(of) => Type::optional(self.substitute(of, to_dyn)),
            Type::Meta(Some(of)) => Type::Meta(Some(Arc::new(self.substitute(of, to_dyn)))),
            _ => t.clone(),
        }
    }
    /// Whether a value of `from` goes where `to` is wanted; learns what variables stand for only if so.
    pub(crate) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        let mut copy = self.clone();
        let goes = copy.assignable(from, to);
        if goes {
            *self = copy;
        }
        goes
    }
    /// As [`Mapping::assign`] for all of a call's arguments.
    pub(crate) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let mut copy = self.clone();
        let goes = from.len() == to.len() && from.iter().zip(to).all(|(f, t)| copy.assignable(f, t));
        if goes {
            *self = copy;
        }
        goes
    }

    fn assignable(&mut self, a: &Type, b: &Type) -> bool {
        if let Type::Var(var) = b {
            let (valid, known) = self.stands_for(a, *var);
            if valid {
                return true;
            }
            if known {
                return false;
            }
        }
        if let Type::Var(var) = a {
            return self.stands_for(b, *var).0;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => matches!(
                other,
                Type::Null
                    | Type::Opaque(_)
                    | Type::Optional(_)
                    | Type::Struct(_)
                    | Type::Duration
                    | Type::Timestamp
            ),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.assignable(a, b),
            (Type::Map(a), Type::Map(b)) => self.assignable(&a.0, &b.0) && self.assignable(&a.1, &b.1),
            _ => a == b,
        }
    }

    /// Whether `var` may stand for `t`, and whether it stood for something before.
    fn stands_for(&mut self, t: &Type, var: u32) -> (bool, bool) {
        if *t == Type::Var(var) {
            return (true, true);
        }
        if let Some(known) = self.find(var).cloned() {
            if *t == known {
                return (true, true);
            }
            if self.assignable(t, &known) {
                let general = most_general(t, &known).clone();
                if self.absent(var, &general) {
                    self.add(var, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.absent(var, t) {
            self.add(var, t.clone());
            return (true, false);
        }
        (false, false)
    }

    fn absent(&self, var: u32, within: &Type) -> bool {
        match within {
            Type::Var(other) if *other == var => false,
            Type::Var(other) => self.find(*other).is_none_or(|t| self.absent(var, t)),
            Type::List(of) | Type::Optional(of) | Type::Meta(Some(of)) => self.absent(var, of),
            Type::Map(of) => self.absent(var, &of.0) && self.absent(var, &of.1),
            _ => true,
        }
    }
}

pub(crate) fn most_general<'t>(a: &'t Type, b: &'t Type) -> &'t Type {
    if less_specific(a, b) { a } else { b }
}

fn less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Var(_), _) => true,
        (_, Type::Dyn | Type::Var(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => less_specific(a, b),
        (Type::Map(a), Type::Map(b)) => less_specific(&a.0, &b.0) && less_specific(&a.1, &b.1),
        (Type::Meta(_), Type::Meta(_)) => true,
        _ => a == b,
    }
}
