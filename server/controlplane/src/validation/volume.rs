//! Volumes of pods.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::name_is_dns_subdomain,
    value::Value,
};

use super::{Errors, label, maps, volume_source, volume_source::Owner};
use crate::tree::Members;

/// What a volume is made of, as far as others ask.
#[derive(Clone, Copy)]
pub(crate) struct Volume<'a> {
    pub(crate) name: &'a str,
    /// Whether it is a claim, of the pod or made for it: only those can be block devices.
    pub(crate) is_claim: bool,
}

/// The volumes of a pod of a name (empty for templates); answers with those that are in order.
pub(crate) fn validate<'a>(
    volumes: &[Value<'a>],
    pod: &str,
    path: &str,
    errors: &mut Errors,
) -> Vec<Volume<'a>> {
    let claims: Vec<String> = maps(volumes)
        .filter(|(_, v)| !pod.is_empty() && v.has("ephemeral"))
        .map(|(_, v)| format!("{pod}-{}", v.text("name")))
        .collect();
    let mut sound: Vec<Volume<'a>> = Vec::new();
    for (at, volume) in maps(volumes) {
        let path = index(path, at);
        let before = errors.len();
        let (name, at) = (volume.text("name"), child(&path, "name"));
        volume_source::validate(volume, Owner::Pod(name), false, &path, errors);
        if !pod.is_empty() && !name.is_empty() && volume.has("ephemeral") {
            let claim = format!("{pod}-{name}");
            for why in name_is_dns_subdomain(&claim, false) {
                let why = format!("PVC name {}: {why}", ringbolt_machinery::field::quote(&claim));
                errors.push(FieldError::invalid(at.clone(), name, why));
            }
        }
        if name.is_empty() {
            errors.push(FieldError::required(at.clone(), ""));
        } else {
            label(name, &at, errors);
        }
        if sound.iter().any(|v| v.name == name) {
            errors.push(FieldError::duplicate(at, name));
        }
        if errors.len() == before {
            sound.push(Volume {
                name,
                is_claim: volume.has("persistentVolumeClaim") || volume.has("ephemeral"),
            });
        }
        if let Some(claim) = volume.child("persistentVolumeClaim").map(|c| c.text("claimName"))
            && claims.iter().any(|c| c == claim)
        {
            let why = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(FieldError::invalid(child(&path, "persistentVolumeClaim.claimName"), claim, why));
        }
    }
    sound
}
