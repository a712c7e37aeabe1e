//! What a call costs when it is made.

use bumpalo::Bump;
use ringbolt_machinery::value::Value;

use crate::{
    cost::{LIST_COST, REGEX_FACTOR, Range, STRING_FACTOR},
    library_cost::{CHECK_COST, compares, costs_one, selector_cost},
    value::{List, Val},
};

fn scan(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// The cost of a call, given its arguments and what came of it.
pub(crate) fn call_cost<'a>(
    function: &str,
    overload: Option<&str>,
    args: &[Val<'a>],
    result: Val<'a>,
    arena: &'a Bump,
) -> u64 {
    let size = |at: usize| args.get(at).map_or(1, Val::size);
    if let Some(cost) = overload.and_then(|overload| by_overload(overload, args, result)) {
        return cost;
    }
    if let Some(cost) = by_function(function, overload, args, result, arena) {
        return cost;
    }
    match overload {
        Some("starts_with_string" | "ends_with_string") => scan(size(1), STRING_FACTOR),
        Some("string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format") => {
            scan(size(0), STRING_FACTOR)
        }
        Some("in_list") => size(1),
        Some(overload) if compares(overload) => scan(size(0).min(size(1)), STRING_FACTOR),
        Some("add_string" | "add_bytes") => scan(size(0).saturating_add(size(1)), STRING_FACTOR),
        Some("matches" | "matches_string") => {
            scan(size(0) + 1, STRING_FACTOR).saturating_mul(scan(size(1), REGEX_FACTOR))
        }
        Some("contains_string") => scan(size(0), STRING_FACTOR).saturating_mul(scan(size(1), STRING_FACTOR)),
        _ => 1,
    }
}

fn allocating(factor: f64, size: u64) -> u64 {
    let factor = if factor < 0.0 { 1.0 } else { factor };
    ((size as f64 * factor) as u64).saturating_add(1 + LIST_COST)
}

fn self_compared(list: Val<'_>) -> u64 {
    let size = list.size();
    let text = match list {
        Val::List(List::Vals(vals)) => matches!(vals.first(), Some(Val::String(_) | Val::Bytes(_))),
        Val::List(List::Data(_, schema)) => {
            schema.items.as_ref().is_some_and(|items| items.kind == crate::schema::Kind::String)
        }
        Val::List(List::Plain(list, _)) => matches!(list.first(), Some(Value::String(_))),
        Val::List(List::Const(list)) => {
            matches!(list.first().map(|c| c.val()), Some(Val::String(_) | Val::Bytes(_)))
        }
        _ => false,
    };
    allocating(if text && size > 0 { 2.0 + STRING_FACTOR } else { 2.0 }, size.saturating_mul(size))
}

fn by_overload(overload: &str, args: &[Val<'_>], result: Val<'_>) -> Option<u64> {
    let sets = |factor: f64| {
        let pairs = args.first()?.size().saturating_mul(args.get(1)?.size());
        Some(1u64.saturating_add((pairs as f64 * factor) as u64))
    };
    match overload {
        "list_sets_contains_list" | "list_sets_intersects_list" => sets(1.0),
        "list_sets_equivalent_list" => sets(2.0),
        "list_slice" | "lists_range" | "list_reverse" => Some(allocating(1.0, result.size())),
        "list_flatten" | "list_flatten_int" => {
            let depth = match args.get(1) {
                Some(Val::Int(depth)) => *depth as f64,
                _ => 1.0,
            };
            Some(allocating(depth, args.first()?.size()))
        }
        "list_distinct" => Some(self_compared(*args.first()?)),
        _ if overload.ends_with("_sort") => Some(self_compared(*args.first()?)),
        _ if overload.ends_with("_sortByAssociatedKeys") => Some(self_compared(*args.get(1)?)),
        _ => None,
    }
}

/// What it costs to go over all of a value.
fn traversal<'a>(val: Val<'a>, arena: &'a Bump) -> u64 {
    match val {
        Val::String(text) => (text.len() as f64 * STRING_FACTOR) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * STRING_FACTOR) as u64,
        Val::List(list) => list.iter(arena).map(|val| traversal(val, arena)).sum(),
        Val::Map(map) => {
            map.entries(arena).iter().map(|(k, v)| traversal(*k, arena) + traversal(*v, arena)).sum()
        }
        _ => 1,
    }
}

fn by_function<'a>(
    function: &str,
    overload: Option<&str>,
    args: &[Val<'a>],
    result: Val<'a>,
    arena: &'a Bump,
) -> Option<u64> {
    let size = |at: usize| args.get(at).map_or(1, Val::size);
    Some(match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
            args.first().map_or(0, |list| traversal(*list, arena))
        }
        "check" => CHECK_COST,
        "fieldSelector" | "labelSelector" => selector_cost(Range::fixed(size(1))).max,
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "jsonpatch.escapeKey" => {
            scan(size(0), STRING_FACTOR)
        }
        "replace" | "split" => scan(size(0), 2.0 * STRING_FACTOR),
        "join" => scan(result.size(), 2.0 * STRING_FACTOR),
        "find" | "findAll" => scan(size(0) + 1, STRING_FACTOR).saturating_mul(scan(size(1), REGEX_FACTOR)),
        "ip" if overload == Some("cidr_ip") => 1,
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            scan(size(0), STRING_FACTOR)
        }
        "ip.isCanonical" => scan(size(0), 2.0 * STRING_FACTOR),
        _ if costs_one(function) => 1,
        "containsIP" | "containsCIDR" => {
            let mut cost = scan(size(0) * 2, STRING_FACTOR);
            if function == "containsCIDR" {
                cost += scan(size(0), STRING_FACTOR) + 1;
            }
            if overload.is_some_and(|overload| overload.ends_with("_string")) {
                cost += scan(size(1), STRING_FACTOR);
            }
            cost
        }
        "validate" => {
            let Some(Val::Format(format)) = args.first() else { return None };
            scan(size(1) + 1, STRING_FACTOR).saturating_mul(scan(format.regex_size, REGEX_FACTOR))
        }
        "_==_" => match args.first()? {
            Val::Quantity(_) | Val::Ip(_) | Val::Cidr(..) | Val::Format(_) | Val::Url(_) | Val::Semver(_) => {
                1
            }
            _ => return None,
        },
        _ => return None,
    })
}
