//! Roles and bindings: those of every cluster, and who may write others.

use std::time::Duration;

use ringbolt_tests::{
    http1::{Connection, Response},
    server::Server,
    wait_for,
};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A request of the administrator, or of somebody whom the administrator stands in for.
fn ask(server: &Server, user: &str, method: &str, path: &str, kind: &str, body: &Value) -> Response {
    let mut connection = Connection::plain(server);
    let impersonated = if user.is_empty() { String::new() } else { format!("Impersonate-User: {user}\r\n") };
    let (head, body) = (Connection::head(method, path), body.to_string());
    let rest = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    connection.send(format!("{head}{impersonated}{rest}").as_bytes()).unwrap();
    connection.response(method).unwrap()
}

fn get(server: &Server, path: &str) -> Value {
    let answer = Connection::plain(server).get(path).unwrap();
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

/// Makes a change as administrator.
fn make(server: &Server, method: &str, path: &str, body: &Value) {
    let kind = if method == "PATCH" { MERGE } else { "application/json" };
    let answer = ask(server, "", method, path, kind, body);
    assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text());
}

/// Whether somebody may do something, as the server decides at this moment.
fn may(server: &Server, user: &str, verb: &str, group: &str, resource: &str) -> bool {
    let review = json!({"spec": {
        "user": user, "groups": ["system:authenticated"],
        "resourceAttributes": {"verb": verb, "group": group, "resource": resource},
    }});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = Connection::plain(server).post(path, &review).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["status"]["allowed"] == true
}

/// They are there and decided by when the server is ready; what somebody took away is there after a start, what somebody
/// added stays.
#[test]
fn of_every_cluster() {
    let mut server = Server::start("roles", &["--embedded-controllers="]);
    let all = |server: &Server| {
        ["clusterroles", "clusterrolebindings", "roles", "rolebindings"]
            .map(|resource| get(server, &format!("{RBAC}/{resource}"))["items"].as_array().unwrap().len())
    };
    assert!(may(&server, "system:kube-scheduler", "list", "", "pods"), "from the first moment on");
    let expect = [73, 54, 7, 7];
    assert_eq!(all(&server), expect);
    let role = format!("{RBAC}/clusterroles/system:kube-dns");
    let bindings = format!("{RBAC}/clusterrolebindings");
    let (binding, away) = (format!("{bindings}/system:kube-dns"), format!("{bindings}/system:monitoring"));
    assert_eq!(get(&server, &role)["metadata"]["managedFields"][0]["manager"], "kube-apiserver");

    let own = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
    make(&server, "PATCH", &role, &json!({"rules": [own]}));
    let alone = json!({"rbac.authorization.kubernetes.io/autoupdate": "false"});
    make(&server, "PATCH", &away, &json!({"metadata": {"annotations": alone}, "subjects": null}));
    make(&server, "DELETE", &binding, &json!({}));
    let view = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"});
    make(&server, "POST", &bindings, &json!({"metadata": {"name": "system:kube-dns"}, "roleRef": view}));
    let signer = format!("{RBAC}/namespaces/kube-public/roles/system:controller:bootstrap-signer");
    make(&server, "DELETE", &signer, &json!({}));
    server.kill();
    server.spawn();
    assert_eq!(all(&server), expect);
    let rules = get(&server, &role)["rules"].clone();
    assert_eq!((&rules[0], rules.as_array().unwrap().len()), (&own, 5), "{rules}");
    assert_eq!(get(&server, &binding)["roleRef"]["name"], "system:kube-dns");
    assert_eq!(get(&server, &away).get("subjects"), None, "it says that it does not follow");

    // What is as it should be is not written again.
    let version = get(&server, &role)["metadata"]["resourceVersion"].clone();
    server.kill();
    server.spawn();
    assert_eq!(get(&server, &role)["metadata"]["resourceVersion"], version);
    assert!(may(&server, "system:kube-scheduler", "list", "", "pods"));
}

#[test]
fn nobody_hands_out_what_they_do_not_hold() {
    let server = Server::start("escalation", &["--embedded-controllers="]);
    let (roles, bindings) = (format!("{RBAC}/clusterroles"), format!("{RBAC}/clusterrolebindings"));
    let rule = |verbs: &[&str], group: &str, resources: &[&str]| json!({"verbs": verbs, "apiGroups": [group], "resources": resources});
    let role = |name: &str, rules: &[Value]| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name}, "rules": rules})
    };
    let bind = |name: &str, role: &str| {
        json!({"metadata": {"name": name}, "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "alice"}]})
    };
    let writes = rule(&["create", "update", "patch"], GROUP, &["clusterroles", "clusterrolebindings"]);
    let (pods, secrets) = (rule(&["get"], "", &["pods"]), rule(&["get"], "", &["secrets"]));
    make(&server, "POST", &roles, &role("writer", &[writes, pods.clone()]));
    make(&server, "POST", &bindings, &bind("writer", "writer"));
    wait_for(PATIENCE, || may(&server, "alice", "patch", GROUP, "clusterroles").then_some(())).unwrap();

    let alice = |method: &str, path: &str, kind: &str, body: &Value| {
        let answer = ask(&server, "alice", method, path, kind, body);
        (answer.status, answer.json())
    };
    let json = "application/json";
    let refused = |name: &str, (code, answer): (u16, Value)| {
        let expect = format!(
            "clusterroles.rbac.authorization.k8s.io \"{name}\" is forbidden: user \"alice\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
             {{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}}"
        );
        assert_eq!((code, answer["message"].as_str().unwrap()), (403, expect.as_str()), "{answer}");
    };
    let (held, not_held) = (role("a", &[pods]), role("a", std::slice::from_ref(&secrets)));
    let a = format!("{roles}/a");
    refused("a", alice("POST", &roles, json, &not_held));
    refused("a", alice("PUT", &a, json, &not_held));
    refused("a", alice("PATCH", &format!("{a}?fieldManager=m"), APPLY, &not_held));
    assert_eq!(alice("POST", &roles, json, &held).0, 201);
    refused("a", alice("PUT", &a, json, &not_held));
    refused("a", alice("PATCH", &a, MERGE, &json!({"rules": [secrets]})));
    refused("a", alice("PATCH", &format!("{a}?fieldManager=m&force=true"), APPLY, &not_held));
    assert_eq!(alice("PATCH", &a, MERGE, &json!({"metadata": {"labels": {"x": "y"}}})).0, 200);

    // What others wrote may be collected, and nothing else.
    make(&server, "POST", &roles, &role("b", std::slice::from_ref(&secrets)));
    let b = format!("{roles}/b");
    assert_eq!(alice("PATCH", &b, MERGE, &json!({"metadata": {"finalizers": ["x/y"]}})).0, 200);
    refused("b", alice("PATCH", &b, MERGE, &json!({"metadata": {"labels": {"x": "y"}}})));
    // That comes before a version that is not the newest.
    let mut stale = not_held.clone();
    stale["metadata"]["resourceVersion"] = json!("1");
    refused("a", alice("PUT", &a, json, &stale));
    stale["rules"] = json!([]);
    assert_eq!(alice("PUT", &a, json, &stale).0, 409);

    assert_eq!(alice("POST", &bindings, json, &bind("c", "a")).0, 201);
    let (code, answer) = alice("POST", &bindings, json, &bind("d", "b"));
    assert_eq!((code, answer["details"]["kind"].as_str()), (403, Some("clusterrolebindings")), "{answer}");
    assert_eq!(alice("POST", &bindings, json, &bind("d", "none")).0, 404);

    // What was given a moment ago is held: the store is asked, not who follows it.
    make(&server, "POST", &bindings, &bind("now", "b"));
    assert_eq!(alice("PUT", &a, json, &not_held).0, 200);
    // Whoever may escalate need not hold anything, and is to be named.
    let free = json!({"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["clusterroles"],
        "resourceNames": ["free"]});
    make(&server, "PATCH", &b, &json!({"rules": [secrets, free], "metadata": {"finalizers": null}}));
    let escalates = || {
        (alice("PUT", &format!("{roles}/free"), json, &role("free", &[rule(&["*"], "*", &["*"])])).0 == 201)
            .then_some(())
    };
    wait_for(PATIENCE, escalates).unwrap();
    let everything = role("other", &[rule(&["*"], "*", &["*"])]);
    assert_eq!(alice("PUT", &format!("{roles}/other"), json, &everything).0, 403);
}

/// Who may update or patch does not create with it, neither by PUT nor by apply, dry or not.
#[test]
fn changing_is_not_creating() {
    let server = Server::start("create-on-update", &["--embedded-controllers="]);
    let (roles, bindings) = (format!("{RBAC}/clusterroles"), format!("{RBAC}/clusterrolebindings"));
    for (user, verbs) in [("changer", vec!["update", "patch"]), ("maker", vec!["create", "update", "patch"])]
    {
        let rule = json!({"verbs": verbs, "apiGroups": ["", "coordination.k8s.io"], "resources": ["configmaps", "leases"]});
        make(&server, "POST", &roles, &json!({"metadata": {"name": user}, "rules": [rule]}));
        let role = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": user});
        let subject = json!({"apiGroup": GROUP, "kind": "User", "name": user});
        let binding = json!({"metadata": {"name": user}, "roleRef": role, "subjects": [subject]});
        make(&server, "POST", &bindings, &binding);
        wait_for(PATIENCE, || may(&server, user, "patch", "", "configmaps").then_some(())).unwrap();
    }
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "new"}});
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/new";
    let configs = "/api/v1/namespaces/default/configmaps/new";
    for (method, path, kind, body, resource, group) in [
        ("PUT", leases, "application/json", &lease, "leases", "coordination.k8s.io"),
        ("PATCH", leases, APPLY, &lease, "leases", "coordination.k8s.io"),
        ("PATCH", configs, APPLY, &config, "configmaps", ""),
    ] {
        let qualified = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let expect = format!(
            "{qualified} \"new\" is forbidden: User \"changer\" cannot create resource \"{resource}\" in API group \
             \"{group}\" in the namespace \"default\""
        );
        for dry in ["&dryRun=All", ""] {
            let path = format!("{path}?fieldManager=m{dry}");
            let answer = ask(&server, "changer", method, &path, kind, body);
            assert_eq!((answer.status, answer.json()["message"].as_str()), (403, Some(&*expect)), "{path}");
        }
        let plain = Connection::plain(&server).get(path).unwrap();
        assert_eq!(plain.status, 404, "nothing was stored: {path}");
        let path = format!("{path}?fieldManager=m");
        assert_eq!(ask(&server, "maker", method, &path, kind, body).status, 201, "{path}");
        // What is there may be changed.
        let label = json!({"metadata": {"labels": {"x": "y"}}});
        assert_eq!(ask(&server, "changer", "PATCH", &path, MERGE, &label).status, 200, "{path}");
        make(&server, "DELETE", path.split('?').next().unwrap(), &json!({}));
    }
}
