//! Controllers of objects that are no pods: nodes, namespaces, accounts, certificates, volumes, quotas, roles.

use super::*;

/// The taint of a node that nobody has called ready yet.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The nodes are ready, which takes the taints off that they were admitted with.
pub(super) fn nodes(user: &User) {
    user.wait("nodes", "all ready", |nodes| {
        let tainted = |n: &Value| {
            n["spec"]["taints"].as_array().is_some_and(|t| t.iter().any(|t| t["key"] == NOT_READY))
        };
        items(nodes).len() == NODES && items(nodes).iter().all(|n| is(n, "Ready") && !tainted(n))
    });
    // Of the TTL controller, for kubelets.
    user.wait("nodes", "with a TTL", |nodes| {
        items(nodes).iter().all(|n| n["metadata"]["annotations"]["node.alpha.kubernetes.io/ttl"] == "0")
    });
}

/// The namespace of the test, and what appears in it.
pub(super) fn namespace(user: &User) {
    user.kubectl.ok(&format!("create namespace {}", user.namespace));
    user.wait("serviceaccount/default", "there", |_| true);
    user.wait("configmap/kube-root-ca.crt", "filled", |m| {
        m["data"]["ca.crt"].as_str().is_some_and(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----"))
    });
}

/// Objects whose controllers work while others are looked at.
pub(super) fn begin(user: &User) {
    let namespace = &user.namespace;
    user.apply(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": "robot", "annotations": {"kubernetes.io/service-account.name": "default"},
        },
        "type": "kubernetes.io/service-account-token",
    }));
    user.apply(&json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": namespace,
            "hostPath": {"path": "/nowhere"}, "persistentVolumeReclaimPolicy": "Retain",
        },
    }));
    user.apply(&json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": namespace,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }));
    user.kubectl.ok("create quota few --hard=pods=500,configmaps=20");
    // A Service without a selector, whose endpoints somebody else keeps: they are mirrored.
    user.apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "outside"}, "spec": {"ports": [{"port": 80}]},
    }));
    user.apply(&json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "outside"},
        "subsets": [{"addresses": [{"ip": "192.0.2.7"}], "ports": [{"port": 8080}]}],
    }));
    user.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": namespace}, "rules": [],
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part-of": namespace}}]},
    }));
    user.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("{namespace}-part"), "labels": {"part-of": namespace}},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }));
    // There is nobody to ask for metrics; the controller says so in a condition.
    user.apply(&json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "idle"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "idle"}},
            "template": {
                "metadata": {"labels": {"app": "idle"}},
                "spec": {"containers": [{
                    "name": "main", "image": "idle", "resources": {"requests": {"cpu": "10m"}},
                }]},
            },
        },
    }));
    user.kubectl.ok("autoscale replicaset idle --min=2 --max=4 --cpu=50%");
    certificate(user);
}

fn certificate(user: &User) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "jane");
    let request = parameters.serialize_request(&key).unwrap().pem().unwrap();
    user.apply(&json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": user.namespace},
        "spec": {
            "request": base64::Engine::encode(&base64::prelude::BASE64_STANDARD, request),
            "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        },
    }));
    user.kubectl.ok(&format!("certificate approve {}", user.namespace));
}

/// Looks at what [`begin`] began.
pub(super) fn end(user: &User) {
    let namespace = &user.namespace;
    let secret = user.wait("secret/robot", "filled", |s| s["data"]["token"].is_string());
    let plain = |field: &str| {
        let text = secret["data"][field].as_str().unwrap_or_else(|| panic!("{field}: {secret}"));
        String::from_utf8(base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text).unwrap()).unwrap()
    };
    assert_eq!(plain("namespace"), *namespace);
    assert!(plain("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"), "{secret}");
    // What kube-controller-manager signed is a token to the server.
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": plain("token")},
    });
    let review = user.kubectl.fed("create -f - -o json --validate=false", &review.to_string());
    let review: Value = serde_json::from_str(&review).unwrap();
    let account = format!("system:serviceaccount:{namespace}:default");
    assert_eq!(review["status"]["user"]["username"], account, "{review}");

    user.wait(&format!("certificatesigningrequest/{namespace}"), "issued", |r| {
        r["status"]["certificate"].is_string()
    });
    user.wait("persistentvolumeclaim/disk", "bound", |c| c["status"]["phase"] == "Bound");
    user.wait(&format!("persistentvolume/{namespace}"), "bound", |v| {
        v["status"]["phase"] == "Bound" && v["spec"]["claimRef"]["name"] == "disk"
    });
    let pods = items(&user.kubectl.json("pods --field-selector=status.phase=Running")).len().to_string();
    user.wait("resourcequota/few", "counted", |q| {
        q["status"]["used"]["configmaps"] == "1" && q["status"]["used"]["pods"] == pods
    });
    let mirrored = user.wait_count("endpointslices -l kubernetes.io/service-name=outside", 1);
    assert_eq!(mirrored[0]["endpoints"][0]["addresses"], json!(["192.0.2.7"]));
    user.wait(&format!("clusterrole/{namespace}"), "aggregated", |r| {
        r["rules"][0]["resources"] == json!(["pods"])
    });
    let scaler = user.wait("hpa/idle", "looked at", |h| h["status"]["conditions"].is_array());
    assert!(is(&scaler, "AbleToScale") && !is(&scaler, "ScalingActive"), "{scaler}");
    user.wait("replicaset/idle", "of two", |s| s["status"]["readyReplicas"] == 2);
    user.wait("servicecidr/kubernetes", "ready", |s| is(s, "Ready"));
}

/// The namespace goes with all that is in it, and what is outside notices.
pub(super) fn namespace_goes(user: &User) {
    let (kubectl, namespace) = (&user.kubectl, &user.namespace);
    let left = items(&kubectl.json("pods")).len();
    assert!(left > 0, "there is something to go");
    kubectl.ok(&format!("delete namespace {namespace} --timeout=50s"));
    for resource in kubectl.ok("api-resources --namespaced --verbs=list,delete -o name").split_whitespace() {
        let list = kubectl.json(resource);
        assert_eq!(items(&list).len(), 0, "{list}");
    }
    user.wait(&format!("persistentvolume/{namespace}"), "released", |v| v["status"]["phase"] == "Released");
    kubectl.ok(&format!("delete persistentvolume/{namespace} --timeout=20s"));
    kubectl.ok(&format!("delete clusterrole {namespace} {namespace}-part"));
    kubectl.ok(&format!("delete certificatesigningrequest {namespace}"));
}

/// The controllers are accounts of their own, which may do what their roles allow and no more.
pub(super) fn accounts(user: &User) {
    let kubectl = &user.kubectl;
    for (account, may, may_not) in [
        ("deployment-controller", "create replicasets.apps", "create pods"),
        ("replicaset-controller", "create pods", "create replicasets.apps"),
        ("job-controller", "update jobs.batch/status", "get secrets"),
    ] {
        user.wait(&format!("serviceaccount/{account} --namespace=kube-system"), "there", |_| true);
        let can = |what: &str| {
            let (verb, of) = what.split_once(' ').expect("a verb and a resource");
            let (of, subresource) = of.split_once('/').unwrap_or((of, ""));
            format!(
                "auth can-i {verb} {of} --subresource={subresource} --as=system:serviceaccount:kube-system:{account}"
            )
        };
        assert_eq!(kubectl.ok(&can(may)).trim(), "yes", "{account} {may}");
        kubectl.fails(&can(may_not), None);
    }
}

/// Who leads, and for the how-manieth time one took over.
pub(super) fn leaders(user: &User) -> Vec<(String, Value)> {
    let leader = |name: &str| {
        let lease = user.kubectl.json(&format!("lease/{name} --namespace=kube-system"));
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        assert!(!holder.is_empty(), "{lease}");
        (holder, lease["spec"]["leaseTransitions"].clone())
    };
    ["kube-controller-manager", "kube-scheduler"].map(leader).to_vec()
}
