//! Groups as documents show them, and which there are.

use std::{collections::BTreeMap, sync::Arc};

use ringbolt_machinery::schema::{Resource, Schema};

use crate::live::{
    Published, Routes,
    facts::{Text, VersionFacts},
    priorities::{self, Priority, compare_versions},
};

/// The group of APIServices, which comes before all others whatever they say.
pub(super) const APISERVICES: &str = "apiregistration.k8s.io";

/// A group and its versions, preferred first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: Text,
    pub(super) versions: Vec<Text>,
}

/// A group and all about its versions, preferred first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FullGroup {
    pub(super) name: Text,
    pub(super) versions: Vec<Arc<VersionFacts>>,
}

/// What is built in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuiltInDiscovery {
    /// The `host:port` that `/api` shows.
    pub(crate) server_address: String,
    /// Group-versions with resources.
    pub(super) versions: Vec<Arc<VersionFacts>>,
}

impl BuiltInDiscovery {
    /// Adds the group-versions of the Schema, as far as their resources are served.
    pub(crate) fn add(&mut self, schema: &'static Schema, served: impl Fn(&Resource) -> bool) {
        for group in &schema.groups {
            for version in &group.versions {
                let resources = schema.resources_of(group.name, version).filter(|r| served(r));
                let facts = VersionFacts {
                    group: group.name.into(),
                    version: Text::Borrowed(version),
                    resources: resources.map(Into::into).collect(),
                    ..VersionFacts::default()
                };
                if !facts.resources.is_empty() {
                    self.versions.push(Arc::new(facts));
                }
            }
        }
    }

    pub(super) fn core(&self) -> impl Iterator<Item = &Arc<VersionFacts>> {
        self.versions.iter().filter(|v| v.group.is_empty())
    }

    pub(super) fn has_group(&self, group: &str) -> bool {
        self.versions.iter().any(|v| v.group == group)
    }

    pub(crate) fn has(&self, group: &str, version: &str) -> bool {
        self.versions.iter().any(|v| v.group == group && v.version == version)
    }
}

fn built_in_priority(version: &VersionFacts) -> Priority {
    priorities::built_in(&version.group, &version.version).unwrap_or(Priority::DEFAULT)
}

/// A version and its place.
type Placed = (Arc<VersionFacts>, Priority);

/// All group-versions besides those of core. Another server's come before what is built in, and that before custom
/// resources.
fn placed(published: &Published) -> Vec<Placed> {
    let built_in = &published.built_in;
    let is_proxied = |group: &str, version: &str| {
        published.version(group, version).is_some_and(|v| matches!(v.routes, Routes::Proxy(_)))
    };
    let own = built_in.versions.iter().filter(|v| !v.group.is_empty() && !is_proxied(&v.group, &v.version));
    let own = own.map(|v| (v.clone(), built_in_priority(v)));
    let others = published.versions.iter().filter(|v| {
        !v.group().is_empty()
            && (matches!(v.routes, Routes::Proxy(_)) || !built_in.has(v.group(), v.version()))
    });
    own.chain(others.map(|v| (v.facts.clone(), v.priority))).collect()
}

/// Groups in the order of aggregated discovery: the highest priority of any version counts, then the name.
pub(super) fn full_groups(published: &Published) -> Vec<FullGroup> {
    let mut groups: BTreeMap<Text, Vec<Placed>> = BTreeMap::new();
    for placed in placed(published) {
        groups.entry(placed.0.group.clone()).or_default().push(placed);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    // Stable: names decide among equals.
    groups.sort_by_key(|(_, versions)| std::cmp::Reverse(versions.iter().map(|v| v.1.group).max()));
    let full = |(name, mut versions): (Text, Vec<Placed>)| {
        versions.sort_by(|a, b| {
            let by_name = || compare_versions(&b.0.version, &a.0.version);
            b.1.version.cmp(&a.1.version).then_with(by_name)
        });
        FullGroup { name, versions: versions.into_iter().map(|v| v.0).collect() }
    };
    groups.into_iter().map(full).collect()
}

/// Groups in the order of `/apis`: APIServices by the priority of their group and by name (`VERSION.GROUP`) say which
/// group comes first.
pub(super) fn groups(published: &Published) -> Vec<Group> {
    let own = published.built_in.versions.iter().filter(|v| v.group == APISERVICES);
    let first = own.map(|v| (v.group.clone(), v.version.clone(), built_in_priority(v)));
    let mut services: Vec<(Text, Text, Priority)> = match &published.services {
        Some(services) => services.iter().map(|s| (s.group.clone(), s.version.clone(), s.priority)).collect(),
        None => placed(published)
            .into_iter()
            .map(|(v, priority)| (v.group.clone(), v.version.clone(), priority))
            .collect(),
    };
    services.retain(|(group, ..)| !group.is_empty() && group != APISERVICES);
    services.sort_by_cached_key(|(group, version, priority)| {
        (std::cmp::Reverse(priority.group), format!("{version}.{group}"))
    });
    let mut by_group: Vec<(Text, Vec<(Text, i32)>)> = Vec::new();
    let mut numbers: BTreeMap<Text, usize> = BTreeMap::new();
    for (group, version, priority) in first.chain(services) {
        let at = *numbers.entry(group.clone()).or_insert_with(|| {
            by_group.push((group, Vec::new()));
            by_group.len() - 1
        });
        by_group[at].1.push((version, priority.version));
    }
    let group = |(name, mut versions): (Text, Vec<(Text, i32)>)| {
        versions.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| compare_versions(&b.0, &a.0)));
        Group { name, versions: versions.into_iter().map(|v| v.0).collect() }
    };
    by_group.into_iter().map(group).collect()
}
