//! The way from a certificate to an authority for those that webpki does not look for, and Go does: certificates of
//! version 1, which is what `openssl x509 -req` makes by default, and those that may sign others.
//!
//! Whatever else would have to be understood (constraints of names, extensions that are critical) is refused.

use std::cell::Cell;

use rustls_pki_types::CertificateDer;
use x509_parser::{
    prelude::{FromDer, ParsedExtension, X509Certificate},
    x509::X509Version,
};

use crate::limits::CERTIFICATE_SIGNATURES;

/// Looks for the way.
pub(super) struct PathByHand<'c> {
    authorities: Vec<(&'c CertificateDer<'static>, X509Certificate<'c>)>,
    intermediates: Vec<X509Certificate<'c>>,
    now: i64,
    /// Signatures that may still be checked.
    left: Cell<u32>,
}

impl<'c> PathByHand<'c> {
    /// `authorities` are of the time `now`.
    pub(super) fn new(
        authorities: &[&'c CertificateDer<'static>],
        intermediates: &'c [CertificateDer<'_>],
        now: i64,
    ) -> Self {
        let parse = |der: &'c [u8]| X509Certificate::from_der(der).ok().map(|(_, certificate)| certificate);
        PathByHand {
            authorities: authorities.iter().filter_map(|der| Some((*der, parse(der)?))).collect(),
            intermediates: intermediates.iter().filter_map(|der| parse(der)).collect(),
            now,
            left: Cell::new(CERTIFICATE_SIGNATURES),
        }
    }

    /// Whether a client's own certificate is of this time, is for clients, and comes from an authority, or is one.
    pub(super) fn verify(&self, der: &CertificateDer<'_>, own: &X509Certificate<'_>) -> bool {
        self.is_of_time(own)
            && is_for_clients(own)
            && is_understood(own)
            && (self.authorities.iter().any(|(authority, _)| *authority == der) || self.is_signed(own, 0))
    }

    /// Signatures that may still be checked.
    #[cfg(test)]
    pub(super) fn left(&self) -> u32 {
        self.left.get()
    }

    /// Whether there is a way from a certificate to an authority. `below` are the intermediates passed so far.
    fn is_signed(&self, own: &X509Certificate<'_>, below: u32) -> bool {
        self.authorities.iter().any(|(_, authority)| self.signs(authority, own))
            || self.intermediates.iter().any(|issuer| {
                self.may_sign(issuer, below) && self.signs(issuer, own) && self.is_signed(issuer, below + 1)
            })
    }

    fn signs(&self, issuer: &X509Certificate<'_>, own: &X509Certificate<'_>) -> bool {
        if issuer.subject().as_raw() != own.issuer().as_raw() || self.left.get() == 0 {
            return false;
        }
        self.left.set(self.left.get() - 1);
        own.verify_signature(Some(issuer.public_key())).is_ok()
    }

    /// Whether an intermediate may sign others, so many intermediates below it.
    fn may_sign(&self, issuer: &X509Certificate<'_>, below: u32) -> bool {
        let constraints = issuer.basic_constraints().ok().flatten().map(|found| found.value);
        let usage = issuer.key_usage();
        constraints
            .is_some_and(|found| found.ca && found.path_len_constraint.is_none_or(|most| below <= most))
            && usage.is_ok_and(|usage| usage.is_none_or(|usage| usage.value.key_cert_sign()))
            && issuer.version() == X509Version::V3
            && self.is_of_time(issuer)
            && is_for_clients(issuer)
            && is_understood(issuer)
    }

    fn is_of_time(&self, certificate: &X509Certificate<'_>) -> bool {
        let validity = certificate.validity();
        validity.not_before.timestamp() <= self.now && self.now <= validity.not_after.timestamp()
    }
}

/// Whether a certificate names no purposes, or clients or any among them.
fn is_for_clients(certificate: &X509Certificate<'_>) -> bool {
    let purposes = certificate.extended_key_usage();
    purposes.is_ok_and(|purposes| purposes.is_none_or(|found| found.value.any || found.value.client_auth))
}

/// Whether nothing that must be understood is not.
fn is_understood(certificate: &X509Certificate<'_>) -> bool {
    certificate.extensions().iter().all(|extension| match extension.parsed_extension() {
        ParsedExtension::BasicConstraints(_)
        | ParsedExtension::KeyUsage(_)
        | ParsedExtension::ExtendedKeyUsage(_)
        | ParsedExtension::SubjectAlternativeName(_) => true,
        ParsedExtension::NameConstraints(_) => false,
        _ => !extension.critical,
    })
}
