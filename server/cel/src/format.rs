//! `string.format`: clauses of a format string, and values as they are written.

use std::fmt::Write;

use bumpalo::Bump;
use ringbolt_machinery::field::quote;

use crate::{
    types::Type,
    value::{List, MapVal, Val},
};

/// Digits after the point where a clause does not say.
const PRECISION: usize = 6;

/// How an argument is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex { upper: bool },
    Octal,
}

/// Calls `write` for each clause of a format string with the position of its argument, of which there are `count`.
pub(crate) fn clauses(
    text: &str,
    count: usize,
    out: &mut String,
    write: &mut dyn FnMut(Clause, usize, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    let mut rest = text;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Err("unexpected end of string".into());
        }
        if index >= count {
            return Err(format!("index {index} out of range"));
        }
        let (clause, after) =
            clause(rest).map_err(|message| format!("could not parse formatting clause: {message}"))?;
        write(clause, index, out).map_err(|message| format!("error during formatting: {message}"))?;
        rest = after;
        index += 1;
    }
    out.push_str(rest);
    Ok(())
}

fn clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) = match text.strip_prefix('.') {
        None => (PRECISION, text),
        Some(after) => {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits == after.len() {
                return Err("error while parsing precision: could not find end of precision specifier".into());
            }
            let number = after[..digits].parse().map_err(|_| {
                let why = if digits == 0 { "invalid syntax" } else { "value out of range" };
                format!(
                    "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing {}: {why}",
                    quote(&after[..digits])
                )
            })?;
            (number, &after[digits..])
        }
    };
    let letter = rest.as_bytes()[0];
    let clause = match letter {
        b's' => Clause::Text,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'x' => Clause::Hex { upper: false },
        b'X' => Clause::Hex { upper: true },
        b'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{}\"", char::from(other))),
    };
    Ok((clause, &rest[1..]))
}

/// Why a clause cannot write a value of a type.
pub(crate) fn unfit(clause: Clause, t: &str) -> String {
    let can = match clause {
        Clause::Text => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{can}, was given {t}")
}

/// A format string with its arguments in.
pub(crate) fn format<'a>(text: &str, args: List<'a>, arena: &'a Bump) -> Result<String, String> {
    let mut out = String::with_capacity(text.len() + 16);
    clauses(text, args.len(), &mut out, &mut |clause, at, out| {
        let arg = args.get(at, arena).unwrap_or(Val::Null);
        if let Val::Error(message) = arg {
            return Err(message.to_owned());
        }
        written(clause, arg, arena, out)
    })?;
    Ok(out)
}

fn written<'a>(clause: Clause, arg: Val<'a>, arena: &'a Bump, out: &mut String) -> Result<(), String> {
    let special = |text: &str| match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    };
    let number = match arg {
        Val::Double(d) => Some(d),
        Val::String(text) => special(text),
        _ => None,
    };
    // Writing to a string does not fail.
    let _ = match (clause, arg) {
        (Clause::Text, _) => return text(arg, arena, out),
        (Clause::Decimal, Val::Int(n)) => write!(out, "{n}"),
        (Clause::Decimal, Val::Uint(n)) => write!(out, "{n}"),
        (Clause::Binary, Val::Int(n)) => signed(out, n, |out, n| write!(out, "{n:b}")),
        (Clause::Binary, Val::Uint(n)) => write!(out, "{n:b}"),
        (Clause::Binary, Val::Bool(b)) => write!(out, "{}", u8::from(b)),
        (Clause::Octal, Val::Int(n)) => signed(out, n, |out, n| write!(out, "{n:o}")),
        (Clause::Octal, Val::Uint(n)) => write!(out, "{n:o}"),
        (Clause::Hex { upper }, Val::Int(n)) => signed(out, n, |out, n| hex(out, n, upper)),
        (Clause::Hex { upper }, Val::Uint(n)) => hex(out, n, upper),
        (Clause::Hex { upper }, Val::String(text)) => hex_bytes(out, text.as_bytes(), upper),
        (Clause::Hex { upper }, Val::Bytes(bytes)) => hex_bytes(out, bytes, upper),
        (Clause::Fixed(precision), _) if number.is_some() => {
            grouped(out, number.unwrap_or(0.0), precision);
            Ok(())
        }
        (Clause::Scientific(precision), _) if number.is_some() => {
            scientific(out, number.unwrap_or(0.0), precision);
            Ok(())
        }
        _ => return Err(unfit(clause, arg.type_of().name())),
    };
    Ok(())
}

fn signed(
    out: &mut String,
    n: i64,
    write: impl Fn(&mut String, u64) -> std::fmt::Result,
) -> std::fmt::Result {
    if n < 0 {
        out.push('-');
    }
    write(out, n.unsigned_abs())
}

fn hex(out: &mut String, n: u64, upper: bool) -> std::fmt::Result {
    if upper { write!(out, "{n:X}") } else { write!(out, "{n:x}") }
}

fn hex_bytes(out: &mut String, bytes: &[u8], upper: bool) -> std::fmt::Result {
    bytes.iter().try_for_each(|b| if upper { write!(out, "{b:02X}") } else { write!(out, "{b:02x}") })
}

fn not_finite(out: &mut String, d: f64) -> bool {
    if d.is_finite() {
        return false;
    }
    out.push_str(if d.is_nan() {
        "NaN"
    } else if d > 0.0 {
        "\u{221e}"
    } else {
        "-\u{221e}"
    });
    true
}

/// As American English writes numbers: a comma between thousands.
fn grouped(out: &mut String, d: f64, precision: usize) {
    if not_finite(out, d) {
        return;
    }
    let plain = format!("{d:.precision$}");
    let (sign, plain) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let whole = plain.find('.').unwrap_or(plain.len());
    out.push_str(sign);
    for (at, digit) in plain[..whole].char_indices() {
        if at > 0 && (whole - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(&plain[whole..]);
}

/// `1.052033×10⁰³`
fn scientific(out: &mut String, d: f64, precision: usize) {
    let mut special = String::new();
    if not_finite(&mut special, d) {
        let _ = write!(out, "{special:>precision$}");
        return;
    }
    let plain = format!("{d:.precision$e}");
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    out.push_str(mantissa);
    out.push_str("\u{d7}10");
    let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |rest| ("\u{207b}", rest));
    out.push_str(sign);
    if digits.len() < 2 {
        out.push('\u{2070}');
    }
    out.extend(digits.chars().map(|digit| match digit {
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        other => char::from_u32(0x2070 + other as u32 - '0' as u32).unwrap_or(other),
    }));
}

fn text<'a>(arg: Val<'a>, arena: &'a Bump, out: &mut String) -> Result<(), String> {
    match arg {
        Val::List(list) => return list_text(list, arena, out),
        Val::Map(map) => return map_text(map, arena, out),
        Val::Null => out.push_str("null"),
        _ => match to_string(arg) {
            Some(Ok(text)) => out.push_str(&text),
            Some(Err(message)) => {
                return Err(format!("could not convert argument {} to string", quote(&message)));
            }
            None => return Err(unfit(Clause::Text, arg.type_of().name())),
        },
    }
    Ok(())
}

/// `string(value)`; `None` where there is no such conversion.
pub(crate) fn to_string(val: Val<'_>) -> Option<Result<String, String>> {
    Some(Ok(match val {
        Val::Bool(b) => b.to_string(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(d) => shortest(d),
        Val::String(text) => text.to_owned(),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Some(Err("invalid UTF-8 in bytes, cannot convert to string".into())),
        },
        Val::Timestamp(t) => t.to_string(),
        Val::Duration(n) => format!("{}s", plain(n as f64 / 1e9, n)),
        Val::Type(t) => t.name().to_owned(),
        _ => return None,
    }))
}

/// Seconds without an exponent.
fn plain(seconds: f64, nanoseconds: i64) -> String {
    if nanoseconds % 1_000_000_000 == 0 {
        return (nanoseconds / 1_000_000_000).to_string();
    }
    format!("{seconds}")
}

/// A number as Go's `%g` has it: the fewest digits that are that number.
pub(crate) fn shortest(d: f64) -> String {
    if d.is_nan() {
        return "NaN".into();
    }
    if d.is_infinite() {
        return if d > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let scientific = format!("{d:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Go goes by six digits here, however many there are.
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{d}")
}

fn element<'a>(val: Val<'a>, arena: &'a Bump, out: &mut String) -> Result<(), String> {
    match val {
        Val::String(text) => out.push_str(&quote(text)),
        Val::Bytes(bytes) => {
            out.push('b');
            out.push_str(&quote(&String::from_utf8_lossy(bytes)));
        }
        Val::Double(d) if !d.is_finite() => out.push_str(&quote(&shortest(d))),
        Val::Double(d) => {
            let _ = write!(out, "{d:.PRECISION$}");
        }
        Val::Timestamp(_) | Val::Duration(_) => {
            out.push_str(if matches!(val, Val::Duration(_)) { "duration(" } else { "timestamp(" });
            let mut plain = String::new();
            text(val, arena, &mut plain)?;
            out.push_str(&quote(&plain));
            out.push(')');
        }
        Val::List(_) | Val::Map(_) | Val::Null | Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Type(_) => {
            return text(val, arena, out);
        }
        Val::Error(message) => return Err(message.to_owned()),
        _ => return Err(format!("no formatting function for {}", type_name(&val.type_of()))),
    }
    Ok(())
}

fn type_name(t: &Type) -> &str {
    t.name()
}

fn list_text<'a>(list: List<'a>, arena: &'a Bump, out: &mut String) -> Result<(), String> {
    out.push('[');
    for (at, val) in list.iter(arena).enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        element(val, arena, out)?;
    }
    out.push(']');
    Ok(())
}

fn map_text<'a>(map: MapVal<'a>, arena: &'a Bump, out: &mut String) -> Result<(), String> {
    let mut pairs = Vec::with_capacity(map.len());
    for (key, val) in map.entries(arena) {
        if !matches!(key, Val::String(_) | Val::Bool(_) | Val::Int(_) | Val::Uint(_)) {
            return Err(format!("no formatting function for map key of type {}", key.type_of().name()));
        }
        let (mut key_text, mut val_text) = (String::new(), String::new());
        element(key, arena, &mut key_text)?;
        element(val, arena, &mut val_text)?;
        pairs.push((key_text, val_text));
    }
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    out.push('{');
    for (at, (key, val)) in pairs.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        let _ = write!(out, "{key}:{val}");
    }
    out.push('}');
    Ok(())
}
