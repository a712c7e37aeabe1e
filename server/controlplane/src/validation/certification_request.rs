//! What a CertificateSigningRequest asks with: a PKCS#10 request in PEM, signed with the key that it is about.

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use x509_parser::{
    certification_request::X509CertificationRequest, oid_registry::Oid, prelude::FromDer as _,
    x509::SubjectPublicKeyInfo,
};

use super::pem;

/// Checks a request; an error is what Go says about it, as far as that does not come from inside its parser.
pub(super) fn check(text: &str) -> Result<(), String> {
    let block = pem::blocks(text).next().filter(|block| block.kind == "CERTIFICATE REQUEST");
    let Some(block) = block else { return Err("PEM block type must be CERTIFICATE REQUEST".to_owned()) };
    check_der(&block.bytes)
}

fn check_der(der: &[u8]) -> Result<(), String> {
    check_outermost(der)?;
    let malformed = |_| "asn1: structure error: malformed certificate request".to_owned();
    let (_, request) = X509CertificationRequest::from_der(der).map_err(malformed)?;
    check_signature(&request)
}

/// Whether there is one sequence, and nothing else.
fn check_outermost(der: &[u8]) -> Result<(), String> {
    let truncated = || "asn1: syntax error: data truncated".to_owned();
    let [tag, rest @ ..] = der else { return Err("asn1: syntax error: sequence truncated".to_owned()) };
    let [first, rest @ ..] = rest else {
        return Err("asn1: syntax error: truncated tag or length".to_owned());
    };
    let (len, rest) = match first {
        len @ ..0x80 => (usize::from(*len), rest),
        count => {
            let count = usize::from(count & 0x7f);
            if count == 0 {
                return Err("asn1: syntax error: indefinite length found (not DER)".to_owned());
            }
            if count > rest.len() {
                return Err("asn1: syntax error: truncated tag or length".to_owned());
            }
            let (len, rest) = rest.split_at(count);
            let len =
                len.iter().try_fold(0_usize, |len, byte| Some(len.checked_mul(256)? | usize::from(*byte)));
            (len.unwrap_or(usize::MAX), rest)
        }
    };
    if *tag != 0x30 {
        let (class, number, compound) = (tag >> 6, tag & 0x1f, tag & 0x20 != 0);
        return Err(format!(
            "asn1: structure error: tags don't match (16 vs {{class:{class} tag:{number} length:{len} \
             isCompound:{compound}}}) {{optional:false explicit:false application:false private:false \
             defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}} certificateRequest @2"
        ));
    }
    match rest.len() {
        there if there < len => Err(truncated()),
        there if there > len => Err("asn1: syntax error: trailing data".to_owned()),
        0 => Err("asn1: syntax error: sequence truncated".to_owned()),
        _ => Ok(()),
    }
}

/// How a request is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signed {
    /// RSA with PKCS#1 padding and a hash of so many bits.
    Rsa(u16),
    /// RSA with PSS padding.
    Pss(u16),
    Ecdsa(u16),
    Ed25519,
}

fn check_signature(request: &X509CertificationRequest<'_>) -> Result<(), String> {
    let Some(signed) = signed(request)? else {
        return Err("x509: cannot verify signature: algorithm unimplemented".to_owned());
    };
    let key = &request.certification_request_info.subject_pki;
    let algorithm = algorithm(signed, key)?;
    let verified = algorithm.is_some_and(|algorithm| {
        let key = UnparsedPublicKey::new(algorithm, &key.subject_public_key.data);
        key.verify(request.certification_request_info.raw, &request.signature_value.data).is_ok()
    });
    let why = match signed {
        _ if verified => return Ok(()),
        Signed::Rsa(_) | Signed::Pss(_) => "crypto/rsa: verification error",
        Signed::Ecdsa(_) => "x509: ECDSA verification failure",
        Signed::Ed25519 => "x509: Ed25519 verification failure",
    };
    Err(why.to_owned())
}

/// By the identifier of the algorithm; `None` for one that nobody knows.
fn signed(request: &X509CertificationRequest<'_>) -> Result<Option<Signed>, String> {
    let algorithm = &request.signature_algorithm;
    Ok(Some(match algorithm.algorithm.to_id_string().as_str() {
        "1.2.840.113549.1.1.4" => {
            return Err("x509: cannot verify signature: insecure algorithm MD5-RSA".to_owned());
        }
        "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" => Signed::Rsa(1),
        "1.2.840.113549.1.1.11" => Signed::Rsa(256),
        "1.2.840.113549.1.1.12" => Signed::Rsa(384),
        "1.2.840.113549.1.1.13" => Signed::Rsa(512),
        "1.2.840.113549.1.1.10" => {
            // The hash is the first parameter.
            let parameters = algorithm.parameters.as_ref().map_or(&[][..], |parameters| parameters.data);
            let has = |hash: &[u8]| parameters.windows(hash.len()).any(|window| window == hash);
            let sha = |last: u8| [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last];
            match () {
                () if has(&sha(1)) => Signed::Pss(256),
                () if has(&sha(2)) => Signed::Pss(384),
                () if has(&sha(3)) => Signed::Pss(512),
                () => return Ok(None),
            }
        }
        "1.2.840.10045.4.1" => Signed::Ecdsa(1),
        "1.2.840.10045.4.3.2" => Signed::Ecdsa(256),
        "1.2.840.10045.4.3.3" => Signed::Ecdsa(384),
        "1.2.840.10045.4.3.4" => Signed::Ecdsa(512),
        "1.3.101.112" => Signed::Ed25519,
        _ => return Ok(None),
    }))
}

/// What verifies it with a key; `None` where nothing does. An error where the key is of another kind.
fn algorithm(
    signed: Signed,
    key: &SubjectPublicKeyInfo<'_>,
) -> Result<Option<&'static dyn VerificationAlgorithm>, String> {
    use signature as s;
    let of_kind = match (signed, key.algorithm.algorithm.to_id_string().as_str()) {
        (Signed::Rsa(_) | Signed::Pss(_), "1.2.840.113549.1.1.1") => "",
        (Signed::Ecdsa(_), "1.2.840.10045.2.1") => "",
        (Signed::Ed25519, "1.3.101.112") => "",
        (_, "1.2.840.113549.1.1.1") => "*rsa.PublicKey",
        (_, "1.2.840.10045.2.1") => "*ecdsa.PublicKey",
        (_, "1.3.101.112") => "ed25519.PublicKey",
        _ => return Err("x509: unsupported public key type".to_owned()),
    };
    if !of_kind.is_empty() {
        let wanted = match signed {
            Signed::Rsa(_) | Signed::Pss(_) => "RSA",
            Signed::Ecdsa(_) => "ECDSA",
            Signed::Ed25519 => "Ed25519",
        };
        return Err(format!(
            "x509: signature algorithm specifies an {wanted} public key, but have public key of type {of_kind}"
        ));
    }
    let curve = key.algorithm.parameters.as_ref().and_then(|p| p.as_oid().ok());
    let curve = curve.as_ref().map(Oid::to_id_string).unwrap_or_default();
    let found: &'static dyn VerificationAlgorithm = match (signed, curve.as_str()) {
        (Signed::Rsa(1), _) => &s::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        (Signed::Rsa(256), _) => &s::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        (Signed::Rsa(384), _) => &s::RSA_PKCS1_2048_8192_SHA384,
        (Signed::Rsa(512), _) => &s::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        (Signed::Pss(256), _) => &s::RSA_PSS_2048_8192_SHA256,
        (Signed::Pss(384), _) => &s::RSA_PSS_2048_8192_SHA384,
        (Signed::Pss(512), _) => &s::RSA_PSS_2048_8192_SHA512,
        (Signed::Ecdsa(256), "1.2.840.10045.3.1.7") => &s::ECDSA_P256_SHA256_ASN1,
        (Signed::Ecdsa(384), "1.2.840.10045.3.1.7") => &s::ECDSA_P256_SHA384_ASN1,
        (Signed::Ecdsa(512), "1.2.840.10045.3.1.7") => &s::ECDSA_P256_SHA512_ASN1,
        (Signed::Ecdsa(256), "1.3.132.0.34") => &s::ECDSA_P384_SHA256_ASN1,
        (Signed::Ecdsa(384), "1.3.132.0.34") => &s::ECDSA_P384_SHA384_ASN1,
        (Signed::Ecdsa(512), "1.3.132.0.34") => &s::ECDSA_P384_SHA512_ASN1,
        (Signed::Ecdsa(1), "1.3.132.0.35") => &s::ECDSA_P521_SHA1_ASN1,
        (Signed::Ecdsa(256), "1.3.132.0.35") => &s::ECDSA_P521_SHA256_ASN1,
        (Signed::Ecdsa(384), "1.3.132.0.35") => &s::ECDSA_P521_SHA384_ASN1,
        (Signed::Ecdsa(512), "1.3.132.0.35") => &s::ECDSA_P521_SHA512_ASN1,
        (Signed::Ed25519, _) => &s::ED25519,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RSA: &str = include_str!("testdata/rsa.csr");
    const P256: &str = include_str!("testdata/p256.csr");
    const P521: &str = include_str!("testdata/p521.csr");
    const ED25519: &str = include_str!("testdata/ed25519.csr");

    fn der(text: &str) -> Vec<u8> {
        pem::blocks(text).next().unwrap().bytes.to_vec()
    }

    fn said(der: &[u8]) -> String {
        check_der(der).err().unwrap_or_default()
    }

    #[test]
    fn requests_that_are_good() {
        for text in [RSA, P256, P521, ED25519] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        assert_eq!(check(&format!("text\n{RSA}{P256}")), Ok(()), "the first block counts");
        let headers = RSA.replacen("REQUEST-----\n", "REQUEST-----\nA: b\n\n", 1);
        assert_eq!(check(&headers), Ok(()));
    }

    #[test]
    fn signatures_that_are_not() {
        for (text, why) in [
            (RSA, "crypto/rsa: verification error"),
            (P256, "x509: ECDSA verification failure"),
            (P521, "x509: ECDSA verification failure"),
            (ED25519, "x509: Ed25519 verification failure"),
        ] {
            let mut der = der(text);
            let last = der.len() - 1;
            der[last] ^= 1;
            assert_eq!(said(&der), why);
        }
        let with_algorithm = |last: u8| {
            let mut der = der(RSA);
            let oid = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
            let at = der.windows(oid.len()).rposition(|window| window == oid).unwrap();
            der[at + oid.len() - 1] = last;
            said(&der)
        };
        assert_eq!(with_algorithm(0x63), "x509: cannot verify signature: algorithm unimplemented");
        assert_eq!(with_algorithm(0x05), "crypto/rsa: verification error");
        assert_eq!(with_algorithm(0x04), "x509: cannot verify signature: insecure algorithm MD5-RSA");
    }

    #[test]
    fn what_is_no_request() {
        let good = der(RSA);
        assert_eq!(said(&good[..good.len() - 10]), "asn1: syntax error: data truncated");
        assert_eq!(said(&[&good[..], &[0, 0]].concat()), "asn1: syntax error: trailing data");
        assert_eq!(said(&[]), "asn1: syntax error: sequence truncated");
        assert_eq!(said(&[0x30, 0]), "asn1: syntax error: sequence truncated");
        let start = "asn1: structure error: tags don't match (16 vs ";
        let mismatch = |der: &[u8], found: &str| {
            let said = said(der);
            let rest = said.strip_prefix(start).unwrap_or_else(|| panic!("{said}"));
            assert_eq!(rest.split_once(") ").map(|(found, _)| found), Some(found));
            assert!(rest.ends_with("} certificateRequest @2"));
        };
        mismatch(&[5, 0], "{class:0 tag:5 length:0 isCompound:false}");
        mismatch(b"hello", "{class:1 tag:8 length:101 isCompound:true}");
        assert_eq!(said(&[0x30, 2, 5, 0]), "asn1: structure error: malformed certificate request");
        let kind = "PEM block type must be CERTIFICATE REQUEST";
        for text in ["", "text", &RSA.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST")] {
            assert_eq!(check(text), Err(kind.to_owned()));
        }
    }
}
