//! What an administrator does: nodes, quota, certificates, who may do what.

use super::*;

/// A request for a certificate of `CN=jane`, made once; its signature is checked by the server.
fn certificate_request() -> Option<String> {
    let output = Command::new("openssl")
        .args(["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-keyout", "/dev/null", "-subj", "/O=developers/CN=jane"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let mut encoded =
        Command::new("base64").arg("-w0").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    encoded.stdin.take()?.write_all(&output.stdout).ok()?;
    String::from_utf8(encoded.wait_with_output().ok()?.stdout).ok()
}

pub(super) fn run(kubectl: &Kubectl, name: &str) {
    nodes(kubectl, name);
    quota(kubectl);
    certificates(kubectl, name);
    kubectl.prints("auth can-i create pods", "yes");
    has(&kubectl.ok("auth whoami"), &["system:masters", "system:authenticated"]);
    let token = kubectl.ok("create token default --duration=1h");
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
}

fn nodes(kubectl: &Kubectl, name: &str) {
    let node = format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{disk: ssd}}}}\n");
    assert_eq!(kubectl.fed("apply -f -", &node), format!("node/{name} created\n"));
    let taints = format!("get node {name} -o 'jsonpath={{.spec.taints[*].key}}'");
    kubectl.prints(&taints, "node.kubernetes.io/not-ready");
    kubectl.prints(&format!("cordon {name}"), &format!("node/{name} cordoned"));
    has(&kubectl.ok(&format!("get node {name}")), &["SchedulingDisabled"]);
    kubectl.prints(&format!("uncordon {name}"), &format!("node/{name} uncordoned"));
    kubectl.prints(&format!("taint nodes {name} dedicated=db:NoSchedule"), &format!("node/{name} tainted"));
    kubectl.prints(&taints, "dedicated node.kubernetes.io/not-ready");
    kubectl.prints(&format!("taint nodes {name} dedicated:NoSchedule-"), &format!("node/{name} untainted"));
    // Draining evicts; the budget of `web` allows none of its pods to go.
    for (pod, label) in [("free", "free"), ("held", "web")] {
        kubectl.ok(&format!(
            r#"run {pod} --image=i --labels=app={label} '--overrides={{"spec":{{"nodeName":"{name}","terminationGracePeriodSeconds":0}}}}'"#
        ));
        kubectl.ok(&format!(
            r#"patch pod {pod} --subresource=status --type=merge -p '{{"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True"}}]}}}}'"#
        ));
    }
    let listed = kubectl.ok(&format!("get pods --field-selector=spec.nodeName={name} -o name"));
    assert_eq!(listed, "pod/free\npod/held\n");
    kubectl.ok(
        r#"patch pdb web --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1}}'"#,
    );
    let refused = kubectl.fails(&format!("drain {name} --force --timeout=3s"), None);
    has(&refused, &["Cannot evict pod as it would violate the pod's disruption budget"]);
    kubectl.prints("get pods free --ignore-not-found", "");
    kubectl.prints("get pod held -o name", "pod/held");
    has(&kubectl.ok(&format!("describe node {name}")), &["Unschedulable:", "held"]);
    kubectl.ok("delete pod held --force --grace-period=0");
    kubectl.ok(&format!("delete node {name}"));
}

fn quota(kubectl: &Kubectl) {
    kubectl.ok("create quota pods --hard=pods=2");
    // The first count is the controller's.
    kubectl.comes_to_print("get quota pods -o jsonpath={.status.used.pods}", "1");
    kubectl.ok("run first --image=i");
    let refused = kubectl.fails("run second --image=i", None);
    has(&refused, &["exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2"]);
    has(&kubectl.ok("describe quota pods"), &["pods", "2"]);
    kubectl.ok("delete pod first --now");
    kubectl.comes_to_print("get quota pods -o jsonpath={.status.used.pods}", "1");
    kubectl.ok("delete quota pods");
    kubectl.fed(
        "create -f -",
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, default: {cpu: 100m}, max: {cpu: 200m}}]}\n",
    );
    kubectl.prints("run filled --image=i -o jsonpath={.spec.containers[0].resources.limits.cpu}", "100m");
    let refused = kubectl.fails(
        r#"run large --image=i '--overrides={"spec":{"containers":[{"name":"large","image":"i","resources":{"limits":{"cpu":"1"}}}]}}'"#,
        None,
    );
    has(&refused, &["maximum cpu usage per Container is 200m, but limit is 1"]);
    kubectl.ok("delete pod filled --now");
    kubectl.ok("delete limitrange small");
}

fn certificates(kubectl: &Kubectl, name: &str) {
    let Some(request) = certificate_request() else {
        note("left out: kubectl certificate, since there is no openssl to make a request");
        return;
    };
    let csr = format!(
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {{name: {name}}}\nspec: {{request: {request}, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}}\n"
    );
    kubectl.fed("create -f -", &csr);
    row(&kubectl.ok(&format!("get csr {name}")), &[name]);
    has(&kubectl.ok(&format!("get csr {name}")), &["Pending"]);
    has(&kubectl.ok(&format!("certificate approve {name}")), &["approved"]);
    has(&kubectl.ok(&format!("get csr {name}")), &["Approved"]);
    kubectl.ok(&format!("delete csr {name}"));
}
