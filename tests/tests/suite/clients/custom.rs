//! Custom resources as their users meet them: a definition, its objects, and the end of both.

use super::*;

const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cronSpec}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What is to run, and when.
            required: [cronSpec]
            properties:
              cronSpec: {type: string, description: When., pattern: '^\S+ \S+$'}
              image: {type: string, default: busybox}
              replicas: {type: integer, minimum: 1, maximum: 10, default: 1}
          status:
            type: object
            properties: {replicas: {type: integer}}
"#;

fn object(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

/// Runs all of it in the namespace `name`, which it makes for itself.
pub(super) fn run(program: &Path, cluster: &mut Cluster, name: &str) {
    let kubectl = Kubectl::new(program, &cluster.kubeconfig(), name);
    kubectl.prints(&format!("create namespace {name}"), &format!("namespace/{name} created"));
    let definition = "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com";
    assert_eq!(kubectl.fed("apply -f -", DEFINITION).trim(), format!("{definition} created"));
    kubectl.prints(
        "wait --for=condition=Established --timeout=20s crd/crontabs.stable.example.com",
        &format!("{definition} condition met"),
    );
    let columns = kubectl.ok("get crd crontabs.stable.example.com -o wide --no-headers");
    assert!(columns.contains("Namespaced") && columns.contains("v1(storage)"), "{columns}");
    kubectl.comes_to_print(
        "api-resources --api-group=stable.example.com --no-headers -o name",
        "crontabs.stable.example.com",
    );
    objects(&kubectl);
    cluster.crash();
    // What was defined before is there when the server is.
    kubectl.prints("get ct a -o jsonpath={.spec.replicas}", "3");
    let explained = kubectl.ok("explain crontabs.spec");
    assert!(explained.contains("What is to run, and when.") && explained.contains("cronSpec"), "{explained}");
    kubectl.prints(
        "delete crd crontabs.stable.example.com",
        "customresourcedefinition.apiextensions.k8s.io \"crontabs.stable.example.com\" deleted",
    );
    // kubectl may remember that there was one.
    let unknown = kubectl.fails("get crontabs.v1.stable.example.com", None);
    let gone =
        ["the server doesn't have a resource type", "the server could not find the requested resource"];
    assert!(gone.iter().any(|text| unknown.contains(text)), "{unknown}");
    kubectl.ok(&format!("delete namespace {name} --wait=false"));
}

fn objects(kubectl: &Kubectl) {
    let made = kubectl.fed("create -f -", &object("a", "cronSpec: '* 5'"));
    assert_eq!(made.trim(), "crontab.stable.example.com/a created");
    kubectl.prints("get ct a -o jsonpath={.spec.image}", "busybox");
    let row = kubectl.ok("get ct --no-headers");
    assert!(row.split_whitespace().eq(["a", "*", "5", "1"]), "{row}");
    let wrong = kubectl.fails("create -f -", Some(&object("b", "cronSpec: now")));
    assert!(wrong.contains("spec.cronSpec: Invalid value: \"now\""), "{wrong}");
    let unknown = kubectl.fails("create -f -", Some(&object("b", "cronSpec: '* 5', nonsense: 1")));
    assert!(unknown.contains("unknown field \"spec.nonsense\""), "{unknown}");
    let applied = kubectl.fed("apply --server-side -f -", &object("c", "cronSpec: '1 2'"));
    assert_eq!(applied.trim(), "crontab.stable.example.com/c serverside-applied");
    kubectl.prints("scale ct/a --replicas=3", "crontab.stable.example.com/a scaled");
    let refused = kubectl.fails("scale ct/a --replicas=11", None);
    assert!(refused.contains("should be less than or equal to 10"), "{refused}");
    kubectl.prints(
        "patch ct a --type=merge --subresource=status -p '{\"status\":{\"replicas\":3}}'",
        "crontab.stable.example.com/a patched",
    );
    kubectl.prints("get ct a -o jsonpath={.status.replicas}", "3");
    let all = kubectl.ok("get all -o name");
    assert!(all.lines().any(|line| line == "crontab.stable.example.com/a"), "{all}");
}
