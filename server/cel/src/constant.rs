//! Values that a program holds: literals, and what is made of literals only.

use crate::{
    ast::Literal,
    time::Timestamp,
    types::Type,
    value::{List, MapVal, Val},
};

/// A constant.
#[derive(Clone, Debug)]
pub(crate) enum Const {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
    Timestamp(Timestamp),
    Duration(i64),
    List(Box<[Const]>),
    Map(Box<[(Const, Const)]>),
    Type(Type),
}

impl Const {
    pub(crate) fn of(literal: &Literal) -> Const {
        match literal {
            Literal::Null => Const::Null,
            Literal::Bool(b) => Const::Bool(*b),
            Literal::Int(n) => Const::Int(*n),
            Literal::Uint(n) => Const::Uint(*n),
            Literal::Double(d) => Const::Double(*d),
            Literal::String(text) => Const::String(text.as_str().into()),
            Literal::Bytes(bytes) => Const::Bytes(bytes.as_slice().into()),
        }
    }

    /// What a program may hold of a value; `None` of those that belong to an object or a library.
    pub(crate) fn from_val(val: Val<'_>) -> Option<Const> {
        Some(match val {
            Val::Null => Const::Null,
            Val::Bool(b) => Const::Bool(b),
            Val::Int(n) => Const::Int(n),
            Val::Uint(n) => Const::Uint(n),
            Val::Double(d) => Const::Double(d),
            Val::String(text) => Const::String(text.into()),
            Val::Bytes(bytes) => Const::Bytes(bytes.into()),
            Val::Timestamp(t) => Const::Timestamp(t),
            Val::Duration(n) => Const::Duration(n),
            Val::Type(t) => Const::Type(t.clone()),
            _ => return None,
        })
    }

    #[inline]
    pub(crate) fn val(&self) -> Val<'_> {
        match self {
            Const::Null => Val::Null,
            Const::Bool(b) => Val::Bool(*b),
            Const::Int(n) => Val::Int(*n),
            Const::Uint(n) => Val::Uint(*n),
            Const::Double(d) => Val::Double(*d),
            Const::String(text) => Val::String(text),
            Const::Bytes(bytes) => Val::Bytes(bytes),
            Const::Timestamp(t) => Val::Timestamp(*t),
            Const::Duration(n) => Val::Duration(*n),
            Const::List(list) => Val::List(List::Const(list)),
            Const::Map(map) => Val::Map(MapVal::Const(map)),
            Const::Type(t) => Val::Type(t),
        }
    }
}
