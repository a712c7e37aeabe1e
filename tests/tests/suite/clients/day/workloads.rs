//! Workloads: made, exposed, scaled, changed, rolled out, looked at.

use super::*;

pub(super) fn run(kubectl: &Kubectl) {
    made(kubectl);
    changed(kubectl);
    rolled_out(kubectl);
    looked_at(kubectl);
    jobs(kubectl);
}

fn made(kubectl: &Kubectl) {
    kubectl.prints(
        "create deployment web --image=nginx:1 --replicas=2 --port=80",
        "deployment.apps/web created",
    );
    kubectl.prints("expose deployment web --port=80 --target-port=8080", "service/web exposed");
    let service = kubectl.json("service web");
    assert_eq!(service["spec"]["selector"], serde_json::json!({"app": "web"}));
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 8080);
    let address = service["spec"]["clusterIP"].as_str().unwrap_or_default();
    assert!(address.parse::<std::net::IpAddr>().is_ok(), "{service}");
    kubectl.prints(
        "expose deployment web --name=front --type=NodePort --port=80 -o 'jsonpath={.spec.type}'",
        "NodePort",
    );
    let port = kubectl.ok("get service front -o jsonpath={.spec.ports[0].nodePort}");
    assert!((30_000..32_768).contains(&port.trim().parse::<u32>().unwrap()), "{port}");
    kubectl.ok("autoscale deployment web --min=2 --max=5 --cpu-percent=80");
    row(&kubectl.ok("get hpa"), &["web", "Deployment/web", "cpu:", "<unknown>/80%", "2", "5"]);
    // The same object, as the older version has it.
    kubectl.prints(
        "get horizontalpodautoscalers.v1.autoscaling web -o jsonpath={.spec.targetCPUUtilizationPercentage}",
        "80",
    );
    kubectl.ok("create poddisruptionbudget web --selector=app=web --min-available=1");
    row(&kubectl.ok("get pdb"), &["web", "1", "N/A", "0"]);
}

fn changed(kubectl: &Kubectl) {
    kubectl.prints("scale deployment web --replicas=4", "deployment.apps/web scaled");
    let refused = kubectl.fails("scale deployment web --current-replicas=9 --replicas=3", None);
    has(&refused, &["Expected replicas to be 9, was 4"]);
    for (line, done) in [
        ("set image deployment/web nginx=nginx:2", "deployment.apps/web image updated"),
        ("set env deployment/web MODE=on", "deployment.apps/web env updated"),
        (
            "set resources deployment web --limits=cpu=200m,memory=64Mi",
            "deployment.apps/web resource requirements updated",
        ),
        ("set serviceaccount deployment web default", "deployment.apps/web serviceaccount updated"),
        ("set selector service front app=web,tier=x", "service/front selector updated"),
        ("label deployment web tier=gold", "deployment.apps/web labeled"),
        ("annotate deployment web note=checked", "deployment.apps/web annotated"),
    ] {
        kubectl.prints(line, done);
    }
    has(&kubectl.ok("set env deployment/web --list"), &["MODE=on"]);
    let container = &kubectl.json("deployment web")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "nginx:2");
    assert_eq!(container["resources"]["limits"], serde_json::json!({"cpu": "200m", "memory": "64Mi"}));
    kubectl.prints("get service front -o jsonpath={.spec.selector.tier}", "x");
    kubectl
        .prints("get deployments -l tier=gold -o jsonpath={.items[*].metadata.annotations.note}", "checked");

    // Three kinds of patches of one list: by key, as a whole, and by place.
    kubectl.ok(
        r#"patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}'"#,
    );
    let names = "get deployment web -o 'jsonpath={.spec.template.spec.containers[*].name}'";
    kubectl.prints(names, "side nginx");
    kubectl.ok(
        r#"patch deployment web --type=json -p '[{"op":"remove","path":"/spec/template/spec/containers/0"}]'"#,
    );
    kubectl.prints(names, "nginx");
    kubectl.ok(
        r#"patch deployment web --type=merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"i"}]}}}}'"#,
    );
    kubectl.prints(names, "only");
    let refused = kubectl.fails(
        r#"patch deployment web --type=merge -p '{"spec":{"template":{"spec":{"containers":[]}}}}'"#,
        None,
    );
    has(&refused, &["spec.template.spec.containers: Required value"]);
}

fn rolled_out(kubectl: &Kubectl) {
    kubectl.prints("rollout pause deployment web", "deployment.apps/web paused");
    kubectl.prints("rollout resume deployment web", "deployment.apps/web resumed");
    let before = kubectl.json("deployment web")["metadata"]["generation"].as_i64().unwrap();
    kubectl.prints("rollout restart deployment web", "deployment.apps/web restarted");
    let deployment = kubectl.json("deployment web");
    assert_eq!(deployment["metadata"]["generation"], before + 1);
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert!(annotations["kubectl.kubernetes.io/restartedAt"].is_string(), "{deployment}");
    has(&kubectl.fails("rollout status deployment web --timeout=1s", None), &["timed out waiting"]);
    kubectl.ok(&format!(
        r#"patch deployment web --subresource=status --type=merge -p '{{"status":{{"observedGeneration":{},"replicas":4,"updatedReplicas":4,"readyReplicas":4,"availableReplicas":4,"conditions":[{{"type":"Available","status":"True"}}]}}}}'"#,
        before + 1
    ));
    has(&kubectl.ok("rollout status deployment web --timeout=20s"), &["successfully rolled out"]);
    kubectl.prints(
        "wait --for=condition=Available deployment/web --timeout=20s",
        "deployment.apps/web condition met",
    );
    kubectl.prints(
        "wait --for=jsonpath={.status.readyReplicas}=4 deployment/web --timeout=20s",
        "deployment.apps/web condition met",
    );
    row(&kubectl.ok("get deployment web -o wide"), &["web", "4/4", "4", "4"]);
    // A status is no change of what is wanted.
    assert_eq!(kubectl.json("deployment web")["metadata"]["generation"], before + 1);
}

fn looked_at(kubectl: &Kubectl) {
    kubectl.prints("run once --image=busybox --restart=Never --labels=run=once -- true", "pod/once created");
    let pod = kubectl.json("pod once");
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    assert_eq!(pod["status"]["qosClass"], "BestEffort");
    let mount = &pod["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
    row(&kubectl.ok("get pod once -o wide"), &["once", "0/1", "Pending", "0"]);
    has(
        &kubectl.ok("describe pod once"),
        &[
            "QoS Class:",
            "BestEffort",
            "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
            "kube-root-ca.crt",
        ],
    );
    has(&kubectl.ok("describe service web"), &["IP Family Policy:", "SingleStack", "8080/TCP"]);
    has(&kubectl.ok("describe deployment web"), &["4 desired | 4 updated | 4 total", "Available"]);
    has(&kubectl.ok("describe hpa web"), &["Deployment/web", "80%"]);
    has(
        &kubectl.ok("explain deployment.spec.replicas"),
        &["FIELD: replicas <integer>", "VERSION:    v1", "Number of desired pods."],
    );
    has(
        &kubectl.ok("explain pods.spec.containers --recursive"),
        &["imagePullPolicy", "livenessProbe", "<[]Container>", "List of containers belonging to the pod."],
    );
    has(
        &kubectl.ok("explain pod"),
        &[
            "Pod is a collection of containers that can run on a host.",
            "APIVersion defines the versioned schema",
        ],
    );

    let event = r#"{"apiVersion":"v1","kind":"Event","metadata":{"generateName":"once-"},"type":"Normal","reason":"Pulled","message":"It is here","involvedObject":{"apiVersion":"v1","kind":"Pod","name":"once","namespace":"NS"},"source":{"component":"kubelet"},"firstTimestamp":"2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:00Z","count":1}"#;
    let namespace = pod["metadata"]["namespace"].as_str().unwrap();
    kubectl.fed("create -f -", &event.replace("NS", namespace));
    has(&kubectl.ok("events --for=pod/once"), &["Normal", "Pulled", "Pod/once", "It is here"]);
    has(&kubectl.ok("get events"), &["Pulled", "pod/once"]);
    // One object in two groups.
    has(&kubectl.ok("get events.events.k8s.io -o jsonpath={.items[*].note}"), &["It is here"]);
}

fn jobs(kubectl: &Kubectl) {
    kubectl.prints("create job one --image=busybox -- true", "job.batch/one created");
    kubectl.ok("create cronjob often --image=busybox '--schedule=*/5 * * * *' -- true");
    kubectl.prints("create job again --from=cronjob/often", "job.batch/again created");
    kubectl.prints("get job again -o jsonpath={.metadata.ownerReferences[0].kind}", "CronJob");
    row(&kubectl.ok("get cronjobs"), &["often", "*/5", "*", "*", "*", "*", "<none>", "False", "0", "<none>"]);
    row(&kubectl.ok("get jobs"), &["one", "Running", "0/1"]);
    let refused = kubectl.fails(r#"patch job one --type=merge -p '{"spec":{"completions":3}}'"#, None);
    has(&refused, &["spec.completions: Invalid value: 3", "field is immutable"]);
}
