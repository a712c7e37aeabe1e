//! Aggregated APIs: another server behind an APIService, with its certificates, its identity, its streams, and what is
//! said while it is not there.

pub(crate) mod extension_server;

use std::{
    fs,
    io::{Read as _, Write as _},
    time::Duration,
};

use ringbolt_tests::{
    http1::{Connection, Response},
    server::{ADMIN_TOKEN, Server, scratch},
    wait_for,
};
use serde_json::{Value, json};

use self::extension_server::{Asked, Authority, ExtensionServer, GROUP, Pair, SERVICE};

const BELOW: &str = "/apis/wardle.example.com/v1";
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, another one behind it, and who signs what.
struct Site {
    server: Server,
    extension: ExtensionServer,
    authority: Authority,
    front: Authority,
    folder: std::path::PathBuf,
}

impl Site {
    /// Nothing is registered yet.
    fn new(name: &str, flags: &[&str]) -> Site {
        let folder = scratch(name);
        let (authority, front) = (Authority::new("wardle-ca"), Authority::new("front-ca"));
        show(&folder, &front.sign("first", &["front"]));
        let certificate = format!("--proxy-client-cert-file={}", folder.join("front.crt").display());
        let key = format!("--proxy-client-key-file={}", folder.join("front.key").display());
        let mut all = vec![certificate.as_str(), key.as_str(), "--embedded-controllers="];
        all.extend(flags);
        let server = Server::start(name, &all);
        let pair = authority.sign("wardle", &["wardle.default.svc"]);
        let extension = ExtensionServer::start(&pair, Some(&front));
        Site { server, extension, authority, front, folder }
    }

    /// With the service and the APIService, once it is available.
    fn registered(name: &str, flags: &[&str]) -> Site {
        let site = Site::new(name, flags);
        site.add_service();
        site.register(&json!({"caBundle": site.authority.bundle()}));
        site.awaits("True", "Passed");
        site
    }

    fn connect(&self) -> Connection {
        Connection::tls(&self.server)
    }

    fn get(&self, path: &str) -> Response {
        self.connect().get(path).unwrap()
    }

    fn add_service(&self) {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE},
            "spec": {"type": "ExternalName", "externalName": "localhost"}});
        let answer = self.connect().post("/api/v1/namespaces/default/services", &service).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    fn register(&self, more: &Value) {
        let mut spec = json!({"group": GROUP, "version": "v1", "groupPriorityMinimum": 1500,
            "versionPriority": 15,
            "service": {"namespace": "default", "name": SERVICE, "port": self.extension.port}});
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        let object = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": format!("v1.{GROUP}")}, "spec": spec});
        let path = "/apis/apiregistration.k8s.io/v1/apiservices";
        let answer = self.connect().post(path, &object).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    fn patch(&self, patch: &Value) {
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}");
        let kind = "application/merge-patch+json";
        let answer = self.connect().request("PATCH", &path, kind, patch.to_string().as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    fn condition(&self) -> Value {
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}");
        self.get(&path).json()["status"]["conditions"][0].clone()
    }

    /// Waits for the condition `Available`, and answers its message.
    fn awaits(&self, status: &str, reason: &str) -> String {
        let found = wait_for(PATIENCE, || {
            let condition = self.condition();
            (condition["status"] == status && condition["reason"] == reason).then_some(condition)
        });
        let condition = found.unwrap_or_else(|| panic!("not {status} {reason}: {}", self.condition()));
        // What is routed follows.
        std::thread::sleep(Duration::from_millis(200));
        condition["message"].as_str().unwrap_or("").to_owned()
    }

    fn asked(&self, part: &str) -> Asked {
        let asked = self.extension.asked(part);
        asked.last().unwrap_or_else(|| panic!("{part} was not asked")).clone()
    }
}

fn show(folder: &std::path::Path, pair: &Pair) {
    fs::write(folder.join("front.key"), &pair.key).unwrap();
    fs::write(folder.join("front.crt"), &pair.certificate).unwrap();
}

#[test]
fn requests_go_there_with_who_asks() {
    let site = Site::registered("aggregated-identity", &[]);
    let answer = site.get(&format!("{BELOW}/namespaces/default/flunders/x?b=2&a=1%202"));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["target"], format!("{BELOW}/namespaces/default/flunders/x?a=1+2&b=2"));
    let all = |name: &str| answer.headers.iter().filter(|(known, _)| known == name).count();
    assert_eq!((all("x-own"), all("audit-id"), all("date")), (2, 1, 1));
    let asked = site.asked("/flunders/x");
    assert_eq!(asked.all("x-remote-user"), ["kubernetes-admin"]);
    assert_eq!(asked.all("x-remote-group"), ["system:masters", "system:authenticated"]);
    assert_eq!(asked.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(asked.all("authorization"), [""; 0]);
    assert_eq!(asked.all("host"), [format!("localhost:{}", site.extension.port)]);
    assert!(asked.certificate.is_some(), "the front proxy shows its certificate");

    // Whoever is impersonated asks, and nobody can say so themselves.
    let head = format!(
        "GET {BELOW}/other HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\nX-Remote-User: evil\r\n\
         Impersonate-User: jane\r\nImpersonate-Group: system:masters\r\nImpersonate-Extra-Scopes%2fa: view\r\n\r\n"
    );
    let mut connection = site.connect();
    connection.send(head.as_bytes()).unwrap();
    assert_eq!(connection.response("GET").unwrap().status, 200);
    let asked = site.asked("/other");
    assert_eq!(asked.all("x-remote-user"), ["jane"]);
    assert_eq!(asked.all("x-remote-extra-scopes%2fa"), ["view"]);
    assert_eq!(asked.all("impersonate-user"), [""; 0]);

    // Connections are kept.
    let before = site.extension.connections();
    for _ in 0..5 {
        assert_eq!(site.get(&format!("{BELOW}/again")).status, 200);
    }
    assert!(site.extension.connections() <= before + 1, "{} from {before}", site.extension.connections());
}

#[test]
fn bodies_stream_both_ways() {
    let site = Site::registered("aggregated-bodies", &[]);
    let memory = site.server.memory_kib("RssAnon");
    // More than any object may have, and more than this server would keep.
    let body = vec![7; 24 << 20];
    let answer = site.connect().request("POST", &format!("{BELOW}/big"), "text/plain", &body).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["length"], body.len());
    assert_eq!(answer.json()["sum"], 7 * body.len());
    let mut connection = site.connect();
    let head = Connection::head("POST", &format!("{BELOW}/chunked"));
    connection.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    connection.send(b"2\r\nde\r\n0\r\n\r\n").unwrap();
    assert_eq!(connection.response("POST").unwrap().json()["length"], 5);
    let answer = site.get(&format!("{BELOW}/long"));
    assert_eq!((answer.status, answer.body.len()), (200, 8 << 20));
    assert!(answer.body.iter().all(|byte| *byte == b'x'));
    let grown = site.server.memory_kib("RssAnon").saturating_sub(memory);
    assert!(grown < 16 << 10, "{grown} KiB more than before");
}

#[test]
fn watches_come_event_by_event() {
    let site = Site::registered("aggregated-watch", &[]);
    let mut watch = site.connect();
    let head = watch.watch(&format!("{BELOW}/namespaces/default/flunders?watch=1")).unwrap();
    assert_eq!(head.status, 200);
    for number in 0..3 {
        site.extension.send_event();
        let line = watch.line().unwrap().unwrap();
        assert_eq!(line.trim_end(), format!(r#"{{"type":"ADDED","number":{number}}}"#));
    }
    assert_eq!(watch.line().unwrap(), None);
}

#[test]
fn connections_are_upgraded() {
    let site = Site::registered("aggregated-upgrade", &[]);
    let mut connection = site.connect();
    let head = Connection::head("GET", &format!("{BELOW}/exec"));
    connection.send(format!("{head}Connection: Upgrade\r\nUpgrade: shout\r\n\r\n").as_bytes()).unwrap();
    let answer = connection.response("GET").unwrap();
    assert_eq!(answer.status, 101, "{answer:?}");
    assert_eq!(answer.header("upgrade"), Some("shout"));
    for text in ["hello", "and again"] {
        connection.wire().write_all(text.as_bytes()).unwrap();
        connection.wire().flush().unwrap();
        let mut back = vec![0; text.len()];
        connection.wire().read_exact(&mut back).unwrap();
        assert_eq!(back, text.to_ascii_uppercase().as_bytes());
    }
    assert_eq!(site.asked("/exec").all("x-remote-user"), ["kubernetes-admin"]);

    // What is no other protocol goes to the client if it is an error, and is one if it is not.
    let asks = |path: &str| {
        let mut connection = site.connect();
        let head = Connection::head("GET", &format!("{BELOW}{path}"));
        connection.send(format!("{head}Connection: Upgrade\r\nUpgrade: shout\r\n\r\n").as_bytes()).unwrap();
        connection.response("GET").unwrap()
    };
    let refused = asks("/forbidden");
    assert_eq!((refused.status, refused.text().as_str()), (403, "not you"));
    assert_eq!(refused.header("audit-id"), None);
    let odd = asks("/redirect");
    assert_eq!((odd.status, odd.text().as_str()), (503, "invalid upgrade response: status code 302\n"));
}

#[test]
fn what_breaks_is_told() {
    let site = Site::registered("aggregated-faults", &[]);
    let redirected = site.get(&format!("{BELOW}/redirect"));
    assert_eq!(redirected.status, 502);
    assert_eq!(redirected.text(), "the backend attempted to redirect this request, which is not permitted");
    assert!(site.connect().get(&format!("{BELOW}/breaks")).is_err(), "half an answer is no answer");

    // Discovery fails: requests are not sent there any more, until it is well again.
    site.extension.set_ill(true);
    site.patch(&json!({"spec": {"versionPriority": 16}}));
    let url = format!("https://localhost:{}{BELOW}", site.extension.port);
    let message = site.awaits("False", "FailedDiscoveryCheck");
    assert_eq!(message, format!("failing or missing response from {url}: bad status from {url}: 500"));
    let answer = site.get(&format!("{BELOW}/flunders"));
    assert_eq!((answer.status, answer.text().as_str()), (503, "service unavailable\n"));
    site.extension.set_ill(false);
    site.awaits("True", "Passed");
    assert_eq!(site.get(&format!("{BELOW}/flunders")).status, 200);
}

#[test]
fn availability_says_what_is_missing() {
    let site = Site::new("aggregated-availability", &[]);
    site.register(&json!({}));
    let message = site.awaits("False", "ServiceNotFound");
    assert_eq!(message, r#"service/wardle in "default" is not present"#);
    site.add_service();
    // Nobody whom the system trusts has signed its certificate.
    let message = site.awaits("False", "FailedDiscoveryCheck");
    assert!(message.ends_with("x509: certificate signed by unknown authority"), "{message}");
    site.patch(&json!({"spec": {"insecureSkipTLSVerify": true}}));
    site.awaits("True", "Passed");
    site.patch(
        &json!({"spec": {"insecureSkipTLSVerify": null, "caBundle": Authority::new("other").bundle()}}),
    );
    site.awaits("False", "FailedDiscoveryCheck");
    site.patch(&json!({"spec": {"caBundle": site.authority.bundle()}}));
    site.awaits("True", "Passed");
    let service = format!("/api/v1/namespaces/default/services/{SERVICE}");
    assert_eq!(site.connect().request("DELETE", &service, "application/json", b"").unwrap().status, 200);
    site.awaits("False", "ServiceNotFound");
    assert_eq!(site.get(&format!("{BELOW}/flunders")).status, 503);
}

#[test]
fn endpoints_are_looked_at_behind_cluster_addresses() {
    let site = Site::new("aggregated-endpoints", &["--enable-aggregator-routing=true"]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE},
        "spec": {"ports": [{"name": "https", "port": site.extension.port}]}});
    let answer = site.connect().post("/api/v1/namespaces/default/services", &service).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    site.register(&json!({"caBundle": site.authority.bundle()}));
    let message = site.awaits("False", "EndpointsNotFound");
    assert_eq!(message, r#"cannot find endpointslices for service/wardle in "default""#);
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "wardle-1", "labels": {"kubernetes.io/service-name": SERVICE}},
        "endpoints": [], "ports": [{"name": "https", "port": site.extension.port}]});
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    assert_eq!(site.connect().post(path, &slice).unwrap().status, 201);
    let message = site.awaits("False", "MissingEndpoints");
    let expect = r#"endpointslices for service/wardle in "default" have no addresses with port name "https""#;
    assert_eq!(message, expect);
    site.patch(&json!({"spec": {"service": {"port": 9}}}));
    let message = site.awaits("False", "ServicePortError");
    assert_eq!(message, r#"service/wardle in "default" is not listening on port 9"#);
}

#[test]
fn discovery_and_documents_have_what_it_serves() {
    let site = Site::registered("aggregated-discovery", &[]);
    let aggregated = || {
        let head = Connection::head("GET", "/apis");
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let mut connection = site.connect();
        connection.send(format!("{head}Accept: {accept}\r\n\r\n").as_bytes()).unwrap();
        let groups = connection.response("GET").unwrap().json()["items"].clone();
        groups.as_array().unwrap().iter().find(|group| group["metadata"]["name"] == GROUP).cloned()
    };
    let group = wait_for(PATIENCE, || aggregated().filter(|g| g["versions"][0]["freshness"] == "Current"));
    let resource = &group.unwrap()["versions"][0]["resources"][0];
    assert_eq!((&resource["resource"], &resource["shortNames"][0]), (&json!("flunders"), &json!("fl")));
    assert_eq!(resource["responseKind"]["kind"], "Flunder");
    let groups = site.get("/apis").json();
    let names: Vec<_> = groups["groups"].as_array().unwrap().iter().map(|g| g["name"].clone()).collect();
    assert_eq!(names[0], "apiregistration.k8s.io");
    assert_eq!(names.last().unwrap(), GROUP, "the lowest priority comes last: {names:?}");
    assert_eq!(site.get(&format!("/apis/{GROUP}")).json()["preferredVersion"]["version"], "v1");
    assert_eq!(site.get(BELOW).json()["kind"], "APIResourceList");
    let paths = site.get("/").json()["paths"].clone();
    assert!(paths.as_array().unwrap().contains(&json!(BELOW)), "{paths}");

    let url = wait_for(PATIENCE, || {
        let index = site.get("/openapi/v3").json();
        index["paths"]["apis/wardle.example.com/v1"]["serverRelativeURL"].as_str().map(str::to_owned)
    });
    assert_eq!(url.as_deref(), Some("/openapi/v3/apis/wardle.example.com/v1?hash=ABC"));
    let document = wait_for(PATIENCE, || {
        let document = site.get("/openapi/v2").json();
        document["paths"][format!("{BELOW}/flunders")].is_object().then_some(document)
    });
    let document = document.unwrap();
    assert!(document["definitions"]["com.example.Flunder"].is_object());
    assert!(document["definitions"]["com.example.Other"].is_null(), "nothing refers to it");

    // Gone with its APIService.
    let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}");
    assert_eq!(site.connect().request("DELETE", &path, "application/json", b"").unwrap().status, 200);
    assert!(wait_for(PATIENCE, || (site.get(BELOW).status == 404).then_some(())).is_some());
    assert!(wait_for(PATIENCE, || aggregated().is_none().then_some(())).is_some());
}

#[test]
fn the_front_proxy_gets_a_new_certificate() {
    let site = Site::registered("aggregated-rotation", &[]);
    assert_eq!(site.get(&format!("{BELOW}/first")).status, 200);
    let first = site.asked("/first").certificate.unwrap();
    show(&site.folder, &site.front.sign("second", &["front"]));
    let rotated = wait_for(PATIENCE, || {
        assert_eq!(site.get(&format!("{BELOW}/second")).status, 200);
        (site.asked("/second").certificate.unwrap() != first).then_some(())
    });
    assert!(rotated.is_some(), "{}", site.server.log());
}

#[test]
fn local_groups_are_registered_and_stay() {
    let server = Server::start("aggregated-local", &["--embedded-controllers="]);
    let path = "/apis/apiregistration.k8s.io/v1/apiservices";
    let list = Connection::tls(&server).get(path).unwrap().json();
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 22);
    assert!(items.iter().all(|item| item["status"]["conditions"][0]["reason"] == "Local"));
    let of_core = &items[0];
    assert_eq!(of_core["metadata"]["name"], "v1.");
    assert_eq!(of_core["spec"]["groupPriorityMinimum"], 18_000);
    // One that was there at the start and is deleted is not made again before the next start.
    let apps = format!("{path}/v1.apps");
    let mut connection = Connection::tls(&server);
    assert_eq!(connection.request("DELETE", &apps, "application/json", b"").unwrap().status, 200);
    let groups = || {
        let groups = Connection::tls(&server).get("/apis").unwrap().json();
        groups["groups"].as_array().unwrap().iter().any(|group| group["name"] == "apps")
    };
    assert!(wait_for(PATIENCE, || (!groups()).then_some(())).is_some(), "lists follow APIServices");
    assert_eq!(Connection::tls(&server).get("/apis/apps/v1").unwrap().status, 200);
    drop(connection);
    let mut server = server;
    server.terminate().unwrap();
    server.spawn();
    assert_eq!(Connection::tls(&server).get(&apps).unwrap().status, 200);
}

/// Another server of this kind stands behind a group of this one's, and speaks HTTP/2: a connection carries many calls,
/// and more watches than it takes do not hold up who comes after them.
#[test]
fn many_calls_share_connections() {
    let site = Site::new("aggregated-http2", &[]);
    let authority = site.folder.join("front-ca.crt");
    fs::write(&authority, &site.front.pem).unwrap();
    let front = format!("--requestheader-client-ca-file={}", authority.display());
    let behind = Server::start(
        "aggregated-behind",
        &[
            &front,
            "--requestheader-allowed-names=first",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--embedded-controllers=",
        ],
    );
    site.add_service();
    let patch = json!({"metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": null}},
        "spec": {"insecureSkipTLSVerify": true,
            "service": {"namespace": "default", "name": SERVICE, "port": behind.port}}});
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.batch";
    let kind = "application/merge-patch+json";
    let answer = site.connect().request("PATCH", path, kind, patch.to_string().as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());

    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let spec = json!({"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i"}]}}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec});
    let made = wait_for(PATIENCE, || {
        let answer = site.connect().post(jobs, &job).unwrap();
        // Those that came before the route changed are this server's own.
        let there = Connection::tls(&behind).get(&format!("{jobs}/j")).unwrap();
        (there.status == 200).then_some((answer.status, there.json()))
    });
    let (status, there) = made.expect("the job is with the other server");
    assert_eq!(status, 201);
    assert_eq!(site.get(&format!("{jobs}/j")).json()["metadata"]["uid"], there["metadata"]["uid"]);
    assert_eq!(site.get(&format!("{jobs}/nothing")).json()["reason"], "NotFound");

    // Beyond the streams of one connection.
    let mut watches: Vec<Connection> = (0..130)
        .map(|_| {
            let mut watch = Connection::plain(&site.server);
            assert_eq!(watch.watch("/apis/batch/v1/jobs?watch=1").unwrap().status, 200);
            assert!(watch.line().unwrap().unwrap().contains(r#""type":"ADDED""#));
            watch
        })
        .collect();
    assert_eq!(site.get(jobs).status, 200);
    let patch = br#"{"metadata":{"labels":{"a":"b"}}}"#;
    assert_eq!(site.connect().request("PATCH", &format!("{jobs}/j"), kind, patch).unwrap().status, 200);
    for watch in &mut watches {
        assert!(watch.line().unwrap().unwrap().contains(r#""type":"MODIFIED""#));
    }
}
