//! Connections to pods by way of a kubelet: logs, commands, ports and proxies, with real kubectls over both transports
//! and byte by byte. The kubelet is a program of `tests/clients`, which runs commands on this machine.

mod kubectl;
mod sockets;

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{IpAddr, TcpListener, UdpSocket},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use ringbolt_tests::{
    http1::{Connection, Response},
    note,
    server::{Server, scratch},
};
use serde_json::{Value, json};

use crate::{aggregation::extension_server::Authority, clients};

/// A server, a kubelet that believes it alone, and pods on that kubelet's node.
pub(crate) struct Site {
    server: Server,
    kubelet: Child,
    port: u16,
}

impl Drop for Site {
    fn drop(&mut self) {
        // It ends with its input; this is for one that does not.
        let _ = self.kubelet.kill();
        let _ = self.kubelet.wait();
    }
}

/// An address of this machine that is not its loopback, since proxies lead to no other: `RINGBOLT_ADDRESS`, or that of the
/// way out.
fn own_address() -> Option<IpAddr> {
    if let Ok(address) = env::var("RINGBOLT_ADDRESS") {
        return Some(address.parse().expect("RINGBOLT_ADDRESS is an address"));
    }
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: it is where packets would leave from.
    socket.connect("203.0.113.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    TcpListener::bind((address, 0)).ok()?;
    (!address.is_loopback()).then_some(address)
}

impl Site {
    /// `None`, with a printed line, where the programs cannot be built.
    fn start(name: &str, address: IpAddr) -> Option<Site> {
        let programs = clients::programs()?;
        let folder = scratch(name);
        let (kubelets, servers) = (Authority::new("kubelet-ca"), Authority::new("server-ca"));
        let write = |name: &str, text: &str| -> PathBuf {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let pair = kubelets.sign("kubelet", &[&address.to_string()]);
        let shown = servers.sign("kube-apiserver-kubelet-client", &["client"]);
        let mut kubelet = Command::new(programs.join("kubelet"))
            .arg(format!("{address}:0"))
            .arg(write("kubelet.crt", &pair.certificate))
            .arg(write("kubelet.key", &pair.key))
            .arg(write("servers.crt", &servers.pem))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("kubelet.log")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(kubelet.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: {line:?}"));
        let flag = |name: &str, path: PathBuf| format!("--kubelet-{name}={}", path.display());
        let flags = [
            flag("client-certificate", write("client.crt", &shown.certificate)),
            flag("client-key", write("client.key", &shown.key)),
            flag("certificate-authority", write("kubelets.crt", &kubelets.pem)),
            format!("--requestheader-client-ca-file={}", folder.join("servers.crt").display()),
            "--requestheader-username-headers=X-Front-User".to_owned(),
            "--requestheader-group-headers=X-Front-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Front-Extra-".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--embedded-controllers=".to_owned(),
        ];
        let server = Server::start(name, &flags.each_ref().map(String::as_str));
        let site = Site { server, kubelet, port };
        site.add_node("n1", &address.to_string(), &json!([]));
        Some(site)
    }

    fn connect(&self) -> Connection {
        Connection::tls(&self.server)
    }

    fn get(&self, path: &str) -> Response {
        self.connect().get(path).unwrap()
    }

    fn post(&self, path: &str, object: &Value) {
        let answer = self.connect().post(path, object).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    fn patch_status(&self, path: &str, status: &Value) {
        let patch = json!({"status": status}).to_string();
        let path = format!("{path}/status");
        let answer = self
            .connect()
            .request("PATCH", &path, "application/strategic-merge-patch+json", patch.as_bytes())
            .unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    fn add_node(&self, name: &str, address: &str, features: &Value) {
        self.post("/api/v1/nodes", &json!({"metadata": {"name": name}}));
        let addresses = json!([{"type": "InternalIP", "address": address}]);
        let endpoints = json!({"kubeletEndpoint": {"Port": self.port}});
        self.patch_status(
            &format!("/api/v1/nodes/{name}"),
            &json!({"addresses": addresses, "daemonEndpoints": endpoints, "declaredFeatures": features}),
        );
    }

    /// A pod that runs, of these containers.
    fn add_pod(&self, name: &str, node: &str, containers: &[&str], address: &str) {
        let containers: Vec<_> = containers.iter().map(|c| json!({"name": c, "image": "i"})).collect();
        let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": containers}});
        self.post("/api/v1/namespaces/default/pods", &pod);
        let mut status = json!({"phase": "Running"});
        if !address.is_empty() {
            status["podIP"] = address.into();
            status["podIPs"] = json!([{"ip": address}]);
        }
        self.patch_status(&format!("/api/v1/namespaces/default/pods/{name}"), &status);
    }
}

fn loopback(name: &str) -> Option<Site> {
    Site::start(name, IpAddr::from([127, 0, 0, 1]))
}

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Status, reason and message of a failure.
fn failure(answer: &Response) -> (u16, String, String) {
    let status = answer.json();
    let text = |field: &str| status[field].as_str().unwrap_or("").to_owned();
    assert_eq!(status["code"], answer.status, "{status}");
    (answer.status, text("reason"), text("message"))
}

#[test]
fn logs() {
    let Some(site) = loopback("log") else { return };
    site.add_pod("one", "n1", &["c"], "");
    site.add_pod("two", "n1", &["c", "d", "query", "ends", "long", "moved", "fails-404", "fails-500"], "");
    let log = |pod: &str, query: &str| site.get(&format!("{PODS}/{pod}/log?{query}"));
    let answer = log("one", "");
    assert_eq!((answer.status, &*answer.text()), (200, "one\ntwo\nthree\n"));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(log("one", "tailLines=1&timestamps=true").text(), "2026-01-02T03:04:05Z three\n");
    assert_eq!(log("one", "previous=true").text(), "before\n");
    assert_eq!(log("one", "limitBytes=5").text(), "one\nt");
    assert_eq!(log("one", "insecureSkipTLSVerifyBackend=true").text(), "one\ntwo\nthree\n");
    assert_eq!(
        log("two", "container=query&tailLines=4&sinceTime=2020-01-01T00:00:00Z&limitBytes=1000&x=y").text(),
        "/containerLogs/default/two/query?limitBytes=1000&sinceTime=2020-01-01T00%3A00%3A00Z&tailLines=4\n"
    );
    assert_eq!(log("two", "container=long").body.len(), 20 << 20);
    assert_eq!(log("two", "container=ends&follow=true").text(), "one\ntwo\nthree\n");

    let check = |query: &str, expect: (u16, &str, &str)| {
        let found = failure(&log("two", query));
        assert_eq!((found.0, &*found.1, &*found.2), expect, "{query}");
    };
    let gone = "the server could not find the requested resource ( pods/log two)";
    check("container=fails-404", (404, "NotFound", gone));
    let broken = "Internal error occurred: the container fails-500 is not to be had\n";
    check("container=fails-500", (500, "InternalError", broken));
    check("container=moved", (500, "", "Get \"/healthz\": redirects forbidden"));
    let choose = "a container name must be specified for pod two, choose one of: [c d query ends long moved fails-404 fails-500]";
    check("", (400, "BadRequest", choose));
}

#[test]
fn logs_that_are_followed() {
    let Some(site) = loopback("log-follow") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let mut connection = site.connect();
    let head = connection.watch(&format!("{PODS}/one/log?follow=true")).unwrap();
    assert_eq!(head.status, 200);
    let mut text = String::new();
    while !text.contains("more 3\n") {
        text.push_str(&connection.line().unwrap().expect("it goes on"));
    }
    assert!(text.starts_with("one\ntwo\nthree\nmore 1\n"), "{text}");
    let metrics = site.get("/metrics").text();
    let running = |metrics: &str| {
        metrics.lines().any(|line| {
            line.starts_with("apiserver_longrunning_requests{")
                && line.contains(r#"subresource="log""#)
                && line.contains(r#"verb="CONNECT""#)
                && line.ends_with(" 1")
        })
    };
    assert!(running(&metrics), "it is counted while it runs");
    // Who goes is not waited for.
    drop(connection);
    let ended = ringbolt_tests::wait_for(Duration::from_secs(30), || {
        (!running(&site.get("/metrics").text())).then_some(())
    });
    assert!(ended.is_some(), "it ends with its client");
}

#[test]
fn kubelets_that_are_not_there() {
    let Some(site) = loopback("kubelet-lost") else { return };
    site.add_pod("far", "nowhere", &["c"], "");
    site.add_pod("unscheduled", "", &["c"], "");
    let nobody = ringbolt_tests::server::free_port();
    site.post("/api/v1/nodes", &json!({"metadata": {"name": "bare"}}));
    site.add_pod("lost", "bare", &["c"], "");
    site.post("/api/v1/nodes", &json!({"metadata": {"name": "silent"}}));
    site.patch_status(
        "/api/v1/nodes/silent",
        &json!({"addresses": [{"type": "Hostname", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": nobody}}}),
    );
    site.add_pod("mute", "silent", &["c"], "");
    let check = |path: &str, expect: (u16, &str, &str)| {
        let found = failure(&site.get(path));
        assert_eq!((found.0, &*found.1, &*found.2), expect, "{path}");
    };
    check(&format!("{PODS}/far/log"), (404, "NotFound", "pods \"nowhere\" not found"));
    assert_eq!(site.get(&format!("{PODS}/unscheduled/log")).status, 204);
    let unscheduled = "pod unscheduled does not have a host assigned";
    check(&format!("{PODS}/unscheduled/exec?command=ls"), (400, "BadRequest", unscheduled));
    let known = "no preferred addresses found; known addresses: []";
    check(&format!("{PODS}/lost/log"), (500, "", known));
    check(&format!("{PODS}/lost/attach"), (500, "", known));
    let refused = format!("dial tcp 127.0.0.1:{nobody}: connect: connection refused");
    let get = format!("Get \"https://127.0.0.1:{nobody}/containerLogs/default/mute/c\": {refused}");
    check(&format!("{PODS}/mute/log"), (500, "", &get));
    check(&format!("{PODS}/mute/exec"), (400, "BadRequest", "Upgrade request required"));
    check(&format!("{PODS}/mute/portforward?dryRun=All"), (400, "BadRequest", "dryRun is not supported"));
    let mut connection = site.connect();
    let head = Connection::head("POST", &format!("{PODS}/mute/exec?command=ls&stdout=1"));
    connection.send(format!("{head}Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n").as_bytes()).unwrap();
    let dialed = failure(&connection.response("POST").unwrap());
    assert_eq!(dialed, (500, String::new(), format!("error dialing backend: {refused}")));
    // This machine itself is nothing to proxy to.
    check("/api/v1/nodes/silent/proxy/healthz", (400, "BadRequest", "address not allowed"));
    check("/api/v1/nodes/silent:1/proxy/healthz", (400, "BadRequest", "address not allowed"));
    check(&format!("{PODS}/mute/proxy/"), (400, "BadRequest", "address not allowed"));
}

#[test]
fn who_may_get_may_not_run_commands() {
    let Some(site) = loopback("connect-rights") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let resources = json!(["pods/exec", "pods/attach", "pods/portforward"]);
    let rule = json!({"apiGroups": [""], "resources": resources, "verbs": ["get"]});
    site.post(&format!("{rbac}/roles"), &json!({"metadata": {"name": "looks"}, "rules": [rule]}));
    site.post(
        &format!("{rbac}/rolebindings"),
        &json!({"metadata": {"name": "looks"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "looks"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]}),
    );
    for subresource in ["exec", "attach", "portforward"] {
        let mut connection = Connection::plain(&site.server);
        let head = format!(
            "GET {PODS}/one/{subresource}?command=ls&stdout=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer usertoken\r\n\r\n"
        );
        // What roles allow follows their objects.
        let found = ringbolt_tests::wait_for(Duration::from_secs(30), || {
            connection.send(head.as_bytes()).unwrap();
            let found = failure(&connection.response("GET").unwrap());
            (!found.2.contains("cannot get")).then_some(found)
        });
        let expect = (403, "Forbidden".to_owned(), "pods \"one\" is forbidden: ".to_owned());
        assert_eq!(found, Some(expect), "{subresource}");
    }
}

#[test]
fn proxies() {
    let Some(address) = own_address() else {
        note("left out: proxies of nodes, pods and services, since this machine has no address but loopback");
        return;
    };
    let Some(site) = Site::start("proxies", address) else { return };
    let node = "/api/v1/nodes/n1/proxy";
    assert_eq!(site.get(&format!("{node}/healthz")).text(), "ok");
    let named = format!("/api/v1/nodes/https:n1:{}/proxy/healthz", site.port);
    assert_eq!(site.get(&named).text(), "ok");
    let bare = site.get(&format!("{node}?a=b"));
    assert_eq!((bare.status, bare.header("location")), (301, Some(&*format!("{node}/?a=b"))));
    let moved = site.get(&format!("{node}/redirect/"));
    assert_eq!((moved.status, moved.header("location")), (302, Some(&*format!("{node}/healthz"))));
    assert_eq!(
        site.get(&format!("{node}/page/")).text(),
        format!(
            "<html><a href=\"{node}/pods?a=1&amp;b=2\">pods</a> <a href=\"other\">other</a> <A HREF='http://elsewhere/x'>x</A></html>"
        )
    );
    // All that is the client's goes on, nothing that is the connection's.
    let mut connection = site.connect();
    let head = Connection::head("PUT", &format!("{node}/a%20b/c/?q=%20x&z"));
    let fields = "X-Own: 1\r\nTe: gzip\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-Forwarded-Uri: /lie\r\nX-Forwarded-For: 9.9.9.9\r\nContent-Length: 4\r\nX-Front-User: a\r\nX-Front-Group: b\r\nX-Front-Extra-C: d\r\nX-Front-Door: 1\r\n";
    connection.send(format!("{head}{fields}\r\nbody").as_bytes()).unwrap();
    let echo = connection.response("PUT").unwrap().text();
    let lines: Vec<_> = echo.lines().collect();
    assert_eq!(lines[..2], ["PUT /a%20b/c/?q=%20x&z", "Host: 127.0.0.1"], "{echo}");
    for line in [
        "X-Own: 1",
        "X-Front-Door: 1",
        "X-Forwarded-For: 9.9.9.9, 127.0.0.1",
        &format!("X-Forwarded-Uri: {node}/a%20b/c/"),
        "body",
    ] {
        assert!(lines.contains(&line), "{line} in {echo}");
    }
    for name in [
        "Authorization:",
        "X-Hop:",
        "Te:",
        "X-Remote-User:",
        "X-Front-User:",
        "X-Front-Group:",
        "X-Front-Extra-",
    ] {
        assert!(!lines.iter().any(|line| line.starts_with(name)), "{name} in {echo}");
    }
    // No body is said to be one of no bytes where a server may expect one.
    for (method, told) in [("POST", true), ("PUT", true), ("PATCH", true), ("DELETE", false), ("GET", false)]
    {
        let mut connection = site.connect();
        let head = Connection::head(method, &format!("{node}/empty"));
        connection.send(format!("{head}\r\n").as_bytes()).unwrap();
        let echo = connection.response(method).unwrap().text();
        assert_eq!(echo.lines().any(|line| line == "Content-Length: 0"), told, "{method}: {echo}");
    }
    // A body larger than what this server takes passes through.
    let large = vec![b'x'; 8 << 20];
    let answer = site.connect().request("POST", &format!("{node}/large"), "text/plain", &large).unwrap();
    assert!(answer.status == 200 && answer.body.ends_with(&large));
    for method in ["DELETE", "PATCH", "OPTIONS"] {
        let answer = site.connect().request(method, &format!("{node}/m"), "text/plain", b"").unwrap();
        assert!(answer.text().starts_with(&format!("{method} /m\n")), "{method}: {}", answer.text());
    }
    let odd = site.connect().request("BREW", &format!("{node}/m"), "text/plain", b"").unwrap();
    assert_eq!(odd.status, 405);
    pods_and_services(&site, &address.to_string());
}

fn pods_and_services(site: &Site, address: &str) {
    site.add_pod("web", "n1", &["c"], address);
    let port = site.port;
    let pod = format!("{PODS}/https:web:{port}/proxy");
    // What believes nobody but the server shows no certificate to it here.
    assert_eq!(site.get(&format!("{pod}/healthz")).status, 401);
    // Of one that speaks TLS alone.
    assert_eq!(site.get(&format!("{PODS}/web:{port}/proxy/healthz")).status, 400);
    // One that changes to a protocol that nobody asked for.
    let listener = TcpListener::bind((address, 0)).unwrap();
    let odd = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n";
        stream.write_all(head).unwrap();
        let mut asked = Vec::new();
        let _ = stream.read_to_end(&mut asked);
        asked
    });
    let unasked = failure(&site.get(&format!("{PODS}/web:{odd}/proxy/")));
    let why = "backend tried to switch protocol \"x\" when \"\" was requested";
    assert!(unasked.0 == 500 && unasked.2.ends_with(why), "{unasked:?}");
    let asked = server.join().unwrap();
    assert!(asked.starts_with(b"GET / HTTP/1.1\r\n"), "{}", String::from_utf8_lossy(&asked));
    site.post(
        "/api/v1/namespaces/default/services",
        &json!({"metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 80}]}}),
    );
    let services = "/api/v1/namespaces/default/services";
    let none = failure(&site.get(&format!("{services}/https:s:web/proxy/healthz")));
    assert_eq!(
        none,
        (503, "ServiceUnavailable".to_owned(), "no endpoints available for service \"s\"".to_owned())
    );
    let endpoint =
        json!({"addresses": [address], "targetRef": {"kind": "Pod", "namespace": "default", "name": "web"}});
    site.post(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        &json!({"metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}}, "addressType": "IPv4",
            "ports": [{"name": "web", "port": port}], "endpoints": [endpoint]}),
    );
    for id in ["https:s:web", "https:s:80"] {
        assert_eq!(site.get(&format!("{services}/{id}/proxy/healthz")).status, 401, "{id}");
    }
    let lost = failure(&site.get(&format!("{services}/https:s:81/proxy/")));
    assert_eq!(lost.2, "no service port 81 found for service \"s\"");
    let odd = failure(&site.get(&format!("{services}/ftp:s:80/proxy/")));
    assert_eq!(odd.2, "invalid service request \"ftp:s:80\"");
}
