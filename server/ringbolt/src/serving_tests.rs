//! Tests of the certificates the server shows.

use ringbolt_apiserver::authentication::{current::Current, x509::ClientCertificates};

use super::*;
use crate::{
    pki::{self, Names as Subjects},
    trust::Notice,
};

fn pair(folder: &Path, name: &str, dns: &[&str]) -> (Pair, [PathBuf; 2]) {
    let folder = folder.join(name);
    let names = Subjects { dns: dns.iter().map(|name| (*name).to_owned()).collect(), ips: Vec::new() };
    let pair = pki::self_signed(&folder, &names).unwrap();
    (pair, crate::layout::serving(&folder))
}

fn handshakes(ca: &str) -> Handshakes {
    let client_ca = Arc::new(Current::new(ClientCertificates::from_pem(ca.as_bytes()).unwrap()));
    let trust = Trust { client_ca, proxies: None, files: Vec::new(), changed: Arc::new(Notice::default()) };
    Handshakes { min_version: TlsVersion::Tls12, http2: true, trust: Arc::new(trust) }
}

#[test]
fn flags_of_further_certificates() {
    let check = |text: &str, expect: Result<(&str, &str, &[&str]), &str>| {
        let expect = expect.map_err(str::to_owned).map(|(certificate, key, names)| SniFiles {
            certificate: certificate.into(),
            key: key.into(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        });
        assert_eq!(SniFiles::parse(text), expect, "{text}");
    };
    check("a.crt,a.key", Ok(("a.crt", "a.key", &[])));
    check(" a.crt , a.key : x.example, *.y.example ", Ok(("a.crt", "a.key", &["x.example", "*.y.example"])));
    // The names may be addresses of IPv6: only the first colon parts.
    check("a.crt,a.key:fd00::1,10.0.0.1", Ok(("a.crt", "a.key", &["fd00::1", "10.0.0.1"])));
    check("a.crt,a.key:", Err("empty names list is not allowed"));
    check("a.crt", Err("expected comma separated certificate and key file paths"));
    check("a.crt,a.key,b", Err("expected comma separated certificate and key file paths"));
}

#[test]
fn given_names_come_before_those_a_certificate_is_made_out_to() {
    let folder = tempfile::tempdir().unwrap();
    let (default, files) = pair(folder.path(), "default", &["localhost"]);
    let (_, one) = pair(folder.path(), "one", &["a.example", "b.example"]);
    let (_, two) = pair(folder.path(), "two", &["c.example"]);
    let sni = |[certificate, key]: [PathBuf; 2], names: &[&str]| SniFiles {
        certificate,
        key,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let sni = [sni(one, &[]), sni(two, &["B.example"])];
    let mut shown = vec![Shown { pair: default.clone(), names: Names::Rest }];
    for files in &sni {
        let pair = Pair { certificate: read(&files.certificate).unwrap(), key: read(&files.key).unwrap() };
        let given = !files.names.is_empty();
        let names = if given { Names::Given(files.names.clone()) } else { Names::MadeOutTo };
        shown.push(Shown { pair, names });
    }
    let certificates =
        ServingCertificates { handshakes: handshakes(&default.certificate), shown: Mutex::default() };
    let settings = certificates.settings(&shown).unwrap();
    let names: Vec<_> = settings.certificates.iter().map(|certificate| certificate.names.clone()).collect();
    // The common name of what is made here is a name too.
    assert_eq!(names, [vec![], vec!["kube-apiserver", "a.example"], vec!["B.example"]]);
    assert_eq!(settings.client_ca_subjects.len(), 1);

    // Files that fit are taken, in the places they belong to; those that do not are not.
    let mut watched = WatchedFiles::default();
    let handshakes = handshakes(&default.certificate);
    ServingCertificates::open(handshakes, default, files, &sni, &mut watched).unwrap();
    assert!(!watched.is_empty());
}

#[test]
fn half_a_pair_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (old, _) = pair(folder.path(), "old", &["localhost"]);
    let (new, _) = pair(folder.path(), "new", &["localhost"]);
    let certificates = ServingCertificates {
        handshakes: handshakes(&old.certificate),
        shown: Mutex::new(vec![Shown { pair: old.clone(), names: Names::Rest }]),
    };
    let tls = TlsConfig::new(certificates.settings(&certificates.current()).unwrap()).unwrap();
    let check = |certificate: &str, key: &str, expect: Option<&Pair>| {
        let contents = [certificate.as_bytes().to_vec(), key.as_bytes().to_vec()];
        let result = certificates.replace(&tls, 0, &contents);
        assert_eq!(result.is_ok(), expect.is_some(), "{result:?}");
        let shown = certificates.current().remove(0).pair;
        assert_eq!(&shown, expect.unwrap_or(&old));
    };
    check(&new.certificate, &old.key, None);
    check(&old.certificate, &new.key, None);
    check(&new.certificate[..new.certificate.len() / 2], &new.key, None);
    check("", "", None);
    check(&new.certificate, &new.key, Some(&new));
}

#[test]
fn hosts_of_common_names() {
    let check = |name: &str, expect: bool| assert_eq!(is_host(name), expect, "{name}");
    check("api.example", true);
    check("*.example", true);
    check("*", true);
    check("10.0.0.1", false);
    check("::1", false);
    check("An Organization", false);
    check("*.*.example", false);
    check("", false);
}
