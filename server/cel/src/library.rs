//! Functions as programs call them: by name, for whatever their arguments turn out to be.

mod arithmetic;
mod authorization;
mod conversions;
mod kubernetes;
mod lists;
mod strings;
mod times;

use crate::regex_syntax::Regex;

use crate::{
    eval::Context,
    value::{List, MapVal, NO_SUCH_OVERLOAD, Val},
};

/// A function; of a regular expression that is constant it gets the compiled pattern.
pub(crate) type Function = for<'a> fn(&Context<'a>, &[Val<'a>], Option<&Regex>) -> Val<'a>;

/// `in`
pub(crate) const IN: (&str, Function) = ("@in", contained);

/// The function of a name.
pub(crate) fn find(name: &str) -> Option<(&'static str, Function)> {
    if let Some(found) = ALL.iter().find(|(n, _)| *n == name) {
        return Some(*found);
    }
    kubernetes::named_format(name)
}

static ALL: &[(&str, Function)] = &[
    ("!_", |_, args, _| match args {
        [Val::Bool(b)] => Val::Bool(!b),
        _ => Val::Error(NO_SUCH_OVERLOAD),
    }),
    ("@not_strictly_false", |_, args, _| Val::Bool(!matches!(args, [Val::Bool(false)]))),
    IN,
    ("_+_", arithmetic::add),
    ("_-_", arithmetic::subtract),
    ("_*_", arithmetic::multiply),
    ("_/_", arithmetic::divide),
    ("_%_", arithmetic::modulo),
    ("-_", arithmetic::negate),
    ("_<_", |_, args, _| arithmetic::ordered(args, |o| o.is_lt())),
    ("_<=_", |_, args, _| arithmetic::ordered(args, |o| o.is_le())),
    ("_>_", |_, args, _| arithmetic::ordered(args, |o| o.is_gt())),
    ("_>=_", |_, args, _| arithmetic::ordered(args, |o| o.is_ge())),
    ("size", |_, args, _| match args {
        [val @ (Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))] => Val::Int(val.size() as i64),
        _ => Val::Error("no such overload: size"),
    }),
    ("type", |cx, args, _| match args {
        [Val::Unknown(_)] => Val::Error(NO_SUCH_OVERLOAD),
        [val] => Val::Type(cx.arena.alloc(val.type_of())),
        _ => Val::Error(NO_SUCH_OVERLOAD),
    }),
    ("dyn", |_, args, _| args.first().copied().unwrap_or(Val::Error(NO_SUCH_OVERLOAD))),
    ("bool", conversions::to_bool),
    ("bytes", conversions::to_bytes),
    ("double", conversions::to_double),
    ("duration", conversions::to_duration),
    ("int", conversions::to_int),
    ("string", conversions::to_string),
    ("timestamp", conversions::to_timestamp),
    ("uint", conversions::to_uint),
    ("getFullYear", |cx, args, _| times::part(cx, "getFullYear", args)),
    ("getMonth", |cx, args, _| times::part(cx, "getMonth", args)),
    ("getDayOfYear", |cx, args, _| times::part(cx, "getDayOfYear", args)),
    ("getDayOfMonth", |cx, args, _| times::part(cx, "getDayOfMonth", args)),
    ("getDate", |cx, args, _| times::part(cx, "getDate", args)),
    ("getDayOfWeek", |cx, args, _| times::part(cx, "getDayOfWeek", args)),
    ("getHours", |cx, args, _| times::part(cx, "getHours", args)),
    ("getMinutes", |cx, args, _| times::part(cx, "getMinutes", args)),
    ("getSeconds", |cx, args, _| times::part(cx, "getSeconds", args)),
    ("getMilliseconds", |cx, args, _| times::part(cx, "getMilliseconds", args)),
    ("contains", strings::contains),
    ("startsWith", strings::starts_with),
    ("endsWith", strings::ends_with),
    ("matches", strings::matches),
    ("find", strings::find),
    ("findAll", strings::find_all),
    ("charAt", strings::char_at),
    ("lowerAscii", strings::lower_ascii),
    ("upperAscii", strings::upper_ascii),
    ("replace", strings::replace),
    ("split", strings::split),
    ("substring", strings::substring),
    ("trim", strings::trim),
    ("format", strings::format),
    ("strings.quote", strings::quote),
    ("join", strings::join),
    ("indexOf", strings::index_of),
    ("lastIndexOf", strings::last_index_of),
    ("optional.of", |cx, args, _| {
        args.first().map_or(Val::Error(NO_SUCH_OVERLOAD), |val| val.some(cx.arena))
    }),
    ("optional.ofNonZeroValue", optional_non_zero),
    ("optional.none", |_, _, _| Val::Optional(None)),
    ("optional.unwrap", unwrapped),
    ("unwrapOpt", unwrapped),
    ("value", |cx, args, _| match args {
        [Val::Optional(Some(inner))] => **inner,
        [Val::Optional(None)] => Val::Error("optional.none() dereference"),
        _ => cx.no_overload("value", args),
    }),
    ("hasValue", |cx, args, _| match args {
        [Val::Optional(inner)] => Val::Bool(inner.is_some()),
        _ => cx.no_overload("hasValue", args),
    }),
    ("first", |cx, args, _| lists::end(cx, "first", args)),
    ("last", |cx, args, _| lists::end(cx, "last", args)),
    ("cel.@mapInsert", map_insert),
    ("sets.contains", lists::sets_contains),
    ("sets.equivalent", lists::sets_equivalent),
    ("sets.intersects", lists::sets_intersects),
    ("slice", lists::slice),
    ("flatten", lists::flatten),
    ("lists.range", lists::range),
    ("reverse", lists::reverse),
    ("distinct", lists::distinct),
    ("sort", lists::sort),
    ("@sortByAssociatedKeys", lists::sort),
    ("includes", lists::includes),
    ("isSorted", lists::is_sorted),
    ("sum", lists::sum),
    ("max", |cx, args, _| lists::extreme(cx, "max", args, std::cmp::Ordering::Less)),
    ("min", |cx, args, _| lists::extreme(cx, "min", args, std::cmp::Ordering::Greater)),
    ("url", kubernetes::url),
    ("isURL", kubernetes::is_url),
    ("getScheme", |cx, args, _| kubernetes::url_part(cx, "getScheme", args)),
    ("getHost", |cx, args, _| kubernetes::url_part(cx, "getHost", args)),
    ("getHostname", |cx, args, _| kubernetes::url_part(cx, "getHostname", args)),
    ("getPort", |cx, args, _| kubernetes::url_part(cx, "getPort", args)),
    ("getEscapedPath", |cx, args, _| kubernetes::url_part(cx, "getEscapedPath", args)),
    ("getQuery", kubernetes::url_query),
    ("ip", kubernetes::ip),
    ("isIP", kubernetes::is_ip),
    ("ip.isCanonical", kubernetes::ip_is_canonical),
    ("family", |cx, args, _| kubernetes::ip_property(cx, "family", args)),
    ("isUnspecified", |cx, args, _| kubernetes::ip_property(cx, "isUnspecified", args)),
    ("isLoopback", |cx, args, _| kubernetes::ip_property(cx, "isLoopback", args)),
    ("isLinkLocalMulticast", |cx, args, _| kubernetes::ip_property(cx, "isLinkLocalMulticast", args)),
    ("isLinkLocalUnicast", |cx, args, _| kubernetes::ip_property(cx, "isLinkLocalUnicast", args)),
    ("isGlobalUnicast", |cx, args, _| kubernetes::ip_property(cx, "isGlobalUnicast", args)),
    ("cidr", kubernetes::cidr),
    ("isCIDR", kubernetes::is_cidr),
    ("containsIP", kubernetes::contains_ip),
    ("containsCIDR", kubernetes::contains_cidr),
    ("prefixLength", kubernetes::prefix_length),
    ("masked", kubernetes::masked),
    ("quantity", kubernetes::quantity),
    ("isQuantity", kubernetes::is_quantity),
    ("sign", kubernetes::sign),
    ("asInteger", kubernetes::as_integer),
    ("isInteger", kubernetes::is_integer),
    ("asApproximateFloat", kubernetes::as_float),
    ("add", |cx, args, _| kubernetes::quantity_sum(cx, "add", args)),
    ("sub", |cx, args, _| kubernetes::quantity_sum(cx, "sub", args)),
    ("isGreaterThan", |cx, args, _| kubernetes::compared(cx, "isGreaterThan", args)),
    ("isLessThan", |cx, args, _| kubernetes::compared(cx, "isLessThan", args)),
    ("compareTo", |cx, args, _| kubernetes::compared(cx, "compareTo", args)),
    ("semver", kubernetes::semver),
    ("isSemver", kubernetes::is_semver),
    ("major", |cx, args, _| kubernetes::semver_part(cx, "major", args)),
    ("minor", |cx, args, _| kubernetes::semver_part(cx, "minor", args)),
    ("patch", |cx, args, _| kubernetes::semver_part(cx, "patch", args)),
    ("path", authorization::path),
    ("group", authorization::group),
    ("serviceAccount", authorization::service_account),
    ("resource", authorization::resource),
    ("subresource", |cx, args, _| authorization::refine(cx, "subresource", args)),
    ("namespace", |cx, args, _| authorization::refine(cx, "namespace", args)),
    ("name", |cx, args, _| authorization::refine(cx, "name", args)),
    ("fieldSelector", |cx, args, _| authorization::refine(cx, "fieldSelector", args)),
    ("labelSelector", |cx, args, _| authorization::refine(cx, "labelSelector", args)),
    ("check", authorization::check),
    ("errored", |cx, args, _| authorization::told(cx, "errored", args)),
    ("error", |cx, args, _| authorization::told(cx, "error", args)),
    ("allowed", |cx, args, _| authorization::told(cx, "allowed", args)),
    ("reason", |cx, args, _| authorization::told(cx, "reason", args)),
    ("jsonpatch.escapeKey", strings::escape_key),
    ("format.named", kubernetes::format_named),
    ("validate", kubernetes::validate),
];

impl<'a> Context<'a> {
    /// No overload of a function is for these arguments.
    pub(crate) fn no_overload(&self, name: &str, args: &[Val<'a>]) -> Val<'a> {
        let mut out = format!("no such overload: {name}(");
        for (at, arg) in args.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { ", " });
            out.push_str(arg.type_of().name());
        }
        out.push(')');
        self.error(out)
    }
}

fn contained<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val, Val::List(list)] => {
            let mut failed = None;
            for element in list.iter(cx.arena) {
                // Elements of objects are compared with the value, others the other way round.
                let equal = match list {
                    List::Data(..) => element.equals(*val, cx.arena),
                    _ => val.equals(element, cx.arena),
                };
                match equal {
                    Val::Bool(true) => return equal,
                    Val::Bool(false) => {}
                    error if matches!(list, List::Data(..)) => failed = failed.or(Some(error)),
                    _ => {}
                }
            }
            failed.unwrap_or(Val::Bool(false))
        }
        [key, Val::Map(map)] => match map.find(*key, cx.arena) {
            Some(error @ Val::Error(_)) => error,
            found => Val::Bool(found.is_some()),
        },
        _ => Val::Error(NO_SUCH_OVERLOAD),
    }
}

fn optional_non_zero<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [val] = args else { return Val::Error(NO_SUCH_OVERLOAD) };
    let zero = match val {
        Val::Null => true,
        Val::Bool(b) => !b,
        Val::Int(n) | Val::Duration(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(d) => *d == 0.0,
        Val::String(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(List::Data(..)) | Val::Map(MapVal::Data(..)) => false,
        Val::List(list) => list.len() == 0,
        Val::Map(map) => map.len() == 0,
        _ => false,
    };
    if zero { Val::Optional(None) } else { val.some(cx.arena) }
}

fn unwrapped<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::List(list)] = args else { return cx.no_overload("unwrapOpt", args) };
    let mut out = Vec::with_capacity(list.len());
    for val in list.iter(cx.arena) {
        match val {
            Val::Optional(Some(inner)) => out.push(*inner),
            Val::Optional(None) => {}
            other => return cx.error(format!("value {other} is not optional")),
        }
    }
    Val::list(cx.arena, out)
}

fn map_insert<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (map, added) = match args {
        [Val::Map(map), key, val] => (*map, vec![(*key, *val)]),
        [Val::Map(map), Val::Map(other)] => (*map, other.entries(cx.arena)),
        _ => return cx.no_overload("cel.@mapInsert", args),
    };
    let mut entries = match map {
        MapVal::Growing(_) => Vec::new(),
        other => other.entries(cx.arena),
    };
    for (key, val) in added {
        let there =
            map.find(key, cx.arena).is_some() || entries.iter().any(|(k, _)| crate::value::same_key(*k, key));
        if there {
            return cx.error(format!("insert failed: key {key} already exists"));
        }
        match map {
            MapVal::Growing(map) => map.borrow_mut().push((key, val)),
            _ => entries.push((key, val)),
        }
    }
    match map {
        MapVal::Growing(_) => Val::Map(map),
        _ => Val::Map(MapVal::Vals(cx.arena.alloc_slice_copy(&entries))),
    }
}
