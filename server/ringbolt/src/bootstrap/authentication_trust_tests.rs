//! What comes of what is there and of what this server takes.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Arc;

use ringbolt_apiserver::authentication::{current::Current, x509::ClientCertificates};

use super::*;

const NOW: i64 = 1_800_000_000;
/// When the authorities of these tests end.
const END: i64 = 1_893_456_000;

fn authority(name: &str) -> String {
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2030, 1, 1);
    let pem = parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
    pem.replace("\r\n", "\n")
}

fn taken(pem: &str) -> ClientCertificates {
    ClientCertificates::from_pem(pem.as_bytes()).unwrap()
}

#[test]
fn bundles_are_combined() {
    let (a, b) = (authority("a"), authority("b"));
    let check = |found: &str, ours: &str, now_s, expect: &str| {
        let found = combined(CLIENT_CA, found, taken(ours).authorities(), now_s);
        assert_eq!(found.unwrap(), expect, "{ours} at {now_s}");
    };
    check("", &a, NOW, &a);
    check(&a, &a, NOW, &a);
    check(&a, &b, NOW, &format!("{a}{b}"));
    check(&format!("{a}{b}"), &a, NOW, &format!("{a}{b}"));
    check(&format!("what is no PEM\n{b}"), &a, NOW, &format!("{b}{a}"));
    check(&a, &a, END + SLACK_S - 1, &a);
    check(&a, &a, END + SLACK_S, "");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(combined(CLIENT_CA, broken, taken(&a).authorities(), NOW).is_err());
}

#[test]
fn lists_are_combined() {
    let check = |found: &str, ours: &[&str], expect: Result<&str, ()>| {
        let ours: Vec<_> = ours.iter().map(|text| (*text).to_owned()).collect();
        let found = listed("k", found, &ours);
        assert_eq!(found.as_deref().map_err(|_| ()), expect, "{ours:?}");
    };
    check("", &[], Ok("[]"));
    check("", &["b", "a", "b"], Ok(r#"["b","a"]"#));
    check(r#"["x","a"]"#, &["a", "c"], Ok(r#"["x","a","c"]"#));
    check("null", &["a"], Ok(r#"["a"]"#));
    check("a", &["a"], Err(()));
    check("{}", &["a"], Err(()));
    check("[1]", &["a"], Err(()));
}

fn trust(client_ca: &str, proxies: Option<&str>) -> Trust {
    let names = |name: &str| vec![name.to_owned()];
    let config = RequestHeaderConfig {
        allowed_names: names("front-proxy"),
        username_headers: names("X-Remote-User"),
        uid_headers: Vec::new(),
        group_headers: names("X-Remote-Group"),
        extra_header_prefixes: names("X-Remote-Extra-"),
    };
    let current = |pem: &str| Arc::new(Current::new(taken(pem)));
    Trust {
        client_ca: current(client_ca),
        proxies: proxies.map(|pem| (current(pem), config)),
        files: Vec::new(),
        changed: Arc::default(),
    }
}

#[test]
fn what_is_to_be_there() {
    let (a, b) = (authority("a"), authority("b"));
    let data = |pairs: &[(&str, &str)]| -> Data {
        let mut data: Data = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        data.sort();
        data
    };
    let check = |found: &[(&str, &str)], trust: &Trust, expect: &[(&str, &str)]| {
        assert_eq!(wanted(&data(found), trust, NOW).unwrap(), data(expect));
    };
    check(&[], &trust(&a, None), &[(CLIENT_CA, &a)]);
    let proxies = [
        (CLIENT_CA, a.as_str()),
        (PROXY_CA, b.as_str()),
        (ALLOWED_NAMES, r#"["front-proxy"]"#),
        (USERNAME_HEADERS, r#"["X-Remote-User"]"#),
        (GROUP_HEADERS, r#"["X-Remote-Group"]"#),
        (EXTRA_PREFIXES, r#"["X-Remote-Extra-"]"#),
    ];
    check(&[], &trust(&a, Some(&b)), &proxies);
    check(&proxies, &trust(&a, Some(&b)), &proxies);
    // A server without proxies leaves those of others, and nobody's keys do not stay.
    let mut more = proxies.to_vec();
    more.push((UID_HEADERS, r#"["X-Remote-Uid"]"#));
    check(&more, &trust(&a, None), &more);
    more.push(("note", "mine"));
    check(&more, &trust(&a, None), &more[..7]);
    check(&[(USERNAME_HEADERS, "[]"), (PROXY_CA, "")], &trust(&a, None), &[(CLIENT_CA, &a)]);
    assert!(wanted(&data(&[(USERNAME_HEADERS, "no list"), (PROXY_CA, &b)]), &trust(&a, None), NOW).is_err());
}

#[test]
fn patches() {
    let data = |pairs: &[(&str, &str)]| -> Data {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    let patch = difference(&data(&[("a", "1"), ("b", "2")]), &data(&[("b", "3\n")]), "7");
    let expect = r#"{"metadata":{"resourceVersion":"7"},"data":{"b":"3\n","a":null}}"#;
    assert_eq!(String::from_utf8(patch).unwrap(), expect);
}
