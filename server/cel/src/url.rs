//! URLs, as Go's `net/url` reads the URIs of requests.

use std::fmt::{self, Write};

use ringbolt_machinery::field::quote;

/// A URL taken apart.
#[derive(Debug, Default)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    user: Option<String>,
    /// With its port.
    pub(crate) host: String,
    opaque: String,
    /// As it is written.
    path: String,
    pub(crate) query: String,
    has_query: bool,
    fragment: Option<String>,
}

impl Url {
    /// A URL that is absolute, or a path from the root.
    pub(crate) fn parse(text: &str) -> Result<Url, String> {
        let failed = |why: &str| format!("parse {}: {why}", quote(text));
        // The URI of a request has no fragment; what looks like one is part of the path there.
        request(text).map_err(|why| failed(&why))?;
        let (before, fragment) = match text.split_once('#') {
            Some((before, fragment)) => (before, Some(fragment)),
            None => (text, None),
        };
        let mut url = whole(before, false).map_err(|why| failed(&why))?;
        if let Some(fragment) = fragment {
            unescape(fragment, Mode::Fragment).map_err(|why| failed(&why))?;
            url.fragment = Some(fragment.to_owned()).filter(|f| !f.is_empty());
        }
        Ok(url)
    }

    /// Whether [`Url::parse`] would take a text.
    pub(crate) fn is_valid(text: &str) -> Result<(), String> {
        request(text).map(drop).map_err(|why| format!("parse {}: {why}", quote(text)))
    }

    pub(crate) fn hostname(&self) -> &str {
        let host = self.without_port();
        host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
    }

    fn without_port(&self) -> &str {
        match self.port_at() {
            Some(at) => &self.host[..at],
            None => &self.host,
        }
    }

    fn port_at(&self) -> Option<usize> {
        let at = self.host.rfind(':')?;
        if self.host.starts_with('[') && !self.host[..at].ends_with(']') {
            return None;
        }
        self.host[at + 1..].bytes().all(|b| b.is_ascii_digit()).then_some(at)
    }

    pub(crate) fn port(&self) -> &str {
        self.port_at().map_or("", |at| &self.host[at + 1..])
    }

    pub(crate) fn escaped_path(&self) -> String {
        if is_encoded_path(&self.path) {
            return self.path.clone();
        }
        let decoded = unescape(&self.path, Mode::Path).unwrap_or_default();
        escape_path(&decoded)
    }

    /// Keys with their values in the order of their first.
    pub(crate) fn parameters(&self) -> Vec<(String, Vec<String>)> {
        let mut out: Vec<(String, Vec<String>)> = Vec::new();
        for part in self.query.split('&').filter(|part| !part.is_empty() && !part.contains(';')) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Mode::Query), unescape(value, Mode::Query)) else {
                continue;
            };
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            let key = text(key);
            match out.iter_mut().find(|(k, _)| *k == key) {
                Some((_, values)) => values.push(text(value)),
                None => out.push((key, vec![text(value)])),
            }
        }
        out
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.opaque.is_empty() {
            f.write_str(&self.opaque)?;
        } else {
            if !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some() {
                f.write_str("//")?;
                if let Some(user) = &self.user {
                    write!(f, "{user}@")?;
                }
                f.write_str(&self.host)?;
            }
            f.write_str(&self.escaped_path())?;
        }
        if self.has_query {
            write!(f, "?{}", self.query)?;
        }
        if let Some(fragment) = &self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

fn request(text: &str) -> Result<Url, String> {
    whole(text, true)
}

/// What stands before a fragment.
fn whole(text: &str, via_request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && via_request {
        return Err("empty url".into());
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = "*".into();
        return Ok(url);
    }
    let (scheme, mut rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    if let Some((before, query)) = rest.split_once('?') {
        url.query = query.to_owned();
        url.has_query = true;
        rest = before;
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if via_request {
            return Err("invalid URI for request".into());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    if (!url.scheme.is_empty() || !via_request && !rest.starts_with("///"))
        && let Some(after) = rest.strip_prefix("//")
    {
        let (authority, path) = match after.find('/') {
            Some(at) => after.split_at(at),
            None => (after, ""),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        url.host = host_of(host)?;
        if let Some(user) = user {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
            if !user.bytes().all(allowed) {
                return Err("net/url: invalid userinfo".into());
            }
            unescape(user, Mode::User)?;
            url.user = Some(user.to_owned());
        }
        rest = path;
    }
    unescape(rest, Mode::Path)?;
    url.path = rest.to_owned();
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host_of(host: &str) -> Result<String, String> {
    if let Some(inner) = host.strip_prefix('[') {
        let end = inner.rfind(']').ok_or("missing ']' in host")?;
        let port = &inner[end + 1..];
        if !valid_port(port) {
            return Err(format!("invalid port {} after host", quote(port)));
        }
        if let Some(zone) = inner[..end].find("%25") {
            unescape(&inner[..zone], Mode::Host)?;
            unescape(&inner[zone..end], Mode::Zone)?;
            let decoded = unescape(&inner[zone..end], Mode::Zone)?;
            return Ok(format!("[{}{}]{port}", &inner[..zone], String::from_utf8_lossy(&decoded)));
        }
        let address = &inner[..end];
        unescape(address, Mode::Host)?;
        if !address.contains(':') || address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("invalid host".into());
        }
    } else if let Some(at) = host.rfind(':')
        && !valid_port(&host[at..])
    {
        return Err(format!("invalid port {} after host", quote(&host[at..])));
    }
    unescape(host, Mode::Host).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn valid_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Query,
    Fragment,
    User,
    Host,
    Zone,
}

fn unescape(text: &str, mode: Mode) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let hex = bytes.get(at + 1..at + 3).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
                let Some(hex) = hex else {
                    let shown = text.get(at..(at + 3).min(text.len())).unwrap_or(&text[at..]);
                    return Err(format!("invalid URL escape {}", quote(shown)));
                };
                let digit = |b: u8| char::from(b).to_digit(16).unwrap_or(0) as u8;
                let byte = digit(hex[0]) << 4 | digit(hex[1]);
                // Hosts have escapes of what is no ASCII only.
                if mode == Mode::Host && byte < 0x80 && hex != b"25" {
                    return Err(format!("invalid URL escape {}", quote(&text[at..at + 3])));
                }
                if mode == Mode::Zone && hex != b"25" && byte != b' ' && !host_byte(byte) && byte < 0x80 {
                    return Err(format!("invalid URL escape {}", quote(&text[at..at + 3])));
                }
                out.push(byte);
                at += 3;
            }
            b'+' if mode == Mode::Query => {
                out.push(b' ');
                at += 1;
            }
            b if matches!(mode, Mode::Host | Mode::Zone) && b < 0x80 && !host_byte(b) => {
                let shown = text[at..at + 1].to_owned();
                return Err(format!("invalid character {} in host name", quote(&shown)));
            }
            b => {
                out.push(b);
                at += 1;
            }
        }
    }
    Ok(out)
}

fn host_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&b)
}

fn path_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&b)
}

/// Whether a path may be shown as it was given.
fn is_encoded_path(path: &str) -> bool {
    path == "*" || path.bytes().all(|b| path_byte(b) || b"!'()*[]%".contains(&b))
}

fn escape_path(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for b in bytes {
        if path_byte(*b) {
            out.push(char::from(*b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}
