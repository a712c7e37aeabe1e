//! kube-controller-manager, kube-scheduler and the nodes, as processes that end with the test.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use ringbolt_tests::{
    note,
    server::{free_port, scratch},
};

use super::credentials::Credentials;

/// Their names are those of their users too, after `system:`.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";

/// The folder of the programs; `None`, with a printed line, where they are not to be had.
pub(super) fn peers() -> Option<PathBuf> {
    let Some(folder) = env::var_os("RINGBOLT_PEERS").map(PathBuf::from) else {
        note("left out: a cluster, since RINGBOLT_PEERS names no kube-controller-manager and kube-scheduler");
        return None;
    };
    for name in [CONTROLLER_MANAGER, SCHEDULER] {
        if !folder.join(name).is_file() {
            note(&format!("left out: a cluster, since RINGBOLT_PEERS has no {name}"));
            return None;
        }
    }
    Some(folder)
}

/// The running programs; killed when dropped.
pub(super) struct Processes {
    folder: PathBuf,
    running: Vec<(&'static str, Child)>,
}

impl Processes {
    /// Starts all three against a cluster.
    pub(super) fn start(peers: &Path, programs: &Path, kubeconfig: &Path, nodes: usize) -> Processes {
        let mut processes = Processes { folder: scratch("cluster-logs"), running: Vec::new() };
        let beside = kubeconfig.parent().expect("a file is in a folder");
        let pki = Some(beside.join("pki")).filter(|p| p.is_dir()).unwrap_or_else(|| beside.to_owned());
        let credentials = Credentials {
            kubectl: programs.join("kubectl"),
            kubeconfig: kubeconfig.to_owned(),
            pki: pki.clone(),
            folder: processes.folder.clone(),
        };
        // Where the server is and what to sign with; all else is as by default, but for where they listen themselves.
        let common = |name: &str| {
            let config = credentials.of(&format!("system:{name}"));
            let config = config.display();
            vec![
                format!("--kubeconfig={config}"),
                format!("--authentication-kubeconfig={config}"),
                format!("--authorization-kubeconfig={config}"),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={}", free_port()),
                format!("--cert-dir={}", processes.folder.join(name).display()),
            ]
        };
        let mut manager = common(CONTROLLER_MANAGER);
        let file = |flag: &str, name: &str| format!("--{flag}={}", pki.join(name).display());
        manager.extend([
            // Each controller is an account of its own, which may do what its role allows.
            "--use-service-account-credentials".to_owned(),
            file("service-account-private-key-file", "sa.key"),
            file("root-ca-file", "ca.crt"),
            file("cluster-signing-cert-file", "ca.crt"),
            file("cluster-signing-key-file", "ca.key"),
        ]);
        let scheduler = common(SCHEDULER);
        let config = kubeconfig.display().to_string();
        processes.run(&peers.join(CONTROLLER_MANAGER), CONTROLLER_MANAGER, &manager);
        processes.run(&peers.join(SCHEDULER), SCHEDULER, &scheduler);
        processes.run(&programs.join("nodes"), "nodes", &[config, nodes.to_string()]);
        processes
    }

    fn run(&mut self, program: &Path, name: &'static str, arguments: &[String]) {
        let log = fs::File::create(self.log_file(name)).expect("the temporary folder can be written");
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log file can be shared"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        self.running.push((name, child));
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Fails where one has ended.
    pub(super) fn all_run(&mut self) {
        for (name, child) in &mut self.running {
            let ended = child.try_wait().expect("a child can be waited for");
            assert!(ended.is_none(), "{name} ended: {ended:?}; see {}", self.folder.display());
        }
    }

    /// What each of them has said.
    pub(super) fn logs(&self) -> Vec<(&'static str, String)> {
        let read = |name| fs::read_to_string(self.log_file(name)).expect("it was created");
        self.running.iter().map(|(name, _)| (*name, read(name))).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            // Left behind after a failure, to be looked at.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
