//! What clients are warned of with secrets.

use ringbolt_machinery::value::Value;

use crate::{base64, validation::pem};

/// A server's certificate and key that no server could load, by what their PEM says.
pub(crate) fn secret(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if object.str_at(&["type"]) != Some("kubernetes.io/tls") {
        return;
    }
    let text = |name: &str| {
        let bytes = base64::decode(object.str_at(&["data", name]).unwrap_or(""));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    warnings.extend(pair_warning(&text("tls.crt"), &text("tls.key")));
}

/// What Go's `tls.X509KeyPair` says of the blocks of a pair.
fn pair_warning(certificate: &str, key: &str) -> Option<String> {
    let kinds = |text: &str| pem::blocks(text).map(|block| block.kind.to_owned()).collect::<Vec<_>>();
    let found = kinds(certificate);
    if !found.iter().any(|kind| kind == "CERTIFICATE") {
        return Some(match found.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM \
                 inputs may have been switched"
                    .to_owned()
            }
            some => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: [{}]",
                some.join(" ")
            ),
        });
    }
    let found = kinds(key);
    if found.iter().any(|kind| kind == "PRIVATE KEY" || kind.ends_with(" PRIVATE KEY")) {
        return None;
    }
    Some(match found.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [one] if one == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        some => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks \
             of the following types: [{}]",
            some.join(" ")
        ),
    })
}
