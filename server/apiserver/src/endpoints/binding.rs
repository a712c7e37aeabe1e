//! `pods/binding` and `bindings`: a scheduler puts a pod on a node.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::{
    field::FieldError,
    status::Status,
    validation::names::dns1123_subdomain_errors,
    value::{Map, Value},
};
use ringbolt_protocol::request_info::Verb;
use ringbolt_storage::object::Object;

use super::{
    answer,
    asker::{Asker, KeptAsker},
    create, get,
    guaranteed_update::{Mutate, check_preconditions, guaranteed_update},
    metadata,
    not_stored::Sent,
    pod_condition::{self, PodCondition},
    resource::ResourceStore,
};
use crate::{
    admission::{Attributes, dynamic::at_once},
    request::Request,
    response::Outcome,
    routes::ResourceEndpoint,
};

/// Annotations of pods from the time before init containers; nothing may bring them back.
const INIT_CONTAINER_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// The endpoint of both.
#[derive(Clone)]
pub(crate) struct Bindings {
    pods: Arc<ResourceStore>,
    bindings: Arc<ResourceStore>,
}

impl Bindings {
    /// Binds pods of `pods` to what `bindings` says.
    pub(crate) fn new(pods: Arc<ResourceStore>, bindings: Arc<ResourceStore>) -> Self {
        Bindings { pods, bindings }
    }

    fn create(&self, request: &Request<'_>) -> Result<Outcome, Status> {
        let sent = Sent::take(&self.bindings, request)?;
        let part = if request.info.subresource.is_empty() { "" } else { "binding" };
        let this = self.clone();
        if let Some(kept) = KeptAsker::of(request, &self.pods, part, sent.dry_run) {
            return Ok(Outcome::Task(Box::pin(async move {
                let bound = this.bind(&sent, kept.asker()).await;
                let warnings = kept.into_warnings();
                sent.answer.failure(&bound.err().unwrap_or_else(|| Status::success(201)), &warnings)
            })));
        }
        let asker = Asker::of(request, part, sent.dry_run);
        let binding = request.core.with_arena(|arena| at_once(self.admitted(&sent, asker, arena)))?;
        let (core, namespace) = (request.core.clone(), request.info.namespace.to_owned());
        Ok(Outcome::Task(Box::pin(async move {
            let target = (namespace.as_str(), binding.name.as_str());
            let bound = Bind { pods: &this.pods, binding: &binding, dry_run: sent.dry_run };
            match guaranteed_update(&this.pods, &core, target, sent.dry_run, &bound).await {
                Ok(_) => sent.answer.status(&Status::success(201)),
                Err(status) => sent.answer.status(&status),
            }
        })))
    }

    async fn bind(&self, sent: &Sent, asker: Asker<'_>) -> Result<(), Status> {
        let arena = asker.core.take_arena();
        let binding = self.admitted(sent, asker, &arena).await?;
        let target = (asker.namespace, binding.name.as_str());
        let bound = Bind { pods: &self.pods, binding: &binding, dry_run: sent.dry_run };
        guaranteed_update(&self.pods, asker.core, target, sent.dry_run, &bound).await.map(drop)
    }

    /// A binding that was admitted and has nothing wrong with it.
    async fn admitted(&self, sent: &Sent, asker: Asker<'_>, arena: &Bump) -> Result<Binding, Status> {
        let (pods, bindings) = (&*self.pods, &*self.bindings);
        let mut tree = sent.decode_for(bindings, asker.namespace, asker.warnings, arena)?;
        let name = metadata::text(&tree, "name");
        let of = if asker.subresource.is_empty() { bindings } else { pods };
        create::check_namespace(of, asker.core, asker.namespace, name)?;
        let attributes = Attributes { name, ..asker.attributes(of) };
        asker.admit(&attributes, pods, bindings, arena, &mut tree).await?;
        if !asker.subresource.is_empty() && asker.name != name {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        check_target(&tree)?;
        get::check_name(name)?;
        asker.validate(&attributes, pods, bindings, arena, &tree).await?;
        let mut binding = Binding::read(&tree);
        if asker.subresource.is_empty() {
            // Bound by its name alone: what is created where bindings are has no identity yet.
            binding.uid.clear();
        }
        Ok(binding)
    }
}

impl ResourceEndpoint for Bindings {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let outcome = match request.info.verb {
            Verb::Create => self.create(request),
            _ => Err(Status::method_not_allowed()),
        };
        outcome.unwrap_or_else(|status| answer::failed(request, &status))
    }
}

/// What is wrong with a binding comes back as the bare text of its errors, in a 500.
fn check_target(binding: &Value<'_>) -> Result<(), Status> {
    let kind = binding.str_at(&["target", "kind"]).unwrap_or("");
    let name = binding.str_at(&["target", "name"]).unwrap_or("");
    let is_node = kind.is_empty() || kind == "Node";
    let mut errors = Vec::new();
    if !is_node {
        errors.push(FieldError::not_supported("target.kind", kind, &["Node", "<empty>"]));
    }
    if name.is_empty() {
        errors.push(FieldError::required("target.name", ""));
    } else if is_node {
        let found = dns1123_subdomain_errors(name);
        errors.extend(found.into_iter().map(|detail| FieldError::invalid("target.name", name, detail)));
    }
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(Status::unknown_error(one.as_str())),
        several => Err(Status::unknown_error(format!("[{}]", several.join(", ")))),
    }
}

/// A binding, taken out of the request's arena.
struct Binding {
    name: String,
    uid: String,
    version: String,
    node: String,
    annotations: Vec<(String, String)>,
    labels: Vec<(String, String)>,
}

impl Binding {
    fn read(tree: &Value<'_>) -> Self {
        let text = |field| metadata::text(tree, field).to_owned();
        let pairs = |field| {
            let map = tree.path(&["metadata", field]).and_then(Value::as_map);
            let pairs = map.into_iter().flat_map(|m| m.iter());
            pairs.map(|(k, v)| (k.to_owned(), v.as_str().unwrap_or("").to_owned())).collect()
        };
        Binding {
            name: text("name"),
            uid: text("uid"),
            version: text("resourceVersion"),
            node: tree.str_at(&["target", "name"]).unwrap_or("").to_owned(),
            annotations: pairs("annotations"),
            labels: pairs("labels"),
        }
    }
}

struct Bind<'b> {
    pods: &'b ResourceStore,
    binding: &'b Binding,
    dry_run: bool,
}

impl Mutate for Bind<'_> {
    fn mutate<'a>(&self, arena: &'a Bump, pod: &mut Value<'a>, stored: &Object) -> Result<(), Status> {
        let binding = self.binding;
        check_preconditions(self.pods, pod, stored, &binding.uid, &binding.version, self.dry_run)?;
        if let Some(why) = unfit(pod) {
            return Err(Status::conflict("", "pods/binding", &binding.name, &why));
        }
        if let Some(map) = pod.as_map_mut() {
            map.map_mut("spec").insert("nodeName", Value::String(arena.alloc_str(&binding.node)));
            // A nomination has no meaning once the pod is bound.
            map.map_mut("status").remove("nominatedNodeName");
        }
        let meta = metadata::of(arena, pod);
        merge(arena, meta, "annotations", &binding.annotations);
        if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_map_mut) {
            annotations.retain(|key, _| !INIT_CONTAINER_ANNOTATIONS.contains(&key));
        }
        merge(arena, meta, "labels", &binding.labels);
        pod_condition::update(
            arena,
            pod,
            PodCondition { ty: "PodScheduled", status: "True", reason: "", message: "" },
        );
        Ok(())
    }
}

/// Why a pod cannot be bound.
fn unfit(pod: &Value<'_>) -> Option<String> {
    let name = metadata::text(pod, "name");
    if metadata::is_terminating(pod) {
        return Some(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or("");
    if !node.is_empty() {
        let node = ringbolt_machinery::field::quote(node);
        return Some(format!("pod {name} is already assigned to node {node}"));
    }
    let gates = pod.path(&["spec", "schedulingGates"]).and_then(Value::as_list);
    gates.is_some_and(|g| !g.is_empty()).then(|| format!("pod {name} has non-empty .spec.schedulingGates"))
}

fn merge<'a>(arena: &'a Bump, meta: &mut Map<'a>, field: &'static str, pairs: &[(String, String)]) {
    if pairs.is_empty() {
        return;
    }
    let map = meta.map_mut(field);
    for (key, value) in pairs {
        map.insert(arena.alloc_str(key), Value::String(arena.alloc_str(value)));
    }
    map.sort_keys();
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    fn tree<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
        json::decode_untyped(arena, arena.alloc_slice_copy(text.as_bytes())).unwrap()
    }

    #[test]
    fn targets() {
        let check = |text: &str, expect: &str| {
            let arena = Bump::new();
            let found = check_target(&tree(&arena, text)).err().map(|s| s.message).unwrap_or_default();
            assert_eq!(found, expect, "{text}");
        };
        check(r#"{"target":{"name":"n1"}}"#, "");
        check(r#"{"target":{"kind":"Node","name":"n1"}}"#, "");
        check("{}", "target.name: Required value");
        check(
            r#"{"target":{"kind":"Pod","name":"!"}}"#,
            r#"target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>""#,
        );
        check(
            r#"{"target":{"kind":"Pod"}}"#,
            r#"[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]"#,
        );
        let arena = Bump::new();
        let status = check_target(&tree(&arena, r#"{"target":{"name":"N"}}"#)).unwrap_err();
        assert!(status.code == 500 && status.message.starts_with(r#"target.name: Invalid value: "N": "#));
    }

    #[test]
    fn pods_that_cannot_be_bound() {
        let check = |text: &str, expect: Option<&str>| {
            let arena = Bump::new();
            assert_eq!(unfit(&tree(&arena, text)).as_deref(), expect, "{text}");
        };
        check(r#"{"metadata":{"name":"a"},"spec":{}}"#, None);
        check(r#"{"metadata":{"name":"a"},"spec":{"schedulingGates":[]}}"#, None);
        check(
            r#"{"metadata":{"name":"a","deletionTimestamp":"t"},"spec":{"nodeName":"n"}}"#,
            Some("pod a is being deleted, cannot be assigned to a host"),
        );
        check(
            r#"{"metadata":{"name":"a"},"spec":{"nodeName":"n"}}"#,
            Some(r#"pod a is already assigned to node "n""#),
        );
        check(
            r#"{"metadata":{"name":"a"},"spec":{"schedulingGates":[{"name":"g"}]}}"#,
            Some("pod a has non-empty .spec.schedulingGates"),
        );
    }
}
