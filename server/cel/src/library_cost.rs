//! What functions of the libraries are estimated to cost.

use crate::{
    ast::{Kind, Literal},
    cost::{Coster, Estimate, LIST_COST, Node, REGEX_FACTOR, Range, STRING_FACTOR, STRUCT_COST},
    types::{CIDR, IP, NAMED_FORMAT, QUANTITY, SEMVER, Type, URL},
};

/// Characters of a regular expression that names of formats are reckoned with (`MaxNameFormatRegexSize`).
const FORMAT_REGEX_SIZE: f64 = 128.0;
/// `MaxFormatSize`
const FORMAT_SIZE_MAX: u64 = 64;
/// What it costs to ask the authorizers: two questions an expression (`Cost` of `check` in Kubernetes' library).
pub(crate) const CHECK_COST: u64 = 350_000;
/// Bytes of an address.
const ADDRESS: Range = Range { min: 4, max: 16 };

/// Whether an overload compares two values as far as the shorter one goes, in an estimate and when it runs.
pub(crate) fn compares(overload: &str) -> bool {
    matches!(
        overload,
        "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals"
    )
}

/// Functions that cost one step, whatever they are given.
const OF_ONE_STEP: [&str; 38] = [
    "path",
    "group",
    "serviceAccount",
    "resource",
    "subresource",
    "namespace",
    "name",
    "errored",
    "error",
    "allowed",
    "reason",
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
];

/// Whether a function costs one step, in an estimate and when it runs.
pub(crate) fn costs_one(function: &str) -> bool {
    OF_ONE_STEP.contains(&function)
}

/// The estimate of a call; `None` where the language's own apply.
pub(crate) fn call_estimate<'c>(
    coster: &Coster<'c>,
    function: &str,
    overload: &str,
    target: Option<&Node<'c>>,
    args: &[Node<'c>],
) -> Option<Estimate> {
    by_overload(coster, overload, target, args)
        .or_else(|| by_function(coster, function, overload, target, args))
}

/// A whole number that stands in the text.
fn literal_uint(node: &Node<'_>, otherwise: u64) -> u64 {
    match node.expr.map(|e| &e.kind) {
        Some(Kind::Literal(Literal::Int(n))) => u64::try_from(*n).unwrap_or(0),
        _ => otherwise,
    }
}

/// A call that makes a list of `size`.
fn allocating(factor: f64, size: Range) -> Option<Estimate> {
    let cost = size.factor(factor).plus(Range::fixed(1)).plus(Range::fixed(LIST_COST));
    Some(Estimate::sized(cost, size))
}

fn sorted(size: Range, overload: &str) -> Option<Estimate> {
    let text = overload.starts_with("list_string") || overload.starts_with("list_bytes");
    allocating(if text { 2.0 + STRING_FACTOR } else { 2.0 }, size.times(size))
}

fn by_overload<'c>(
    coster: &Coster<'c>,
    overload: &str,
    target: Option<&Node<'c>>,
    args: &[Node<'c>],
) -> Option<Estimate> {
    let sets = |factor: f64| {
        let [a, b] = args else { return None };
        let pairs = coster.node_size(a).times(coster.node_size(b));
        Some(Estimate::of(pairs.factor(factor).plus(Range::fixed(1))))
    };
    match (overload, target, args) {
        ("list_sets_contains_list" | "list_sets_intersects_list", ..) => sets(1.0),
        ("list_sets_equivalent_list", ..) => sets(2.0),
        ("list_slice", Some(list), [start, end]) => {
            let size = coster.node_size(list);
            let start = literal_uint(start, 0);
            allocating(1.0, Range::fixed(literal_uint(end, size.max).wrapping_sub(start)))
        }
        ("list_flatten" | "list_flatten_int", Some(list), _) => {
            let depth = args.first().map_or(1, |depth| literal_uint(depth, u64::MAX));
            allocating(depth as f64, coster.node_size(list))
        }
        ("lists_range", None, [count]) => allocating(1.0, Range::fixed(literal_uint(count, u64::MAX))),
        ("list_reverse", Some(list), []) => allocating(1.0, coster.node_size(list)),
        ("list_distinct", Some(list), []) => {
            let size = coster.node_size(list);
            allocating(2.0, size.times(size))
        }
        (_, Some(list), []) if overload.ends_with("_sort") => sorted(coster.node_size(list), overload),
        (_, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => {
            sorted(coster.node_size(keys), overload)
        }
        _ => None,
    }
}

fn by_function<'c>(
    coster: &Coster<'c>,
    function: &str,
    overload: &str,
    target: Option<&Node<'c>>,
    args: &[Node<'c>],
) -> Option<Estimate> {
    let one = || Some(Estimate::of(Range::fixed(1)));
    let scan = |node: Option<&Node<'c>>| coster.node_size(node?).factor(STRING_FACTOR).into();
    let scan = |node| -> Option<Range> { scan(node) };
    match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
            let list = target?;
            let size = coster.node_size(list);
            let mut each = Range::fixed(1);
            let Some(element) = coster.list_element(list) else {
                return Some(Estimate::of(match function {
                    "includes" => size.times(each),
                    _ => size.factor(STRING_FACTOR),
                }));
            };
            if matches!(element.t, Type::String | Type::Bytes) {
                each = each.plus(coster.node_size(&element).factor(STRING_FACTOR));
            }
            Some(Estimate::of(size.times(each)))
        }
        "fieldSelector" | "labelSelector" => {
            let [selector] = args else { return None };
            Some(Estimate::of(selector_cost(coster.node_size(selector))))
        }
        "check" => Some(Estimate::of(Range::fixed(CHECK_COST))),
        "url" | "jsonpatch.escapeKey" => {
            let [text] = args else { return None };
            Some(Estimate::sized(scan(Some(text))?, coster.node_size(text)))
        }
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            Some(Estimate::sized(scan(target)?, coster.node_size(target?)))
        }
        "replace" => {
            let [old, new, ..] = args else { return None };
            let size = coster.node_size(target?);
            let result = replaced(size, coster.node_size(old), coster.node_size(new));
            Some(Estimate::sized(size.factor(2.0 * STRING_FACTOR), result))
        }
        "split" => {
            let size = coster.node_size(target?);
            let mut max = size.max;
            if let Some(Node { expr: Some(e), .. }) = args.get(1)
                && let Kind::Literal(Literal::Int(n)) = &e.kind
            {
                max = *n as u64;
            }
            Some(Estimate::sized(size.factor(2.0 * STRING_FACTOR), Range::new(0, max)))
        }
        "join" => {
            let list = target?;
            let count = coster.node_size(list);
            let mut size = match coster.list_element(list) {
                Some(element) => count.times(coster.node_size(&element)),
                None => Range::fixed(0),
            };
            if let Some(separator) = args.first() {
                let gaps = Range::new(count.min.saturating_sub(1), count.max.saturating_sub(1));
                size = size.plus(coster.node_size(separator).times(gaps));
            }
            Some(Estimate::sized(size.factor(STRING_FACTOR), size))
        }
        "find" | "findAll" => {
            let size = coster.node_size(target?);
            let text = size.plus(Range::fixed(1)).factor(STRING_FACTOR);
            let regex = coster.node_size(args.first()?).factor(REGEX_FACTOR);
            Some(Estimate::sized(text.times(regex), Range::new(0, size.max)))
        }
        "ip" if overload == "cidr_ip" => one(),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            Some(Estimate::of(scan(args.first())?))
        }
        "ip.isCanonical" => Some(Estimate::of(coster.node_size(args.first()?).factor(2.0 * STRING_FACTOR))),
        _ if costs_one(function) => one(),
        "containsIP" | "containsCIDR" => {
            let mut cost = ADDRESS.plus(ADDRESS).factor(STRING_FACTOR);
            if function == "containsCIDR" {
                cost = cost.plus(ADDRESS.factor(STRING_FACTOR)).plus(Range::fixed(1));
            }
            if overload.ends_with("_string") {
                cost = cost.plus(scan(args.first())?);
            }
            Some(Estimate::of(cost))
        }
        "validate" => Some(Estimate::of(scan(args.first())?.factor(FORMAT_REGEX_SIZE * REGEX_FACTOR))),
        "_==_" => {
            let [left, right] = args else { return None };
            if left.t != right.t {
                return None;
            }
            match &left.t {
                Type::Opaque(IP | CIDR) => one(),
                Type::Struct(name) => match &**name {
                    QUANTITY | SEMVER => one(),
                    NAMED_FORMAT => Some(Estimate::of(Range::new(1, FORMAT_SIZE_MAX).factor(STRING_FACTOR))),
                    URL => {
                        let max = right.size.map_or(1, |size| size.max);
                        Some(Estimate::of(Range::new(1, max).factor(STRING_FACTOR)))
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// What it costs to read a selector: at worst every other character begins a requirement.
pub(crate) fn selector_cost(length: Range) -> Range {
    let requirements = length.factor(0.5).factor((LIST_COST + STRUCT_COST) as f64);
    Range::fixed(LIST_COST).plus(length.factor(STRING_FACTOR)).plus(requirements)
}

/// How large a text is when `old` in it became `new`.
fn replaced(size: Range, old: Range, new: Range) -> Range {
    let (mut count, mut kept) = (Range::fixed(0), Range::fixed(0));
    if old.min == 0 {
        count.max = size.max.saturating_add(1);
        kept.max = size.max;
    } else if new.max <= old.min {
        kept.max = size.max;
    } else {
        count.max = (size.max as f64 / old.min as f64).ceil() as u64;
    }
    if old.max == 0 {
        count.min = size.min.saturating_add(1);
        kept.min = size.min;
    } else if old.max <= new.min {
        kept.min = size.min;
    } else {
        count.min = (size.min as f64 / old.max as f64).ceil() as u64;
    }
    count.times(new).plus(kept)
}
