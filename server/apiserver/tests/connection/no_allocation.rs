//! A GET of one object, from received bytes to queued bytes, allocates nothing on a warm connection.

use std::sync::Arc;

use ringbolt_apiserver::{authorization::Mode, endpoints, serving::connection::Protocol};
use ringbolt_controlplane::registry;
use ringbolt_counting_allocator::allocations;
use ringbolt_machinery::schema::Schema;

use crate::rig::{Rig, Setup, admit_all, frame, header_block};

const PATH: &str = "/api/v1/namespaces/default/configmaps/settings";

/// A server with everything built in, and one ConfigMap.
fn rig(protocol: Protocol) -> Rig {
    rig_of(protocol, Setup::default().modes)
}

fn rig_of(protocol: Protocol, modes: Vec<Mode>) -> Rig {
    let schema = Schema::builtin();
    let registry = registry::build(schema);
    let setup = Setup { resources: registry.stored_names.clone(), modes, ..Setup::default() };
    let configmaps = registry.find("", "v1", "configmaps").expect("ConfigMaps are built in").stored;
    let mut rig = Rig::new(protocol, setup, |routes| {
        for served in registry.served {
            endpoints::install(routes, schema, served, registry.namespaces, &admit_all());
        }
    });
    store(&mut rig, configmaps);
    rig
}

fn store(rig: &mut Rig, configmaps: ringbolt_storage::object::ResourceId) {
    use ringbolt_storage::{
        api::{Action, Precondition, Write},
        object::{Attributes, EncodedObject},
    };
    let json = format!(
        r#""metadata":{{"name":"settings","namespace":"default","uid":"u"}},"data":{{"text":"{}"}}}}"#,
        "x".repeat(1000)
    );
    let splice = json.find("\"uid\"").expect("a member follows") as u32;
    let write = Write {
        resource: configmaps,
        key: "default/settings".into(),
        namespace_len: 7,
        precondition: Precondition::Absent,
        needs_namespace: false,
        action: Action::Put {
            object: EncodedObject { json: json.into(), splice },
            attributes: Attributes::default(),
            ttl: None,
        },
    };
    rig.site.core.storage.submit(write).wait().expect("nothing is there yet");
}

/// Sends the same bytes again and again, each time as much as `next` makes of a number.
fn check(rig: &mut Rig, mut next: impl FnMut(&mut Vec<u8>, u32)) {
    let mut request = Vec::with_capacity(4096);
    let mut total = 0;
    for round in 0..400 {
        request.clear();
        next(&mut request, round);
        rig.socket.bytes.clear();
        let count = allocations(|| rig.receive(&request));
        let answer = &rig.socket.bytes;
        let whole =
            memchr::memmem::find(answer, b"\"resourceVersion\":\"1\"").is_some() && answer.len() > 1000;
        assert!(whole, "{}", String::from_utf8_lossy(answer));
        // The first ones fill pools and tables.
        if round >= 200 {
            total += count;
        }
    }
    assert_eq!(total, 0, "allocations in 200 requests");
}

#[test]
fn http1() {
    let request = format!(
        "GET {PATH} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kubectl/v1.37.2 (linux/amd64)\r\n\
         Accept: application/json\r\nAuthorization: Bearer good\r\n\r\n"
    );
    check(&mut rig(Protocol::from_alpn(None, 100)), |bytes, _| bytes.extend_from_slice(request.as_bytes()));
}

#[test]
fn allowed_by_a_role() {
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer bound\r\n\r\n");
    let mut rig = rig(Protocol::from_alpn(None, 100));
    check(&mut rig, |bytes, _| bytes.extend_from_slice(request.as_bytes()));
    assert_eq!(dispatched(&rig), 400);
}

/// Requests of ordinary users that got seats.
fn dispatched(rig: &Rig) -> u64 {
    let engine = rig.site.core.flow_control.get().expect("it is on");
    let flows = engine.shared().flows();
    let mine = flows.iter().find(|flow| flow.flow_schema == "global-default").expect("it is built in");
    mine.sum(|cells| &cells.dispatched)
}

#[test]
fn of_a_level_with_seats() {
    // `weak` is nobody's administrator: it is classified by all schemas, and takes a seat.
    let mut rig = rig_of(Protocol::from_alpn(None, 100), vec![Mode::AlwaysAllow]);
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer weak\r\n\r\n");
    check(&mut rig, |bytes, _| bytes.extend_from_slice(request.as_bytes()));
    assert_eq!(dispatched(&rig), 400);
}

#[test]
fn http2() {
    let mut rig = rig(Protocol::from_alpn(Some(b"h2"), 100));
    rig.greet();
    // An ordinary user: allowed by a role, and in need of a seat.
    let block = header_block(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", &format!("{PATH}?resourceVersion=0")),
        ("authorization", "Bearer bound"),
    ]);
    let headers = frame(1, 0x4 | 0x1, 1, &block);
    let window = frame(8, 0, 0, &4096_u32.to_be_bytes());
    check(&mut rig, |bytes, round| {
        bytes.extend_from_slice(&window);
        let at = bytes.len();
        bytes.extend_from_slice(&headers);
        bytes[at + 5..at + 9].copy_from_slice(&(round * 2 + 1).to_be_bytes());
    });
    assert_eq!(dispatched(&rig), 400);
}

#[test]
fn cores_share_nothing_that_a_read_writes() {
    // The store and the route table are the only things cores share; a read leaves their counts as they were.
    let mut rig = rig(Protocol::from_alpn(None, 100));
    let before = Arc::strong_count(&rig.site.core.storage);
    rig.ask(&format!("GET {PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n"));
    assert_eq!(Arc::strong_count(&rig.site.core.storage), before);
}
