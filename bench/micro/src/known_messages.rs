//! The same of pods that come in protobuf, as controllers send them, and of what is answered in protobuf.

use bumpalo::Bump;
use ringbolt_machinery::{
    json::{self, Mode},
    protobuf,
    schema::{Schema, StructId, Type},
    value::Value,
};

use crate::{
    client::Client,
    known_specs::{METADATA, masked, specs},
    objects,
    requests::Ask,
    server::Server,
};

const PODS: &str = "/api/v1/namespaces/default/pods";
const DRY: &str = "/api/v1/namespaces/default/pods?dryRun=All";
const TYPE: &str = "application/vnd.kubernetes.protobuf";

fn pod_type() -> StructId {
    Schema::builtin().kind("", "v1", "Pod").expect("it is built in").ty
}

/// The messages of a pod's metadata, spec and status.
fn parts(text: &str) -> [Vec<u8>; 3] {
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let pod = json::decode_typed(&arena, schema, pod_type(), text.as_bytes(), Mode::Lenient);
    let pod = pod.expect("it can be read").value;
    ["metadata", "spec", "status"].map(|member| {
        let (_, field) = schema.get(pod_type()).field(member).expect("pods have it");
        let Type::Struct(ty) = field.ty else { panic!("it is a message") };
        let mut out = Vec::new();
        protobuf::encode(schema, ty, pod.path(&[member]).unwrap_or(&Value::Null), &mut out);
        out
    })
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field that is a message.
fn field(number: usize, message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3 | 2, &mut out);
    varint(message.len(), &mut out);
    out.extend_from_slice(message);
    out
}

/// A field that no type has, another one for each number: it is passed over.
fn unheard_of(number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    varint(15_000 << 3, &mut out);
    varint(number, &mut out);
    out
}

fn body(fields: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    protobuf::encode_unknown("v1", "Pod", fields, &mut out);
    out
}

fn whole(text: &str) -> Vec<u8> {
    let [metadata, spec, status] = parts(text);
    [field(1, &metadata), field(2, &spec), field(3, &status)].concat()
}

fn ask<'a>(target: &'a str, body: &'a [u8], accept: &'a str) -> Ask<'a> {
    Ask { content_type: TYPE, accept, ..Ask::send("POST", target, body) }
}

/// What is answered in JSON to a pod that is not stored.
fn post(server: &Server, fields: &[u8]) -> String {
    let body = body(fields);
    let answer = Client::http1(server).ask(&ask(DRY, &body, "application/json"));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head ends");
    let is_kept = |line: &&str| line.starts_with("HTTP/") || line.to_ascii_lowercase().starts_with("warning");
    let kept = head.lines().filter(is_kept);
    masked(format!("{}\n{body}", kept.collect::<Vec<_>>().join("\n")))
}

#[test]
fn a_known_spec_makes_the_pod_that_an_unknown_one_makes() {
    let server = Server::with_admission();
    let mut number = 0;
    for spec in specs() {
        for (metadata, status) in METADATA {
            let text = format!(r#"{{"metadata":{{"name":"web"{metadata}}},"spec":{spec}{status}}}"#);
            if !text.contains("\"spec\":{") {
                continue;
            }
            let [metadata, mut spec, status] = parts(&text);
            let known = post(&server, &[field(1, &metadata), field(2, &spec), field(3, &status)].concat());
            // Fields in another order, and more of them: the spec is the same.
            let turned = [field(2, &spec), unheard_of(7), field(3, &status), field(1, &metadata)].concat();
            assert_eq!(known, post(&server, &turned), "{text}");
            // The same, and never seen before.
            number += 1;
            spec.extend(unheard_of(number));
            let unknown = [field(1, &metadata), field(2, &spec), field(3, &status)].concat();
            assert_eq!(known, post(&server, &unknown), "{text}");
            // As it came in JSON.
            let answer = Client::http1(&server).ask(&Ask::send("POST", DRY, text.as_bytes()));
            let (_, json) = answer.split_once("\r\n\r\n").expect("a head ends");
            assert!(known.ends_with(&masked(json.to_owned())), "{text}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_message_is_said_whether_its_spec_is_known_or_not() {
    let server = Server::with_admission();
    let [metadata, spec, status] = parts(&objects::new_pod("web"));
    let (metadata, status) = (field(1, &metadata), field(3, &status));
    let good = [metadata.clone(), field(2, &spec), status.clone()].concat();
    for _ in 0..4 {
        assert!(post(&server, &good).starts_with("HTTP/1.1 201"));
    }
    let other =
        parts(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node-008","containers":[]}}"#)[1].clone();
    let wrong = [
        // Two specs are merged.
        [good.clone(), field(2, &other)].concat(),
        [metadata.clone(), field(2, &other), field(2, &spec)].concat(),
        [good.clone(), field(2, &spec)].concat(),
        // No message, none that ends, one that is cut off.
        [metadata.clone(), vec![2 << 3, 1], status.clone()].concat(),
        [good.clone(), vec![1 << 3 | 2, 100]].concat(),
        [good.clone(), vec![0]].concat(),
        good[..good.len() - 3].to_vec(),
        [metadata.clone(), status.clone()].concat(),
        [field(2, &spec), status].concat(),
    ];
    for fields in wrong {
        // With a spec that is known, and with one that never was.
        let known = post(&server, &fields);
        let fresh = Server::with_admission();
        assert_eq!(known, post(&fresh, &fields), "{fields:?}");
    }
}

#[test]
fn what_is_answered_in_protobuf_is_what_is_stored() {
    let server = Server::with_admission();
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let accounts = r#""serviceAccountName":"default","automountServiceAccountToken":false"#;
    for (at, spec) in specs().into_iter().filter(|spec| spec.contains("image")).enumerate() {
        let plain = spec.replacen('{', &format!("{{{accounts},"), 1);
        for spec in [spec, plain] {
            for round in 0..6 {
                let name = format!("web-{at}-{round}-{}", spec.len());
                let text = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{spec}}}"#);
                let message = body(&whole(&text));
                let mut client = Client::http1(&server);
                let answer = match round % 2 {
                    0 => client.ask_bytes(&ask(PODS, &message, TYPE)).to_vec(),
                    // In JSON by one who wants protobuf.
                    _ => {
                        let ask = Ask { accept: TYPE, ..Ask::send("POST", PODS, text.as_bytes()) };
                        client.ask_bytes(&ask).to_vec()
                    }
                };
                if !answer.starts_with(b"HTTP/1.1 201") {
                    continue;
                }
                let target = format!("{PODS}/{name}");
                let shown = Client::http1(&server).ask(&Ask::get(&target));
                let (_, shown) = shown.split_once("\r\n\r\n").expect("a head ends");
                let stored = shown.trim_end().replacen(r#"{"kind":"Pod","apiVersion":"v1","#, "", 1);
                let mut expect = Vec::new();
                let done =
                    protobuf::encode_stored(&arena, schema, pod_type(), stored.as_bytes(), &mut expect);
                let is_there = answer.windows(expect.len()).any(|part| part == expect);
                assert!(done && is_there, "{round} {text}");
            }
        }
    }
}

#[test]
fn what_admission_looks_at_may_change_between_two() {
    let json = objects::new_pod("web");
    let message = whole(&json);
    let server = Server::with_admission();
    let mut seen = 0;
    let mut compare = |server: &Server, what: &str| {
        let as_json = || {
            let answer = Client::http1(server).ask(&Ask::send("POST", DRY, json.as_bytes()));
            let (_, body) = answer.split_once("\r\n\r\n").expect("a head ends");
            masked(body.to_owned())
        };
        let [known, known_json] = [post(server, &message), as_json()];
        seen += 1;
        let [metadata, mut spec, status] = parts(&json);
        spec.extend(unheard_of(seen));
        let unknown = [field(1, &metadata), field(2, &spec), field(3, &status)].concat();
        assert_eq!(known, post(server, &unknown), "{what}");
        let spaced = json.replacen(r#""spec":{"#, &format!(r#""spec":{{{}"#, " ".repeat(seen)), 1);
        let answer = Client::http1(server).ask(&Ask::send("POST", DRY, spaced.as_bytes()));
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head ends");
        assert_eq!(known_json, masked(body.to_owned()), "{what}");
        known
    };
    for _ in 0..4 {
        compare(&server, "at first");
    }
    let create = |target: &str, object: &str| {
        server.expect(&Ask::send("POST", target, object.as_bytes()), "HTTP/1.1 201 ");
    };
    create(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        r#"{"metadata":{"name":"usual"},"value":7,"globalDefault":true}"#,
    );
    let usual = compare(&server, "another default priority");
    assert!(usual.contains(r#""priorityClassName":"usual""#), "{usual}");
    create(
        "/api/v1/namespaces/default/limitranges",
        r#"{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"memory":"1Mi"}}]}}"#,
    );
    let limited = compare(&server, "limits");
    assert!(limited.starts_with("HTTP/1.1 403"), "{limited}");
    let range = "/api/v1/namespaces/default/limitranges/l";
    server.expect(&Ask { method: "DELETE", ..Ask::get(range) }, "HTTP/1.1 200 ");
    let account = r#"{"metadata":{"name":"web"},"automountServiceAccountToken":true}"#;
    create("/api/v1/namespaces/default/serviceaccounts", account);
    compare(&server, "another account");
    create(
        "/api/v1/namespaces/default/resourcequotas",
        r#"{"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}}}"#,
    );
    compare(&server, "a quota");
}
