//! Whole writes, from received bytes to queued bytes, with the sequencer's thread.

use bumpalo::Bump;
use ringbolt_machinery::{
    json::{self, Mode},
    protobuf,
    schema::Schema,
};

use crate::{
    Run, Scale,
    client::{Client, NUMBER},
    objects,
    requests::Ask,
    server::Server,
    store,
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CONFIG_MAP: &str = "/api/v1/namespaces/default/configmaps/settings";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Sends the same with another number each time.
fn write(server: &Server, ask: &Ask<'_>, expect: &str) -> Run {
    let mut client = Client::http2(server);
    let mut repeat = client.repeat(ask, expect);
    let mut number = 0;
    Box::new(move || {
        client.run(&mut repeat, number);
        number += 1;
    })
}

pub(super) fn create_config_map(_: Scale) -> Run {
    let body = objects::config_map(&format!("settings-{NUMBER}"));
    write(&Server::new(), &Ask::send("POST", CONFIG_MAPS, body.as_bytes()), "\"resourceVersion\"")
}

pub(super) fn create_pod(_: Scale) -> Run {
    let body = objects::pod(&format!("web-{NUMBER}"));
    write(&Server::new(), &Ask::send("POST", PODS, body.as_bytes()), "\"resourceVersion\"")
}

pub(super) fn create_pod_admitted(_: Scale) -> Run {
    let body = objects::new_pod(&format!("web-{NUMBER}"));
    let ask = Ask::send("POST", PODS, body.as_bytes());
    write(&Server::with_admission(), &ask, "\"serviceAccountToken\"")
}

pub(super) fn create_pod_new_spec(_: Scale) -> Run {
    // Each mounts another ConfigMap, so none has the spec of one before it.
    let body = objects::new_pod(&format!("web-{NUMBER}"));
    let body =
        body.replace(r#""configMap":{"name":"settings"}"#, &format!(r#""configMap":{{"name":"{NUMBER}"}}"#));
    let ask = Ask::send("POST", PODS, body.as_bytes());
    write(&Server::with_admission(), &ask, "\"serviceAccountToken\"")
}

pub(super) fn create_pod_protobuf(_: Scale) -> Run {
    let text = objects::pod(&format!("web-{NUMBER}"));
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "Pod").expect("it is built in").ty;
    let pod =
        json::decode_typed(&arena, schema, ty, text.as_bytes(), Mode::Strict).expect("a good pod").value;
    let mut body = Vec::new();
    protobuf::encode_object(schema, ty, &pod, "v1", "Pod", &mut body);
    let content_type = "application/vnd.kubernetes.protobuf";
    let ask = Ask { content_type, accept: content_type, ..Ask::send("POST", PODS, &body) };
    write(&Server::new(), &ask, "k8s\0")
}

/// A change of the ConfigMap that every server of these scenarios has.
fn change(method: &str, content_type: &str, target: &str, body: &str) -> Run {
    let server = Server::new();
    server.with_config_map();
    let ask = Ask { content_type, ..Ask::send(method, target, body.as_bytes()) };
    write(&server, &ask, "\"resourceVersion\"")
}

pub(super) fn update_config_map(_: Scale) -> Run {
    let body = objects::config_map("settings").replace("0.0.0.0:8080", NUMBER);
    change("PUT", "application/json", CONFIG_MAP, &body)
}

pub(super) fn update_pod_status(_: Scale) -> Run {
    let server = Server::new();
    let pod = server.with_pod();
    let status = objects::pod_status(NUMBER);
    // As a kubelet sends it: the whole pod with another status. No version, so that each one is taken.
    let text = store::without_version(&pod);
    let body = text.rsplit_once(r#","status":{"#).map(|(pod, _)| format!("{{{pod},{status}}}"));
    let body = body.expect("a pod's status is its last member");
    let ask = Ask::send("PUT", "/api/v1/namespaces/default/pods/web-00000/status", body.as_bytes());
    write(&server, &ask, "\"resourceVersion\"")
}

pub(super) fn merge_patch_config_map(_: Scale) -> Run {
    let body = format!(r#"{{"data":{{"log.level":"level-{NUMBER}"}}}}"#);
    change("PATCH", "application/merge-patch+json", CONFIG_MAP, &body)
}

pub(super) fn apply_config_map(_: Scale) -> Run {
    let body = objects::config_map("applied").replace("0.0.0.0:8080", NUMBER);
    let target = format!("{CONFIG_MAPS}/applied?fieldManager=controller&force=true");
    change("PATCH", "application/apply-patch+yaml", &target, &body)
}
