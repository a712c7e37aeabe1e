//! Ranges that addresses and ports are taken from.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::network;

/// A range of addresses of services. The first address is the network's, and the last one of an IPv4 range its
/// broadcast address: services have neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    bits: u8,
}

/// Above this many addresses a range is not looked at further: as many as kube-apiserver looks at.
const ADDRESSES_MAX: u128 = 1 << 20;
/// The part of a range that is left to services that ask for an address: at least, and at most.
const STATIC_MIN: u128 = 16;
const STATIC_MAX: u128 = 256;

impl AddressRange {
    /// Reads `10.0.0.0/24`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = network::parse_legacy_cidr(text.trim())?;
        Some(AddressRange { first: network::masked(address, bits), bits })
    }

    /// The first address that a service can have: that of the service `kubernetes`.
    pub fn first_address(self) -> IpAddr {
        self.at(0)
    }

    /// The address of the range itself, which no service has.
    pub(super) fn network(self) -> IpAddr {
        self.first
    }

    /// Whether it is of IPv4 addresses.
    pub(super) fn is_ipv4(self) -> bool {
        self.first.is_ipv4()
    }

    /// Whether an address is within.
    pub(super) fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.is_ipv4() && network::masked(address, self.bits) == self.first
    }

    /// Whether an address within can be a service's.
    pub(super) fn is_usable(self, address: IpAddr) -> bool {
        let last = match (address, self.bits) {
            (IpAddr::V4(v4), bits) if bits < 32 => u32::from(v4) | (u32::MAX >> bits) == u32::from(v4),
            _ => false,
        };
        self.contains(address) && address != self.first && !last
    }

    /// How many addresses there are, the first and last left aside.
    pub(super) fn size(self) -> u128 {
        let width: u32 = if self.is_ipv4() { 32 } else { 128 };
        let all = 1u128.checked_shl(width - u32::from(self.bits)).unwrap_or(u128::MAX);
        all.saturating_sub(if self.is_ipv4() { 2 } else { 1 }).min(ADDRESSES_MAX)
    }

    fn at(self, place: u128) -> IpAddr {
        match self.first {
            IpAddr::V4(v4) => Ipv4Addr::from(u32::from(v4).wrapping_add(place as u32 + 1)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6).wrapping_add(place + 1)).into(),
        }
    }

    /// An address that is free: from a random place of the upper part on, then from the lower part.
    pub(super) fn free(self, taken: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
        let size = self.size();
        let lower = if size < STATIC_MIN { 0 } else { (size / 16).clamp(STATIC_MIN, STATIC_MAX).min(size) };
        let upper = size - lower;
        let start = if upper == 0 { 0 } else { u128::from(random()) % upper };
        let upper = (0..upper).map(|step| lower + (start + step) % upper);
        upper.chain(0..lower).map(|place| self.at(place)).find(|address| !taken(*address))
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// A range of ports of nodes, both ends within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// Lowest port.
    pub first: u16,
    /// Highest port.
    pub last: u16,
}

/// The ports that kube-apiserver hands out where no flag says otherwise.
impl Default for PortRange {
    fn default() -> Self {
        PortRange { first: 30000, last: 32767 }
    }
}

impl PortRange {
    /// How many ports there are.
    pub(super) fn size(self) -> usize {
        usize::from(self.last.saturating_sub(self.first)) + usize::from(self.last >= self.first)
    }

    pub(super) fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// A port that is free, from a random place on.
    pub(super) fn free(self, taken: impl Fn(u16) -> bool) -> Option<u16> {
        let size = u32::from(self.last.checked_sub(self.first)?) + 1;
        let start = random() as u32 % size;
        (0..size).map(|step| self.first + ((start + step) % size) as u16).find(|port| !taken(*port))
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// A number nobody foresees; nothing secret hangs on it.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> AddressRange {
        AddressRange::parse(text).unwrap()
    }

    #[test]
    fn first_and_last_address_are_nobodys() {
        let small = range("10.0.0.0/30");
        let mut taken: Vec<IpAddr> = Vec::new();
        while let Some(address) = small.free(|a| taken.contains(&a)) {
            assert!(small.is_usable(address), "{address}");
            taken.push(address);
        }
        taken.sort();
        assert_eq!(taken.iter().map(IpAddr::to_string).collect::<Vec<_>>(), ["10.0.0.1", "10.0.0.2"]);
        assert!(!small.is_usable("10.0.0.0".parse().unwrap()));
        assert!(!small.is_usable("10.0.0.3".parse().unwrap()));
        assert!(!small.contains("10.0.0.4".parse().unwrap()));
    }

    #[test]
    fn the_upper_part_goes_first() {
        let range = range("10.0.0.0/24");
        for _ in 0..100 {
            let IpAddr::V4(address) = range.free(|_| false).unwrap() else { panic!("of the other family") };
            assert!(address.octets()[3] > 16, "{address}");
        }
        assert!(self::range("fd00::/64").free(|_| false).is_some());
    }

    #[test]
    fn ports_run_out() {
        let ports = PortRange { first: 30000, last: 30001 };
        assert_eq!(ports.free(|p| p == 30000), Some(30001));
        assert_eq!(ports.free(|_| true), None);
    }
}
