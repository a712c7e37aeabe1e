//! Chains made on the spot, and what is read from them.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair,
};

use super::*;

pub(in crate::authentication) fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

pub(in crate::authentication) fn issue(
    by: &CertifiedIssuer<'static, KeyPair>,
    subject: &[(DnType, &str)],
    change: impl FnOnce(&mut CertificateParams),
) -> CertificateDer<'static> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in subject {
        params.distinguished_name.push(kind.clone(), *value);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    params.signed_by(&KeyPair::generate().unwrap(), by).unwrap().der().clone()
}

pub(in crate::authentication) fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64
}

#[test]
fn subject_becomes_user() {
    let ca = authority("ca");
    let trust = ClientCertificates::from_pem(ca.pem().as_bytes()).unwrap();
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let subject = [(DnType::OrganizationName, "system:masters"), (DnType::CommonName, "admin"), (uid, "u-1")];
    let certificate = issue(&ca, &subject, |_| ());
    let found = trust.authenticate(std::slice::from_ref(&certificate), now()).unwrap();
    let user = found.user.unwrap();
    assert_eq!(user.name, "admin");
    assert_eq!(user.uid, "u-1");
    assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
    let (key, values) = &user.extra[0];
    assert_eq!(key, "authentication.kubernetes.io/credential-id");
    let hex: String = Sha256::digest(&certificate).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(values, &[format!("X509SHA256={hex}")]);
}

#[test]
fn nothing_is_proved_without_a_common_name() {
    let ca = authority("ca");
    let trust = ClientCertificates::from_pem(ca.pem().as_bytes()).unwrap();
    let certificate = issue(&ca, &[(DnType::OrganizationName, "system:masters")], |_| ());
    assert_eq!(trust.authenticate(&[certificate], now()).unwrap().user, None);
}

#[test]
fn empty_uid_is_refused() {
    let ca = authority("ca");
    let trust = ClientCertificates::from_pem(ca.pem().as_bytes()).unwrap();
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let certificate = issue(&ca, &[(DnType::CommonName, "a"), (uid, "")], |_| ());
    assert!(matches!(trust.authenticate(&[certificate], now()), Err(CertificateError::Uid)));
}

#[test]
fn strangers_expired_and_servers_are_refused() {
    let (ca, other) = (authority("ca"), authority("other"));
    let trust = ClientCertificates::from_pem(ca.pem().as_bytes()).unwrap();
    let subject = [(DnType::CommonName, "admin")];
    let stranger = issue(&other, &subject, |_| ());
    let expired = issue(&ca, &subject, |p| p.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let server = issue(&ca, &subject, |p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]);
    for certificate in [stranger, expired, server] {
        let found = trust.authenticate(&[certificate], now());
        assert!(matches!(found, Err(CertificateError::Verify(_))), "{found:?}");
    }
}

#[test]
fn intermediates_are_used_and_needed() {
    let root = authority("root");
    let trust = ClientCertificates::from_pem(root.pem().as_bytes()).unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "middle");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let middle = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
    let own = issue(&middle, &[(DnType::CommonName, "alice")], |_| ());
    let chain = [own.clone(), middle.der().clone()];
    assert_eq!(trust.authenticate(&chain, now()).unwrap().user.unwrap().name, "alice");
    assert!(trust.authenticate(&[own], now()).is_err());
}

#[test]
fn a_bundle_without_authorities_is_an_error() {
    assert!(matches!(ClientCertificates::from_pem(b""), Err(CertificateError::Authority(_))));
}

/// Made by `openssl x509 -req` of OpenSSL 3.0, good for a hundred years.
#[test]
fn version_1_is_taken_from_an_authority() {
    let ca = include_bytes!("testdata/version-1-ca.crt");
    let own = CertificateDer::from_pem_slice(include_bytes!("testdata/version-1.crt")).unwrap();
    let trust = ClientCertificates::from_pem(ca).unwrap();
    let user = trust.authenticate(std::slice::from_ref(&own), now()).unwrap().user.unwrap();
    assert_eq!((user.name.as_str(), user.groups[0].as_str()), ("admin", "system:masters"));
    for (trust, now) in [(authority("ca").pem().into_bytes(), now()), (ca.to_vec(), 0)] {
        let found =
            ClientCertificates::from_pem(&trust).unwrap().authenticate(std::slice::from_ref(&own), now);
        assert!(matches!(found, Err(CertificateError::Verify(_))), "{found:?}");
    }
}

/// Behind an intermediate, one of version 1 too. The intermediate allows none below it.
#[test]
fn version_1_is_taken_from_an_intermediate() {
    let root = include_bytes!("testdata/version-1-root.crt");
    let chain: Vec<_> = CertificateDer::pem_slice_iter(include_bytes!("testdata/version-1-chain.crt"))
        .map(Result::unwrap)
        .collect();
    let trust = ClientCertificates::from_pem(root).unwrap();
    let user = trust.authenticate(&chain, now()).unwrap().user.unwrap();
    assert_eq!((user.name.as_str(), user.groups[0].as_str()), ("jane", "dev"));
    assert!(trust.authenticate(&chain[..1], now()).is_err());
    let stranger = authority("middle");
    assert!(trust.authenticate(&[chain[0].clone(), stranger.der().clone()], now()).is_err());
}

fn issuer(
    name: &str,
    by: &CertifiedIssuer<'static, KeyPair>,
    change: impl FnOnce(&mut CertificateParams),
) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), by).unwrap()
}

/// Who may sign others is a client as well, which webpki does not take.
#[test]
fn authorities_may_be_clients() {
    let root = authority("root");
    let trust = ClientCertificates::from_pem(root.pem().as_bytes()).unwrap();
    let check =
        |middle: &CertifiedIssuer<'static, KeyPair>, change: &dyn Fn(&mut CertificateParams), expect| {
            let own = issue(middle, &[(DnType::CommonName, "ca")], |params| {
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
                change(params);
            });
            let found = trust.authenticate(&[own, middle.der().clone()], now());
            assert_eq!(found.is_ok(), expect, "{found:?}");
        };
    let nothing = |_: &mut CertificateParams| ();
    let good = issuer("middle", &root, nothing);
    check(&root, &nothing, true);
    check(&good, &nothing, true);
    check(&root, &|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth], false);
    check(&root, &|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any], true);
    check(&root, &|p| p.extended_key_usages = Vec::new(), true);
    check(&root, &|p| p.not_after = rcgen::date_time_ymd(2020, 1, 1), false);
    check(&root, &|p| p.not_before = rcgen::date_time_ymd(4000, 1, 1), false);
    check(&authority("root"), &nothing, false);
    let critical = || {
        let mut extension = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        extension.set_criticality(true);
        extension
    };
    check(&root, &|p| p.custom_extensions = vec![critical()], false);
    // Of intermediates.
    let of = |change: &dyn Fn(&mut CertificateParams)| issuer("middle", &root, change);
    check(&of(&|p| p.is_ca = IsCa::ExplicitNoCa), &nothing, false);
    check(&of(&|p| p.is_ca = IsCa::NoCa), &nothing, false);
    check(&of(&|p| p.not_after = rcgen::date_time_ymd(2020, 1, 1)), &nothing, false);
    check(&of(&|p| p.key_usages = vec![rcgen::KeyUsagePurpose::DigitalSignature]), &nothing, false);
    check(&of(&|p| p.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign]), &nothing, true);
    check(&of(&|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]), &nothing, false);
    check(&of(&|p| p.custom_extensions = vec![critical()]), &nothing, false);
    let names = || rcgen::NameConstraints {
        permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("example.com".to_owned())],
        excluded_subtrees: Vec::new(),
    };
    check(&of(&|p| p.name_constraints = Some(names())), &nothing, false);
    // One more than the one above allows.
    let own_chain = |most: u8| {
        let upper = of(&|p| p.is_ca = IsCa::Ca(BasicConstraints::Constrained(most)));
        let lower = issuer("lower", &upper, nothing);
        let own = issue(&lower, &[(DnType::CommonName, "ca")], |p| {
            p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        });
        trust.authenticate(&[own, upper.der().clone(), lower.der().clone()], now()).is_ok()
    };
    assert_eq!((own_chain(0), own_chain(1)), (false, true));
    // An authority itself.
    let user = trust.authenticate(&[root.der().clone()], now()).unwrap().user.unwrap();
    assert_eq!(user.name, "root");
}

/// Certificates that could all have signed each other must not keep a core.
#[test]
fn the_way_to_an_authority_is_not_looked_for_for_ever() {
    let root = authority("root");
    let trust = ClientCertificates::from_pem(authority("other").pem().as_bytes()).unwrap();
    let own = &issue(&root, &[(DnType::CommonName, "ca")], |p| {
        p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    let intermediates = vec![root.der().clone(); 30];
    let (_, parsed) = X509Certificate::from_der(own).unwrap();
    let authorities: Vec<_> = trust.authorities().iter().collect();
    let path = PathByHand::new(&authorities, &intermediates, now());
    assert!(!path.verify(own, &parsed));
    assert_eq!(path.left(), 0, "it gave up");
}

#[test]
fn certificates_for_any_purpose_are_for_clients() {
    let root = authority("root");
    let trust = ClientCertificates::from_pem(root.pem().as_bytes()).unwrap();
    let check = |purposes: &[ExtendedKeyUsagePurpose], expect| {
        let own = issue(&root, &[(DnType::CommonName, "a")], |p| p.extended_key_usages = purposes.to_vec());
        assert_eq!(trust.authenticate(&[own], now()).is_ok(), expect, "{purposes:?}");
    };
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth};
    check(&[], true);
    check(&[Any], true);
    check(&[ServerAuth, ClientAuth], true);
    check(&[ServerAuth, CodeSigning], false);
}

/// As for Go: webpki would not look.
#[test]
fn an_authority_whose_time_is_over_vouches_for_nobody() {
    let made = |until: i32| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    for (until, expect) in [(2020, false), (4000, true)] {
        let ca = made(until);
        let trust = ClientCertificates::from_pem(ca.pem().as_bytes()).unwrap();
        let own = issue(&ca, &[(DnType::CommonName, "a")], |_| ());
        assert_eq!(trust.authenticate(&[own], now()).is_ok(), expect, "{until}");
    }
}

#[test]
fn what_is_wrong_with_pem_is_said_in_words() {
    let check = |text: &str, expect: &str| {
        let error = ClientCertificates::from_pem(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expect) && !error.contains("45, 45"), "{error}");
    };
    check("-----BEGIN CERTIFICATE-----\nMAA=\n", "the section \"CERTIFICATE\" does not end");
}
