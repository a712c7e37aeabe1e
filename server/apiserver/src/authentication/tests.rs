//! The union: which credential counts where there are several, and what a bad one comes to.

use std::cell::RefCell;

use ringbolt_protocol::head::{BodyLength, HeaderSpan, Span, Version};

use super::{service_account::VerifiedTokens, *};

/// A head with these fields.
pub(super) fn with_headers<T>(headers: &[(&str, &str)], test: impl FnOnce(&Head<'_>) -> T) -> T {
    let mut buffer = String::new();
    let mut put = |text: &str| {
        let start = buffer.len() as u32;
        buffer.push_str(text);
        Span { start, end: buffer.len() as u32 }
    };
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| HeaderSpan { name: put(name), value: put(value) }).collect();
    test(&Head {
        buffer: buffer.as_bytes(),
        method: "GET",
        target: "/",
        authority: "",
        version: Version::Http11,
        headers: &headers,
        body: BodyLength::None,
    })
}

fn union(anonymous: Anonymous) -> Authenticators {
    let tokens = TokenFile::parse("good,alice,1").expect("three columns");
    Authenticators::new(None, Some(tokens), anonymous)
}

fn ask(
    union: &Authenticators,
    headers: &[(&str, &str)],
    path: &str,
) -> (Result<String, Refusal>, Vec<String>) {
    let (storage, verified) = (service_account::empty_store(), VerifiedTokens::default());
    let warnings = RefCell::default();
    let at = Lookup { warnings: Some(&warnings), ..Lookup::new(&*storage, &verified, 0) };
    let found = with_headers(headers, |head| union.authenticate(&Peer::default(), head, path, &at));
    (found.map(|user| user.name.clone()), warnings.into_inner())
}

#[test]
fn tokens_and_the_anonymous() {
    let check = |anonymous: bool, value: &str, expect: Result<&str, Refusal>| {
        let (found, warnings) = ask(&union(Anonymous::new(anonymous)), &[("Authorization", value)], "/");
        assert_eq!(found, expect.map(str::to_owned), "{value:?}");
        warnings
    };
    let nobody = "system:anonymous";
    assert!(check(true, "Bearer good", Ok("alice")).is_empty());
    check(true, "Bearer bad", Err(Refusal::Failed));
    check(true, "Basic bad", Ok(nobody));
    check(false, "Basic bad", Err(Refusal::Unknown));
    check(false, "Bearer good", Ok("alice"));
    assert_eq!(check(true, "Bearer  good", Ok(nobody)), [EXTRA_SPACE]);
    check(false, "Bearer  good", Err(Refusal::Unknown));
}

#[test]
fn a_token_in_a_subprotocol_stands_in_for_the_header() {
    let good = ("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.Z29vZA, v4.channel.k8s.io");
    let bad = ("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.YmFk, v4.channel.k8s.io");
    let socket = [("Upgrade", "websocket"), ("Connection", "Upgrade")];
    let check = |more: &[(&str, &str)], expect: Result<&str, Refusal>| {
        let headers = [&socket, more].concat();
        let (found, _) = ask(&union(Anonymous::new(true)), &headers, "/");
        assert_eq!(found, expect.map(str::to_owned), "{more:?}");
    };
    check(&[good], Ok("alice"));
    check(&[bad], Err(Refusal::Failed));
    check(&[good, ("Authorization", "Bearer bad")], Ok("alice"));
    check(&[bad, ("Authorization", "Bearer good")], Ok("alice"));
    check(&[("Sec-WebSocket-Protocol", "v4.channel.k8s.io")], Ok("system:anonymous"));
}

#[test]
fn the_anonymous_ask_for_some_paths_only() {
    let union = union(Anonymous::with_paths(vec!["/livez".to_owned()]));
    assert_eq!(ask(&union, &[], "/livez").0, Ok("system:anonymous".to_owned()));
    assert_eq!(ask(&union, &[], "/api").0, Err(Refusal::Unknown));
    assert_eq!(ask(&union, &[("Authorization", "Bearer bad")], "/livez").0, Err(Refusal::Failed));
}

#[test]
fn tokens_of_a_file_are_read_anew() {
    let union = union(Anonymous::new(false));
    let good = [("Authorization", "Bearer good")];
    assert_eq!(ask(&union, &good, "/").0, Ok("alice".to_owned()));
    let tokens = union.tokens.as_ref().expect("it has some");
    tokens.replace(TokenFile::parse("other,bob,2").expect("three columns"));
    assert_eq!(ask(&union, &good, "/").0, Err(Refusal::Failed));
    assert_eq!(ask(&union, &[("Authorization", "Bearer other")], "/").0, Ok("bob".to_owned()));
}
