//! Functions on lists.

use std::cmp::Ordering;

use crate::regex_syntax::Regex;

use super::arithmetic::add;
use crate::{
    eval::Context,
    schema::Kind,
    value::{List, NO_SUCH_OVERLOAD, Val},
};

pub(super) fn end<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload(name, args) };
    let at = if name == "first" { 0 } else { list.len().wrapping_sub(1) };
    list.get(at, cx.arena).map_or(Val::Optional(None), |val| val.some(cx.arena))
}

/// Whether a list has a value; what cannot be compared is not it.
fn has<'a>(cx: &Context<'a>, list: List<'a>, val: Val<'a>) -> bool {
    list.iter(cx.arena).any(|element| val.is(element, cx.arena))
}

fn all_in<'a>(cx: &Context<'a>, list: List<'a>, part: List<'a>) -> bool {
    part.iter(cx.arena).all(|val| has(cx, list, val))
}

pub(super) fn sets_contains<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::List(list), Val::List(part)] => Val::Bool(all_in(cx, *list, *part)),
        _ => cx.no_overload("sets.contains", args),
    }
}

pub(super) fn sets_equivalent<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::List(a), Val::List(b)] => Val::Bool(all_in(cx, *a, *b) && all_in(cx, *b, *a)),
        _ => cx.no_overload("sets.equivalent", args),
    }
}

pub(super) fn sets_intersects<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::List(a), Val::List(b)] => Val::Bool(a.iter(cx.arena).any(|val| has(cx, *b, val))),
        _ => cx.no_overload("sets.intersects", args),
    }
}

pub(super) fn slice<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = args else {
        return cx.no_overload("slice", args);
    };
    let count = list.len() as i64;
    if *start < 0 || *end < 0 {
        return cx.error(format!("cannot slice({start}, {end}), negative indexes not supported"));
    }
    if start > end {
        return cx.error(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    if count < *end {
        return cx.error(format!("cannot slice({start}, {end}), list is length {count}"));
    }
    Val::list(cx.arena, (*start..*end).filter_map(|at| list.get(at as usize, cx.arena)))
}

pub(super) fn flatten<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (list, depth) = match args {
        [Val::List(list)] => (*list, 1),
        [Val::List(list), Val::Int(depth)] => (*list, *depth),
        [other] => return cx.error(format!("no such overload: {}.flatten()", other.type_of().name())),
        _ => return cx.no_overload("flatten", args),
    };
    if depth < 0 {
        return Val::Error("level must be non-negative");
    }
    let mut out = Vec::new();
    flat(cx, list, depth, &mut out);
    Val::list(cx.arena, out)
}

fn flat<'a>(cx: &Context<'a>, list: List<'a>, depth: i64, out: &mut Vec<Val<'a>>) {
    for val in list.iter(cx.arena) {
        match val {
            Val::List(inner) if depth > 0 => flat(cx, inner, depth - 1, out),
            other => out.push(other),
        }
    }
}

/// Elements of a range at most: its cost is reckoned when it is there.
const RANGE_MAX: i64 = 1_000_000;

pub(super) fn range<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Int(n)] if *n < 0 => cx.error(format!("lists.range: size must be non-negative, got {n}")),
        [Val::Int(n)] if *n > RANGE_MAX => {
            cx.error(format!("lists.range: size {n} exceeds maximum allowed ({RANGE_MAX})"))
        }
        [Val::Int(n)] => Val::list(cx.arena, (0..*n).map(Val::Int)),
        _ => cx.no_overload("lists.range", args),
    }
}

pub(super) fn reverse<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload("reverse", args) };
    Val::list(cx.arena, (0..list.len()).rev().filter_map(|at| list.get(at, cx.arena)))
}

pub(super) fn distinct<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload("distinct", args) };
    let mut out: Vec<Val<'a>> = Vec::new();
    for val in list.iter(cx.arena) {
        if !out.iter().any(|other| val.is(*other, cx.arena)) {
            out.push(val);
        }
    }
    Val::list(cx.arena, out)
}

/// A list by itself, or by keys that belong to its elements.
pub(super) fn sort<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (list, keys) = match args {
        [Val::List(list)] => (*list, *list),
        [Val::List(list), Val::List(keys)] => (*list, *keys),
        _ => return cx.no_overload("sort", args),
    };
    if list.len() != keys.len() {
        return cx.error(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        ));
    }
    let mut pairs: Vec<(Val<'a>, Val<'a>)> = keys.iter(cx.arena).zip(list.iter(cx.arena)).collect();
    let Some((first, _)) = pairs.first() else { return Val::List(list) };
    if first.compare(*first).is_err() && !matches!(first, Val::Double(_)) {
        return Val::Error("list elements must be comparable");
    }
    let t = first.type_of();
    if pairs.iter().any(|(key, _)| key.type_of().name() != t.name()) {
        return Val::Error("list elements must have the same type");
    }
    pairs.sort_by(|a, b| a.0.compare(b.0).unwrap_or(Ordering::Equal));
    Val::list(cx.arena, pairs.into_iter().map(|(_, val)| val))
}

pub(super) fn includes<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::List(list), val] => Val::Bool(list.iter(cx.arena).any(|element| element.is(*val, cx.arena))),
        [target, val] => Val::Bool(target.is(*val, cx.arena)),
        _ => cx.no_overload("includes", args),
    }
}

pub(super) fn is_sorted<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload("isSorted", args) };
    let mut before: Option<Val<'a>> = None;
    for val in list.iter(cx.arena) {
        if val.is_error() {
            return Val::Error(NO_SUCH_OVERLOAD);
        }
        if before.is_some_and(|before| matches!(before.compare(val), Ok(Ordering::Greater))) {
            return Val::Bool(false);
        }
        before = Some(val);
    }
    Val::Bool(true)
}

/// What an empty list sums up to, by what it would be of.
fn zero<'a>(list: List<'a>) -> Val<'a> {
    match list {
        List::Data(_, schema) => match schema.items.as_ref().map(|items| items.kind) {
            Some(Kind::Number) => Val::Double(0.0),
            Some(Kind::String) => Val::Duration(0),
            _ => Val::Int(0),
        },
        _ => Val::Int(0),
    }
}

pub(super) fn sum<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload("sum", args) };
    let mut total: Option<Val<'a>> = None;
    for val in list.iter(cx.arena) {
        if !matches!(val, Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_)) {
            return Val::Error(NO_SUCH_OVERLOAD);
        }
        total = Some(match total {
            None => val,
            Some(total) => match add(cx, &[total, val], None) {
                Val::Error(_) => return Val::Error(NO_SUCH_OVERLOAD),
                sum => sum,
            },
        });
    }
    total.unwrap_or_else(|| zero(*list))
}

pub(super) fn extreme<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>], replaces: Ordering) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload(name, args) };
    let mut found: Option<Val<'a>> = None;
    for val in list.iter(cx.arena) {
        if val.is_error() {
            return Val::Error(NO_SUCH_OVERLOAD);
        }
        match found {
            Some(best) if !matches!(best.compare(val), Ok(order) if order == replaces) => {}
            _ => found = Some(val),
        }
    }
    found.unwrap_or_else(|| cx.error(format!("{name} called on empty list")))
}
