//! ServiceAccount: whom a pod runs as, and that it gets its account's token and may use no other secrets.

use std::sync::{Arc, LazyLock};

use bumpalo::Bump;
use memchr::memmem::Finder;
use ringbolt_apiserver::admission::{Attributes, GENERATED_LETTERS, Operation, generate_name};
use ringbolt_machinery::{
    frozen::MadeUp,
    status::{Reason, Status},
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::{
    objects::{Objects, mentions, scalar},
    secret_references::references_secrets,
};
use crate::{
    services::random,
    tree::{Members, list, list_mut, map, root},
};

/// The account of pods that name none.
const DEFAULT: &str = "default";
/// Marks the pod that stands for one of a kubelet's own (`MirrorPodAnnotationKey`).
const MIRROR: &str = "kubernetes.io/config.mirror";
/// Annotation of accounts whose pods may use their secrets only.
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";
/// What says, of pods and of accounts, whether containers get the token.
const AUTOMOUNT: &str = "automountServiceAccountToken";
/// Members that few accounts have, to be looked for in their text.
static AUTOMOUNTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(AUTOMOUNT));
static ENFORCES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(ENFORCE));
static PULL_SECRETS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("imagePullSecrets"));
/// What volumes of tokens are named after.
const VOLUME_PREFIX: &str = "kube-api-access-";
/// The names of these volumes.
pub(crate) const TOKEN_VOLUMES: MadeUp = MadeUp { prefix: VOLUME_PREFIX, letters: GENERATED_LETTERS };
/// Where containers find their token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// For how long kubelets ask for tokens of these volumes (`WarnOnlyBoundTokenExpirationSeconds`).
const EXPIRATION_SECONDS: i64 = 3607;
/// `ProjectedVolumeSourceDefaultMode`: 0644.
const DEFAULT_MODE: i64 = 0o644;
/// How the refusal of a pod ends whose namespace has no default account yet. A controller makes it, so the pod is tried
/// again for a while.
const NO_DEFAULT: &str = r#"serviceaccount "default" not found"#;

/// Whether a refusal may be gone in a moment.
pub(super) fn may_pass_soon(refusal: &Status) -> bool {
    refusal.reason == Reason::Forbidden && refusal.message.ends_with(NO_DEFAULT)
}

/// Gives a new pod its account and the account's token.
pub(super) fn admit<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    pod: &mut Value<'a>,
) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is("", "pods") {
        return Ok(());
    }
    // A kubelet must find its pod as it made it.
    if is_mirror(pod) {
        return validate_mirror(attributes, pod);
    }
    let spec = root(arena, pod).map_mut("spec");
    if spec.lacks("serviceAccountName") {
        spec.insert("serviceAccountName", Value::String(DEFAULT));
        spec.insert("serviceAccount", Value::String(DEFAULT));
    }
    let account = account(objects, attributes, spec)?;
    if automounts(spec, &account) {
        mount(arena, spec);
    }
    if spec.lacks("imagePullSecrets") && mentions(&account, &PULL_SECRETS) {
        let secrets = names(objects, arena, &account, "imagePullSecrets");
        if !secrets.is_empty() {
            let secrets = secrets.into_iter().map(|name| map(arena, [("name", Value::String(name))]));
            spec.insert("imagePullSecrets", list(arena, secrets));
        }
    }
    limit_secrets(objects, attributes, arena, spec, &account)
}

/// Holds a new pod, and new ephemeral containers, to their account.
pub(super) fn validate(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &Bump,
    pod: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(pod) = pod.filter(|_| attributes.is_part_of("", "pods")) else { return Ok(()) };
    match (attributes.operation, attributes.subresource) {
        (Operation::Create, "") if is_mirror(pod) => validate_mirror(attributes, pod),
        (Operation::Create, "") | (Operation::Update, "ephemeralcontainers") => {
            let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map) else { return Ok(()) };
            if spec.lacks("serviceAccountName") {
                let name = pod.str_at(&["metadata", "name"]).unwrap_or("");
                let namespace = attributes.namespace;
                return Err(
                    attributes.forbidden(&format!("no service account specified for pod {namespace}/{name}"))
                );
            }
            let account = account(objects, attributes, spec)?;
            match attributes.operation {
                Operation::Create => limit_secrets(objects, attributes, arena, spec, &account),
                _ => limit_ephemeral(objects, arena, spec, &account),
            }
        }
        _ => Ok(()),
    }
}

fn is_mirror(pod: &Value<'_>) -> bool {
    pod.path(&["metadata", "annotations", MIRROR]).is_some()
}

fn validate_mirror(attributes: &Attributes<'_>, pod: &Value<'_>) -> Result<(), Status> {
    let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map) else { return Ok(()) };
    let refused = |what: &str| Err(attributes.forbidden(&format!("a mirror pod may not {what}")));
    if !spec.lacks("serviceAccountName") {
        return refused("reference service accounts");
    }
    if references_secrets(spec) {
        return refused("reference secrets");
    }
    let volumes = spec.items("volumes").iter().filter_map(Value::as_map);
    let mut sources = volumes.filter_map(|v| v.child("projected")).flat_map(|p| p.items("sources"));
    if sources.any(|s| s.as_map().is_some_and(|s| s.has("serviceAccountToken"))) {
        return refused("use ServiceAccountToken volume projections");
    }
    Ok(())
}

fn account(objects: &Objects, attributes: &Attributes<'_>, spec: &Map<'_>) -> Result<Arc<Object>, Status> {
    let (namespace, name) = (attributes.namespace, spec.text("serviceAccountName"));
    let key = [namespace, "/", name].concat();
    objects.get(attributes, objects.service_accounts, &key).ok_or_else(|| {
        attributes
            .forbidden(&format!("error looking up service account {key}: serviceaccount {name:?} not found"))
    })
}

/// Whether containers get the token: as the pod says, else as its account says, else yes.
fn automounts(spec: &Map<'_>, account: &Object) -> bool {
    match spec.get(AUTOMOUNT) {
        None | Some(Value::Null) => {
            !mentions(account, &AUTOMOUNTS) || scalar(account, &[AUTOMOUNT]).as_deref() != Some("false")
        }
        Some(own) => own.as_bool() == Some(true),
    }
}

/// Mounts the token in every container that has nothing at its place.
fn mount<'a>(arena: &'a Bump, spec: &mut Map<'a>) {
    let volumes = spec.items("volumes").iter().filter_map(Value::as_map);
    let own = volumes.map(|v| v.text("name")).find(|name| name.starts_with(VOLUME_PREFIX));
    let name = own.unwrap_or_else(|| arena.alloc_str(&generate_name(VOLUME_PREFIX, random)));
    let mut is_needed = false;
    for containers in ["initContainers", "containers"] {
        spec.each_mut(containers, |container| {
            let mounts = container.items("volumeMounts").iter().filter_map(Value::as_map);
            if mounts.into_iter().any(|mount| mount.text("mountPath") == MOUNT_PATH) {
                return;
            }
            let mount = [
                ("name", Value::String(name)),
                ("readOnly", Value::Bool(true)),
                ("mountPath", Value::String(MOUNT_PATH)),
            ];
            list_mut(container, "volumeMounts").push(map(arena, mount));
            is_needed = true;
        });
    }
    if is_needed && own.is_none() {
        let volume = map(arena, [("name", Value::String(name)), ("projected", projection(arena))]);
        list_mut(spec, "volumes").push(volume);
    }
}

/// The token, the authority that the server is known by, and the namespace.
fn projection(arena: &Bump) -> Value<'_> {
    let text = Value::String;
    let token = map(arena, [("expirationSeconds", Value::Int(EXPIRATION_SECONDS)), ("path", text("token"))]);
    let authority = map(arena, [("key", text("ca.crt")), ("path", text("ca.crt"))]);
    let authority = map(arena, [("name", text("kube-root-ca.crt")), ("items", list(arena, [authority]))]);
    let field = map(arena, [("apiVersion", text("v1")), ("fieldPath", text("metadata.namespace"))]);
    let namespace = map(arena, [("path", text("namespace")), ("fieldRef", field)]);
    let namespace = map(arena, [("items", list(arena, [namespace]))]);
    let sources = [
        map(arena, [("serviceAccountToken", token)]),
        map(arena, [("configMap", authority)]),
        map(arena, [("downwardAPI", namespace)]),
    ];
    map(arena, [("sources", list(arena, sources)), ("defaultMode", Value::Int(DEFAULT_MODE))])
}

/// The names in a list of an account's references.
fn names<'a>(objects: &Objects, arena: &'a Bump, account: &Object, field: &str) -> Vec<&'a str> {
    let Some(account) = objects.tree(arena, objects.service_accounts, account) else { return Vec::new() };
    let references = account.path(&[field]).and_then(Value::as_list).into_iter().flatten();
    references.filter_map(|reference| reference.as_map()?.get("name")?.as_str()).collect()
}

/// Whether pods of an account may use its secrets only. What is no truth value is not true.
fn enforces(account: &Object) -> bool {
    if !mentions(account, &ENFORCES) {
        return false;
    }
    let value = scalar(account, &["metadata", "annotations", ENFORCE]);
    matches!(value.as_deref(), Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
}

fn limit_secrets(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &Bump,
    spec: &Map<'_>,
    account: &Object,
) -> Result<(), Status> {
    if !enforces(account) {
        return Ok(());
    }
    let mountable = names(objects, arena, account, "secrets");
    let name = account.name();
    let refused = |what: String| {
        Err(attributes.forbidden(&format!(
            "{what} is not allowed because service account {name} does not reference that secret"
        )))
    };
    for volume in spec.items("volumes").iter().filter_map(Value::as_map) {
        let Some(secret) = volume.child("secret").map(|s| s.text("secretName")) else { continue };
        if !mountable.contains(&secret) {
            return refused(format!(r#"volume with secret.secretName="{secret}""#));
        }
    }
    for (containers, what) in [("initContainers", "init container"), ("containers", "container")] {
        if let Some(found) = foreign_secret(spec, containers, what, &mountable) {
            return refused(found);
        }
    }
    let pullable = names(objects, arena, account, "imagePullSecrets");
    for (at, secret) in spec.items("imagePullSecrets").iter().filter_map(Value::as_map).enumerate() {
        let secret = secret.text("name");
        if !pullable.contains(&secret) {
            return Err(attributes.forbidden(&format!(
                r#"imagePullSecrets[{at}].name="{secret}" is not allowed because service account {name} does not reference that imagePullSecret"#
            )));
        }
    }
    Ok(())
}

/// The refusal of ephemeral containers is no `Forbidden` in Kubernetes: it comes out as a bare 500.
fn limit_ephemeral(objects: &Objects, arena: &Bump, spec: &Map<'_>, account: &Object) -> Result<(), Status> {
    if !enforces(account) {
        return Ok(());
    }
    let mountable = names(objects, arena, account, "secrets");
    match foreign_secret(spec, "ephemeralContainers", "ephemeral container", &mountable) {
        None => Ok(()),
        Some(what) => Err(Status::unknown_error(format!(
            "{what} is not allowed because service account {} does not reference that secret",
            account.name()
        ))),
    }
}

/// The first variable of these containers that comes from a secret that is not mountable.
fn foreign_secret(spec: &Map<'_>, containers: &str, what: &str, mountable: &[&str]) -> Option<String> {
    for container in spec.items(containers).iter().filter_map(Value::as_map) {
        let name = container.text("name");
        for variable in container.items("env").iter().filter_map(Value::as_map) {
            let secret = variable.child("valueFrom").and_then(|from| from.child("secretKeyRef"));
            if let Some(secret) = secret.map(|s| s.text("name")).filter(|s| !mountable.contains(s)) {
                let variable = variable.text("name");
                return Some(format!(
                    r#"{what} {name} with envVar {variable} referencing secret.secretName="{secret}""#
                ));
            }
        }
        for source in container.items("envFrom").iter().filter_map(Value::as_map) {
            let secret = source.child("secretRef").map(|s| s.text("name"));
            if let Some(secret) = secret.filter(|s| !mountable.contains(s)) {
                return Some(format!(
                    r#"{what} {name} with envFrom referencing secret.secretName="{secret}""#
                ));
            }
        }
    }
    None
}
