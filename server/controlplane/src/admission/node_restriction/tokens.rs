//! Tokens that kubelets ask for: of accounts of pods on their node, for whom those pods speak to.

use ringbolt_machinery::{
    field::quote,
    scan,
    status::Status,
    value::{Map, Value},
};

use super::Asked;
use crate::{
    admission::permissions::{about, may},
    tree::Members,
};

/// Volumes of clouds that are CSI volumes now, and their drivers.
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

pub(super) fn admit(asked: &Asked<'_>) -> Result<(), Status> {
    let to = |field: &str| asked.text(&["spec", "boundObjectRef", field]);
    if to("apiVersion") != "v1" || to("kind") != "Pod" || to("name").is_empty() {
        return asked.forbid("node requested token not bound to a pod");
    }
    if to("uid").is_empty() {
        return asked.forbid("node requested token with a pod binding without a uid");
    }
    let (namespace, name) = (asked.attributes.namespace, to("name"));
    let pod = asked.tree(asked.objects.pods, namespace, name);
    let pod = pod.ok_or_else(|| Status::not_found("", "pod", name))?;
    if pod.str_at(&["metadata", "uid"]) != Some(to("uid")) {
        return asked.forbid(&format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            to("uid")
        ));
    }
    if pod.str_at(&["spec", "nodeName"]).unwrap_or("") != asked.node {
        return asked.forbid("node requested token bound to a pod scheduled on a different node");
    }
    let audiences = asked.object.and_then(|o| o.path(&["spec", "audiences"])).and_then(Value::as_list);
    let audience = match audiences.map_or(&[][..], |list| list.as_slice()) {
        [] => "",
        [one] => one.as_str().unwrap_or(""),
        _ => return asked.forbid("node may only request 0 or 1 audiences"),
    };
    check_audience(asked, &pod, audience)
}

/// The pod must speak to the audience, by a volume with its token or by a driver of volumes. Else the kubelet must be
/// let to ask for it.
fn check_audience(asked: &Asked<'_>, pod: &Value<'_>, audience: &str) -> Result<(), Status> {
    let volumes = pod.path(&["spec", "volumes"]).and_then(Value::as_list);
    let mut errors: Vec<String> = Vec::new();
    for volume in volumes.into_iter().flatten().filter_map(Value::as_map) {
        if projects(volume, audience) {
            return Ok(());
        }
        let found = driver(asked, pod, volume).and_then(|driver| match driver {
            Some(driver) => drives(asked, &driver, audience),
            None => Ok(false),
        });
        match found {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) if errors.contains(&error) => {}
            Err(error) => errors.push(error),
        }
    }
    let quoted = quote(audience);
    match errors.as_slice() {
        [] => {}
        [one] => return asked.forbid(&format!("error validating audience {quoted}: {one}")),
        many => return asked.forbid(&format!("error validating audience {quoted}: [{}]", many.join(", "))),
    }
    let attributes = asked.attributes;
    let question = about(("", "v1", audience), attributes.namespace, attributes.name);
    if may(asked.authorizers, attributes, "request-serviceaccounts-token-audience", &question) {
        return Ok(());
    }
    let user = &attributes.user.name;
    asked.forbid(&format!("{user} is not authorized to request tokens for audience {quoted}"))
}

fn projects(volume: &Map<'_>, audience: &str) -> bool {
    let sources = volume.child("projected").map_or(&[][..], |projected| projected.items("sources"));
    let tokens = sources.iter().filter_map(|source| source.as_map()?.child("serviceAccountToken"));
    tokens.into_iter().any(|token| token.text("audience") == audience)
}

/// The CSI driver of a pod's volume, if it has one.
fn driver(asked: &Asked<'_>, pod: &Value<'_>, volume: &Map<'_>) -> Result<Option<String>, String> {
    if volume.child("ephemeral").is_some_and(|ephemeral| ephemeral.has("volumeClaimTemplate")) {
        let pod = pod.str_at(&["metadata", "name"]).unwrap_or("");
        return driver_of_claim(asked, &format!("{pod}-{}", volume.text("name")));
    }
    if let Some(claim) = volume.child("persistentVolumeClaim") {
        return driver_of_claim(asked, claim.text("claimName"));
    }
    Ok(driver_of(volume))
}

/// The driver of a volume source.
fn driver_of(source: &Map<'_>) -> Option<String> {
    if let Some(csi) = source.child("csi") {
        return Some(csi.text("driver").to_owned());
    }
    MIGRATED.iter().find(|(migrated, _)| source.has(migrated)).map(|(_, driver)| (*driver).to_owned())
}

/// The driver of the volume that a claim is bound to.
fn driver_of_claim(asked: &Asked<'_>, claim: &str) -> Result<Option<String>, String> {
    let (objects, namespace) = (asked.objects, asked.attributes.namespace);
    let found = asked.get(objects.claims, namespace, claim);
    let found = found.ok_or_else(|| format!("persistentvolumeclaim {} not found", quote(claim)))?;
    let volume = scan::scalar(&found.json, &["spec", "volumeName"]).unwrap_or_default();
    let found = asked.tree(objects.volumes, "", &volume);
    let found = found.ok_or_else(|| format!("persistentvolume {} not found", quote(&volume)))?;
    Ok(found.path(&["spec"]).and_then(Value::as_map).and_then(driver_of))
}

/// Whether a driver is given tokens for an audience.
fn drives(asked: &Asked<'_>, driver: &str, audience: &str) -> Result<bool, String> {
    if driver.is_empty() {
        return Ok(false);
    }
    let found = asked.tree(asked.objects.csi_drivers, "", driver);
    let found = found.ok_or_else(|| format!("csidriver.storage.k8s.io {} not found", quote(driver)))?;
    let requests = found.path(&["spec", "tokenRequests"]).and_then(Value::as_list);
    Ok(requests.into_iter().flatten().any(|request| request.str_at(&["audience"]).unwrap_or("") == audience))
}
