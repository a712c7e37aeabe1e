//! Which documents there are at one time, and what they are made of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ringbolt_machinery::{
    openapi::v3,
    schema::{Group, Schema},
};

use crate::live::{GroupVersion, OpenApi, Published};

/// What documents are made of. Names are those of v3.
#[derive(Default)]
pub(super) struct Moment {
    /// Built-in groups that are served.
    pub(super) groups: Vec<Group>,
    /// Names of what is built in, sorted.
    built_in: Vec<Arc<str>>,
    /// Group-versions that are not built in and say something of themselves.
    pub(super) versions: BTreeMap<Arc<str>, Arc<GroupVersion>>,
}

impl Moment {
    pub(super) fn new(schema: &Schema, openid: bool, published: &Published) -> Self {
        let served = |group: &Group| {
            let versions = group.versions.iter().copied();
            let versions = versions.filter(|version| published.built_in.has(group.name, version));
            Group { name: group.name, versions: versions.collect() }
        };
        let groups: Vec<_> = schema.groups.iter().map(served).filter(|g| !g.versions.is_empty()).collect();
        let built_in = v3::names(&groups, openid).into_iter().map(Arc::from).collect();
        let mut moment = Moment { groups, built_in, versions: BTreeMap::new() };
        for version in published.versions.iter().filter(|version| !version.group().is_empty()) {
            let name: Arc<str> = Arc::from(format!("apis/{}/{}", version.group(), version.version()));
            let stands = match &version.openapi {
                None => false,
                // Nothing stands in for what is built in but another server.
                Some(OpenApi::Source(_)) => !moment.is_built_in(&name),
                Some(OpenApi::Remote { .. }) => true,
            };
            if stands {
                moment.versions.insert(name, version.clone());
            }
        }
        moment
    }

    pub(super) fn is_built_in(&self, name: &str) -> bool {
        self.built_in.binary_search_by(|known| (**known).cmp(name)).is_ok()
    }

    /// What a group-version that is not built in says of itself.
    pub(super) fn openapi(&self, name: &str) -> Option<&OpenApi> {
        self.versions.get(name)?.openapi.as_ref()
    }

    /// All names, sorted.
    pub(super) fn names(&self) -> BTreeSet<Arc<str>> {
        self.built_in.iter().chain(self.versions.keys()).cloned().collect()
    }

    /// Whether a name stands for the same as at another time.
    pub(super) fn has_same(&self, other: &Moment, name: &str) -> bool {
        match (self.versions.get(name), other.versions.get(name)) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => self.is_built_in(name) == other.is_built_in(name),
            _ => false,
        }
    }

    /// Whether all documents are the same as at another time.
    pub(super) fn is_same(&self, other: &Moment) -> bool {
        self.built_in == other.built_in
            && self.versions.len() == other.versions.len()
            && self.versions.keys().all(|name| self.has_same(other, name))
    }
}
