//! Graceful ends under load: no accepted request is cut, watches end with their last chunk or END_STREAM, the process is
//! gone within its grace, and what it said it had stored is there.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use h2::client;
use http::Request;
use ringbolt_tests::{
    alone,
    http1::{Connection, Wire},
    note,
    server::{ADMIN_TOKEN, Server},
    tls, wait_for,
};
use serde_json::json;
use tokio::net::TcpStream;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Time under load before the signal.
const BEFORE: Duration = Duration::from_secs(1);
/// What an end may take beyond what flags give it: time to notice, and a slow machine.
const SLACK: Duration = Duration::from_secs(5);

/// How much is asked for: all of it where `RINGBOLT_SHUTDOWN` is `full`.
struct Load {
    /// Clients of each sort, each with ten requests a second.
    clients: u32,
    /// Watches of each protocol.
    watches: u32,
}

impl Load {
    fn of_this_run() -> Load {
        match std::env::var("RINGBOLT_SHUTDOWN").as_deref() {
            Ok("full") => Load { clients: 5, watches: 50 },
            _ => Load { clients: 2, watches: 20 },
        }
    }
}

/// What became of requests and watches.
#[derive(Default)]
struct Seen {
    /// Answers by status, those after the signal apart.
    answers: [Mutex<BTreeMap<u16, u32>>; 2],
    /// Names that the server said it had stored.
    stored: Mutex<Vec<String>>,
    /// Requests without an answer, and watches with an end that is none.
    cut: Mutex<Vec<String>>,
    watches_open: AtomicU32,
    watches_ended: AtomicU32,
    signalled: AtomicBool,
    over: AtomicBool,
}

impl Seen {
    fn answer(&self, status: u16, name: Option<String>) {
        let after = usize::from(self.signalled.load(Ordering::SeqCst));
        *self.answers[after].lock().unwrap().entry(status).or_default() += 1;
        if status == 201 {
            self.stored.lock().unwrap().extend(name);
        }
    }

    fn cut(&self, what: String) {
        self.cut.lock().unwrap().push(what);
    }
}

/// Whether nobody took the connection: it was refused, or reset with the listener before a byte came of it.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset)
}

/// What the next request is: each fifth one writes.
fn next(client: &str, number: u32) -> (&'static str, String, Option<String>) {
    if number % 5 == 4 {
        let name = format!("{client}-{number}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": &name}});
        ("POST", object.to_string(), Some(name))
    } else {
        ("GET", String::new(), None)
    }
}

/// One client of HTTP/1.1 over TLS, ten requests a second; each on a connection of its own unless `keeps`.
fn http1_client(server: &Server, seen: &Seen, client: &str, keeps: bool) {
    let config = tls::config(server, &["http/1.1"], true);
    let connect = || Ok(Connection::over(Wire::Tls(Box::new(tls::connect(server, config.clone())?))));
    let mut open: Option<Connection> = None;
    for number in 0.. {
        if seen.over.load(Ordering::SeqCst) {
            return;
        }
        let mut connection = match open.take().map_or_else(connect, Ok) {
            Ok(connection) => connection,
            Err(error) if is_refused(&error) => return,
            Err(error) => return seen.cut(format!("{client}: handshake: {error}")),
        };
        let (method, body, name) = next(client, number);
        let target = if method == "GET" { format!("{MAPS}?limit=3") } else { MAPS.to_owned() };
        match connection.request(method, &target, "application/json", body.as_bytes()) {
            Ok(response) => {
                seen.answer(response.status, name);
                let closes = response.header("connection") == Some("close");
                open = (keeps && !closes).then_some(connection);
            }
            Err(error) => seen.cut(format!("{client}: {method} number {number}: {error}")),
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn http1_watch(server: &Server, seen: &Seen, client: &str, secure: bool) {
    let mut connection = if secure { Connection::tls(server) } else { Connection::plain(server) };
    let head = connection.watch(&format!("{MAPS}?watch=1")).unwrap();
    assert_eq!(head.status, 200);
    seen.watches_open.fetch_add(1, Ordering::SeqCst);
    loop {
        match connection.line() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => return seen.cut(format!("{client}: {error}")),
        }
    }
    seen.watches_ended.fetch_add(1, Ordering::SeqCst);
}

type Sender = client::SendRequest<Bytes>;

async fn http2_connect(port: u16) -> Result<Sender, String> {
    let socket = TcpStream::connect(("127.0.0.1", port)).await.map_err(|e| e.to_string())?;
    let mut builder = client::Builder::new();
    builder.initial_connection_window_size(16 << 20).initial_window_size(1 << 20);
    let (sender, connection) = builder.handshake::<_, Bytes>(socket).await.map_err(|e| e.to_string())?;
    tokio::spawn(connection);
    Ok(sender)
}

fn http2_request(method: &str, target: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1{target}"))
        .header("authorization", format!("Bearer {ADMIN_TOKEN}"))
        .header("content-type", "application/json")
        .body(())
        .unwrap()
}

/// The status of a whole answer.
async fn http2_ask(sender: &mut Sender, method: &str, target: &str, body: String) -> Result<u16, h2::Error> {
    let (answer, mut stream) = sender.send_request(http2_request(method, target), body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(body.into(), true)?;
    }
    let answer = answer.await?;
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    while let Some(part) = body.data().await {
        let length = part?.len();
        body.flow_control().release_capacity(length)?;
    }
    Ok(status)
}

/// One client of HTTP/2, ten requests a second on one connection for as long as the server lets it.
async fn http2_client(port: u16, seen: Arc<Seen>, client: String) {
    let mut open: Option<Sender> = None;
    for number in 0.. {
        if seen.over.load(Ordering::SeqCst) {
            return;
        }
        // A connection that was said goodbye to takes no more requests: none was sent on it.
        let ready = match open.take() {
            Some(sender) => sender.ready().await.ok(),
            None => None,
        };
        let mut sender = match ready {
            Some(sender) => sender,
            None => match http2_connect(port).await {
                Ok(sender) => sender,
                Err(_) => return,
            },
        };
        let (method, body, name) = next(&client, number);
        match http2_ask(&mut sender, method, MAPS, body).await {
            Ok(status) => {
                seen.answer(status, name);
                open = Some(sender);
            }
            // The last stream was named, and it is one before this: clients ask again elsewhere.
            Err(error) if error.is_go_away() => {}
            Err(error) => seen.cut(format!("{client}: {method} number {number}: {error}")),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn http2_watch(mut sender: Sender, seen: Arc<Seen>, client: String) {
    let target = format!("{MAPS}?watch=1");
    let (answer, _) = sender.send_request(http2_request("GET", &target), true).unwrap();
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), 200);
    seen.watches_open.fetch_add(1, Ordering::SeqCst);
    let mut body = answer.into_body();
    while let Some(part) = body.data().await {
        match part {
            Ok(part) => body.flow_control().release_capacity(part.len()).unwrap(),
            Err(error) => return seen.cut(format!("{client}: {error}")),
        }
    }
    seen.watches_ended.fetch_add(1, Ordering::SeqCst);
}

/// All clients of HTTP/2, in a thread of theirs.
fn http2_clients(port: u16, seen: &Arc<Seen>, load: &Load) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut all = tokio::task::JoinSet::new();
        for number in 0..load.watches {
            // Ten watches a connection, as informers share one.
            if number % 10 == 0 {
                let sender = http2_connect(port).await.unwrap();
                for number in number..load.watches.min(number + 10) {
                    let client = format!("h2-watch-{number}");
                    all.spawn(http2_watch(sender.clone(), seen.clone(), client));
                }
            }
        }
        for number in 0..2 * load.clients {
            all.spawn(http2_client(port, seen.clone(), format!("h2-{number}")));
        }
        while let Some(done) = all.join_next().await {
            done.unwrap();
        }
    });
}

/// The names of the signals in the log, in order.
fn signals(log: &str) -> Vec<&str> {
    let events = log.lines().filter(|line| line.contains("shutdown event"));
    events.filter_map(|line| line.split("name=\"").nth(1)?.split('"').next()).collect()
}

/// Stops a server with these flags under load. `limit` is what they give it, `refusal` the status that requests get
/// that come too late.
fn check(name: &str, flags: &[&str], limit: Duration, refusal: u16, order: &[&str]) {
    let load = Load::of_this_run();
    let flags: Vec<&str> = flags.iter().copied().chain(["--v=1"]).collect();
    let mut server = Server::start(name, &flags);
    let seen = Arc::new(Seen::default());
    let stopped = thread::scope(|scope| {
        for number in 0..load.clients {
            for (kind, keeps) in [("h1", true), ("h1-new", false)] {
                let (server, seen) = (&server, &seen);
                scope.spawn(move || http1_client(server, seen, &format!("{kind}-{number}"), keeps));
            }
        }
        for number in 0..load.watches {
            let (server, seen) = (&server, &seen);
            let client = format!("h1-watch-{number}");
            scope.spawn(move || http1_watch(server, seen, &client, number % 2 == 0));
        }
        let (port, seen_too, load_too) = (server.plain_port, seen.clone(), &load);
        scope.spawn(move || http2_clients(port, &seen_too, load_too));
        let open = || (seen.watches_open.load(Ordering::SeqCst) == 2 * load.watches).then_some(());
        wait_for(Duration::from_secs(30), open).expect("all watches are answered");
        thread::sleep(BEFORE);
        seen.signalled.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        server.signal("TERM").unwrap();
        // The clients find out by themselves; this only bounds them.
        let gone = wait_for(limit + SLACK, || (!is_running(server.pid())).then_some(()));
        let took = begun.elapsed();
        seen.over.store(true, Ordering::SeqCst);
        gone.map(|()| took)
    });
    let log = server.log();
    let stopped =
        stopped.unwrap_or_else(|| panic!("{name}: not stopped within {limit:?} and {SLACK:?}: {log}"));
    assert_eq!(server.wait().unwrap(), Some(0), "{log}");
    let cut = seen.cut.lock().unwrap();
    assert!(cut.is_empty(), "{name}: {} cut: {:#?}\n{log}", cut.len(), &cut[..cut.len().min(10)]);
    assert_eq!(seen.watches_ended.load(Ordering::SeqCst), 2 * load.watches, "{name}: {log}");
    let [before, after] = &seen.answers;
    let (before, after) = (before.lock().unwrap(), after.lock().unwrap());
    assert!(before.keys().all(|status| matches!(status, 200 | 201)), "{name}: {before:?}");
    assert!(
        after.keys().all(|status| matches!(status, 200 | 201) || *status == refusal),
        "{name}: {after:?}"
    );
    assert_eq!(signals(&log), order, "{name}: {log}");
    note(&format!("{name}: stopped in {stopped:?}; answers {before:?}, after the signal {after:?}"));

    server.spawn();
    let list = Connection::plain(&server).get(MAPS).unwrap().json();
    let items = list["items"].as_array().unwrap();
    let names: Vec<&str> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    let stored = seen.stored.lock().unwrap();
    assert!(!stored.is_empty() && stored.iter().all(|name| names.contains(&name.as_str())), "{name}: lost");
}

/// Whether a process is there and has not ended. One that nobody waited for yet is a zombie.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

const BEGIN: [&str; 2] = ["MuxAndDiscoveryComplete", "HasBeenReady"];

#[test]
fn under_load() {
    let _alone = alone();
    let order = [
        BEGIN[0],
        BEGIN[1],
        "ShutdownInitiated",
        "AfterShutdownDelayDuration",
        "PreShutdownHooksStopped",
        "NotAcceptingNewRequest",
        "HTTPServerStoppedListening",
        "InFlightRequestsDrained",
    ];
    check("stop", &[], Duration::ZERO, 503, &order);
    let flags = ["--shutdown-watch-termination-grace-period=2s"];
    check("stop-watches-in-turn", &flags, Duration::from_secs(2), 503, &order);
}

#[test]
fn under_load_with_retry_after() {
    let _alone = alone();
    let flags = [
        "--shutdown-delay-duration=1s",
        "--shutdown-send-retry-after=true",
        "--shutdown-watch-termination-grace-period=2s",
    ];
    let order = [
        BEGIN[0],
        BEGIN[1],
        "ShutdownInitiated",
        "PreShutdownHooksStopped",
        "AfterShutdownDelayDuration",
        "NotAcceptingNewRequest",
        "InFlightRequestsDrained",
        "HTTPServerStoppedListening",
    ];
    check("stop-retry-after", &flags, Duration::from_secs(5), 429, &order);
}

/// What a client sees that asks once the server takes nothing new, but still listens: the words of kube-apiserver.
#[test]
fn too_late() {
    let flags = ["--shutdown-send-retry-after=true", "--shutdown-watch-termination-grace-period=60s"];
    let server = Server::start("too-late", &flags);
    // Watches are ended 200 a second: some hundred keep the server for a while.
    let watches: Vec<_> = (0..300)
        .map(|_| {
            let mut watch = Connection::plain(&server);
            assert_eq!(watch.watch(&format!("{MAPS}?watch=1")).unwrap().status, 200);
            watch
        })
        .collect();
    let mut idle = Connection::plain(&server);
    assert_eq!(idle.get("/version").unwrap().status, 200);
    server.signal("TERM").unwrap();
    let late = wait_for(Duration::from_secs(10), || {
        let answer = Connection::plain(&server).get(MAPS).ok()?;
        (answer.status != 200).then_some(answer)
    });
    let late = late.expect("requests are refused once watches end");
    assert_eq!(late.status, 429);
    assert_eq!(late.text(), "The apiserver is shutting down, please try again later.\n");
    assert_eq!(late.header("retry-after"), Some("5"));
    assert_eq!(late.header("connection"), Some("close"));
    assert_eq!(late.header("content-type"), Some("text/plain; charset=utf-8"));
    // On a connection from before too, and probes are answered to the end.
    assert_eq!(idle.get("/readyz").unwrap().status, 500);
    assert_eq!(idle.get("/livez").unwrap().status, 200);
    let refused = idle.get(&format!("{MAPS}?watch=1")).unwrap();
    assert_eq!((refused.status, refused.header("connection")), (429, Some("close")));
    drop(watches);
}

/// The lease of the server is there while it is, and is another's after it.
#[test]
fn identity_lease() {
    let mut server = Server::start("identity-lease", &[]);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let selected = format!("{leases}?labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver");
    let stale = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "apiserver-gone", "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}},
        "spec": {"leaseDurationSeconds": 3600, "renewTime": "2020-01-01T00:00:00.000000Z"},
    });
    assert_eq!(Connection::plain(&server).post(leases, &stale).unwrap().status, 201);
    let holder = |server: &Server, expect: usize| {
        let found = wait_for(Duration::from_secs(10), || {
            let list = Connection::plain(server).get(&selected).unwrap().json();
            let items = list["items"].as_array().unwrap().clone();
            (items.len() == expect).then(|| items.last().cloned()).flatten()
        });
        let lease = found.expect("a lease of the server");
        (lease["metadata"]["name"].clone(), lease["spec"]["holderIdentity"].clone())
    };
    let first = Connection::plain(&server).get(&selected).unwrap().json();
    assert!(first["items"].as_array().unwrap().len() <= 2, "{first}");
    assert_eq!(server.terminate().unwrap(), Some(0), "{}", server.log());
    server.spawn();
    // The start takes away the lease that somebody left behind, and the end took the server's own.
    let second = holder(&server, 1);
    assert!(
        second.0.as_str().unwrap().starts_with("apiserver-") && second.0 != "apiserver-gone",
        "{second:?}"
    );
    assert_eq!(server.terminate().unwrap(), Some(0), "{}", server.log());
    server.spawn();
    let third = holder(&server, 1);
    assert_eq!(second.0, third.0, "the same server");
    assert_ne!(second.1, third.1, "another run of it");
}
