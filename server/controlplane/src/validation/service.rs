//! Services.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{
        names::{dns1123_label_errors, inclusive_range_error},
        validate_labels,
    },
    value::{Map, Value},
};

use super::{Errors, each_invalid, one_of, probe, with_map};
use crate::tree::Members;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let (kind, address) = (spec.text("type"), spec.text("clusterIP"));
        if spec.lacks("ports") && address != "None" && kind != "ExternalName" {
            errors.push(FieldError::required("spec.ports", ""));
        }
        match kind {
            "LoadBalancer" if address == "None" => {
                let why = "may not be set to 'None' for LoadBalancer services";
                errors.push(FieldError::invalid("spec.clusterIPs[0]", address, why));
            }
            "NodePort" if address == "None" => {
                let why = "may not be set to 'None' for NodePort services";
                errors.push(FieldError::invalid("spec.clusterIPs[0]", address, why));
            }
            "ExternalName" if spec.text("externalName").is_empty() => {
                errors.push(FieldError::required("spec.externalName", ""));
            }
            _ => {}
        }
        ports(spec, errors);
        errors.extend(validate_labels(spec.get("selector"), "spec.selector"));
        match spec.text("sessionAffinity") {
            "" => errors.push(FieldError::required("spec.sessionAffinity", "")),
            _ => one_of(spec, "sessionAffinity", "spec", &["ClientIP", "None"], errors),
        }
        match kind {
            "" => errors.push(FieldError::required("spec.type", "")),
            _ => one_of(
                spec,
                "type",
                "spec",
                &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
                errors,
            ),
        }
    });
}

fn ports(spec: &Map<'_>, errors: &mut Errors) {
    let ports = spec.items("ports");
    let several = ports.len() > 1;
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in ports.iter().enumerate() {
        let path = index("spec.ports", at);
        let Some(port) = port.as_map() else { continue };
        let name = port.text("name");
        if name.is_empty() && several {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else if !name.is_empty() {
            each_invalid(dns1123_label_errors(name), &child(&path, "name"), name, errors);
            if names.contains(&name) {
                errors.push(FieldError::duplicate(child(&path, "name"), name));
            }
            names.push(name);
        }
        let number = port.int("port").unwrap_or(0);
        if !(1..=65535).contains(&number) {
            errors.push(FieldError::invalid(child(&path, "port"), number, inclusive_range_error(1, 65535)));
        }
        match port.text("protocol") {
            "" => errors.push(FieldError::required(child(&path, "protocol"), "")),
            _ => one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors),
        }
        probe::port(port.get("targetPort"), &child(&path, "targetPort"), errors);
    }
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    let kind = |v: &Value<'_>| v.str_at(&["spec", "type"]).unwrap_or("").to_owned();
    let address = |v: &Value<'_>| v.str_at(&["spec", "clusterIP"]).unwrap_or("").to_owned();
    let (was, new) = (address(old), address(object));
    // A service that has an address keeps it as long as it needs one.
    let keeps = kind(old) != "ExternalName" && kind(object) != "ExternalName";
    if keeps && !was.is_empty() && was != new {
        let shown = object.path(&["spec", "clusterIPs"]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid("spec.clusterIPs[0]", &shown, "may not change once set"));
    }
    validate(object, errors);
}
