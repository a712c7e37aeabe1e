//! Operators on numbers, texts, times and lists.

use std::cmp::Ordering;

use crate::regex_syntax::Regex;
use bumpalo::collections::{String as ArenaString, Vec as ArenaVec};

use crate::{
    data::lists_added,
    eval::Context,
    value::{NO_SUCH_OVERLOAD, Val},
};

const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";
const DURATION_OVERFLOW: &str = "duration overflow";
const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";

fn int<'a>(result: Option<i64>) -> Val<'a> {
    result.map_or(Val::Error(INT_OVERFLOW), Val::Int)
}

fn uint<'a>(result: Option<u64>) -> Val<'a> {
    result.map_or(Val::Error(UINT_OVERFLOW), Val::Uint)
}

fn duration<'a>(result: Option<i64>) -> Val<'a> {
    result.map_or(Val::Error(DURATION_OVERFLOW), Val::Duration)
}

pub(super) fn add<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [left, right] = args else { return Val::Error(NO_SUCH_OVERLOAD) };
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => int(a.checked_add(*b)),
        (Val::Uint(a), Val::Uint(b)) => uint(a.checked_add(*b)),
        (Val::Double(a), Val::Double(b)) => Val::Double(a + b),
        (Val::String(a), Val::String(b)) => {
            let mut out = ArenaString::with_capacity_in(a.len() + b.len(), cx.arena);
            out.push_str(a);
            out.push_str(b);
            Val::String(out.into_bump_str())
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            let mut out = ArenaVec::with_capacity_in(a.len() + b.len(), cx.arena);
            out.extend_from_slice(a);
            out.extend_from_slice(b);
            Val::Bytes(out.into_bump_slice())
        }
        (Val::List(a), Val::List(b)) => lists_added(*a, *b, cx.arena),
        (Val::Duration(a), Val::Duration(b)) => duration(a.checked_add(*b)),
        (Val::Duration(n), Val::Timestamp(t)) | (Val::Timestamp(t), Val::Duration(n)) => {
            t.plus(i128::from(*n)).map_or(Val::Error(TIMESTAMP_OVERFLOW), Val::Timestamp)
        }
        (
            Val::Int(_)
            | Val::Uint(_)
            | Val::Double(_)
            | Val::String(_)
            | Val::Bytes(_)
            | Val::List(_)
            | Val::Duration(_)
            | Val::Timestamp(_),
            _,
        ) => Val::Error(NO_SUCH_OVERLOAD),
        _ => Val::Error("no such overload: _+_"),
    }
}

pub(super) fn subtract<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [left, right] = args else { return Val::Error(NO_SUCH_OVERLOAD) };
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => int(a.checked_sub(*b)),
        (Val::Uint(a), Val::Uint(b)) => uint(a.checked_sub(*b)),
        (Val::Double(a), Val::Double(b)) => Val::Double(a - b),
        (Val::Duration(a), Val::Duration(b)) => duration(a.checked_sub(*b)),
        (Val::Timestamp(t), Val::Duration(n)) => {
            t.plus(-i128::from(*n)).map_or(Val::Error(TIMESTAMP_OVERFLOW), Val::Timestamp)
        }
        (Val::Timestamp(a), Val::Timestamp(b)) => a.since(b).map_or(Val::Error(INT_OVERFLOW), Val::Duration),
        (Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_) | Val::Timestamp(_), _) => {
            Val::Error(NO_SUCH_OVERLOAD)
        }
        _ => Val::Error("no such overload: _-_"),
    }
}

pub(super) fn multiply<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Int(a), Val::Int(b)] => int(a.checked_mul(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_mul(*b)),
        [Val::Double(a), Val::Double(b)] => Val::Double(a * b),
        [Val::Int(_) | Val::Uint(_) | Val::Double(_), _] => Val::Error(NO_SUCH_OVERLOAD),
        _ => Val::Error("no such overload: _*_"),
    }
}

pub(super) fn divide<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => Val::Error("division by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_div(*b)),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a / b),
        [Val::Double(a), Val::Double(b)] => Val::Double(a / b),
        [Val::Int(_) | Val::Uint(_) | Val::Double(_), _] => Val::Error(NO_SUCH_OVERLOAD),
        _ => Val::Error("no such overload: _/_"),
    }
}

pub(super) fn modulo<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => Val::Error("modulus by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_rem(*b)),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a % b),
        [Val::Int(_) | Val::Uint(_), _] => Val::Error(NO_SUCH_OVERLOAD),
        _ => Val::Error("no such overload: _%_"),
    }
}

pub(super) fn negate<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Int(n)] => int(n.checked_neg()),
        [Val::Double(d)] => Val::Double(-d),
        [Val::Duration(n)] => duration(n.checked_neg()),
        [Val::Bool(_)] => Val::Error(NO_SUCH_OVERLOAD),
        _ => Val::Error("no such overload: -_"),
    }
}

pub(super) fn ordered<'a>(args: &[Val<'a>], is: fn(Ordering) -> bool) -> Val<'a> {
    match args {
        [left, right] => left.compare(*right).map_or_else(|error| error, |order| Val::Bool(is(order))),
        _ => Val::Error(NO_SUCH_OVERLOAD),
    }
}
