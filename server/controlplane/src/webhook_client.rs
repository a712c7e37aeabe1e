//! How a webhook is reached, as every kind that names one is held to: a URL or a service, and the authorities it is
//! trusted by.

use ringbolt_machinery::{field::FieldError, value::Map};

use crate::{
    base64,
    validation::{admissionregistration::url, pem},
};

/// What is wrong with a URL (`ValidateWebhookURL`).
pub fn url(text: &str, path: &str, errors: &mut Vec<FieldError>) {
    url::validate(text, path, errors);
}

/// What is wrong with a service (`ValidateWebhookService`).
pub fn service(service: &Map<'_>, path: &str, errors: &mut Vec<FieldError>) {
    url::service(service, path, errors);
}

/// What is wrong with a bundle of authorities in base64 (`ValidateCABundle`); nothing where it is empty.
pub fn ca_bundle(encoded: &str) -> Option<String> {
    let decoded = base64::decode(encoded);
    if decoded.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&decoded);
    let mut why = None;
    let mut ended = 0;
    for block in pem::blocks(&text) {
        ended += 1;
        if block.kind != "CERTIFICATE" || block.has_headers {
            continue;
        }
        match x509_parser::parse_x509_certificate(&block.bytes) {
            // One is enough.
            Ok(_) => return None,
            Err(error) => {
                why.get_or_insert(format!("failed to parse certificate: {error}"));
            }
        }
    }
    let why = why.unwrap_or_else(|| match ended {
        0 => "unable to parse bytes as PEM block".to_owned(),
        _ => "no valid certificate authority data seen".to_owned(),
    });
    Some(format!("unable to load root certificates: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles() {
        let check = |text: &str, expect: Option<&str>| {
            let found = ca_bundle(&base64::encode(text));
            let expect = expect.map(|why| format!("unable to load root certificates: {why}"));
            assert_eq!(found, expect, "{text}");
        };
        check("", None);
        check("text", Some("unable to parse bytes as PEM block"));
        check(
            "-----BEGIN KEY-----\nYQ==\n-----END KEY-----\n",
            Some("no valid certificate authority data seen"),
        );
        let found =
            ca_bundle(&base64::encode("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"));
        assert!(found.is_some_and(|why| why.contains("failed to parse certificate")));
    }
}
