//! Runtime classes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::validate_labels,
    value::{Map, Value},
};

use super::{Errors, declared_immutable, go, label, maps, placement, pod_spec, required};
use crate::tree::Members;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let Some(class) = object.as_map() else { return };
    written_out(class, errors);
    // What is declared with the fields comes after what is written out.
    if required(class, "handler", "", errors) {
        super::resource::declared_label(class.text("handler"), "handler", errors);
    }
}

fn written_out(class: &Map<'_>, errors: &mut Errors) {
    if let Some(overhead) = class.child("overhead") {
        pod_spec::overhead(overhead, "podFixed", "overhead", errors);
    }
    if let Some(scheduling) = class.child("scheduling") {
        self::scheduling(scheduling, errors);
    }
}

fn scheduling(scheduling: &Map<'_>, errors: &mut Errors) {
    let path = child("scheduling", "tolerations");
    errors.extend(validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector"));
    let list = scheduling.items("tolerations");
    placement::tolerations(list, &path, errors);
    let mut seen: Vec<[&str; 4]> = Vec::new();
    for (at, toleration) in maps(list) {
        let key = ["key", "operator", "value", "effect"].map(|m| toleration.text(m));
        if seen.contains(&key) {
            let shown = go::text("core", "Toleration", Some(&Value::Map(toleration.clone())));
            errors.push(FieldError::duplicate(index(&path, at), Verbatim(&shown)));
        } else {
            seen.push(key);
        }
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let handler = |v: &Value<'_>| v.str_at(&["handler"]).unwrap_or("").to_owned();
    let now = handler(object);
    if now != handler(old) && !now.is_empty() {
        label(&now, "handler", errors);
    }
    if let Some(class) = object.as_map() {
        written_out(class, errors);
    }
    if now != handler(old) {
        declared_immutable("handler", errors);
        if now.is_empty() {
            errors.push(FieldError::required("handler", ""));
        }
    }
}
