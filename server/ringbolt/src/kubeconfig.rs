//! The administrator's kubeconfig, with everything in it.

use std::{net::SocketAddr, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::pki::{self, Pair, PkiError};

/// Writes `path`, readable by its owner alone.
pub fn write(path: &Path, server: SocketAddr, ca: &str, user: &Pair) -> Result<(), PkiError> {
    pki::write(path, &text(server, ca, user), 0o600)
}

fn text(server: SocketAddr, ca: &str, user: &Pair) -> String {
    let encode = |pem: &str| STANDARD.encode(pem);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: ringbolt
  cluster:
    server: https://{server}
    certificate-authority-data: {}
users:
- name: admin
  user:
    client-certificate-data: {}
    client-key-data: {}
contexts:
- name: ringbolt
  context:
    cluster: ringbolt
    user: admin
current-context: ringbolt
",
        encode(ca),
        encode(&user.certificate),
        encode(&user.key),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_server_and_credentials() {
        let user = Pair { certificate: "cert".to_owned(), key: "key".to_owned() };
        let text = text("127.0.0.1:6443".parse().unwrap(), "ca", &user);
        for line in [
            "    server: https://127.0.0.1:6443",
            "    certificate-authority-data: Y2E=",
            "    client-certificate-data: Y2VydA==",
            "    client-key-data: a2V5",
            "current-context: ringbolt",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}");
        }
    }
}
