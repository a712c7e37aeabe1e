//! Events of watches, from a commit to queued bytes: every stream of a connection gets them, and what is made for them
//! is made once.

use ringbolt_apiserver::{endpoints, serving::connection::Protocol};
use ringbolt_controlplane::registry;
use ringbolt_counting_allocator::allocations;
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::{Attributes, EncodedObject, ResourceId},
};

use crate::rig::{Rig, Setup, admit_all, frame, h2_request};

const PATH: &str = "/api/v1/namespaces/default/configmaps?watch=true";

/// A server with everything built in, a greeted connection on it, and the number of ConfigMaps.
fn rig() -> (Rig, ResourceId) {
    let schema = Schema::builtin();
    let registry = registry::build(schema);
    let setup = Setup { resources: registry.stored_names.clone(), ..Setup::default() };
    let configmaps = registry.find("", "v1", "configmaps").expect("ConfigMaps are built in").stored;
    let mut rig = Rig::new(Protocol::from_alpn(Some(b"h2"), 100), setup, |routes| {
        for served in registry.served {
            endpoints::install(routes, schema, served, registry.namespaces, &admit_all());
        }
    });
    rig.greet();
    // Windows that do not end within a test.
    let window = 0x7fff_0000_u32;
    let mut setting = vec![0, 4];
    setting.extend_from_slice(&window.to_be_bytes());
    rig.receive(&frame(4, 0, 0, &setting));
    rig.receive(&frame(8, 0, 0, &(window - 65_535).to_be_bytes()));
    rig.sent();
    (rig, configmaps)
}

/// Writes the ConfigMap anew, with a payload of so many bytes.
fn write(rig: &Rig, resource: ResourceId, length: usize) {
    let text = "x".repeat(length);
    let json = format!(
        r#""metadata":{{"name":"seen","namespace":"default","uid":"u"}},"data":{{"text":"{text}"}}}}"#
    );
    let splice = json.find("\"uid\"").expect("a member follows") as u32;
    let stored = rig.site.core.storage.get(resource, "default/seen");
    let write = Write {
        resource,
        key: "default/seen".into(),
        namespace_len: 7,
        precondition: stored.map_or(Precondition::Absent, |object| Precondition::Revision(object.revision)),
        needs_namespace: false,
        action: Action::Put {
            object: EncodedObject { json: json.into(), splice },
            attributes: Attributes::default(),
            ttl: None,
        },
    };
    rig.site.core.storage.submit(write).wait().expect("nobody else writes");
}

/// Hands committed events on, as the core does when it is woken.
fn deliver(rig: &mut Rig) {
    while rig.site.core.hub.pump().more {}
    rig.wants = rig.connection.woken(&mut rig.socket);
}

/// The payloads of DATA frames, by stream.
fn bodies(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut all: Vec<(u32, &[u8])> = Vec::new();
    while bytes.len() >= 9 {
        let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
        assert_eq!(bytes[3], 0, "nothing but DATA is expected");
        all.push((stream, &bytes[9..9 + length]));
        bytes = &bytes[9 + length..];
    }
    assert!(bytes.is_empty(), "frames are whole");
    all
}

/// Opens so many watches of the ConfigMaps and takes what they begin with.
fn watch(rig: &mut Rig, streams: u32) {
    for stream in 0..streams {
        rig.receive(&h2_request(2 * stream + 1, "GET", PATH));
    }
    rig.sent();
}

#[test]
fn every_stream_gets_every_event_in_order() {
    let (mut rig, configmaps) = rig();
    watch(&mut rig, 40);
    // Small ones leave at once, large ones wait for their turn, and neither overtakes the other.
    let lengths = [10, 3_000, 20_000, 900, 5_000, 100];
    for length in lengths {
        write(&rig, configmaps, length);
    }
    deliver(&mut rig);
    let mut texts = vec![Vec::new(); 40];
    for (stream, part) in bodies(&rig.socket.bytes) {
        texts[(stream / 2) as usize].extend_from_slice(part);
    }
    let mut rest = Vec::new();
    // What did not fit goes on as the socket takes bytes.
    while rig.wants.drained {
        rig.socket.bytes.clear();
        rig.wants = rig.connection.pump(&mut rig.socket);
        for (stream, part) in bodies(&rig.socket.bytes) {
            texts[(stream / 2) as usize].extend_from_slice(part);
        }
        rest.push(rig.socket.bytes.len());
    }
    assert!(rest.iter().sum::<usize>() > 256 << 10, "more than a connection queues at once: {rest:?}");
    for text in &texts {
        let lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), lengths.len() + 1);
        for (index, (line, length)) in lines.iter().zip(lengths).enumerate() {
            let kind = if index == 0 { "ADDED" } else { "MODIFIED" };
            let line = std::str::from_utf8(line).expect("text");
            assert!(
                line.starts_with(&format!("{{\"type\":\"{kind}\",\"object\":{{\"kind\":\"ConfigMap\"")),
                "{line}"
            );
            assert!(line.ends_with(&format!("\"{}\"}}}}}}", "x".repeat(length))), "{line}");
            assert!(line.contains(&format!("\"resourceVersion\":\"{}\"", index + 1)), "{line}");
        }
        assert_eq!(*text, texts[0], "all streams get the same");
    }
}

/// Allocations of delivering 100 events to so many streams, once everything is warm.
fn per_hundred_events(streams: u32) -> usize {
    let (mut rig, configmaps) = rig();
    watch(&mut rig, streams);
    let mut total = 0;
    for round in 0..200 {
        write(&rig, configmaps, 1_000);
        rig.socket.bytes.clear();
        let count = allocations(|| deliver(&mut rig));
        assert_eq!(bodies(&rig.socket.bytes).len(), streams as usize);
        if round >= 100 {
            total += count;
        }
    }
    total
}

#[test]
fn what_a_watch_allocates_is_shared() {
    // One watcher: the frame, and the piece it leaves in with its count.
    let one = per_hundred_events(1);
    assert!(one <= 100 * 6, "{one} allocations for 100 events to one watcher");
    // Eighty of them: the same frame, and a piece for every fourteen.
    let eighty = per_hundred_events(80);
    assert!(eighty <= 100 * 80 / 4, "{eighty} allocations for 100 events to eighty watchers");
}

/// Streamed answers are counted when their body is out.
#[test]
fn a_list_in_parts_and_a_watch_that_ends_are_counted() {
    let (mut rig, configmaps) = rig();
    // Longer than what is answered in one piece, shorter than what a stream may queue.
    write(&rig, configmaps, 200_000);
    let counted = |rig: &Rig, verb: &str| {
        let metrics = rig.site.director.metrics.render();
        let mut lines =
            metrics.lines().filter(|line| line.starts_with("apiserver_request_total{code=\"200\""));
        lines.find(|line| line.contains(verb)).map(|line| line.rsplit(' ').next().unwrap_or("").to_owned())
    };
    rig.receive(&h2_request(1, "GET", "/api/v1/namespaces/default/configmaps"));
    assert!(rig.sent().len() > 200_000);
    assert_eq!(counted(&rig, "verb=\"LIST\"").as_deref(), Some("1"));
    let bytes = rig.site.director.metrics.render();
    let sum =
        bytes.lines().find(|line| line.starts_with("apiserver_response_sizes_sum") && line.contains("LIST"));
    let sum = sum.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap();
    assert!(sum > 200_000.0, "{sum}");

    rig.receive(&h2_request(3, "GET", PATH));
    assert_eq!(counted(&rig, "verb=\"WATCH\""), None);
    rig.wants = rig.connection.drain(&mut rig.socket);
    assert_eq!(counted(&rig, "verb=\"WATCH\"").as_deref(), Some("1"));
}
