//! What is served of the definitions there are: kept a definition, published a group-version.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use ringbolt_apiserver::{
    admission::Admission,
    endpoints::CustomEndpoints,
    live::{
        Contributions, GroupVersion, Live, OpenApi, Owner, ResourceRoute, Routes,
        facts::{
            CUSTOM_VERBS, Freshness, ResourceFacts, SubresourceFacts, TERMINATING_VERBS, Text, VersionFacts,
            texts,
        },
        priorities::Priority,
    },
};
use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::{object::ResourceId, storage::Storage};
use sha2::{Digest, Sha256};

use crate::{
    conversion::ConverterFactory,
    custom_resource::{self, CustomResource},
    definition::{Definition, Names},
    ending::ForbidCreate,
};

/// What all definitions need to be served.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) schema: &'static Schema,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) namespaces: ResourceId,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) converters: ConverterFactory,
}

/// The definitions that are served.
pub(crate) struct Catalog {
    site: Site,
    entries: BTreeMap<String, Entry>,
    /// Names of the definitions of a group.
    by_group: HashMap<String, BTreeSet<String>>,
    published: BTreeMap<(String, String), Arc<GroupVersion>>,
    /// Groups in which something is other than published.
    dirty: BTreeSet<String>,
    /// What is on no route after the next publication.
    retiring: Vec<CustomEndpoints>,
}

/// What a definition is, as far as that makes a difference to who is served.
#[derive(Debug, PartialEq, Eq)]
struct State {
    uid: String,
    generation: i64,
    accepted: Names,
    is_terminating: bool,
}

struct Entry {
    state: State,
    resource: CustomResource,
    versions: Vec<Served>,
    /// Nothing new may come.
    ends: Arc<AtomicBool>,
}

/// A version that is served.
struct Served {
    version: String,
    facts: ResourceFacts,
    endpoints: CustomEndpoints,
}

impl Catalog {
    pub(crate) fn new(site: Site) -> Catalog {
        Catalog {
            site,
            entries: BTreeMap::new(),
            by_group: HashMap::new(),
            published: BTreeMap::new(),
            dirty: BTreeSet::new(),
            retiring: Vec::new(),
        }
    }

    /// Takes in a definition as it is now; whether that is to be published.
    pub(crate) fn update(&mut self, definition: Definition<'_, '_>) -> bool {
        let name = definition.name();
        let is_ready = ["NamesAccepted", "Established"].iter().any(|kind| definition.is_condition_true(kind));
        if !is_ready {
            return self.remove(name);
        }
        let state = State {
            uid: definition.uid().to_owned(),
            generation: definition.generation(),
            accepted: definition.accepted_names(),
            is_terminating: definition.is_terminating() || definition.is_condition_true("Terminating"),
        };
        let known = self.entries.get_mut(name);
        if known.as_ref().is_some_and(|known| known.state == state) {
            return false;
        }
        if let Some(known) = known
            && (&known.state.uid, known.state.generation, &known.state.accepted)
                == (&state.uid, state.generation, &state.accepted)
        {
            // Only its end has begun.
            known.ends.store(state.is_terminating, Ordering::Release);
            for served in &mut known.versions {
                served.facts.verbs = verbs(state.is_terminating);
            }
            known.state = state;
            self.dirty.insert(definition.group().to_owned());
            return true;
        }
        self.compile(definition, state)
    }

    fn compile(&mut self, definition: Definition<'_, '_>, state: State) -> bool {
        let name = definition.name();
        let Site { schema, storage, namespaces, admission, converters } = &self.site;
        let previous = self.entries.get(name).filter(|known| known.state.uid == state.uid);
        let previous = previous.map(|known| &known.resource);
        let resource = match CustomResource::compile(schema, definition.0, &**storage, previous, converters) {
            Ok(resource) => resource,
            Err(error) => {
                tracing::error!(name, %error, "a definition cannot be served");
                return self.remove(name);
            }
        };
        let ends = Arc::new(AtomicBool::new(state.is_terminating));
        let admission: Arc<dyn Admission> =
            Arc::new(ForbidCreate { delegate: admission.clone(), ends: ends.clone() });
        let versions = resource.versions.iter().map(|version| {
            let endpoints = version.endpoints(schema, *namespaces, &admission);
            let facts = facts(definition, &state, &version.name, &endpoints);
            Served { version: version.name.clone(), facts, endpoints }
        });
        let versions = versions.collect();
        let entry = Entry { state, resource, versions, ends };
        let group = definition.group().to_owned();
        if let Some(before) = self.entries.insert(name.to_owned(), entry) {
            self.retiring.extend(before.versions.into_iter().map(|served| served.endpoints));
        }
        self.by_group.entry(group.clone()).or_default().insert(name.to_owned());
        self.dirty.insert(group);
        true
    }

    /// Whether a definition is served, or will be with the next publication.
    pub(crate) fn is_served(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Takes a definition out; whether that is to be published.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(entry) = self.entries.remove(name) else { return false };
        let group = entry.resource.group.clone();
        self.retiring.extend(entry.versions.into_iter().map(|served| served.endpoints));
        if let Some(names) = self.by_group.get_mut(&group) {
            names.remove(name);
            if names.is_empty() {
                self.by_group.remove(&group);
            }
        }
        self.dirty.insert(group);
        true
    }

    /// Publishes everything as it is now.
    pub(crate) fn publish(&mut self, live: &Live) {
        for group in std::mem::take(&mut self.dirty) {
            self.published.retain(|(known, _), _| *known != group);
            let mut versions: BTreeMap<&str, Vec<(&Entry, &Served)>> = BTreeMap::new();
            let names = self.by_group.get(&group);
            for entry in names.into_iter().flatten().filter_map(|name| self.entries.get(name)) {
                for served in &entry.versions {
                    versions.entry(&served.version).or_default().push((entry, served));
                }
            }
            for (version, served) in versions {
                let key = (group.clone(), version.to_owned());
                self.published.insert(key, Arc::new(group_version(&group, version, &served)));
            }
        }
        let versions = self.published.values().cloned().collect();
        live.replace(Owner::Extensions, Contributions { versions, services: None });
        for endpoints in self.retiring.drain(..) {
            endpoints.retire();
        }
    }
}

fn verbs(is_terminating: bool) -> Vec<Text> {
    if is_terminating { texts(&TERMINATING_VERBS) } else { texts(&CUSTOM_VERBS) }
}

/// What discovery tells of a version of a definition.
fn facts(
    definition: Definition<'_, '_>,
    state: &State,
    version: &str,
    endpoints: &CustomEndpoints,
) -> ResourceFacts {
    let group = definition.group();
    let names = &state.accepted;
    let kind = (group.to_owned().into(), version.to_owned().into(), names.kind.clone().into());
    // As the version that is stored and served has it.
    let stored = definition.versions().find(|version| version.flag("storage") && version.flag("served"));
    let hash =
        stored.map(|stored| storage_version_hash(group, stored.text("name"), &definition.names().kind));
    let has = |name: &str| endpoints.subresources.iter().any(|(known, _)| *known == name);
    let status = has("status").then(|| SubresourceFacts::status(&kind));
    let scale = has("scale").then(SubresourceFacts::scale);
    let owned = |texts: &[String]| texts.iter().map(|text| Text::Owned(text.clone())).collect();
    ResourceFacts {
        resource: names.plural.clone().into(),
        singular: names.singular.clone().into(),
        kind: names.kind.clone().into(),
        response_kind: kind,
        namespaced: definition.is_namespaced(),
        verbs: verbs(state.is_terminating),
        short_names: owned(&names.short_names),
        categories: owned(&names.categories),
        storage_version_hash: hash.unwrap_or_default().into(),
        subresources: status.into_iter().chain(scale).collect(),
    }
}

/// What tells one storage version of a kind from others (`StorageVersionHash`).
fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(&digest[..8])
}

fn group_version(group: &str, version: &str, served: &[(&Entry, &Served)]) -> GroupVersion {
    let facts = VersionFacts {
        group: group.to_owned().into(),
        version: version.to_owned().into(),
        resources: served.iter().map(|(_, served)| served.facts.clone()).collect(),
        freshness: Freshness::Current,
    };
    let route = |(entry, served): &(&Entry, &Served)| ResourceRoute {
        resource: served.facts.resource.clone(),
        kind: served.facts.kind.clone(),
        namespaced: entry.resource.namespaced,
        endpoint: served.endpoints.resource.clone(),
        subresources: served
            .endpoints
            .subresources
            .iter()
            .map(|(name, endpoint)| (Text::Borrowed(*name), endpoint.clone()))
            .collect(),
    };
    let routes = Routes::Resources(served.iter().map(route).collect());
    let described = served.iter().filter_map(|(entry, served)| {
        entry.resource.versions.iter().find(|version| version.name == served.version)
    });
    let openapi = custom_resource::describe(described.cloned().collect());
    GroupVersion::new(facts, Priority::CUSTOM, routes, Some(OpenApi::Source(openapi)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_real_server() {
        // Of the built-in table, which has them from a real server.
        let schema = Schema::builtin();
        let check = |group, version, resource| {
            let facts = schema.resource(group, version, resource).unwrap();
            assert_eq!(storage_version_hash(group, version, facts.kind), facts.storage_version_hash);
        };
        check("apps", "v1", "deployments");
        check("batch", "v1", "cronjobs");
    }
}
