//! Starting, refusing to start, and stopping.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use ringbolt_tests::{
    http1::{Connection, Wire},
    note,
    server::{Server, binary, free_port, scratch},
    wait_for,
};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the binary with flags it must not run with for long; its output. Killed after [`PATIENCE`].
fn run(folder: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command
        .args(flags)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    if wait_for(PATIENCE, || child.try_wait().ok().flatten()).is_none() {
        child.kill().expect("a child can be killed");
        panic!("{flags:?}: the server runs");
    }
    child.wait_with_output().expect("an ended child has output")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a server without objects may have of memory that is no file's. A release build has half of it.
const AT_REST_KIB: u64 = 16 << 10;

#[test]
fn at_rest_it_has_given_back_what_its_start_took() {
    let server = Server::start("at-rest", &[]);
    let huge = || {
        let pages = fs::read_to_string(format!("/proc/{}/smaps_rollup", server.pid())).unwrap_or_default();
        let line = pages.lines().find(|line| line.starts_with("AnonHugePages:")).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok())
    };
    assert_eq!(huge(), Some(0), "small pages from the first byte on");
    let at_rest = || Some(server.memory_kib("RssAnon")).filter(|kib| *kib < AT_REST_KIB);
    let found = wait_for(PATIENCE, at_rest);
    note(&format!("at rest: {found:?} KiB, and {} KiB of files", server.memory_kib("RssFile")));
    assert!(found.is_some(), "{} KiB", server.memory_kib("RssAnon"));
}

#[test]
fn flags() {
    let folder = scratch("flags");
    let help = run(&folder, &["--help"]);
    assert!(help.status.success());
    let help = text(&help.stdout);
    // envtest looks for a flag as a line of blanks and `--name`.
    let names: Vec<&str> =
        help.lines().filter_map(|l| l.trim_start().strip_prefix("--")?.split(' ').next()).collect();
    for name in
        ["data-dir", "secure-port", "bind-address", "token-auth-file", "client-ca-file", "tls-cert-file"]
    {
        assert!(names.contains(&name), "--{name} is not in: {names:?}");
    }
    for name in ["service-cluster-ip-range", "authorization-mode", "disable-admission-plugins", "cert-dir"] {
        assert!(names.contains(&name), "--{name} is not in: {names:?}");
    }
    assert!(help.lines().any(|l| l.starts_with("  ") && l.trim_start().starts_with("--data-dir ")));

    let version = run(&folder, &["--version"]);
    assert!(version.status.success() && text(&version.stdout).contains("v1.37"), "{version:?}");

    for (flag, error) in [
        ("--foo", "unknown flag: --foo"),
        ("--insecure-port=8080", "unknown flag: --insecure-port"),
        ("--secure-port=x", "invalid argument \"x\" for \"--secure-port\" flag"),
        (
            "--insecure-bench-port=0.0.0.0:8080",
            "invalid argument \"0.0.0.0:8080\" for \"--insecure-bench-port\" flag",
        ),
        ("--token-auth-file=/no/such/file", "/no/such/file"),
        ("--client-ca-file=/no/such/file", "/no/such/file"),
    ] {
        let refused = run(&folder, &[flag]);
        let error_text = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{flag}: {error_text}");
        assert!(error_text.contains(error), "{flag}: {error_text}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_flags() {
    let folder = scratch("no-flags");
    let port = 6443;
    let other = free_port();
    let other_port = format!("--secure-port={other}");
    // Someone else may run a server on the default port.
    let flags: &[&str] = if TcpListener::bind(("127.0.0.1", port)).is_ok() {
        &[]
    } else {
        note("port 6443 is taken: the server is started with --secure-port instead of no flag at all");
        &[&other_port]
    };
    let port = if flags.is_empty() { port } else { other };
    let log = folder.join("output");
    let output = fs::File::create(&log).unwrap();
    let mut command = Command::new(binary());
    command.args(flags).current_dir(&folder).stdin(Stdio::null());
    let mut child = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
    let printed = || fs::read_to_string(&log).unwrap_or_default();
    let said = wait_for(PATIENCE, || {
        let text = printed();
        (text.contains("ready in ") && text.contains("kubectl")).then_some(text)
    });
    let Some(said) = said else {
        let _ = child.kill();
        panic!("{}", printed());
    };
    let export = said.lines().find_map(|l| l.trim().strip_prefix("export KUBECONFIG="));
    let ready = said.lines().find(|l| l.contains("ready in ")).unwrap_or_default();
    assert!(ready.contains("ms"), "{said}");
    let kubeconfig = folder.join("ringbolt-data/admin.kubeconfig");
    assert!(kubeconfig.is_file());
    let export = export.unwrap_or_else(|| panic!("no export in: {said}"));
    let exported = fs::canonicalize(folder.join(export.trim_matches(['"', '\'']))).unwrap();
    assert_eq!(exported, fs::canonicalize(&kubeconfig).unwrap());
    let text = fs::read_to_string(&kubeconfig).unwrap();
    assert!(text.contains(&format!("server: https://127.0.0.1:{port}")), "{text}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&kubeconfig).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "credentials are for their owner alone");
    // Without the flag there is no plain port.
    let held = listening(child.id());
    assert_eq!(held.iter().filter(|(_, p)| *p != port).count(), 0, "{held:?}");
    assert_eq!(stop(&mut child, "TERM"), Some(0), "{}", printed());
    fs::remove_dir_all(folder).unwrap();
}

/// Sends a signal, and answers the exit code.
fn stop(child: &mut Child, signal: &str) -> Option<i32> {
    Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status().unwrap();
    let status = wait_for(PATIENCE, || child.try_wait().ok().flatten());
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    status.and_then(|s| s.code())
}

/// The TCP addresses a process listens on, as the kernel tells: hexadecimal address and port.
fn listening(pid: u32) -> Vec<(String, u16)> {
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|fd| fs::read_link(fd.ok()?.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // 0A is LISTEN; the tenth field is the inode.
            if fields.get(3) == Some(&"0A") && fields.get(9).is_some_and(|i| sockets.iter().any(|s| s == i)) {
                let (address, port) = fields[1].split_once(':').unwrap();
                found.push((address.to_owned(), u16::from_str_radix(port, 16).unwrap()));
            }
        }
    }
    found
}

#[test]
fn a_plain_port_is_on_loopback_alone() {
    // Against `--bind-address=127.0.0.1` of all tests: the last one counts.
    let server = Server::start("loopback", &["--bind-address=0.0.0.0"]);
    let held = listening(server.pid());
    let plain: Vec<_> = held.iter().filter(|(_, port)| *port == server.plain_port).collect();
    assert!(!plain.is_empty() && plain.iter().all(|(address, _)| address == "0100007F"), "{held:?}");
}

#[test]
fn what_stands_in_the_way() {
    let server = Server::start("in-the-way", &[]);
    let folder = scratch("second");
    let data = format!("--data-dir={}", server.data.display());
    let port = format!("--secure-port={}", free_port());
    let second = run(&folder, &[&data, &port, "--bind-address=127.0.0.1"]);
    let error = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{error}");
    assert!(error.contains(&server.data.display().to_string()), "names the folder: {error}");
    assert!(
        error.contains("another") || error.contains("in use") || error.contains("lock"),
        "tells why: {error}"
    );

    let port = format!("--secure-port={}", server.port);
    let start = Instant::now();
    let second = run(&folder, &[&port, "--bind-address=127.0.0.1"]);
    let error = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{error}");
    assert!(error.contains(&server.port.to_string()), "names the port: {error}");
    assert!(
        start.elapsed() > Duration::from_millis(100),
        "the port of a killed server is free a moment later"
    );
    // The first did not suffer.
    assert_eq!(Connection::tls(&server).get("/readyz").unwrap().status, 200);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn stopping_ends_watches_and_keeps_data() {
    let mut server = Server::start("stopping", &[]);
    let maps = "/api/v1/namespaces/default/configmaps";
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"k": "v"}});
    let made = Connection::plain(&server).post(maps, &object).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    let mut watches = [Connection::plain(&server), Connection::tls(&server)];
    for watch in &mut watches {
        let head = watch.watch(&format!("{maps}?watch=true&fieldSelector=metadata.name%3Dkept")).unwrap();
        assert_eq!(head.status, 200);
        assert!(watch.line().unwrap().is_some_and(|l| l.contains("ADDED")));
    }
    let start = Instant::now();
    server.signal("TERM").unwrap();
    for watch in &mut watches {
        let end = watch.line().expect("a watch ends with the last chunk, not in its middle");
        assert_eq!(end, None, "no event came");
    }
    assert_eq!(server.wait().unwrap(), Some(0), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(10), "stopped after {:?}", start.elapsed());
    server.spawn();
    let read = Connection::plain(&server).get(&format!("{maps}/kept")).unwrap();
    assert_eq!(read.body, made.body, "what it was before");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut server = Server::start("second-signal", &["--shutdown-delay-duration=60s"]);
    let mut connection = Connection::plain(&server);
    server.signal("TERM").unwrap();
    // During the delay it serves, and says that it is going.
    let going = wait_for(PATIENCE, || {
        let answer = connection.get("/readyz").expect("served during the delay");
        (answer.status == 500).then_some(answer)
    });
    let going = going.expect("readyz fails once the signal came");
    assert!(going.text().contains("shutdown"), "{}", going.text());
    assert_eq!(connection.get("/livez").unwrap().status, 200);
    assert!(!server.exited());
    let start = Instant::now();
    server.signal("TERM").unwrap();
    let code = server.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "ended after {:?}", start.elapsed());
    assert_eq!(code, Some(1), "as kube-apiserver does: {}", server.log());
}

/// SIGINT is as good as SIGTERM.
#[test]
fn interrupt() {
    let mut server = Server::start("interrupt", &[]);
    let mut idle = Wire::plain(&server);
    server.signal("INT").unwrap();
    assert_eq!(server.wait().unwrap(), Some(0), "{}", server.log());
    assert!(
        matches!(idle.read(&mut [0; 16]), Ok(0) | Err(_)),
        "nothing is said to a connection that said nothing"
    );
}
