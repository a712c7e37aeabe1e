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

/// A guarded server with the ConfigMap.
fn guarded(scale: Scale) -> Server {
    let server = Server::guarded(scale);
    server.with_config_map();
    server
}

/// The same again and again, as a flow of `flow_schema`: whoever reads the figure is to know that a seat was taken.
fn repeat_in(server: &Server, flow_schema: &str, client: Client, ask: &Ask<'_>, expect: &str) -> Run {
    let before = server.dispatched(flow_schema);
    let run = repeat(client, ask, expect);
    assert!(server.dispatched(flow_schema) > before, "no flow of {flow_schema}");
    run
}

pub(super) fn get_http1(scale: Scale) -> Run {
    let server = guarded(scale);
    let ask = Ask::get(CONFIG_MAP).of_user();
    repeat_in(&server, "global-default", Client::http1(&server), &ask, "\"kind\":\"ConfigMap\"")
}

pub(super) fn get_http2(scale: Scale) -> Run {
    let server = guarded(scale);
    let ask = Ask::get(CONFIG_MAP).of_user();
    repeat_in(&server, "global-default", Client::http2(&server), &ask, "\"kind\":\"ConfigMap\"")
}

/// By an administrator, whom no role is asked about, and without priority and fairness.
pub(super) fn get_http2_unguarded(_: Scale) -> Run {
    let server = Server::new();
    server.with_config_map();
    repeat(Client::http2(&server), &Ask::get(CONFIG_MAP), "\"kind\":\"ConfigMap\"")
}

pub(super) fn get_http2_protobuf(scale: Scale) -> Run {
    let server = guarded(scale);
    let ask = Ask { accept: PROTOBUF, ..Ask::get(CONFIG_MAP).of_user() };
    repeat_in(&server, "global-default", Client::http2(&server), &ask, "k8s\0")
}

pub(super) fn get_http2_service_account(scale: Scale) -> Run {
    let key = Key::new();
    let server = Server::with_tokens(scale, &key);
    server.with_config_map();
    let token = key.sign(&server.with_service_account("web"), &server.with_pod());
    let ask = Ask { token: &token, ..Ask::get(CONFIG_MAP) };
    repeat_in(&server, "service-accounts", Client::http2(&server), &ask, "\"kind\":\"ConfigMap\"")
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
