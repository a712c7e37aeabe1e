//! Secrets that tokens lie in, and what is wrong with them.

use ringbolt_storage::{encoding::Encoding, object::Attributes};

use super::*;

const NOW: i64 = 1_800_000_000;
const SECRET: &str = "0123456789abcdef";

/// A secret that holds these data besides what a token needs; what is given twice counts as given last.
fn secret(kind: &str, more: &[(&str, &str)]) -> Object {
    let good = [("token-id", "abcdef"), ("token-secret", SECRET), ("usage-bootstrap-authentication", "true")];
    let kept = good.iter().filter(|(key, _)| more.iter().all(|(other, _)| other != key));
    let data: Vec<_> = kept
        .chain(more)
        .map(|(key, value)| format!(r#""{key}":"{}""#, BASE64_STANDARD.encode(value)))
        .collect();
    let json = format!(r#""metadata":{{"name":"x"}},"data":{{{}}},"type":"{kind}"}}"#, data.join(","));
    Object {
        resource: ResourceId(2),
        key: "kube-system/bootstrap-token-abcdef".into(),
        namespace_len: 11,
        revision: 1,
        json: json.into(),
        splice: 0..0,
        attributes: Attributes::default(),
        expires: 0,
        protobuf: Encoding::default(),
    }
}

#[test]
fn tokens_are_taken_apart() {
    let check = |token: &str, expect: Option<(&str, &str)>| assert_eq!(parse(token), expect, "{token}");
    check("abcdef.0123456789abcdef", Some(("abcdef", SECRET)));
    for bad in [
        "",
        ".",
        "abcdef",
        "abcde.0123456789abcdef",
        "abcdef.0123456789abcde",
        "abcdef.0123456789abcdef0",
        "Abcdef.0123456789abcdef",
        "abcdef.0123456789abcde.",
        "abcdéf.0123456789abcdef",
        "abcdef.0123456789abcdef\n",
    ] {
        check(bad, None);
    }
}

#[test]
fn secrets() {
    let check = |kind: &str, more: &[(&str, &str)], expect: Result<&[&str], &str>| {
        let found = user_of(&secret(kind, more), "abcdef", SECRET, NOW);
        let found = found.map(|user| {
            assert_eq!((user.name.as_str(), user.uid.as_str()), ("system:bootstrap:abcdef", ""));
            assert!(user.extra.is_empty());
            user.groups
        });
        let expect = expect.map(|groups| groups.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expect, "{more:?}");
    };
    let own: &[&str] = &["system:bootstrappers", "system:authenticated"];
    check(SECRET_TYPE, &[], Ok(own));
    check("Opaque", &[], Err("the secret is of another type"));
    check(SECRET_TYPE, &[("token-secret", "0123456789abcdeX")], Err("the token-secret is another one"));
    check(SECRET_TYPE, &[("token-secret", "")], Err("the token-secret is another one"));
    check(SECRET_TYPE, &[("token-id", "abcdeg")], Err("the token-id is another one"));
    for no in ["false", "True", "1", ""] {
        let usage = [("usage-bootstrap-authentication", no)];
        check(SECRET_TYPE, &usage, Err("it is not for authentication"));
    }
    // NOW is 2027-01-15T08:00:00Z.
    for good in ["", "2027-01-15T08:00:01Z", "2027-01-15T09:00:01+01:00", "2027-01-15T08:00:00.5Z"] {
        check(SECRET_TYPE, &[("expiration", good)], Ok(own));
    }
    for over in ["2027-01-15T08:00:00Z", "2026-01-01T00:00:00Z", "tomorrow", "2028-01-01"] {
        check(SECRET_TYPE, &[("expiration", over)], Err("it has expired"));
    }
    check(
        SECRET_TYPE,
        &[("auth-extra-groups", "system:bootstrappers:z,system:bootstrappers:a-1:b,system:bootstrappers:z")],
        Ok(&[
            "system:bootstrappers",
            "system:bootstrappers:a-1:b",
            "system:bootstrappers:z",
            "system:authenticated",
        ]),
    );
    for bad in [
        "system:masters",
        "system:bootstrappers",
        "system:bootstrappers:",
        "system:bootstrappers:a-",
        "system:bootstrappers:A",
        "system:bootstrappers:a,",
        " system:bootstrappers:a",
    ] {
        check(SECRET_TYPE, &[("auth-extra-groups", bad)], Err("its auth-extra-groups are invalid"));
    }
    let long = |n: usize| format!("system:bootstrappers:{}", "a".repeat(n));
    check(SECRET_TYPE, &[("auth-extra-groups", &long(257))], Err("its auth-extra-groups are invalid"));
    check(
        SECRET_TYPE,
        &[("auth-extra-groups", &long(256))],
        Ok(&["system:bootstrappers", &long(256), "system:authenticated"]),
    );
}

#[test]
fn a_secret_that_is_being_deleted_stands_for_nobody() {
    let mut stored = secret(SECRET_TYPE, &[]);
    stored.attributes.terminating = true;
    assert_eq!(user_of(&stored, "abcdef", SECRET, NOW), Err("it is being deleted"));
}
