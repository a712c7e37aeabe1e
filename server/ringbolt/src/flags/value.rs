//! The types of flags, with the errors Go gives for values that are none of them.

use std::net::IpAddr;

use ringbolt_machinery::field::quote;

use super::{Flag, Kind};

/// Whether a value is one of the flag's type; if not, why.
pub(super) fn check(flag: &Flag, value: &str) -> Result<(), String> {
    match flag.kind {
        Kind::Text | Kind::Texts | Kind::List => Ok(()),
        Kind::Bool => bool(value).map(drop),
        Kind::Int => int(value).map(drop),
        Kind::Float => {
            value.parse::<f64>().map(drop).map_err(|_| syntax("ParseFloat", value, "invalid syntax"))
        }
        Kind::Duration => ringbolt_apiserver::duration::parse(value).map(drop),
        Kind::Ints => {
            value.split(',').filter(|part| !value.is_empty() || !part.is_empty()).try_for_each(|part| {
                int(part.trim()).map(drop).map_err(|_| syntax("Atoi", part, "invalid syntax"))
            })
        }
        Kind::Map => value.split(',').filter(|pair| !pair.is_empty()).try_for_each(|pair| {
            // `--runtime-config=api/all` is `api/all=true`.
            if pair.contains('=') || flag.name == "runtime-config" {
                Ok(())
            } else {
                Err(format!("malformed pair, expect string=string but got {}", quote(pair)))
            }
        }),
        Kind::Ip => {
            let value = value.trim();
            if value.is_empty() || value.parse::<IpAddr>().is_ok() {
                Ok(())
            } else {
                Err(format!("failed to parse IP: {}", quote(value)))
            }
        }
        Kind::PortRange => port_range(value.trim()).map(drop),
        Kind::Quantity => quantity(value).map(drop),
    }
}

/// A value as Kubernetes shows it: `text` is the last one given or the default, `list` all that were given.
pub(super) fn shown(flag: &Flag, text: &str, list: &[String]) -> String {
    let brackets = |list: &[String]| format!("[{}]", list.join(","));
    match flag.kind {
        Kind::List | Kind::Texts | Kind::Ints => brackets(list),
        // `string=string` has brackets, `string=bool` and its like have none.
        Kind::Map if flag.name == "allow-metric-labels" => brackets(list),
        Kind::Map => {
            let mut pairs: Vec<String> = list
                .iter()
                .map(|pair| if pair.contains('=') { pair.clone() } else { format!("{pair}=true") })
                .collect();
            pairs.sort();
            pairs.join(",")
        }
        Kind::Bool => bool(text).unwrap_or_default().to_string(),
        Kind::Int => int(text).unwrap_or_default().to_string(),
        Kind::Duration => match ringbolt_apiserver::duration::parse(text) {
            Ok(nanoseconds) => {
                let duration = std::time::Duration::from_nanos(nanoseconds.unsigned_abs());
                let sign = if nanoseconds < 0 { "-" } else { "" };
                format!("{sign}{}", ringbolt_apiserver::duration::format(duration))
            }
            Err(_) => text.to_owned(),
        },
        Kind::Quantity if text.is_empty() => "0".to_owned(),
        Kind::Text if flag.name == "version" && text.is_empty() => "false".to_owned(),
        Kind::Text | Kind::Float | Kind::Ip | Kind::PortRange | Kind::Quantity => text.trim().to_owned(),
    }
}

fn syntax(function: &str, value: &str, why: &str) -> String {
    format!("strconv.{function}: parsing {}: {why}", quote(value))
}

/// `strconv.ParseBool`
pub(super) fn bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(syntax("ParseBool", text, "invalid syntax")),
    }
}

/// `strconv.ParseInt` in base 0: `0x`, `0o`, `0b` and a leading 0 change the base, `_` may stand between digits.
pub(super) fn int(text: &str) -> Result<i64, String> {
    let invalid = || syntax("ParseInt", text, "invalid syntax");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, number) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    let plain = number.replace('_', "");
    if plain.is_empty() || !plain.bytes().all(|b| (b as char).is_digit(radix)) || number.contains("__") {
        return Err(invalid());
    }
    let out_of_range = || syntax("ParseInt", text, "value out of range");
    let value = i128::from_str_radix(&plain, radix).map_err(|_| out_of_range())?;
    i64::try_from(if negative { -value } else { value }).map_err(|_| out_of_range())
}

/// First and last port of a range.
pub(super) fn port_range(text: &str) -> Result<(u16, u16), String> {
    let port =
        |text: &str| text.trim().parse::<u16>().map_err(|_| format!("unable to parse port range: {text}"));
    let (first, last) = if let Some((first, last)) = text.split_once('-') {
        (port(first)?, port(last)?)
    } else if let Some((first, size)) = text.split_once('+') {
        let first = port(first)?;
        (first, first.saturating_add(port(size)?))
    } else {
        (port(text)?, port(text)?)
    };
    if first > last {
        return Err("end port cannot be less than start port".to_owned());
    }
    Ok((first, last))
}

/// A quantity of whole bytes: a number with an optional `Ki`…`Ei` or `k`…`E`.
pub(super) fn quantity(text: &str) -> Result<u64, String> {
    let invalid = || {
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            .to_owned()
    };
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| invalid())?;
    let scale: u64 = match unit {
        "" => 1,
        "k" => 1000,
        "M" => 1000_u64.pow(2),
        "G" => 1000_u64.pow(3),
        "T" => 1000_u64.pow(4),
        "P" => 1000_u64.pow(5),
        "E" => 1000_u64.pow(6),
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "Ei" => 1 << 60,
        _ => return Err(invalid()),
    };
    number.checked_mul(scale).ok_or_else(invalid)
}
