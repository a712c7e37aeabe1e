//! A client's request as another server gets it: without what is between the client and this server, and with who asks.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use ringbolt_apiserver::{authentication::UserInfo, request::Request as ClientRequest};
use ringbolt_protocol::{
    head::{BodyLength, Head},
    query,
};

/// Fields that belong to one connection (RFC 9110 section 7.6.1).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// What names a token among the subprotocols of a WebSocket.
const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Fields that belong to one connection, with those that it names itself.
pub struct HopByHop(Vec<String>);

impl HopByHop {
    /// Those of an answer.
    pub fn of(headers: &HeaderMap) -> HopByHop {
        let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
        HopByHop::named(named)
    }

    fn named<'v>(values: impl Iterator<Item = &'v str>) -> HopByHop {
        HopByHop(
            values.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect(),
        )
    }

    /// Whether it is one.
    pub fn has(&self, name: &str) -> bool {
        HOP_BY_HOP.contains(&name) || self.0.iter().any(|named| named == name)
    }
}

/// Whether a client asks for another protocol (`httpstream.IsUpgradeRequest`).
pub fn is_upgrade(head: &Head<'_>) -> bool {
    head.headers_named("connection")
        .any(|value| String::from_utf8_lossy(value).to_ascii_lowercase().contains("upgrade"))
}

/// A request on its way: what is not the client's to say.
#[derive(Clone, Debug)]
pub struct Forward<'f> {
    /// Path and query, escaped.
    pub target: String,
    /// `Host`
    pub host: &'f [u8],
    /// Another protocol is asked for: fields of the connection go on.
    pub upgrade: bool,
    /// `X-Forwarded-Uri`, of what is no upgrade.
    pub uri: &'f str,
    /// `X-Forwarded-Host`, and with it the scheme; what the client says where there is none.
    pub forwarded_host: Option<&'f str>,
    /// The other end is told who asks, and how the request is known in audits. Else it hears of the latter what the client
    /// says.
    pub identifies: bool,
}

/// The path and the query of a request.
pub fn target(path: &str, query: &str) -> String {
    let mut target = escape_path(path);
    if !query.is_empty() {
        target.push('?');
        target.push_str(query);
    }
    target
}

/// The request for another server.
///
/// # Errors
/// Its head cannot be written so.
pub fn request(request: &ClientRequest<'_>, forward: &Forward<'_>) -> Result<Request<()>, String> {
    let (head, upgrade) = (request.head, forward.upgrade);
    let method = Method::from_bytes(head.method.as_bytes()).map_err(|e| e.to_string())?;
    let outgoing = Request::builder().method(method).uri(&forward.target).body(());
    let mut outgoing = outgoing.map_err(|e| e.to_string())?;
    let headers = outgoing.headers_mut();
    headers.insert(header::HOST, value(forward.host)?);
    let connection = head.headers_named("connection").filter_map(|value| std::str::from_utf8(value).ok());
    let hop = HopByHop::named(connection);
    // `--requestheader-*` may name others.
    let authenticators = request.core.authenticators.get();
    let is_configured = |name: &str| authenticators.is_some_and(|known| known.is_of_front_proxies(name));
    let mut through = Vec::new();
    for (name, field) in head.fields() {
        let Ok(name) = HeaderName::from_bytes(name) else { continue };
        match name.as_str() {
            // The length is told below; who expects to be told to go on was.
            "host" | "authorization" | "content-length" | "expect" => continue,
            "audit-id" if forward.identifies => continue,
            "x-forwarded-for" => {
                through.extend(std::str::from_utf8(field).map(str::to_owned));
                continue;
            }
            // Set below; what the client says of them is not for the other server.
            "x-forwarded-uri" if !upgrade => continue,
            "x-forwarded-host" | "x-forwarded-proto" if !upgrade && forward.forwarded_host.is_some() => {
                continue;
            }
            name if is_identity(name)
                || is_configured(name)
                || (!upgrade && hop.has(name) && !asks_for_trailers(name, field)) =>
            {
                continue;
            }
            "sec-websocket-protocol" => {
                if let Some(protocols) = without_token(field) {
                    headers.append(name, value(protocols.as_bytes())?);
                }
                continue;
            }
            _ => {}
        }
        headers.append(name, value(field)?);
    }
    // As it was understood here: where two framings are given one of them is not what the body has.
    let length = match head.body {
        BodyLength::Exact(length) => Some(length),
        // Many servers expect a length with these, whatever the client says; of others it is not told.
        BodyLength::None => matches!(head.method, "POST" | "PUT" | "PATCH").then_some(0),
        BodyLength::Unknown => None,
    };
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    if let Some(address) = request.peer.address() {
        through.push(address.to_string());
    }
    if !through.is_empty() {
        headers.insert("x-forwarded-for", value(through.join(", ").as_bytes())?);
    }
    if !upgrade {
        if let Some(host) = forward.forwarded_host {
            headers.insert("x-forwarded-host", value(host.as_bytes())?);
            headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        }
        headers.insert("x-forwarded-uri", value(forward.uri.as_bytes())?);
    }
    if forward.identifies {
        let audit_id = request.state.audit_id.borrow();
        if !audit_id.as_bytes().is_empty() {
            headers.insert("audit-id", value(audit_id.as_bytes())?);
        }
        identify(headers, request.user);
    }
    Ok(outgoing)
}

fn value(bytes: &[u8]) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(bytes).map_err(|e| e.to_string())
}

/// `TE: trailers` is for the other server, too.
fn asks_for_trailers(name: &str, field: &[u8]) -> bool {
    name == "te" && field.eq_ignore_ascii_case(b"trailers")
}

/// What says who asks, or who they would be: it was understood here.
fn is_identity(name: &str) -> bool {
    matches!(name, "x-remote-user" | "x-remote-group" | "x-remote-uid")
        || name.starts_with("x-remote-extra-")
        || name.starts_with("impersonate-")
}

/// Says who asks (`SetAuthProxyHeaders`). What cannot stand in a header is left out.
fn identify(headers: &mut HeaderMap, user: &UserInfo) {
    let mut add = |name: &str, text: &str| {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(text.as_bytes())) {
            headers.append(name, value);
        }
    };
    add("x-remote-user", &user.name);
    if !user.uid.is_empty() {
        add("x-remote-uid", &user.uid);
    }
    for group in &user.groups {
        add("x-remote-group", group);
    }
    for (key, values) in &user.extra {
        let name = format!("x-remote-extra-{}", escape_key(key).to_ascii_lowercase());
        for value in values {
            add(&name, value);
        }
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn escape_byte(out: &mut String, byte: u8) {
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

/// A key of a user's extra as a part of a header's name: what may not stand there, and `%`, is escaped.
fn escape_key(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            escape_byte(&mut out, byte);
        }
    }
    out
}

/// A decoded path, encoded as Go does it.
pub fn escape_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            escape_byte(&mut out, byte);
        }
    }
    out
}

/// The query as Go writes it anew: sorted by key, escaped alike.
pub fn encode_query(text: &str) -> String {
    let mut pairs: Vec<_> = query::pairs(text).collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = String::with_capacity(text.len());
    for (key, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        escape_query(&mut out, &key);
        out.push('=');
        escape_query(&mut out, &value);
    }
    out
}

pub(crate) fn escape_query(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => out.push(char::from(byte)),
            byte => escape_byte(out, byte),
        }
    }
}

/// The subprotocols of a WebSocket without the one that is a token.
fn without_token(field: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(field);
    let kept: Vec<_> =
        text.split(',').map(str::trim).filter(|name| !name.starts_with(BEARER_PROTOCOL)).collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let check = |text: &str, expect: &str| assert_eq!(encode_query(text), expect, "{text}");
        check("", "");
        check("a=b&c=%20d&b", "a=b&b=&c=+d");
        check("watch=1&labelSelector=a%3Db,c", "labelSelector=a%3Db%2Cc&watch=1");
        check("b=2&a=1&b=1", "a=1&b=2&b=1");
    }

    #[test]
    fn paths() {
        let check = |path: &str, expect: &str| assert_eq!(escape_path(path), expect, "{path}");
        check("/apis/a.b/v1/namespaces/c/x:y", "/apis/a.b/v1/namespaces/c/x:y");
        check("/apis/a b/ü?%", "/apis/a%20b/%C3%BC%3F%25");
    }

    #[test]
    fn identities() {
        let user = UserInfo {
            name: "jürgen".to_owned(),
            uid: "7".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            extra: vec![("Example.com/Key%".to_owned(), vec!["1".to_owned(), "2".to_owned()])],
        };
        let mut headers = HeaderMap::new();
        identify(&mut headers, &user);
        let all: Vec<_> =
            headers.iter().map(|(n, v)| format!("{n}: {}", String::from_utf8_lossy(v.as_bytes()))).collect();
        assert_eq!(
            all,
            [
                "x-remote-user: jürgen",
                "x-remote-uid: 7",
                "x-remote-group: a",
                "x-remote-group: b",
                "x-remote-extra-example.com%2fkey%25: 1",
                "x-remote-extra-example.com%2fkey%25: 2",
            ]
        );
    }

    #[test]
    fn tokens_of_web_sockets_stay_here() {
        let check = |field: &str, expect: Option<&str>| {
            assert_eq!(without_token(field.as_bytes()).as_deref(), expect, "{field}");
        };
        check("v5.channel.k8s.io", Some("v5.channel.k8s.io"));
        check("base64url.bearer.authorization.k8s.io.YQ, v4.channel.k8s.io", Some("v4.channel.k8s.io"));
        check("base64url.bearer.authorization.k8s.io.YQ", None);
    }

    #[test]
    fn fields_of_one_connection() {
        let mut headers = HeaderMap::new();
        headers.insert("connection", HeaderValue::from_static("close, X-Own"));
        let hop = HopByHop::of(&headers);
        assert!(hop.has("connection") && hop.has("x-own") && hop.has("keep-alive") && !hop.has("x-other"));
    }
}
