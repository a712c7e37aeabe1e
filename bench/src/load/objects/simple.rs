//! ConfigMaps, Deployments and custom resources.

use super::{ANNOTATION, sequence};

/// A ConfigMap: the value that changes, and the padding.
pub(super) fn config_map(name: &str, namespace: &str, padding: &str) -> String {
    format!(
        concat!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"{namespace}","#,
            r#""labels":{{"app":"bench"}}}},"data":{{"padding":"{padding}","sequence":"{sequence}"}}}}"#
        ),
        name = name,
        namespace = namespace,
        padding = padding,
        sequence = sequence::first()
    )
}

/// A custom resource: the value that changes, the padding, and a list by key.
pub(super) fn widget(name: &str, namespace: &str, padding: &str) -> String {
    format!(
        concat!(
            r#"{{"apiVersion":"bench.ringbolt.io/v1","kind":"Widget","metadata":{{"name":"{name}","#,
            r#""namespace":"{namespace}","labels":{{"app":"bench"}}}},"spec":{{"#,
            r#""image":"registry.example.com/team/widget:1.4.2","padding":"{padding}","#,
            r#""ports":[{{"name":"http","port":8080}},{{"name":"metrics","port":9090}}],"replicas":3,"#,
            r#""sequence":"{sequence}"}}}}"#
        ),
        name = name,
        namespace = namespace,
        padding = padding,
        sequence = sequence::first()
    )
}

/// A Deployment of one container; the padding is the value of a variable.
pub(super) fn deployment(name: &str, namespace: &str, padding: &str) -> String {
    format!(
        concat!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}","namespace":"{namespace}","#,
            r#""labels":{{"app":"{name}"}},"annotations":{{"{annotation}":"{sequence}"}}}},"#,
            r#""spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"{name}"}}}},"#,
            r#""strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxSurge":"25%","maxUnavailable":"25%"}}}},"#,
            r#""template":{{"metadata":{{"labels":{{"app":"{name}"}}}},"spec":{{"containers":[{{"name":"main","#,
            r#""image":"registry.example.com/team/service:v1.2.3","ports":[{{"containerPort":8080,"protocol":"TCP"}}],"#,
            r#""env":[{{"name":"MODE","value":"production"}},{{"name":"PADDING","value":"{padding}"}}],"#,
            r#""resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"cpu":"1","memory":"512Mi"}}}},"#,
            r#""readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}},"periodSeconds":10}}}}]}}}}}}}}"#
        ),
        name = name,
        namespace = namespace,
        annotation = ANNOTATION,
        sequence = sequence::first(),
        padding = padding
    )
}

/// A status as the deployment controller writes it; the value that changes is a condition's message.
pub(super) fn deployment_status_patch() -> Vec<u8> {
    format!(
        concat!(
            r#"{{"status":{{"observedGeneration":1,"replicas":3,"#,
            r#""updatedReplicas":3,"readyReplicas":3,"availableReplicas":3,"conditions":[{{"type":"Available","#,
            r#""status":"True","reason":"MinimumReplicasAvailable","message":"{sequence}","#,
            r#""lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}}"#
        ),
        sequence = sequence::first_status()
    )
    .into_bytes()
}
