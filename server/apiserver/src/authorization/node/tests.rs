//! Decisions on the requests of kubelets, with their reasons.

use super::{graph::Graph, *};

/// Pod `p` of `ns` runs on `n` with a secret, a config map, a claim with a volume that has a secret, an account and a
/// claim of devices.
fn authorizer() -> NodeAuthorizer {
    let mut graph = Graph::default();
    let references = [
        (Kind::Secret, "s"),
        (Kind::ConfigMap, "c"),
        (Kind::PersistentVolumeClaim, "d"),
        (Kind::ServiceAccount, "a"),
        (Kind::ResourceClaim, "r"),
    ]
    .map(|(kind, name)| (kind, "ns", name.into()));
    graph.put_pod(("ns", "p"), "n", &references.to_vec(), false);
    graph.put_volume("v", ("ns", "d"), &vec![(Kind::Secret, "sys", "key".into())]);
    graph.set_node(Kind::VolumeAttachment, "", "va", Some("n"));
    graph.set_node(Kind::ResourceSlice, "", "rs", Some("n"));
    graph.set_node(Kind::PodCertificateRequest, "ns", "pcr", Some("n"));
    let reach = graph.take_changed().expect("something was put in");
    NodeAuthorizer { reach: Arc::new(ArcSwap::from_pointee(reach)) }
}

/// Asks as a user; the reason against it, or `allowed`.
fn ask(user: &str, groups: &[&str], request: &str) -> String {
    let groups = groups.iter().map(|g| (*g).to_owned()).collect();
    let user = UserInfo { name: user.to_owned(), groups, ..UserInfo::default() };
    let (method, target) = request.split_once(' ').expect("method and target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let info = RequestInfo::new(method, path, query).expect("a well-formed path");
    match authorizer().opinion(&user, info.verb.as_str(), &info) {
        Ok(()) => "allowed".to_owned(),
        Err(reason) => reason.into_owned(),
    }
}

fn check(request: &str, expect: &str) {
    assert_eq!(ask("system:node:n", &["system:nodes"], request), expect, "{request}");
}

const ALLOWED: &str = "allowed";
const UNRELATED: &str = "no relationship found between node 'n' and this object";

#[test]
fn who_is_a_node() {
    let node = |name: &str, groups: &[&str], expect: &str| {
        assert_eq!(ask(name, groups, "GET /api/v1/namespaces/ns/secrets/s"), expect, "{name}");
    };
    node("system:node:n", &["system:nodes"], ALLOWED);
    node("system:node:m", &["system:nodes"], "no relationship found between node 'm' and this object");
    node("system:node:n", &[], "");
    node("n", &["system:nodes"], "");
    node("system:node:", &["system:nodes"], r#"unknown node for user "system:node:""#);
}

#[test]
fn what_pods_refer_to() {
    check("GET /api/v1/namespaces/ns/secrets/s", ALLOWED);
    check("GET /api/v1/namespaces/ns/secrets?fieldSelector=metadata.name=s", ALLOWED);
    check("GET /api/v1/namespaces/ns/secrets?watch=1&fieldSelector=metadata.name=s", ALLOWED);
    check("GET /api/v1/namespaces/sys/secrets/key", ALLOWED);
    check("GET /api/v1/namespaces/ns/secrets/key", UNRELATED);
    check("GET /api/v1/namespaces/ns/secrets", "No Object name found");
    check("GET /api/v1/secrets", "can only read namespaced object of this type");
    check("GET /api/v1/namespaces/ns/secrets/s/x", "cannot read subresource");
    for method in ["PUT", "PATCH", "DELETE"] {
        check(&format!("{method} /api/v1/namespaces/ns/secrets/s"), "can only read resources of this type");
    }
    check("POST /api/v1/namespaces/ns/secrets", "can only read resources of this type");
    check("GET /api/v1/namespaces/ns/configmaps/c", ALLOWED);
    check("GET /api/v1/namespaces/ns/configmaps/s", UNRELATED);
    check("GET /apis/x/v1/namespaces/ns/secrets/s", "");
}

#[test]
fn volumes_and_claims() {
    check("GET /api/v1/namespaces/ns/persistentvolumeclaims/d", ALLOWED);
    check("GET /api/v1/namespaces/ns/persistentvolumeclaims/x", UNRELATED);
    check(
        "GET /api/v1/namespaces/ns/persistentvolumeclaims",
        "can only get individual resources of this type",
    );
    check(
        "PATCH /api/v1/namespaces/ns/persistentvolumeclaims/d",
        "can only get individual resources of this type",
    );
    check("PATCH /api/v1/namespaces/ns/persistentvolumeclaims/d/status", ALLOWED);
    check("PUT /api/v1/namespaces/ns/persistentvolumeclaims/x/status", UNRELATED);
    check("GET /api/v1/namespaces/ns/persistentvolumeclaims/d/status", "can only get/update/patch this type");
    check("GET /api/v1/namespaces/ns/persistentvolumeclaims/d/x", "cannot get subresource");
    check("GET /api/v1/persistentvolumes/v", ALLOWED);
    check("GET /api/v1/persistentvolumes/w", UNRELATED);
    check("GET /apis/storage.k8s.io/v1/volumeattachments/va", ALLOWED);
    check("GET /apis/storage.k8s.io/v1/volumeattachments/x", UNRELATED);
    check("GET /apis/storage.k8s.io/v1/volumeattachments", "can only get individual resources of this type");
    check("GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/r", ALLOWED);
    check("GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/x", UNRELATED);
}

#[test]
fn accounts() {
    let account = "/api/v1/namespaces/ns/serviceaccounts";
    check(&format!("GET {account}/a"), ALLOWED);
    check(&format!("GET {account}/x"), UNRELATED);
    check(&format!("POST {account}/a/token"), ALLOWED);
    check(&format!("POST {account}/x/token"), UNRELATED);
    check(&format!("POST {account}/a/x"), "can only create token subresource of serviceaccount");
    for request in [format!("POST {account}"), format!("GET {account}"), format!("PUT {account}/a")] {
        check(&request, "can only create tokens for individual service accounts");
    }
}

#[test]
fn leases_and_csi_nodes() {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    for request in ["GET", "PUT", "PATCH", "DELETE"] {
        check(&format!("{request} {leases}/n"), ALLOWED);
        check(
            &format!("{request} {leases}/m"),
            "can only access node lease with the same name as the requesting node",
        );
    }
    check(&format!("POST {leases}"), ALLOWED);
    check(&format!("GET {leases}"), "can only get, create, update, patch, or delete a node lease");
    check(
        "GET /apis/coordination.k8s.io/v1/namespaces/ns/leases/n",
        r#"can only access leases in the "kube-node-lease" system namespace"#,
    );
    let nodes = "/apis/storage.k8s.io/v1/csinodes";
    check(&format!("GET {nodes}/n"), ALLOWED);
    check(&format!("POST {nodes}"), ALLOWED);
    check(&format!("GET {nodes}/m"), "can only access CSINode with the same name as the requesting node");
    check(&format!("GET {nodes}"), "can only get, create, update, patch, or delete a CSINode");
    check(&format!("PATCH {nodes}/n/status"), "CSINode status access requires CSIVolumeHealth feature");
    check(&format!("GET {nodes}/n/x"), "cannot authorize CSINode subresources");
}

#[test]
fn slices_and_requests() {
    let slices = "/apis/resource.k8s.io/v1/resourceslices";
    check(&format!("POST {slices}"), ALLOWED);
    check(&format!("DELETE {slices}/rs"), ALLOWED);
    check(&format!("GET {slices}/x"), UNRELATED);
    let only = "can only list/watch/deletecollection resourceslices with nodeName field selector";
    for method in ["GET", "DELETE"] {
        check(&format!("{method} {slices}?fieldSelector=spec.nodeName=n"), ALLOWED);
        check(&format!("{method} {slices}?fieldSelector=spec.nodeName=m"), only);
        check(&format!("{method} {slices}"), only);
    }
    check(&format!("GET {slices}/rs/x"), "cannot authorize ResourceSlice subresources");
    let requests = "/apis/certificates.k8s.io/v1/namespaces/ns/podcertificaterequests";
    check(&format!("POST {requests}"), ALLOWED);
    check(&format!("GET {requests}/pcr"), ALLOWED);
    check(&format!("GET {requests}/x"), UNRELATED);
    check(&format!("GET {requests}?fieldSelector=spec.nodeName=n"), ALLOWED);
    check(
        &format!("GET {requests}?watch=1"),
        "can only list/watch podcertificaterequests with nodeName field selector",
    );
    check(&format!("DELETE {requests}/pcr"), "nodes may not delete podcertificaterequests");
    check(&format!("DELETE {requests}"), "nodes may not deletecollection podcertificaterequests");
    check(
        &format!("PATCH {requests}/pcr/status"),
        "nodes may not access the status subresource of PodCertificateRequests",
    );
}

#[test]
fn nodes_and_pods() {
    check("GET /api/v1/nodes/n", ALLOWED);
    check("GET /api/v1/nodes?fieldSelector=metadata.name=n", ALLOWED);
    check("GET /api/v1/nodes/m", "node 'n' cannot read 'm', only its own Node object");
    check("GET /api/v1/nodes", "node 'n' cannot read all nodes, only its own Node object");
    for allowed in ["POST /api/v1/nodes", "PATCH /api/v1/nodes/m", "PATCH /api/v1/nodes/n/status"] {
        check(allowed, ALLOWED);
    }
    for refused in ["DELETE /api/v1/nodes/n", "GET /api/v1/nodes/n/status", "GET /api/v1/nodes/n/proxy"] {
        check(refused, "");
    }
    check("GET /api/v1/namespaces/ns/pods/p", ALLOWED);
    check("GET /api/v1/namespaces/ns/pods/x", UNRELATED);
    check("GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn", ALLOWED);
    check(
        "GET /api/v1/namespaces/ns/pods?watch=1&fieldSelector=spec.nodeName%3Dn,status.phase%3DRunning",
        ALLOWED,
    );
    check("GET /api/v1/namespaces/ns/pods?fieldSelector=metadata.name=p", ALLOWED);
    check("GET /api/v1/namespaces/ns/pods?fieldSelector=metadata.name=x", UNRELATED);
    let only = "can only list/watch pods with spec.nodeName field selector";
    for query in ["", "?fieldSelector=spec.nodeName%3Dm", "?fieldSelector=spec.nodeName!%3Dn", "?watch=1"] {
        check(&format!("GET /api/v1/pods{query}"), only);
    }
    let pods = "/api/v1/namespaces/ns/pods";
    for allowed in ["POST {}", "DELETE {}/p", "PATCH {}/x/status", "PUT {}/x/status", "POST {}/x/eviction"] {
        check(&allowed.replace("{}", pods), ALLOWED);
    }
    for refused in
        ["PUT {}/p", "PATCH {}/p", "DELETE {}", "GET {}/p/status", "GET {}/p/log", "POST {}/p/binding"]
    {
        check(&refused.replace("{}", pods), "");
    }
}

#[test]
fn the_same_for_every_node() {
    for allowed in [
        "GET /api/v1/services",
        "GET /api/v1/namespaces/ns/services/x?watch=1",
        "GET /api/v1/namespaces/ns/endpoints/x",
        "POST /api/v1/namespaces/ns/events",
        "PATCH /apis/events.k8s.io/v1/namespaces/ns/events/x",
        "POST /apis/certificates.k8s.io/v1/certificatesigningrequests",
        "GET /apis/certificates.k8s.io/v1/certificatesigningrequests/x",
        "GET /apis/certificates.k8s.io/v1/clustertrustbundles",
        "GET /apis/storage.k8s.io/v1/csidrivers",
        "GET /apis/node.k8s.io/v1/runtimeclasses/x",
        "POST /apis/authentication.k8s.io/v1/tokenreviews",
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
        "POST /apis/authorization.k8s.io/v1/namespaces/ns/localsubjectaccessreviews",
    ] {
        check(allowed, ALLOWED);
    }
    for refused in [
        "GET /api/v1/namespaces/ns/endpoints",
        "GET /api/v1/namespaces/ns/events",
        "DELETE /apis/certificates.k8s.io/v1/certificatesigningrequests/x",
        "PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval",
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "GET /apis/apps/v1/deployments",
        "GET /healthz",
    ] {
        check(refused, "");
    }
}
