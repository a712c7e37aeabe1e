//! Whole reads: GET and LIST, from received bytes to queued bytes.

use crate::{
    Run, Scale,
    client::Client,
    requests::{Ask, PROTOBUF},
    server::Server,
    tokens::Key,
};

const CONFIG_MAP: &str = "/api/v1/namespaces/default/configmaps/settings";

/// Asks the same again and again.
fn repeat(mut client: Client, ask: &Ask<'_>, expect: &str) -> Run {
    let mut repeat = client.repeat(ask, expect);
    Box::new(move || client.run(&mut repeat, 0))
}

pub(super) fn get_http1(_: Scale) -> Run {
    let server = Server::new();
    server.with_config_map();
    repeat(Client::http1(&server), &Ask::get(CONFIG_MAP), "\"kind\":\"ConfigMap\"")
}

pub(super) fn get_http2(_: Scale) -> Run {
    let server = Server::new();
    server.with_config_map();
    repeat(Client::http2(&server), &Ask::get(CONFIG_MAP), "\"kind\":\"ConfigMap\"")
}

pub(super) fn get_http2_protobuf(_: Scale) -> Run {
    let server = Server::new();
    server.with_config_map();
    repeat(Client::http2(&server), &Ask { accept: PROTOBUF, ..Ask::get(CONFIG_MAP) }, "k8s\0")
}

pub(super) fn get_http2_service_account(_: Scale) -> Run {
    let key = Key::new();
    let server = Server::with_tokens(&key);
    server.with_config_map();
    let token = key.sign(&server.with_service_account("web"), &server.with_pod());
    repeat(Client::http2(&server), &Ask { token: &token, ..Ask::get(CONFIG_MAP) }, "\"kind\":\"ConfigMap\"")
}

/// A list of pods, `accept` and `query` as they are.
fn list(pods: usize, accept: &str, query: &str, expect: &str) -> Run {
    let server = Server::new();
    server.with_pods(pods);
    let target = format!("/api/v1/namespaces/default/pods{query}");
    repeat(Client::http2(&server), &Ask { accept, ..Ask::get(&target) }, expect)
}

pub(super) fn list_json(scale: Scale) -> Run {
    list(scale.of(1000), "application/json", "", "\"kind\":\"PodList\"")
}

pub(super) fn list_protobuf(scale: Scale) -> Run {
    list(scale.of(1000), PROTOBUF, "", "PodList")
}

pub(super) fn list_page(scale: Scale) -> Run {
    let query = format!("?limit={}", scale.of(100));
    list(scale.of(1000), "application/json", &query, "\"continue\":\"")
}

pub(super) fn list_labels(scale: Scale) -> Run {
    list(scale.of(1000), "application/json", "?labelSelector=tier%3Dnone", "\"items\":[]")
}

pub(super) fn list_fields(scale: Scale) -> Run {
    list(scale.of(1000), "application/json", "?fieldSelector=spec.nodeName%3Dnone", "\"items\":[]")
}
