//! The aggregated document: `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.

use ringbolt_machinery::schema::Resource;

use super::{
    document::Encode,
    facts::{Group, Version},
    writer::{JsonWriter, Message},
};

/// All groups of `/apis`, or the core group for `/api`.
pub(super) struct GroupDiscoveryList(pub(super) Vec<Group>);

const API_VERSION: &str = "apidiscovery.k8s.io/v2";
const KIND: &str = "APIGroupDiscoveryList";
/// This server's own documents are never out of date.
const CURRENT: &str = "Current";

/// A kind, its group and version left out where they are the resource's own.
type ResponseKind = (&'static str, &'static str, &'static str);

/// A subresource: name, kind, verbs.
fn subresources(resource: &Resource) -> impl Iterator<Item = (&'static str, ResponseKind, &[&str])> {
    resource.subresources.iter().map(|sub| {
        let (group, version, kind) = sub.kind;
        let kind = if sub.foreign { (group, version, kind) } else { ("", "", kind) };
        (sub.name, kind, sub.verbs)
    })
}

fn scope(resource: &Resource) -> &'static str {
    if resource.namespaced { "Namespaced" } else { "Cluster" }
}

impl Encode for GroupDiscoveryList {
    fn json(&self, indented: bool) -> Vec<u8> {
        let mut w = JsonWriter::new(indented);
        w.object(|w| {
            w.member("kind", KIND);
            w.member("apiVersion", API_VERSION);
            w.member_object("metadata", |_| {});
            w.member_list("items", |w| {
                for group in &self.0 {
                    w.object(|w| {
                        w.member_object("metadata", |w| w.optional("name", group.name));
                        w.member_list("versions", |w| {
                            for version in &group.versions {
                                w.object(|w| version_members(w, version));
                            }
                        });
                    });
                }
            });
        });
        w.finish()
    }

    fn protobuf(&self) -> Vec<u8> {
        let mut m = Message::default();
        m.message(1, |list_meta| {
            list_meta.text(1, "").text(2, "").text(3, "");
        });
        for group in &self.0 {
            m.message(2, |m| {
                m.message(1, |object_meta| {
                    // name, generateName, namespace, selfLink, uid, resourceVersion, generation, creationTimestamp
                    object_meta
                        .text(1, group.name)
                        .text(2, "")
                        .text(3, "")
                        .text(4, "")
                        .text(5, "")
                        .text(6, "");
                    object_meta.number(7, 0).text(8, "");
                });
                for version in &group.versions {
                    m.message(2, |m| version_message(m, version));
                }
            });
        }
        m.enveloped(API_VERSION, KIND)
    }
}

fn version_members(w: &mut JsonWriter, version: &Version) {
    let kind = |w: &mut JsonWriter, (group, version, kind): ResponseKind| {
        w.member_object("responseKind", |w| {
            w.member("group", group);
            w.member("version", version);
            w.member("kind", kind);
        });
    };
    w.member("version", version.version);
    w.member_list("resources", |w| {
        for resource in &version.resources {
            w.object(|w| {
                w.member("resource", resource.resource);
                kind(w, ("", "", resource.kind));
                w.member("scope", scope(resource));
                w.member("singularResource", resource.singular);
                w.member_texts("verbs", resource.verbs);
                w.optional_texts("shortNames", resource.short_names);
                w.optional_texts("categories", resource.categories);
                if !resource.subresources.is_empty() {
                    w.member_list("subresources", |w| {
                        for (name, response, verbs) in subresources(resource) {
                            w.object(|w| {
                                w.member("subresource", name);
                                kind(w, response);
                                w.member_texts("verbs", verbs);
                            });
                        }
                    });
                }
            });
        }
    });
    w.member("freshness", CURRENT);
}

fn version_message(m: &mut Message, version: &Version) {
    let kind = |m: &mut Message, (group, version, kind): ResponseKind| {
        m.text(1, group).text(2, version).text(3, kind);
    };
    m.text(1, version.version);
    for resource in &version.resources {
        m.message(2, |m| {
            m.text(1, resource.resource).message(2, |m| kind(m, ("", "", resource.kind)));
            m.text(3, scope(resource)).text(4, resource.singular).texts(5, resource.verbs);
            m.texts(6, resource.short_names).texts(7, resource.categories);
            for (name, response, verbs) in subresources(resource) {
                m.message(8, |m| {
                    m.text(1, name).message(2, |m| kind(m, response)).texts(4, verbs);
                });
            }
        });
    }
    m.text(3, CURRENT);
}
