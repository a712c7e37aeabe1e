//! What the headers of a request say about whom it wants to be.

use std::{collections::BTreeMap, fmt::Write};

use ringbolt_machinery::{field::quote, status::Status};
use ringbolt_protocol::{
    head::{Head, HeaderSpan},
    path,
};

use crate::authentication::UserInfo;

const PREFIX: &[u8] = b"impersonate-";
const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &[u8] = b"impersonate-extra-";

/// Whether there are any.
#[inline]
pub(super) fn are_in(head: &Head<'_>) -> bool {
    head.fields().any(|(name, _)| is_one(name))
}

#[inline]
fn is_one(name: &[u8]) -> bool {
    // The first letter rules nearly all others out.
    name.first().is_some_and(|first| first | 0x20 == b'i')
        && starts_with(name, PREFIX)
        && (starts_with(name, EXTRA)
            || [USER, GROUP, UID].iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes())))
}

fn starts_with(name: &[u8], prefix: &[u8]) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// The headers that what comes behind may see.
pub(super) fn without(head: &Head<'_>) -> Vec<HeaderSpan> {
    head.headers.iter().filter(|header| !is_one(header.name.of(head.buffer))).copied().collect()
}

/// The user as asked for, nothing added. None where no user is named; a 400 where anything else of one is.
pub(super) fn wanted_user(head: &Head<'_>) -> Result<Option<UserInfo>, Status> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let first = |name| head.header(name).map(text).unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in head.fields() {
        if starts_with(name, EXTRA) {
            extra.entry(key_of(&name[EXTRA.len()..])).or_default().push(text(value));
        }
    }
    let wanted = UserInfo {
        name: first(USER),
        uid: first(UID),
        groups: head.headers_named(GROUP).map(text).collect(),
        extra: extra.into_iter().collect(),
    };
    if !wanted.name.is_empty() {
        return Ok(Some(wanted));
    }
    if wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty() {
        return Ok(None);
    }
    let message = format!("requested {} without impersonating a user name", go_syntax(&wanted));
    Err(Status::bad_request(message))
}

/// The key of an extra: lower case, and escaped as in a path so that all of it can be a header's name.
fn key_of(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let mut scratch = Vec::new();
    match path::decode(&name, &mut scratch) {
        Ok(key) => key.to_owned(),
        Err(_) => name,
    }
}

/// Go's `%#v` of a user: clients see it.
fn go_syntax(user: &UserInfo) -> String {
    let texts = |texts: &[String]| texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", ");
    let mut out = format!("&user.DefaultInfo{{Name:{}, UID:{}, Groups:", quote(&user.name), quote(&user.uid));
    match &user.groups[..] {
        [] => out.push_str("[]string(nil)"),
        groups => {
            let _ = write!(out, "[]string{{{}}}", texts(groups));
        }
    }
    out.push_str(", Extra:map[string][]string");
    match &user.extra[..] {
        [] => out.push_str("(nil)"),
        extra => {
            let pairs =
                extra.iter().map(|(key, values)| format!("{}:[]string{{{}}}", quote(key), texts(values)));
            let _ = write!(out, "{{{}}}", pairs.collect::<Vec<_>>().join(", "));
        }
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use ringbolt_protocol::head::{BodyLength, HeadBuf, Span, Version};

    use super::*;

    fn with_headers<T>(headers: &[(&str, &str)], test: impl FnOnce(&Head<'_>) -> T) -> T {
        let mut buffer = String::new();
        let mut put = |text: &str| {
            let start = buffer.len() as u32;
            buffer.push_str(text);
            Span { start, end: buffer.len() as u32 }
        };
        let spans: Vec<_> =
            headers.iter().map(|(name, value)| HeaderSpan { name: put(name), value: put(value) }).collect();
        let mut copy = HeadBuf::default();
        copy.assign(&Head {
            buffer: buffer.as_bytes(),
            method: "GET",
            target: "/",
            authority: "",
            version: Version::Http11,
            headers: &spans,
            body: BodyLength::None,
        });
        test(&copy.head())
    }

    /// `NAME UID GROUP,… KEY=VALUE,…;…` of what is wanted, or the message.
    fn check(headers: &[(&str, &str)], expect: Result<&str, &str>) {
        let found = with_headers(headers, |head| match wanted_user(head) {
            Ok(None) => Ok("nobody".to_owned()),
            Ok(Some(user)) => {
                let extra: Vec<_> =
                    user.extra.iter().map(|(key, values)| format!("{key}={}", values.join(","))).collect();
                Ok(format!("{} {} {} {}", user.name, user.uid, user.groups.join(","), extra.join(";")))
            }
            Err(status) => Err((status.code, status.message)),
        });
        let expect = expect.map(str::to_owned).map_err(|message| (400, message.to_owned()));
        assert_eq!(found, expect, "{headers:?}");
    }

    #[test]
    fn wanted() {
        check(&[], Ok("nobody"));
        check(&[("Impersonate-User", "")], Ok("nobody"));
        check(&[("Impersonate-User", ""), ("Impersonate-Uid", "")], Ok("nobody"));
        check(&[("impersonate-user", "jane"), ("impersonate-user", "joe")], Ok("jane   "));
        check(&[("Impersonate-User", ""), ("Impersonate-User", "joe")], Ok("nobody"));
        check(
            &[
                ("IMPERSONATE-USER", "jane"),
                ("Impersonate-Group", "b"),
                ("Impersonate-Group", "a"),
                ("Impersonate-Uid", "7"),
                ("Impersonate-Extra-Y", "2"),
                ("Impersonate-Extra-Acme.com%2Fx", "1"),
                ("impersonate-extra-y", "3"),
                ("Impersonate-Extra-a%zz", "4"),
            ],
            Ok("jane 7 b,a a%zz=4;acme.com/x=1;y=2,3"),
        );
    }

    #[test]
    fn without_a_user() {
        let nobody = |rest: &str| {
            format!(r#"requested &user.DefaultInfo{{Name:"", UID:{rest}}} without impersonating a user name"#)
        };
        let message = nobody(r#""", Groups:[]string{"jane"}, Extra:map[string][]string(nil)"#);
        check(&[("Impersonate-Group", "jane")], Err(&message));
        let message = nobody(r#""7", Groups:[]string(nil), Extra:map[string][]string(nil)"#);
        check(&[("Impersonate-Uid", "7")], Err(&message));
        let message = nobody(
            r#""", Groups:[]string{""}, Extra:map[string][]string{"a":[]string{"7", "8"}, "c":[]string{"\""}}"#,
        );
        let headers = [("A", "7"), ("C", "\""), ("a", "8")];
        let headers = headers.map(|(key, value)| (format!("Impersonate-Extra-{key}"), value));
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        headers.push(("Impersonate-Group", ""));
        check(&headers, Err(&message));
    }

    #[test]
    fn gone_behind() {
        let headers = [
            ("Accept", "a"),
            ("Impersonate-User", "u"),
            ("impersonate-group", "g"),
            ("Impersonate-UID", "1"),
            ("Impersonate-Extra-X", "x"),
            ("Impersonate", "kept"),
            ("Impersonate-Users", "kept"),
            ("If-Match", "b"),
        ];
        with_headers(&headers, |head| {
            assert!(are_in(head));
            let kept = without(head);
            let behind = Head { headers: &kept, ..*head };
            let values: Vec<_> = behind.fields().map(|(_, value)| value).collect();
            assert_eq!(values, [&b"a"[..], b"kept", b"kept", b"b"]);
            assert!(!are_in(&behind));
        });
    }
}
