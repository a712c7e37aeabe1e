//! Tokens from their issue to their end.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::{Attributes, EncodedObject, Inspect},
};

use super::{keys::SigningKey, *};

#[path = "malformed_tests.rs"]
mod malformed;

/// Any time.
const NOW: i64 = 1_800_000_000;
const KINDS: BoundKinds = BoundKinds {
    service_accounts: ResourceId(0),
    pods: ResourceId(1),
    secrets: ResourceId(2),
    nodes: ResourceId(3),
};
const API: &str = "https://api";

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

/// A store with room for what tokens are bound to, and nothing in it.
pub(crate) fn empty_store() -> Arc<dyn Storage> {
    let names = ["serviceaccounts", "pods", "secrets", "nodes"].map(str::to_owned).to_vec();
    Embedded::open(EmbeddedOptions::new(names, None, Arc::new(NoAttributes)), Box::new(MemoryDisk::default()))
        .unwrap()
}

fn key() -> String {
    rcgen::KeyPair::generate().unwrap().serialize_pem()
}

fn tokens(signing: &str, checking: &str) -> ServiceAccountTokens {
    ServiceAccountTokens {
        issuers: vec![API.to_owned(), "https://old".to_owned()],
        keys: PublicKey::read_all(checking.as_bytes()).unwrap(),
        audiences: Arc::from([API.to_owned()]),
        lookup: true,
        issuer: Issuer {
            key: SigningKey::read(signing.as_bytes()).unwrap(),
            name: API.to_owned(),
            longest_seconds: 0,
            extends: true,
        },
        kinds: KINDS,
        uses: Arc::default(),
        counts: Arc::default(),
    }
}

struct Rig {
    storage: Arc<dyn Storage>,
    verified: VerifiedTokens,
    tokens: ServiceAccountTokens,
}

fn rig() -> Rig {
    let key = key();
    let rig = Rig { storage: empty_store(), verified: VerifiedTokens::default(), tokens: tokens(&key, &key) };
    rig.put(KINDS.service_accounts, "ns/robot", "u-account", "");
    rig
}

impl Rig {
    fn at(&self, now: i64) -> Lookup<'_> {
        Lookup::new(&*self.storage, &self.verified, now)
    }

    /// Stores an object, or a new state of it. `more` is text behind its uid in the metadata, and may end it.
    fn put(&self, resource: ResourceId, key: &str, uid: &str, more: &str) {
        self.put_labelled(resource, key, uid, more, "");
    }

    /// The same with labels, `key NUL value`.
    fn put_labelled(&self, resource: ResourceId, key: &str, uid: &str, more: &str, labels: &str) {
        let json = format!(r#""metadata":{{"uid":"{uid}"{more}}}}}"#);
        let object = EncodedObject { json: json.into(), splice: r#""metadata":{"#.len() as u32 };
        let terminating = more.contains("deletionTimestamp");
        let attributes = Attributes { terminating, labels: labels.into(), ..Attributes::default() };
        self.write(resource, key, Action::Put { object, attributes, ttl: None });
    }

    fn delete(&self, resource: ResourceId, key: &str) {
        self.write(resource, key, Action::Delete { last: None });
    }

    fn write(&self, resource: ResourceId, key: &str, action: Action) {
        let stored = self.storage.get(resource, key);
        let precondition = stored.map_or(Precondition::Absent, |o| Precondition::Revision(o.revision));
        let namespace_len = key.find('/').unwrap_or(0) as u16;
        let write =
            Write { resource, key: key.into(), namespace_len, precondition, needs_namespace: false, action };
        self.storage.submit(write).wait().unwrap();
    }

    fn issue(&self, claims: Claims) -> String {
        self.tokens.issuer.sign(claims).unwrap()
    }

    fn user(&self, token: &str) -> Result<Option<Arc<UserInfo>>, String> {
        self.tokens.user(token, &self.at(NOW)).map_err(|e| e.to_string())
    }

    fn refused(&self, token: &str, expect: &str) {
        assert_eq!(
            self.user(token).map(|user| user.map(|u| u.name.clone())),
            Err(expect.to_owned()),
            "{token}"
        );
    }
}

fn reference(name: &str, uid: &str) -> Reference {
    Reference { name: name.to_owned(), uid: uid.to_owned() }
}

/// A token of the account `robot` that is good for an hour.
fn claims() -> Claims {
    Claims {
        audiences: vec![API.to_owned()],
        expires: Some(NOW + 3600),
        not_before: Some(NOW),
        issued: Some(NOW),
        id: "j-1".to_owned(),
        subject: "system:serviceaccount:ns:robot".to_owned(),
        namespace: "ns".to_owned(),
        account: reference("robot", "u-account"),
        ..Claims::default()
    }
}

/// Header and payload as text.
fn opened(token: &str) -> Vec<String> {
    let parts = token.split('.').take(2);
    parts.map(|part| String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()).collect()
}

#[test]
fn what_a_token_says() {
    let rig = rig();
    let token = rig.issue(Claims {
        pod: Some(reference("p", "u-pod")),
        node: Some(reference("n", "")),
        warn_after: Some(NOW + 3607),
        ..claims()
    });
    let [header, payload] = &opened(&token)[..] else { panic!("two parts") };
    assert_eq!(*header, format!(r#"{{"alg":"ES256","kid":"{}"}}"#, rig.tokens.keys[0].id()));
    let expect = r#"{"aud":["https://api"],"exp":1800003600,"iat":1800000000,"iss":"https://api","jti":"j-1","kubernetes.io":{"namespace":"ns","node":{"name":"n"},"pod":{"name":"p","uid":"u-pod"},"serviceaccount":{"name":"robot","uid":"u-account"},"warnafter":1800003607},"nbf":1800000000,"sub":"system:serviceaccount:ns:robot"}"#;
    assert_eq!(*payload, expect);
}

#[test]
fn whom_a_token_stands_for() {
    let rig = rig();
    rig.put(KINDS.pods, "ns/p", "u-pod", "");
    rig.put(KINDS.nodes, "n", "u-node", "");
    let check = |change: &dyn Fn(&mut Claims), extra: &[(&str, &str)]| {
        let mut claims = claims();
        change(&mut claims);
        let token = rig.issue(claims);
        let user = rig.user(&token).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("system:serviceaccount:ns:robot", "u-account"));
        let groups = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"];
        assert_eq!(user.groups, groups);
        let found: Vec<_> = user.extra.iter().map(|(k, v)| (k.as_str(), v[0].as_str())).collect();
        let expect: Vec<_> =
            extra.iter().map(|(k, v)| (format!("authentication.kubernetes.io/{k}"), *v)).collect();
        assert_eq!(found, expect.iter().map(|(k, v)| (k.as_str(), *v)).collect::<Vec<_>>());
        // Known by now.
        assert!(Arc::ptr_eq(&rig.user(&token).unwrap().unwrap(), &user));
    };
    let id = ("credential-id", "JTI=j-1");
    check(&|_| (), &[id]);
    check(&|c| c.id.clear(), &[]);
    check(&|c| c.node = Some(reference("n", "u-node")), &[id, ("node-name", "n"), ("node-uid", "u-node")]);
    check(
        &|c| {
            c.pod = Some(reference("p", "u-pod"));
            // Of a pod's node nothing is checked.
            c.node = Some(reference("gone", ""));
        },
        &[id, ("node-name", "gone"), ("pod-name", "p"), ("pod-uid", "u-pod")],
    );
}

#[test]
fn times() {
    let rig = rig();
    let check = |now: i64, expect: Option<&str>| {
        let found = rig.tokens.user(&rig.issue(claims()), &rig.at(now));
        assert_eq!(found.err().map(|e| e.to_string()).as_deref(), expect, "{}", now - NOW);
    };
    check(NOW, None);
    check(NOW - 60, None);
    check(NOW - 61, Some("service account token is not valid yet"));
    check(NOW + 3660, None);
    check(NOW + 3661, Some("service account token has expired"));
    let early = rig.issue(Claims { not_before: None, issued: Some(NOW + 61), ..claims() });
    rig.refused(&early, "service account token is issued in the future");
    // The verdict on a signature outlives the token; that on its time does not.
    let token = rig.issue(claims());
    assert!(rig.tokens.user(&token, &rig.at(NOW)).unwrap().is_some());
    assert!(rig.tokens.user(&token, &rig.at(NOW + 9999)).is_err());
}

#[test]
fn times_that_are_none() {
    let rig = rig();
    let payload = opened(&rig.issue(claims())).pop().unwrap();
    let expiry = format!("\"exp\":{}", NOW + 3600);
    let check = |exp: &str, expect: Option<&str>| {
        let payload = payload.replace(&expiry, &format!("\"exp\":{exp}"));
        let token = jwt::sign(&rig.tokens.issuer.key, payload.as_bytes()).unwrap();
        assert_eq!(rig.user(&token).err().as_deref(), expect, "{exp}");
    };
    let no_number = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate";
    check(&(NOW + 1).to_string(), None);
    check(&format!("{}.5", NOW + 1), None);
    check("\"never\"", Some(no_number));
    check("[1]", Some(no_number));
    // Beyond 64 bits.
    check("1e30", Some("service account token has expired"));
    check("9223372036854775807", Some("service account token has expired"));
}

#[test]
fn audiences() {
    let rig = rig();
    let of = |audiences: &[&str]| {
        rig.issue(Claims { audiences: audiences.iter().map(|a| (*a).to_owned()).collect(), ..claims() })
    };
    let foreign = of(&["vault"]);
    let expect = r#"token audiences ["vault"] is invalid for the target audiences ["https://api"]"#;
    rig.refused(&foreign, expect);
    assert!(rig.user(&of(&["vault", API])).unwrap().is_some());
    let check = |token: &str, asked: &[&str], expect: &[&str]| {
        let asked: Vec<String> = asked.iter().map(|a| (*a).to_owned()).collect();
        let found = rig.tokens.review(token, &asked, &rig.at(NOW));
        let found = found.map(|found| found.unwrap().1).unwrap_or_default();
        assert_eq!(found, expect, "{asked:?}");
    };
    check(&foreign, &[], &[]);
    check(&foreign, &["x", "vault"], &["vault"]);
    check(&of(&[API]), &[], &[API]);
    check(&of(&[API]), &["vault"], &[]);
    check(&of(&["vault", API]), &[API, "vault"], &["vault", API]);
}

#[test]
fn a_token_ends_with_its_account() {
    let rig = rig();
    let token = rig.issue(claims());
    assert!(rig.user(&token).unwrap().is_some());
    // A change of the account is none of its identity.
    rig.put(KINDS.service_accounts, "ns/robot", "u-account", r#","labels":{"a":"b"}"#);
    assert!(rig.user(&token).unwrap().is_some());
    let marked = |time: &str| format!(r#","deletionTimestamp":"{time}""#);
    // NOW is 2027-01-15T08:00:00Z; what is being deleted counts for a minute more.
    rig.put(KINDS.service_accounts, "ns/robot", "u-account", &marked("2027-01-15T07:59:00Z"));
    assert!(rig.user(&token).unwrap().is_some());
    rig.put(KINDS.service_accounts, "ns/robot", "u-account", &marked("2027-01-15T07:58:59Z"));
    rig.refused(&token, "service account ns/robot has been deleted");
    rig.delete(KINDS.service_accounts, "ns/robot");
    rig.refused(&token, r#"serviceaccounts "robot" not found"#);
    rig.put(KINDS.service_accounts, "ns/robot", "u-new", "");
    rig.refused(&token, "service account UID (u-new) does not match claim (u-account)");
}

#[test]
fn a_token_ends_with_what_it_is_bound_to() {
    let rig = rig();
    let gone = "service account token has been invalidated";
    let check = |resource, key: &str, claims: Claims, other: &str| {
        let token = rig.issue(claims);
        rig.refused(&token, gone);
        rig.put(resource, key, "u-1", "");
        assert!(rig.user(&token).unwrap().is_some(), "{key}");
        rig.put(resource, key, "u-1", r#","deletionTimestamp":"2027-01-15T07:58:00Z""#);
        rig.refused(&token, gone);
        rig.delete(resource, key);
        rig.refused(&token, gone);
        rig.put(resource, key, "u-2", "");
        rig.refused(&token, other);
    };
    check(
        KINDS.pods,
        "ns/p",
        Claims { pod: Some(reference("p", "u-1")), ..claims() },
        "pod UID (u-2) does not match service account pod ref claim (u-1)",
    );
    check(
        KINDS.secrets,
        "ns/s",
        Claims { secret: Some(reference("s", "u-1")), ..claims() },
        "secret UID (u-2) does not match service account secret ref claim (u-1)",
    );
    check(
        KINDS.nodes,
        "n",
        Claims { node: Some(reference("n", "u-1")), ..claims() },
        "node UID (u-2) does not match service account node ref claim (u-1)",
    );
}

#[test]
fn tokens_for_webhooks_are_none_of_clients() {
    let rig = rig();
    let payload = opened(&rig.issue(claims())).pop().unwrap();
    for kind in ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"] {
        let bound = format!(r#""{kind}":{{"name":"w","uid":"u"}},"serviceaccount":"#);
        let payload = payload.replace(r#""serviceaccount":"#, &bound);
        let token = jwt::sign(&rig.tokens.issuer.key, payload.as_bytes()).unwrap();
        rig.refused(
            &token,
            r#"feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound"#,
        );
    }
}

#[test]
fn what_is_no_token_of_this_server() {
    let rig = rig();
    let token = rig.issue(claims());
    let parts: Vec<&str> = token.split('.').collect();
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let stranger = encode(r#"{"iss":"https://stranger"}"#);
    for other in [
        "",
        "x",
        "a.b.c",
        "..",
        &format!("{token}.x"),
        &format!("{}.{stranger}.{}", parts[0], parts[2]),
        &format!("{}.{}.%", parts[0], parts[1]),
    ] {
        assert_eq!(rig.user(other), Ok(None), "{other:?}");
    }
    const BROKEN: &str = "go-jose/go-jose: error in cryptographic primitive";
    let with_header = |header: &str| format!("{}.{}.{}", encode(header), parts[1], parts[2]);
    rig.refused(&format!("{}.{}.", parts[0], parts[1]), BROKEN);
    rig.refused(&with_header(r#"{"alg":"none"}"#), BROKEN);
    rig.refused(&with_header(r#"{"alg":"HS256"}"#), BROKEN);
    rig.refused(&with_header(r#"{"alg":"ES256","crit":["x"],"x":1}"#), BROKEN);
    rig.refused(&with_header(r#"{"alg":"ES256","kid":"other"}"#), "invalid signature, no keys found");
    let more = encode(&opened(&token)[1].replace("ns:robot", "kube-system:admin"));
    rig.refused(&format!("{}.{more}.{}", parts[0], parts[2]), BROKEN);
}

#[test]
fn keys_come_and_go() {
    let (old, new) = (key(), key());
    let before = Rig { tokens: tokens(&old, &old), ..rig() };
    let token = before.issue(claims());
    let check = |checking: &str, expect: Option<&str>| {
        let after = Rig { tokens: tokens(&new, checking), ..rig() };
        assert_eq!(after.user(&token).err().as_deref(), expect);
        let fresh = after.issue(claims());
        assert!(after.user(&fresh).unwrap().is_some());
    };
    check(&format!("{new}{old}"), None);
    check(&new, Some("invalid signature, no keys found"));
    // Tokens of an issuer that was the first count on.
    let mut moved = Rig { tokens: tokens(&old, &old), ..rig() };
    moved.tokens.issuer.name = "https://old".to_owned();
    let token = moved.issue(claims());
    assert!(moved.user(&token).unwrap().is_some());
}

#[test]
fn tokens_that_lie_in_secrets() {
    let rig = rig();
    let payload = |secret: &str| {
        format!(
            r#"{{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"ns","kubernetes.io/serviceaccount/secret.name":"{secret}","kubernetes.io/serviceaccount/service-account.name":"robot","kubernetes.io/serviceaccount/service-account.uid":"u-account","sub":"system:serviceaccount:ns:robot"}}"#
        )
    };
    let sign = |payload: &str| jwt::sign(&rig.tokens.issuer.key, payload.as_bytes()).unwrap();
    let token = sign(&payload("s"));
    rig.refused(&token, "Token has been invalidated");
    let held = |token: &str| {
        let token = base64::prelude::BASE64_STANDARD.encode(token);
        // The text ends the metadata and begins the data, whose braces the writer closes.
        format!(r#"}},"data":{{"token":"{token}""#)
    };
    rig.put(KINDS.secrets, "ns/s", "u-secret", &held("other"));
    rig.refused(&token, "Token does not match server's copy");
    rig.put(KINDS.secrets, "ns/s", "u-secret", &held(&token));
    let user = rig.user(&token).unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.extra.len()), ("system:serviceaccount:ns:robot", 0));
    rig.delete(KINDS.service_accounts, "ns/robot");
    rig.refused(&token, r#"serviceaccounts "robot" not found"#);
    let without = |claim: &str| sign(&payload("s").replace(claim, "x"));
    rig.refused(&without("kubernetes.io/serviceaccount/namespace"), "namespace claim is missing");
    rig.refused(&without("kubernetes.io/serviceaccount/secret.name"), "secretName claim is missing");
    rig.refused(&sign(&payload("s").replace("account:ns", "account:other")), "sub claim is invalid");
    // For whom it is comes before whether it is whole.
    let foreign = payload("s").replace("account:ns", "account:other").replace("{", r#"{"aud":["vault"],"#);
    rig.refused(
        &sign(&foreign),
        r#"token audiences ["vault"] is invalid for the target audiences ["https://api"]"#,
    );
}

/// The token in the secret `s` of the account `robot`, the secret's text behind its uid, and the account's.
fn held(rig: &Rig) -> (String, String) {
    let payload = r#"{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"ns","kubernetes.io/serviceaccount/secret.name":"s","kubernetes.io/serviceaccount/service-account.name":"robot","kubernetes.io/serviceaccount/service-account.uid":"u-account","sub":"system:serviceaccount:ns:robot"}"#;
    let token = jwt::sign(&rig.tokens.issuer.key, payload.as_bytes()).unwrap();
    let encoded = base64::prelude::BASE64_STANDARD.encode(&token);
    (token, format!(r#"}},"data":{{"token":"{encoded}""#))
}

#[test]
fn uses_of_tokens_in_secrets_are_noted() {
    let rig = rig();
    let (token, text) = held(&rig);
    let label = |day: &str| format!("{LAST_USED_LABEL}\0{day}");
    let put = |labels: &str| rig.put_labelled(KINDS.secrets, "ns/s", "u-secret", &text, labels);
    let noted = || rig.tokens.uses.next(std::time::Duration::ZERO).map(|found| found.day);
    let day = Some("2027-01-15".to_owned());
    put("");
    assert!(rig.user(&token).unwrap().is_some());
    let found = rig.tokens.uses.next(std::time::Duration::ZERO).unwrap();
    let expect = LegacyTokenUse {
        namespace: "ns".to_owned(),
        secret: "s".to_owned(),
        uid: "u-secret".to_owned(),
        day: "2027-01-15".to_owned(),
    };
    assert_eq!(found, expect);
    // Once a day is enough, as long as nobody touches the secret.
    assert!(rig.user(&token).unwrap().is_some());
    assert_eq!(noted(), None);
    assert!(rig.tokens.user(&token, &rig.at(NOW + 86_400)).unwrap().is_some());
    assert_eq!(noted(), Some("2027-01-16".to_owned()));
    for (labels, expect) in [
        (label("2027-01-15"), None),
        // Where another server's day has begun.
        (label("2027-01-16"), None),
        (label("2027-01-14"), day.clone()),
        (label("2027-01-17"), day.clone()),
        (label(""), day),
    ] {
        put(&labels);
        assert!(rig.user(&token).unwrap().is_some());
        assert_eq!(noted(), expect, "{labels:?}");
    }
}

#[test]
fn tokens_in_secrets_may_be_marked() {
    let rig = rig();
    let (token, text) = held(&rig);
    let marked = "kubernetes.io/legacy-token-invalid-since\x002026-11-30";
    rig.put_labelled(KINDS.secrets, "ns/s", "u-secret", &text, marked);
    let expect = "the token in secret ns/s for service account ns/robot has been marked invalid. Use tokens from the \
                  TokenRequest API or manually created secret-based tokens, or remove the \
                  'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this \
                  token";
    rig.refused(&token, expect);
    rig.refused(&token, expect);
    // The use is noted all the same.
    assert!(rig.tokens.uses.next(std::time::Duration::ZERO).is_some());
    rig.put_labelled(KINDS.secrets, "ns/s", "u-secret", &text, "kubernetes.io/legacy-token-invalid-since\0");
    assert!(rig.user(&token).unwrap().is_some());
}

#[test]
fn tokens_that_a_controller_made_are_warned_of() {
    let rig = rig();
    let (token, text) = held(&rig);
    rig.put(KINDS.secrets, "ns/s", "u-secret", &text);
    let warnings = |account: &str| {
        rig.put(KINDS.service_accounts, "ns/robot", "u-account", account);
        let warnings = RefCell::default();
        let at = Lookup { warnings: Some(&warnings), ..rig.at(NOW) };
        assert!(rig.tokens.user(&token, &at).unwrap().is_some());
        warnings.into_inner().len()
    };
    assert_eq!(warnings(r#"},"secrets":[{"name":"other"}],"x":{"#), 0);
    assert_eq!(warnings(r#"},"secrets":[{"name":"other"},{"name":"s"}],"x":{"#), 1);
    assert_eq!(warnings(""), 0);
}

#[test]
fn uses_are_counted() {
    let rig = rig();
    let get = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    let counts = &rig.tokens.counts;
    let all = || {
        [
            &counts.legacy,
            &counts.stale,
            &counts.valid,
            &counts.manual,
            &counts.auto_generated,
            &counts.invalidated,
        ]
        .map(get)
    };
    let token = rig.issue(Claims { warn_after: Some(NOW + 60), expires: Some(NOW + 9999), ..claims() });
    let ask = |seconds: i64| rig.tokens.user(&token, &rig.at(NOW + seconds)).unwrap().unwrap();
    ask(0);
    ask(9);
    assert_eq!(all(), [0, 0, 1, 0, 0, 0]);
    ask(10);
    assert_eq!(all(), [0, 0, 2, 0, 0, 0]);
    ask(61);
    assert_eq!(all(), [0, 1, 2, 0, 0, 0]);
    let (token, text) = held(&rig);
    rig.put(KINDS.secrets, "ns/s", "u-secret", &text);
    assert!(rig.user(&token).unwrap().is_some());
    assert_eq!(all(), [1, 1, 2, 1, 0, 0]);
}

#[test]
fn the_provider_is_published() {
    let key = key();
    let keys = PublicKey::read_all(key.as_bytes()).unwrap();
    let metadata = openid::Metadata::new(API, "https://here/openid/v1/jwks", &keys).unwrap();
    let text = format!("{metadata:?}").replace("\\\"", "\"");
    let expect = r#"{"issuer":"https://api","jwks_uri":"https://here/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}"#;
    assert!(text.contains(expect), "{text}");
    assert!(text.contains(&format!(r#"{{"keys":[{}]}}"#, keys[0].json_web_key())), "{text}");
    for bad in ["api", "http://api", "https://api?x", "https://api#x"] {
        assert!(openid::Metadata::new(bad, "https://here", &keys).is_err(), "{bad}");
    }
}
