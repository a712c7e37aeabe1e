//! A session with kubectl, each step with what its user looks for.

use super::*;

/// Runs all of it. `name` is the namespace the session makes for itself.
pub(super) fn run(program: &Path, cluster: &mut Cluster, name: &str) {
    let kubectl = Kubectl::new(program, &cluster.kubeconfig(), name);
    discovery(&kubectl);
    kubectl.prints(&format!("create namespace {name}"), &format!("namespace/{name} created"));
    generators(&kubectl, name);
    output(&kubectl);
    files(&kubectl);
    changes(&kubectl);
    watch(&kubectl);
    let before = kept(&kubectl);
    cluster.crash();
    assert!(before == kept(&kubectl), "a server killed and started again has it all");
    deletes(&kubectl, name);
}

fn discovery(kubectl: &Kubectl) {
    let resources = kubectl.ok("api-resources --no-headers");
    for row in [
        &["configmaps", "cm", "v1", "true", "ConfigMap"][..],
        &["namespaces", "ns", "v1", "false", "Namespace"],
        &["deployments", "deploy", "apps/v1", "true", "Deployment"],
        &["cronjobs", "cj", "batch/v1", "true", "CronJob"],
        &["roles", "rbac.authorization.k8s.io/v1", "true", "Role"],
        &["priorityclasses", "pc", "scheduling.k8s.io/v1", "false", "PriorityClass"],
    ] {
        assert!(
            resources.lines().any(|l| l.split_whitespace().eq(row.iter().copied())),
            "{row:?} in: {resources}"
        );
    }
    let names = kubectl.ok("api-resources --api-group=apps --namespaced=true -o name");
    let mut names: Vec<&str> = names.lines().collect();
    names.sort_unstable();
    let apps = ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"];
    assert_eq!(names, apps.map(|n| format!("{n}.apps")));
    let listable = kubectl.ok("api-resources --verbs=list,watch -o wide");
    assert!(listable.contains("create,delete,deletecollection,get,list,patch,update,watch"), "{listable}");
    let versions = kubectl.ok("api-versions");
    for version in ["v1", "apps/v1", "batch/v1", "autoscaling/v2", "networking.k8s.io/v1", "policy/v1"] {
        assert!(versions.lines().any(|l| l == version), "{version} in: {versions}");
    }
    let version: Value = serde_json::from_str(&kubectl.ok("version -o json")).unwrap();
    assert_eq!(
        (&version["serverVersion"]["major"], &version["serverVersion"]["minor"]),
        (&"1".into(), &"37".into())
    );
    kubectl.prints("get --raw /readyz", "ok");
    let raw: Value = serde_json::from_str(&kubectl.ok("get --raw /api/v1")).unwrap();
    assert_eq!(raw["kind"], "APIResourceList");
    let missing = kubectl.fails("get --raw /no/such/path", None);
    assert!(missing.contains("NotFound") || missing.contains("could not find"), "{missing}");
    let unknown = kubectl.fails("get nonsense", None);
    assert!(unknown.contains("the server doesn't have a resource type \"nonsense\""), "{unknown}");
    let info = kubectl.ok("cluster-info");
    assert!(info.contains("is running at"), "{info}");
}

/// Typed generators: kubectl sends most of these as typed objects.
fn generators(kubectl: &Kubectl, name: &str) {
    for (line, made) in [
        ("create configmap settings --from-literal=a=1 --from-literal=b=two", "configmap/settings created"),
        ("create secret generic token --from-literal=password=hunter2", "secret/token created"),
        ("create serviceaccount robot", "serviceaccount/robot created"),
        ("create deployment web --image=nginx:1 --replicas=3 --port=80", "deployment.apps/web created"),
        ("create service clusterip web --tcp=80:8080", "service/web created"),
        ("create service nodeport front --tcp=443:8443", "service/front created"),
        ("create service externalname outside --external-name=example.com", "service/outside created"),
        ("create job once --image=busybox -- true", "job.batch/once created"),
        (
            "create cronjob often --image=busybox --schedule='*/5 * * * *' -- true",
            "cronjob.batch/often created",
        ),
        (
            "create role reader --verb=get,list --resource=pods,deployments.apps",
            "role.rbac.authorization.k8s.io/reader created",
        ),
        (
            "create rolebinding readers --role=reader --user=jane",
            "rolebinding.rbac.authorization.k8s.io/readers created",
        ),
        ("create quota bounds --hard=pods=10,services=5", "resourcequota/bounds created"),
        (
            "create poddisruptionbudget pdb --selector=app=web --min-available=50%",
            "poddisruptionbudget.policy/pdb created",
        ),
        ("create ingress entry --rule=example.com/*=web:80", "ingress.networking.k8s.io/entry created"),
        ("run pod --image=nginx --labels=run=pod --restart=Never", "pod/pod created"),
    ] {
        // Blanks in quotes after `=` are one word for kubectl too.
        let line = line.replace("--schedule='*/5 * * * *'", "'--schedule=*/5 * * * *'");
        kubectl.prints(&line, made);
    }
    for (line, made) in [
        (
            format!("create clusterrole {name} --verb=get --resource=nodes"),
            format!("clusterrole.rbac.authorization.k8s.io/{name} created"),
        ),
        (
            format!("create clusterrolebinding {name} --clusterrole={name} --group=developers"),
            format!("clusterrolebinding.rbac.authorization.k8s.io/{name} created"),
        ),
        (
            format!("create priorityclass {name} --value=1000 --description=high"),
            format!("priorityclass.scheduling.k8s.io/{name} created"),
        ),
    ] {
        kubectl.prints(&line, &made);
    }
    let again = kubectl.fails("create configmap settings", None);
    assert!(again.contains("configmaps \"settings\" already exists"), "{again}");
    let nowhere = kubectl.fails("create configmap x --namespace=nowhere", None);
    assert!(nowhere.contains("namespaces \"nowhere\" not found"), "{nowhere}");
    let bad = kubectl.fails("create configmap BAD_NAME", None);
    assert!(bad.contains("a lowercase RFC 1123 subdomain"), "{bad}");
    let dry = kubectl.ok("create deployment dry --image=nginx --dry-run=server -o jsonpath={.spec.replicas}");
    assert_eq!(dry.trim(), "1");
    let missing = kubectl.fails("get deployment dry", None);
    assert!(missing.contains("deployments.apps \"dry\" not found"), "{missing}");
}

/// What `get` prints, in all its forms.
fn output(kubectl: &Kubectl) {
    let web = kubectl.json("deployment web");
    assert_eq!(web["spec"]["replicas"], 3);
    assert_eq!(web["spec"]["strategy"]["type"], "RollingUpdate");
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(web["metadata"]["generation"], 1);
    let yaml = kubectl.ok("get configmap settings -o yaml");
    assert!(yaml.contains("\ndata:\n  a: \"1\"\n  b: two\nkind: ConfigMap\n"), "{yaml}");
    kubectl.prints("get configmap settings -o name", "configmap/settings");
    kubectl.prints("get secret token -o jsonpath={.data.password}", "aHVudGVyMg==");
    kubectl.prints("get service outside -o jsonpath={.spec.externalName}", "example.com");
    kubectl.prints("get deployments -o 'jsonpath={.items[*].metadata.name}'", "web");
    kubectl.prints("get cm settings -o 'go-template={{.data.b}}'", "two");
    kubectl.prints("get sa robot --no-headers -o custom-columns=N:.metadata.name", "robot");
    let all = kubectl.ok("get configmaps,secrets,deploy -o name");
    for name in ["configmap/settings", "secret/token", "deployment.apps/web"] {
        assert!(all.lines().any(|l| l == name), "{name} in: {all}");
    }
    kubectl.prints("get pods -l run=pod -o name", "pod/pod");
    kubectl.prints("get pods -l run!=pod -o name", "");
    kubectl.prints("get pods --field-selector=status.phase=Pending -o name", "pod/pod");
    let namespaces = kubectl.ok("get namespaces -o name");
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        assert!(namespaces.lines().any(|l| l == format!("namespace/{name}")), "{name} in: {namespaces}");
    }
    let every = kubectl.ok("get configmaps -A --chunk-size=1 -o name");
    assert!(every.lines().any(|l| l == "configmap/settings"), "{every}");
    let sorted = kubectl.ok("get services --sort-by=.metadata.name -o name");
    assert_eq!(sorted.lines().collect::<Vec<_>>(), ["service/front", "service/outside", "service/web"]);
    let described = kubectl.ok("describe deployment web");
    assert!(described.contains("Image:") && described.contains("nginx:1"), "{described}");
    let missing = kubectl.fails("get pod none", None);
    assert!(missing.contains("Error from server (NotFound): pods \"none\" not found"), "{missing}");
}

/// The tables that the server makes for people.
pub(super) fn tables(program: &Path, cluster: &Cluster, name: &str) {
    let kubectl = Kubectl::new(program, &cluster.kubeconfig(), name);
    kubectl.ok(&format!("create namespace {name}"));
    kubectl.ok("create configmap settings --from-literal=a=1 --from-literal=b=two");
    kubectl.ok("create deployment web --image=nginx:1 --replicas=3");
    kubectl.ok("create service clusterip web --tcp=80:8080");
    kubectl.ok("run pod --image=nginx --labels=run=pod --restart=Never");
    let columns = |line: &str| -> Vec<String> {
        let text = kubectl.ok(line);
        text.lines()
            .next()
            .unwrap_or_default()
            .split("  ")
            .map(|c| c.trim().to_owned())
            .filter(|c| !c.is_empty())
            .collect()
    };
    assert_eq!(columns("get deployments"), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    assert_eq!(
        columns("get deployments -o wide"),
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    );
    assert_eq!(columns("get services"), ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]);
    assert_eq!(columns("get pods"), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(columns("get configmaps"), ["NAME", "DATA", "AGE"]);
    let row = kubectl.ok("get configmap settings --no-headers");
    assert!(row.starts_with("settings   2     "), "{row}");
    let row = kubectl.ok("get deployment web -o wide --no-headers");
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((row[0], row[1], row[5], row[6], row[7]), ("web", "0/3", "nginx", "nginx:1", "app=web"));
    let row = kubectl.ok("get pod pod --no-headers");
    let row: Vec<&str> = row.split_whitespace().take(4).collect();
    assert_eq!(row, ["pod", "0/1", "Pending", "0"]);
    let rows = kubectl.follow("get configmap settings -w --output-watch-events");
    let header: Vec<String> = rows.line().split_whitespace().map(str::to_owned).collect();
    assert_eq!(header, ["EVENT", "NAME", "DATA", "AGE"]);
    assert!(rows.line().starts_with("ADDED      settings   2     "));
    kubectl.ok("delete configmap settings");
    assert!(rows.line().starts_with("DELETED    settings   2     "));
    kubectl.ok(&format!("delete namespace {name} --wait=false"));
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: filed
  labels: {app: filed}
spec:
  replicas: 2
  selector:
    matchLabels: {app: filed}
  template:
    metadata:
      labels: {app: filed}
    spec:
      containers:
      - name: c
        image: nginx:2
        resources:
          limits: {cpu: 500m, memory: 64Mi}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: filed
data:
  key: value
";

/// `create -f` and `replace -f`, validated by the server and by the documents it publishes.
fn files(kubectl: &Kubectl) {
    let made = kubectl.fed("create -f - --validate=strict", DEPLOYMENT);
    assert_eq!(made, "deployment.apps/filed created\nconfigmap/filed created\n");
    kubectl.prints(
        "get deployment filed -o jsonpath={.spec.template.spec.containers[0].resources.limits.cpu}",
        "500m",
    );
    let wrong =
        DEPLOYMENT.replace("replicas: 2", "replicas: 2\n  replcas: 3").replace("name: filed", "name: wrong");
    let refused = kubectl.fails("create -f - --validate=strict", Some(&wrong));
    assert!(refused.contains("unknown field \"spec.replcas\""), "{refused}");
    let missing = kubectl.fails("get deployment wrong", None);
    assert!(missing.contains("not found"), "{missing}");
    let text = DEPLOYMENT.replace("replicas: 2", "replicas: many").replace("name: filed", "name: wrong");
    let refused = kubectl.fails("create -f -", Some(&text));
    assert!(refused.contains("replicas"), "{refused}");
    let invalid = DEPLOYMENT.replace("matchLabels: {app: filed}", "matchLabels: {app: other}");
    let invalid = invalid.split("---").next().unwrap().replace("  name: filed\n", "  name: wrong\n");
    let refused = kubectl.fails("create -f -", Some(&invalid));
    assert!(refused.contains("`selector` does not match template `labels`"), "{refused}");

    let more = DEPLOYMENT.replace("replicas: 2", "replicas: 5").replace("key: value", "key: other");
    let replaced = kubectl.fed("replace -f - --validate=strict", &more);
    assert_eq!(replaced, "deployment.apps/filed replaced\nconfigmap/filed replaced\n");
    kubectl.prints("get deployment filed -o 'jsonpath={.spec.replicas} {.metadata.generation}'", "5 2");
    kubectl.prints("get configmap filed -o jsonpath={.data.key}", "other");
    let refused =
        kubectl.fails("replace -f - --validate=strict", Some(&wrong.replace("name: wrong", "name: filed")));
    assert!(refused.contains("unknown field \"spec.replcas\""), "{refused}");
    let stale = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: filed, resourceVersion: '1'}\n";
    let refused = kubectl.fails("replace -f -", Some(stale));
    assert!(refused.contains("Conflict") && refused.contains("the object has been modified"), "{refused}");
    let json =
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"generateName":"made-"},"stringData":{"k":"ü"}}"#;
    let made = kubectl.fed("create -f - -o jsonpath={.data.k}", json);
    assert_eq!(made, "w7w=");
}

/// Labels, annotations and patches.
fn changes(kubectl: &Kubectl) {
    kubectl.prints("label configmap settings tier=gold", "configmap/settings labeled");
    kubectl.prints("annotate configmap settings note=checked", "configmap/settings annotated");
    kubectl.prints("get configmap -l tier=gold -o jsonpath={.items[*].metadata.annotations.note}", "checked");
    let refused = kubectl.fails("label configmap settings tier=silver", None);
    assert!(refused.contains("already has a value (gold)"), "{refused}");
    kubectl.prints("label configmap settings tier-", "configmap/settings unlabeled");
    kubectl.prints("get configmap -l tier -o name", "");
    kubectl.prints(
        r#"patch configmap settings --type=merge -p '{"data":{"a":null,"c":"3"}}'"#,
        "configmap/settings patched",
    );
    kubectl.prints(
        r#"patch configmap settings --type=json -p '[{"op":"test","path":"/data/c","value":"3"},{"op":"replace","path":"/data/b","value":"2"}]'"#,
        "configmap/settings patched",
    );
    let data = &kubectl.json("configmap settings")["data"];
    assert_eq!(data, &serde_json::json!({"b": "2", "c": "3"}));
    // Strategic: the list of containers is merged by name.
    kubectl.prints(
        r#"patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}'"#,
        "deployment.apps/web patched",
    );
    let containers = kubectl.json("deployment web")["spec"]["template"]["spec"]["containers"].clone();
    let images: Vec<&str> =
        containers.as_array().unwrap().iter().filter_map(|c| c["image"].as_str()).collect();
    assert_eq!(images, ["busybox", "nginx:1"], "a new element of a merged list stands first");
    kubectl.prints("get deployment web -o jsonpath={.metadata.generation}", "2");
    kubectl.prints("set image deployment/web nginx=nginx:9", "deployment.apps/web image updated");
    let failed = kubectl.fails(
        r#"patch configmap settings --type=json -p '[{"op":"test","path":"/data/c","value":"4"}]'"#,
        None,
    );
    assert!(failed.contains("The request is invalid"), "{failed}");
}

/// `get -w` prints what happens.
fn watch(kubectl: &Kubectl) {
    let follow = kubectl.follow("get configmaps -w -o 'jsonpath={.metadata.name} {.data.k}{\"\\n\"}' --field-selector=metadata.name=watched");
    thread::sleep(Duration::from_millis(500));
    kubectl.ok("create configmap watched --from-literal=k=1");
    assert_eq!(follow.line(), "watched 1");
    kubectl.ok(r#"patch configmap watched --type=merge -p '{"data":{"k":"2"}}'"#);
    assert_eq!(follow.line(), "watched 2");
    let gone = kubectl.ok("delete configmap watched");
    assert!(gone.starts_with("configmap \"watched\" deleted"), "{gone}");
}

/// All that is there, as the server writes it.
fn kept(kubectl: &Kubectl) -> String {
    let kinds = "configmaps,secrets,serviceaccounts,deployments,services,jobs,cronjobs,roles,rolebindings,\
                 resourcequotas,poddisruptionbudgets,ingresses,pods";
    let text = kubectl.ok(&format!("get {kinds} -o json"));
    let list: Value = serde_json::from_str(&text).unwrap();
    assert!(list["items"].as_array().is_some_and(|i| i.len() >= 18), "{text}");
    text
}

fn deletes(kubectl: &Kubectl, name: &str) {
    let gone = kubectl.ok("delete configmap settings");
    assert!(gone.starts_with("configmap \"settings\" deleted"), "{gone}");
    let missing = kubectl.fails("delete configmap settings", None);
    assert!(missing.contains("configmaps \"settings\" not found"), "{missing}");
    kubectl.prints("delete configmap settings --ignore-not-found", "");
    kubectl.ok("delete deployment web");
    kubectl.ok("delete pod pod --now --wait=false");
    let gone = kubectl.fed("delete -f -", DEPLOYMENT);
    assert!(
        gone.contains("deployment.apps \"filed\" deleted") && gone.contains("configmap \"filed\" deleted"),
        "{gone}"
    );
    kubectl.ok("delete services --all");
    kubectl.prints("get services -o name", "");
    for line in [
        format!("delete clusterrole {name}"),
        format!("delete clusterrolebinding {name}"),
        format!("delete priorityclass {name}"),
        format!("delete namespace {name} --wait=false"),
    ] {
        kubectl.ok(&line);
    }
}
