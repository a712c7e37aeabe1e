//! IP addresses and ranges as Kubernetes reads them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The text for what is no address.
pub(crate) const NOT_AN_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// Reads an address the lenient way: leading zeros in IPv4 parts are decimal, as they always were in Kubernetes.
pub(crate) fn parse_legacy_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        let (head, v4) = match text.rfind(':') {
            Some(at) if text[at..].contains('.') => (&text[..=at], Some(parse_legacy_v4(&text[at + 1..])?)),
            _ => (text, None),
        };
        let address: Ipv6Addr = match v4 {
            Some(v4) => format!("{head}{v4}").parse().ok()?,
            None => head.parse().ok()?,
        };
        return Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4));
    }
    parse_legacy_v4(text).map(IpAddr::V4)
}

fn parse_legacy_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse::<u32>().ok().and_then(|n| u8::try_from(n).ok())?;
    }
    parts.next().is_none().then_some(Ipv4Addr::from(octets))
}

/// An address in its usual form.
pub(crate) fn canonical(address: IpAddr) -> String {
    address.to_string()
}

/// The warning about an address that is not written in its usual form.
pub(crate) fn ip_warning(path: &str, text: &str) -> Option<String> {
    let address = parse_legacy_ip(text)?;
    if text.parse::<IpAddr>().is_err() {
        return Some(format!(
            "{path}: non-standard IP address {} is invalid: use {}",
            ringbolt_machinery::field::quote(text),
            ringbolt_machinery::field::quote(&canonical(address))
        ));
    }
    if let (IpAddr::V4(_), true) = (address, text.contains(':')) {
        return Some(format!(
            "{path}: non-standard IP address {} is invalid: use {}",
            ringbolt_machinery::field::quote(text),
            ringbolt_machinery::field::quote(&canonical(address))
        ));
    }
    (text != canonical(address)).then(|| {
        format!(
            "{path}: IPv6 address {} should be in RFC 5952 canonical format ({})",
            ringbolt_machinery::field::quote(text),
            ringbolt_machinery::field::quote(&canonical(address))
        )
    })
}

/// Reads `address/bits` the lenient way; bits beyond the prefix may be set.
pub(crate) fn parse_legacy_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address = parse_legacy_ip(address)?;
    if bits.is_empty() || !bits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bits: u32 = bits.parse().ok()?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    (bits <= max).then_some((address, bits as u8))
}

/// A range's first address.
pub(crate) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = if bits == 0 { 0 } else { u32::MAX << (32 - u32::from(bits)) };
            IpAddr::V4(Ipv4Addr::from(u32::from(v4) & mask))
        }
        IpAddr::V6(v6) => {
            let mask = if bits == 0 { 0 } else { u128::MAX << (128 - u32::from(bits)) };
            IpAddr::V6(Ipv6Addr::from(u128::from(v6) & mask))
        }
    }
}

/// The warning about a range that is not written in its usual form.
pub(crate) fn cidr_warning(path: &str, text: &str) -> Option<String> {
    use ringbolt_machinery::field::quote;
    let (address, bits) = parse_legacy_cidr(text)?;
    let first = masked(address, bits);
    let usual = format!("{first}/{bits}");
    let (given, prefix) = text.split_once('/')?;
    if first != address {
        return Some(format!(
            "{path}: CIDR value {} is ambiguous in this context (should be {} or {}?)",
            quote(text),
            quote(&usual),
            quote(&format!("{}/{}", canonical(address), if address.is_ipv4() { 32 } else { 128 }))
        ));
    }
    let strict = given.parse::<IpAddr>().is_ok() && (prefix == "0" || !prefix.starts_with('0'));
    if !strict || (address.is_ipv4() && text.contains(':')) {
        return Some(format!(
            "{path}: non-standard CIDR value {} is invalid: use {}",
            quote(text),
            quote(&usual)
        ));
    }
    (text != usual).then(|| {
        format!(
            "{path}: IPv6 CIDR value {} should be in RFC 5952 canonical format ({})",
            quote(text),
            quote(&usual)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_addresses() {
        assert_eq!(parse_legacy_ip("010.0.0.1").map(canonical).as_deref(), Some("10.0.0.1"));
        assert_eq!(parse_legacy_ip("::ffff:1.2.3.4").map(canonical).as_deref(), Some("1.2.3.4"));
        assert!(parse_legacy_ip("1.2.3").is_none());
        assert!(parse_legacy_ip("256.0.0.1").is_none());
        assert!(parse_legacy_ip("").is_none());
    }

    #[test]
    fn warnings_name_the_usual_form() {
        assert_eq!(ip_warning("a", "10.0.0.1"), None);
        assert_eq!(
            ip_warning("a", "010.0.0.1").as_deref(),
            Some("a: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\"")
        );
        assert_eq!(cidr_warning("a", "10.0.0.0/8"), None);
        assert!(cidr_warning("a", "10.1.0.0/8").is_some_and(|w| w.contains("ambiguous")));
    }
}
