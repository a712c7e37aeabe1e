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

/// Where the values at several paths (see [`scalar`]) begin in stored JSON, found in one walk: `found` gets the
/// position for each path that leads somewhere, and keeps what it holds for the others. At most 32 paths.
pub fn positions(stored: &[u8], paths: &[&[&str]], found: &mut [Option<usize>]) {
    let wanted = paths.iter().take(u32::BITS as usize).enumerate();
    let wanted = wanted.filter(|(_, path)| !path.is_empty()).fold(0, |mask, (n, _)| mask | 1 << n);
    walk_members(stored, 0, &mut Wanted { paths, found }, wanted, 0);
}

/// What [`positions`] looks for.
struct Wanted<'p, 'f> {
    paths: &'p [&'p [&'p str]],
    found: &'f mut [Option<usize>],
}

impl Wanted<'_, '_> {
    /// Those of `mask` whose step at `depth` is `step`.
    fn at_step(&self, mut mask: u32, depth: usize, step: &[u8]) -> u32 {
        let mut matching = 0;
        while mask != 0 {
            let n = mask.trailing_zeros();
            mask &= mask - 1;
            if self.paths[n as usize].get(depth).is_some_and(|s| s.as_bytes() == step) {
                matching |= 1 << n;
            }
        }
        matching
    }
    /// The paths of `mask` lead to the value at `at`: notes those that end here. Answers those that go on.
    fn arrive(&mut self, mut mask: u32, depth: usize, at: usize) -> u32 {
        let mut deeper = 0;
        while mask != 0 {
            let n = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if self.paths[n].len() > depth + 1 {
                deeper |= 1 << n;
            } else if let Some(found @ None) = self.found.get_mut(n) {
                *found = Some(at);
            }
        }
        deeper
    }
}

/// The position behind the value at `at`, which is not walked into without need.
fn walk_value(json: &[u8], at: usize, wanted: &mut Wanted<'_, '_>, mask: u32, depth: usize) -> Option<usize> {
    if mask == 0 {
        return value_end(json, at);
    }
    match json.get(at)? {
        b'{' => walk_members(json, at + 1, wanted, mask, depth),
        b'[' => walk_elements(json, at + 1, wanted, mask, depth),
        _ => value_end(json, at),
    }
}

/// Looks at the members of an object from behind its brace, at most as far as it must. The position behind it.
fn walk_members(
    json: &[u8],
    mut at: usize,
    wanted: &mut Wanted<'_, '_>,
    mut mask: u32,
    depth: usize,
) -> Option<usize> {
    if json.get(at)? == &b'}' {
        return Some(at + 1);
    }
    loop {
        if json.get(at)? != &b'"' {
            return None;
        }
        let end = string_end(json, at)?;
        let here = wanted.at_step(mask, depth, &json[at + 1..end - 1]);
        at = end + 1;
        // A name stands once in an object.
        mask &= !here;
        let deeper = wanted.arrive(here, depth, at);
        if mask == 0 && depth == 0 && deeper == 0 {
            return None;
        }
        at = walk_value(json, at, wanted, deeper, depth + 1)?;
        match json.get(at)? {
            b',' if mask == 0 && depth == 0 => return None,
            b',' => at += 1,
            _ => return Some(at + 1),
        }
    }
}

fn walk_elements(
    json: &[u8],
    mut at: usize,
    wanted: &mut Wanted<'_, '_>,
    mask: u32,
    depth: usize,
) -> Option<usize> {
    if json.get(at)? == &b']' {
        return Some(at + 1);
    }
    let mut digits = itoa::Buffer::new();
    for index in 0usize.. {
        let here = wanted.at_step(mask, depth, digits.format(index).as_bytes());
        let deeper = wanted.arrive(here, depth, at);
        at = walk_value(json, at, wanted, deeper, depth + 1)?;
        match json.get(at)? {
            b',' => at += 1,
            _ => return Some(at + 1),
        }
    }
    None
}

/// The scalar that begins at `at`, which [`positions`] found. As [`scalar`] gives it.
pub fn scalar_at(stored: &[u8], at: usize) -> Option<Cow<'_, str>> {
    text(stored, at)
}

/// Labels, as [`labels`] gives them, of the map that begins at `at`, which [`positions`] found.
pub fn labels_at(stored: &[u8], at: usize) -> String {
    let mut pairs = Vec::new();
    collect_labels(stored, at, &mut pairs);
    joined(pairs)
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
    let found = member(stored, 0, "metadata").and_then(|metadata| member(stored, metadata + 1, "labels"));
    found.map(|at| labels_at(stored, at)).unwrap_or_default()
}

fn joined(mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)>) -> String {
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

fn collect_labels<'s>(
    stored: &'s [u8],
    labels: usize,
    pairs: &mut Vec<(Cow<'s, str>, Cow<'s, str>)>,
) -> Option<()> {
    if stored.get(labels)? != &b'{' {
        return None;
    }
    let mut at = labels + 1;
    while stored.get(at)? == &b'"' {
        let colon = string_end(stored, at)?;
        pairs.push((text(stored, at)?, text(stored, colon + 1)?));
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
    fn many_paths_in_one_walk() {
        let stored = br#""metadata":{"name":"a","labels":{"z":"1","a":"2"},"x":{}},"spec":{"n":"b\u003c\"","on":true,"list":[{"ip":"1"},[],{"ip":"2"}],"none":null,"empty":[],"deep":{"n":"c"}},"status":{"replicas":3},"kind":"k"}"#;
        let paths: &[&[&str]] = &[
            &["status", "replicas"],
            &["spec", "n"],
            &["spec", "list", "2", "ip"],
            &["spec", "list", "0", "ip"],
            &["spec", "deep", "n"],
            &["spec", "n"],
            &["spec", "none"],
            &["spec", "empty", "0"],
            &["metadata", "labels"],
            &["metadata", "name"],
            &["metadata", "x", "y"],
            &["kind"],
            &["nothing", "there"],
            &[],
        ];
        // Any number of them in any place: as one by one.
        for start in 0..paths.len() {
            for end in start..=paths.len() {
                let paths = &paths[start..end];
                let mut found = vec![None; paths.len()];
                positions(stored, paths, &mut found);
                for (path, at) in paths.iter().zip(found) {
                    let text = at.and_then(|at| scalar_at(stored, at));
                    assert_eq!(text, scalar(stored, path), "{path:?} of {paths:?}");
                    if path.last() == Some(&"labels") {
                        assert_eq!(labels_at(stored, at.unwrap()), "a\x002\0z\x001\0");
                    }
                }
            }
        }
        // Cut anywhere it finds what it can, and does not fail.
        for end in 0..stored.len() {
            let mut found = vec![None; paths.len()];
            positions(&stored[..end], paths, &mut found);
            for at in found.into_iter().flatten() {
                let _ = (scalar_at(&stored[..end], at), labels_at(&stored[..end], at));
            }
        }
        // Room for fewer answers than questions.
        positions(stored, paths, &mut [None; 2]);
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
