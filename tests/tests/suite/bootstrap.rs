//! What every cluster has from its start, and the addresses of services.

use std::time::Duration;

use ringbolt_tests::{http1::Connection, server::Server, wait_for};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);
const SERVICES: &str = "/api/v1/namespaces/default/services";
const SYSTEM_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
const IP_ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";

/// Status and body of a GET.
fn get(server: &Server, path: &str) -> (u16, Value) {
    let answer = Connection::plain(server).get(path).unwrap();
    (answer.status, answer.json())
}

fn delete(server: &Server, path: &str) {
    let answer = Connection::plain(server).request("DELETE", path, "application/json", b"").unwrap();
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
}

fn create_service(server: &Server, name: &str, spec: &Value) -> (u16, Value) {
    let object = json!({"metadata": {"name": name}, "spec": spec});
    let answer = Connection::plain(server).post(SERVICES, &object).unwrap();
    (answer.status, answer.json())
}

#[test]
fn a_fresh_cluster() {
    let flags = ["--service-cluster-ip-range=10.7.0.0/24", "--embedded-controllers="];
    let mut server = Server::start("fresh", &flags);
    let mut uids = Vec::new();
    for _ in 0..2 {
        let found = |path: &str| {
            let (status, object) = get(&server, path);
            assert_eq!(status, 200, "{path}: {object}");
            object
        };
        for namespace in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            found(&format!("/api/v1/namespaces/{namespace}"));
        }
        for (class, value) in
            [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
        {
            assert_eq!(found(&format!("/apis/scheduling.k8s.io/v1/priorityclasses/{class}"))["value"], value);
        }
        let service = found(&format!("{SERVICES}/kubernetes"));
        assert_eq!(service["spec"]["clusterIPs"], json!(["10.7.0.1"]));
        assert_eq!(service["spec"]["ports"][0]["targetPort"], server.port);
        let address = found(&format!("{IP_ADDRESSES}/10.7.0.1"));
        assert_eq!(address["spec"]["parentRef"]["name"], "kubernetes");
        let cidr = found("/apis/networking.k8s.io/v1/servicecidrs/kubernetes");
        assert_eq!(cidr["spec"]["cidrs"], json!(["10.7.0.0/24"]));
        assert_eq!(cidr["status"]["conditions"][0]["status"], "True");
        let trust = found(&format!("{SYSTEM_MAPS}/extension-apiserver-authentication"));
        let authority = std::fs::read_to_string(server.data.join("pki/ca.crt")).unwrap();
        let published = trust["data"]["client-ca-file"].as_str().unwrap_or_default();
        assert_eq!(published, authority.replace("\r\n", "\n"));
        let tracking = found(&format!("{SYSTEM_MAPS}/kube-apiserver-legacy-service-account-token-tracking"));
        assert_eq!(tracking["data"]["since"].as_str().map(str::len), Some("2026-01-01".len()), "{tracking}");
        // Nobody else finds a server that is advertised at a loopback address.
        assert_eq!(get(&server, "/api/v1/namespaces/default/endpoints/kubernetes").0, 404);
        uids.push([&service, &address, &cidr, &trust, &tracking].map(|o| o["metadata"]["uid"].clone()));
        server.kill();
        server.spawn();
    }
    assert_eq!(uids[0], uids[1], "a second start makes nothing anew");
}

/// What others wrote into the two ConfigMaps stays as far as it may, and is mended where it may not.
#[test]
fn config_maps_about_the_server() {
    let mut server = Server::start("config-maps", &["--embedded-controllers="]);
    let trust = format!("{SYSTEM_MAPS}/extension-apiserver-authentication");
    let tracking = format!("{SYSTEM_MAPS}/kube-apiserver-legacy-service-account-token-tracking");
    let ours = get(&server, &trust).1["data"]["client-ca-file"].as_str().unwrap().to_owned();
    let other = rcgen::CertificateParams::new(Vec::new()).unwrap();
    let other = other.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem().replace("\r\n", "\n");
    let merge = |server: &Server, path: &str, data: &Value| {
        let body = json!({ "data": data }).to_string();
        let kind = "application/merge-patch+json";
        let answer = Connection::plain(server).request("PATCH", path, kind, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    };
    let restart = |server: &mut Server| {
        server.kill();
        server.spawn();
    };
    merge(&server, &trust, &json!({"client-ca-file": other, "more": "x"}));
    merge(&server, &tracking, &json!({"since": "yesterday"}));
    restart(&mut server);
    let data = get(&server, &trust).1["data"].clone();
    assert_eq!(data, json!({"client-ca-file": format!("{other}{ours}")}), "keys of nobody go");
    let since = get(&server, &tracking).1["data"]["since"].clone();
    assert!(since.as_str().is_some_and(|s| s.starts_with("20")), "{since}");

    // A date of before stays, and what is no certificate keeps no server from its start.
    merge(&server, &trust, &json!({"client-ca-file": "-----BEGIN CERTIFICATE-----\nx\n"}));
    merge(&server, &tracking, &json!({"since": "2020-02-29"}));
    restart(&mut server);
    assert_eq!(get(&server, &tracking).1["data"]["since"], "2020-02-29");
    // What is taken away comes back.
    delete(&server, &trust);
    let back = wait_for(PATIENCE, || Some(get(&server, &trust)).filter(|(status, _)| *status == 200));
    assert_eq!(back.unwrap().1["data"], json!({"client-ca-file": ours}));
}

#[test]
fn endpoints_of_the_service_kubernetes() {
    let server = Server::start("endpoints", &["--advertise-address=192.0.2.7"]);
    let (status, endpoints) = get(&server, "/api/v1/namespaces/default/endpoints/kubernetes");
    assert_eq!(status, 200, "{endpoints}");
    assert_eq!(endpoints["subsets"][0]["addresses"], json!([{"ip": "192.0.2.7"}]));
    assert_eq!(endpoints["subsets"][0]["ports"][0]["port"], server.port);
    let (status, slice) =
        get(&server, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");
    assert_eq!(status, 200, "{slice}");
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["192.0.2.7"]));
    let none =
        Server::start("no-endpoints", &["--advertise-address=192.0.2.7", "--endpoint-reconciler-type=none"]);
    assert_eq!(get(&none, "/api/v1/namespaces/default/endpoints/kubernetes").0, 404);
    assert_eq!(get(&none, &format!("{SERVICES}/kubernetes")).0, 200);
}

#[test]
fn addresses_come_and_go_with_services() {
    let flags = ["--service-cluster-ip-range=10.7.0.0/24", "--embedded-controllers="];
    let server = Server::start("addresses", &flags);
    let ports = json!([{"port": 80}]);
    let address = format!("{IP_ADDRESSES}/10.7.0.9");
    let ask = json!({"clusterIP": "10.7.0.9", "ports": ports});
    let (status, service) = create_service(&server, "one", &ask);
    assert_eq!(status, 201, "{service}");
    // It is there before the service is.
    assert_eq!(get(&server, &address).1["spec"]["parentRef"]["name"], "one");
    let (status, refused) = create_service(&server, "two", &ask);
    assert_eq!(status, 422, "{refused}");
    // Nothing is left of a create that found its name taken.
    let (status, refused) =
        create_service(&server, "one", &json!({"clusterIP": "10.7.0.10", "ports": ports}));
    assert_eq!(status, 409, "{refused}");
    assert_eq!(get(&server, &format!("{IP_ADDRESSES}/10.7.0.10")).0, 404);
    // Whoever deletes it is undone.
    let uid = get(&server, &address).1["metadata"]["uid"].clone();
    delete(&server, &address);
    let back = wait_for(PATIENCE, || {
        let (status, object) = get(&server, &address);
        (status == 200 && object["metadata"]["uid"] != uid).then_some(())
    });
    assert!(back.is_some(), "the address comes back");
    // The next service may have it at once, and it is gone with the last.
    delete(&server, &format!("{SERVICES}/one"));
    let (status, service) = create_service(&server, "two", &ask);
    assert_eq!(status, 201, "{service}");
    let renamed =
        wait_for(PATIENCE, || (get(&server, &address).1["spec"]["parentRef"]["name"] == "two").then_some(()));
    assert!(renamed.is_some(), "the address is the other service's");
    delete(&server, &format!("{SERVICES}/two"));
    assert!(wait_for(PATIENCE, || (get(&server, &address).0 == 404).then_some(())).is_some());
}

#[test]
fn node_ports_are_of_the_range() {
    let flags = ["--service-node-port-range=31000-31001", "--kubernetes-service-node-port=31001"];
    let server = Server::start("node-ports", &flags);
    let (_, service) = get(&server, &format!("{SERVICES}/kubernetes"));
    assert_eq!(
        (&service["spec"]["type"], &service["spec"]["ports"][0]["nodePort"]),
        (&json!("NodePort"), &json!(31001))
    );
    let ask = |name: &str, port: Value| {
        create_service(&server, name, &json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}))
    };
    let (status, refused) = ask("outside", json!(30000));
    assert_eq!(status, 422, "{refused}");
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("The range of valid ports is 31000-31001"), "{message}");
    assert_eq!(ask("last", Value::Null).1["spec"]["ports"][0]["nodePort"], 31000);
    let (status, full) = ask("full", Value::Null);
    assert_eq!(status, 422, "{full}");
    assert!(full["message"].as_str().is_some_and(|m| m.ends_with("range is full")), "{full}");
}
