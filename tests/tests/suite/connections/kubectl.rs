//! What people do with kubectl, of both versions and over both transports.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use ringbolt_tests::{note, server::scratch, wait_for};

use super::{Site, loopback};
use crate::clients;

/// One kubectl, with a home of its own.
struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
    websockets: bool,
}

impl Kubectl {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        let websockets = if self.websockets { "true" } else { "false" };
        command
            .arg("120")
            .arg(&self.program)
            .env("HOME", &self.home)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str], input: Option<&[u8]>) -> Output {
        let mut command = self.command(words);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        thread::scope(|scope| {
            // What it prints must be read meanwhile.
            if let (Some(input), Some(mut stdin)) = (input, stdin) {
                scope.spawn(move || stdin.write_all(input));
            }
            child.wait_with_output().unwrap()
        })
    }

    /// What it prints, which must be this much, with success.
    fn prints(&self, words: &[&str], input: Option<&[u8]>, expect: &str) {
        let output = self.run(words, input);
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{words:?}: {error}{out}");
        assert_eq!(out, expect, "{words:?}: {error}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn kubectl_1_37() {
    let Some(programs) = clients::programs() else { return };
    session("connect-1-37", &programs.join("kubectl"));
}

#[test]
fn kubectl_of_the_machine() {
    if !Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|o| o.status.success()) {
        note("left out: connections of kubectl 1.32, since there is no kubectl");
        return;
    }
    session("connect-1-32", Path::new("kubectl"));
}

fn session(name: &str, program: &Path) {
    let Some(site) = loopback(name) else { return };
    site.add_pod("one", "n1", &["c"], "");
    // A node whose kubelet takes WebSockets itself.
    site.add_node("n2", "127.0.0.1", &serde_json::json!(["ExtendWebSocketsToKubelet"]));
    site.add_pod("two", "n2", &["c"], "");
    for websockets in [true, false] {
        let kubectl = Kubectl {
            program: program.to_owned(),
            kubeconfig: site.server.kubeconfig(),
            home: scratch("kubectl"),
            websockets,
        };
        logs(&kubectl);
        commands(&kubectl, "one");
        attach(&kubectl);
        copies(&kubectl);
        ports(&kubectl, &site);
        if websockets {
            commands(&kubectl, "two");
        }
    }
}

fn logs(kubectl: &Kubectl) {
    kubectl.prints(&["logs", "one"], None, "one\ntwo\nthree\n");
    kubectl.prints(&["logs", "one", "-c", "c", "--tail=1"], None, "three\n");
    kubectl.prints(&["logs", "one", "--previous"], None, "before\n");
    kubectl.prints(&["logs", "one", "--limit-bytes=3"], None, "one");
    let missing = kubectl.run(&["logs", "one", "-c", "x"], None);
    assert!(text(&missing.stderr).contains("container x is not valid for pod one"), "{missing:?}");
    let mut child = kubectl.command(&["logs", "-f", "one"]).spawn().unwrap();
    read_until(&mut child, "more 2\n");
    end(child);
}

fn commands(kubectl: &Kubectl, pod: &str) {
    let exec = |words: &[&'static str]| -> Vec<String> {
        let fixed = ["exec", "-i", pod, "--"];
        fixed.iter().chain(words).map(|word| (*word).to_owned()).collect()
    };
    let run = |words: &[&'static str], input: Option<&[u8]>| {
        let words = exec(words);
        kubectl.run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input)
    };
    let output = run(&["sh", "-c", "echo out; echo err >&2; exit 7"], None);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(text(&output.stdout), "out\n");
    assert!(text(&output.stderr).starts_with("err\n"), "{output:?}");
    let output = run(&["cat"], Some(b"what goes in comes out\n"));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), "what goes in comes out\n");
    let output = run(&["fail"], None);
    assert!(
        !output.status.success() && text(&output.stderr).contains("the runtime is out of order"),
        "{output:?}"
    );
    // More than any buffer on the way, in both directions.
    let large: Vec<u8> = (0..500_000_u32).flat_map(u32::to_le_bytes).collect();
    let output = run(&["cat"], Some(&large));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout == large, "{} of {} bytes", output.stdout.len(), large.len());
    let output = run(&["sh", "-c", "head -c 4000000 /dev/zero"], None);
    assert_eq!(output.stdout.len(), 4_000_000);
    kubectl.prints(&["exec", pod, "--", "true"], None, "");
}

fn attach(kubectl: &Kubectl) {
    let output = kubectl.run(&["attach", "-i", "one"], Some(b"said back\n"));
    assert!(text(&output.stdout).contains("attached to one c\nsaid back\n"), "{output:?}");
    assert!(text(&output.stderr).contains("and its errors\n"), "{output:?}");
}

fn copies(kubectl: &Kubectl) {
    let folder = scratch("copies");
    let (from, there, back) = (folder.join("from"), folder.join("there"), folder.join("back"));
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&from, &content).unwrap();
    let name = |path: &Path| path.display().to_string();
    let run = |words: &[&str]| {
        let output = kubectl.run(words, None);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    };
    run(&["cp", &name(&from), &format!("one:{}", name(&there))]);
    assert!(std::fs::read(&there).unwrap() == content);
    run(&["cp", &format!("one:{}", name(&there)), &name(&back)]);
    assert!(std::fs::read(&back).unwrap() == content);
}

fn ports(kubectl: &Kubectl, site: &Site) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let behind = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        // Says back what it is told, until that ends.
        for stream in listener.incoming().flatten().take(64) {
            thread::spawn(move || {
                let (mut from, mut to) = (stream.try_clone().unwrap(), stream);
                std::io::copy(&mut from, &mut to).ok();
                to.shutdown(std::net::Shutdown::Write).ok();
            });
        }
    });
    let mut child = kubectl.command(&["port-forward", "pod/one", &format!(":{behind}")]).spawn().unwrap();
    let said = read_until(&mut child, "127.0.0.1:");
    let said = said + &read_until(&mut child, " ->");
    let local = said.rsplit("127.0.0.1:").next().unwrap().split(' ').next().unwrap();
    let local: u16 = local.parse().unwrap_or_else(|_| panic!("{said:?}"));
    let large: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    for content in [&b"one"[..], &large, b"three"] {
        let stream =
            wait_for(Duration::from_secs(30), || TcpStream::connect(("127.0.0.1", local)).ok()).unwrap();
        let (mut reader, mut writer) = (stream.try_clone().unwrap(), stream);
        let sent = content.to_vec();
        let writing = thread::spawn(move || {
            writer.write_all(&sent).unwrap();
            writer.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut back = vec![0; content.len()];
        reader.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        reader.read_exact(&mut back).unwrap();
        assert!(back == content, "{} bytes", content.len());
        writing.join().unwrap();
    }
    assert!(!site.server.log().contains("panic"));
    end(child);
}

/// What a child prints up to `mark`.
fn read_until(child: &mut Child, mark: &str) -> String {
    let mut said = Vec::new();
    let out = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while !said.ends_with(mark.as_bytes()) {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "it ended: {}", text(&said));
        said.push(byte[0]);
    }
    text(&said)
}

/// Ends what goes on. `timeout` hands the signal on.
fn end(mut child: Child) {
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    child.wait().unwrap();
}
