//! The request corpus of llhttp with the answers of Go's net/http in kube-apiserver: statuses, and whether the
//! connection stays open.

use ringbolt_protocol::exchange::Progress;
use ringbolt_protocol::h1;

use crate::support::{Answer, Recorder, Sink, feed, fixtures};

fn ask(request: &[u8], piece: usize) -> (String, &'static str) {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::AtHead), Sink::default());
    let mut end = "open";
    for bytes in request.chunks(piece) {
        if feed(&mut connection, bytes, &mut handler, &mut out) == Progress::Close {
            end = "closed";
            break;
        }
    }
    let text = String::from_utf8_lossy(&out.bytes).into_owned();
    let statuses: Vec<&str> = text
        .match_indices("HTTP/1.")
        .filter_map(|(at, _)| text.get(at + 9..at + 12))
        .filter(|s| s.bytes().all(|b| b.is_ascii_digit()))
        .collect();
    (if statuses.is_empty() { "-".to_owned() } else { statuses.join(",") }, end)
}

#[test]
fn answers_as_go_does() {
    let Some(fixtures) = fixtures() else { return };
    let golden = std::fs::read_to_string(fixtures.join("golden-h1-llhttp.tsv")).unwrap();
    let requests = std::fs::read_to_string(fixtures.join("llhttp-requests.jsonl")).unwrap();
    let mut failures = Vec::new();
    let mut count = 0;
    for (line, golden) in requests.lines().zip(golden.lines()) {
        let golden: Vec<&str> = golden.split('\t').collect();
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let request = case["request"].as_str().unwrap();
        // As the goldens were taken: Latin-1, with a question mark for what is beyond it.
        let bytes: Vec<u8> = request.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
        for piece in [bytes.len(), 1, 3] {
            let (statuses, end) = ask(&bytes, piece);
            if (statuses.as_str(), end) != (golden[3], golden[4]) {
                failures.push(format!(
                    "#{count} {} by {piece}: {statuses} {end}, want {} {}\n{request:?}",
                    golden[2], golden[3], golden[4]
                ));
            }
        }
        count += 1;
    }
    assert_eq!(count, 166);
    assert!(failures.is_empty(), "{}\n{} failed", failures.join("\n"), failures.len());
}
