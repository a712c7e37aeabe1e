//! What is on the wire: HTTP/1.1 and HTTP/2, plain and over TLS, and what becomes of those who mean harm.

mod floods;
mod h1;
mod h2;
mod idle;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use ringbolt_tests::{http1::Connection, server::Server};
use serde_json::{Value, json};

const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";

fn configmap(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A create whose body is one JSON object of exactly `size` bytes.
fn body_of(size: usize) -> Vec<u8> {
    let start = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},"data":{"a":""#;
    let mut body = start.to_vec();
    body.resize(size - 3, b'x');
    body.extend_from_slice(b"\"}}");
    body
}

/// The Status of a body that is too large.
fn assert_too_large(status: &Value) {
    assert_eq!(status["kind"], "Status", "{status}");
    assert_eq!(status["code"], 413, "{status}");
    assert_eq!(status["reason"], "RequestEntityTooLarge", "{status}");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("limit is 3145728"), "{status}");
}

/// A client that behaves, beside one that does not: what it saw tells whether the server still serves.
struct Bystander {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(u32, Duration)>,
}

impl Bystander {
    /// Asks for a ConfigMap every 10 ms, over one connection.
    fn start(server: &Server) -> Bystander {
        let stop = Arc::new(AtomicBool::new(false));
        let mut connection = Connection::plain(server);
        let made = connection.post(CONFIGMAPS, &configmap("bystander", &json!({"k": "v"}))).unwrap();
        assert_eq!(made.status, 201, "{}", made.text());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut count, mut slowest) = (0, Duration::ZERO);
            while !stopped.load(Ordering::Relaxed) {
                let start = Instant::now();
                let answer =
                    connection.get(&format!("{CONFIGMAPS}/bystander")).expect("a bystander is answered");
                assert_eq!(answer.status, 200, "{}", answer.text());
                slowest = slowest.max(start.elapsed());
                count += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            (count, slowest)
        });
        Bystander { stop, thread }
    }

    /// Asserts that it was answered all the time, none of the answers taking longer than `limit`.
    fn assert_served(self, limit: Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let (count, slowest) = self.thread.join().expect("the bystander was answered");
        assert!(count > 0 && slowest < limit, "{count} answers, the slowest took {slowest:?}");
    }
}
