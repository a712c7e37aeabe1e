//! Tokens that a key of the server signed, and that are no tokens of accounts all the same. Verdicts and texts are those of
//! kube-apiserver 1.37.2.

use super::*;

/// The verdict on a good token whose payload has `from` replaced by `to`.
fn check(from: &str, to: &str, expect: Option<&str>) {
    let rig = rig();
    let payload = opened(&rig.issue(claims())).pop().unwrap();
    assert!(payload.contains(from), "{from} of {payload}");
    let token = jwt::sign(&rig.tokens.issuer.key, payload.replace(from, to).as_bytes()).unwrap();
    assert_eq!(rig.user(&token).err().as_deref(), expect, "{to}");
}

#[test]
fn claims_of_the_wrong_kind() {
    let of =
        |found: &str, wanted: &str| format!("json: cannot unmarshal {found} into Go value of type {wanted}");
    let audiences = "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience";
    let own = r#"{"namespace":"ns","serviceaccount":{"name":"robot","uid":"u-account"}}"#;
    check(r#"["https://api"]"#, r#""https://api""#, None);
    for wrong in ["1", "null", r#"["https://api",1]"#, "{}", "true"] {
        check(r#"["https://api"]"#, wrong, Some(audiences));
    }
    check(r#""j-1""#, "null", None);
    check(r#""j-1""#, "5", Some(&of("number", "string")));
    check(r#""j-1""#, "[]", Some(&of("array", "string")));
    check(r#""system:serviceaccount:ns:robot""#, "{}", Some(&of("object", "string")));
    check(own, "true", Some(&of("bool", "serviceaccount.kubernetes")));
    check(own, "null", Some("resource name may not be empty"));
    check(r#""namespace":"ns","#, "", Some("the server could not find the requested resource"));
    check(r#"{"name":"robot","uid":"u-account"}"#, "[]", Some(&of("array", "serviceaccount.ref")));
    check(r#""uid":"u-account""#, r#""uid":7"#, Some(&of("number", "string")));
    check(
        r#""namespace":"ns","#,
        r#""namespace":"ns","pod":"p","#,
        Some(&of("string", "serviceaccount.ref")),
    );
    check(r#""namespace":"ns","#, r#""namespace":"ns","pod":null,"#, None);
}

#[test]
fn members_given_twice() {
    check(r#","sub":"#, r#","sub":"a","sub":"#, Some("json: duplicate key 'sub' in object"));
    check(r#"{"aud":"#, r#"{"aud":["vault"],"aud":"#, Some("json: duplicate key 'aud' in object"));
}

/// A good payload under another header; the header's signature is good.
#[test]
fn headers() {
    let check = |header: &str, expect: Result<bool, &str>| {
        let rig = rig();
        let payload = opened(&rig.issue(claims())).pop().unwrap();
        let header = header.replace("KID", rig.tokens.keys[0].id());
        let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", part(&header), part(&payload));
        let signature = rig.tokens.issuer.key.sign(signed.as_bytes()).unwrap();
        let token = format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
        let found = rig.user(&token);
        let found = found.as_ref().map(Option::is_some).map_err(String::as_str);
        assert_eq!(found, expect, "{header}");
    };
    let bad = Err("go-jose/go-jose: error in cryptographic primitive");
    check(r#"{"alg":"ES256","kid":"KID"}"#, Ok(true));
    check(r#"{"alg":"ES256","kid":null,"typ":"JWT"}"#, Ok(true));
    check(r#"{"alg":"ES256","kid":1}"#, Ok(false));
    check(r#"{"alg":"ES256","alg":"none","kid":"KID"}"#, Ok(false));
    check(r#"["ES256"]"#, Ok(false));
    check(r#"{"alg":7}"#, Ok(false));
    check(r#"{"kid":"KID"}"#, bad);
    check(r#"{"alg":"none","kid":"KID"}"#, bad);
    check(r#"{"alg":"es256","kid":"KID"}"#, bad);
    check(r#"{"alg":"ES256","kid":"KID","crit":["b64"],"b64":false}"#, bad);
    check(r#"{"alg":"ES256","kid":"x"}"#, Err("invalid signature, no keys found"));
}
