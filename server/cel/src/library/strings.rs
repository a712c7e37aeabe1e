//! Functions on strings. Positions count characters.

use crate::regex_syntax::Regex;

use crate::{eval::Context, format as formats, regex_syntax, value::Val};

fn text<'a>(cx: &Context<'a>, text: impl AsRef<str>) -> Val<'a> {
    Val::string(cx.arena, text)
}

fn out_of_range<'a>(cx: &Context<'a>, at: i64) -> Val<'a> {
    cx.error(format!("index out of range: {at}"))
}

pub(super) fn contains<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    pair(args, |s, part| s.contains(part))
}

pub(super) fn starts_with<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    pair(args, |s, part| s.starts_with(part))
}

pub(super) fn ends_with<'a>(_: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    pair(args, |s, part| s.ends_with(part))
}

fn pair<'a>(args: &[Val<'a>], is: fn(&str, &str) -> bool) -> Val<'a> {
    match args {
        [Val::String(s), Val::String(part)] => Val::Bool(is(s, part)),
        _ => Val::Error(crate::value::NO_SUCH_OVERLOAD),
    }
}

/// Runs `use_regex` with the pattern, compiled before or now.
fn with_regex<'a>(
    cx: &Context<'a>,
    regex: Option<&Regex>,
    pattern: &str,
    illegal: &str,
    use_regex: impl FnOnce(&Regex) -> Val<'a>,
) -> Val<'a> {
    match regex {
        Some(regex) => use_regex(regex),
        None => match regex_syntax::compile(pattern) {
            Ok(regex) => use_regex(&regex),
            Err(message) => cx.error(format!("{illegal}{message}")),
        },
    }
}

pub(super) fn matches<'a>(cx: &Context<'a>, args: &[Val<'a>], regex: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(s), Val::String(pattern)] => {
            with_regex(cx, regex, pattern, "", |regex| Val::Bool(regex.is_match(s)))
        }
        [Val::String(_), _] => Val::Error(crate::value::NO_SUCH_OVERLOAD),
        _ => Val::Error("no such overload: matches"),
    }
}

pub(super) fn find<'a>(cx: &Context<'a>, args: &[Val<'a>], regex: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(s), Val::String(pattern)] => {
            let s: &'a str = s;
            with_regex(cx, regex, pattern, "Illegal regex: ", |regex| {
                Val::String(regex.find(s, 0).map_or("", |(from, to)| &s[from..to]))
            })
        }
        _ => cx.no_overload("find", args),
    }
}

pub(super) fn find_all<'a>(cx: &Context<'a>, args: &[Val<'a>], regex: Option<&Regex>) -> Val<'a> {
    let (s, pattern, count) = match args {
        [Val::String(s), Val::String(pattern)] => (*s, pattern, -1),
        [Val::String(s), Val::String(pattern), Val::Int(count)] => (*s, pattern, *count),
        _ => return cx.no_overload("findAll", args),
    };
    let max = usize::try_from(count).unwrap_or(usize::MAX);
    with_regex(cx, regex, pattern, "Illegal regex: ", |regex| {
        let found = regex_syntax::find_all(regex, s, max);
        Val::list(cx.arena, found.into_iter().map(|(from, to)| Val::String(&s[from..to])))
    })
}

pub(super) fn char_at<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(s), Val::Int(at)] = args else { return cx.no_overload("charAt", args) };
    let Ok(place) = usize::try_from(*at) else { return out_of_range(cx, *at) };
    let mut rest = s.char_indices();
    match rest.nth(place) {
        Some((from, c)) => Val::String(&s[from..from + c.len_utf8()]),
        None if s.chars().count() == place => Val::String(""),
        None => out_of_range(cx, *at),
    }
}

pub(super) fn lower_ascii<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(s)] => text(cx, s.to_ascii_lowercase()),
        _ => cx.no_overload("lowerAscii", args),
    }
}

pub(super) fn upper_ascii<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(s)] => text(cx, s.to_ascii_uppercase()),
        _ => cx.no_overload("upperAscii", args),
    }
}

pub(super) fn replace<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (s, old, new, count) = match args {
        [Val::String(s), Val::String(old), Val::String(new)] => (s, old, new, -1),
        [Val::String(s), Val::String(old), Val::String(new), Val::Int(count)] => (s, old, new, *count),
        _ => return cx.no_overload("replace", args),
    };
    text(cx, s.replacen(old, new, usize::try_from(count).unwrap_or(usize::MAX)))
}

pub(super) fn split<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (s, separator, count) = match args {
        [Val::String(s), Val::String(separator)] => (*s, *separator, -1),
        [Val::String(s), Val::String(separator), Val::Int(count)] => (*s, *separator, *count),
        _ => return cx.no_overload("split", args),
    };
    if count == 0 {
        return Val::list(cx.arena, []);
    }
    let max = usize::try_from(count).unwrap_or(usize::MAX);
    if separator.is_empty() {
        // Between all characters; the last part is what is left.
        let mut parts = Vec::new();
        let mut rest = s;
        while let Some(c) = rest.chars().next() {
            if parts.len() + 1 == max {
                break;
            }
            let (first, after) = rest.split_at(c.len_utf8());
            parts.push(Val::String(first));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Val::String(rest));
        }
        return Val::list(cx.arena, parts);
    }
    Val::list(cx.arena, s.splitn(max, separator).map(Val::String))
}

/// Where a character begins; the end for the one behind the last.
fn byte_at(s: &str, at: i64) -> Option<usize> {
    let at = usize::try_from(at).ok()?;
    match s.char_indices().nth(at) {
        Some((byte, _)) => Some(byte),
        None => (s.chars().count() == at).then_some(s.len()),
    }
}

pub(super) fn substring<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (s, start, end) = match args {
        [Val::String(s), Val::Int(start)] => (*s, *start, None),
        [Val::String(s), Val::Int(start), Val::Int(end)] => (*s, *start, Some(*end)),
        _ => return cx.no_overload("substring", args),
    };
    if let Some(end) = end
        && start > end
    {
        return cx.error(format!("invalid substring range. start: {start}, end: {end}"));
    }
    let Some(from) = byte_at(s, start) else { return out_of_range(cx, start) };
    let Some(end) = end else { return Val::String(&s[from..]) };
    match byte_at(s, end) {
        Some(to) => Val::String(&s[from..to]),
        None => out_of_range(cx, end),
    }
}

pub(super) fn trim<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(s)] => Val::String(s.trim()),
        _ => cx.no_overload("trim", args),
    }
}

pub(super) fn format<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    match args {
        [Val::String(s), Val::List(list)] => match formats::format(s, *list, cx.arena) {
            Ok(out) => text(cx, out),
            Err(message) => cx.error(message),
        },
        _ => cx.no_overload("format", args),
    }
}

/// Escapes a key for the path of a JSON patch.
pub(super) fn escape_key<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(key)] = args else { return cx.no_overload("jsonpatch.escapeKey", args) };
    let mut out = String::with_capacity(key.len());
    for c in key.chars() {
        match c {
            '/' => out.push_str("~1"),
            '~' => out.push_str("~0"),
            other => out.push(other),
        }
    }
    Val::string(cx.arena, out)
}

pub(super) fn quote<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let [Val::String(s)] = args else { return cx.no_overload("strings.quote", args) };
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    text(cx, out)
}

pub(super) fn join<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (list, separator) = match args {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, *separator),
        _ => return cx.no_overload("join", args),
    };
    let mut out = String::new();
    for (at, val) in list.iter(cx.arena).enumerate() {
        let Val::String(part) = val else { return cx.error(format!("join: invalid input: {val}")) };
        out.push_str(if at == 0 { "" } else { separator });
        out.push_str(part);
    }
    text(cx, out)
}

pub(super) fn index_of<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (s, part, offset) = match args {
        [Val::List(list), val] => {
            let at = list.iter(cx.arena).position(|element| element.is(*val, cx.arena));
            return Val::Int(at.map_or(-1, |at| at as i64));
        }
        [Val::String(s), Val::String(part)] => (s, part, 0),
        [Val::String(s), Val::String(part), Val::Int(offset)] => (s, part, *offset),
        _ => return cx.no_overload("indexOf", args),
    };
    let Ok(from) = usize::try_from(offset) else { return out_of_range(cx, offset) };
    let count = s.chars().count();
    if part.is_empty() {
        return Val::Int(from.min(count) as i64);
    }
    if from >= count {
        return Val::Int(-1);
    }
    let start = byte_at(s, offset).unwrap_or(s.len());
    let found = s[start..].find(*part);
    Val::Int(found.map_or(-1, |at| (from + s[start..start + at].chars().count()) as i64))
}

pub(super) fn last_index_of<'a>(cx: &Context<'a>, args: &[Val<'a>], _: Option<&Regex>) -> Val<'a> {
    let (s, part, offset) = match args {
        [Val::List(list), val] => {
            let found = (0..list.len())
                .rev()
                .find(|at| list.get(*at, cx.arena).is_some_and(|element| element.is(*val, cx.arena)));
            return Val::Int(found.map_or(-1, |at| at as i64));
        }
        [Val::String(s), Val::String(part)] => (s, part, None),
        [Val::String(s), Val::String(part), Val::Int(offset)] => (s, part, Some(*offset)),
        _ => return cx.no_overload("lastIndexOf", args),
    };
    let count = s.chars().count();
    if part.is_empty() {
        return match offset {
            Some(offset) if offset < 0 => out_of_range(cx, offset),
            Some(offset) => Val::Int(offset.min(count as i64)),
            None => Val::Int(count as i64),
        };
    }
    let limit = match offset {
        None => s.len(),
        Some(offset) => {
            let Ok(at) = usize::try_from(offset) else { return out_of_range(cx, offset) };
            if at >= count {
                return Val::Int(-1);
            }
            // Matches may begin there, and end behind it.
            let start = byte_at(s, offset).unwrap_or(s.len());
            let mut end = (start + part.len()).min(s.len());
            while !s.is_char_boundary(end) {
                end -= 1;
            }
            end
        }
    };
    Val::Int(s[..limit].rfind(*part).map_or(-1, |at| s[..at].chars().count() as i64))
}
