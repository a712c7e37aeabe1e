//! The ratchet: replays the handed recordings of a real kube-apiserver against the release binary. Cases that do
//! not pass yet stand in `compat/expected-failures.txt`, each with its reason; a failure that is not listed, and a
//! listed case that passes, break the test. So the list only shrinks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use ringbolt_tests::{
    server::{ADMIN_TOKEN, Server, workspace},
    shared,
};

/// One corpus: its name in the list of failures, and how its tool is called.
struct Corpus {
    name: &'static str,
    tool: &'static str,
    arguments: &'static [&'static str],
    /// Finds the name of a failed case in a line of the tool's output.
    failure: fn(&str) -> Option<&str>,
    /// Whether the server must be fresh: the corpus looks at what a server comes up with.
    fresh: bool,
}

const CORPORA: &[Corpus] = &[
    Corpus {
        name: "h1",
        tool: "h1_corpus.py",
        arguments: &["--show", "1000"],
        failure: numbered,
        fresh: true,
    },
    Corpus {
        name: "scenarios",
        tool: "scenarios.py",
        arguments: &["--statuses", "--show", "1"],
        failure: area_and_name,
        fresh: true,
    },
    Corpus {
        name: "mutations",
        tool: "mutations.py",
        arguments: &["--only", "unmutated", "--verb", "create", "--status-only", "--show", "10000"],
        failure: before_colon,
        fresh: true,
    },
];

/// `#12 file title: …` → `#12`.
fn numbered(line: &str) -> Option<&str> {
    line.starts_with('#').then(|| line.split(' ').next()).flatten()
}

/// A line that starts with `area/name`.
fn area_and_name(line: &str) -> Option<&str> {
    let name = line.split(':').next()?;
    (!line.starts_with(' ') && name.contains('/') && !name.contains(' ')).then_some(name)
}

/// `id: what went wrong` → `id`.
fn before_colon(line: &str) -> Option<&str> {
    let name = line.split(": ").next()?;
    (line.contains(": ") && !line.starts_with(' ')).then_some(name)
}

/// The committed list: `CORPUS CASE  # reason` a line.
fn expected(path: &Path) -> BTreeMap<(String, String), String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut list = BTreeMap::new();
    for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        let (case, reason) = line.split_once("  # ").unwrap_or_else(|| panic!("no reason given: {line}"));
        let (corpus, name) = case.split_once(' ').unwrap_or_else(|| panic!("not `CORPUS CASE`: {line}"));
        let before = list.insert((corpus.to_owned(), name.trim().to_owned()), reason.to_owned());
        assert!(before.is_none(), "listed twice: {case}");
    }
    list
}

#[test]
fn recorded_answers() {
    let Some(folder) = shared::folder() else { return };
    let list = expected(&workspace().join("tests/compat/expected-failures.txt"));
    let (mut unlisted, mut passing) = (Vec::new(), Vec::new());
    let (mut passed, mut failed) = (0, 0);
    for corpus in CORPORA {
        assert!(corpus.fresh, "every corpus starts its own server");
        let server = Server::start(
            corpus.name,
            &[
                "--disable-admission-plugins=ServiceAccount",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--authorization-mode=Node,RBAC",
                "--allow-privileged=true",
            ],
        );
        let output = Command::new("python3")
            .arg(folder.join("tools").join(corpus.tool))
            .args(corpus.arguments)
            .env("BASE", server.base())
            .env("TOKEN", ADMIN_TOKEN)
            .env("PORT", server.port.to_string())
            .output()
            .expect("python3 runs the tools");
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().last().unwrap_or("");
        println!("{}: {last}", corpus.name);
        let counts: Vec<usize> = last.split(' ').filter_map(|w| w.parse().ok()).collect();
        assert_eq!(
            counts.len(),
            2,
            "{} did not finish: {text}\n{}",
            corpus.tool,
            String::from_utf8_lossy(&output.stderr)
        );
        passed += counts[0];
        failed += counts[1];
        let failures: BTreeSet<&str> = text.lines().filter_map(corpus.failure).collect();
        assert_eq!(failures.len(), counts[1], "{}: not every failure was named", corpus.name);
        for case in &failures {
            if !list.contains_key(&(corpus.name.to_owned(), (*case).to_owned())) {
                unlisted.push(format!("{} {case}", corpus.name));
            }
        }
        for (listed, case) in list.keys() {
            if listed == corpus.name && !failures.contains(case.as_str()) {
                passing.push(format!("{listed} {case}"));
            }
        }
    }
    println!("compat: {passed} passed, {failed} failed as listed");
    if let Some(path) = std::env::var_os("RINGBOLT_COMPAT_WRITE") {
        fs::write(path, unlisted.join("\n")).expect("the file named can be written");
    }
    assert!(unlisted.is_empty(), "fail and are not listed:\n{}", unlisted.join("\n"));
    assert!(passing.is_empty(), "are listed and pass (take them off the list):\n{}", passing.join("\n"));
}
