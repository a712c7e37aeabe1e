//! What the server shows of itself: certificates by name, read anew when their files change. No connection notices; a
//! pair that does not fit together changes nothing until the other half is there.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ringbolt_apiserver::{authentication::x509::pem_error, server::watched_files::WatchedFiles};
use ringbolt_engine::{TlsCertificate, TlsConfig, TlsSettings, TlsVersion};
use ringbolt_machinery::validation::names::dns1123_subdomain_errors;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::{pki::Pair, trust::Trust};

/// A certificate and key of `--tls-sni-cert-key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniFiles {
    certificate: PathBuf,
    key: PathBuf,
    /// The names it is for; without any those it is made out to.
    names: Vec<String>,
}

impl SniFiles {
    /// Reads `CERTIFICATE,KEY` or `CERTIFICATE,KEY:NAME,NAME`.
    pub fn parse(text: &str) -> Result<SniFiles, String> {
        let (files, names) = match text.split_once(':') {
            Some((_, names)) if names.trim().is_empty() => {
                return Err("empty names list is not allowed".to_owned());
            }
            Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
            None => (text, Vec::new()),
        };
        match files.split(',').map(str::trim).collect::<Vec<_>>()[..] {
            [certificate, key] => Ok(SniFiles { certificate: certificate.into(), key: key.into(), names }),
            _ => Err("expected comma separated certificate and key file paths".to_owned()),
        }
    }
}

/// What every handshake goes by, apart from certificates.
pub struct Handshakes {
    /// `--tls-min-version`
    pub min_version: TlsVersion,
    /// `--disable-http2-serving` not given
    pub http2: bool,
    /// Whose certificates clients may show.
    pub trust: Arc<Trust>,
}

/// All certificates of the server, as they are in use.
pub struct ServingCertificates {
    handshakes: Handshakes,
    /// The default one first. Replaced one at a time, by the thread that looks after files.
    shown: Mutex<Vec<Shown>>,
}

/// A certificate in use.
#[derive(Clone)]
struct Shown {
    pair: Pair,
    /// Names from the flag; without any those it is made out to. The default one has none at all.
    names: Names,
}

#[derive(Clone)]
enum Names {
    Rest,
    Given(Vec<String>),
    MadeOutTo,
}

impl ServingCertificates {
    /// Reads the certificates of `sni` beside the default one, which `files` names where it came from files, and has
    /// all of them looked after.
    ///
    /// # Errors
    /// A file cannot be read, or a certificate not be used.
    pub fn open(
        handshakes: Handshakes,
        default: Pair,
        default_files: [PathBuf; 2],
        sni: &[SniFiles],
        watched: &mut WatchedFiles,
    ) -> Result<Arc<TlsConfig>, String> {
        let mut shown = vec![Shown { pair: default, names: Names::Rest }];
        for files in sni {
            let pair = Pair { certificate: read(&files.certificate)?, key: read(&files.key)? };
            let given = Names::Given(files.names.clone());
            let names = if files.names.is_empty() { Names::MadeOutTo } else { given };
            shown.push(Shown { pair, names });
        }
        let this = Arc::new(ServingCertificates { handshakes, shown: Mutex::new(shown) });
        let settings = this.settings(&this.current())?;
        let tls = Arc::new(TlsConfig::new(settings).map_err(|e| e.to_string())?);
        let sni =
            sni.iter().map(|files| ("sni-serving-cert", [files.certificate.clone(), files.key.clone()]));
        let files = std::iter::once(("serving-cert", default_files)).chain(sni);
        for ((place, (what, paths)), shown) in files.enumerate().zip(this.current()) {
            let (this, tls) = (this.clone(), tls.clone());
            let contents = [shown.pair.certificate, shown.pair.key];
            watched.add(what, paths.to_vec(), &contents, move |contents| this.replace(&tls, place, contents));
        }
        // Clients are told whose certificates they may show.
        let authorities = this.handshakes.trust.files.clone();
        if !authorities.is_empty() {
            let contents = authorities.iter().map(|path| fs::read(path).unwrap_or_default());
            let contents: Vec<_> = contents.collect();
            let (this, tls) = (this.clone(), tls.clone());
            watched.add("authorities told to clients", authorities, &contents, move |_| {
                tls.reload(this.settings(&this.current())?).map_err(|e| e.to_string())
            });
        }
        Ok(tls)
    }

    fn current(&self) -> Vec<Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows another certificate in one place, if it can be used.
    fn replace(&self, tls: &TlsConfig, place: usize, contents: &[Vec<u8>]) -> Result<(), String> {
        let [certificate, key] = contents else { return Err("no certificate and key".to_owned()) };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|e| e.to_string());
        let mut shown = self.current();
        shown[place].pair = Pair { certificate: text(certificate)?, key: text(key)? };
        tls.reload(self.settings(&shown)?).map_err(|e| e.to_string())?;
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        Ok(())
    }

    /// What the engine makes handshakes by. Of two certificates for one name the one that the flag names it for comes
    /// before the one that is made out to it, and the earlier one before the later.
    fn settings(&self, shown: &[Shown]) -> Result<TlsSettings, String> {
        let mut certificates = Vec::with_capacity(shown.len());
        for Shown { pair, names } in shown {
            let chain: Result<Vec<_>, _> =
                CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).collect();
            let chain = chain.map_err(|e| format!("serving certificate: {}", pem_error(&e)))?;
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())
                .map_err(|e| format!("serving key: {}", pem_error(&e)))?;
            let names = match names {
                Names::Rest => Vec::new(),
                Names::Given(names) => names.clone(),
                Names::MadeOutTo => {
                    let leaf = chain.first().ok_or("serving certificate: there is none")?;
                    let made_out_to = made_out_to(leaf)?;
                    made_out_to.into_iter().filter(|name| !is_given(shown, name)).collect()
                }
            };
            certificates.push(TlsCertificate { chain, key, names });
        }
        let mut tls = TlsSettings::new(certificates);
        tls.client_ca_subjects = self.handshakes.trust.subjects();
        tls.min_version = self.handshakes.min_version;
        if !self.handshakes.http2 {
            tls.alpn.retain(|protocol| protocol != b"h2");
        }
        Ok(tls)
    }
}

fn is_given(shown: &[Shown], name: &str) -> bool {
    shown.iter().any(|shown| match &shown.names {
        Names::Given(names) => names.iter().any(|given| given.eq_ignore_ascii_case(name)),
        Names::Rest | Names::MadeOutTo => false,
    })
}

/// The hosts a certificate is made out to: its common name, where that is one, and its DNS names. Addresses are not
/// among them, for clients cannot ask for one.
fn made_out_to(certificate: &CertificateDer<'_>) -> Result<Vec<String>, String> {
    let (_, parsed) =
        X509Certificate::from_der(certificate).map_err(|e| format!("serving certificate: {e}"))?;
    let common_names = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    let mut names: Vec<String> =
        common_names.last().filter(|name| is_host(name)).map(str::to_owned).into_iter().collect();
    if let Ok(Some(alternatives)) = parsed.subject_alternative_name() {
        names.extend(alternatives.value.general_names.iter().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        }));
    }
    Ok(names)
}

/// Whether a common name can be a host's: `*`, or a DNS name that may begin with `*.`; no address.
fn is_host(name: &str) -> bool {
    let rest = name.strip_prefix("*.").unwrap_or(name);
    name.parse::<std::net::IpAddr>().is_err() && (name == "*" || dns1123_subdomain_errors(rest).is_empty())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
#[path = "serving_tests.rs"]
mod tests;
