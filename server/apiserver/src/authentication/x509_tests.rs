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
