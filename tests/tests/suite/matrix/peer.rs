//! kube-apiserver beside the controller that fills aggregated roles.

use std::{
    env, fs,
    process::{Child, Command, Stdio},
};

use ringbolt_tests::{
    http1::Connection,
    note,
    peer::Peer,
    server::{ADMIN_TOKEN, free_port},
};

use super::{FLAGS, Target};

const CONTROLLERS: &str = "kube-controller-manager";

/// The running programs; ended when dropped.
pub(super) struct Kubernetes {
    peer: Peer,
    controllers: Child,
}

impl Kubernetes {
    /// Starts both; `None`, with a printed line, where they are not to be had.
    pub(super) fn start() -> Option<Kubernetes> {
        let programs = env::var_os("RINGBOLT_PEERS").map(std::path::PathBuf::from);
        let Some(program) = programs.map(|p| p.join(CONTROLLERS)).filter(|program| program.is_file()) else {
            note(&format!(
                "left out: the matrix of kube-apiserver, since RINGBOLT_PEERS has no {CONTROLLERS}"
            ));
            return None;
        };
        let peer = Peer::start("the matrix of kube-apiserver", &FLAGS)?;
        let file = |name: &str| peer.folder().join(name).display().to_string();
        let (config, log) = (file("kubeconfig"), fs::File::create(file("controllers.log")).unwrap());
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, current-context: x, \
             clusters: [{{name: x, cluster: {{server: 'https://127.0.0.1:{}', insecure-skip-tls-verify: true}}}}], \
             users: [{{name: x, user: {{token: {ADMIN_TOKEN}}}}}], \
             contexts: [{{name: x, context: {{cluster: x, user: x}}}}]}}",
            peer.port(),
        );
        fs::write(&config, kubeconfig).unwrap();
        let controllers = Command::new(program)
            .args(
                ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
                    .map(|flag| format!("--{flag}={config}")),
            )
            .args(["--controllers=clusterrole-aggregation-controller", "--leader-elect=false"])
            .args(["--bind-address=127.0.0.1".to_owned(), format!("--secure-port={}", free_port())])
            .arg(format!("--cert-dir={}", file("controllers")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|e| panic!("{CONTROLLERS}: {e}"));
        Some(Kubernetes { peer, controllers })
    }
}

impl Target for Kubernetes {
    fn connect(&self) -> Connection {
        self.peer.connect()
    }
    fn is_ordered(&self) -> bool {
        false
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        let _ = self.controllers.kill();
        let _ = self.controllers.wait();
    }
}
