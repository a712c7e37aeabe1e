//! Values of expressions. They are copied freely: what they hold lives in the object, the program or the arena.

use std::{cell::RefCell, cmp::Ordering, net::IpAddr, sync::Arc};

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    quantity::Quantity,
    value::{Map, Value},
};

use crate::{
    activation::Activation,
    authorizer::Question,
    constant::Const,
    data,
    named_format::NamedFormat,
    schema::Schema,
    semver::Semver,
    time::Timestamp,
    types::{CIDR, IP, NAMED_FORMAT, QUANTITY, SEMVER, Type, URL, VARIABLES},
    url::Url,
};

/// A value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(&'a str),
    Bytes(&'a [u8]),
    Timestamp(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    List(List<'a>),
    Map(MapVal<'a>),
    Type(&'a Type),
    Optional(Option<&'a Val<'a>>),
    Quantity(&'a Quantity),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Url(&'a Url),
    Semver(&'a Semver),
    Format(&'static NamedFormat),
    /// What the expression made.
    Object(&'a ObjectVal<'a>),
    /// What authorizers are asked, or what they said.
    Question(&'a Question<'a>),
    /// The variables of a policy.
    Variables(&'a Activation<'a>),
    /// Part of an object that its schema says nothing of.
    Unknown(&'a Value<'a>),
    /// What went wrong; goes through everything but `&&`, `||` and the like.
    Error(&'a str),
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum List<'a> {
    Vals(&'a [Val<'a>]),
    /// Of an object, with the list's schema.
    Data(&'a [Value<'a>], &'a Schema),
    /// Of an object that nothing is known of; whether its kind is built in.
    Plain(&'a [Value<'a>], bool),
    Const(&'a [Const]),
    /// What a fold gathers: grows in place.
    Growing(&'a RefCell<ArenaVec<'a, Val<'a>>>),
}

/// A map or an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MapVal<'a> {
    Vals(&'a [(Val<'a>, Val<'a>)]),
    Data(&'a Map<'a>, &'a Schema),
    /// Of an object that nothing is known of; whether its kind is built in.
    Plain(&'a Map<'a>, bool),
    Const(&'a [(Const, Const)]),
    Growing(&'a RefCell<ArenaVec<'a, (Val<'a>, Val<'a>)>>),
}

/// An object that an expression made, with its type's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectVal<'a> {
    pub(crate) name: &'a str,
    pub(crate) fields: &'a [(&'a str, Val<'a>)],
}

impl<'a> ObjectVal<'a> {
    pub(crate) fn get(&self, field: &str) -> Option<Val<'a>> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, val)| *val)
    }
}

pub(crate) const NO_SUCH_OVERLOAD: &str = "no such overload";

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            List::Vals(list) => list.len(),
            List::Data(list, _) => list.len(),
            List::Plain(list, _) => list.len(),
            List::Const(list) => list.len(),
            List::Growing(list) => list.borrow().len(),
        }
    }
    pub(crate) fn get(&self, at: usize, arena: &'a Bump) -> Option<Val<'a>> {
        match self {
            List::Vals(list) => list.get(at).copied(),
            List::Data(list, schema) => {
                let items = schema.items.as_deref();
                list.get(at).map(|value| match items {
                    Some(items) => data::val(value, items, arena),
                    None => Val::Unknown(value),
                })
            }
            List::Plain(list, typed) => list.get(at).map(|value| data::plain(value, *typed, arena)),
            List::Const(list) => list.get(at).map(Const::val),
            List::Growing(list) => list.borrow().get(at).copied(),
        }
    }
    pub(crate) fn iter(self, arena: &'a Bump) -> impl Iterator<Item = Val<'a>> {
        (0..self.len()).map_while(move |at| self.get(at, arena))
    }
}

impl<'a> MapVal<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            MapVal::Vals(map) => map.len(),
            MapVal::Data(map, _) | MapVal::Plain(map, _) => map.len(),
            MapVal::Const(map) => map.len(),
            MapVal::Growing(map) => map.borrow().len(),
        }
    }
    /// The value of a key.
    pub(crate) fn find(&self, key: Val<'a>, arena: &'a Bump) -> Option<Val<'a>> {
        match self {
            MapVal::Vals(map) => map.iter().find(|(k, _)| same_key(*k, key)).map(|(_, v)| *v),
            MapVal::Const(map) => map.iter().find(|(k, _)| same_key(k.val(), key)).map(|(_, v)| v.val()),
            MapVal::Growing(map) => map.borrow().iter().find(|(k, _)| same_key(*k, key)).map(|(_, v)| *v),
            MapVal::Plain(map, typed) => match key {
                Val::String(name) => map.get(name).map(|value| data::plain(value, *typed, arena)),
                Val::Error(_) => Some(key),
                other if *typed => Some(Val::error(
                    arena,
                    format!("unsupported map key type: {}", crate::eval::go_name(other)),
                )),
                _ => None,
            },
            MapVal::Data(map, schema) => match key {
                Val::String(name) => data::find(map, schema, name, arena),
                Val::Error(_) => Some(key),
                _ => Some(Val::Error(NO_SUCH_OVERLOAD)),
            },
        }
    }
    /// Keys with their values, of objects only what the schema names.
    pub(crate) fn entries(self, arena: &'a Bump) -> Vec<(Val<'a>, Val<'a>)> {
        match self {
            MapVal::Vals(map) => map.to_vec(),
            MapVal::Const(map) => map.iter().map(|(k, v)| (k.val(), v.val())).collect(),
            MapVal::Growing(map) => map.borrow().to_vec(),
            MapVal::Data(map, schema) => data::entries(map, schema, arena),
            MapVal::Plain(map, typed) => map
                .iter()
                .map(|(name, value)| (Val::String(name), data::plain(value, typed, arena)))
                .collect(),
        }
    }
}

/// Keys are the same where they are equal, numbers of whatever kind.
pub(crate) fn same_key(a: Val<'_>, b: Val<'_>) -> bool {
    match (a, b) {
        (Val::String(a), Val::String(b)) => a == b,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        _ => numeric(a, b) == Some(Ordering::Equal),
    }
}

/// How two numbers compare; `None` where one is none, or not a number.
pub(crate) fn numeric(a: Val<'_>, b: Val<'_>) -> Option<Ordering> {
    Some(match (a, b) {
        (Val::Int(a), Val::Int(b)) => a.cmp(&b),
        (Val::Uint(a), Val::Uint(b)) => a.cmp(&b),
        (Val::Int(a), Val::Uint(b)) => i128::from(a).cmp(&i128::from(b)),
        (Val::Uint(a), Val::Int(b)) => i128::from(a).cmp(&i128::from(b)),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(&b)?,
        (Val::Double(a), Val::Int(b)) => double_int(a, b)?,
        (Val::Int(a), Val::Double(b)) => double_int(b, a)?.reverse(),
        (Val::Double(a), Val::Uint(b)) => double_uint(a, b)?,
        (Val::Uint(a), Val::Double(b)) => double_uint(b, a)?.reverse(),
        _ => return None,
    })
}

fn double_int(a: f64, b: i64) -> Option<Ordering> {
    if a < -(2f64.powi(63)) {
        Some(Ordering::Less)
    } else if a > 2f64.powi(63) {
        Some(Ordering::Greater)
    } else {
        a.partial_cmp(&(b as f64))
    }
}

fn double_uint(a: f64, b: u64) -> Option<Ordering> {
    if a < 0.0 {
        Some(Ordering::Less)
    } else if a > 2f64.powi(64) {
        Some(Ordering::Greater)
    } else {
        a.partial_cmp(&(b as f64))
    }
}

impl<'a> Val<'a> {
    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Val::Error(_))
    }
    pub(crate) fn error(arena: &'a Bump, message: impl AsRef<str>) -> Val<'a> {
        Val::Error(arena.alloc_str(message.as_ref()))
    }
    pub(crate) fn string(arena: &'a Bump, text: impl AsRef<str>) -> Val<'a> {
        Val::String(arena.alloc_str(text.as_ref()))
    }
    pub(crate) fn some(self, arena: &'a Bump) -> Val<'a> {
        Val::Optional(Some(arena.alloc(self)))
    }
    pub(crate) fn list(arena: &'a Bump, vals: impl IntoIterator<Item = Val<'a>>) -> Val<'a> {
        let mut out = ArenaVec::new_in(arena);
        out.extend(vals);
        Val::List(List::Vals(out.into_bump_slice()))
    }

    /// The type at run time: without what lists and maps are of.
    pub(crate) fn type_of(&self) -> Type {
        match self {
            Val::Null => Type::Null,
            Val::Bool(_) => Type::Bool,
            Val::Int(_) => Type::Int,
            Val::Uint(_) => Type::Uint,
            Val::Double(_) => Type::Double,
            Val::String(_) => Type::String,
            Val::Bytes(_) => Type::Bytes,
            Val::Timestamp(_) => Type::Timestamp,
            Val::Duration(_) => Type::Duration,
            Val::List(_) => Type::List(Arc::new(Type::Dyn)),
            Val::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Val::Type(_) => Type::Meta(None),
            Val::Optional(_) => Type::optional(Type::Dyn),
            Val::Quantity(_) => Type::Struct(QUANTITY.into()),
            Val::Ip(_) => Type::Opaque(IP),
            Val::Cidr(..) => Type::Opaque(CIDR),
            Val::Url(_) => Type::Struct(URL.into()),
            Val::Semver(_) => Type::Struct(SEMVER.into()),
            Val::Format(_) => Type::Struct(NAMED_FORMAT.into()),
            Val::Object(object) => Type::Struct(object.name.into()),
            Val::Question(question) => Type::Struct(question.type_name().into()),
            Val::Variables(_) => Type::Struct(VARIABLES.into()),
            Val::Unknown(_) => Type::Opaque("unknown"),
            Val::Error(_) => Type::Error,
        }
    }

    /// What costs are reckoned by: characters, bytes, elements, and 1 for anything else.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Val::String(text) => text.chars().count() as u64,
            Val::Bytes(bytes) => bytes.len() as u64,
            Val::List(list) => list.len() as u64,
            Val::Map(map) => map.len() as u64,
            Val::Ip(address) => {
                if address.is_ipv4() {
                    4
                } else {
                    16
                }
            }
            Val::Cidr(_, bits) => u64::from(bits.div_ceil(8)),
            Val::Optional(Some(val)) => val.size(),
            _ => 1,
        }
    }

    /// Whether two values are equal; an error where they cannot be compared.
    pub(crate) fn equals(self, other: Val<'a>, arena: &'a Bump) -> Val<'a> {
        if matches!(self, Val::Null) || matches!(other, Val::Null) {
            return Val::Bool(matches!((self, other), (Val::Null, Val::Null)));
        }
        match (self, other) {
            (Val::Error(_), _) => self,
            (_, Val::Error(_)) => Val::Bool(false),
            (Val::Bool(a), Val::Bool(b)) => Val::Bool(a == b),
            (Val::String(a), Val::String(b)) => Val::Bool(a == b),
            (Val::Bytes(a), Val::Bytes(b)) => Val::Bool(a == b),
            (Val::Timestamp(a), Val::Timestamp(b)) => Val::Bool(a == b),
            (Val::Duration(a), Val::Duration(b)) => Val::Bool(a == b),
            (Val::Type(a), Val::Type(b)) => Val::Bool(a.name() == b.name()),
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (None, None) => Val::Bool(true),
                (Some(a), Some(b)) => a.equals(*b, arena),
                _ => Val::Bool(false),
            },
            (Val::Quantity(a), Val::Quantity(b)) => Val::Bool(a == b),
            (Val::Ip(a), Val::Ip(b)) => Val::Bool(a == b),
            (Val::Cidr(a, x), Val::Cidr(b, y)) => Val::Bool(a == b && x == y),
            (Val::Url(a), Val::Url(b)) => Val::Bool(a.to_string() == b.to_string()),
            (Val::Semver(a), Val::Semver(b)) => Val::Bool(a.cmp(b) == Ordering::Equal),
            (Val::Format(a), Val::Format(b)) => Val::Bool(a.name == b.name),
            (
                Val::Quantity(_) | Val::Ip(_) | Val::Cidr(..) | Val::Url(_) | Val::Semver(_) | Val::Format(_),
                _,
            ) => Val::Error(NO_SUCH_OVERLOAD),
            (Val::List(a), Val::List(b)) => data::lists_equal(a, b, arena),
            (Val::Map(a), Val::Map(b)) => data::maps_equal(a, b, arena),
            (Val::List(List::Data(..)) | Val::Map(MapVal::Data(..)), _) => Val::Error(NO_SUCH_OVERLOAD),
            (Val::Unknown(a), Val::Unknown(b)) => Val::Bool(data::same(a, b)),
            (Val::Object(a), Val::Object(b)) => Val::Bool(data::objects_equal(a, b, arena)),
            (Val::Variables(a), Val::Variables(b)) => Val::Bool(std::ptr::eq(a, b)),
            (Val::Question(_) | Val::Variables(_), _) => Val::Error(NO_SUCH_OVERLOAD),
            _ => Val::Bool(numeric(self, other) == Some(Ordering::Equal)),
        }
    }

    /// Whether two values are equal, and comparing them did not fail.
    pub(crate) fn is(self, other: Val<'a>, arena: &'a Bump) -> bool {
        matches!(self.equals(other, arena), Val::Bool(true))
    }

    /// The order of two values.
    pub(crate) fn compare(self, other: Val<'a>) -> Result<Ordering, Val<'a>> {
        let nan = |v: Val<'_>| matches!(v, Val::Double(d) if d.is_nan());
        Ok(match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => a.cmp(&b),
            (Val::String(a), Val::String(b)) => a.cmp(b),
            (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
            (Val::Duration(a), Val::Duration(b)) => a.cmp(&b),
            (Val::Timestamp(a), Val::Timestamp(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => match numeric(self, other) {
                Some(order) => order,
                None if nan(self) || nan(other) => {
                    return Err(Val::Error("NaN values cannot be ordered"));
                }
                None => return Err(Val::Error(NO_SUCH_OVERLOAD)),
            },
        })
    }
}

impl std::fmt::Display for Val<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Val::Null => f.write_str("NULL_VALUE"),
            Val::Bool(b) => write!(f, "{b}"),
            Val::Int(n) => write!(f, "{n}"),
            Val::Uint(n) => write!(f, "{n}"),
            Val::Double(d) => f.write_str(&crate::format::shortest(*d)),
            Val::String(text) => f.write_str(text),
            Val::Timestamp(t) => write!(f, "{t}"),
            Val::Duration(n) => f.write_str(&ringbolt_machinery::time::format_duration(*n)),
            Val::Error(message) => f.write_str(message),
            other => f.write_str(other.type_of().name()),
        }
    }
}
