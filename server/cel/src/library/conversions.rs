//! Conversions from one type to another.

use crate::regex_syntax::Regex;

use crate::{
    eval::Context,
    format,
    time::{Timestamp, parse_duration},
    value::Val,
};

fn failed<'a>(cx: &Context<'a>, from: Val<'a>, to: &str) -> Val<'a> {
    cx.error(format!("type conversion error from '{}' to '{to}'", from.type_of().name()))
}

fn parsed<'a, T>(
    cx: &Context<'a>,
    from: Val<'a>,
    to: &str,
    value: Option<T>,
    make: fn(T) -> Val<'a>,
) -> Val<'a> {
    value.map_or_else(|| failed(cx, from, to), make)
}

/// Go reads `+1`, but no `_`.
fn signed(text: &str) -> Option<i64> {
    text.parse().ok()
}

pub(super) fn to_bool<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val @ Val::Bool(_)] => *val,
        [val @ Val::String(text)] => match *text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Val::Bool(true),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Val::Bool(false),
            _ => failed(cx, *val, "bool"),
        },
        _ => cx.no_overload("bool", args),
    }
}

pub(super) fn to_bytes<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val @ Val::Bytes(_)] => *val,
        [Val::String(text)] => Val::Bytes(text.as_bytes()),
        _ => cx.no_overload("bytes", args),
    }
}

fn go_float(text: &str) -> Option<f64> {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let special = match bare.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(f64::INFINITY),
        "nan" if bare.len() == text.len() => return Some(f64::NAN),
        _ => None,
    };
    if let Some(special) = special {
        return Some(if text.starts_with('-') { -special } else { special });
    }
    if !bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse::<f64>().ok().filter(|d| d.is_finite())
}

pub(super) fn to_double<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val @ Val::Double(_)] => *val,
        [Val::Int(n)] => Val::Double(*n as f64),
        [Val::Uint(n)] => Val::Double(*n as f64),
        [val @ Val::String(text)] => parsed(cx, *val, "double", go_float(text), Val::Double),
        _ => cx.no_overload("double", args),
    }
}

pub(super) fn to_duration<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val @ Val::Duration(_)] => *val,
        [val @ Val::String(text)] => {
            parsed(cx, *val, "google.protobuf.Duration", parse_duration(text).ok(), Val::Duration)
        }
        _ => cx.no_overload("duration", args),
    }
}

pub(super) fn to_int<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    const OVERFLOW: &str = "integer overflow";
    match args {
        [val @ Val::Int(_)] => *val,
        [Val::Uint(n)] => i64::try_from(*n).map_or(Val::Error(OVERFLOW), Val::Int),
        [Val::Double(d)] => {
            if d.is_finite() && *d > -(2f64.powi(63)) && *d < 2f64.powi(63) {
                Val::Int(*d as i64)
            } else {
                Val::Error(OVERFLOW)
            }
        }
        [Val::Duration(n)] => Val::Int(*n),
        [Val::Timestamp(t)] => Val::Int(t.seconds),
        [val @ Val::String(text)] => parsed(cx, *val, "int", signed(text), Val::Int),
        _ => cx.no_overload("int", args),
    }
}

pub(super) fn to_uint<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    const OVERFLOW: &str = "unsigned integer overflow";
    match args {
        [val @ Val::Uint(_)] => *val,
        [Val::Int(n)] => u64::try_from(*n).map_or(Val::Error(OVERFLOW), Val::Uint),
        [Val::Double(d)] => {
            if *d >= 0.0 && *d < 2f64.powi(64) {
                Val::Uint(*d as u64)
            } else {
                Val::Error(OVERFLOW)
            }
        }
        [val @ Val::String(text)] => {
            let number = if text.starts_with('+') { None } else { text.parse().ok() };
            parsed(cx, *val, "uint", number, Val::Uint)
        }
        _ => cx.no_overload("uint", args),
    }
}

pub(super) fn to_timestamp<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val @ Val::Timestamp(_)] => *val,
        [Val::Int(n)] => Timestamp::from_seconds(*n).map_or(Val::Error("timestamp overflow"), Val::Timestamp),
        [val @ Val::String(text)] => {
            parsed(cx, *val, "google.protobuf.Timestamp", Timestamp::parse(text), Val::Timestamp)
        }
        _ => cx.no_overload("timestamp", args),
    }
}

pub(super) fn to_string<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [val @ Val::String(_)] => *val,
        [Val::Ip(address)] => Val::string(cx.arena, address.to_string()),
        [Val::Cidr(address, bits)] => Val::string(cx.arena, format!("{address}/{bits}")),
        [Val::Type(_) | Val::Null] => cx.no_overload("string", args),
        [val] => match format::to_string(*val) {
            Some(Ok(text)) => Val::string(cx.arena, text),
            Some(Err(message)) => cx.error(message),
            None => cx.no_overload("string", args),
        },
        _ => cx.no_overload("string", args),
    }
}
