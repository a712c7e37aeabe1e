//! Nodes.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::Value,
};

use super::{Errors, with_map};
use crate::{network, tree::Members};

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        for (at, taint) in spec.items("taints").iter().enumerate() {
            let Some(taint) = taint.as_map() else { continue };
            let path = child(&index("spec.taints", at), "effect");
            match taint.text("effect") {
                "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
                "" => errors.push(FieldError::required(path, "")),
                other => {
                    let supported = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
                    errors.push(FieldError::not_supported(path, other, &supported));
                }
            }
        }
    });
}

pub(crate) fn warnings(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    with_map(object, "spec", |spec| {
        if spec.has("configSource") {
            warnings.push("spec.configSource: the feature is removed".to_owned());
        }
        if !spec.text("externalID").is_empty() {
            warnings
                .push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
        }
        for (at, range) in spec.items("podCIDRs").iter().enumerate() {
            warnings.extend(network::cidr_warning(&index("spec.podCIDRs", at), range.as_str().unwrap_or("")));
        }
    });
}
