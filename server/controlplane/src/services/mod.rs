//! Addresses and node ports of services: who has which, and what a service that asks for one gets.
//!
//! What is taken is what stored services have; the store's events keep the account current, so nothing has to be
//! given back when a service goes. What is handed to a service that is on its way to the store is set aside for
//! the time a write can take.

mod account;
mod addresses;
mod complete;
mod metrics;
mod range;
pub mod repair;
#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bumpalo::Bump;
use ringbolt_apiserver::metrics::Exposition;
use ringbolt_machinery::{field::FieldError, value::Value};
use ringbolt_storage::{object::ResourceId, storage::Storage};

use self::{
    account::{Account, Claim},
    complete::Completion,
    metrics::Allocations,
};

pub use self::range::{AddressRange, PortRange};
pub(crate) use self::{addresses::ServiceAddresses, range::random};

/// Hands out addresses and node ports. Does nothing until [`ServiceAllocator::start`].
#[derive(Default)]
pub struct ServiceAllocator {
    account: Mutex<Option<Account>>,
    allocations: Allocations,
}

impl ServiceAllocator {
    /// Begins to hand out addresses of the ranges, one a family, the first that of services that ask for none;
    /// and ports. `services` is the resource that services are stored as, `ip_addresses` that of their addresses.
    pub fn start(
        &self,
        storage: Arc<dyn Storage>,
        services: ResourceId,
        ip_addresses: ResourceId,
        addresses: Vec<AddressRange>,
        ports: PortRange,
    ) {
        *self.lock() = Some(Account::new(storage, services, ip_addresses, addresses, ports));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Account>> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a service that is new, or was `old` so far, what it needs, or says why it cannot have what it asks for.
    /// A dry run takes nothing away from others. Answers the claim under which it was set aside, where it was.
    pub(crate) fn complete<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: Option<&Value<'_>>,
        dry_run: bool,
    ) -> Result<Option<Claim>, Vec<FieldError>> {
        match self.lock().as_mut() {
            None => Ok(None),
            Some(account) => {
                account.catch_up();
                Completion::new(account, &self.allocations, object, old, dry_run).run(arena, object)
            }
        }
    }

    /// Shows what was handed out, and how much is left.
    pub fn collect(&self, out: &mut Exposition) {
        if let Some(account) = self.lock().as_mut() {
            self.allocations.collect(account, out);
        }
    }

    /// Gives back what was set aside under a claim. What was stored meanwhile is its service's.
    pub(crate) fn release(&self, claim: Claim) {
        if let Some(account) = self.lock().as_mut() {
            account.release(claim);
        }
    }
}

/// The family of an address as services name it.
fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}
