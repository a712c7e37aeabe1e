//! The ratchet: replays the handed recordings of a real kube-apiserver against the release binary. Cases that do
//! not pass yet stand in `compat/expected-failures.txt`, each with its reason; a failure that is not listed, and a
//! listed case that passes, break the test. So the list only shrinks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use ringbolt_tests::{
    server::{ADMIN_TOKEN, Server, scratch, workspace},
    shared,
};

/// One corpus: its name in the list of failures, and how its tool is called.
struct Corpus {
    name: &'static str,
    tool: &'static str,
    arguments: &'static [&'static str],
    /// Parts that each get a server of their own: what one leaves behind another must not see.
    parts: &'static [&'static [&'static str]],
    /// Whether the tool can be asked for one case (`--only CASE`).
    single: bool,
    /// Finds the name of a failed case in a line of the tool's output.
    failure: fn(&str) -> Option<&str>,
}

const CORPORA: &[Corpus] = &[
    Corpus {
        name: "h1",
        tool: "h1_corpus.py",
        arguments: &["--show", "1000"],
        parts: &[&[]],
        single: false,
        failure: numbered,
    },
    Corpus {
        name: "scenarios",
        tool: "scenarios.py",
        arguments: &["--statuses", "--show", "1", "--jobs", "8"],
        parts: &[
            &["--area", "crud"],
            &["--area", "concurrency"],
            &["--area", "list"],
            &["--area", "watch"],
            &["--area", "discovery"],
            &["--area", "patch"],
            &["--area", "apply"],
            &["--area", "representation"],
            &["--area", "subresource"],
            &["--area", "review"],
            &["--area", "rbac"],
            &["--area", "apf"],
            &["--area", "bootstrap"],
            &["--area", "admission"],
            &["--area", "crd"],
        ],
        single: true,
        failure: area_and_name,
    },
    Corpus {
        name: "mutations",
        tool: "mutations.py",
        arguments: &["--verb", "create", "--status-only", "--show", "10000"],
        parts: &[&["--only", "unmutated"]],
        single: false,
        failure: before_colon,
    },
];

/// How often a case that is not as listed is asked again, alone: a loaded machine must not decide.
const REPEATS: usize = 2;

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

/// What a run of a tool came to.
struct Run {
    passed: usize,
    failures: BTreeSet<String>,
}

impl Corpus {
    fn run(&self, folder: &Path, server: &Server, more: &[&str]) -> Run {
        let output = Command::new("python3")
            .arg(folder.join("tools").join(self.tool))
            .args(self.arguments)
            .args(more)
            .env("BASE", server.base())
            .env("TOKEN", ADMIN_TOKEN)
            .env("PORT", server.port.to_string())
            .output()
            .expect("python3 runs the tools");
        let text = String::from_utf8_lossy(&output.stdout);
        let counts: Vec<usize> =
            text.lines().last().unwrap_or("").split(' ').filter_map(|w| w.parse().ok()).collect();
        assert_eq!(
            counts.len(),
            2,
            "{} did not finish: {text}\n{}",
            self.tool,
            String::from_utf8_lossy(&output.stderr)
        );
        let failures: BTreeSet<String> = text.lines().filter_map(self.failure).map(str::to_owned).collect();
        assert_eq!(failures.len(), counts[1], "{}: not every failure was named: {text}", self.name);
        Run { passed: counts[0], failures }
    }

    /// Whether a case fails each time it is asked again (`fails`), or passes each time.
    fn stays(&self, folder: &Path, case: &str, fails: bool) -> bool {
        (0..REPEATS).all(|_| {
            let server = start(self.name);
            let more: &[&str] = if self.single { &["--only", case] } else { self.parts[0] };
            self.run(folder, &server, more).failures.contains(case) == fails
        })
    }
}

/// A key of the kind that the recorded tokens were signed with.
fn key() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let path = scratch("compat-key").join("sa.key");
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
        fs::write(&path, key.serialize_pem()).unwrap();
        path
    })
}

fn start(name: &str) -> Server {
    let key = key().display();
    let (signs, checks) =
        (format!("--service-account-signing-key-file={key}"), format!("--service-account-key-file={key}"));
    Server::start(
        name,
        &[
            "--disable-admission-plugins=ServiceAccount",
            "--embedded-controllers=",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
            &signs,
            &checks,
        ],
    )
}

#[test]
fn recorded_answers() {
    let Some(folder) = shared::folder() else { return };
    let list = expected(&workspace().join("tests/compat/expected-failures.txt"));
    let (mut unlisted, mut passing) = (Vec::new(), Vec::new());
    let mut passed = 0;
    for corpus in CORPORA {
        let mut failures = BTreeSet::new();
        for part in corpus.parts {
            let run = corpus.run(&folder, &start(corpus.name), part);
            println!("{} {part:?}: {} passed, {} failed", corpus.name, run.passed, run.failures.len());
            passed += run.passed;
            failures.extend(run.failures);
        }
        let listed = |case: &str| list.contains_key(&(corpus.name.to_owned(), case.to_owned()));
        for case in failures.iter().filter(|case| !listed(case)) {
            if corpus.stays(&folder, case, true) {
                unlisted.push(format!("{} {case}", corpus.name));
            }
        }
        for (_, case) in list.keys().filter(|(name, case)| name == corpus.name && !failures.contains(case)) {
            if corpus.stays(&folder, case, false) {
                passing.push(format!("{} {case}", corpus.name));
            }
        }
    }
    println!("compat: {passed} passed, {} failed as listed", list.len());
    if let Some(path) = std::env::var_os("RINGBOLT_COMPAT_WRITE") {
        fs::write(path, unlisted.join("\n")).expect("the file named can be written");
    }
    assert!(unlisted.is_empty(), "fail and are not listed:\n{}", unlisted.join("\n"));
    assert!(passing.is_empty(), "are listed and pass (take them off the list):\n{}", passing.join("\n"));
}
