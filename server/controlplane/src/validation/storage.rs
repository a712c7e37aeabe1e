//! Storage classes, CSI drivers and nodes, attachments and capacities.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{
        labels::validate_label_name,
        names::{inclusive_range_error, qualified_name_errors},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{
    Errors, csi_driver_name, declared_immutable, each_invalid, immutable, maps, non_negative, one_of,
    one_of_optional, persistent_volume, required, resource_name, subdomain, with_map,
};
use crate::{
    limits::{PROVISIONER_PARAMETERS_MAX, PROVISIONER_PARAMETERS_MAX_BYTES},
    tree::{Members, same},
};

/// Longest identity of a node, message of an error, and all metadata of an attachment: `storage` limits of the API.
const NODE_ID_MAX: usize = 256;
const VOLUME_ERROR_MAX: usize = 1024;
const ATTACHMENT_METADATA_MAX: usize = 256 << 10;

fn provisioner(name: &str, path: &str, errors: &mut Errors) {
    let lower = name.to_lowercase();
    each_invalid(qualified_name_errors(&lower), path, &lower, errors);
}

fn parameters(holder: &Map<'_>, may_be_empty: bool, errors: &mut Errors) {
    let entries = super::sorted(holder.child("parameters"));
    if entries.len() > PROVISIONER_PARAMETERS_MAX {
        errors.push(FieldError::too_long("parameters", PROVISIONER_PARAMETERS_MAX));
        return;
    }
    for (key, _) in entries.iter().filter(|(key, _)| key.is_empty()) {
        errors.push(FieldError::invalid("parameters", *key, "field can not be empty."));
    }
    let size: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > PROVISIONER_PARAMETERS_MAX_BYTES {
        errors.push(FieldError::too_long("parameters", PROVISIONER_PARAMETERS_MAX_BYTES));
    }
    if !may_be_empty && entries.is_empty() {
        errors.push(FieldError::required("parameters", "must contain at least one key/value pair"));
    }
}

pub(crate) fn validate_class(object: &Value<'_>, errors: &mut Errors) {
    let Some(class) = object.as_map() else { return };
    class_fields(class, errors);
    // What is declared with the fields comes after what is written out.
    required(class, "provisioner", "", errors);
}

fn class_fields(class: &Map<'_>, errors: &mut Errors) {
    let name = class.text("provisioner");
    if !name.is_empty() {
        provisioner(name, "provisioner", errors);
    }
    parameters(class, true, errors);
    if !class.lacks("reclaimPolicy") {
        one_of(class, "reclaimPolicy", "", &["Delete", "Retain"], errors);
    }
    match class.has("volumeBindingMode") {
        true => one_of(class, "volumeBindingMode", "", &["Immediate", "WaitForFirstConsumer"], errors),
        false => errors.push(FieldError::required("volumeBindingMode", "")),
    }
    topologies(class, errors);
}

/// Terms that repeat one another, none among them: the list begins with as many empty ones as there are terms.
fn topologies(class: &Map<'_>, errors: &mut Errors) {
    let list = class.items("allowedTopologies");
    let mut before: Vec<Vec<(&str, Vec<&str>)>> = vec![Vec::new(); list.len()];
    for (at, term) in maps(list) {
        let path = child(&index("allowedTopologies", at), "matchLabelExpressions");
        let mut term_keys: Vec<(&str, Vec<&str>)> = Vec::new();
        for (i, expression) in maps(term.items("matchLabelExpressions")) {
            let path = index(&path, i);
            let mut values: Vec<&str> = Vec::new();
            required(expression, "values", &path, errors);
            for (k, value) in expression.items("values").iter().enumerate() {
                let value = value.as_str().unwrap_or("");
                if values.contains(&value) {
                    errors.push(FieldError::duplicate(index(&child(&path, "values"), k), value));
                } else {
                    values.push(value);
                }
            }
            let key = expression.text("key");
            errors.extend(validate_label_name(key, &child(&path, "key")));
            values.sort_unstable();
            match term_keys.iter_mut().find(|(k, _)| *k == key) {
                Some(known) => {
                    errors.push(FieldError::duplicate(child(&path, "key"), key));
                    known.1 = values;
                }
                None => term_keys.push((key, values)),
            }
        }
        term_keys.sort_unstable();
        for _ in before.iter().filter(|other| **other == term_keys) {
            errors.push(FieldError::duplicate(path.clone(), ""));
        }
        before.push(term_keys);
    }
}

pub(crate) fn validate_class_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let (Some(new), Some(old)) = (object.as_map(), old.as_map()) else { return };
    class_fields(new, errors);
    for key in ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"] {
        let mut changed = Vec::new();
        immutable(new, old, key, "", &mut changed);
        if !changed.is_empty() {
            if key == "provisioner" {
                required(new, key, "", errors);
            }
            declared_immutable(key, errors);
        }
    }
}

pub(crate) fn validate_attributes_class(object: &Value<'_>, errors: &mut Errors) {
    let Some(class) = object.as_map() else { return };
    if required(class, "driverName", "", errors) {
        provisioner(class.text("driverName"), "driverName", errors);
    }
    parameters(class, false, errors);
}

pub(crate) fn validate_attributes_class_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    if object.str_at(&["driverName"]) != old.str_at(&["driverName"]) {
        errors.push(FieldError::forbidden("driverName", "updates to driverName are forbidden."));
    }
    if !same(object.path(&["parameters"]), old.path(&["parameters"])) {
        errors.push(FieldError::forbidden("parameters", "updates to parameters are forbidden."));
    }
    validate_attributes_class(object, errors);
}

pub(crate) fn validate_attachment(object: &Value<'_>, errors: &mut Errors) {
    attachment(object, false, errors);
    // What is declared with the fields comes after what is written out, and says it in its own words.
    let attacher = object.str_at(&["spec", "attacher"]).unwrap_or("");
    super::resource::declared_driver(attacher, "spec.attacher", errors);
}

/// `names_attacher`: a change of a field that never changes is all that its declaration sees.
fn attachment(object: &Value<'_>, names_attacher: bool, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        if names_attacher {
            csi_driver_name(spec.text("attacher"), "spec.attacher", errors);
        }
        let nothing = Map::new_in(spec.arena());
        let source = spec.child("source").unwrap_or(&nothing);
        const ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        match (source.child("inlineVolumeSpec"), source.has("persistentVolumeName")) {
            (None, false) => errors.push(FieldError::required("spec.source", ONE)),
            (Some(_), true) => errors.push(FieldError::forbidden("spec.source", ONE)),
            (None, true) if source.text("persistentVolumeName").is_empty() => {
                let why = "must specify non empty persistentVolumeName";
                errors.push(FieldError::required("spec.source.persistentVolumeName", why));
            }
            (None, true) => {}
            (Some(volume), false) => {
                let path = "spec.source.inlineVolumeSpec";
                persistent_volume::validate_spec(volume, "", true, path, errors);
            }
        }
        subdomain(spec.text("nodeName"), "spec.nodeName", errors);
    });
    with_map(object, "status", |status| attachment_status(status, errors));
    with_map(object, "spec", |spec| {
        if let Some(source) = spec.child("source").filter(|s| s.has("persistentVolumeName")) {
            subdomain(source.text("persistentVolumeName"), "spec.source.persistentVolumeName", errors);
        }
    });
}

fn attachment_status(status: &Map<'_>, errors: &mut Errors) {
    let metadata = super::sorted(status.child("attachmentMetadata"));
    if metadata.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > ATTACHMENT_METADATA_MAX {
        errors.push(FieldError::too_long("status.attachmentMetadata", ATTACHMENT_METADATA_MAX));
    }
    for member in ["attachError", "detachError"] {
        let Some(error) = status.child(member) else { continue };
        let path = child("status", member);
        if error.text("message").len() > VOLUME_ERROR_MAX {
            errors.push(FieldError::too_long(child(&path, "message"), VOLUME_ERROR_MAX));
        }
        if let Some(code) = error.int("errorCode").filter(|c| *c < 0) {
            let why = inclusive_range_error(0, i64::from(i32::MAX));
            errors.push(FieldError::invalid(child(&path, "errorCode"), code, why));
        }
    }
}

pub(crate) fn validate_attachment_update(
    part: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    let kind = ("storage.k8s.io", "v1", "VolumeAttachment");
    let changed = part == Part::Main
        && !crate::semantic::field_equal(kind, &["spec"], object.path(&["spec"]), old.path(&["spec"]));
    attachment(object, true, errors);
    if changed {
        declared_immutable("spec", errors);
    }
}

pub(crate) fn validate_node(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let mut names: Vec<&str> = Vec::new();
        for (at, driver) in maps(spec.items("drivers")) {
            let path = index("spec.drivers", at);
            let (name, id) = (driver.text("name"), driver.text("nodeID"));
            csi_driver_name(name, &child(&path, "name"), errors);
            required(driver, "nodeID", &path, errors);
            if id.len() > NODE_ID_MAX {
                let why = format!("must be {NODE_ID_MAX} characters or less");
                errors.push(FieldError::invalid(child(&path, "nodeID"), id, why));
            }
            if let Some(allocatable) = driver.child("allocatable") {
                non_negative(allocatable, "count", &child(&path, "allocatable"), errors);
            }
            if names.contains(&name) {
                errors.push(FieldError::duplicate(child(&path, "name"), name));
            }
            names.push(name);
            let mut keys: Vec<&str> = Vec::new();
            for key in driver.items("topologyKeys") {
                let key = key.as_str().unwrap_or("");
                if key.is_empty() {
                    errors.push(FieldError::required(path.clone(), ""));
                }
                if keys.contains(&key) {
                    errors.push(FieldError::duplicate(path.clone(), key));
                }
                keys.push(key);
                each_invalid(qualified_name_errors(key), &path, key, errors);
            }
        }
    });
}

pub(crate) fn validate_node_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    validate_node(object, errors);
    let drivers = |v: &Value<'_>| -> Vec<(String, Vec<String>, String)> {
        let list = v.path(&["spec", "drivers"]).and_then(Value::as_list);
        maps(list.map_or(&[], |l| l.as_slice()))
            .map(|(_, d)| {
                let keys = d.items("topologyKeys").iter().filter_map(Value::as_str).map(str::to_owned);
                (d.text("name").to_owned(), keys.collect(), d.text("nodeID").to_owned())
            })
            .collect()
    };
    let list = object.path(&["spec", "drivers"]).and_then(Value::as_list);
    for was in drivers(old) {
        for (now, (_, shown)) in drivers(object).into_iter().zip(maps(list.map_or(&[], |l| l.as_slice()))) {
            if now.0 == was.0 && now != was {
                let mut shown = shown.clone();
                shown.remove("allocatable");
                let shown = super::go::text("storage", "CSINodeDriver", Some(&Value::Map(shown)));
                let shown = ringbolt_machinery::field::Verbatim(&shown);
                errors.push(FieldError::invalid("spec.drivers", shown, "field is immutable"));
            }
        }
    }
}

pub(crate) fn validate_driver(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        for (member, shown) in [
            ("attachRequired", "attachedRequired"),
            ("podInfoOnMount", "podInfoOnMount"),
            ("storageCapacity", "storageCapacity"),
        ] {
            if !spec.has(member) {
                errors.push(FieldError::required(child("spec", shown), ""));
            }
        }
        let policies = ["File", "None", "ReadWriteOnceWithFSType"];
        one_of_optional(spec, "fsGroupPolicy", "spec", &policies, errors);
        token_requests(spec, errors);
        for mode in spec.items("volumeLifecycleModes") {
            let mode = mode.as_str().unwrap_or("");
            if !matches!(mode, "Persistent" | "Ephemeral") {
                let supported = ["Persistent", "Ephemeral"];
                errors.push(FieldError::not_supported("spec.volumeLifecycleModes", mode, &supported));
            }
        }
        if !spec.has("seLinuxMount") {
            errors.push(FieldError::required("spec.seLinuxMount", ""));
        }
        if let Some(period) = spec.int("nodeAllocatableUpdatePeriodSeconds").filter(|p| *p < 10) {
            let why = "must be greater than or equal to 10 seconds";
            errors.push(FieldError::invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why));
        }
        if spec.has("serviceAccountTokenInSecrets") && spec.lacks("tokenRequests") {
            let why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
            let shown = spec.flag("serviceAccountTokenInSecrets");
            errors.push(FieldError::invalid("spec.serviceAccountTokenInSecrets", shown, why));
        }
        if !spec.has("preventPodSchedulingIfMissing") {
            errors.push(FieldError::required("spec.preventPodSchedulingIfMissing", ""));
        }
    });
}

fn token_requests(spec: &Map<'_>, errors: &mut Errors) {
    let mut audiences: Vec<&str> = Vec::new();
    for (at, request) in maps(spec.items("tokenRequests")) {
        let path = index("spec.tokenRequests", at);
        let audience = request.text("audience");
        if audiences.contains(&audience) {
            errors.push(FieldError::duplicate(child(&path, "audience"), audience));
            continue;
        }
        audiences.push(audience);
        let at = child(&path, "expirationSeconds");
        match request.int("expirationSeconds") {
            Some(seconds) if seconds < 600 => {
                let why = "may not specify a duration less than 10 minutes";
                errors.push(FieldError::invalid(at, seconds, why));
            }
            Some(seconds) if seconds > 1 << 32 => {
                let why = "may not specify a duration larger than 2^32 seconds";
                errors.push(FieldError::invalid(at, seconds, why));
            }
            _ => {}
        }
    }
}

pub(crate) fn validate_driver_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    validate_driver(object, errors);
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| {
            if new.has("attachRequired") != old.has("attachRequired")
                || new.flag("attachRequired") != old.flag("attachRequired")
            {
                let shown = new.get("attachRequired").unwrap_or(&Value::Null);
                errors.push(FieldError::invalid("spec.attachedRequired", shown, "field is immutable"));
            }
            immutable(new, old, "volumeLifecycleModes", "spec", errors);
        });
    });
}

pub(crate) fn validate_capacity(object: &Value<'_>, errors: &mut Errors) {
    errors.extend(validate_label_selector(object.path(&["nodeTopology"]), "nodeTopology"));
    subdomain(object.str_at(&["storageClassName"]).unwrap_or(""), "storageClassName", errors);
    if let Some(capacity) = object.str_at(&["capacity"]) {
        resource_name::non_negative(capacity, "capacity", errors);
    }
}

pub(crate) fn validate_capacity_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    validate_capacity(object, errors);
    let kind = ("storage.k8s.io", "v1", "CSIStorageCapacity");
    let topology = |v| Value::path(v, &["nodeTopology"]);
    if !crate::semantic::field_equal(kind, &["nodeTopology"], topology(object), topology(old)) {
        let shown = super::selector::shown(topology(object).and_then(Value::as_map));
        errors.push(FieldError::invalid("nodeTopology", &shown, "field is immutable"));
    }
    let class = |v: &Value<'_>| v.str_at(&["storageClassName"]).unwrap_or("").to_owned();
    if class(object) != class(old) {
        errors.push(FieldError::invalid("storageClassName", class(object), "field is immutable"));
    }
}
