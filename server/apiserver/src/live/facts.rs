//! What discovery tells of resources: of built-in ones, of custom ones, and of those that other servers have.

use std::borrow::Cow;

use ringbolt_machinery::schema;

/// Text that a built-in resource borrows and any other owns.
pub type Text = Cow<'static, str>;

/// Group, version and kind.
pub type GroupVersionKind = (Text, Text, Text);

/// Verbs of a custom resource, in the order that discovery has them.
pub const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Verbs of a custom resource whose definition is being deleted: nothing new comes, and nothing changes.
pub const TERMINATING_VERBS: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];
/// Verbs of `status` and `scale`.
pub const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// Texts of a list.
pub fn texts(texts: &[&'static str]) -> Vec<Text> {
    texts.iter().map(|text| Text::Borrowed(text)).collect()
}

/// Whether what discovery says of a group-version is known to be so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// It is.
    #[default]
    Current,
    /// It was so when its server was last asked, or is not known at all.
    Stale,
}

impl Freshness {
    /// As aggregated discovery writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Freshness::Current => "Current",
            Freshness::Stale => "Stale",
        }
    }
}

/// A resource, as discovery shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceFacts {
    /// Plural name.
    pub resource: Text,
    /// Singular name.
    pub singular: Text,
    /// Kind, as lists of resources name it.
    pub kind: Text,
    /// Kind in full, as aggregated discovery names it: built-in resources leave group and version out.
    pub response_kind: GroupVersionKind,
    /// Whether it lives in namespaces.
    pub namespaced: bool,
    /// Verbs, in their order.
    pub verbs: Vec<Text>,
    /// Short names.
    pub short_names: Vec<Text>,
    /// Categories.
    pub categories: Vec<Text>,
    /// `storageVersionHash`; empty where none.
    pub storage_version_hash: Text,
    /// Subresources, in their order.
    pub subresources: Vec<SubresourceFacts>,
}

/// A subresource, as discovery shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubresourceFacts {
    /// Name, without that of the resource.
    pub name: Text,
    /// Kind as lists of resources name it; group and version are empty where they are the resource's own.
    pub kind: GroupVersionKind,
    /// Kind in full, as aggregated discovery names it.
    pub response_kind: GroupVersionKind,
    /// Verbs, in their order.
    pub verbs: Vec<Text>,
}

/// A group-version and its resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionFacts {
    /// Group; empty for core.
    pub group: Text,
    /// Version.
    pub version: Text,
    /// Resources, in the order that discovery shows them.
    pub resources: Vec<ResourceFacts>,
    /// Whether they are known to be so.
    pub freshness: Freshness,
}

impl VersionFacts {
    /// As `groupVersion` shows it: `apps/v1`, `v1`.
    pub fn group_version(&self) -> String {
        group_version(&self.group, &self.version)
    }
}

/// `apps/v1`, `v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

impl SubresourceFacts {
    /// `status` of a custom resource.
    pub fn status(kind: &GroupVersionKind) -> Self {
        SubresourceFacts {
            name: "status".into(),
            kind: (Text::default(), Text::default(), kind.2.clone()),
            response_kind: kind.clone(),
            verbs: texts(&SUBRESOURCE_VERBS),
        }
    }

    /// `scale` of a custom resource.
    pub fn scale() -> Self {
        let kind = ("autoscaling".into(), "v1".into(), "Scale".into());
        SubresourceFacts {
            name: "scale".into(),
            response_kind: kind.clone(),
            kind,
            verbs: texts(&SUBRESOURCE_VERBS),
        }
    }
}

impl From<&schema::Resource> for ResourceFacts {
    fn from(resource: &schema::Resource) -> Self {
        let none = Text::default;
        ResourceFacts {
            resource: resource.resource.into(),
            singular: resource.singular.into(),
            kind: resource.kind.into(),
            response_kind: (none(), none(), resource.kind.into()),
            namespaced: resource.namespaced,
            verbs: texts(resource.verbs),
            short_names: texts(resource.short_names),
            categories: texts(resource.categories),
            storage_version_hash: resource.storage_version_hash.into(),
            subresources: resource.subresources.iter().map(SubresourceFacts::from).collect(),
        }
    }
}

impl From<&schema::Subresource> for SubresourceFacts {
    fn from(sub: &schema::Subresource) -> Self {
        let (group, version, kind) = sub.kind;
        // Only a kind from elsewhere is named in full.
        let (group, version) = if sub.foreign { (group, version) } else { ("", "") };
        let kind: GroupVersionKind = (group.into(), version.into(), kind.into());
        SubresourceFacts { name: sub.name.into(), response_kind: kind.clone(), kind, verbs: texts(sub.verbs) }
    }
}
