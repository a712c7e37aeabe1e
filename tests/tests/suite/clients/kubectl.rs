//! Runs kubectl with a home of its own.

use super::*;

/// How long one request may take, and one command altogether, in seconds.
const PATIENCE: &str = "30s";
const LIMIT_S: &str = "60";

/// A kubectl against one cluster and namespace.
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
    home: PathBuf,
}

impl Kubectl {
    pub(crate) fn new(program: &Path, kubeconfig: &Path, namespace: &str) -> Kubectl {
        let (program, kubeconfig) = (program.to_owned(), kubeconfig.to_owned());
        Kubectl { program, kubeconfig, namespace: namespace.to_owned(), home: scratch("kubectl") }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        // A kubectl that waits for what does not come must not hold the test for ever.
        let mut command = Command::new("timeout");
        command
            .arg(LIMIT_S)
            .arg(&self.program)
            .env("HOME", &self.home)
            .env("KUBECONFIG", &self.kubeconfig)
            .env_remove("KUBECACHEDIR")
            .arg(format!("--namespace={}", self.namespace))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str], input: Option<&str>) -> (bool, String, String) {
        let mut all = vec!["--request-timeout", PATIENCE];
        all.extend_from_slice(arguments);
        let mut command = self.command(&all);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", self.program.display()));
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // kubectl may have refused its flags and be gone.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().expect("kubectl ends");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.success(), text(output.stdout), text(output.stderr))
    }

    /// What kubectl prints; it must succeed.
    pub(crate) fn ok(&self, line: &str) -> String {
        self.ok_with(line, None)
    }

    /// What kubectl prints, given `input`; it must succeed.
    pub(crate) fn fed(&self, line: &str, input: &str) -> String {
        self.ok_with(line, Some(input))
    }

    fn ok_with(&self, line: &str, input: Option<&str>) -> String {
        let (ok, out, error) = self.run(&words(line), input);
        assert!(ok, "kubectl {line}: {error}{out}");
        out
    }

    /// What kubectl says on standard error; it must fail.
    pub(crate) fn fails(&self, line: &str, input: Option<&str>) -> String {
        let (ok, out, error) = self.run(&words(line), input);
        assert!(!ok, "kubectl {line}: did not fail: {out}{error}");
        error
    }

    /// What kubectl prints where it ends with status 1 to say that there is something to print (`diff`).
    pub(super) fn differs(&self, line: &str, input: &str) -> String {
        let (ok, out, error) = self.run(&words(line), Some(input));
        assert!(!ok && ["", "exit status 1"].contains(&error.trim()), "kubectl {line}: {error}{out}");
        out
    }

    /// A command that opens an editor, with `editor` in its place: a program and its arguments, the file is added.
    pub(super) fn edits(&self, line: &str, editor: &str) -> String {
        let output = self.command(&words(line)).env("KUBE_EDITOR", editor).output().expect("kubectl starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {line}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Asks until `line` prints `expect`: something that the server does by itself, in its own time.
    pub(super) fn comes_to_print(&self, line: &str, expect: &str) {
        let mut last = String::new();
        for _ in 0..100 {
            let (ok, out, error) = self.run(&words(line), None);
            if ok && out.trim() == expect {
                return;
            }
            last = out + &error;
            thread::sleep(Duration::from_millis(200));
        }
        panic!("kubectl {line}: {expect:?} did not come; last: {last}");
    }

    /// Fails unless what kubectl prints for `line` is `expect`, white space at the ends aside.
    pub(crate) fn prints(&self, line: &str, expect: &str) {
        let out = self.ok(line);
        assert_eq!(out.trim(), expect, "kubectl {line}");
    }

    /// `get NAME -o json`.
    pub(crate) fn json(&self, name: &str) -> Value {
        let text = self.ok(&format!("get {name} -o json"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}: {text}"))
    }

    /// `get NAME -o json`, or what kubectl said instead.
    pub(crate) fn try_json(&self, name: &str) -> Result<Value, String> {
        let (ok, out, error) = self.run(&words(&format!("get {name} -o json")), None);
        if !ok {
            return Err(error);
        }
        serde_json::from_str(&out).map_err(|e| format!("{e}: {out}"))
    }

    /// A command that goes on: its lines as they come, until it is dropped.
    pub(super) fn follow(&self, line: &str) -> Follow {
        let mut child = self.command(&words(line)).stderr(Stdio::null()).spawn().expect("kubectl starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|l| sender.send(l)));
        Follow { child, lines }
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        // Its caches; nobody misses them.
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// Splits at blanks, but for what stands in single quotes.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() {
        let mut quoted = false;
        let end = rest.find(|c| {
            quoted ^= c == '\'';
            c == ' ' && !quoted
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word.strip_prefix('\'').and_then(|w| w.strip_suffix('\'')).unwrap_or(word));
        rest = after.trim_start();
    }
    words
}

/// A kubectl that runs on.
pub(super) struct Follow {
    child: std::process::Child,
    lines: mpsc::Receiver<String>,
}

impl Follow {
    /// The next line.
    pub(super) fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(20)).expect("a line in time")
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
