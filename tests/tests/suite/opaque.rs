//! Members that only their users understand: their text is stored as it came, and shown as Go writes it.

use ringbolt_tests::{
    http1::{Connection, Response},
    server::Server,
};

const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const CLASSES: &str = "/apis/resource.k8s.io/v1/deviceclasses";

fn server(name: &str) -> Server {
    Server::start(name, &["--embedded-controllers=", "--disable-admission-plugins=ServiceAccount"])
}

fn revision(data: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a"}},"revision":1,"data":{data}}}"#)
}

fn send(client: &mut Connection, method: &str, path: &str, kind: &str, body: &str) -> Response {
    client.request(method, path, &format!("application/{kind}"), body.as_bytes()).unwrap()
}

#[test]
fn text_is_kept_and_shown_compact() {
    let server = server("opaque-text");
    let mut client = Connection::plain(&server);
    let sent = r#"{ "z" : 1.0, "a":[1e3, 0.10] ,"h":"<\u00e9\/&","d":1,"d":2 }"#;
    let shown = r#""data":{"z":1.0,"a":[1e3,0.10],"h":"\u003c\u00e9\/\u0026","d":1,"d":2}"#;
    let made = send(&mut client, "POST", REVISIONS, "json", &revision(sent));
    assert_eq!(made.status, 201, "{}", made.text());
    let path = format!("{REVISIONS}/a");
    for text in [made.text(), client.get(&path).unwrap().text(), client.get(REVISIONS).unwrap().text()] {
        assert!(text.contains(shown), "{text}");
    }
    let mut watch = Connection::plain(&server);
    assert_eq!(watch.watch(&format!("{REVISIONS}?watch=1")).unwrap().status, 200);
    let event = watch.line().unwrap().unwrap();
    assert!(event.contains(shown), "{event}");
}

/// What is the same is decided by the text: a patch, which goes through what is shown, changes one with spaces.
#[test]
fn a_patch_of_spaces() {
    let server = server("opaque-patch");
    let mut client = Connection::plain(&server);
    let path = format!("{REVISIONS}/a");
    for (data, status) in [(r#"{"b":1, "a":2}"#, 422), (r#"{"b":1,"a":"\u00e9"}"#, 200)] {
        assert_eq!(send(&mut client, "POST", REVISIONS, "json", &revision(data)).status, 201);
        for (kind, patch) in [("merge-patch+json", "{}"), ("json-patch+json", "[]")] {
            let patched = send(&mut client, "PATCH", &path, kind, patch);
            assert_eq!(patched.status, status, "{data} {kind}: {}", patched.text());
        }
        // The same text again is the same.
        assert_eq!(send(&mut client, "PUT", &path, "json", &revision(data)).status, 200);
        assert_eq!(send(&mut client, "DELETE", &path, "json", "").status, 200);
    }
}

#[test]
fn a_test_compares_texts() {
    let server = server("opaque-test");
    let mut client = Connection::plain(&server);
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = r#"{"metadata":{"name":"a"},"data":{"k":"<\u00e9"}}"#;
    assert_eq!(send(&mut client, "POST", maps, "json", map).status, 201);
    // Go writes `<` escaped and `é` as it is.
    for (value, status) in [(r#""\u003cé""#, 200), (r#""<é""#, 422), (r#""\u003c\u00e9""#, 422)] {
        let patch = format!(r#"[{{"op":"test","path":"/data/k","value":{value}}}]"#);
        let patched = send(&mut client, "PATCH", &format!("{maps}/a"), "json-patch+json", &patch);
        assert_eq!(patched.status, status, "{value}");
    }
}

#[test]
fn what_may_change_is_patched() {
    let server = server("opaque-change");
    let mut client = Connection::plain(&server);
    let class = r#"{"metadata":{"name":"c"},"spec":{"config":[{"opaque":{"driver":"d.example.com","parameters":{"b": 1, "a":"\u00e9"}}}]}}"#;
    assert_eq!(send(&mut client, "POST", CLASSES, "json", class).status, 201);
    let path = format!("{CLASSES}/c");
    let patch = r#"[{"op":"add","path":"/spec/config/0/opaque/parameters/c","value":{"y": 1.0}}]"#;
    let patched = send(&mut client, "PATCH", &path, "json-patch+json", patch);
    assert!(
        patched.text().contains(r#""parameters":{"a":"\u00e9","b":1,"c":{"y":1.0}}"#),
        "{}",
        patched.text()
    );
}

#[test]
fn yaml_is_warned_of_line_by_line() {
    let server = server("opaque-yaml");
    let mut client = Connection::plain(&server);
    let body = "metadata: {name: a}\ndata: {x: y, x: z}\nfoo: 1\nfoo: 2\n";
    let made = send(&mut client, "POST", "/api/v1/namespaces/default/configmaps", "yaml", body);
    assert_eq!(made.status, 201, "{}", made.text());
    let warnings: Vec<&str> = made
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("warning"))
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(
        warnings,
        [
            r#"299 - "line 2: key \"x\" already set in map""#,
            r#"299 - "line 4: key \"foo\" already set in map""#,
            r#"299 - "unknown field \"foo\"""#
        ]
    );
    let tab = send(&mut client, "POST", "/api/v1/namespaces/default/configmaps", "yaml", "\t");
    assert_eq!(tab.status, 400);
    assert!(tab.text().contains("found character that cannot start any token (09)"), "{}", tab.text());
}
