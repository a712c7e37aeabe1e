//! `ringbolt-bench overload` in small: every request is answered, and counted by the server. What is fair is told by tests
//! without a clock (`engine/src/turns.rs`, `engine/tests/engine/turns.rs`): a short run on a busy machine tells nothing.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Ringbolt's binary, if there is one: `$RINGBOLT_BIN`, else that of a release build.
fn ringbolt() -> Option<PathBuf> {
    let path = std::env::var_os("RINGBOLT_BIN").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/ringbolt"),
        PathBuf::from,
    );
    path.is_file().then_some(path)
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_small_overload_adds_up() {
    let Some(ringbolt) = ringbolt() else {
        println!("left out: no ringbolt binary in $RINGBOLT_BIN or target/release");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (data, tokens) = (folder.path().join("data"), folder.path().join("tokens.csv"));
    let users = "admin,admin,1,\"system:masters\"\nheavy,heavy,2\nlight,light,3\n\
                 node,system:node:n1,4,\"system:nodes\"\n";
    fs::write(&tokens, users).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Command::new(&ringbolt)
        .arg(format!("--data-dir={}", data.display()))
        .arg(format!("--token-auth-file={}", tokens.display()))
        .args([&format!("--secure-port={port}"), "--bind-address=127.0.0.1"])
        .args(["--authorization-mode=AlwaysAllow", "--embedded-controllers="])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Server(server);
    let until = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "the server does not listen");
        thread::sleep(Duration::from_millis(50));
    }
    for work in ["updates", "lists"] {
        let output = Command::new(env!("CARGO_BIN_EXE_ringbolt-bench"))
            .args(["overload", "--url", &format!("https://127.0.0.1:{port}"), "--work", work, "--ca"])
            .arg(data.join("pki/ca.crt"))
            .args(["--token", "admin", "--heavy", "heavy", "--light", "light", "--node", "node"])
            .args(["--seconds", "0.6", "--parts", "2", "--objects", "50"])
            .output()
            .unwrap();
        let (text, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{work}: {text}\n{why}");
        let outcome: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        let count = |name: &str| outcome["counts"][name].as_u64().unwrap();
        assert_eq!(count("sent"), count("served") + count("refused"), "{work}: {text}");
        assert!(count("counted") >= count("sent"), "{work}: {text}");
        assert_eq!(count("unexpected"), 0, "{work}: {text}");
        for part in ["idle", "overloaded"] {
            for load in ["light", "node"] {
                assert!(outcome[load][part]["sent"].as_u64() > Some(0), "{work} {load} {part}: {text}");
            }
        }
        assert!(outcome["heavy"]["sent"].as_u64() > Some(0), "{work}: {text}");
    }
}
