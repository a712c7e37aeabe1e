//! Keys and certificates made on first start and kept: an authority of our own, what the server serves with, the
//! administrator's client certificate, and the service account key.

use std::{
    fs,
    io::{self, Write as _},
    net::IpAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::layout;

/// How long what is made here holds. Nobody but this server, on this machine, trusts the authority.
const VALID: Duration = Duration::from_secs(10 * 365 * 86_400);
/// What ends sooner than this is made anew at start.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 86_400);
/// Clocks of clients may be behind.
const BACKDATED: Duration = Duration::from_secs(3600);

/// Why a file could not be made or read.
#[derive(Debug)]
pub struct PkiError {
    path: PathBuf,
    why: String,
}

impl std::fmt::Display for PkiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for PkiError {}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Certificate chain.
    pub certificate: String,
    /// Key.
    pub key: String,
}

/// Everything the folder holds.
#[derive(Debug)]
pub struct Pki {
    /// Certificate of the authority.
    pub ca: String,
    /// What the server serves with.
    pub serving: Pair,
    /// Client certificate of `kubernetes-admin` in `system:masters`.
    pub admin: Pair,
}

/// Names and addresses a server is reached by.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// DNS names.
    pub dns: Vec<String>,
    /// Addresses.
    pub ips: Vec<IpAddr>,
}

impl Pki {
    /// Reads what `folder` holds and makes what is missing, too old, or lacks one of `names`.
    pub fn open(folder: &Path, names: &Names) -> Result<Pki, PkiError> {
        fs::create_dir_all(folder).map_err(|e| error(folder, e))?;
        let authority = authority(folder)?;
        let serving = pair(
            folder,
            "apiserver",
            &authority,
            |have| covers(have, names),
            || {
                let mut params = subject("kube-apiserver", &[]);
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
                params.subject_alt_names = alternative_names(names);
                params
            },
        )?;
        let admin = pair(
            folder,
            "admin",
            &authority,
            |_| true,
            || {
                let mut params = subject("kubernetes-admin", &["system:masters"]);
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
                params
            },
        )?;
        service_account_key(folder)?;
        Ok(Pki { ca: authority.certificate, serving, admin })
    }
}

/// A self-signed certificate for `--cert-dir` without a certificate in it; an existing pair is used as it is.
pub fn self_signed(folder: &Path, names: &Names) -> Result<Pair, PkiError> {
    let [certificate, key] = layout::serving(folder);
    if certificate.exists() && key.exists() {
        return Ok(Pair { certificate: read(&certificate)?, key: read(&key)? });
    }
    fs::create_dir_all(folder).map_err(|e| error(folder, e))?;
    let made = KeyPair::generate().map_err(|e| error(&key, e))?;
    let mut params = subject("kube-apiserver", &[]);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.subject_alt_names = alternative_names(names);
    let signed = params.self_signed(&made).map_err(|e| error(&certificate, e))?;
    let pair = Pair { certificate: signed.pem(), key: made.serialize_pem() };
    write(&key, &pair.key, 0o600)?;
    write(&certificate, &pair.certificate, 0o644)?;
    Ok(pair)
}

struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

fn authority(folder: &Path) -> Result<Authority, PkiError> {
    let (certificate_path, key_path) = (folder.join("ca.crt"), folder.join("ca.key"));
    if certificate_path.exists() && key_path.exists() {
        let certificate = read(&certificate_path)?;
        let key = KeyPair::from_pem(&read(&key_path)?).map_err(|e| error(&key_path, e))?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key).map_err(|e| error(&certificate_path, e))?;
        return Ok(Authority { certificate, issuer });
    }
    let key = KeyPair::generate().map_err(|e| error(&key_path, e))?;
    let mut params = subject("ringbolt-ca", &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let certificate = params.self_signed(&key).map_err(|e| error(&certificate_path, e))?.pem();
    write(&key_path, &key.serialize_pem(), 0o600)?;
    write(&certificate_path, &certificate, 0o644)?;
    Ok(Authority { certificate, issuer: Issuer::new(params, key) })
}

/// A pair signed by the authority: the one in the folder if it is still `good`.
fn pair(
    folder: &Path,
    name: &str,
    authority: &Authority,
    good: impl FnOnce(&X509Certificate<'_>) -> bool,
    params: impl FnOnce() -> CertificateParams,
) -> Result<Pair, PkiError> {
    let (certificate_path, key_path) =
        (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
    if certificate_path.exists() && key_path.exists() {
        let pair = Pair { certificate: read(&certificate_path)?, key: read(&key_path)? };
        if is_current(&pair.certificate, good) {
            return Ok(pair);
        }
    }
    let key = KeyPair::generate().map_err(|e| error(&key_path, e))?;
    let mut params = params();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    let certificate =
        params.signed_by(&key, &authority.issuer).map_err(|e| error(&certificate_path, e))?.pem();
    let pair = Pair { certificate, key: key.serialize_pem() };
    write(&key_path, &pair.key, 0o600)?;
    write(&certificate_path, &pair.certificate, 0o644)?;
    Ok(pair)
}

/// The key that signs tokens of service accounts: `sa.key`, and its public half `sa.pub`, made where they are missing.
pub fn service_account_key(folder: &Path) -> Result<String, PkiError> {
    let (private, public) = (folder.join("sa.key"), folder.join("sa.pub"));
    if private.exists() && public.exists() {
        return read(&private);
    }
    fs::create_dir_all(folder).map_err(|e| error(folder, e))?;
    let key = KeyPair::generate().map_err(|e| error(&private, e))?;
    let pem = key.serialize_pem();
    write(&private, &pem, 0o600)?;
    write(&public, &key.public_key_pem(), 0o644)?;
    Ok(pem)
}

fn subject(common_name: &str, organizations: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for organization in organizations {
        params.distinguished_name.push(DnType::OrganizationName, *organization);
    }
    params.distinguished_name.push(DnType::CommonName, common_name);
    let now = SystemTime::now();
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + VALID).into();
    params
}

fn alternative_names(names: &Names) -> Vec<SanType> {
    // A name that is no DNS name (an odd host name) is left out: nobody can ask for it either.
    let dns = names.dns.iter().filter_map(|name| name.as_str().try_into().ok().map(SanType::DnsName));
    dns.chain(names.ips.iter().copied().map(SanType::IpAddress)).collect()
}

/// Whether a certificate holds for a while yet, and is `good`.
fn is_current(pem: &str, good: impl FnOnce(&X509Certificate<'_>) -> bool) -> bool {
    let Ok(der) = CertificateDer::from_pem_slice(pem.as_bytes()) else { return false };
    let Ok((_, certificate)) = X509Certificate::from_der(&der) else { return false };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    certificate.validity().not_after.timestamp() > (now + RENEW_BEFORE).as_secs() as i64 && good(&certificate)
}

/// Whether a certificate has all the names.
fn covers(certificate: &X509Certificate<'_>, names: &Names) -> bool {
    let Ok(Some(alternatives)) = certificate.subject_alternative_name() else { return false };
    let has_dns = |wanted: &String| {
        alternatives
            .value
            .general_names
            .iter()
            .any(|name| matches!(name, GeneralName::DNSName(n) if n == wanted))
    };
    let has_ip = |wanted: &IpAddr| {
        let bytes = match wanted {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        alternatives
            .value
            .general_names
            .iter()
            .any(|n| matches!(n, GeneralName::IPAddress(ip) if *ip == bytes))
    };
    names.dns.iter().all(has_dns) && names.ips.iter().all(has_ip)
}

fn read(path: &Path) -> Result<String, PkiError> {
    fs::read_to_string(path).map_err(|e| error(path, e))
}

/// Whole or not at all: a server that is killed in between starts again.
pub fn write(path: &Path, text: &str, mode: u32) -> Result<(), PkiError> {
    let temporary = path.with_extension("new");
    let attempt = || -> io::Result<()> {
        // The mode counts only for a file that is made.
        let _ = fs::remove_file(&temporary);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    attempt().map_err(|e| error(path, e))
}

fn error(path: &Path, why: impl std::fmt::Display) -> PkiError {
    PkiError { path: path.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn names(dns: &[&str], ips: &[&str]) -> Names {
        Names {
            dns: dns.iter().map(|n| (*n).to_owned()).collect(),
            ips: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let names = names(&["localhost"], &["127.0.0.1", "::1"]);
        let first = Pki::open(folder.path(), &names).unwrap();
        let second = Pki::open(folder.path(), &names).unwrap();
        assert_eq!((&first.ca, &first.serving, &first.admin), (&second.ca, &second.serving, &second.admin));
        for key in ["ca.key", "apiserver.key", "admin.key", "sa.key"] {
            let mode = fs::metadata(folder.path().join(key)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{key}");
        }
    }

    #[test]
    fn a_new_name_makes_a_new_serving_certificate_only() {
        let folder = tempfile::tempdir().unwrap();
        let first = Pki::open(folder.path(), &names(&["localhost"], &[])).unwrap();
        let second = Pki::open(folder.path(), &names(&["localhost"], &["10.0.0.1"])).unwrap();
        assert_eq!((&first.ca, &first.admin), (&second.ca, &second.admin));
        assert_ne!(first.serving, second.serving);
    }

    #[test]
    fn the_administrator_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let pki = Pki::open(folder.path(), &Names::default()).unwrap();
        let trust = ringbolt_apiserver::authentication::x509::ClientCertificates::from_pem(pki.ca.as_bytes())
            .unwrap();
        let der = CertificateDer::from_pem_slice(pki.admin.certificate.as_bytes()).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
        let user = trust.authenticate(&[der], now).unwrap().user.unwrap();
        assert_eq!(user.name, "kubernetes-admin");
        assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
    }

    #[test]
    fn cert_dir_is_reused() {
        let folder = tempfile::tempdir().unwrap();
        let first = self_signed(folder.path(), &names(&["localhost"], &[])).unwrap();
        let second = self_signed(folder.path(), &names(&["other"], &[])).unwrap();
        assert_eq!(first, second);
    }
}
