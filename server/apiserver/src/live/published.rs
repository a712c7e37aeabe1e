//! All contributions of one moment, put together.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ringbolt_storage::object::ResourceId;

use super::contribution::{Contributions, GroupVersion, Owner, ServiceOrder};
use crate::discovery::BuiltInDiscovery;

/// What is served besides the built-in resources, at one time.
#[derive(Default)]
pub struct Published {
    /// Counts publications.
    pub number: u64,
    /// Group-versions, by group and version; of those with the same name, the one that counts.
    pub versions: Vec<Arc<GroupVersion>>,
    /// What APIServices say, if somebody reads them.
    pub services: Option<Arc<Vec<ServiceOrder>>>,
    /// What is built in.
    pub(crate) built_in: Arc<BuiltInDiscovery>,
}

impl Published {
    pub(super) fn new(
        number: u64,
        built_in: Arc<BuiltInDiscovery>,
        owners: &BTreeMap<Owner, Contributions>,
    ) -> Self {
        let mut versions: BTreeMap<(&str, &str), &Arc<GroupVersion>> = BTreeMap::new();
        // Owners come in the order in which they count.
        for version in owners.values().flat_map(|owner| &owner.versions) {
            versions.entry((version.group(), version.version())).or_insert(version);
        }
        let services = owners.values().find_map(|owner| owner.services.clone());
        Published {
            number,
            built_in,
            versions: versions.into_values().cloned().collect(),
            services: services.map(Arc::new),
        }
    }

    /// Group, plural name and store of each custom resource, once whatever the number of its versions.
    pub fn custom_resources(&self) -> impl Iterator<Item = (&str, &str, ResourceId)> {
        let mut seen = BTreeSet::new();
        let all = self.versions.iter().flat_map(|version| {
            version
                .resources()
                .iter()
                .filter_map(|resource| Some((version.group(), &*resource.resource, resource.stored()?)))
        });
        all.filter(move |(group, resource, _)| seen.insert((*group, *resource)))
    }

    /// A group-version.
    pub fn version(&self, group: &str, version: &str) -> Option<&Arc<GroupVersion>> {
        let at =
            self.versions.binary_search_by(|known| (known.group(), known.version()).cmp(&(group, version)));
        at.ok().map(|at| &self.versions[at])
    }
}
