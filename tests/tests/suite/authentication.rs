//! Who asks: front proxies, bootstrap tokens, tokens in secrets, requests without credentials, and files that change
//! under a running server.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, SigningKey as _,
};
use ringbolt_tests::{
    http1::{Connection, Response, Wire},
    note,
    server::{Server, scratch},
    tls, wait_for,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);
const SELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const SYSTEM_SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const TRUST: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// An authority of a test's own.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// As the server writes it into a ConfigMap.
    fn pem(&self) -> String {
        self.0.pem().replace("\r\n", "\n")
    }

    /// A certificate and its key.
    fn issue(
        &self,
        name: &str,
        group: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        if !group.is_empty() {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    /// Connects as a client with a certificate of this authority, to a server that another one has signed.
    fn connect(&self, server: &Server, server_ca: &Authority, name: &str, group: &str) -> Connection {
        let (certificate, key) = self.issue(name, group, |_| ());
        let mut roots = RootCertStore::empty();
        roots.add(server_ca.0.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = rustls_pki_types::CertificateDer::pem_slice_iter(certificate.as_bytes());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                chain.collect::<Result<_, _>>().unwrap(),
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        Connection::over(Wire::Tls(Box::new(tls::connect(server, Arc::new(config)).unwrap())))
    }
}

/// A folder with the files that flags name.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        Files(scratch(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Puts a file in the place of another, or where none was.
    fn put(&self, name: &str, text: &str) {
        let new = self.path(&format!(".{name}.new"));
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    fn flag(&self, flag: &str, name: &str) -> String {
        format!("--{flag}={}", self.path(name).display())
    }

    /// A serving certificate of `authority`, and the flags that name it.
    fn serving(&self, authority: &Authority) -> [String; 2] {
        let (certificate, key) = authority.issue("server", "", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.subject_alt_names = vec![rcgen::SanType::IpAddress("127.0.0.1".parse().unwrap())];
        });
        self.put("serving.crt", &certificate);
        self.put("serving.key", &key);
        [self.flag("tls-cert-file", "serving.crt"), self.flag("tls-private-key-file", "serving.key")]
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What is left behind lies in a temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(name: &str, flags: &[String]) -> Server {
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.extend(["--authorization-mode=RBAC", "--embedded-controllers="]);
    Server::start(name, &flags)
}

/// Asks with these header fields and nothing else.
fn ask(connection: &mut Connection, method: &str, path: &str, fields: &[&str], body: &str) -> Response {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{fields}{length}\r\n{body}"
    );
    connection.send(text.as_bytes()).unwrap();
    connection.response(method).unwrap()
}

/// Who the server says that one is, or the status of its refusal.
fn who(connection: &mut Connection, fields: &[&str]) -> Result<Value, u16> {
    let answer = ask(connection, "POST", SELF, fields, "{}");
    if answer.status != 201 {
        return Err(answer.status);
    }
    let mut user = answer.json()["status"]["userInfo"].take();
    if let Some(extra) = user.get_mut("extra").and_then(Value::as_object_mut) {
        extra.retain(|key, _| key != "authentication.kubernetes.io/credential-id");
    }
    Ok(user)
}

#[test]
fn front_proxies() {
    let files = Files::new("front-proxies");
    let (own, proxies) = (Authority::new("own"), Authority::new("proxies"));
    files.put("clients.crt", &own.pem());
    files.put("proxies.crt", &proxies.pem());
    let mut flags = files.serving(&own).to_vec();
    flags.extend([
        files.flag("client-ca-file", "clients.crt"),
        files.flag("requestheader-client-ca-file", "proxies.crt"),
        "--requestheader-allowed-names=front-proxy".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
    ]);
    let server = start("front-proxies", &flags);
    let headers =
        ["X-Remote-User: jane", "X-Remote-Group: devs", "X-Remote-Extra-Team%2Fa: red", "X-Remote-Uid: 7"];
    let mut proxy = proxies.connect(&server, &own, "front-proxy", "");
    let jane =
        json!({"username": "jane", "groups": ["devs", "system:authenticated"], "extra": {"team/a": ["red"]}});
    assert_eq!(who(&mut proxy, &headers), Ok(jane.clone()));
    // Each request on the connection is its own, and a token that comes along is not looked at.
    assert_eq!(who(&mut proxy, &["X-Remote-User: joe"]).unwrap()["username"], "joe");
    assert_eq!(who(&mut proxy, &[headers[0], "Authorization: Bearer bad"]).unwrap()["username"], "jane");
    // Without a user it is nobody this server knows.
    assert_eq!(who(&mut proxy, &[]), Err(401));
    assert_eq!(who(&mut proxy, &["Authorization: Bearer usertoken"]).unwrap()["username"], "jane");
    assert_eq!(who(&mut proxies.connect(&server, &own, "stranger", ""), &headers), Err(401));
    // The clients' authority makes no proxies.
    let mut client = own.connect(&server, &own, "front-proxy", "");
    assert_eq!(who(&mut client, &headers).unwrap()["username"], "front-proxy");
    let trust = Connection::plain(&server).get(TRUST).unwrap().json();
    assert_eq!(trust["data"]["client-ca-file"], own.pem());
    assert_eq!(trust["data"]["requestheader-client-ca-file"], proxies.pem());
    assert_eq!(trust["data"]["requestheader-allowed-names"], r#"["front-proxy"]"#);
    assert_eq!(trust["data"]["requestheader-username-headers"], r#"["X-Remote-User"]"#);
    assert!(trust["data"].get("requestheader-uid-headers").is_none());
}

/// Two clients whose credentials hold all the time, on connections that live all the time and on new ones.
#[test]
fn authorities_and_tokens_are_read_anew() {
    const ROUNDS: usize = 100;
    let files = Files::new("reload");
    let (own, other) = (Authority::new("own"), Authority::new("other"));
    let tokens = |round: usize| format!("steady,admin,1,system:masters\nt{round},user-{round},2\n");
    files.put("clients.crt", &own.pem());
    files.put("proxies.crt", &own.pem());
    let mut flags = files.serving(&own).to_vec();
    flags.extend([
        files.flag("client-ca-file", "clients.crt"),
        files.flag("requestheader-client-ca-file", "proxies.crt"),
        "--requestheader-allowed-names=front-proxy".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
    ]);
    let server = start("reload", &flags);
    // The file that the server was started with.
    let token_file = server.data.with_added_extension("tokens.csv");
    let put_tokens = |text: &str| {
        let new = server.data.with_added_extension("tokens.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, &token_file).unwrap();
    };
    put_tokens(&format!("{}admintoken,admin,1,system:masters\n", tokens(0)));
    let mut probe = Connection::plain(&server);
    let token = |round: usize| format!("Authorization: Bearer t{round}");
    let known = |probe: &mut Connection, round| who(probe, &[&token(round)]).is_ok();
    assert!(wait_for(PATIENCE, || known(&mut probe, 0).then_some(())).is_some(), "{}", server.log());

    let (stop, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut stranger = other.connect(&server, &own, "stranger", "");
    let mut proxy = other.connect(&server, &own, "front-proxy", "");
    let as_jane = ["X-Remote-User: jane"];
    thread::scope(|scope| {
        let get = |connection: &mut Connection, fields: &[&str]| {
            let answer = ask(connection, "GET", "/api/v1/namespaces/default/configmaps", fields, "");
            assert_eq!(answer.status, 200, "{}", answer.text());
            asked.fetch_add(1, Ordering::Relaxed);
        };
        let (stop, server, own) = (&stop, &server, &own);
        scope.spawn(move || {
            let mut steady = own.connect(server, own, "steady", "system:masters");
            while !stop.load(Ordering::Relaxed) {
                get(&mut steady, &[]);
                get(&mut own.connect(server, own, "fresh", "system:masters"), &[]);
            }
        });
        scope.spawn(move || {
            let mut steady = Connection::plain(server);
            while !stop.load(Ordering::Relaxed) {
                get(&mut steady, &["Authorization: Bearer steady"]);
            }
        });
        let rounds = (1..=ROUNDS).try_for_each(|round| {
            let takes_other = round % 2 == 1;
            let bundle = if takes_other { format!("{}{}", other.pem(), own.pem()) } else { own.pem() };
            files.put("clients.crt", &bundle);
            files.put("proxies.crt", &bundle);
            put_tokens(&tokens(round));
            let step = |what: &str, done: &mut dyn FnMut() -> bool| {
                let done = wait_for(PATIENCE, || done().then_some(()));
                done.ok_or_else(|| format!("round {round}: {what}\n{}", server.log()))
            };
            // On connections that had their answer in the round before.
            step("client", &mut || who(&mut stranger, &[]).is_ok() == takes_other)?;
            step("proxy", &mut || {
                who(&mut proxy, &as_jane).is_ok_and(|user| user["username"] == "jane") == takes_other
            })?;
            step("token", &mut || known(&mut probe, round) && !known(&mut probe, round - 1))
        });
        stop.store(true, Ordering::Relaxed);
        rounds.unwrap();
    });
    note(&format!("{ROUNDS} rotations, {} requests meanwhile", asked.load(Ordering::Relaxed)));
    assert!(asked.load(Ordering::Relaxed) > ROUNDS as u64);

    // A state that is no good changes nothing.
    files.put("clients.crt", "no authority\n");
    files.put("proxies.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    put_tokens("no,columns\n");
    let complained = || {
        let log = server.log();
        let of = |what: &str| log.lines().any(|line| line.contains("is no good") && line.contains(what));
        ["client-ca-bundle", "request-header", "token-auth-file"].into_iter().all(of).then_some(())
    };
    assert!(wait_for(PATIENCE, complained).is_some(), "{}", server.log());
    assert!(known(&mut probe, ROUNDS));
    assert!(who(&mut own.connect(&server, &own, "late", ""), &[]).is_ok());
    assert_eq!(who(&mut stranger, &[]), Err(401));
    // The ConfigMap keeps what other servers may still take.
    let published = || {
        let trust = ask(&mut probe, "GET", TRUST, &["Authorization: Bearer steady"], "").json();
        let data = &trust["data"];
        let has = |key: &str, pem: String| data[key].as_str().is_some_and(|bundle| bundle.contains(&pem));
        let all = |key: &str| has(key, own.pem()) && has(key, other.pem());
        (all("client-ca-file") && all("requestheader-client-ca-file")).then_some(())
    };
    assert!(wait_for(PATIENCE, published).is_some());
}

#[test]
fn bootstrap_tokens() {
    let server = start("bootstrap-tokens", &["--enable-bootstrap-token-auth".to_owned()]);
    let mut admin = Connection::plain(&server);
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a",
        },
    });
    let fields = ["Authorization: Bearer abcdef.0123456789abcdef"];
    let ask = || who(&mut Connection::plain(&server), &fields);
    assert_eq!(ask(), Err(401));
    let answer = admin.post(SYSTEM_SECRETS, &secret).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let groups =
        ["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b", "system:authenticated"];
    assert_eq!(ask(), Ok(json!({"username": "system:bootstrap:abcdef", "groups": groups})));
    assert_eq!(
        who(&mut Connection::plain(&server), &["Authorization: Bearer abcdef.0123456789abcdeX"]),
        Err(401)
    );
    let mut set = |key: &str, value: Option<&str>| {
        let patch = json!({"data": {key: value.map(encode)}});
        let path = format!("{SYSTEM_SECRETS}/bootstrap-token-abcdef");
        let patch = patch.to_string();
        let answer = admin.request("PATCH", &path, "application/merge-patch+json", patch.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    set("expiration", Some("2001-01-01T00:00:00Z"));
    assert_eq!(ask(), Err(401));
    set("expiration", Some("2999-01-01T00:00:00Z"));
    assert!(ask().is_ok());
    set("usage-bootstrap-authentication", None);
    assert_eq!(ask(), Err(401));
    // Without the flag they are secrets like others.
    set("usage-bootstrap-authentication", Some("true"));
    assert!(ask().is_ok());
    let other = start("no-bootstrap-tokens", &[]);
    let answer = Connection::plain(&other).post(SYSTEM_SECRETS, &secret).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(who(&mut Connection::plain(&other), &fields), Err(401));
}

#[test]
fn requests_without_credentials_by_path() {
    let files = Files::new("anonymous");
    let file = |path: &str| {
        format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous:\n  enabled: true\n  \
             conditions:\n  - path: {path}\n"
        )
    };
    files.put("authentication.yaml", &file("/livez"));
    let server = start("anonymous", &[files.flag("authentication-config", "authentication.yaml")]);
    let status =
        |path: &str, fields: &[&str]| ask(&mut Connection::plain(&server), "GET", path, fields, "").status;
    let paths =
        || ["/livez", "/livez?verbose", "/readyz", "/livez/ping", "/api"].map(|path| status(path, &[]));
    assert_eq!(paths(), [200, 200, 401, 401, 401]);
    assert_eq!(status("/livez", &["Authorization: Bearer bad"]), 401);
    assert_eq!(status("/readyz", &["Authorization: Bearer admintoken"]), 200);
    // Who may come so is settled at the start.
    files.put("authentication.yaml", &file("/readyz"));
    let complained = || server.log().contains("changed from initial configuration file").then_some(());
    assert!(wait_for(PATIENCE, complained).is_some(), "{}", server.log());
    assert_eq!(paths(), [200, 200, 401, 401, 401]);
}

#[test]
fn uses_of_tokens_in_secrets_are_noted() {
    let files = Files::new("legacy-tokens");
    let key = KeyPair::generate().unwrap();
    files.put("sa.key", &key.serialize_pem());
    let flags = [
        files.flag("service-account-signing-key-file", "sa.key"),
        files.flag("service-account-key-file", "sa.key"),
    ];
    let server = start("legacy-tokens", &flags);
    let mut admin = Connection::plain(&server);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = admin.post(accounts, &json!({"metadata": {"name": "robot"}})).unwrap().json();
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        "sub": "system:serviceaccount:default:robot",
        "kubernetes.io/serviceaccount/namespace": "default",
        "kubernetes.io/serviceaccount/secret.name": "robot-token",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": account["metadata"]["uid"],
    });
    let encode = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", encode(json!({"alg": "ES256"}).to_string()), encode(claims.to_string()));
    let signature = fixed(&key.sign(signed.as_bytes()).unwrap());
    let token = format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
    let fields = [format!("Authorization: Bearer {token}")];
    let fields = [fields[0].as_str()];
    assert_eq!(who(&mut Connection::plain(&server), &fields), Err(401));
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {
            "name": "robot-token",
            "annotations": {"kubernetes.io/service-account.name": "robot"},
        },
        "type": "kubernetes.io/service-account-token",
        "stringData": {"token": token},
    });
    let answer = admin.post(secrets, &secret).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let user = who(&mut Connection::plain(&server), &fields).unwrap();
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    let path = format!("{secrets}/robot-token");
    let mut label = || admin.get(&path).unwrap().json()["metadata"]["labels"].take();
    let noted = wait_for(PATIENCE, || Some(label()).filter(|labels| !labels.is_null())).unwrap();
    let day = noted["kubernetes.io/legacy-token-last-used"].as_str().unwrap();
    assert!(day.len() == 10 && day.starts_with("20"), "{noted}");
    let patch =
        json!({"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": day}}}).to_string();
    let answer = Connection::plain(&server)
        .request("PATCH", &path, "application/merge-patch+json", patch.as_bytes())
        .unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(who(&mut Connection::plain(&server), &fields), Err(401));
    let metrics = Connection::plain(&server).get("/metrics").unwrap().text();
    // Each core counts the tokens that it knows.
    let is_counted = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        assert!(line.is_some_and(|count| count.trim() != "0"), "{name}: {line:?}");
    };
    is_counted("serviceaccount_legacy_tokens_total ");
    is_counted("serviceaccount_legacy_manual_token_uses_total ");
    is_counted("serviceaccount_invalid_legacy_auto_token_uses_total ");
}

/// The numbers of an ECDSA signature in DER as JSON Web Tokens have them: 32 bytes each.
fn fixed(der: &[u8]) -> Vec<u8> {
    let mut numbers = &der[2..];
    let mut out = Vec::new();
    for _ in 0..2 {
        let (number, rest) = numbers[2..].split_at(usize::from(numbers[1]));
        let number = &number[number.iter().take_while(|byte| **byte == 0).count()..];
        out.extend(std::iter::repeat_n(0, 32 - number.len()));
        out.extend_from_slice(number);
        numbers = rest;
    }
    out
}
