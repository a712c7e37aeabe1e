//! Proxies and the users they ask for.

use rcgen::DnType;

use super::*;
use crate::authentication::{
    tests::with_headers,
    x509::tests::{authority, issue, now},
};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn standard() -> RequestHeaderConfig {
    RequestHeaderConfig {
        allowed_names: names(&["front-proxy", "other-proxy"]),
        username_headers: names(&["X-Remote-User", "X-Name"]),
        uid_headers: names(&["X-Remote-Uid"]),
        group_headers: names(&["X-Remote-Group", "X-Groups"]),
        extra_header_prefixes: names(&["X-Remote-Extra-", "X-More-"]),
    }
}

#[test]
fn headers_that_are_read() {
    let config = RequestHeaderConfig {
        username_headers: names(&["x-name"]),
        uid_headers: names(&["x-uid"]),
        group_headers: names(&["x-groups", "x-teams"]),
        extra_header_prefixes: names(&["x-more-"]),
        ..RequestHeaderConfig::default()
    };
    for name in ["x-name", "x-uid", "x-groups", "x-teams", "x-more-", "x-more-scopes"] {
        assert!(config.reads(name), "{name}");
    }
    for name in ["x-names", "x-more", "x-remote-user", ""] {
        assert!(!config.reads(name), "{name}");
    }
}

#[test]
fn headers_become_a_user() {
    let check = |headers: &[(&str, &str)], expect: Option<(&str, &str, &[&str])>| {
        let found = with_headers(headers, |head| standard().user(head));
        let found = found.as_ref().map(|user| (user.name.as_str(), user.uid.as_str(), user.groups.clone()));
        assert_eq!(found, expect.map(|(name, uid, groups)| (name, uid, names(groups))), "{headers:?}");
    };
    let known: &[&str] = &["system:authenticated"];
    check(&[], None);
    check(&[("X-Remote-User", "")], None);
    check(&[("X-Remote-Group", "g")], None);
    check(&[("x-remote-user", "jane")], Some(("jane", "", known)));
    check(&[("X-Name", "second"), ("X-Remote-User", "first")], Some(("first", "", known)));
    check(&[("X-Name", "second"), ("X-Remote-User", "")], Some(("second", "", known)));
    check(&[("X-Remote-User", "a"), ("X-Remote-User", "b"), ("X-Remote-Uid", "7")], Some(("a", "7", known)));
    check(
        &[
            ("X-Groups", "z"),
            ("X-Remote-User", "a"),
            ("X-Remote-Group", "b"),
            ("X-Remote-Group", ""),
            ("X-Remote-Group", "c,d"),
        ],
        Some(("a", "", &["b", "c,d", "z", "system:authenticated"])),
    );
    check(&[("X-Remote-User", "system:anonymous")], Some(("system:anonymous", "", &[])));
    check(
        &[("X-Remote-User", "a"), ("X-Remote-Group", "system:unauthenticated")],
        Some(("a", "", &["system:unauthenticated"])),
    );
}

#[test]
fn keys_of_extras() {
    let headers = [
        ("X-Remote-User", "a"),
        ("X-Remote-Extra-Scopes", "one"),
        ("X-More-Scopes", "three"),
        ("x-remote-extra-SCOPES", "two"),
        ("X-Remote-Extra-Acme.com%2Fproject", ""),
        ("X-Remote-Extra-bad%zz", "v"),
        ("X-Remote-Extra-", "nameless"),
        ("X-Remote-Extr", "no extra"),
    ];
    let found = with_headers(&headers, |head| standard().user(head)).unwrap().extra;
    let expect: [(&str, &[&str]); 4] = [
        ("", &["nameless"]),
        ("acme.com/project", &[""]),
        ("bad%zz", &["v"]),
        ("scopes", &["one", "two", "three"]),
    ];
    let expect: Vec<_> = expect.iter().map(|(key, values)| ((*key).to_owned(), names(values))).collect();
    assert_eq!(found, expect);
}

#[test]
fn only_proxies_are_believed() {
    let (proxies, others) = (authority("proxies"), authority("others"));
    let trust = |ca: &str| ClientCertificates::from_pem(ca.as_bytes()).unwrap();
    let current = Arc::new(Current::new(trust(&proxies.pem())));
    let some = RequestHeader::new(current.clone(), &standard());
    let any =
        RequestHeader::new(current.clone(), &RequestHeaderConfig { allowed_names: Vec::new(), ..standard() });
    let certificate = |by, name: &str| Peer::new(vec![issue(by, &[(DnType::CommonName, name)], |_| ())]);
    let ask = |to: &RequestHeader, peer: &Peer, user: &str| {
        let found = with_headers(&[("X-Remote-User", user)], |head| to.authenticate(peer, head, now()));
        found.map(|user| user.map(|user| user.name.clone()))
    };
    let jane = Ok(Some("jane".to_owned()));
    assert_eq!(ask(&some, &Peer::default(), "jane"), Ok(None), "who shows nothing is believed nothing");
    let proxy = certificate(&proxies, "front-proxy");
    assert_eq!(ask(&some, &proxy, "jane"), jane);
    assert_eq!(ask(&some, &proxy, "joe"), Ok(Some("joe".to_owned())), "each request has a user of its own");
    assert_eq!(ask(&some, &proxy, ""), Ok(None));
    assert_eq!(ask(&some, &certificate(&proxies, "stranger"), "jane"), Err(Bad));
    assert_eq!(ask(&any, &certificate(&proxies, "stranger"), "jane"), jane);
    assert_eq!(ask(&any, &certificate(&others, "front-proxy"), "jane"), Err(Bad));
    // The same connections, after another authority has come.
    let stranger = certificate(&others, "front-proxy");
    assert_eq!(ask(&some, &stranger, "jane"), Err(Bad));
    current.replace(trust(&others.pem()));
    assert_eq!(ask(&some, &stranger, "jane"), jane);
    assert_eq!(ask(&some, &proxy, "jane"), Err(Bad));
}
