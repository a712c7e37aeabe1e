//! What a service gets: families, addresses and ports, as much of each as it asks for or needs.

use std::{net::IpAddr, time::Instant};

use bumpalo::Bump;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{
    account::{Account, Claim, Good, goods},
    family,
    metrics::{Allocations, Scope},
    range::AddressRange,
};
use crate::{
    network,
    strategy::service::kind_in,
    tree::{Members, list, root, same},
    validation::{Errors, service_addresses},
};

/// Why a service cannot be completed: the errors that a client is told.
pub(super) type Refused = Vec<FieldError>;

/// One service being completed.
pub(super) struct Completion<'c, 'o> {
    account: &'c mut Account,
    allocations: &'c Allocations,
    key: String,
    /// The spec it has so far; `None` for a new service.
    old: Option<Map<'o>>,
    /// Nothing is set aside then, and what is checked is what Kubernetes checks in a dry run: that an address is within
    /// its range, and that a port is nobody's.
    dry_run: bool,
}

const SINGLE: &str = "SingleStack";

/// Whether nodes are asked whether they have endpoints.
/// Why a port cannot be had that is another's.
const TAKEN: &str = "provided port is already allocated";

fn needs_health_check(spec: &Map<'_>) -> bool {
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

fn texts<'a>(spec: &Map<'a>, member: &str) -> Vec<&'a str> {
    spec.items(member).iter().map(|item| item.as_str().unwrap_or("")).collect()
}

fn shown<'a>(spec: &Map<'a>, member: &str) -> Value<'a> {
    spec.get(member).cloned().unwrap_or(Value::Null)
}

impl<'c, 'o> Completion<'c, 'o> {
    pub(super) fn new(
        account: &'c mut Account,
        allocations: &'c Allocations,
        object: &Value<'_>,
        old: Option<&Value<'o>>,
        dry_run: bool,
    ) -> Self {
        let part = |member: &str| object.str_at(&["metadata", member]).unwrap_or("");
        let key = format!("{}/{}", part("namespace"), part("name"));
        let old = old.and_then(|o| o.path(&["spec"])?.as_map().cloned());
        Completion { account, allocations, key, old, dry_run }
    }

    /// Completes the service, or says why it cannot be. Then it is left half done.
    pub(super) fn run<'a>(
        &mut self,
        arena: &'a Bump,
        object: &mut Value<'a>,
    ) -> Result<Option<Claim>, Refused> {
        let spec = root(arena, object).map_mut("spec");
        self.families(arena, spec)?;
        self.addresses(arena, spec)?;
        self.ports(spec)?;
        self.health_check(spec)?;
        if self.dry_run {
            return Ok(None);
        }
        let claim = self.account.claim();
        let mut claims = false;
        for good in goods(spec) {
            claims |= self.account.set_aside(good, &self.key, claim);
        }
        Ok(claims.then_some(claim))
    }

    fn range_of(&self, name: &str) -> Option<AddressRange> {
        self.account.addresses.iter().copied().find(|r| r.is_ipv4() == (name == "IPv4"))
    }

    /// Whether both services prefer two families and nothing changed: then they are left alone.
    fn prefers_two_unchanged(&self, spec: &Map<'_>) -> bool {
        const PREFER: &str = "PreferDualStack";
        let Some(old) = &self.old else { return false };
        let addressed = ["ClusterIP", "NodePort", "LoadBalancer"];
        spec.text("ipFamilyPolicy") == PREFER
            && matches!(old.text("ipFamilyPolicy"), "" | PREFER)
            && old.text("type") == spec.text("type")
            && kind_in(spec, &addressed)
            && ["clusterIPs", "ipFamilies"].iter().all(|m| same(spec.get(m), old.get(m)))
    }

    fn families<'a>(&self, arena: &'a Bump, spec: &mut Map<'a>) -> Result<(), Refused> {
        if spec.text("type") == "ExternalName" || self.prefers_two_unchanged(spec) {
            return Ok(());
        }
        let headless = spec.text("clusterIP") == "None";
        let selectorless = headless && spec.lacks("selector");
        if !spec.has("ipFamilyPolicy") {
            let old = self.old.as_ref().map_or("", |o| o.text("ipFamilyPolicy"));
            let policy = match old {
                "" if selectorless => "RequireDualStack",
                "" => SINGLE,
                old => &*arena.alloc_str(old),
            };
            spec.insert("ipFamilyPolicy", Value::String(policy));
        }
        let mut errors: Errors = Vec::new();
        service_addresses::validate(spec, self.old.as_ref(), &mut errors);
        refuse(errors)?;
        let mut errors: Errors = Vec::new();
        self.fit_policy(arena, spec, &mut errors);
        for (at, text) in texts(spec, "clusterIPs").iter().enumerate() {
            if *text == "None" {
                break;
            }
            let Some(name) = network::parse_legacy_ip(text).map(family) else { continue };
            let families = spec.items("ipFamilies").len();
            if at >= families && self.range_of(name).is_none() {
                let why = format!("{name} is not configured on this cluster");
                let path = index("spec.clusterIPs", at);
                errors.push(FieldError::invalid(path, shown(spec, "clusterIPs"), why));
            } else if at >= families {
                crate::tree::list_mut(spec, "ipFamilies").push(Value::String(name));
            }
        }
        refuse(errors)?;
        let default =
            self.account.addresses.first().map_or("IPv4", |r| if r.is_ipv4() { "IPv4" } else { "IPv6" });
        if !selectorless {
            let mut errors: Errors = Vec::new();
            let policy = spec.text("ipFamilyPolicy");
            if policy == "RequireDualStack" && self.account.addresses.len() < 2 {
                let why = "this cluster is not configured for dual-stack services";
                errors.push(FieldError::invalid("spec.ipFamilyPolicy", policy, why));
            }
            for (at, name) in texts(spec, "ipFamilies").iter().enumerate() {
                if self.range_of(name).is_none() {
                    let path = index("spec.ipFamilies", at);
                    errors.push(FieldError::invalid(path, *name, "not configured on this cluster"));
                }
            }
            refuse(errors)?;
        }
        if spec.lacks("ipFamilies") {
            spec.insert("ipFamilies", list(arena, [Value::String(default)]));
        }
        let two = selectorless || self.account.addresses.len() == 2;
        if let ([one], true) = (&texts(spec, "ipFamilies")[..], two && spec.text("ipFamilyPolicy") != SINGLE)
        {
            let other = if *one == "IPv4" { "IPv6" } else { "IPv4" };
            crate::tree::list_mut(spec, "ipFamilies").push(Value::String(other));
        }
        Ok(())
    }

    /// What a policy of one family lets go, and what does not go with it.
    fn fit_policy<'a>(&self, arena: &'a Bump, spec: &mut Map<'a>, errors: &mut Errors) {
        let policy = spec.text("ipFamilyPolicy");
        let path = "spec.ipFamilyPolicy";
        let kinds = [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")];
        if let Some(old) = &self.old {
            for (member, what) in kinds {
                let (now, before) = (spec.items(member).len(), old.items(member).len());
                if policy == SINGLE {
                    if now > 1 && same(spec.get(member), old.get(member)) {
                        let first = spec.items(member).first().cloned();
                        spec.insert(member, list(arena, first));
                    }
                } else if now > 0 && now < before {
                    let why = format!("must be 'SingleStack' to release the secondary {what}");
                    errors.push(FieldError::invalid(path, policy, why));
                }
            }
        }
        let plurals = [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")];
        for (member, what) in plurals {
            if policy == SINGLE && spec.items(member).len() == 2 {
                let why = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                errors.push(FieldError::invalid(path, policy, why));
            }
        }
    }

    fn addresses<'a>(&mut self, arena: &'a Bump, spec: &mut Map<'a>) -> Result<(), Refused> {
        let external = |spec: &Map<'_>| spec.text("type") == "ExternalName";
        if external(spec) || texts(spec, "clusterIPs").first() == Some(&"None") {
            return Ok(());
        }
        // A service that has addresses keeps them; it gets one more with one more family.
        let from = match &self.old {
            Some(_) if self.prefers_two_unchanged(spec) => return Ok(()),
            Some(old) if external(old) => 0,
            Some(old) if texts(old, "clusterIPs").first() == Some(&"None") => return Ok(()),
            Some(old) if old.items("ipFamilies").len() == 1 => 1,
            // What was stored before there were families or an allocator is completed now.
            Some(old) if old.lacks("clusterIPs") => 0,
            Some(_) => return Ok(()),
            None => 0,
        };
        let families = texts(spec, "ipFamilies");
        let given = texts(spec, "clusterIPs");
        let mut addresses: Vec<&'a str> = given.clone();
        for (at, name) in families.iter().enumerate().skip(from) {
            let asked = given.get(at).copied().unwrap_or("");
            let begun = Instant::now();
            let found = self.address(name, asked, spec);
            if let (false, Some(range)) = (self.dry_run, self.range_of(name)) {
                let scope = if asked.is_empty() { Scope::Dynamic } else { Scope::Static };
                self.allocations.address(range, scope, found.is_ok(), begun.elapsed());
            }
            let address = found?;
            let text = if asked.is_empty() { &*arena.alloc_str(&address.to_string()) } else { asked };
            match addresses.get_mut(at) {
                Some(place) => *place = text,
                None => addresses.push(text),
            }
        }
        if let Some(first) = addresses.first() {
            spec.insert("clusterIP", Value::String(first));
        }
        if !addresses.is_empty() {
            spec.insert("clusterIPs", list(arena, addresses.into_iter().map(Value::String)));
        }
        Ok(())
    }

    /// An address of a family: the one that is asked for, or any.
    fn address(&self, name: &str, asked: &str, spec: &Map<'_>) -> Result<IpAddr, Refused> {
        let account = &*self.account;
        let taken = |address: IpAddr| account.is_taken(Good::Address(address), &self.key);
        let refused =
            |why: String| vec![FieldError::invalid("spec.clusterIPs", shown(spec, "clusterIPs"), why)];
        let range = self.range_of(name);
        let Some(address) = network::parse_legacy_ip(asked) else {
            if let (true, Some(range)) = (self.dry_run, range) {
                return Ok(range.network());
            }
            let full = || refused("failed to allocate IP: range is full".to_owned());
            return range.and_then(|r| r.free(taken)).ok_or_else(full);
        };
        let why = match range.filter(|r| r.is_usable(address)) {
            None => "the provided network does not match the current range",
            Some(_) if !self.dry_run && taken(address) => "provided IP is already allocated",
            Some(_) => return Ok(address),
        };
        Err(refused(format!("failed to allocate IP {asked}: {why}")))
    }

    fn ports(&mut self, spec: &mut Map<'_>) -> Result<(), Refused> {
        if !kind_in(spec, &["NodePort", "LoadBalancer"]) {
            return Ok(());
        }
        let allocates = spec.text("type") == "NodePort" || spec.flag("allocateLoadBalancerNodePorts");
        let had: Vec<i64> = match &self.old {
            Some(old) => old.items("ports").iter().filter_map(|p| p.as_map()?.int("nodePort")).collect(),
            None => Vec::new(),
        };
        let count = spec.items("ports").len();
        // What a port of the service got: one of another protocol gets the same.
        let mut given: Vec<(i64, i64)> = Vec::new();
        for at in 0..count {
            let Some(port) = spec.items("ports").get(at).and_then(Value::as_map) else { continue };
            let (number, asked) = (port.int("port").unwrap_or(0), port.int("nodePort").unwrap_or(0));
            if asked == 0 && !allocates {
                continue;
            }
            let shared = given.iter().find(|(port, _)| *port == number).map(|(_, node)| *node);
            let wanted = match (asked, self.old.is_some()) {
                (0, false) => shared.unwrap_or_else(|| requested(spec, number)),
                (0, true) => 0,
                (asked, _) => asked,
            };
            let path = child(&index("spec.ports", at), "nodePort");
            let known = had.contains(&wanted) || given.iter().any(|(_, node)| *node == wanted);
            let node = match wanted {
                0 => self.counted(Scope::Dynamic, self.free_port(&given, &path).map(i64::from))?,
                wanted if known => wanted,
                wanted => self.counted(Scope::Static, self.asked_port(wanted, &path))?,
            };
            given.push((number, node));
            if let Some(port) = crate::tree::list_mut(spec, "ports").get_mut(at).and_then(Value::as_map_mut) {
                port.insert("nodePort", Value::Int(node));
            }
        }
        Ok(())
    }

    /// Counts a port that was asked for.
    fn counted(&self, scope: Scope, found: Result<i64, Refused>) -> Result<i64, Refused> {
        if !self.dry_run {
            self.allocations.port(scope, found.is_ok());
        }
        found
    }

    fn free_port(&self, given: &[(i64, i64)], path: &str) -> Result<u16, Refused> {
        let account = &*self.account;
        let taken = |port: u16| {
            account.is_taken(Good::Port(port), &self.key)
                || given.iter().any(|(_, node)| *node == i64::from(port))
        };
        account
            .ports
            .free(taken)
            .ok_or_else(|| vec![FieldError::internal(path, "failed to allocate a nodePort: range is full")])
    }

    fn asked_port(&self, port: i64, path: &str) -> Result<i64, Refused> {
        let account = &*self.account;
        let number = u16::try_from(port).ok().filter(|p| self.dry_run || account.ports.contains(*p));
        let why = match number {
            None if self.dry_run => return Ok(port),
            None => format!(
                "provided port is not in the valid range. The range of valid ports is {}",
                account.ports
            ),
            Some(number) if account.is_taken(Good::Port(number), &self.key) => TAKEN.to_owned(),
            Some(_) => return Ok(port),
        };
        Err(vec![FieldError::invalid(path, port, why)])
    }

    fn health_check(&mut self, spec: &mut Map<'_>) -> Result<(), Refused> {
        let path = "spec.healthCheckNodePort";
        if !needs_health_check(spec) || self.old.as_ref().is_some_and(needs_health_check) {
            return Ok(());
        }
        let given: Vec<(i64, i64)> =
            spec.items("ports").iter().filter_map(|p| Some((0, p.as_map()?.int("nodePort")?))).collect();
        let port = match spec.int("healthCheckNodePort").unwrap_or(0) {
            0 => self.counted(Scope::Dynamic, self.free_port(&given, path).map(i64::from))?,
            asked if given.iter().any(|(_, port)| *port == asked) => {
                return Err(vec![FieldError::invalid(path, asked, TAKEN)]);
            }
            asked => self.counted(Scope::Static, self.asked_port(asked, path))?,
        };
        spec.insert("healthCheckNodePort", Value::Int(port));
        Ok(())
    }
}

/// The node port that another entry of the same port asks for.
fn requested(spec: &Map<'_>, number: i64) -> i64 {
    let ports = spec.items("ports").iter().filter_map(Value::as_map);
    ports
        .filter(|p| p.int("port").unwrap_or(0) == number)
        .find_map(|p| p.int("nodePort").filter(|n| *n != 0))
        .unwrap_or(0)
}

fn refuse(errors: Errors) -> Result<(), Refused> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
