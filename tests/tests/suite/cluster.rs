//! A whole cluster without containers: the server, stock kube-controller-manager and kube-scheduler of 1.37 with their
//! default flags, and five nodes that `tests/clients/nodes` plays. The two are the users that they are in a cluster, and
//! each controller is its service account, so that roles decide what they may do. What a user sees of it is asserted, and
//! that the two log no error that they do not log beside kube-apiserver.
//!
//! `RINGBOLT_PEERS` is the folder with the two programs, which `bench/peer/build` makes. With `RINGBOLT_KUBECONFIG` the
//! same script runs against that cluster, whose `ca.crt`, `ca.key` and `sa.key` lie beside the file.

use std::time::{Duration, Instant};

use ringbolt_tests::{alone, note, server::Server, wait_for};
use serde_json::{Value, json};

use self::{complaints::Complaints, processes::Processes};
use crate::clients::{kubectl::Kubectl, programs};

mod complaints;
mod credentials;
mod kinds;
mod processes;
mod workloads;

/// Nodes that are played.
const NODES: usize = 5;
/// Replicas of the Deployment.
const REPLICAS: usize = 50;
/// How long a controller may take for one thing. kube-controller-manager sends 20 requests a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a user has open: kubectl in the namespace of the test.
struct User {
    kubectl: Kubectl,
    namespace: String,
}

impl User {
    /// Waits until an object is as wanted.
    fn wait(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = String::from("not there");
        let found = wait_for(PATIENCE, || match self.kubectl.try_json(name) {
            Ok(object) if wanted(&object) => Some(object),
            Ok(object) => {
                last = object.to_string();
                None
            }
            Err(error) => {
                last = error;
                None
            }
        });
        found.unwrap_or_else(|| panic!("{name}: not {what}: {last}"))
    }

    /// Waits until a list has this many items.
    fn wait_count(&self, list: &str, number: usize) -> Vec<Value> {
        let list = self.wait(list, &format!("{number}"), |l| items(l).len() == number);
        items(&list).to_vec()
    }

    fn apply(&self, object: &Value) {
        self.kubectl.fed("apply -f -", &object.to_string());
    }
}

/// The items of a list.
fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether a condition of an object is true.
fn is(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|c| c.iter().any(|c| c["type"] == condition && c["status"] == "True"))
}

#[test]
fn controllers_and_scheduler_of_kubernetes() {
    let Some(peers) = processes::peers() else { return };
    let Some(programs) = programs() else { return };
    let _alone = alone();
    // The controllers of kube-controller-manager are to do the work.
    let named = std::env::var_os("RINGBOLT_KUBECONFIG").map(std::path::PathBuf::from);
    let mut server = named.is_none().then(|| Server::start("cluster", &["--embedded-controllers="]));
    let kubeconfig = named.or(server.as_ref().map(Server::kubeconfig)).expect("one of the two is there");
    let mut processes = Processes::start(&peers, &programs, &kubeconfig, NODES);
    let namespace = format!("cluster-{}", std::process::id());
    let kubectl = Kubectl::new(&programs.join("kubectl"), &kubeconfig, &namespace);
    let user = User { kubectl, namespace };

    let begun = Instant::now();
    kinds::nodes(&user);
    kinds::namespace(&user);
    // These take their time by themselves; looked at later.
    kinds::begin(&user);
    workloads::begin(&user);
    workloads::deployment(&user);
    // Both work, so both lead by now.
    let leaders = kinds::leaders(&user);
    kinds::accounts(&user);
    workloads::end(&user);
    kinds::end(&user);
    workloads::collected(&user);
    kinds::namespace_goes(&user);
    assert_eq!(kinds::leaders(&user), leaders, "nobody lost the lead");
    note(&format!("cluster: the script took {:.1} s", begun.elapsed().as_secs_f64()));
    if let Some(server) = &server {
        let cpu = server.cpu().as_secs_f64();
        note(&format!("cluster: {cpu:.2} s of CPU, {} MiB at most", server.memory_kib("VmHWM") / 1024));
    }

    processes.all_run();
    let complaints = Complaints::of(&processes.logs());
    complaints.print();
    complaints.check();

    // They stay when the server ends and comes back, with all it had.
    if let Some(server) = &mut server {
        server.kill();
        server.spawn();
        workloads::after_crash(&user);
        assert_eq!(kinds::leaders(&user), leaders, "nobody lost the lead");
        processes.all_run();
    }
}
