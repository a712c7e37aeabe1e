//! The classic documents: `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.

use std::sync::Arc;

use super::{
    document::Encode,
    facts::Group,
    writer::{JsonWriter, Message},
};
use crate::live::facts::{ResourceFacts, SubresourceFacts, Text, VersionFacts, group_version};

/// `/api`
#[derive(PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) versions: Vec<Text>,
    /// Where clients of any address find the server.
    pub(super) server_address: String,
}

/// `/apis`
#[derive(PartialEq, Eq)]
pub(super) struct Groups(pub(super) Vec<Group>);

/// `/apis/GROUP`
#[derive(PartialEq, Eq)]
pub(super) struct OneGroup(pub(super) Group);

/// `/apis/GROUP/VERSION`
pub(super) struct Resources(pub(super) Arc<VersionFacts>);

const ANY_ADDRESS: &str = "0.0.0.0/0";

impl Encode for Versions {
    fn json(&self, indented: bool) -> Vec<u8> {
        let mut w = JsonWriter::new(indented);
        w.object(|w| {
            w.member("kind", "APIVersions");
            w.member_texts("versions", &self.versions);
            w.member_list("serverAddressByClientCIDRs", |w| {
                w.object(|w| {
                    w.member("clientCIDR", ANY_ADDRESS);
                    w.member("serverAddress", &self.server_address);
                });
            });
        });
        w.finish()
    }

    fn protobuf(&self) -> Vec<u8> {
        let mut m = Message::default();
        m.texts(1, &self.versions).message(2, |m| {
            m.text(1, ANY_ADDRESS).text(2, &self.server_address);
        });
        // The kind is older than versioned discovery: its answer names no version.
        m.enveloped("", "APIVersions")
    }
}

impl Encode for Groups {
    fn json(&self, indented: bool) -> Vec<u8> {
        let mut w = JsonWriter::new(indented);
        w.object(|w| {
            w.member("kind", "APIGroupList");
            w.member("apiVersion", "v1");
            w.member_list("groups", |w| {
                for group in &self.0 {
                    w.object(|w| group_members(w, group));
                }
            });
        });
        w.finish()
    }

    fn protobuf(&self) -> Vec<u8> {
        let mut m = Message::default();
        for group in &self.0 {
            m.message(1, |m| group_message(m, group));
        }
        m.enveloped("v1", "APIGroupList")
    }
}

impl Encode for OneGroup {
    fn json(&self, indented: bool) -> Vec<u8> {
        let mut w = JsonWriter::new(indented);
        w.object(|w| {
            w.member("kind", "APIGroup");
            w.member("apiVersion", "v1");
            group_members(w, &self.0);
        });
        w.finish()
    }

    fn protobuf(&self) -> Vec<u8> {
        let mut m = Message::default();
        group_message(&mut m, &self.0);
        m.enveloped("v1", "APIGroup")
    }
}

fn group_members(w: &mut JsonWriter, group: &Group) {
    let version = |w: &mut JsonWriter, version: &str| {
        w.member("groupVersion", &group_version(&group.name, version));
        w.member("version", version);
    };
    w.member("name", &group.name);
    w.member_list("versions", |w| {
        for v in &group.versions {
            w.object(|w| version(w, v));
        }
    });
    if let Some(preferred) = group.versions.first() {
        w.member_object("preferredVersion", |w| version(w, preferred));
    }
}

fn group_message(m: &mut Message, group: &Group) {
    let version = |m: &mut Message, version: &str| {
        m.text(1, &group_version(&group.name, version)).text(2, version);
    };
    m.text(1, &group.name);
    for v in &group.versions {
        m.message(2, |m| version(m, v));
    }
    if let Some(preferred) = group.versions.first() {
        m.message(3, |m| version(m, preferred));
    }
}

/// A resource or subresource, as a list of resources shows it.
struct Entry<'f> {
    name: Text,
    singular: &'f str,
    namespaced: bool,
    group: &'f str,
    version: &'f str,
    kind: &'f str,
    verbs: &'f [Text],
    short_names: &'f [Text],
    categories: &'f [Text],
    storage_version_hash: &'f str,
}

impl<'f> Entry<'f> {
    fn of(resource: &'f ResourceFacts) -> Self {
        Entry {
            name: resource.resource.clone(),
            singular: &resource.singular,
            namespaced: resource.namespaced,
            group: "",
            version: "",
            kind: &resource.kind,
            verbs: &resource.verbs,
            short_names: &resource.short_names,
            categories: &resource.categories,
            storage_version_hash: &resource.storage_version_hash,
        }
    }

    fn of_sub(resource: &'f ResourceFacts, sub: &'f SubresourceFacts) -> Self {
        let (group, version, kind) = &sub.kind;
        Entry {
            name: format!("{}/{}", resource.resource, sub.name).into(),
            singular: "",
            namespaced: resource.namespaced,
            group,
            version,
            kind,
            verbs: &sub.verbs,
            short_names: &[],
            categories: &[],
            storage_version_hash: "",
        }
    }
}

impl Resources {
    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.0.resources.iter().flat_map(|resource| {
            let subs = resource.subresources.iter().map(|sub| Entry::of_sub(resource, sub));
            std::iter::once(Entry::of(resource)).chain(subs)
        })
    }
}

impl Encode for Resources {
    fn json(&self, indented: bool) -> Vec<u8> {
        let mut w = JsonWriter::new(indented);
        w.object(|w| {
            w.member("kind", "APIResourceList");
            // The core group's list is older than versioned discovery, as `/api` is.
            if !self.0.group.is_empty() {
                w.member("apiVersion", "v1");
            }
            w.member("groupVersion", &self.0.group_version());
            w.member_list("resources", |w| {
                for entry in self.entries() {
                    w.object(|w| {
                        w.member("name", &entry.name);
                        w.member("singularName", entry.singular);
                        w.member_bool("namespaced", entry.namespaced);
                        w.optional("group", entry.group);
                        w.optional("version", entry.version);
                        w.member("kind", entry.kind);
                        w.member_texts("verbs", entry.verbs);
                        w.optional_texts("shortNames", entry.short_names);
                        w.optional_texts("categories", entry.categories);
                        w.optional("storageVersionHash", entry.storage_version_hash);
                    });
                }
            });
        });
        w.finish()
    }

    fn protobuf(&self) -> Vec<u8> {
        let mut m = Message::default();
        m.text(1, &self.0.group_version());
        for entry in self.entries() {
            m.message(2, |m| {
                m.text(1, &entry.name).number(2, u64::from(entry.namespaced)).text(3, entry.kind);
                m.message(4, |m| {
                    m.texts(1, entry.verbs);
                });
                m.texts(5, entry.short_names).text(6, entry.singular).texts(7, entry.categories);
                m.text(8, entry.group).text(9, entry.version).text(10, entry.storage_version_hash);
            });
        }
        m.enveloped(if self.0.group.is_empty() { "" } else { "v1" }, "APIResourceList")
    }
}
