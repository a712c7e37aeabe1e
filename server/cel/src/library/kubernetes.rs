//! What Kubernetes adds: addresses, URLs, quantities, versions and formats.

use std::{cmp::Ordering, net::IpAddr};

use crate::regex_syntax::Regex;
use ringbolt_machinery::quantity::{Format, Quantity};

use super::Function;
use crate::{
    address,
    eval::Context,
    named_format::FORMATS,
    semver::Semver,
    url::Url,
    value::{MapVal, NO_SUCH_OVERLOAD, Val},
};

/// `format.dns1123Label` and its kind.
pub(super) fn named_format(name: &str) -> Option<(&'static str, Function)> {
    macro_rules! format_function {
        ($($at:literal)*) => {
            [$((|_, _, _| Val::Format(&FORMATS[$at])) as Function),*]
        };
    }
    let functions = format_function!(0 1 2 3 4 5 6 7 8 9 10 11 12);
    let at = FORMATS.iter().position(|format| Some(format.function) == name.strip_prefix("format."))?;
    Some(("format.", functions[at]))
}

pub(super) fn format_named<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(name)] = args else { return cx.no_overload("format.named", args) };
    match FORMATS.iter().find(|format| format.function == *name) {
        Some(format) => Val::Format(format).some(cx.arena),
        None => Val::Optional(None),
    }
}

pub(super) fn validate<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Format(format), Val::String(text)] = args else { return cx.no_overload("validate", args) };
    let errors = (format.errors)(text);
    if errors.is_empty() {
        return Val::Optional(None);
    }
    Val::list(cx.arena, errors.iter().map(|error| Val::string(cx.arena, error))).some(cx.arena)
}

// URLs.

pub(super) fn url<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(text)] = args else { return cx.no_overload("url", args) };
    match Url::parse(text) {
        Ok(url) => Val::Url(cx.owned(url)),
        Err(message) => cx.error(format!("URL parse error during conversion from string: {message}")),
    }
}

pub(super) fn is_url<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(text)] => Val::Bool(Url::is_valid(text).is_ok()),
        _ => cx.no_overload("isURL", args),
    }
}

pub(super) fn url_part<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let [Val::Url(url)] = args else { return cx.no_overload(name, args) };
    Val::String(match name {
        "getScheme" => &url.scheme,
        "getHost" => &url.host,
        "getHostname" => url.hostname(),
        "getPort" => url.port(),
        _ => return Val::string(cx.arena, url.escaped_path()),
    })
}

pub(super) fn url_query<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Url(url)] = args else { return cx.no_overload("getQuery", args) };
    let entries = url.parameters().into_iter().map(|(key, values)| {
        let values = Val::list(cx.arena, values.iter().map(|value| Val::string(cx.arena, value)));
        (Val::string(cx.arena, key), values)
    });
    let entries: Vec<_> = entries.collect();
    Val::Map(MapVal::Vals(cx.arena.alloc_slice_copy(&entries)))
}

// Addresses.

pub(super) fn ip<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(text)] => address::parse_ip(text).map_or_else(|message| cx.error(message), Val::Ip),
        [Val::Cidr(address, _)] => Val::Ip(*address),
        _ => cx.no_overload("ip", args),
    }
}

pub(super) fn is_ip<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(text)] => Val::Bool(address::parse_ip(text).is_ok()),
        _ => cx.no_overload("isIP", args),
    }
}

pub(super) fn ip_is_canonical<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(text)] = args else { return cx.no_overload("ip.isCanonical", args) };
    match address::parse_ip(text) {
        Ok(address) => Val::Bool(address.to_string() == *text),
        Err(message) => cx.error(message),
    }
}

pub(super) fn ip_property<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let [Val::Ip(address)] = args else { return cx.no_overload(name, args) };
    let link_local = match address {
        IpAddr::V4(a) => a.is_link_local(),
        IpAddr::V6(a) => a.segments()[0] & 0xffc0 == 0xfe80,
    };
    Val::Bool(match name {
        "family" => return Val::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => address.is_unspecified(),
        "isLoopback" => address.is_loopback(),
        "isLinkLocalMulticast" => match address {
            IpAddr::V4(a) => a.octets()[..3] == [224, 0, 0],
            IpAddr::V6(a) => a.segments()[0] & 0xff0f == 0xff02,
        },
        "isLinkLocalUnicast" => link_local,
        _ => {
            let broadcast = matches!(address, IpAddr::V4(a) if a.is_broadcast());
            !(broadcast
                || address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()
                || link_local)
        }
    })
}

pub(super) fn cidr<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(text)] = args else { return cx.no_overload("cidr", args) };
    to_cidr(cx, text)
}

fn to_cidr<'a>(cx: &Context<'a>, text: &str) -> Val<'a> {
    match address::parse_cidr(text) {
        Ok((address, bits)) => Val::Cidr(address, bits),
        Err(message) => {
            cx.error(format!("network address parse error during conversion from string: {message}"))
        }
    }
}

pub(super) fn is_cidr<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(text)] => Val::Bool(address::parse_cidr(text).is_ok()),
        _ => cx.no_overload("isCIDR", args),
    }
}

pub(super) fn contains_ip<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Cidr(network, bits), other] = args else { return cx.no_overload("containsIP", args) };
    let address = match other {
        Val::Ip(address) => *address,
        Val::String(text) => match address::parse_ip(text) {
            Ok(address) => address,
            Err(_) => return Val::Error(NO_SUCH_OVERLOAD),
        },
        _ => return cx.no_overload("containsIP", args),
    };
    Val::Bool(address::contains(*network, *bits, address))
}

pub(super) fn contains_cidr<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Cidr(network, bits), other] = args else { return cx.no_overload("containsCIDR", args) };
    let other = match other {
        Val::String(text) => to_cidr(cx, text),
        other => *other,
    };
    match other {
        Val::Cidr(address, length) => {
            Val::Bool(*bits <= length && address::contains(*network, *bits, address))
        }
        error @ Val::Error(_) => error,
        _ => cx.no_overload("containsCIDR", args),
    }
}

pub(super) fn prefix_length<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Cidr(_, bits)] => Val::Int(i64::from(*bits)),
        _ => cx.no_overload("prefixLength", args),
    }
}

pub(super) fn masked<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Cidr(address, bits)] => Val::Cidr(address::masked(*address, *bits), *bits),
        _ => cx.no_overload("masked", args),
    }
}

// Quantities.

pub(super) fn quantity<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(text)] = args else { return cx.no_overload("quantity", args) };
    match Quantity::parse(text) {
        Ok(quantity) => Val::Quantity(cx.owned(quantity)),
        Err(error) => cx.error(error.to_string()),
    }
}

pub(super) fn is_quantity<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(text)] => Val::Bool(Quantity::parse(text).is_ok()),
        _ => cx.no_overload("isQuantity", args),
    }
}

pub(super) fn sign<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Quantity(q)] => Val::Int(i64::from(q.sign())),
        _ => cx.no_overload("sign", args),
    }
}

/// The whole number that a quantity is, where it is one that fits.
fn whole(quantity: &Quantity) -> Option<i64> {
    let value = quantity.value();
    (quantity.is_integer() && *quantity == Quantity::new(value, Format::DecimalSi)).then_some(value)
}

pub(super) fn is_integer<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Quantity(q)] => Val::Bool(whole(q).is_some()),
        _ => cx.no_overload("isInteger", args),
    }
}

pub(super) fn as_integer<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::Quantity(q)] => whole(q).map_or(Val::Error("cannot convert value to integer"), Val::Int),
        _ => cx.no_overload("asInteger", args),
    }
}

pub(super) fn as_float<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::Quantity(q)] = args else { return cx.no_overload("asApproximateFloat", args) };
    Val::Double(match whole(q) {
        Some(n) => n as f64,
        None => approximate(&q.to_string()),
    })
}

/// The number that a quantity's text is.
fn approximate(text: &str) -> f64 {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let number: f64 = number.parse().unwrap_or(0.0);
    let factor = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 2f64.powi(10),
        "Mi" => 2f64.powi(20),
        "Gi" => 2f64.powi(30),
        "Ti" => 2f64.powi(40),
        "Pi" => 2f64.powi(50),
        "Ei" => 2f64.powi(60),
        other => other.strip_prefix(['e', 'E']).and_then(|e| e.parse().ok()).map_or(1.0, |e| 10f64.powi(e)),
    };
    number * factor
}

pub(super) fn quantity_sum<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let whole;
    let (q, other) = match args {
        [Val::Quantity(q), Val::Quantity(other)] => (q, *other),
        [Val::Quantity(q), Val::Int(n)] => {
            whole = Quantity::new(*n, Format::DecimalExponent);
            (q, &whole)
        }
        _ => return cx.no_overload(name, args),
    };
    let mut sum = Quantity::clone(q);
    if name == "add" {
        sum.add(other)
    } else {
        sum.sub(other)
    }
    Val::Quantity(cx.owned(sum))
}

/// Of quantities and of versions.
pub(super) fn compared<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let order = match args {
        [Val::Quantity(a), Val::Quantity(b)] => a.cmp(b),
        [Val::Semver(a), Val::Semver(b)] => a.cmp(b),
        _ => return cx.no_overload(name, args),
    };
    match name {
        "isGreaterThan" => Val::Bool(order == Ordering::Greater),
        "isLessThan" => Val::Bool(order == Ordering::Less),
        _ => Val::Int(order as i64),
    }
}

// Versions.

fn to_semver(args: &[Val<'_>]) -> Option<Result<Semver, String>> {
    match args {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Some(Semver::parse(text)),
        [Val::String(text), Val::Bool(true)] => Some(Semver::parse_normalized(text)),
        _ => None,
    }
}

pub(super) fn semver<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match to_semver(args) {
        Some(Ok(version)) => Val::Semver(cx.owned(version)),
        Some(Err(message)) => cx.error(message),
        None => cx.no_overload("semver", args),
    }
}

pub(super) fn is_semver<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    to_semver(args).map_or_else(|| cx.no_overload("isSemver", args), |parsed| Val::Bool(parsed.is_ok()))
}

pub(super) fn semver_part<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    let [Val::Semver(version)] = args else { return cx.no_overload(name, args) };
    Val::Int(match name {
        "major" => version.major,
        "minor" => version.minor,
        _ => version.patch,
    } as i64)
}
