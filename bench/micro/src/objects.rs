//! Objects of the sizes that the budgets speak of, with the content that clusters have.

/// Values without a pattern that compression or an interner could use, the same in every run.
fn letters(seed: u64, count: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b'a' + (state % 26) as u8)
        })
        .collect()
}

/// A ConfigMap of about 1 KiB with a few settings, as kubectl sends it.
pub(crate) fn config_map(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"default","labels":{{"app.kubernetes.io/name":"settings","tier":"backend"}}}},"data":{{"log.level":"info","listen.address":"0.0.0.0:8080","settings.json":"{{\"text\":\"{}\"}}"}}}}"#,
        letters(1, 620)
    )
}

/// A pod of about 4 KiB as a controller creates it: two containers with probes, resources, mounts and environment.
pub(crate) fn pod(name: &str) -> String {
    let containers: Vec<String> =
        ["server", "proxy"].iter().enumerate().map(|(n, c)| container(n, c)).collect();
    format!(
        concat!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"default","#,
            r#""labels":{{"app":"web","pod-template-hash":"6d4cf56db6","tier":"frontend"}},"#,
            r#""annotations":{{"kubernetes.io/config.seen":"2026-01-01T00:00:00Z","checksum/config":"{sum}"}},"#,
            r#""ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6d4cf56db6","#,
            r#""uid":"0b7e1a7e-8f1c-4d3e-9a55-0a1b2c3d4e5f","controller":true,"blockOwnerDeletion":true}}]}},"#,
            r#""spec":{{"volumes":[{{"name":"config","configMap":{{"name":"settings"}}}},{{"name":"scratch","#,
            r#""emptyDir":{{}}}}],"containers":[{containers}],"nodeName":"node-007","serviceAccountName":"web","#,
            r#""automountServiceAccountToken":false,"priority":0,"terminationGracePeriodSeconds":30,"#,
            r#""tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","#,
            r#""tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","#,
            r#""effect":"NoExecute","tolerationSeconds":300}}],"affinity":{{"podAntiAffinity":{{"#,
            r#""preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":100,"podAffinityTerm":{{"#,
            r#""labelSelector":{{"matchLabels":{{"app":"web"}}}},"topologyKey":"kubernetes.io/hostname"}}}}]}}}}}}}}"#
        ),
        name = name,
        sum = letters(3, 64),
        containers = containers.join(",")
    )
}

/// The same as a ReplicaSet makes it: on no node, and with nothing of what admission fills in.
pub(crate) fn new_pod(name: &str) -> String {
    let text = pod(name);
    let (head, tail) = text.split_once(r#""nodeName""#).expect("the pod is on a node");
    let (_, tail) =
        tail.split_once(r#""terminationGracePeriodSeconds""#).expect("it says how long it may take");
    let (tail, _) = tail.split_once(r#","tolerations""#).expect("it tolerates");
    format!(r#"{head}"terminationGracePeriodSeconds"{tail}}}}}"#)
}

/// The status of a pod that runs, with `message` in it, as a kubelet writes it.
pub(crate) fn pod_status(message: &str) -> String {
    let condition = |kind: &str, message: &str| {
        format!(r#"{{"type":"{kind}","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"{message}}}"#)
    };
    let conditions =
        ["PodScheduled", "Initialized", "ContainersReady"].map(|kind| condition(kind, "")).join(",");
    let ready = condition("Ready", &format!(r#","message":"{message}""#));
    let containers = ["server", "proxy"].map(|name| {
        format!(
            concat!(
                r#"{{"name":"{}","image":"registry.example.com/team/{}:v1.27.3","imageID":"{}","ready":true,"#,
                r#""started":true,"restartCount":0,"state":{{"running":{{"startedAt":"2026-01-01T00:00:00Z"}}}},"#,
                r#""lastState":{{}}}}"#
            ),
            name,
            name,
            letters(7, 64)
        )
    });
    format!(
        concat!(
            r#""status":{{"phase":"Running","startTime":"2026-01-01T00:00:00Z","hostIP":"192.0.2.10","#,
            r#""podIP":"198.51.100.7","podIPs":[{{"ip":"198.51.100.7"}}],"conditions":[{},{}],"#,
            r#""containerStatuses":[{}],"qosClass":"Burstable"}}"#
        ),
        conditions,
        ready,
        containers.join(",")
    )
}

fn container(number: usize, name: &str) -> String {
    let port = 8080 + number;
    let environment: Vec<String> = (0..3)
        .map(|n| format!(r#"{{"name":"SETTING_{n}","value":"{}"}}"#, letters(n + 10, 24)))
        .chain([
            r#"{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}"#
                .to_owned(),
        ])
        .collect();
    let probe = |path: &str, period: u32| {
        format!(
            r#"{{"httpGet":{{"path":"{path}","port":{port},"scheme":"HTTP"}},"initialDelaySeconds":5,"periodSeconds":{period}}}"#
        )
    };
    format!(
        concat!(
            r#"{{"name":"{name}","image":"registry.example.com/team/{name}:v1.27.3","args":["--config=/etc/app/a.json","#,
            r#""--v=2"],"ports":[{{"name":"http-{name}","containerPort":{port},"protocol":"TCP"}}],"#,
            r#""env":[{environment}],"resources":{{"requests":{{"cpu":"250m","memory":"128Mi"}},"limits":{{"#,
            r#""cpu":"1","memory":"512Mi"}}}},"volumeMounts":[{{"name":"config","mountPath":"/etc/app","#,
            r#""readOnly":true}},{{"name":"scratch","mountPath":"/tmp"}}],"livenessProbe":{live},"#,
            r#""readinessProbe":{ready},"imagePullPolicy":"IfNotPresent","securityContext":{{"#,
            r#""allowPrivilegeEscalation":false,"capabilities":{{"drop":["ALL"]}},"readOnlyRootFilesystem":true,"#,
            r#""runAsNonRoot":true,"runAsUser":1000}}}}"#
        ),
        name = name,
        port = port,
        environment = environment.join(","),
        live = probe("/livez", 10),
        ready = probe("/readyz", 5),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, expect: std::ops::Range<usize>| {
            assert!(expect.contains(&text.len()), "{} bytes: {text}", text.len());
        };
        check(&config_map("settings"), 850..1100);
        check(&pod("web-0000"), 3200..4400);
        check(&new_pod("web-0000"), 2600..4000);
    }
}
