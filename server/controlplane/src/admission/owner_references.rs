//! OwnerReferencesPermissionEnforcement: who makes an object somebody's must be let to delete it, since deleting the
//! owner does, and who holds an owner's deletion up must be let to set finalizers on it.

use std::collections::BTreeMap;

use ringbolt_apiserver::{
    admission::{Attributes, Operation},
    authentication::UserInfo,
    authorization::{Authorizers, Decision},
};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};
use ringbolt_protocol::request_info::RequestInfo;

use super::permissions::about;
use crate::{
    registry::Registry,
    tree::{Members, same},
};

/// What is served under a kind.
struct Mapping {
    version: &'static str,
    resource: &'static str,
    namespaced: bool,
}

/// The resources of every kind.
pub(super) struct Owners(BTreeMap<(&'static str, &'static str), Vec<Mapping>>);

impl Owners {
    /// Those of a server with these resources.
    pub(super) fn new(registry: &Registry) -> Self {
        let mut kinds = BTreeMap::<_, Vec<Mapping>>::new();
        for facts in registry.served.iter().map(|served| served.facts) {
            let mapping =
                Mapping { version: facts.version, resource: facts.resource, namespaced: facts.namespaced };
            kinds.entry((facts.group, facts.kind)).or_default().push(mapping);
        }
        Owners(kinds)
    }

    /// Holds a writer who changes owners to what may be done to the object and to its owners.
    pub(super) fn validate(
        &self,
        authorizers: &Authorizers,
        attributes: &Attributes<'_>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        // Old kubelets garble what they send there; the strategy keeps the owners as they are.
        if attributes.subresource == "status" && attributes.is_part_of("", "pods") {
            return Ok(());
        }
        let (owners, before) = (references(object), old.map_or(&[][..], references));
        let is_same = owners.len() == before.len()
            && owners.iter().zip(before).all(|(now, was)| same(Some(now), Some(was)));
        if is_same {
            return Ok(());
        }
        if attributes.operation != Operation::Create {
            let facts = attributes.served.facts;
            let of = RequestInfo {
                subresource: attributes.subresource,
                ..about((facts.group, facts.version, facts.resource), attributes.namespace, attributes.name)
            };
            if let Err(why) = ask(authorizers, attributes.user, "delete", &of) {
                return Err(attributes.forbidden(&format!(
                    "cannot set an ownerRef on a resource you can't delete: {why}, <nil>"
                )));
            }
        }
        let blocking: Vec<_> = newly_blocking(owners, before).collect();
        if blocking.is_empty() {
            return Ok(());
        }
        // Who may finalize anything needs no owner to be looked up.
        let anything = RequestInfo { subresource: "finalizers", ..about(("*", "*", "*"), "", "*") };
        if ask(authorizers, attributes.user, "update", &anything).is_ok() {
            return Ok(());
        }
        blocking.into_iter().try_for_each(|owner| self.may_block(authorizers, attributes, owner))
    }

    /// Whether the deletion of an owner may be held up by the writer.
    fn may_block(
        &self,
        authorizers: &Authorizers,
        attributes: &Attributes<'_>,
        owner: &Map<'_>,
    ) -> Result<(), Status> {
        let (api_version, kind) = (owner.text("apiVersion"), owner.text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let mappings = self.0.get(&(group, kind)).into_iter().flatten();
        let mut mappings = mappings.filter(|mapping| mapping.version == version).peekable();
        if mappings.peek().is_none() {
            return Err(attributes.forbidden(&format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion \
                 {api_version} Kind {kind}: no matches for kind {kind:?} in version {api_version:?}"
            )));
        }
        mappings.try_for_each(|mapping| {
            let namespace = if mapping.namespaced { attributes.namespace } else { "" };
            let resource = (group, mapping.version, mapping.resource);
            let of =
                RequestInfo { subresource: "finalizers", ..about(resource, namespace, owner.text("name")) };
            ask(authorizers, attributes.user, "update", &of).map_err(|why| {
                attributes.forbidden(&format!(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set \
                     finalizers on: {why}, <nil>"
                ))
            })
        })
    }
}

/// Asks the authorizers; who says no says why.
fn ask(authorizers: &Authorizers, user: &UserInfo, verb: &str, of: &RequestInfo<'_>) -> Result<(), String> {
    match authorizers.authorize_verb(user, verb, of) {
        Decision::Allow => Ok(()),
        Decision::NoOpinion(why) => Err(why),
    }
}

fn references<'v, 'a>(object: &'v Value<'a>) -> &'v [Value<'a>] {
    let metadata = object.as_map().and_then(|object| object.child("metadata"));
    metadata.map_or(&[], |metadata| metadata.items("ownerReferences"))
}

/// The owners whose deletion waits for the object, which it did not before.
fn newly_blocking<'v, 'a>(
    owners: &'v [Value<'a>],
    before: &'v [Value<'_>],
) -> impl Iterator<Item = &'v Map<'a>> {
    let blocks = |owner: &Map<'_>| owner.flag("blockOwnerDeletion");
    owners.iter().filter_map(Value::as_map).filter(move |owner| {
        // The last of a uid counts.
        let was =
            before.iter().rev().filter_map(Value::as_map).find(|was| was.text("uid") == owner.text("uid"));
        blocks(owner) && !was.is_some_and(blocks)
    })
}
