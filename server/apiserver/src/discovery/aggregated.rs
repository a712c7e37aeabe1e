//! The aggregated document: `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.

use super::{
    document::Encode,
    facts::FullGroup,
    writer::{JsonWriter, Message},
};
use crate::live::facts::{GroupVersionKind, ResourceFacts, VersionFacts};

/// All groups of `/apis`, or the core group for `/api`.
#[derive(PartialEq, Eq)]
pub(super) struct GroupDiscoveryList(pub(super) Vec<FullGroup>);

const API_VERSION: &str = "apidiscovery.k8s.io/v2";
const KIND: &str = "APIGroupDiscoveryList";

fn scope(resource: &ResourceFacts) -> &'static str {
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
                        w.member_object("metadata", |w| w.optional("name", &group.name));
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
                        .text(1, &group.name)
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

fn version_members(w: &mut JsonWriter, version: &VersionFacts) {
    let kind = |w: &mut JsonWriter, (group, version, kind): &GroupVersionKind| {
        w.member_object("responseKind", |w| {
            w.member("group", group);
            w.member("version", version);
            w.member("kind", kind);
        });
    };
    w.member("version", &version.version);
    if !version.resources.is_empty() {
        w.member_list("resources", |w| {
            for resource in &version.resources {
                w.object(|w| {
                    w.member("resource", &resource.resource);
                    kind(w, &resource.response_kind);
                    w.member("scope", scope(resource));
                    w.member("singularResource", &resource.singular);
                    w.member_texts("verbs", &resource.verbs);
                    w.optional_texts("shortNames", &resource.short_names);
                    w.optional_texts("categories", &resource.categories);
                    if !resource.subresources.is_empty() {
                        w.member_list("subresources", |w| {
                            for sub in &resource.subresources {
                                w.object(|w| {
                                    w.member("subresource", &sub.name);
                                    kind(w, &sub.response_kind);
                                    w.member_texts("verbs", &sub.verbs);
                                });
                            }
                        });
                    }
                });
            }
        });
    }
    w.member("freshness", version.freshness.as_str());
}

fn version_message(m: &mut Message, version: &VersionFacts) {
    let kind = |m: &mut Message, (group, version, kind): &GroupVersionKind| {
        m.text(1, group).text(2, version).text(3, kind);
    };
    m.text(1, &version.version);
    for resource in &version.resources {
        m.message(2, |m| {
            m.text(1, &resource.resource).message(2, |m| kind(m, &resource.response_kind));
            m.text(3, scope(resource)).text(4, &resource.singular).texts(5, &resource.verbs);
            m.texts(6, &resource.short_names).texts(7, &resource.categories);
            for sub in &resource.subresources {
                m.message(8, |m| {
                    m.text(1, &sub.name).message(2, |m| kind(m, &sub.response_kind)).texts(4, &sub.verbs);
                });
            }
        });
    }
    m.text(3, version.freshness.as_str());
}
