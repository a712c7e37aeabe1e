//! Tokens of browsers: they cannot set `Authorization` on a WebSocket, so the token is named as a subprotocol.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ringbolt_protocol::head::Head;

use super::peer::Bad;

const PREFIX: &[u8] = b"base64url.bearer.authorization.k8s.io.";

/// The token that the request for a WebSocket names among its subprotocols. Another one must stand beside it: that is
/// the one the server agrees to.
pub(super) fn token(head: &Head<'_>) -> Result<Option<String>, Bad> {
    if !is_asked_for(head) {
        return Ok(None);
    }
    let (mut found, mut others) = (None, false);
    let protocols =
        head.headers_named("sec-websocket-protocol").flat_map(|value| value.split(|b| *b == b','));
    for protocol in protocols.map(<[u8]>::trim_ascii) {
        let Some(encoded) = protocol.strip_prefix(PREFIX) else {
            others = true;
            continue;
        };
        if found.is_some() {
            return Err(bad("more than one token"));
        }
        let decoded = BASE64_URL_SAFE_NO_PAD.decode(encoded).map_err(|_| bad("not base64url"))?;
        found = Some(String::from_utf8(decoded).map_err(|_| bad("no text"))?);
    }
    match found.filter(|token| !token.is_empty()) {
        Some(_) if !others => Err(bad("no subprotocol beside the token")),
        found => Ok(found),
    }
}

fn bad(why: &str) -> Bad {
    tracing::info!(why, "unable to authenticate the request by a subprotocol");
    Bad
}

/// Whether the connection is to become a WebSocket.
fn is_asked_for(head: &Head<'_>) -> bool {
    let websocket = head.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case(b"websocket"));
    let mut options = head.headers_named("connection").flat_map(|value| value.split(|b| *b == b','));
    websocket && options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::tests::with_headers;

    #[test]
    fn tokens() {
        let check = |protocols: &[&str], expect: Result<Option<&str>, Bad>| {
            let mut headers = vec![("Upgrade", "WebSocket"), ("Connection", "keep-alive, Upgrade")];
            headers.extend(protocols.iter().map(|p| ("Sec-WebSocket-Protocol", *p)));
            let expect = expect.map(|token| token.map(str::to_owned));
            with_headers(&headers, |head| assert_eq!(token(head), expect, "{protocols:?}"));
        };
        // "good"
        let good = "base64url.bearer.authorization.k8s.io.Z29vZA";
        check(&[], Ok(None));
        check(&["v4.channel.k8s.io"], Ok(None));
        check(&[&format!("{good}, v4.channel.k8s.io")], Ok(Some("good")));
        check(&["v4.channel.k8s.io", good], Ok(Some("good")));
        check(&[good], Err(Bad));
        check(&[good, good, "x"], Err(Bad));
        check(&["base64url.bearer.authorization.k8s.io.Z29vZA==", "x"], Err(Bad));
        check(&["base64url.bearer.authorization.k8s.io._w", "x"], Err(Bad));
        check(&["base64url.bearer.authorization.k8s.io.", "x"], Ok(None));
        with_headers(&[("Connection", "Upgrade"), ("Sec-WebSocket-Protocol", good)], |head| {
            assert_eq!(token(head), Ok(None), "no WebSocket");
        });
        with_headers(&[("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", good)], |head| {
            assert_eq!(token(head), Ok(None), "no upgrade");
        });
    }
}
