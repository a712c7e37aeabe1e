//! The documents of one moment. Each is made when it is first asked for; those that did not change are kept from one
//! moment to the next.

use std::{collections::BTreeMap, sync::Arc};

use ringbolt_protocol::media_type::Endpoint;

use super::{
    aggregated::GroupDiscoveryList,
    document::{Document, Encode},
    facts::{self, FullGroup, Group},
    plain::{Groups, OneGroup, Resources, Versions},
    serve,
};
use crate::{
    live::{
        Published,
        facts::{Text, VersionFacts},
    },
    request::Request,
    response::Outcome,
    routes::{Handler, page_not_found},
};

/// What `/api` shows.
pub(crate) struct CoreDocuments {
    pub(super) versions: Document<Versions>,
    pub(super) aggregated: Document<GroupDiscoveryList>,
}

/// What `/api`, `/apis` and `/apis/GROUP` show.
pub(crate) struct Documents {
    pub(super) core: Arc<CoreDocuments>,
    pub(super) apis: Arc<Document<Groups>>,
    pub(super) aggregated: Arc<Document<GroupDiscoveryList>>,
    pub(super) groups: BTreeMap<Text, Arc<Document<OneGroup>>>,
}

impl Default for Documents {
    fn default() -> Self {
        let versions = Versions { versions: Vec::new(), server_address: String::new() };
        let aggregated = || Document::new(GroupDiscoveryList(Vec::new()));
        Documents {
            core: Arc::new(CoreDocuments { versions: Document::new(versions), aggregated: aggregated() }),
            apis: Arc::new(Document::new(Groups(Vec::new()))),
            aggregated: Arc::new(aggregated()),
            groups: BTreeMap::new(),
        }
    }
}

/// The document from before, where it is about the same.
fn kept<T: Encode + PartialEq>(about: T, before: Option<&Arc<Document<T>>>) -> Arc<Document<T>> {
    match before {
        Some(before) if before.about == about => before.clone(),
        Some(before) => {
            let document = Document::new(about);
            // Made here what is asked for, so that no core is held up by it: publishers have time.
            document.make_as(before);
            Arc::new(document)
        }
        None => Arc::new(Document::new(about)),
    }
}

impl Documents {
    pub(crate) fn new(published: &Published, before: &Documents) -> Self {
        let built_in = &published.built_in;
        let core: Vec<_> = built_in.core().cloned().collect();
        let versions = Versions {
            versions: core.iter().map(|v| v.version.clone()).collect(),
            server_address: built_in.server_address.clone(),
        };
        let core = GroupDiscoveryList(vec![FullGroup { name: Text::default(), versions: core }]);
        let core = if before.core.versions.about == versions && before.core.aggregated.about == core {
            before.core.clone()
        } else {
            Arc::new(CoreDocuments { versions: Document::new(versions), aggregated: Document::new(core) })
        };
        let listed = facts::groups(published);
        let full = facts::full_groups(published);
        // What no APIService lists still tells of itself.
        let own = full.iter().filter(|group| built_in.has_group(&group.name));
        let unlisted = own.filter(|group| !listed.iter().any(|known| known.name == group.name));
        let unlisted = unlisted.map(|group| Group {
            name: group.name.clone(),
            versions: group.versions.iter().map(|v| v.version.clone()).collect(),
        });
        let groups = listed.iter().cloned().chain(unlisted).map(|group| {
            let name = group.name.clone();
            (name.clone(), kept(OneGroup(group), before.groups.get(&name)))
        });
        Documents {
            groups: groups.collect(),
            core,
            apis: kept(Groups(listed), Some(&before.apis)),
            aggregated: kept(GroupDiscoveryList(full), Some(&before.aggregated)),
        }
    }

    /// Whether `/apis/GROUP` shows something.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Groups and versions as `/` lists them.
    pub(crate) fn listed(&self) -> impl Iterator<Item = String> {
        self.groups.values().flat_map(|document| {
            let Group { name, versions } = &document.about.0;
            let versions = versions.iter().map(move |version| format!("/apis/{name}/{version}"));
            std::iter::once(format!("/apis/{name}")).chain(versions)
        })
    }

    /// Answers for `/apis/GROUP`.
    pub(crate) fn serve_group(&self, request: &Request<'_>, group: &str) -> Outcome {
        match self.groups.get(group) {
            Some(document) => serve(request.head, document, Endpoint::Handler),
            None => Outcome::Ready(page_not_found()),
        }
    }
}

/// What `/apis/GROUP/VERSION` shows of a group-version that is not built in.
pub(crate) struct VersionDocument;

impl VersionDocument {
    /// Answers with it, whatever the method.
    pub(crate) fn handler(facts: Arc<VersionFacts>) -> Handler {
        let document = Document::new(Resources(facts));
        Arc::new(move |request: &Request<'_>| serve(request.head, &document, Endpoint::Handler))
    }
}

/// Documents as a test looks at them.
#[cfg(test)]
pub(crate) struct Shown {
    /// `GROUP VERSION,VERSION` of each group of `/apis`.
    pub(crate) apis: Vec<String>,
    /// The same of aggregated discovery.
    pub(crate) aggregated: Vec<String>,
    /// Aggregated discovery as JSON.
    pub(crate) document: String,
    pub(crate) etag: String,
    /// Which forms of it were there before.
    pub(crate) made: [bool; 5],
    pub(crate) core_etag: String,
    published: Arc<Published>,
    documents: Arc<Documents>,
}

#[cfg(test)]
impl Shown {
    pub(crate) fn of(live: &crate::live::Live) -> Shown {
        let documents = live.documents().load_full();
        let line = |name: &str, versions: Vec<&str>| format!("{name} {}", versions.join(","));
        let versions = |group: &Group| line(&group.name, group.versions.iter().map(|v| &**v).collect());
        let full =
            |group: &FullGroup| line(&group.name, group.versions.iter().map(|v| &*v.version).collect());
        Shown {
            made: documents.aggregated.is_made(),
            apis: documents.apis.about.0.iter().map(versions).collect(),
            aggregated: documents.aggregated.about.0.iter().map(full).collect(),
            document: String::from_utf8(documents.aggregated.about.json(false)).expect("JSON is UTF-8"),
            etag: documents.aggregated.etag().to_owned(),
            core_etag: documents.core.aggregated.etag().to_owned(),
            published: live.published(),
            documents,
        }
    }

    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.documents.has_group(group)
    }

    pub(crate) fn resources(&self, group: &str, version: &str) -> String {
        let version = self.published.version(group, version).expect("it is published");
        String::from_utf8(Resources(version.facts.clone()).json(false)).expect("JSON is UTF-8")
    }
}
