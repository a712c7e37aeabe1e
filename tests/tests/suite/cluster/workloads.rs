//! Everything that ends in pods: a Deployment through its life, and the other controllers of pods beside it.

use super::*;

/// The Deployment under test, its Service and its budget.
const WEB: &str = "web";
/// Replicas that the budget wants to be there.
const BUDGET: u64 = 45;

fn pods_of(app: &str) -> String {
    format!("pods -l app={app}")
}

fn template(app: &str, restart: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "busybox"}]},
    })
}

/// Objects whose controllers work while others are looked at.
pub(super) fn begin(user: &User) {
    user.apply(&json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"},
        "spec": {"completions": 6, "parallelism": 3, "template": template("sum", "Never")},
    }));
    user.apply(&json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "brief"},
        "spec": {"ttlSecondsAfterFinished": 1, "template": template("brief", "OnFailure")},
    }));
    user.apply(&json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "minutely"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template("minutely", "Never")}}},
    }));
    user.apply(&json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", "Always")},
    }));
    user.apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
        "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 5432}]},
    }));
    user.apply(&json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": template("db", "Always"),
        },
    }));
}

fn endpoints(user: &User, service: &str) -> usize {
    let slices = user.kubectl.json(&format!("endpointslices -l kubernetes.io/service-name={service}"));
    let ready = |slice: &Value| {
        let all = slice["endpoints"].as_array().map_or(&[][..], Vec::as_slice);
        all.iter().filter(|e| e["conditions"]["ready"] == true).count()
    };
    items(&slices).iter().map(ready).sum()
}

fn wait_endpoints(user: &User, service: &str, number: usize) {
    let mut last = 0;
    let found = wait_for(PATIENCE, || {
        last = endpoints(user, service);
        (last == number).then_some(())
    });
    assert!(found.is_some(), "{service}: {last} ready endpoints, not {number}");
}

/// The Deployment, until it is deleted.
pub(super) fn deployment(user: &User) {
    let kubectl = &user.kubectl;
    let begun = Instant::now();
    kubectl.ok(&format!("create deployment {WEB} --image=web:1 --replicas={REPLICAS}"));
    kubectl.ok(&format!("rollout status deployment/{WEB} --timeout=60s"));
    note(&format!("cluster: {REPLICAS} replicas were ready after {:.2} s", begun.elapsed().as_secs_f64()));
    kubectl.ok(&format!("expose deployment {WEB} --port=80"));
    kubectl.ok(&format!("create poddisruptionbudget {WEB} --selector=app={WEB} --min-available={BUDGET}"));

    let pods = kubectl.json(&pods_of(WEB));
    assert_eq!(items(&pods).len(), REPLICAS);
    let mut nodes: Vec<&str> = items(&pods).iter().filter_map(|p| p["spec"]["nodeName"].as_str()).collect();
    assert_eq!(nodes.len(), REPLICAS, "every pod is bound");
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), NODES, "they are spread over all nodes: {nodes:?}");
    wait_endpoints(user, WEB, REPLICAS);
    user.wait(&format!("poddisruptionbudget/{WEB}"), "counted", |b| {
        b["status"]["currentHealthy"] == REPLICAS
            && b["status"]["disruptionsAllowed"] == REPLICAS as u64 - BUDGET
    });

    let begun = Instant::now();
    kubectl.ok(&format!("set image deployment/{WEB} *=web:2"));
    kubectl.ok(&format!("rollout status deployment/{WEB} --timeout=60s"));
    let pods = user.wait_count(&format!("{} --field-selector=status.phase=Running", pods_of(WEB)), REPLICAS);
    note(&format!("cluster: they rolled in {:.2} s", begun.elapsed().as_secs_f64()));
    assert!(pods.iter().all(|p| p["spec"]["containers"][0]["image"] == "web:2"), "all have the new image");
    let sets = kubectl.json(&format!("replicasets -l app={WEB}"));
    let mut sizes: Vec<_> = items(&sets).iter().map(|s| s["spec"]["replicas"].as_u64()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [Some(0), Some(REPLICAS as u64)], "the old set stays, empty");
    kubectl.prints(
        &format!(
            "get deployment {WEB} -o jsonpath={{.metadata.annotations.deployment\\.kubernetes\\.io/revision}}"
        ),
        "2",
    );

    kubectl.ok(&format!("scale deployment/{WEB} --replicas=5"));
    user.wait_count(&pods_of(WEB), 5);
    wait_endpoints(user, WEB, 5);
    // Fewer than the budget wants: none may be evicted.
    user.wait(&format!("poddisruptionbudget/{WEB}"), "spent", |b| {
        b["status"]["currentHealthy"] == 5 && b["status"]["disruptionsAllowed"] == 0
    });
    let pods = kubectl.json(&pods_of(WEB));
    let name = items(&pods)[0]["metadata"]["name"].as_str().unwrap();
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    let path = format!("/api/v1/namespaces/{}/pods/{name}/eviction", user.namespace);
    let refused = kubectl.fails(&format!("create --raw {path} -f -"), Some(&eviction.to_string()));
    assert!(refused.contains("disruption budget"), "{refused}");
    kubectl.ok(&format!("delete poddisruptionbudget {WEB}"));
    kubectl.ok(&format!("scale deployment/{WEB} --replicas=20"));
    kubectl.ok(&format!("rollout status deployment/{WEB} --timeout=60s"));

    // All but the DaemonSet's pod leave the node, and come to life elsewhere.
    kubectl.ok("drain node-0 --ignore-daemonsets --force --timeout=50s");
    user.wait("pods --field-selector=spec.nodeName=node-0,status.phase=Running", "the agent alone", |pods| {
        items(pods).iter().all(|p| p["metadata"]["labels"]["app"] == "agent")
    });
    kubectl.ok(&format!("rollout status deployment/{WEB} --timeout=60s"));
    kubectl.ok("uncordon node-0");

    kubectl.ok(&format!("rollout undo deployment/{WEB}"));
    kubectl.ok(&format!("rollout status deployment/{WEB} --timeout=60s"));
    kubectl.ok(&format!("delete deployment {WEB}"));
}

/// What is left of it: nothing, but for the Service, which nobody owns.
pub(super) fn collected(user: &User) {
    user.wait_count(&pods_of(WEB), 0);
    user.wait_count(&format!("replicasets -l app={WEB}"), 0);
    wait_endpoints(user, WEB, 0);
    user.kubectl.ok(&format!("delete service {WEB}"));
    user.wait_count(&format!("endpointslices -l kubernetes.io/service-name={WEB}"), 0);
}

/// Looks at what [`begin`] began.
pub(super) fn end(user: &User) {
    let kubectl = &user.kubectl;
    let job = user.wait("job/sum", "complete", |j| is(j, "Complete"));
    assert_eq!(job["status"]["succeeded"], 6, "{job}");
    // A finished Job with a time to live goes, and its pod with it.
    user.wait_count("jobs --field-selector=metadata.name=brief", 0);
    user.wait_count(&pods_of("brief"), 0);

    let agents = user.wait_count(&pods_of("agent"), NODES);
    let mut nodes: Vec<&str> = agents.iter().filter_map(|p| p["spec"]["nodeName"].as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), NODES, "one on each node: {nodes:?}");
    user.wait("daemonset/agent", "ready", |d| d["status"]["numberReady"] == NODES);
    // Orphans stay, for the namespace to take along.
    kubectl.ok("delete daemonset agent --cascade=orphan");
    let agents = user.wait(&pods_of("agent"), "orphans", |pods| {
        items(pods).iter().all(|p| p["metadata"].get("ownerReferences").is_none())
    });
    assert_eq!(items(&agents).len(), NODES);

    kubectl.ok("rollout status statefulset/db --timeout=60s");
    let pods = user.wait_count(&pods_of("db"), 3);
    let names: Vec<&Value> = pods.iter().map(|p| &p["metadata"]["name"]).collect();
    assert_eq!(names, ["db-0", "db-1", "db-2"]);
    wait_endpoints(user, "db", 3);
    kubectl.ok("scale statefulset/db --replicas=1");
    user.wait_count(&pods_of("db"), 1);
    // In the foreground: the set is there until its pods are gone.
    kubectl.ok("delete statefulset db --cascade=foreground --timeout=30s");
    assert_eq!(items(&kubectl.json(&pods_of("db"))).len(), 0);

    user.wait("cronjob/minutely", "run", |c| c["status"]["lastScheduleTime"].is_string());
}

/// After the server has ended and come back.
pub(super) fn after_crash(user: &User) {
    let kubectl = &user.kubectl;
    kubectl.ok("create deployment late --image=late:1 --replicas=3 --namespace=default");
    kubectl.ok("rollout status deployment/late --timeout=60s --namespace=default");
    kubectl.ok("delete deployment late --namespace=default");
    user.wait_count("pods -l app=late --namespace=default", 0);
}
