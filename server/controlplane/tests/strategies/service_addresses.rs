//! The IPAddress objects that are stored before services are.

use ringbolt_storage::api::{Action, Precondition, Write};
use serde_json::{Value as Json, json};

use super::admission::rig_without;

fn service(addresses: &str) -> String {
    format!(r#"{{"metadata":{{"name":"web","namespace":"ns"}},"spec":{{"clusterIPs":{addresses}}}}}"#)
}

/// Key and stored object of a write that creates one.
fn created(write: &Write) -> (&str, Json) {
    assert_eq!((write.precondition, write.namespace_len), (Precondition::Absent, 0));
    let Action::Put { object, attributes, .. } = &write.action else { panic!("{write:?}") };
    assert!(attributes.labels.contains("ip-family"), "{}", attributes.labels);
    let text = format!("{{{}", String::from_utf8_lossy(&object.json));
    (&write.key, serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

#[test]
fn each_new_address_has_one() {
    let rig = rig_without(&[]);
    let writes = rig.charges("/v1/services", &service(r#"["10.0.0.9","fd00::9"]"#), None);
    assert_eq!(writes.len(), 2);
    for (write, address, family) in [(&writes[0], "10.0.0.9", "IPv4"), (&writes[1], "fd00::9", "IPv6")] {
        let (key, object) = created(write);
        assert_eq!(key, address);
        assert_eq!(
            object["spec"],
            json!({"parentRef": {"resource": "services", "namespace": "ns", "name": "web"}})
        );
        let meta = &object["metadata"];
        assert_eq!(
            (
                meta["name"].as_str(),
                meta["uid"].as_str().map(str::len),
                meta["managedFields"][0]["manager"].as_str()
            ),
            (Some(address), Some(36), Some("kube-apiserver"))
        );
        let labels = json!({
            "ipaddress.kubernetes.io/ip-family": family,
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        });
        assert_eq!(meta["labels"], labels);
    }
}

#[test]
fn what_a_service_has_is_not_made_again() {
    let rig = rig_without(&[]);
    let check = |addresses: &str, old: Option<&str>, expect: &[&str]| {
        let old = old.map(service);
        let writes = rig.charges("/v1/services", &service(addresses), old.as_deref());
        let keys: Vec<&str> = writes.iter().map(|w| &*w.key).collect();
        assert_eq!(keys, expect, "{addresses}");
    };
    check(r#"["None"]"#, None, &[]);
    check("[]", None, &[]);
    check(r#"["10.0.0.9"]"#, Some(r#"["10.0.0.9"]"#), &[]);
    check(r#"["10.0.0.9","fd00::9"]"#, Some(r#"["10.0.0.9"]"#), &["fd00::9"]);
    // Of a create that failed when this was stored already.
    let address = r#"{"metadata":{"name":"10.0.0.7"},"spec":{"parentRef":{"resource":"services","namespace":"ns","name":"web"}}}"#;
    rig.store("networking.k8s.io/v1/ipaddresses", "", address);
    check(r#"["10.0.0.7"]"#, None, &[]);
}

#[test]
fn one_that_nobody_has_any_more_gives_way() {
    let rig = rig_without(&[]);
    let address = r#"{"metadata":{"name":"10.0.0.9"},"spec":{"parentRef":{"resource":"services","namespace":"ns","name":"gone"}}}"#;
    rig.store("networking.k8s.io/v1/ipaddresses", "", address);
    let writes = rig.charges("/v1/services", &service(r#"["10.0.0.9"]"#), None);
    let [delete, create] = &writes[..] else { panic!("{writes:?}") };
    assert!(matches!(
        (&delete.action, delete.precondition),
        (Action::Delete { .. }, Precondition::Revision(_))
    ));
    assert_eq!(created(create).1["spec"]["parentRef"]["name"], "web");
}
