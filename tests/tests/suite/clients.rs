//! Real clients: stock kubectl of 1.37 and of 1.32, and a program of client-go, which `tests/clients` holds.
//!
//! With `RINGBOLT_KUBECONFIG` set the sessions run against that cluster instead, to see what a real kube-apiserver
//! makes of them.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use ringbolt_tests::{
    note,
    server::{Server, scratch, workspace},
};
use serde_json::Value;

use self::kubectl::Kubectl;

mod custom;
mod day;
pub(crate) mod kubectl;
mod session;
mod tokens;

/// Builds the programs of `tests/clients` once; `None`, with a printed line, where that cannot be done.
pub(crate) fn programs() -> Option<PathBuf> {
    static BUILT: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    if !Command::new("go").arg("version").output().is_ok_and(|o| o.status.success()) {
        note("left out: kubectl 1.37, client-go and a cluster, since there is no Go to build them with");
        return None;
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
    let folder = target.join("clients");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let built = Command::new("go")
        .arg("build")
        .args(["-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2", "-o"])
        .arg(&folder)
        .args(["./kubectl", "./clientgo", "./nodes", "./kubelet"])
        .current_dir(workspace().join("tests/clients"))
        .output()
        .expect("go was run before");
    let errors = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() && lacks_modules(&errors) {
        note(
            "left out: kubectl 1.37, client-go and a cluster, since the modules that they are of cannot be had",
        );
        return None;
    }
    assert!(built.status.success(), "{errors}");
    Some(folder)
}

/// Whether Go could not get what it was to build, where everything else about it would do.
fn lacks_modules(errors: &str) -> bool {
    ["dial tcp", "i/o timeout", "TLS handshake timeout", "module lookup disabled by GOPROXY=off"]
        .iter()
        .any(|sign| errors.contains(sign))
}

/// The cluster of a test: a server of its own, or the one that was named.
enum Cluster {
    Own(Box<Server>),
    Named(PathBuf),
}

impl Cluster {
    fn start(name: &str) -> Cluster {
        match env::var_os("RINGBOLT_KUBECONFIG") {
            Some(path) => Cluster::Named(path.into()),
            // Nobody makes accounts for the pods of the sessions.
            None => {
                let flags = ["--disable-admission-plugins=ServiceAccount"];
                Cluster::Own(Box::new(Server::start(name, &flags)))
            }
        }
    }

    fn kubeconfig(&self) -> PathBuf {
        match self {
            Cluster::Own(server) => server.kubeconfig(),
            Cluster::Named(path) => path.clone(),
        }
    }

    /// Kills the server and starts it again, where it is the test's own.
    fn crash(&mut self) {
        if let Cluster::Own(server) = self {
            server.kill();
            server.spawn();
        }
    }

    fn log(&self) -> String {
        match self {
            Cluster::Own(server) => server.log(),
            Cluster::Named(_) => String::new(),
        }
    }
}

#[test]
fn client_go() {
    let Some(programs) = programs() else { return };
    let cluster = Cluster::start("clientgo");
    let output = Command::new(programs.join("clientgo")).arg(cluster.kubeconfig()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}{}", String::from_utf8_lossy(&output.stderr), cluster.log());
    assert!(text.lines().last() == Some("clientgo: all checks passed"), "{text}");
}

#[test]
fn kubectl_1_37() {
    let Some(programs) = programs() else { return };
    let mut cluster = Cluster::start("kubectl-1.37");
    session::run(&programs.join("kubectl"), &mut cluster, &format!("a-{}", std::process::id()));
}

#[test]
fn kubectl_1_32() {
    let output = Command::new("kubectl").args(["version", "--client", "-o", "json"]).output();
    let Some(output) = output.ok().filter(|o| o.status.success()) else {
        note("left out: kubectl 1.32, since there is no kubectl");
        return;
    };
    let version: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let version = version["clientVersion"]["gitVersion"].as_str().unwrap_or("unknown").to_owned();
    if !version.starts_with("v1.32.") {
        note(&format!("the machine's kubectl is {version}, not 1.32; the session runs with it"));
    }
    let mut cluster = Cluster::start("kubectl-1.32");
    session::run(Path::new("kubectl"), &mut cluster, &format!("b-{}", std::process::id()));
}

#[test]
fn kubectl_custom_resources() {
    let program = programs().map(|p| p.join("kubectl"));
    let mut cluster = Cluster::start("kubectl-custom");
    let name = format!("c-{}", std::process::id());
    custom::run(program.as_deref().unwrap_or(Path::new("kubectl")), &mut cluster, &name);
}

#[test]
fn kubectl_tokens() {
    if let Some(programs) = programs() {
        tokens::run(&programs.join("kubectl"), "tokens-1-37");
    }
    if Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|o| o.status.success()) {
        tokens::run(Path::new("kubectl"), "tokens");
    }
}

#[test]
fn kubectl_tables() {
    let program = programs().map(|p| p.join("kubectl"));
    let cluster = Cluster::start("kubectl-tables");
    session::tables(
        program.as_deref().unwrap_or(Path::new("kubectl")),
        &cluster,
        &format!("t-{}", std::process::id()),
    );
}

#[test]
fn kubectl_day_1_37() {
    let Some(programs) = programs() else { return };
    day(&programs.join("kubectl"), "day-1-37");
}

#[test]
fn kubectl_day_1_32() {
    if !Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|o| o.status.success()) {
        note("left out: a day of kubectl 1.32, since there is no kubectl");
        return;
    }
    day(Path::new("kubectl"), "day-1-32");
}

fn day(program: &Path, name: &str) {
    let cluster = match env::var_os("RINGBOLT_KUBECONFIG") {
        Some(path) => Cluster::Named(path.into()),
        None => Cluster::Own(Box::new(Server::start(name, &[]))),
    };
    day::run(program, &cluster, &format!("{name}-{}", std::process::id()));
}
