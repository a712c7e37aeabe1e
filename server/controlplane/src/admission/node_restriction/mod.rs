//! NodeRestriction: a kubelet writes what is its own node's, and nothing that would lend it more than the Node
//! authorizer lets it have.

mod nodes;
mod pod_certificates;
mod pods;
mod tokens;

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_apiserver::{
    admission::{Attributes, Operation},
    authorization::{Authorizers, node::node_identity},
};
use ringbolt_machinery::{
    field::quote,
    schema::{Schema, Type},
    status::Status,
    value::Value,
};
use ringbolt_storage::object::Object;

use super::{
    certificate_request,
    objects::{Kind, Objects, scalar},
};
use crate::{semantic, validation::difference::difference};

/// The namespace of the leases of nodes (`NamespaceNodeLease`).
const LEASE_NAMESPACE: &str = "kube-node-lease";
/// Signers whose certificates are for kubelets.
const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/// A write of a kubelet.
struct Asked<'r> {
    attributes: &'r Attributes<'r>,
    objects: &'r Objects,
    authorizers: &'r Authorizers,
    /// The kubelet's node.
    node: &'r str,
    arena: &'r Bump,
    object: Option<&'r Value<'r>>,
    old: Option<&'r Value<'r>>,
}

/// Refuses what a kubelet may not write. Deletes have no `object`.
pub(super) fn admit(
    objects: &Objects,
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    arena: &Bump,
    object: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(node) = node_identity(attributes.user).filter(|_| attributes.operation != Operation::Connect)
    else {
        return Ok(());
    };
    if node.is_empty() {
        let user = quote(&attributes.user.name);
        return Err(attributes.forbidden(&format!("could not determine node from user {user}")));
    }
    let asked = Asked { attributes, objects, authorizers, node, arena, object, old };
    let facts = attributes.served.facts;
    match (facts.group, facts.resource, attributes.subresource) {
        ("", "pods", "") => pods::admit(&asked),
        ("", "pods", "status") => pods::admit_status(&asked),
        ("", "pods", "eviction") => pods::admit_eviction(&asked),
        ("", "pods", other) => asked.forbid(&format!(
            "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
            quote(other)
        )),
        ("", "nodes", _) => nodes::admit(&asked),
        ("", "persistentvolumeclaims", "status") => asked.claim_status(),
        ("", "persistentvolumeclaims", _) => asked.forbid("may only update PVC status"),
        ("", "serviceaccounts", "token") => tokens::admit(&asked),
        ("certificates.k8s.io", "podcertificaterequests", _) => pod_certificates::admit(&asked),
        ("coordination.k8s.io", "leases", _) => asked.lease(),
        ("storage.k8s.io", "csinodes", _) => asked.csi_node(),
        ("resource.k8s.io", "resourceslices", _) => asked.resource_slice(),
        ("certificates.k8s.io", "certificatesigningrequests", _) => asked.certificate_request(),
        _ => Ok(()),
    }
}

impl<'r> Asked<'r> {
    fn forbid(&self, why: &str) -> Result<(), Status> {
        Err(self.attributes.forbidden(why))
    }

    /// A text of the new object; empty where there is none.
    fn text(&self, path: &[&str]) -> &'r str {
        self.object.and_then(|object| object.str_at(path)).unwrap_or("")
    }

    /// The object's name. One that is generated is not known yet: what is known stands for it in messages alone.
    fn name(&self) -> &'r str {
        let given = self.text(&["metadata", "name"]);
        match self.attributes.operation {
            Operation::Create if given != self.attributes.name => "",
            _ => self.attributes.name,
        }
    }

    /// A stored object.
    fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<Object>> {
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        self.objects.get(self.attributes, kind, &key)
    }

    /// A stored object as a tree.
    fn tree(&self, kind: Kind, namespace: &str, name: &str) -> Option<Value<'r>> {
        self.objects.tree(self.arena, kind, &*self.get(kind, namespace, name)?)
    }

    /// A text of a stored object, empty where it has none; `None` where there is no such object.
    fn scalar(&self, kind: Kind, namespace: &str, name: &str, path: &[&str]) -> Option<String> {
        let object = self.get(kind, namespace, name)?;
        Some(scalar(&object, path).unwrap_or_default().into_owned())
    }

    fn uid(&self, kind: Kind, namespace: &str, name: &str) -> Option<String> {
        self.scalar(kind, namespace, name, &["metadata", "uid"])
    }

    fn operation(&self) -> String {
        quote(self.attributes.operation.as_str())
    }

    fn lease(&self) -> Result<(), Status> {
        if self.attributes.namespace != LEASE_NAMESPACE {
            let namespace = quote(LEASE_NAMESPACE);
            return self.forbid(&format!("can only access leases in the {namespace} system namespace"));
        }
        if self.name() != self.node {
            return self.forbid("can only access node lease with the same name as the requesting node");
        }
        Ok(())
    }

    fn csi_node(&self) -> Result<(), Status> {
        if self.name() != self.node {
            return self.forbid("can only access CSINode with the same name as the requesting node");
        }
        if self.attributes.subresource == "status" {
            return self.forbid("CSIVolumeHealth feature gate is disabled");
        }
        Ok(())
    }

    fn resource_slice(&self) -> Result<(), Status> {
        let (slice, verb) = match self.attributes.operation {
            Operation::Create => (self.object, "create"),
            Operation::Delete => (self.old, "delete"),
            _ => return Ok(()),
        };
        if slice.and_then(|slice| slice.str_at(&["spec", "nodeName"])) == Some(self.node) {
            return Ok(());
        }
        self.forbid(&format!("can only {verb} ResourceSlice with the same NodeName as the requesting node"))
    }

    fn certificate_request(&self) -> Result<(), Status> {
        let is_kubelets = KUBELET_SIGNERS.contains(&self.text(&["spec", "signerName"]));
        if self.attributes.operation != Operation::Create || !is_kubelets {
            return Ok(());
        }
        let name = format!("system:node:{}", self.node);
        match certificate_request::subject(self.text(&["spec", "request"])) {
            Err(why) => self.forbid(&format!("unable to parse csr: {why}")),
            Ok(subject) if subject.common_name != name => {
                self.forbid(&format!("can only create a node CSR with CN={name}"))
            }
            Ok(_) => Ok(()),
        }
    }

    /// Sizes and conditions of a claim are the kubelet's to write.
    fn claim_status(&self) -> Result<(), Status> {
        let (Operation::Update, Some(new), Some(old)) = (self.attributes.operation, self.object, self.old)
        else {
            return self.forbid(&format!("unexpected operation {}", self.operation()));
        };
        let rest = |claim: &Value<'_>| {
            let mut claim = claim.copy_into(self.arena);
            if let Some(claim) = claim.as_map_mut() {
                claim.retain(|field, _| !matches!(field, "kind" | "apiVersion"));
            }
            for (part, fields) in [
                ("metadata", &["resourceVersion", "managedFields"][..]),
                ("status", &["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"]),
            ] {
                if let Some(part) = claim.path_mut(&[part]).and_then(Value::as_map_mut) {
                    part.retain(|field, _| !fields.contains(&field));
                }
            }
            claim
        };
        let (new, old) = (rest(new), rest(old));
        let ty = Type::Struct(self.attributes.served.stored_type);
        if semantic::equal(Schema::builtin(), ty, false, Some(&old), Some(&new)) {
            return Ok(());
        }
        let difference = difference("core", "PersistentVolumeClaim", &old, &new);
        self.forbid(&format!(
            "node {} is not allowed to update fields other than status.quantity and status.conditions: {}",
            quote(self.node),
            difference.trim_start_matches('\n')
        ))
    }
}
