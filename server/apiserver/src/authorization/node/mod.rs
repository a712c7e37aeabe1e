//! The mode Node: kubelets may do what nodes need, and read what the pods that run on them refer to.
//!
//! A kubelet is a user `system:node:NAME` of the group `system:nodes`. What it may do to objects that belong to pods or
//! nodes depends on a graph ([`graph`]) that follows the store; a decision looks into its newest published state and
//! takes no lock. Everything else goes by fixed rules ([`rules`]). It never denies: what it does not allow, another
//! mode may. Admission (NodeRestriction) looks at what kubelets write.

mod graph;
mod identity;
mod populate;
mod reach;
mod references;
mod rules;
mod vertex;

use std::{borrow::Cow, sync::Arc};

use arc_swap::ArcSwap;
use ringbolt_machinery::field::quote;
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::{
    object::{Event, ResourceId},
    storage::Storage,
};

pub use self::{
    identity::{NODES_GROUP, node_identity},
    populate::Resources,
};
use self::{populate::Populator, reach::Reach, vertex::Kind};
use super::{Authorizer, Decision, Rules, hash::Seed};
use crate::{authentication::UserInfo, informer::Follower};

/// The namespace of the leases of nodes (`NamespaceNodeLease`).
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Why there is no opinion; empty where nothing is said.
type Reason = Cow<'static, str>;
/// Whether a request is allowed.
type Opinion = Result<(), Reason>;

fn no(reason: &'static str) -> Opinion {
    Err(Cow::Borrowed(reason))
}

/// Decides on the requests of kubelets.
pub struct NodeAuthorizer {
    reach: Arc<ArcSwap<Reach>>,
}

/// Lets a [`NodeAuthorizer`] know what there is.
pub struct NodeFollower(Populator);

/// An authorizer, and what keeps it current. Until the follower is asked the first time no object is related to a node.
pub fn new(resources: Resources) -> (NodeAuthorizer, NodeFollower) {
    seeded(resources, Seed::new())
}

/// The same with hashes that are the same in every process, for measurements that chance must not change. Whoever knows
/// the seed can make decisions slow: never in a server.
pub fn with_fixed_hashes(resources: Resources, seed: u64) -> (NodeAuthorizer, NodeFollower) {
    seeded(resources, Seed::fixed(seed))
}

fn seeded(resources: Resources, seed: Seed) -> (NodeAuthorizer, NodeFollower) {
    let reach = Arc::new(ArcSwap::from_pointee(Reach::new(seed)));
    (NodeAuthorizer { reach: reach.clone() }, NodeFollower(Populator::new(resources, reach, seed)))
}

impl Authorizer for NodeAuthorizer {
    fn authorize(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        match self.opinion(user, verb, info) {
            Ok(()) => Decision::Allow,
            Err(reason) if reason.is_empty() => Decision::NoOpinion(String::new()),
            // Reasons are told with the authorizer that gives them.
            Err(reason) => Decision::NoOpinion(format!("node: {reason}")),
        }
    }

    fn rules_for(&self, user: &UserInfo, _: &str, rules: &mut Rules) {
        if node_identity(user).is_some() {
            rules.add_unlisted("node authorizer does not support user rule resolution");
        }
    }
}

impl Follower for NodeFollower {
    fn resources(&self) -> Vec<ResourceId> {
        self.0.resources()
    }

    fn resync(&mut self, storage: &dyn Storage) {
        self.0.resync(storage);
    }

    fn observe(&mut self, event: &Event) {
        self.0.observe(event);
    }

    fn settle(&mut self) {
        self.0.settle();
    }
}

/// A request of a node.
struct Asked<'r> {
    node: &'r str,
    verb: &'r str,
    info: &'r RequestInfo<'r>,
}

impl NodeAuthorizer {
    fn opinion(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Opinion {
        let Some(node) = node_identity(user) else { return no("") };
        if node.is_empty() {
            return Err(format!("unknown node for user {}", quote(&user.name)).into());
        }
        let asked = Asked { node, verb, info };
        match (info.is_resource_request, info.api_group, info.resource) {
            (true, "", "secrets") => self.read_namespaced(&asked, Kind::Secret),
            (true, "", "configmaps") => self.read_namespaced(&asked, Kind::ConfigMap),
            (true, "", "persistentvolumeclaims") if info.subresource == "status" => {
                self.update_status(&asked, Kind::PersistentVolumeClaim)
            }
            (true, "", "persistentvolumeclaims") => self.get(&asked, Kind::PersistentVolumeClaim),
            (true, "", "persistentvolumes") => self.get(&asked, Kind::PersistentVolume),
            (true, "resource.k8s.io", "resourceclaims") => self.get(&asked, Kind::ResourceClaim),
            (true, "storage.k8s.io", "volumeattachments") => self.get(&asked, Kind::VolumeAttachment),
            (true, "", "serviceaccounts") => self.service_account(&asked),
            (true, "coordination.k8s.io", "leases") => lease(&asked),
            (true, "storage.k8s.io", "csinodes") => csi_node(&asked),
            (true, "resource.k8s.io", "resourceslices") => self.resource_slice(&asked),
            (true, "", "nodes") => own_node(&asked),
            (true, "", "pods") => self.pod(&asked),
            (true, "certificates.k8s.io", "podcertificaterequests") => self.pod_certificate_request(&asked),
            _ if rules::allow(verb, info) => Ok(()),
            _ => no(""),
        }
    }

    /// Whether there is a way from the object to the node.
    fn related(&self, asked: &Asked<'_>, kind: Kind) -> Opinion {
        let info = asked.info;
        if info.name.is_empty() {
            return no("No Object name found");
        }
        if self.reach.load().has_path(kind, info.namespace, info.name, asked.node) {
            return Ok(());
        }
        Err(format!("no relationship found between node '{}' and this object", asked.node).into())
    }

    fn update_status(&self, asked: &Asked<'_>, kind: Kind) -> Opinion {
        match asked.verb {
            "update" | "patch" => self.related(asked, kind),
            _ => no("can only get/update/patch this type"),
        }
    }

    fn get(&self, asked: &Asked<'_>, kind: Kind) -> Opinion {
        if asked.verb != "get" {
            return no("can only get individual resources of this type");
        }
        if !asked.info.subresource.is_empty() {
            return no("cannot get subresource");
        }
        self.related(asked, kind)
    }

    /// Reads of single objects, which lists and watches of one by its name are too.
    fn read_namespaced(&self, asked: &Asked<'_>, kind: Kind) -> Opinion {
        if !matches!(asked.verb, "get" | "list" | "watch") {
            return no("can only read resources of this type");
        }
        if !asked.info.subresource.is_empty() {
            return no("cannot read subresource");
        }
        if asked.info.namespace.is_empty() {
            return no("can only read namespaced object of this type");
        }
        self.related(asked, kind)
    }

    /// Accounts of pods: to read them, and to create tokens.
    fn service_account(&self, asked: &Asked<'_>) -> Opinion {
        let info = asked.info;
        if asked.verb == "get" && info.subresource.is_empty() {
            return self.read_namespaced(asked, Kind::ServiceAccount);
        }
        if asked.verb != "create" || info.name.is_empty() {
            return no("can only create tokens for individual service accounts");
        }
        if info.subresource != "token" {
            return no("can only create token subresource of serviceaccount");
        }
        self.related(asked, Kind::ServiceAccount)
    }

    /// A slice that is there belongs to a node; one to come is looked at by admission.
    fn resource_slice(&self, asked: &Asked<'_>) -> Opinion {
        if !asked.info.subresource.is_empty() {
            return no("cannot authorize ResourceSlice subresources");
        }
        match asked.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.related(asked, Kind::ResourceSlice),
            "watch" | "list" | "deletecollection" if asked.selects_own() => Ok(()),
            "watch" | "list" | "deletecollection" => {
                no("can only list/watch/deletecollection resourceslices with nodeName field selector")
            }
            _ => no("only the following verbs are allowed for a ResourceSlice: get, watch, list, create, \
                     update, patch, delete, deletecollection"),
        }
    }

    fn pod_certificate_request(&self, asked: &Asked<'_>) -> Opinion {
        if !asked.info.subresource.is_empty() {
            return no("nodes may not access the status subresource of PodCertificateRequests");
        }
        match asked.verb {
            "create" => Ok(()),
            "get" => self.related(asked, Kind::PodCertificateRequest),
            "list" | "watch" if asked.selects_own() => Ok(()),
            "list" | "watch" => no("can only list/watch podcertificaterequests with nodeName field selector"),
            verb => Err(format!("nodes may not {verb} podcertificaterequests").into()),
        }
    }

    /// Which pods a node creates, deletes, evicts or writes the status of is looked at by admission.
    fn pod(&self, asked: &Asked<'_>) -> Opinion {
        match (asked.info.subresource, asked.verb) {
            ("", "get") => self.related(asked, Kind::Pod),
            ("", "list" | "watch") if asked.selects_own() => Ok(()),
            ("", "list" | "watch") if !asked.info.name.is_empty() => self.related(asked, Kind::Pod),
            ("", "list" | "watch") => no("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") => Ok(()),
            ("status", "update" | "patch") => Ok(()),
            ("eviction", "create") => Ok(()),
            _ => no(""),
        }
    }
}

impl Asked<'_> {
    /// Whether the request is about objects of the node alone.
    fn selects_own(&self) -> bool {
        self.info.fields.require("spec.nodeName", self.node)
    }

    /// Whether the object is the node's by its name. At a create that is seen by admission only.
    fn is_own_name(&self) -> bool {
        self.verb == "create" || self.info.name == self.node
    }
}

fn lease(asked: &Asked<'_>) -> Opinion {
    if !matches!(asked.verb, "get" | "create" | "update" | "patch" | "delete") {
        return no("can only get, create, update, patch, or delete a node lease");
    }
    if asked.info.namespace != LEASE_NAMESPACE {
        return no("can only access leases in the \"kube-node-lease\" system namespace");
    }
    match asked.is_own_name() {
        true => Ok(()),
        false => no("can only access node lease with the same name as the requesting node"),
    }
}

fn csi_node(asked: &Asked<'_>) -> Opinion {
    match asked.info.subresource {
        "" => {}
        "status" => return no("CSINode status access requires CSIVolumeHealth feature"),
        _ => return no("cannot authorize CSINode subresources"),
    }
    if !matches!(asked.verb, "get" | "create" | "update" | "patch" | "delete") {
        return no("can only get, create, update, patch, or delete a CSINode");
    }
    match asked.is_own_name() {
        true => Ok(()),
        false => no("can only access CSINode with the same name as the requesting node"),
    }
}

/// A node reads its own Node, also before that is there; what it writes is looked at by admission.
fn own_node(asked: &Asked<'_>) -> Opinion {
    let (node, name) = (asked.node, asked.info.name);
    match (asked.info.subresource, asked.verb) {
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
        ("", "get" | "list" | "watch") if name == node => Ok(()),
        ("", "get" | "list" | "watch") if name.is_empty() => {
            Err(format!("node '{node}' cannot read all nodes, only its own Node object").into())
        }
        ("", "get" | "list" | "watch") => {
            Err(format!("node '{node}' cannot read '{name}', only its own Node object").into())
        }
        _ => no(""),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
