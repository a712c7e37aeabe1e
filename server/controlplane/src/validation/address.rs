//! IP addresses and ranges in fields.

use std::net::IpAddr;

use ringbolt_machinery::field::{FieldError, quote};

use super::Errors;
use crate::network::{self, NOT_AN_IP};

/// The text for what is no range.
const NOT_A_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Whether an IPv6 text holds an IPv4 address.
fn is_mapped(text: &str) -> bool {
    text.parse::<std::net::Ipv6Addr>().is_ok_and(|v6| v6.to_ipv4_mapped().is_some())
}

/// An address of a field that once took anything; `kept` are values that were there before. Answers whether it is
/// in order.
pub(crate) fn legacy_ip(text: &str, kept: &[&str], path: &str, errors: &mut Errors) -> bool {
    if kept.contains(&text) {
        return true;
    }
    let before = errors.len();
    if network::parse_legacy_ip(text).is_none() {
        errors.push(FieldError::invalid(path, text, NOT_AN_IP));
    } else if text.parse::<IpAddr>().is_err() {
        errors.push(FieldError::invalid(path, text, "must not have leading 0s"));
    } else if is_mapped(text) {
        errors.push(FieldError::invalid(path, text, "must not be an IPv4-mapped IPv6 address"));
    }
    errors.len() == before
}

/// An address in its usual form. Answers whether it is.
pub(crate) fn strict_ip(text: &str, path: &str, errors: &mut Errors) -> bool {
    if !legacy_ip(text, &[], path, errors) {
        return false;
    }
    let usual = network::parse_legacy_ip(text).map(network::canonical).unwrap_or_default();
    if usual != text {
        let why = format!("must be in canonical form ({})", quote(&usual));
        errors.push(FieldError::invalid(path, text, why));
        return false;
    }
    true
}

/// A range of a field that once took anything. Answers whether it is in order.
pub(crate) fn legacy_cidr(text: &str, kept: &[&str], path: &str, errors: &mut Errors) -> bool {
    if kept.contains(&text) {
        return true;
    }
    let Some((address, bits)) = network::parse_legacy_cidr(text) else {
        errors.push(FieldError::invalid(path, text, NOT_A_CIDR));
        return false;
    };
    let (given, prefix) = text.split_once('/').unwrap_or((text, ""));
    let plain = given.parse::<IpAddr>().is_ok() && (prefix == "0" || !prefix.starts_with('0'));
    let why = if !plain {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(given) {
        "must not have an IPv4-mapped IPv6 address"
    } else if network::masked(address, bits) != address {
        "must not have bits set beyond the prefix length"
    } else {
        return true;
    };
    errors.push(FieldError::invalid(path, text, why));
    false
}

/// A range in its usual form.
pub(crate) fn strict_cidr(text: &str, path: &str, errors: &mut Errors) {
    if !legacy_cidr(text, &[], path, errors) {
        return;
    }
    if let Some((address, bits)) = network::parse_legacy_cidr(text) {
        let usual = format!("{}/{bits}", network::canonical(address));
        if usual != text {
            let why = format!("must be in canonical form ({})", quote(&usual));
            errors.push(FieldError::invalid(path, text, why));
        }
    }
}

/// An address that endpoints can have.
pub(crate) fn endpoint_ip(ip: &str, path: &str, errors: &mut Errors) {
    let Some(address) = network::parse_legacy_ip(ip) else {
        errors.push(FieldError::invalid(path, ip, "must be a valid IP address"));
        return;
    };
    let mut refuse = |bad: bool, why: &str| {
        if bad {
            errors.push(FieldError::invalid(path, ip, why));
        }
    };
    refuse(address.is_unspecified(), &format!("may not be unspecified ({ip})"));
    refuse(address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    };
    refuse(link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    let link_local_multicast = match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    };
    refuse(link_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

/// Whether addresses are one of each family at most.
pub(crate) fn one_of_each(texts: &[&str]) -> bool {
    let families: Vec<bool> =
        texts.iter().filter_map(|t| network::parse_legacy_ip(t)).map(|a| a.is_ipv4()).collect();
    texts.len() == 2 && families.len() == 2 && families[0] != families[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(check: impl FnOnce(&mut Errors)) -> Vec<String> {
        let mut errors = Vec::new();
        check(&mut errors);
        errors.into_iter().map(|e| e.detail).collect()
    }

    #[test]
    fn addresses_are_strict_where_new() {
        let of = |text: &str| {
            messages(|e| {
                let _ = legacy_ip(text, &[], "p", e);
            })
        };
        assert_eq!(of("010.1.1.1"), ["must not have leading 0s"]);
        assert_eq!(of("::ffff:1.2.3.4"), ["must not be an IPv4-mapped IPv6 address"]);
        assert_eq!(of("x"), [NOT_AN_IP]);
        assert!(of("1.2.3.4").is_empty());
        assert!(
            messages(|e| {
                let _ = legacy_ip("010.1.1.1", &["010.1.1.1"], "p", e);
            })
            .is_empty()
        );
    }

    #[test]
    fn ranges() {
        let of = |text: &str| messages(|e| strict_cidr(text, "p", e));
        assert_eq!(of("10.0.0.1/8"), ["must not have bits set beyond the prefix length"]);
        assert_eq!(of("2001:DB8::/32"), ["must be in canonical form (\"2001:db8::/32\")"]);
        assert!(of("10.0.0.0/8").is_empty());
    }
}
