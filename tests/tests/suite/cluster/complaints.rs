//! The errors that the programs log, by kind, against those that they log beside kube-apiserver too.

use std::collections::BTreeMap;

use ringbolt_tests::note;

/// Lines of errors that kube-apiserver causes as well: a part of the line, and why it is there. Found by this very
/// test with `RINGBOLT_KUBECONFIG`.
const KNOWN: &[(&str, &str)] = &[
    ("The manifest file is empty, ignoring", "of the defaults: no static manifest of admission is named"),
    (
        "the object has been modified; please apply your changes",
        "two writers of one object; the loser tries again",
    ),
    ("is not as new as written version", "an informer behind its controller's own write; it tries again"),
    ("statefulsets.apps \\\"db\\\" not found", "its status is written when it is gone already"),
    ("Error getting updated StatefulSet from lister", "as before"),
    ("extension-apiserver-authentication::requestheader-client-ca-file", "no front proxy is configured"),
    ("unable to fetch metrics from resource metrics API", "there is no metrics.k8s.io for the autoscaler"),
];

/// Error lines by kind: where in the program, with names and numbers taken out; how many, and the first.
pub(super) struct Complaints(BTreeMap<String, (usize, String)>);

impl Complaints {
    /// Of these logs, by name.
    pub(super) fn of(logs: &[(&'static str, String)]) -> Complaints {
        let mut kinds: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for (name, log) in logs {
            for line in log.lines().filter(|l| is_error(name, l)) {
                let entry = kinds.entry(format!("{name}: {}", kind(line)));
                entry.or_insert_with(|| (0, line.to_owned())).0 += 1;
            }
        }
        Complaints(kinds)
    }

    /// Prints how many there are of each kind.
    pub(super) fn print(&self) {
        for (kind, (number, _)) in &self.0 {
            note(&format!("cluster: {number:>4} × {kind}"));
        }
    }

    /// Fails where there is a kind that kube-apiserver does not cause.
    pub(super) fn check(&self) {
        let known = |line: &str| KNOWN.iter().any(|(part, _)| line.contains(part));
        let new: Vec<&str> = self.0.values().map(|(_, line)| line.as_str()).filter(|l| !known(l)).collect();
        assert!(new.is_empty(), "errors that kube-apiserver does not cause:\n{}", new.join("\n"));
    }
}

/// klog's lines begin with the severity and the date; panics and the like have no such head. All that the nodes say on
/// standard error is an error.
fn is_error(name: &str, line: &str) -> bool {
    if name == "nodes" {
        return line != "nodes: registered";
    }
    let head = line.as_bytes();
    let klog = head.len() > 5 && head[1..5].iter().all(u8::is_ascii_digit);
    (klog && matches!(head[0], b'E' | b'F'))
        || line.starts_with("panic: ")
        || line.starts_with("fatal error: ")
}

/// A line without its time, with runs of digits and quoted names replaced, so that the same fault is one kind.
fn kind(line: &str) -> String {
    let text = line.split(".go:").next().unwrap_or("");
    let file = text.rsplit(' ').next().unwrap_or("");
    let message = line.split_once("] ").map_or(line, |(_, m)| m);
    let mut kind = format!("{file}.go ");
    let mut digits = false;
    for c in message.chars().take(220) {
        if c.is_ascii_digit() {
            if !digits {
                kind.push('#');
            }
        } else {
            kind.push(c);
        }
        digits = c.is_ascii_digit();
    }
    kind
}
