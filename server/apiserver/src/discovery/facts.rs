//! Which groups, versions and resources a server has.

use ringbolt_machinery::schema::{Resource, Schema};

/// A group and its versions, preferred first.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) versions: Vec<Version>,
}

/// A version of a group and its resources, in the order discovery shows them.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) resources: Vec<&'static Resource>,
}

impl Version {
    /// As `groupVersion` shows it.
    pub(super) fn group_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// The groups of the Schema, in order, as far as their resources are served.
pub(super) fn groups(schema: &'static Schema, served: impl Fn(&Resource) -> bool) -> Vec<Group> {
    let version = |group: &'static str, version: &'static str| Version {
        group,
        version,
        resources: schema.resources_of(group, version).filter(|r| served(r)).collect(),
    };
    let group = |group: &ringbolt_machinery::schema::Group| Group {
        name: group.name,
        versions: group
            .versions
            .iter()
            .map(|v| version(group.name, v))
            .filter(|v| !v.resources.is_empty())
            .collect(),
    };
    schema.groups.iter().map(group).filter(|g| !g.versions.is_empty()).collect()
}
