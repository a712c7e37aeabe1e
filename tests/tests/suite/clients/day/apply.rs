//! `apply` by the client and by the server, `diff`, `edit`, `replace`.

use super::*;

const APP: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: app, labels: {set: one}}
data: {a: '1', b: '2'}
";
const EXTRA: &str = "---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, labels: {set: one}}
data: {a: '1'}
";

pub(super) fn run(kubectl: &Kubectl) {
    by_the_client(kubectl);
    by_the_server(kubectl);
    edited(kubectl);
}

fn by_the_client(kubectl: &Kubectl) {
    let both = format!("{APP}{EXTRA}");
    assert_eq!(kubectl.fed("apply -f -", &both), "configmap/app created\nconfigmap/extra created\n");
    assert_eq!(kubectl.fed("apply -f -", &both), "configmap/app unchanged\nconfigmap/extra unchanged\n");
    let changed = APP.replace("a: '1', b: '2'", "a: '9'");
    let diff = kubectl.differs("diff -f -", &changed);
    has(&diff, &["-  a: \"1\"", "+  a: \"9\"", "-  b: \"2\""]);
    kubectl.prints("get configmap app -o jsonpath={.data}", r#"{"a":"1","b":"2"}"#);
    // What somebody else added stays; what was left out of the file goes.
    kubectl.ok(r#"patch configmap app --type=merge -p '{"data":{"c":"3"}}'"#);
    assert_eq!(kubectl.fed("apply -f -", &changed), "configmap/app configured\n");
    kubectl.prints("get configmap app -o jsonpath={.data}", r#"{"a":"9","c":"3"}"#);
    has(&kubectl.ok("apply view-last-applied configmap/app"), &["a: \"9\""]);
    let pruned = kubectl.fed("apply -f - --prune -l set=one --prune-allowlist=core/v1/ConfigMap", &changed);
    assert_eq!(pruned, "configmap/app unchanged\nconfigmap/extra pruned\n");
    kubectl.prints("get configmaps -l set=one -o name", "configmap/app");
}

fn by_the_server(kubectl: &Kubectl) {
    let shared = APP.replace("name: app", "name: shared");
    let apply = |manager: &str| format!("apply --server-side -f - --field-manager={manager}");
    assert_eq!(kubectl.fed(&apply("team"), &shared), "configmap/shared serverside-applied\n");
    let theirs = shared.replace("a: '1'", "a: '10'");
    let refused = kubectl.fails(&apply("other"), Some(&theirs));
    has(&refused, &["Apply failed with 1 conflict: conflict with \"team\": .data.a", "--force-conflicts"]);
    kubectl.prints("get configmap shared -o jsonpath={.data.a}", "1");
    kubectl.fed(&format!("{} --force-conflicts", apply("other")), &theirs);
    kubectl.prints("get configmap shared -o jsonpath={.data.a}", "10");
    let owners = "get configmap shared --show-managed-fields -o \
                  'jsonpath={range .metadata.managedFields[*]}{.manager}={.operation}{\" \"}{end}'";
    let text = kubectl.ok(owners);
    let mut sorted: Vec<&str> = text.split_whitespace().collect();
    sorted.sort_unstable();
    assert_eq!(sorted, ["other=Apply", "team=Apply"]);
    // Both have `b`: it stays when one gives it up, and goes with the second.
    let without = theirs.replace(", b: '2'", "");
    kubectl.fed(&apply("other"), &without);
    kubectl.prints("get configmap shared -o jsonpath={.data.b}", "2");
    kubectl.fed(&apply("team"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\n");
    kubectl.prints("get configmap shared -o jsonpath={.data}", r#"{"a":"10"}"#);
    // From one way to the other: what the client had applied is the server's to apply.
    let mine = APP.replace("a: '1', b: '2'", "a: '12'");
    kubectl.fed("apply --server-side -f -", &mine);
    let managers = kubectl.ok(&owners.replace("shared", "app"));
    assert!(!managers.contains("kubectl-client-side-apply"), "{managers}");
    kubectl.prints("get configmap app -o jsonpath={.data.a}", "12");
}

fn edited(kubectl: &Kubectl) {
    let edited = kubectl.edits("edit configmap shared", "sed -i /^data/,+1s/10/11/");
    assert_eq!(edited, "configmap/shared edited\n");
    kubectl.prints("get configmap shared -o jsonpath={.data.a}", "11");
    let before = kubectl.json("configmap shared");
    let replaced = kubectl.fed("replace --force -f -", &APP.replace("name: app", "name: shared"));
    has(&replaced, &["configmap \"shared\" deleted", "configmap/shared replaced"]);
    let after = kubectl.json("configmap shared");
    assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
    kubectl.ok("create configmap fixed --from-literal=a=1");
    kubectl.ok(r#"patch configmap fixed --type=merge -p '{"immutable":true}'"#);
    let refused = kubectl.fails(r#"patch configmap fixed --type=merge -p '{"data":{"a":"2"}}'"#, None);
    has(&refused, &["field is immutable when `immutable` is set"]);
}
