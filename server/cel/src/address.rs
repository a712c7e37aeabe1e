//! Addresses and networks, as Go's `net/netip` reads them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringbolt_machinery::field::quote;

fn plain(text: &str) -> Result<IpAddr, String> {
    let failed = |why: &str| format!("ParseAddr({}): {why}", quote(text));
    match text.find(['.', ':', '%']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => text.parse().map(IpAddr::V4).map_err(|_| failed(ipv4_problem(text))),
        Some(b':') => text.parse().map(IpAddr::V6).map_err(|_| failed("unable to parse IP")),
        Some(_) => Err(failed("missing IPv6 address")),
        None => Err(failed("unable to parse IP")),
    }
}

fn ipv4_problem(text: &str) -> &'static str {
    let fields: Vec<&str> = text.split('.').collect();
    for field in &fields {
        if field.bytes().any(|b| !b.is_ascii_digit()) {
            return "unexpected character";
        }
        if field.is_empty() {
            return "IPv4 field must have at least one digit";
        }
        if field.len() > 1 && field.starts_with('0') {
            return "IPv4 field has octet with leading zero";
        }
        if field.parse::<u16>().map_or(true, |n| n > 255) {
            return "IPv4 field has value >255";
        }
    }
    if fields.len() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }
}

/// An address without a zone that is no IPv4 address within an IPv6 one.
pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let zoned = text.contains(':') && text.contains('%');
    let address = match text.split_once('%') {
        Some((address, zone)) if zoned && !zone.is_empty() => plain(address),
        _ => plain(text),
    };
    let address = address.map_err(|why| {
        format!("IP Address {} parse error during conversion from string: {why}", quote(text))
    })?;
    if zoned {
        return Err(format!("IP address {} with zone value is not allowed", quote(text)));
    }
    if matches!(address, IpAddr::V6(a) if a.to_ipv4_mapped().is_some()) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(address)
}

/// An address and how many of its bits name a network.
pub(crate) fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let failed = |why: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({}): {why}",
            quote(text)
        )
    };
    let Some((address, bits)) = text.rsplit_once('/') else { return Err(failed("no '/'")) };
    let address_of = plain(address).map_err(|why| failed(&why))?;
    if address.contains('%') {
        return Err(failed("IPv6 zones cannot be present in a prefix"));
    }
    let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    if !digits || bits.len() > 1 && bits.starts_with('0') {
        return Err(failed(&format!("bad bits after slash: {}", quote(bits))));
    }
    let max = if address_of.is_ipv4() { 32 } else { 128 };
    let length = bits.parse::<u8>().ok().filter(|bits| *bits <= max);
    let length = length.ok_or_else(|| failed("prefix length out of range"))?;
    if matches!(address_of, IpAddr::V6(a) if a.to_ipv4_mapped().is_some()) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok((address_of, length))
}

/// An address with the bits that name no network cleared.
pub(crate) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(a) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(a.to_bits() & mask))
        }
        IpAddr::V6(a) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(a.to_bits() & mask))
        }
    }
}

/// Whether an address is of a network.
pub(crate) fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, bits) == masked(address, bits)
}
