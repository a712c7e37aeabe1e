//! The request target (RFC 9112 section 3.2), taken apart as Go's url.ParseRequestURI does; HTTP/2's `:path` too.

use std::net::Ipv6Addr;
use std::ops::Range;

/// Where the parts of a target lie within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// Path and query; empty for the authority form of CONNECT.
    pub(crate) path_and_query: Range<usize>,
    /// The host and port of the absolute and authority forms; they stand above the Host field.
    pub(crate) authority: Range<usize>,
    /// There are bytes beyond ASCII, which a Head shows percent-encoded.
    pub(crate) beyond_ascii: bool,
}

/// Takes a target apart. `None` is what Go calls an invalid URI for a request.
pub(crate) fn parse(connect: bool, raw: &[u8]) -> Option<Target> {
    if raw.is_empty() || raw.iter().any(|b| b.is_ascii_control()) {
        return None;
    }
    let beyond_ascii = !raw.is_ascii();
    let end = raw.len();
    if raw == b"*" {
        return Some(Target { path_and_query: 0..1, authority: 0..0, beyond_ascii });
    }
    if connect && raw[0] != b'/' {
        // CONNECT names host and port alone; what might follow is read as in `http://` + target.
        let authority_end = raw.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(end);
        valid_authority(&raw[..authority_end], true)?;
        valid_escapes(until_query(&raw[authority_end..]))?;
        let host = after_user(&raw[..authority_end]);
        return Some(Target {
            path_and_query: authority_end..end,
            authority: host..authority_end,
            beyond_ascii,
        });
    }
    let Some(scheme_end) = scheme(raw)? else {
        if raw[0] != b'/' {
            return None;
        }
        valid_escapes(until_query(raw))?;
        return Some(Target { path_and_query: 0..end, authority: 0..0, beyond_ascii });
    };
    let rest = scheme_end + 1;
    let path_end = rest + until_query(&raw[rest..]).len();
    let hierarchy = &raw[rest..path_end];
    if hierarchy.first() != Some(&b'/') {
        // `mailto:someone`: no path at all.
        return Some(Target { path_and_query: path_end..end, authority: 0..0, beyond_ascii });
    }
    let mut authority = 0..0;
    let mut path = rest;
    if hierarchy.starts_with(b"//") {
        let from = rest + 2;
        path = raw[from..path_end].iter().position(|b| *b == b'/').map_or(path_end, |at| from + at);
        let name = &raw[..scheme_end];
        let web = name.eq_ignore_ascii_case(b"http") || name.eq_ignore_ascii_case(b"https");
        valid_authority(&raw[from..path], web)?;
        authority = from + after_user(&raw[from..path])..path;
    }
    valid_escapes(&raw[path..path_end])?;
    Some(Target { path_and_query: path..end, authority, beyond_ascii })
}

/// Appends a target with the bytes beyond ASCII percent-encoded, which reads the same once decoded.
pub(crate) fn push_ascii(out: &mut Vec<u8>, raw: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in raw {
        if byte.is_ascii() {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

fn until_query(raw: &[u8]) -> &[u8] {
    &raw[..memchr::memchr(b'?', raw).unwrap_or(raw.len())]
}

/// The end of a scheme, if there is one; `None` at the outside where a colon comes first.
fn scheme(raw: &[u8]) -> Option<Option<usize>> {
    for (i, byte) in raw.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' => return (i > 0).then_some(Some(i)),
            _ => break,
        }
    }
    Some(None)
}

fn after_user(authority: &[u8]) -> usize {
    memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)
}

fn valid_authority(authority: &[u8], web: bool) -> Option<()> {
    let host = after_user(authority);
    if host > 0 {
        let user = &authority[..host - 1];
        let allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b);
        if !user.iter().all(allowed) {
            return None;
        }
        valid_escapes(user)?;
    }
    valid_host(&authority[host..], web)
}

fn valid_host(host: &[u8], web: bool) -> Option<()> {
    match memchr::memrchr(b'[', host) {
        Some(0) => {
            let close = memchr::memrchr(b']', host)?;
            valid_port(&host[close + 1..])?;
            let literal = std::str::from_utf8(&host[1..close]).ok()?;
            let (address, zone) = literal.split_once("%25").map_or((literal, None), |(a, z)| (a, Some(z)));
            address.parse::<Ipv6Addr>().ok()?;
            if let Some(zone) = zone {
                if zone.is_empty() {
                    return None;
                }
                valid_escapes(zone.as_bytes())?;
            }
            return Some(());
        }
        Some(_) => return None,
        None => {}
    }
    // A second colon is let stand for other schemes (lists of database hosts), as Go does.
    let colon = if web { memchr::memchr(b':', host) } else { memchr::memrchr(b':', host) };
    if let Some(colon) = colon {
        valid_port(&host[colon..])?;
    }
    let mut at = 0;
    while at < host.len() {
        let byte = host[at];
        if byte == b'%' {
            let (high, low) = (*host.get(at + 1)?, *host.get(at + 2)?);
            if !high.is_ascii_hexdigit() || !low.is_ascii_hexdigit() {
                return None;
            }
            // Only bytes beyond ASCII may be escaped in a host, and the percent sign.
            if high < b'8' && (high, low) != (b'2', b'5') {
                return None;
            }
            at += 3;
            continue;
        }
        if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte) {
            return None;
        }
        at += 1;
    }
    Some(())
}

fn valid_port(port: &[u8]) -> Option<()> {
    match port {
        [] => Some(()),
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit).then_some(()),
        _ => None,
    }
}

fn valid_escapes(text: &[u8]) -> Option<()> {
    for at in memchr::memchr_iter(b'%', text) {
        let hex = text.get(at + 1..at + 3)?;
        if !hex.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(connect: bool, raw: &str, expect: Option<(&str, &str)>) {
        let target = parse(connect, raw.as_bytes());
        let parts = target.map(|t| (raw[t.path_and_query].to_owned(), raw[t.authority].to_owned()));
        assert_eq!(parts, expect.map(|(p, a)| (p.to_owned(), a.to_owned())), "{raw}");
    }

    #[test]
    fn forms() {
        check(false, "/api/v1?watch=1", Some(("/api/v1?watch=1", "")));
        check(false, "*", Some(("*", "")));
        check(false, "//a/b", Some(("//a/b", "")));
        check(false, "http://h:1/p?q", Some(("/p?q", "h:1")));
        check(false, "http://u:p@h/p", Some(("/p", "h")));
        check(false, "http://h?q=1", Some(("?q=1", "h")));
        check(false, "https://[::1]:6443/", Some(("/", "[::1]:6443")));
        check(false, "mailto:x?y", Some(("?y", "")));
        check(true, "h:443", Some(("", "h:443")));
        check(true, "/rpc", Some(("/rpc", "")));
    }

    #[test]
    fn refused() {
        for raw in [
            "",
            "a",
            "?q",
            "/%zz",
            "/%2",
            "/a\u{7f}",
            ":x",
            "http://a%12b/",
            "http://u%1@h/",
            "http://a:b:1/",
        ] {
            check(false, raw, None);
        }
        for raw in ["http://[1.2.3.4]/", "http://[::1/", "http://a:x/", "http://[::1%25]/"] {
            check(false, raw, None);
        }
    }
}
