//! Pods, as a ReplicaSet makes them.

use super::{ANNOTATION, sequence};

/// Nodes that the pods are on.
const NODES: u64 = 100;

const APPS: [&str; 8] = ["cart", "shop", "user", "mail", "auth", "data", "page", "feed"];
const TIERS: [&str; 3] = ["front", "cache", "store"];

/// Whose pods they are.
const OWNER: &str = concat!(
    r#","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b8c9f6d","#,
    r#""uid":"0b8c3c1e-6f0a-4b6e-9d1f-2f6b3c7f5a11","controller":true,"blockOwnerDeletion":true}]"#
);

/// A pod of two containers; the padding is the value of a variable. `bound`: it is on a node, without a token, and has
/// what admission would fill in. Else it is as a ReplicaSet posts it.
pub(super) fn pod(name: &str, namespace: &str, number: u64, padding: &str, bound: bool) -> String {
    let (owner, place, tolerations) = if bound {
        let place = format!(
            concat!(
                r#""nodeName":"node-{:03}","serviceAccountName":"default","#,
                r#""automountServiceAccountToken":false,"#
            ),
            number % NODES
        );
        let toleration = |taint: &str| {
            format!(
                concat!(
                    r#"{{"key":"node.kubernetes.io/{}","operator":"Exists","effect":"NoExecute","#,
                    r#""tolerationSeconds":300}}"#
                ),
                taint
            )
        };
        let tolerations =
            format!(r#","tolerations":[{},{}]"#, toleration("not-ready"), toleration("unreachable"));
        ("", place, tolerations)
    } else {
        (OWNER, String::new(), String::new())
    };
    let of = |values: &[&'static str], number: u64| values[(number % values.len() as u64) as usize];
    format!(
        concat!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"{namespace}","#,
            r#""labels":{{"app":"{app}","tier":"{tier}","pod-template-hash":"7d4b8c9f6d"}},"#,
            r#""annotations":{{"{annotation}":"{sequence}","prometheus.io/scrape":"true","prometheus.io/port":"8080"}}{owner}}},"#,
            r#""spec":{{{place}"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","#,
            r#""schedulerName":"default-scheduler","securityContext":{{"runAsNonRoot":true,"runAsUser":1000}},"#,
            r#""containers":[{{"name":"main","image":"registry.example.com/{app}/{tier}:v1.2.3","#,
            r#""imagePullPolicy":"IfNotPresent","args":["--listen=:8080","--log-level=info"],"#,
            r#""ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"#,
            r#""env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},"#,
            r#"{{"name":"MODE","value":"production"}},{{"name":"PADDING","value":"{padding}"}}],"#,
            r#""resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"cpu":"1","memory":"512Mi"}}}},"#,
            r#""livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"periodSeconds":10,"#,
            r#""timeoutSeconds":1,"successThreshold":1,"failureThreshold":3}},"#,
            r#""volumeMounts":[{{"name":"config","mountPath":"/etc/config","readOnly":true}},"#,
            r#"{{"name":"scratch","mountPath":"/scratch"}}]}},"#,
            r#"{{"name":"proxy","image":"registry.example.com/mesh/proxy:v4.5.6","imagePullPolicy":"IfNotPresent","#,
            r#""ports":[{{"name":"mesh","containerPort":15001,"protocol":"TCP"}}],"#,
            r#""resources":{{"requests":{{"cpu":"10m","memory":"32Mi"}}}},"#,
            r#""volumeMounts":[{{"name":"scratch","mountPath":"/scratch"}}]}}],"#,
            r#""volumes":[{{"name":"config","configMap":{{"name":"{app}-config","defaultMode":420}}}},"#,
            r#"{{"name":"scratch","emptyDir":{{}}}}]{tolerations}}}}}"#
        ),
        name = name,
        namespace = namespace,
        app = of(&APPS, number),
        tier = of(&TIERS, number / 8),
        annotation = ANNOTATION,
        sequence = sequence::first(),
        owner = owner,
        place = place,
        tolerations = tolerations,
        padding = padding
    )
}

/// A status as a kubelet writes it; the value that changes is a condition's message.
pub(super) fn status_patch() -> Vec<u8> {
    let condition = |kind: &str, message: &str| {
        format!(
            concat!(
                r#"{{"type":"{}","status":"True","lastProbeTime":null,"#,
                r#""lastTransitionTime":"2026-01-01T00:00:00Z"{}}}"#
            ),
            kind, message
        )
    };
    let message = format!(r#","message":"{}""#, sequence::first_status());
    let conditions = [
        condition("PodScheduled", ""),
        condition("Initialized", ""),
        condition("ContainersReady", ""),
        condition("Ready", &message),
    ]
    .join(",");
    let container = |name: &str, image: &str| {
        format!(
            concat!(
                r#"{{"name":"{}","image":"{}","imageID":"{}@sha256:3f1a","ready":true,"started":true,"restartCount":0,"#,
                r#""state":{{"running":{{"startedAt":"2026-01-01T00:00:00Z"}}}},"lastState":{{}}}}"#
            ),
            name, image, image
        )
    };
    let containers = [
        container("main", "registry.example.com/shop/front:v1.2.3"),
        container("proxy", "registry.example.com/mesh/proxy:v4.5.6"),
    ]
    .join(",");
    format!(
        concat!(
            r#"{{"status":{{"phase":"Running","#,
            r#""startTime":"2026-01-01T00:00:00Z","hostIP":"192.0.2.10","hostIPs":[{{"ip":"192.0.2.10"}}],"#,
            r#""podIP":"198.51.100.7","podIPs":[{{"ip":"198.51.100.7"}}],"conditions":[{}],"#,
            r#""containerStatuses":[{}]}}}}"#
        ),
        conditions, containers
    )
    .into_bytes()
}
