//! Sources of volumes: what pods and persistent volumes have in common, and where they differ.

use ringbolt_machinery::{
    field::{FieldError, child, index, key},
    validation::names::{dns1123_label_errors, inclusive_range_error, name_is_dns_label},
    value::{Map, Value},
};

use super::{
    Errors, csi_driver_name, each_invalid, one_of_optional, persistent_volume_claim, projected, required,
};
use crate::{quantity, tree::Members};

/// What a source belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner<'o> {
    /// A volume of a pod, by its name.
    Pod(&'o str),
    /// A persistent volume, by its name.
    PersistentVolume(&'o str),
}

const ONLY_ONE: &str = "may not specify more than 1 volume type";

/// Kinds of sources of pods in the order they are looked at: the member, the name that an error about a second
/// source gives it, and the name in the paths of its own errors.
const OF_PODS: &[(&str, &str, &str)] = &[
    ("emptyDir", "emptyDir", "emptyDir"),
    ("hostPath", "hostPath", "hostPath"),
    ("gitRepo", "gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret", "secret"),
    ("nfs", "nfs", "nfs"),
    ("iscsi", "iscsi", "iscsi"),
    ("glusterfs", "glusterfs", "glusterfs"),
    ("flocker", "flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd", "rbd"),
    ("cinder", "cinder", "cinder"),
    ("cephfs", "cephFS", "cephfs"),
    ("quobyte", "quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI", "downwardAPI"),
    ("fc", "fc", "fc"),
    ("flexVolume", "flexVolume", "flexVolume"),
    ("configMap", "configMap", "configMap"),
    ("azureFile", "azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk", "azureDisk"),
    ("storageos", "storageos", "storageos"),
    ("projected", "projected", "projected"),
    ("scaleIO", "scaleIO", "scaleIO"),
    ("csi", "csi", "csi"),
    ("ephemeral", "ephemeral", "ephemeral"),
    ("image", "image", "image"),
];

/// The same for persistent volumes.
pub(crate) const OF_PERSISTENT_VOLUMES: &[(&str, &str, &str)] = &[
    ("hostPath", "hostPath", "hostPath"),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore"),
    ("glusterfs", "glusterfs", "glusterfs"),
    ("flocker", "flocker", "flocker"),
    ("nfs", "nfs", "nfs"),
    ("rbd", "rbd", "rbd"),
    ("quobyte", "quobyte", "quobyte"),
    ("cephfs", "cephFS", "cephfs"),
    ("iscsi", "iscsi", "iscsi"),
    ("cinder", "cinder", "cinder"),
    ("fc", "fc", "fc"),
    ("flexVolume", "flexVolume", "flexVolume"),
    ("azureFile", "azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk", "azureDisk"),
    ("scaleIO", "scaleIO", "scaleIO"),
    ("local", "local", "local"),
    ("storageos", "storageos", "storageos"),
    ("csi", "csi", "csi"),
];

/// The one source of a volume. `affine` says whether a persistent volume has node affinity, which local ones need.
pub(crate) fn validate(holder: &Map<'_>, owner: Owner<'_>, affine: bool, path: &str, errors: &mut Errors) {
    let kinds = match owner {
        Owner::Pod(_) => OF_PODS,
        Owner::PersistentVolume(_) => OF_PERSISTENT_VOLUMES,
    };
    let mut found = 0;
    // Most volumes are of one kind: no need to look for the others.
    let mut given = holder.iter().filter(|(_, value)| value.as_map().is_some()).map(|(name, _)| name);
    let only = given.next().filter(|_| given.next().is_none());
    for (kind, shown, named) in kinds {
        if only.is_some_and(|only| only != *kind) {
            continue;
        }
        let Some(source) = holder.child(kind) else { continue };
        // A flex volume of a persistent volume is looked at whatever came before it.
        let always = *kind == "flexVolume" && owner != Owner::Pod(owner.name());
        if found > 0 && !always {
            errors.push(FieldError::forbidden(child(path, shown), ONLY_ONE));
        } else {
            found += 1;
            one(kind, source, owner, &child(path, named), errors);
            if *kind == "local" && !affine {
                let why = "Local volume requires node affinity";
                errors.push(FieldError::required(child(path, "nodeAffinity"), why));
            }
        }
        if let (Owner::Pod(volume), "iscsi") = (owner, *kind) {
            let portal = source.text("targetPortal");
            if source.has("initiatorName") && volume.len() + 1 + portal.len() > 64 {
                errors.push(FieldError::invalid(child(path, "name"), volume, TOO_LONG));
            }
        }
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

impl<'o> Owner<'o> {
    fn name(self) -> &'o str {
        match self {
            Owner::Pod(name) | Owner::PersistentVolume(name) => name,
        }
    }
}

const TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

/// Required members in a row.
fn all_required(source: &Map<'_>, members: &[&str], path: &str, errors: &mut Errors) {
    for member in members {
        required(source, member, path, errors);
    }
}

/// The path of a source, and whether there is one.
fn descending_path(source: &Map<'_>, path: &str, errors: &mut Errors) -> bool {
    let given = required(source, "path", path, errors);
    if given {
        no_backsteps(source.text("path"), &child(path, "path"), errors);
    }
    given
}

fn host_path(source: &Map<'_>, path: &str, errors: &mut Errors) {
    if descending_path(source, path, errors) {
        host_path_type(source, path, errors);
    }
}

fn one(kind: &str, source: &Map<'_>, owner: Owner<'_>, path: &str, errors: &mut Errors) {
    let persistent = matches!(owner, Owner::PersistentVolume(_));
    match kind {
        "emptyDir" => empty_dir(source, path, errors),
        "hostPath" => host_path(source, path, errors),
        "local" => {
            descending_path(source, path, errors);
        }
        "gitRepo" => {
            required(source, "repository", path, errors);
            descending(source.text("directory"), &child(path, "directory"), errors);
        }
        "gcePersistentDisk" => {
            required(source, "pdName", path, errors);
            partition(source, path, errors);
        }
        "awsElasticBlockStore" => {
            required(source, "volumeID", path, errors);
            partition(source, path, errors);
        }
        "secret" => {
            required(source, "secretName", path, errors);
            keyed(source, path, errors);
        }
        "configMap" => {
            required(source, "name", path, errors);
            keyed(source, path, errors);
        }
        "nfs" => {
            all_required(source, &["server", "path"], path, errors);
            let target = source.text("path");
            if !target.starts_with('/') {
                errors.push(FieldError::invalid(child(path, "path"), target, "must be an absolute path"));
            }
        }
        "iscsi" => iscsi(source, owner, path, errors),
        "glusterfs" => {
            all_required(source, &["endpoints", "path"], path, errors);
            if persistent && source.has("endpointsNamespace") {
                let (name, path) = (source.text("endpointsNamespace"), child(path, "endpointsNamespace"));
                if name.is_empty() {
                    let why = "if the endpointnamespace is set, it must be a valid namespace name";
                    errors.push(FieldError::invalid(path, name, why));
                } else {
                    each_invalid(name_is_dns_label(name, false), &path, name, errors);
                }
            }
        }
        "flocker" => flocker(source, path, errors),
        "persistentVolumeClaim" => {
            required(source, "claimName", path, errors);
        }
        "rbd" => all_required(source, &["monitors", "image"], path, errors),
        "cinder" => {
            required(source, "volumeID", path, errors);
            secret_reference(source, persistent, path, errors);
        }
        "cephfs" => {
            required(source, "monitors", path, errors);
        }
        "quobyte" => quobyte(source, path, errors),
        "downwardAPI" => projected::downward(source, path, errors),
        "fc" => fibre_channel(source, path, errors),
        "flexVolume" => flex(source, path, errors),
        "azureFile" => {
            all_required(source, &["secretName", "shareName"], path, errors);
            if persistent && source.has("secretNamespace") {
                required(source, "secretNamespace", path, errors);
            }
        }
        "vsphereVolume" => {
            required(source, "volumePath", path, errors);
        }
        "photonPersistentDisk" => {
            required(source, "pdID", path, errors);
        }
        "portworxVolume" => {
            required(source, "volumeID", path, errors);
        }
        "azureDisk" => azure_disk(source, path, errors),
        "storageos" => storage_os(source, persistent, path, errors),
        "projected" => projected::validate(source, path, errors),
        "scaleIO" => all_required(source, &["gateway", "system", "volumeName"], path, errors),
        "csi" => csi(source, persistent, path, errors),
        "ephemeral" => match source.child("volumeClaimTemplate") {
            None => errors.push(FieldError::required(child(path, "volumeClaimTemplate"), "")),
            Some(template) => {
                let path = child(path, "volumeClaimTemplate");
                persistent_volume_claim::template(template, &path, errors);
            }
        },
        "image" => {
            required(source, "reference", path, errors);
            if required(source, "pullPolicy", path, errors) {
                super::one_of(source, "pullPolicy", path, &["Always", "IfNotPresent", "Never"], errors);
            }
        }
        _ => {}
    }
}

fn empty_dir(source: &Map<'_>, path: &str, errors: &mut Errors) {
    if quantity::parse(source.text("sizeLimit")).is_some_and(|q| q.sign() < 0) {
        let why = "SizeLimit field must be a valid resource quantity";
        errors.push(FieldError::forbidden(child(path, "sizeLimit"), why));
    }
    if let Some(mode) = source.int("mode").filter(|m| !(0..=0o1777).contains(m)) {
        let why = "must be a number between 0 and 01777 (octal), both inclusive";
        errors.push(FieldError::invalid(child(path, "mode"), mode, why));
    }
}

fn host_path_type(source: &Map<'_>, path: &str, errors: &mut Errors) {
    let supported =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    one_of_optional(source, "type", path, &supported, errors);
}

fn partition(source: &Map<'_>, path: &str, errors: &mut Errors) {
    if let Some(number) = source.int("partition").filter(|n| !(0..=255).contains(n)) {
        let why = inclusive_range_error(1, 255);
        errors.push(FieldError::invalid(child(path, "partition"), number, why));
    }
}

/// The mode of a file.
pub(super) fn mode(map: &Map<'_>, member: &str, path: &str, errors: &mut Errors) {
    if let Some(mode) = map.int(member).filter(|m| !(0..=0o777).contains(m)) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(child(path, member), mode, why));
    }
}

/// Keys as files, of secrets and config maps.
fn keyed(source: &Map<'_>, path: &str, errors: &mut Errors) {
    mode(source, "defaultMode", path, errors);
    for (at, item) in source.items("items").iter().enumerate() {
        if let Some(item) = item.as_map() {
            key_to_path(item, &index(&child(path, "items"), at), errors);
        }
    }
}

/// One key as a file.
pub(super) fn key_to_path(item: &Map<'_>, path: &str, errors: &mut Errors) {
    all_required(item, &["key", "path"], path, errors);
    not_reserved(item.text("path"), &child(path, "path"), errors);
    mode(item, "mode", path, errors);
}

/// A path that does not go up.
pub(super) fn no_backsteps(target: &str, path: &str, errors: &mut Errors) {
    if target.split('/').any(|step| step == "..") {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}

/// A path below a volume: relative, and not out of it.
pub(super) fn descending(target: &str, path: &str, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    no_backsteps(target, path, errors);
}

/// A path below a volume that does not begin like what the kubelet writes for itself.
pub(super) fn not_reserved(target: &str, path: &str, errors: &mut Errors) {
    descending(target, path, errors);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
}

fn secret_reference(source: &Map<'_>, namespaced: bool, path: &str, errors: &mut Errors) {
    let Some(secret) = source.child("secretRef") else { return };
    let path = child(path, "secretRef");
    required(secret, "name", &path, errors);
    if namespaced {
        required(secret, "namespace", &path, errors);
    }
}

/// Whether a qualified name of iSCSI is well formed; `None` where it begins like none.
fn iscsi_name(name: &str) -> Option<bool> {
    let alphanumeric = |text: &str, count: usize| {
        let mut chars = text.chars();
        // One character stands between the kind and the number, whichever it is.
        chars.next().is_some_and(|c| c != '\n')
            && text.len() > count
            && chars.as_str().len() == count
            && chars.as_str().bytes().all(|b| b.is_ascii_alphanumeric())
    };
    if name.starts_with("iqn") {
        return Some(qualified_iscsi_name(name));
    }
    if let Some(rest) = name.strip_prefix("eui") {
        return Some(alphanumeric(rest, 16));
    }
    name.strip_prefix("naa").map(|rest| alphanumeric(rest, 32))
}

/// `iqn.yyyy-mm.authority:identifier` somewhere up to the end.
fn qualified_iscsi_name(name: &str) -> bool {
    name.match_indices("iqn.").any(|(at, _)| {
        let rest = &name[at + 4..];
        let date = rest.as_bytes();
        let digits =
            |range: std::ops::Range<usize>| date.get(range).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
        if !(digits(0..4) && date.get(4) == Some(&b'-') && digits(5..7) && date.get(7) == Some(&b'.')) {
            return false;
        }
        let rest = &rest[8..];
        rest.match_indices(':').any(|(colon, _)| {
            let (authority, identifier) = (&rest[..colon], &rest[colon + 1..]);
            let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
            let plain = |c: char| !matches!(c, ',' | ';' | '*' | '&' | '$' | '|') && !is_space(c);
            !authority.is_empty()
                && authority.bytes().all(named)
                && !identifier.is_empty()
                && identifier.chars().all(plain)
        })
    })
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ')
}

fn iscsi(source: &Map<'_>, owner: Owner<'_>, path: &str, errors: &mut Errors) {
    const FORM: &str = "must be valid format";
    const START: &str = "must be valid format starting with iqn, eui, or naa";
    let persistent = matches!(owner, Owner::PersistentVolume(_));
    let start = if persistent { FORM } else { START };
    let portal = source.text("targetPortal");
    required(source, "targetPortal", path, errors);
    if persistent && source.has("initiatorName") && owner.name().len() + 1 + portal.len() > 64 {
        errors.push(FieldError::invalid(child(path, "targetportal"), portal, TOO_LONG));
    }
    let check = |name: &str, path: String, errors: &mut Errors| match iscsi_name(name) {
        None => errors.push(FieldError::invalid(path, name, start)),
        Some(false) => errors.push(FieldError::invalid(path, name, FORM)),
        Some(true) => {}
    };
    if required(source, "iqn", path, errors) {
        check(source.text("iqn"), child(path, "iqn"), errors);
    }
    lun(source, path, errors);
    let authenticated = source.flag("chapAuthDiscovery") || source.flag("chapAuthSession");
    match source.child("secretRef") {
        None if authenticated => errors.push(FieldError::required(child(path, "secretRef"), "")),
        Some(secret) if persistent => {
            required(secret, "name", &child(path, "secretRef"), errors);
        }
        _ => {}
    }
    if source.has("initiatorName") {
        check(source.text("initiatorName"), child(path, "initiatorname"), errors);
    }
}

fn lun(source: &Map<'_>, path: &str, errors: &mut Errors) {
    if let Some(lun) = source.int("lun").filter(|n| !(0..=255).contains(n)) {
        errors.push(FieldError::invalid(child(path, "lun"), lun, inclusive_range_error(0, 255)));
    }
}

fn fibre_channel(source: &Map<'_>, path: &str, errors: &mut Errors) {
    let (targets, ids) = (source.items("targetWWNs"), source.items("wwids"));
    let at = child(path, "targetWWNs");
    if targets.is_empty() && ids.is_empty() {
        errors.push(FieldError::required(at, "must specify either targetWWNs or wwids, but not both"));
        return;
    }
    if targets.is_empty() {
        return;
    }
    if !ids.is_empty() {
        let shown = source.get("targetWWNs").unwrap_or(&Value::Null);
        let why = "targetWWNs and wwids can not be specified simultaneously";
        errors.push(FieldError::invalid(at, shown, why));
    }
    if source.has("lun") {
        lun(source, path, errors);
    } else {
        errors.push(FieldError::required(child(path, "lun"), "lun is required if targetWWNs is specified"));
    }
}

fn flocker(source: &Map<'_>, path: &str, errors: &mut Errors) {
    let (name, uuid) = (source.text("datasetName"), source.text("datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        errors.push(FieldError::required(path, "one of datasetName and datasetUUID is required"));
    }
    if !name.is_empty() && !uuid.is_empty() {
        let why = "datasetName and datasetUUID can not be specified simultaneously";
        errors.push(FieldError::invalid(path, "resource", why));
    }
    if name.contains('/') {
        errors.push(FieldError::invalid(child(path, "datasetName"), name, "must not contain '/'"));
    }
}

/// Whether a text is `host:port`, with brackets around a host that has colons.
fn host_and_port(text: &str) -> bool {
    match text.rsplit_once(':') {
        None => false,
        Some((host, _)) if host.starts_with('[') => {
            host.len() > 1 && host.ends_with(']') && !host[1..host.len() - 1].contains(['[', ']'])
        }
        Some((host, port)) => !host.contains([':', '[', ']']) && !port.contains(['[', ']']),
    }
}

fn quobyte(source: &Map<'_>, path: &str, errors: &mut Errors) {
    let pairs = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.text("registry");
    if registry.is_empty() {
        errors.push(FieldError::required(child(path, "registry"), pairs));
    } else if source.text("tenant").len() >= 65 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(child(path, "tenant"), why));
    } else {
        for _ in registry.split(',').filter(|pair| !host_and_port(pair)) {
            errors.push(FieldError::invalid(child(path, "registry"), registry, pairs));
        }
    }
    required(source, "volume", path, errors);
}

fn flex(source: &Map<'_>, path: &str, errors: &mut Errors) {
    required(source, "driver", path, errors);
    let mut options: Vec<&str> =
        source.child("options").map(|o| o.iter().map(|(k, _)| k).collect()).unwrap_or_default();
    options.sort_unstable();
    for option in options {
        let namespace = option.split_once('/').map_or(option, |(namespace, _)| namespace);
        let namespace = format!(".{}", namespace.to_lowercase());
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(key(&child(path, "options"), option), option, why));
        }
    }
}

fn azure_disk(source: &Map<'_>, path: &str, errors: &mut Errors) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    all_required(source, &["diskName", "diskURI"], path, errors);
    one_of_optional(source, "cachingMode", path, &["None", "ReadOnly", "ReadWrite"], errors);
    one_of_optional(source, "kind", path, &["Dedicated", "Managed", "Shared"], errors);
    if !source.has("kind") {
        return;
    }
    let uri = source.text("diskURI");
    let (start, form) = match source.text("kind") {
        "Managed" => ("/subscriptions/", MANAGED),
        _ => ("https://", BLOB),
    };
    if !uri.starts_with(start) {
        errors.push(FieldError::not_supported(child(path, "diskURI"), uri, &[form]));
    }
}

fn storage_os(source: &Map<'_>, persistent: bool, path: &str, errors: &mut Errors) {
    if required(source, "volumeName", path, errors) {
        let name = source.text("volumeName");
        each_invalid(dns1123_label_errors(name), &child(path, "volumeName"), name, errors);
    }
    let namespace = source.text("volumeNamespace");
    if !namespace.is_empty() {
        each_invalid(dns1123_label_errors(namespace), &child(path, "volumeNamespace"), namespace, errors);
    }
    secret_reference(source, persistent, path, errors);
}

fn csi(source: &Map<'_>, persistent: bool, path: &str, errors: &mut Errors) {
    csi_driver_name(source.text("driver"), &child(path, "driver"), errors);
    if !persistent {
        if let Some(secret) = source.child("nodePublishSecretRef") {
            let name = secret.text("name");
            if required(secret, "name", &child(path, "nodePublishSecretRef"), errors) {
                super::subdomain(name, &child(path, "name"), errors);
            }
        }
        return;
    }
    required(source, "volumeHandle", path, errors);
    for member in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let Some(secret) = source.child(member) else { continue };
        let path = child(path, member);
        if required(secret, "name", &path, errors) {
            super::subdomain(secret.text("name"), &child(&path, "name"), errors);
        }
        if required(secret, "namespace", &path, errors) {
            let namespace = secret.text("namespace");
            each_invalid(dns1123_label_errors(namespace), &child(&path, "namespace"), namespace, errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{host_and_port, iscsi_name};

    #[test]
    fn names_of_iscsi() {
        assert_eq!(iscsi_name("iqn.2015-02.example.com:test"), Some(true));
        assert_eq!(iscsi_name("iqn.2015-02.example.com:t:init"), Some(true));
        assert_eq!(iscsi_name("iqn.2015.example.com:test"), Some(false));
        assert_eq!(iscsi_name("eui.0123456789ABCDEF"), Some(true));
        assert_eq!(iscsi_name("eui.0123"), Some(false));
        assert_eq!(iscsi_name("example"), None);
    }

    #[test]
    fn pairs_of_host_and_port() {
        for (text, expect) in
            [("a:1", true), ("[::1]:80", true), ("::1:80", false), ("example", false), ("[a:1", false)]
        {
            assert_eq!(host_and_port(text), expect, "{text}");
        }
    }
}
