//! Addresses and URIs, as Go's `net` and `net/url` read them.

use std::net::Ipv6Addr;

/// Four numbers up to 255, with any zeros before them: as Go read them until 1.17.
fn is_ipv4_sloppy(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let part = |part: &&str| {
        let digits = part.trim_start_matches('0');
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && digits.len() <= 3
            && (digits.is_empty() || digits.parse::<u8>().is_ok())
    };
    parts.len() == 4 && parts.iter().all(part)
}

/// An address of either family.
pub(super) fn is_ip_sloppy(text: &str) -> bool {
    is_ipv4_sloppy(text) || text.parse::<Ipv6Addr>().is_ok()
}

/// An address and the length of its prefix.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let max = match () {
        () if is_ipv4_sloppy(address) => 32,
        () if address.parse::<Ipv6Addr>().is_ok() => 128,
        () => return false,
    };
    !length.is_empty()
        && length.bytes().all(|b| b.is_ascii_digit())
        && length.parse::<u64>().is_ok_and(|length| length <= max)
}

/// 6, 8 or 20 bytes in hexadecimal: two digits each between colons or dashes, or four between dots.
pub(super) fn is_mac(text: &str) -> bool {
    let Some(separator) = text.chars().find(|c| matches!(c, ':' | '-' | '.')) else { return false };
    let width = if separator == '.' { 4 } else { 2 };
    let mut bytes = 0;
    for group in text.split(separator) {
        if group.len() != width || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        bytes += width / 2;
    }
    matches!(bytes, 6 | 8 | 20)
}

/// `url.ParseRequestURI`: an absolute URI or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    match rest.strip_prefix("//") {
        Some(authority) if !scheme.is_empty() => {
            let at = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at(at);
            is_authority(&scheme.to_ascii_lowercase(), authority) && unescape(path, false).is_some()
        }
        _ => unescape(rest, false).is_some(),
    }
}

/// The scheme, which may be empty, and what follows. `None` where the text begins with a colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    for (at, b) in text.bytes().enumerate() {
        match b {
            b if b.is_ascii_alphabetic() => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => return Some((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    let Some(at) = authority.rfind('@') else { return is_host(scheme, authority) };
    let user = &authority[..at];
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    is_host(scheme, &authority[at + 1..]) && user.bytes().all(plain) && unescape(user, false).is_some()
}

fn is_optional_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

fn is_host(scheme: &str, host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => {
            let Some(close) = host.rfind(']') else { return false };
            let (address, zone) = match host[1..close].split_once("%25") {
                Some((address, zone)) => (address, Some(zone)),
                None => (&host[1..close], None),
            };
            is_optional_port(&host[close + 1..])
                && address.parse::<Ipv6Addr>().is_ok()
                && zone.is_none_or(|zone| !zone.is_empty() && unescape(zone, false).is_some())
        }
        Some(_) => false,
        None => {
            let strict = matches!(scheme, "http" | "https");
            let colon = if strict { host.find(':') } else { host.rfind(':') };
            is_optional_port(colon.map_or("", |at| &host[at..])) && unescape(host, true).is_some()
        }
    }
}

/// `None` where an escape is none, or a host has characters that hosts have not.
fn unescape(text: &str, host: bool) -> Option<()> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(b) = bytes.get(at) {
        if *b == b'%' {
            let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
            let (high, _) = (digit(at + 1)?, digit(at + 2)?);
            // Hosts may escape what is not ASCII, and nothing else.
            if host && high < 8 {
                return None;
            }
            at += 2;
        } else if host
            && b.is_ascii()
            && !(b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(b))
        {
            return None;
        }
        at += 1;
    }
    Some(())
}
