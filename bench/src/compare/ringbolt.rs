//! Starts Ringbolt.

use std::time::Instant;

use super::{
    cores::Cores,
    limits,
    process::Process,
    server::{Common, Server, command, fresh_folder},
};
use crate::{error::Result, result::Side};

/// Starts Ringbolt on `cores` with an empty store.
pub(super) fn start(common: &Common, cores: &Cores, port: u16) -> Result<Server> {
    let folder = fresh_folder(common, "ringbolt")?;
    let pki = &common.pki;
    let arguments = [
        format!("--data-dir={}", folder.join("data").display()),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--tls-cert-file={}", pki.certificate.display()),
        format!("--tls-private-key-file={}", pki.key.display()),
        format!("--client-ca-file={}", pki.ca.display()),
        format!("--token-auth-file={}", common.tokens.display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        format!("--max-requests-inflight={}", limits::REQUESTS_INFLIGHT),
        format!("--max-mutating-requests-inflight={}", limits::REQUESTS_INFLIGHT / 2),
        "--embedded-controllers=".to_owned(),
        "--allow-privileged=true".to_owned(),
    ];
    let since = Instant::now();
    let mut command = command(&common.ringbolt, &arguments);
    let process = Process::start("ringbolt", &mut command, cores, &folder.join("log"))?;
    let mut server = Server::new(Side::Ringbolt, port, vec![process]);
    server.wait_ready(common, since)?;
    Ok(server)
}
