//! Reads single values from an object's stored form (JSON without its leading brace) without decoding it.

use std::borrow::Cow;

/// The scalar at a path of member names (a number is an index of a list) in stored JSON: an object without its
/// leading brace. Strings are unescaped, numbers and booleans come as they stand. `None` where the path breaks off
/// or ends in `null` or something that is no scalar.
pub fn scalar<'j>(stored: &'j [u8], path: &[&str]) -> Option<Cow<'j, str>> {
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
        i += memchr::memchr2(b'"', b'\\', json.get(i..)?)?;
        if json[i] == b'"' {
            return Some(i + 1);
        }
        i += 2;
    }
}

/// The position behind the value that begins at `at`.
fn value_end(json: &[u8], at: usize) -> Option<usize> {
    match json.get(at)? {
        b'"' => return string_end(json, at),
        b'{' | b'[' => {}
        _ => {
            let rest = json.get(at..)?;
            return rest.iter().position(|b| matches!(b, b',' | b'}' | b']')).map(|n| at + n);
        }
    }
    let mut depth = 0usize;
    let mut i = at;
    loop {
        match json.get(i)? {
            b'"' => {
                i = string_end(json, i)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
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

/// The value of `metadata`, braces included.
pub fn metadata(stored: &[u8]) -> Option<&[u8]> {
    let start = member(stored, 0, "metadata")?;
    stored.get(start..value_end(stored, start)?)
}

/// What identifies an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity<'j> {
    /// `metadata.name`.
    pub name: Cow<'j, str>,
    /// `metadata.namespace`, empty where there is none.
    pub namespace: Cow<'j, str>,
    /// `metadata.uid`, empty where there is none.
    pub uid: Cow<'j, str>,
}

/// Reads name, namespace and uid, which stand before the bulk of the metadata.
pub fn identity(stored: &[u8]) -> Identity<'_> {
    let read = |name| scalar(stored, &["metadata", name]).unwrap_or_default();
    Identity { name: read("name"), namespace: read("namespace"), uid: read("uid") }
}

/// Whether `metadata.deletionTimestamp` is set.
pub fn is_terminating(stored: &[u8]) -> bool {
    scalar(stored, &["metadata", "deletionTimestamp"]).is_some()
}

/// The position behind the value of `metadata`, which is the first member of every stored object.
pub fn metadata_end(stored: &[u8]) -> Option<usize> {
    value_end(stored, member(stored, 0, "metadata")?)
}

/// `metadata.labels` as `key NUL value NUL …`, keys sorted; empty where there are none.
pub fn labels(stored: &[u8]) -> String {
    let mut pairs = Vec::new();
    collect_labels(stored, &mut pairs);
    pairs.sort_unstable();
    let mut out = String::new();
    for (key, value) in pairs {
        out.push_str(&key);
        out.push('\0');
        out.push_str(&value);
        out.push('\0');
    }
    out
}

fn collect_labels(stored: &[u8], pairs: &mut Vec<(String, String)>) -> Option<()> {
    let metadata = member(stored, 0, "metadata")?;
    let labels = member(stored, metadata + 1, "labels")?;
    let mut at = labels + 1;
    while stored.get(at)? == &b'"' {
        let colon = string_end(stored, at)?;
        pairs.push((text(stored, at)?.into_owned(), text(stored, colon + 1)?.into_owned()));
        at = value_end(stored, colon + 1)?;
        if stored.get(at)? == &b',' {
            at += 1;
        }
    }
    Some(())
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

    #[test]
    fn metadata_and_labels() {
        let stored = br#""metadata":{"name":"a}","labels":{"z":"1","a/b":"x\"y","e":""}},"data":{"k":"v"}}"#;
        let end = metadata_end(stored).unwrap();
        assert!(stored[end..].starts_with(b",\"data\""));
        assert_eq!(labels(stored), "a/b\0x\"y\0e\0\0z\x001\0");
        assert_eq!(labels(br#""metadata":{"name":"a"}}"#), "");
        assert_eq!(metadata(br#""metadata":{"name":"a"},"x":1}"#), Some(&br#"{"name":"a"}"#[..]));
    }

    #[test]
    fn identities() {
        let stored = br#""metadata":{"name":"a","namespace":"n","uid":"u","deletionTimestamp":"2024"}}"#;
        let identity = identity(stored);
        assert_eq!((&*identity.name, &*identity.namespace, &*identity.uid), ("a", "n", "u"));
        assert!(is_terminating(stored));
        assert!(!is_terminating(br#""metadata":{"name":"a"},"spec":{"deletionTimestamp":"x"}}"#));
        // Cut anywhere it finds nothing, and does not fail.
        for end in 0..stored.len() {
            let _ = (
                scalar(&stored[..end], &["metadata", "uid"]),
                labels(&stored[..end]),
                metadata_end(&stored[..end]),
            );
        }
    }
}
