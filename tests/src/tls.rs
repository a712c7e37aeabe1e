//! TLS to a server under test: its own authority is trusted, the administrator's certificate is offered.

use std::{fs, io, net::TcpStream, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, StreamOwned, client::WantsClientCert,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};

use crate::server::Server;

/// A blocking TLS stream.
pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// The base64 value of `key` in the server's kubeconfig.
fn kubeconfig_value(server: &Server, key: &str) -> Vec<u8> {
    let path = server.kubeconfig();
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let prefix = format!("{key}: ");
    let value =
        text.lines().find_map(|l| l.trim().strip_prefix(&prefix)).unwrap_or_else(|| panic!("no {key}"));
    STANDARD.decode(value.trim()).expect("kubeconfig data is base64")
}

fn builder(authorities: &[u8]) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        roots.add(certificate.expect("the authority is PEM")).expect("the authority is a certificate");
    }
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions")
        .with_root_certificates(roots)
}

/// A client configuration without a certificate that trusts these, in PEM.
pub fn trusting(authorities: &[u8], protocols: &[&str]) -> Arc<ClientConfig> {
    let mut config = builder(authorities).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A client configuration that offers `protocols` by ALPN, with the administrator's certificate where `admin` says so.
pub fn config(server: &Server, protocols: &[&str], admin: bool) -> Arc<ClientConfig> {
    let builder = builder(&kubeconfig_value(server, "certificate-authority-data"));
    let mut config = if admin {
        let chain = kubeconfig_value(server, "client-certificate-data");
        let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<_, _>>().expect("a chain of PEM");
        let key = PrivateKeyDer::from_pem_slice(&kubeconfig_value(server, "client-key-data"))
            .expect("a key in PEM");
        builder.with_client_auth_cert(chain, key).expect("key and certificate fit")
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// Connects and shakes hands.
pub fn connect(server: &Server, config: Arc<ClientConfig>) -> io::Result<TlsStream> {
    connect_to(server.port, config)
}

/// The same, to a port.
pub fn connect_to(port: u16, config: Arc<ClientConfig>) -> io::Result<TlsStream> {
    let name = ServerName::try_from("127.0.0.1").expect("an address is a name");
    let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(crate::http1::PATIENCE))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}
