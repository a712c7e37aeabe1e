//! The allocator over a store in memory.

use ringbolt_machinery::json;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::{Attributes, EncodedObject, Inspect},
};

use super::*;

const SERVICES: ResourceId = ResourceId(0);
const IP_ADDRESSES: ResourceId = ResourceId(1);
const SELECTS: &str = r#"{"selector":{"a":"b"}}"#;

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

fn store() -> Arc<dyn Storage> {
    let options =
        EmbeddedOptions::new(vec!["services".into(), "ipaddresses".into()], None, Arc::new(NoAttributes));
    Embedded::open(options, Box::new(MemoryDisk::default())).unwrap()
}

fn allocator(store: &Arc<dyn Storage>, ranges: &[&str]) -> ServiceAllocator {
    let allocator = ServiceAllocator::default();
    let ranges = ranges.iter().map(|r| AddressRange::parse(r).unwrap()).collect();
    allocator.start(store.clone(), SERVICES, IP_ADDRESSES, ranges, PortRange { first: 30000, last: 30003 });
    allocator
}

/// A service of the namespace `a`, after what defaults do.
fn service(name: &str, spec: &str) -> String {
    let spec = spec.trim_start_matches('{');
    let kind = if spec.contains("\"type\"") { "" } else { r#""type":"ClusterIP","# };
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"a"}},"spec":{{{kind}{spec}}}"#)
}

/// The service with what it was given, and why it cannot be.
fn complete(allocator: &ServiceAllocator, new: &str, old: Option<&str>) -> (String, Vec<String>) {
    completed(allocator, new, old, false)
}

fn completed(
    allocator: &ServiceAllocator,
    new: &str,
    old: Option<&str>,
    dry_run: bool,
) -> (String, Vec<String>) {
    let arena = Bump::new();
    let read = |text: &str| json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
    let (mut object, old) = (read(new), old.map(read));
    let errors = allocator.complete(&arena, &mut object, old.as_ref(), dry_run).err().unwrap_or_default();
    let mut out = Vec::new();
    json::encode_untyped(&object, &mut out);
    (String::from_utf8(out).unwrap(), errors.iter().map(ToString::to_string).collect())
}

fn accepted(allocator: &ServiceAllocator, new: &str) -> String {
    let (object, errors) = complete(allocator, new, None);
    assert!(errors.is_empty(), "{new}: {errors:?}");
    object
}

fn text<'o>(object: &'o str, member: &str) -> &'o str {
    let start = object.find(&format!("\"{member}\":")).unwrap() + member.len() + 3;
    let rest = object[start..].trim_start_matches('"');
    rest.split(['"', ',', '}']).next().unwrap()
}

fn write(store: &Arc<dyn Storage>, name: &str, precondition: Precondition, action: Action) -> u64 {
    let key = format!("a/{name}").into();
    let write =
        Write { resource: SERVICES, key, namespace_len: 1, precondition, needs_namespace: false, action };
    store.submit(write).wait().unwrap().revision
}

fn create(store: &Arc<dyn Storage>, name: &str, object: &str) -> u64 {
    let json = object.trim_start_matches('{').to_owned();
    let splice = u32::try_from(json.find("\"name\"").unwrap()).unwrap();
    let object = EncodedObject { json: json.into(), splice };
    let action = Action::Put { object, attributes: Attributes::default(), ttl: None };
    write(store, name, Precondition::Absent, action)
}

#[test]
fn no_two_services_get_the_same_before_they_are_stored() {
    let store = store();
    let allocator = allocator(&store, &["10.0.0.0/29"]);
    let mut given: Vec<String> = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        given.push(text(&accepted(&allocator, &service(name, SELECTS)), "clusterIP").to_owned());
    }
    given.sort();
    given.dedup();
    assert_eq!(given.len(), 6);
    let (_, errors) = complete(&allocator, &service("g", SELECTS), None);
    assert_eq!(errors, ["spec.clusterIPs: Invalid value: null: failed to allocate IP: range is full"]);
}

#[test]
fn what_is_stored_is_taken_until_it_is_deleted() {
    let store = store();
    let asks = |name: &str| service(name, r#"{"clusterIP":"10.0.0.5","clusterIPs":["10.0.0.5"]}"#);
    let first = accepted(&allocator(&store, &["10.0.0.0/24"]), &asks("first"));
    let revision = create(&store, "first", &first);
    // An allocator that starts later knows it from the store.
    let allocator = allocator(&store, &["10.0.0.0/24"]);
    let taken = [
        r#"spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated"#,
    ];
    assert_eq!(complete(&allocator, &asks("second"), None).1, taken);
    write(&store, "first", Precondition::Revision(revision), Action::Delete { last: None });
    assert!(complete(&allocator, &asks("second"), None).1.is_empty());
}

#[test]
fn addresses_outside_of_the_range() {
    let allocator = allocator(&store(), &["10.0.0.0/24"]);
    let check = |address: &str, expect: &str| {
        let spec = format!(r#"{{"clusterIP":"{address}","clusterIPs":["{address}"]}}"#);
        let expect = format!(
            r#"spec.clusterIPs: Invalid value: ["{address}"]: failed to allocate IP {address}: {expect}"#
        );
        assert_eq!(complete(&allocator, &service("x", &spec), None).1, [expect]);
    };
    check("10.1.0.5", "the provided network does not match the current range");
    // A network's own address and its broadcast address are no addresses of services.
    check("10.0.0.255", "the provided network does not match the current range");
    check("10.0.0.0", "the provided network does not match the current range");
}

#[test]
fn an_update_keeps_what_the_service_has() {
    let store = store();
    let allocator = allocator(&store, &["10.0.0.0/24"]);
    let ports = r#"{"type":"NodePort","ports":[{"port":80}]}"#;
    let old = accepted(&allocator, &service("x", ports));
    create(&store, "x", &old);
    let (new, errors) = complete(&allocator, &old, Some(&old));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(new, old);
    assert!((30000..=30003).contains(&text(&old, "nodePort").parse::<u16>().unwrap()));
}

#[test]
fn what_is_somebody_elses_is_not_given() {
    let store = store();
    let reserve = |address: &str, parent: &str| {
        let json = format!(r#""metadata":{{"name":"{address}"}},"spec":{{"parentRef":{parent}}}}}"#);
        let object = EncodedObject { json: json.into(), splice: r#""metadata":{"#.len() as u32 };
        let action = Action::Put { object, attributes: Attributes::default(), ttl: None };
        let (precondition, key) = (Precondition::Absent, address.into());
        let resource = IP_ADDRESSES;
        let write = Write { resource, key, namespace_len: 0, precondition, needs_namespace: false, action };
        store.submit(write).wait().unwrap();
    };
    reserve("10.0.0.5", r#"{"group":"example.org","resource":"gateways","name":"g"}"#);
    // Left behind by a service that is no more.
    reserve("10.0.0.6", r#"{"resource":"services","namespace":"a","name":"gone"}"#);
    let allocator = allocator(&store, &["10.0.0.0/24"]);
    let ask = |address: &str| {
        let spec = format!(r#"{{"clusterIP":"{address}","clusterIPs":["{address}"]}}"#);
        complete(&allocator, &service("x", &spec), None).1
    };
    assert_eq!(
        ask("10.0.0.5"),
        [
            r#"spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated"#
        ]
    );
    assert!(ask("10.0.0.6").is_empty());
}

#[test]
fn node_ports() {
    let allocator = allocator(&store(), &["10.0.0.0/24"]);
    let ask = |name: &str, port: u16| {
        let spec = format!(r#"{{"type":"NodePort","ports":[{{"port":80,"nodePort":{port}}}]}}"#);
        complete(&allocator, &service(name, &spec), None).1
    };
    assert!(ask("x", 30001).is_empty());
    assert_eq!(
        ask("y", 30001),
        ["spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"]
    );
    assert_eq!(
        ask("y", 80),
        [
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30003"
        ]
    );
}

#[test]
fn dry_runs_take_nothing() {
    let allocator = allocator(&store(), &["10.0.0.0/24"]);
    let ask = |name: &str, address: &str, port: i64| {
        let spec = format!(
            r#"{{"type":"NodePort","clusterIP":"{address}","clusterIPs":["{address}"],"ports":[{{"port":80,"nodePort":{port}}}]}}"#
        );
        completed(&allocator, &service(name, &spec), None, true).1
    };
    assert!(ask("x", "10.0.0.5", 30001).is_empty());
    assert!(ask("y", "10.0.0.5", 30001).is_empty());
    // Whether a port is in range is not looked at, and validation says what no port can be.
    assert!(ask("y", "10.0.0.5", 80).is_empty() && ask("y", "10.0.0.5", -1).is_empty());
    assert_eq!(
        ask("y", "10.0.1.5", 30001),
        [
            r#"spec.clusterIPs: Invalid value: ["10.0.1.5"]: failed to allocate IP 10.0.1.5: the provided network does not match the current range"#
        ]
    );
    let (object, errors) = completed(&allocator, &service("x", r#"{"type":"ClusterIP"}"#), None, true);
    assert!(errors.is_empty() && object.contains(r#""clusterIP":"10.0.0.0""#), "{object}");
    // What a service that is stored has stays its own.
    assert!(
        complete(
            &allocator,
            &service("z", r#"{"type":"NodePort","ports":[{"port":80,"nodePort":30001}]}"#),
            None
        )
        .1
        .is_empty()
    );
    assert_eq!(
        ask("y", "10.0.0.5", 30001),
        ["spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"]
    );
}

#[test]
fn two_families() {
    let allocator = allocator(&store(), &["10.0.0.0/24", "fd00::/108"]);
    let object = accepted(&allocator, &service("x", r#"{"ipFamilyPolicy":"PreferDualStack"}"#));
    assert!(object.contains(r#""ipFamilies":["IPv4","IPv6"]"#), "{object}");
    assert!(object.contains(r#""clusterIPs":["10.0.0."#) && object.contains(r#""fd00::"#), "{object}");
    let one = self::allocator(&store(), &["10.0.0.0/24"]);
    let (_, errors) = complete(&one, &service("x", r#"{"ipFamilyPolicy":"RequireDualStack"}"#), None);
    assert_eq!(
        errors,
        [
            r#"spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services"#
        ]
    );
}

#[test]
fn a_health_check_has_a_port_of_its_own() {
    let store = store();
    let allocator = allocator(&store, &["10.0.0.0/24"]);
    let spec = |port: u32| {
        format!(
            r#"{{"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":{port},"ports":[{{"port":80,"nodePort":30001}}]}}"#
        )
    };
    let (_, errors) = complete(&allocator, &service("x", &spec(30001)), None);
    assert_eq!(
        errors,
        ["spec.healthCheckNodePort: Invalid value: 30001: provided port is already allocated"]
    );
    let (_, errors) = complete(&allocator, &service("x", &spec(30002)), None);
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn what_is_not_stored_is_given_back() {
    let allocator = allocator(&store(), &["10.0.0.0/24"]);
    let asks = |name: &str| service(name, r#"{"clusterIP":"10.0.0.5","clusterIPs":["10.0.0.5"]}"#);
    let claim = |name: &str| {
        let arena = Bump::new();
        let text = asks(name);
        let mut object = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        allocator.complete(&arena, &mut object, None, false).map(Option::unwrap)
    };
    // Two attempts for one service: the address is free once both are given up.
    let (first, second) = (claim("x").unwrap(), claim("x").unwrap());
    assert!(claim("y").is_err());
    allocator.release(first);
    assert!(claim("y").is_err());
    allocator.release(second);
    assert!(claim("y").is_ok());
}

#[test]
fn what_was_handed_out_is_counted_and_what_is_left_is_told() {
    let store = store();
    let allocator = allocator(&store, &["10.0.0.0/28"]);
    // The address that is asked for comes first: what is handed out may be any that is left.
    accepted(
        &allocator,
        &service("a", r#"{"clusterIP":"10.0.0.3","clusterIPs":["10.0.0.3"],"ports":[{"port":80}]}"#),
    );
    accepted(&allocator, &service("b", r#"{"type":"NodePort","ports":[{"port":80}]}"#));
    let far = service("c", r#"{"clusterIP":"10.9.9.9","clusterIPs":["10.9.9.9"],"ports":[{"port":80}]}"#);
    assert!(!complete(&allocator, &far, None).1.is_empty());
    // A dry run takes nothing.
    completed(&allocator, &service("d", r#"{"type":"NodePort","ports":[{"port":80}]}"#), None, true);
    let mut out = Exposition::default();
    allocator.collect(&mut out);
    let text = out.finish();
    let range = r#"cidr="10.0.0.0/28""#;
    for line in [
        format!(r#"kube_apiserver_clusterip_allocator_allocation_total{{{range},scope="dynamic"}} 1"#),
        format!(r#"kube_apiserver_clusterip_allocator_allocation_total{{{range},scope="static"}} 1"#),
        format!(r#"kube_apiserver_clusterip_allocator_allocation_errors_total{{{range},scope="static"}} 1"#),
        format!("kube_apiserver_clusterip_allocator_allocation_duration_seconds_count{{{range}}} 3"),
        // Nothing was stored.
        format!("kube_apiserver_clusterip_allocator_allocated_ips{{{range}}} 0"),
        format!("kube_apiserver_clusterip_allocator_available_ips{{{range}}} 14"),
        r#"kube_apiserver_nodeport_allocator_allocation_total{scope="dynamic"} 1"#.to_owned(),
        "kube_apiserver_nodeport_allocator_available_ports 4".to_owned(),
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line} is not in\n{text}");
    }
}
