//! Finds one value in an object's stored form without decoding it, for field selectors.

use std::borrow::Cow;

/// The scalar at a path of member names (a number is an index of a list) in stored JSON: an object without its
/// leading brace. Strings are unescaped, numbers and booleans come as they stand. `None` where the path breaks off
/// or ends in `null` or something that is no scalar.
pub(crate) fn scalar<'j>(stored: &'j [u8], path: &[&str]) -> Option<Cow<'j, str>> {
    let (name, rest) = path.split_first()?;
    let mut at = member(stored, 0, name)?;
    for step in rest {
        at = match stored.get(at)? {
            b'{' => member(stored, at + 1, step)?,
            b'[' => element(stored, at + 1, step.parse().ok()?)?,
            _ => return None,
        };
    }
    text(stored, at)
}

/// Where the value of a member begins; `at` is behind the object's brace.
fn member(json: &[u8], mut at: usize, name: &str) -> Option<usize> {
    loop {
        if json.get(at)? != &b'"' {
            return None;
        }
        let end = string_end(json, at)?;
        // Keys of the paths asked for are plain, so an escaped key is another one.
        let found = &json[at + 1..end - 1] == name.as_bytes();
        at = end + 1;
        if found {
            return Some(at);
        }
        at = value_end(json, at)?;
        if json.get(at)? != &b',' {
            return None;
        }
        at += 1;
    }
}

fn element(json: &[u8], mut at: usize, index: usize) -> Option<usize> {
    if json.get(at)? == &b']' {
        return None;
    }
    for _ in 0..index {
        at = value_end(json, at)?;
        if json.get(at)? != &b',' {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// The position behind a string that begins at `at`.
fn string_end(json: &[u8], at: usize) -> Option<usize> {
    let mut i = at + 1;
    loop {
        match json.get(i)? {
            b'"' => return Some(i + 1),
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
}

/// The position behind the value that begins at `at`.
fn value_end(json: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut i = at;
    loop {
        match json.get(i)? {
            b'"' => {
                i = string_end(json, i)?;
                if depth == 0 {
                    return Some(i);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return Some(i),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            b',' if depth == 0 => return Some(i),
            _ => {}
        }
        i += 1;
    }
}

fn text(json: &[u8], at: usize) -> Option<Cow<'_, str>> {
    match json.get(at)? {
        b'"' => {
            let end = string_end(json, at)?;
            let raw = std::str::from_utf8(&json[at + 1..end - 1]).ok()?;
            if !raw.contains('\\') {
                return Some(Cow::Borrowed(raw));
            }
            Some(Cow::Owned(unescape(raw)))
        }
        b'{' | b'[' | b'n' => None,
        _ => std::str::from_utf8(&json[at..value_end(json, at)?]).ok().map(Cow::Borrowed),
    }
}

fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            // What the server stored holds no surrogates: it escapes control and HTML characters only.
            Some('u') => {
                let code: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&code, 16).unwrap_or(0xfffd);
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &[&str], expect: Option<&str>) {
        let stored = br#""metadata":{"name":"a","labels":{"x":"{\"spec\":1}"}},"spec":{"n":"b\u003c\"","on":true,"list":[{"ip":"1"},{"ip":"2"}],"none":null,"empty":[]},"status":{"replicas":3}}"#;
        assert_eq!(scalar(stored, path).as_deref(), expect, "{path:?}");
    }

    #[test]
    fn finds_scalars() {
        check(&["metadata", "name"], Some("a"));
        check(&["spec", "n"], Some("b<\""));
        check(&["spec", "on"], Some("true"));
        check(&["spec", "list", "1", "ip"], Some("2"));
        check(&["status", "replicas"], Some("3"));
        check(&["spec", "list", "2", "ip"], None);
        check(&["spec", "empty", "0", "ip"], None);
        check(&["spec", "none"], None);
        check(&["spec"], None);
        check(&["spec", "missing"], None);
        check(&["x"], None);
    }
}
