//! Starts the peer: etcd and kube-apiserver.

use std::time::Instant;

use super::{
    cores::Cores,
    limits,
    process::Process,
    server::{Common, Ports, Server, command, fresh_folder},
};
use crate::{
    error::{Context as _, Result},
    result::Side,
};

/// Starts etcd and kube-apiserver on `cores` with an empty store. Each has its own defaults but for what the API server
/// cannot do without, and for what Ringbolt is told as well.
pub(super) fn start(common: &Common, cores: &Cores, ports: Ports) -> Result<Server> {
    let binaries = common.peer.as_ref().context("there is no peer")?;
    let folder = fresh_folder(common, "peer")?;
    let since = Instant::now();
    let (clients, peers) = (ports.etcd, ports.etcd + 1);
    let arguments = [
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls=http://127.0.0.1:{clients}"),
        format!("--advertise-client-urls=http://127.0.0.1:{clients}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
        format!("--initial-advertise-peer-urls=http://127.0.0.1:{peers}"),
        format!("--initial-cluster=default=http://127.0.0.1:{peers}"),
    ];
    let etcd =
        Process::start("etcd", &mut command(&binaries.etcd, &arguments), cores, &folder.join("etcd.log"))?;
    let pki = &common.pki;
    let arguments = [
        format!("--etcd-servers=http://127.0.0.1:{clients}"),
        format!("--secure-port={}", ports.peer),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--tls-cert-file={}", pki.certificate.display()),
        format!("--tls-private-key-file={}", pki.key.display()),
        format!("--client-ca-file={}", pki.ca.display()),
        format!("--token-auth-file={}", common.tokens.display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", pki.service_account_public_key.display()),
        format!("--service-account-signing-key-file={}", pki.service_account_key.display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        format!("--max-requests-inflight={}", limits::REQUESTS_INFLIGHT),
        format!("--max-mutating-requests-inflight={}", limits::REQUESTS_INFLIGHT / 2),
        "--allow-privileged=true".to_owned(),
        // Without it the server writes its own address into an Endpoints object every 10 s.
        "--endpoint-reconciler-type=none".to_owned(),
    ];
    let mut command = command(&binaries.kube_apiserver, &arguments);
    let log = folder.join("kube-apiserver.log");
    let kube_apiserver = Process::start("kube-apiserver", &mut command, cores, &log)?;
    let mut server = Server::new(Side::Peer, ports.peer, vec![etcd, kube_apiserver]);
    server.wait_ready(common, since)?;
    Ok(server)
}
