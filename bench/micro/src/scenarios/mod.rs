//! The scenarios, a file for each part of the server.

mod authorization;
mod codecs;
mod node_authorization;
mod protocol;
mod reads;
mod storage;
mod watches;
mod writes;

use crate::{Run, Scale, Scenario};

/// All scenarios, whole requests first.
pub const ALL: &[Scenario] = &[
    scenario(
        "get_http1",
        "GET of a ConfigMap of 1 KiB as kubectl asks it, from bytes to bytes, allowed by a role and with a seat",
        400,
        reads::get_http1,
    ),
    scenario("get_http2", "the same as client-go asks it on a warm connection", 400, reads::get_http2),
    scenario("get_http2_protobuf", "the same in protobuf, converted before", 400, reads::get_http2_protobuf),
    scenario(
        "get_http2_unguarded",
        "the same by an administrator, whom no role is asked about, without priority and fairness",
        400,
        reads::get_http2_unguarded,
    ),
    scenario(
        "get_http2_service_account",
        "the GET of a pod that shows its service account's token, verified before",
        400,
        reads::get_http2_service_account,
    ),
    scenario("list_json", "LIST of 1,000 pods of 4 KiB in JSON", 10, reads::list_json),
    scenario(
        "list_protobuf",
        "LIST of the same pods in protobuf, each converted before",
        10,
        reads::list_protobuf,
    ),
    scenario("list_page", "a page of 100 of 1,000 pods with its continue token", 50, reads::list_page),
    scenario("list_labels", "LIST of 1,000 pods by a label that none has", 20, reads::list_labels),
    scenario("list_fields", "LIST of 1,000 pods by spec.nodeName, which none has", 2, reads::list_fields),
    scenario(
        "create_config_map",
        "POST of a ConfigMap of 1 KiB, durable, both threads",
        100,
        writes::create_config_map,
    ),
    scenario(
        "create_pod",
        "POST of a pod of 4 KiB in JSON, of a spec that came before",
        50,
        writes::create_pod,
    ),
    scenario(
        "create_pod_admitted",
        "POST of a pod as a ReplicaSet makes it, of a spec that came before, through the admission plugins that are on by default",
        50,
        writes::create_pod_admitted,
    ),
    scenario(
        "create_pod_new_spec",
        "the same where each pod has a spec of its own",
        50,
        writes::create_pod_new_spec,
    ),
    scenario("create_pod_protobuf", "POST of a pod of 4 KiB in protobuf", 50, writes::create_pod_protobuf),
    scenario(
        "update_config_map",
        "PUT of a ConfigMap of 1 KiB with one value changed",
        100,
        writes::update_config_map,
    ),
    scenario(
        "update_pod_status",
        "PUT of the status of a pod of 5 KiB, one value changed",
        50,
        writes::update_pod_status,
    ),
    scenario(
        "merge_patch_config_map",
        "a JSON merge patch of one value",
        100,
        writes::merge_patch_config_map,
    ),
    scenario(
        "apply_config_map",
        "a server-side apply of one value by the only applier",
        50,
        writes::apply_config_map,
    ),
    scenario(
        "watch_event_http2",
        "one change of a ConfigMap to 100 watches on one HTTP/2 connection",
        50,
        watches::http2,
    ),
    scenario("watch_event_http1", "one change of a ConfigMap to one HTTP/1.1 watch", 100, watches::http1),
    scenario("watch_hub_fan_out", "one event through the hub to 1,000 subscriptions", 20, watches::hub),
    scenario(
        "http1_head",
        "the head of kubectl's GET on a new connection, parsed",
        400,
        protocol::http1_head,
    ),
    scenario(
        "http1_exchange",
        "the same on a warm connection, with an answer of 1 KiB",
        400,
        protocol::http1_exchange,
    ),
    scenario(
        "http2_exchange",
        "client-go's GET on a warm connection, frames and HPACK, with the answer",
        400,
        protocol::http2_exchange,
    ),
    scenario("hpack_first", "the header block of client-go's first GET, decoded", 400, protocol::hpack_first),
    scenario(
        "request_info_and_route",
        "RequestInfo of a GET and the walk of the route table",
        400,
        protocol::request_info_and_route,
    ),
    scenario(
        "filter_chain",
        "an allowed GET through the filter chain to its handler's answer",
        400,
        protocol::filter_chain,
    ),
    scenario(
        "rbac_user",
        "a GET allowed by one of a user's two bindings, of 10,000",
        400,
        authorization::user_with_few,
    ),
    scenario(
        "rbac_groups",
        "a GET allowed by the last of a user's ten groups, 10,000 bindings",
        400,
        authorization::user_in_groups,
    ),
    scenario(
        "rbac_miss",
        "a GET that nothing allows to a user in nine groups, 10,000 bindings",
        400,
        authorization::miss,
    ),
    scenario(
        "rbac_role_changed",
        "a role of 30 rules that 10,000 bindings name, changed and published",
        20,
        authorization::change_of_a_role,
    ),
    scenario(
        "rbac_binding_changed",
        "one of 10,000 bindings changed and published",
        100,
        authorization::change_of_a_binding,
    ),
    scenario(
        "node_config_map",
        "a kubelet's GET of a config map that pods on 1,000 nodes have",
        400,
        node_authorization::config_map,
    ),
    scenario(
        "node_pod",
        "a kubelet's GET of one of its pods, of 30,000 on 1,000 nodes",
        400,
        node_authorization::pod,
    ),
    scenario(
        "node_unrelated",
        "a kubelet's GET of a pod on another node, refused",
        400,
        node_authorization::unrelated,
    ),
    scenario(
        "node_status_written",
        "a running pod's status written, as the keeper of the nodes' graph sees it",
        400,
        node_authorization::status_written,
    ),
    scenario(
        "node_pod_bound",
        "a pod bound and another gone, as the nodes' graph is kept and published",
        100,
        node_authorization::bound_and_gone,
    ),
    scenario(
        "label_selector",
        "a label selector of three requirements on an object's labels",
        400,
        protocol::label_selector,
    ),
    scenario(
        "field_selector",
        "a field selector on spec.nodeName of a stored pod",
        400,
        protocol::field_selector,
    ),
    scenario("scan", "name, namespace and node of a stored pod, read without a tree", 400, codecs::scan),
    scenario("json_decode_pod", "a pod of 4 KiB from JSON to a tree, strictly", 100, codecs::json_decode_pod),
    scenario(
        "json_decode_config_map",
        "a ConfigMap of 1 KiB from JSON to a tree, strictly",
        200,
        codecs::json_decode_config_map,
    ),
    scenario("default_pod", "the defaults of a pod, with its decoding", 100, codecs::default_pod),
    scenario("json_encode_pod", "a pod's tree to its stored form", 100, codecs::json_encode_pod),
    scenario(
        "json_encode_config_map",
        "a ConfigMap's tree to its stored form",
        200,
        codecs::json_encode_config_map,
    ),
    scenario("stored_decode_pod", "a stored pod to a tree", 100, codecs::stored_decode_pod),
    scenario("protobuf_decode_pod", "a pod's protobuf to a tree", 100, codecs::protobuf_decode_pod),
    scenario("protobuf_encode_pod", "a pod's tree to protobuf", 100, codecs::protobuf_encode_pod),
    scenario(
        "protobuf_encode_config_map",
        "a ConfigMap's tree to protobuf",
        200,
        codecs::protobuf_encode_config_map,
    ),
    scenario("store_get", "one object out of 10,000", 400, storage::get),
    scenario("store_list", "a snapshot of 1,000 objects, walked", 50, storage::list),
    scenario("store_write_1", "one write of 1 KiB, on its own", 100, storage::write_1),
    scenario("store_write_64", "64 writes of 1 KiB that wait together", 20, storage::write_64),
    scenario("recovery", "the journal of 10,000 objects of 1 KiB read back", 1, storage::recovery),
];

const fn scenario(name: &'static str, about: &'static str, runs: usize, make: fn(Scale) -> Run) -> Scenario {
    Scenario { name, about, runs, make }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let mut names: Vec<_> = ALL.iter().map(|s| s.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
