//! Keys from their files, and what they sign.

use aws_lc_rs::{encoding::Pkcs8V1Der, rsa::KeySize};
use base64::prelude::BASE64_STANDARD;
use rcgen::{KeyPair as GeneratedKey, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384};

use super::*;

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|c| std::str::from_utf8(c).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn rsa() -> String {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    pem("PRIVATE KEY", der.as_ref())
}

#[test]
fn what_a_key_signs_its_public_half_takes() {
    let ecdsa = |algorithm| GeneratedKey::generate_for(algorithm).unwrap().serialize_pem();
    let check = |key: &str, algorithm: &str, curve: &str| {
        let key = SigningKey::read(key.as_bytes()).unwrap();
        let signature = key.sign(b"message").unwrap();
        let public = key.into_public();
        assert_eq!(public.algorithm(), algorithm);
        assert!(public.verify(algorithm, b"message", &signature));
        assert!(!public.verify(algorithm, b"other", &signature));
        for other in ["none", "", "HS256", "RS384", "PS256", if curve.is_empty() { "ES256" } else { "RS256" }]
        {
            assert!(!public.verify(other, b"message", &signature), "{algorithm} as {other}");
        }
        let text = public.json_web_key();
        assert!(text.contains(&format!(r#""kid":"{}""#, public.id())), "{text}");
        assert!(text.contains(curve), "{text}");
    };
    check(&rsa(), "RS256", "");
    check(&ecdsa(&PKCS_ECDSA_P256_SHA256), "ES256", r#""crv":"P-256""#);
    check(&ecdsa(&PKCS_ECDSA_P384_SHA384), "ES384", r#""crv":"P-384""#);
}

/// RSA with either padding, and any digest.
#[test]
fn what_others_sign_with_a_key() {
    use aws_lc_rs::signature::{
        RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
    };
    let text = rsa();
    let public = SigningKey::read(text.as_bytes()).unwrap().into_public();
    let (_, der) = <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes()).next().unwrap().unwrap();
    let pair = RsaKeyPair::from_pkcs8(&der).unwrap();
    let encodings: [(&str, &'static dyn RsaEncoding); 6] = [
        ("RS256", &RSA_PKCS1_SHA256),
        ("RS384", &RSA_PKCS1_SHA384),
        ("RS512", &RSA_PKCS1_SHA512),
        ("PS256", &RSA_PSS_SHA256),
        ("PS384", &RSA_PSS_SHA384),
        ("PS512", &RSA_PSS_SHA512),
    ];
    for (name, encoding) in encodings {
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(encoding, &SystemRandom::new(), b"message", &mut signature).unwrap();
        for (other, _) in encodings {
            assert_eq!(public.verify(other, b"message", &signature), name == other, "{name} as {other}");
        }
    }
}

/// RFC 7515 appendix A.3, its key as a SubjectPublicKeyInfo.
#[test]
fn the_example_of_the_specification() {
    const SIGNED: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    // A sequence of id-ecPublicKey with prime256v1, and the point.
    let mut der = BASE64_STANDARD.decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE").unwrap();
    der.extend(decode(X));
    der.extend(decode(Y));
    let keys = PublicKey::read_all(pem("PUBLIC KEY", &der).as_bytes()).unwrap();
    let [key] = &keys[..] else { panic!("one key") };
    assert!(key.verify("ES256", SIGNED.as_bytes(), &decode(SIGNATURE)));
    assert!(key.json_web_key().contains(&format!(r#""x":"{X}","y":"{Y}""#)), "{}", key.json_web_key());
}

#[test]
fn a_file_may_hold_several_keys_of_any_kind() {
    let (first, second) = (GeneratedKey::generate().unwrap(), GeneratedKey::generate().unwrap());
    let certificate = rcgen::CertificateParams::default().self_signed(&second).unwrap();
    let file = format!("{}{}{}{}", first.public_key_pem(), first.serialize_pem(), certificate.pem(), rsa());
    let keys = PublicKey::read_all(file.as_bytes()).unwrap();
    assert_eq!(keys.len(), 4);
    assert_eq!(keys[0].id(), keys[1].id(), "both halves of a key have one name");
    assert_ne!(keys[1].id(), keys[2].id());
    assert_eq!(keys[2].id(), PublicKey::read_all(second.public_key_pem().as_bytes()).unwrap()[0].id());
    assert_eq!(keys[3].algorithm(), "RS256");
}

#[test]
fn files_without_keys() {
    assert_eq!(SigningKey::read(b"").err(), Some(KeyError::NoPrivateKey));
    let public = GeneratedKey::generate().unwrap().public_key_pem();
    assert_eq!(SigningKey::read(public.as_bytes()).err(), Some(KeyError::NoPrivateKey));
    assert_eq!(PublicKey::read_all(b"no PEM").err(), Some(KeyError::NoPublicKey));
    assert_eq!(
        PublicKey::read_all(pem("PUBLIC KEY", b"nonsense").as_bytes()).err(),
        Some(KeyError::NoPublicKey)
    );
}
