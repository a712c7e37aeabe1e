//! What a certificate request (PKCS#10) says of who asks.

use x509_parser::{
    asn1_rs::{Any, FromDer},
    certification_request::X509CertificationRequest,
    x509::X509Name,
};

use crate::{base64, validation::pem};

const COMMON_NAME: &str = "2.5.4.3";
const ORGANIZATION: &str = "2.5.4.10";
/// Universal tags of texts that are not bytes of ASCII or UTF-8.
const T61_STRING: u32 = 20;
const BMP_STRING: u32 = 30;

/// Whom a certificate is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Subject {
    /// The last common name; empty for none.
    pub(super) common_name: String,
    /// All organizations: the groups of a user.
    pub(super) organizations: Vec<String>,
}

/// The subject of a request as `spec.request` holds it: PEM in base64. An error says what is wrong with it.
pub(super) fn subject(request: &str) -> Result<Subject, String> {
    let text = base64::decode(request);
    let text = String::from_utf8_lossy(&text);
    let Some(block) = pem::blocks(&text).next().filter(|block| block.kind == "CERTIFICATE REQUEST") else {
        return Err("PEM block type must be CERTIFICATE REQUEST".to_owned());
    };
    let (rest, request) = X509CertificationRequest::from_der(&block.bytes)
        .map_err(|_| "asn1: structure error: malformed certificate request".to_owned())?;
    if !rest.is_empty() {
        return Err("asn1: syntax error: trailing data".to_owned());
    }
    Ok(read(&request.certification_request_info.subject))
}

fn read(name: &X509Name<'_>) -> Subject {
    let mut subject = Subject::default();
    for attribute in name.iter_attributes() {
        match attribute.attr_type().to_id_string().as_str() {
            COMMON_NAME => subject.common_name = text(attribute.attr_value()),
            ORGANIZATION => subject.organizations.push(text(attribute.attr_value())),
            _ => {}
        }
    }
    subject
}

/// A text in whichever of the encodings of ASN.1: one that was not read could hide a group.
fn text(value: &Any<'_>) -> String {
    match value.tag().0 {
        BMP_STRING => {
            let units = value.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        T61_STRING => value.data.iter().map(|byte| char::from(*byte)).collect(),
        _ => String::from_utf8_lossy(value.data).into_owned(),
    }
}
