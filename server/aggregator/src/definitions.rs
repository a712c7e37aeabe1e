//! Group-versions of custom resources, as far as APIServices stand for them.

use std::collections::{BTreeMap, HashMap};

use bumpalo::Bump;
use ringbolt_apiserver::live::priorities::Priority;
use ringbolt_machinery::{json, value::Value};
use ringbolt_storage::object::Object;

use crate::registration::Wanted;

type GroupVersion = (String, String);

/// Which group-versions definitions serve, and how many each.
#[derive(Default)]
pub(crate) struct Definitions {
    of: HashMap<String, Vec<GroupVersion>>,
    served: BTreeMap<GroupVersion, usize>,
}

impl Definitions {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Definitions::default();
    }

    /// A definition is like this now, or gone. Names of the APIServices that may have to change.
    pub(crate) fn set(&mut self, name: &str, object: Option<&Object>) -> Vec<String> {
        let new = object.map(versions).unwrap_or_default();
        let old =
            if new.is_empty() { self.of.remove(name) } else { self.of.insert(name.to_owned(), new.clone()) };
        let old = old.unwrap_or_default();
        for version in &new {
            *self.served.entry(version.clone()).or_default() += 1;
        }
        for version in &old {
            if let Some(count) = self.served.get_mut(version) {
                *count -= 1;
                if *count == 0 {
                    self.served.remove(version);
                }
            }
        }
        let mut names: Vec<_> =
            old.iter().chain(&new).map(|(group, version)| format!("{version}.{group}")).collect();
        names.sort();
        names.dedup();
        names
    }

    /// All group-versions that some definition serves.
    pub(crate) fn served(&self) -> impl Iterator<Item = Wanted> {
        self.served.keys().map(wanted)
    }

    /// What the APIService of a name should say.
    pub(crate) fn wanted(&self, name: &str) -> Option<Wanted> {
        let (version, group) = name.split_once('.')?;
        let key = (group.to_owned(), version.to_owned());
        self.served.contains_key(&key).then(|| wanted(&key))
    }
}

fn wanted((group, version): &GroupVersion) -> Wanted {
    Wanted {
        group: group.clone(),
        version: version.clone(),
        group_priority: i64::from(Priority::CUSTOM.group),
        version_priority: i64::from(Priority::CUSTOM.version),
        always: true,
    }
}

/// The served versions of a definition.
fn versions(object: &Object) -> Vec<GroupVersion> {
    let arena = Bump::new();
    let mut text = Vec::with_capacity(object.json.len() + 1);
    text.push(b'{');
    text.extend_from_slice(&object.json);
    let Ok(tree) = json::decode_untyped(&arena, &text) else { return Vec::new() };
    let group = tree.str_at(&["spec", "group"]).unwrap_or("");
    let all = tree.path(&["spec", "versions"]).and_then(Value::as_list);
    let served =
        all.into_iter().flatten().filter(|v| v.path(&["served"]).and_then(Value::as_bool) == Some(true));
    served.filter_map(|v| Some((group.to_owned(), v.str_at(&["name"])?.to_owned()))).collect()
}
