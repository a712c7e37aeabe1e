//! Runs the program under callgrind and reads what it counted.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::program;

/// What one run of a scenario takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Instructions of all threads.
    pub(crate) instructions: f64,
    /// Calls of the allocator, of all threads.
    pub(crate) allocations: f64,
    /// Bytes that these asked for.
    pub(crate) bytes: f64,
    /// The command that shows which functions took the instructions.
    pub(crate) annotate: String,
}

/// Whether callgrind can be run.
pub(crate) fn is_there() -> bool {
    let version =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs scenarios, one after another in one process. Its counts stay in a folder named `label`.
pub(crate) fn measure(
    binary: &Path,
    label: &str,
    slowdown_percent: usize,
    scenarios: &[&str],
) -> BTreeMap<String, Measured> {
    let folder = program::target_dir().join("budgets").join(label);
    // Counts of an earlier run would be taken for this one's.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let out = folder.join("callgrind");
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--dump-before=*callgrind_mark*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(binary)
        .args(["--slowdown", &slowdown_percent.to_string()])
        .args(scenarios)
        // By the clock, unused memory would go back to the system in some runs and not in others.
        .env("MIMALLOC_PURGE_DELAY", "-1")
        .output()
        .expect("valgrind was there a moment ago");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{label}: {}: {stderr}", output.status);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Line<'_>> = lines.lines().map(Line::parse).collect();
    assert_eq!(lines.len(), scenarios.len(), "{label}: {stderr}");
    let measured = lines.into_iter().enumerate().map(|(number, line)| {
        // A mark before the runs, and one after them: the part that ends there is theirs.
        let part = PathBuf::from(format!("{}.{}", out.display(), 2 * number + 2));
        let annotate = format!("callgrind_annotate {}", part.display());
        let instructions = total(&part) as f64 / line.runs;
        let measured = Measured { instructions, allocations: line.allocations, bytes: line.bytes, annotate };
        (line.name.to_owned(), measured)
    });
    measured.collect()
}

/// A line of the program's output.
struct Line<'l> {
    name: &'l str,
    runs: f64,
    allocations: f64,
    bytes: f64,
}

impl<'l> Line<'l> {
    fn parse(line: &'l str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let number =
            |at: usize| fields.get(at).and_then(|text| text.parse().ok()).expect("four fields a line");
        Line { name: fields[0], runs: number(1), allocations: number(2), bytes: number(3) }
    }
}

/// Instructions in a file of callgrind.
fn total(part: &Path) -> u64 {
    let text = fs::read_to_string(part).unwrap_or_else(|e| panic!("{}: {e}", part.display()));
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(|| panic!("{} has no totals", part.display()))
}
