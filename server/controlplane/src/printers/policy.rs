//! Who may do what: roles' bindings, admission configuration, certificates.

use ringbolt_machinery::{
    table::{Row, human_duration},
    value::Value,
};

use super::format::{NONE, UNSET, has, int, items, labels, map, text};
use crate::tree::Members;

/// Of both kinds of bindings.
pub(super) fn role_binding(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(&format!("{}/{}", text(object, &["roleRef", "kind"]), text(object, &["roleRef", "name"])));
    row.age(object);
    let subjects = items(object, &["subjects"]);
    for kind in ["User", "Group", "ServiceAccount"] {
        let names: Vec<_> = subjects
            .iter()
            .filter(|s| text(s, &["kind"]) == kind)
            .map(|s| match kind {
                "ServiceAccount" => format!("{}/{}", text(s, &["namespace"]), text(s, &["name"])),
                _ => text(s, &["name"]).to_owned(),
            })
            .collect();
        row.text(&names.join(", "));
    }
}

/// Of both kinds of configurations.
pub(super) fn webhook_configuration(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.int(items(object, &["webhooks"]).len() as i64);
    row.age(object);
}

fn admission_policy(object: &Value<'_>, counted: &str, row: &mut Row<'_>) {
    row.name(object);
    row.int(items(object, &["spec", counted]).len() as i64);
    row.text(&match map(object, &["spec", "paramKind"]) {
        None => UNSET.to_owned(),
        Some(kind) => format!("{}/{}", kind.text("apiVersion"), kind.text("kind")),
    });
    row.age(object);
}

pub(super) fn validating_admission_policy(object: &Value<'_>, row: &mut Row<'_>) {
    admission_policy(object, "validations", row);
}

pub(super) fn mutating_admission_policy(object: &Value<'_>, row: &mut Row<'_>) {
    admission_policy(object, "mutations", row);
}

/// Of both kinds of bindings.
pub(super) fn admission_policy_binding(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "policyName"]));
    let param = ["spec", "paramRef"];
    let member = |key| text(object, &[param[0], param[1], key]);
    row.text(&match (member("name"), member("namespace")) {
        ("", _) => match object.path(&[param[0], param[1], "selector"]).filter(|s| !s.is_null()) {
            None => UNSET.to_owned(),
            Some(selector) => go_selector(selector),
        },
        // Whether the parameter has a namespace cannot be told from here.
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    });
    row.age(object);
}

/// A selector as its Go struct prints itself.
fn go_selector(selector: &Value<'_>) -> String {
    let mut labels: Vec<_> = map(selector, &["matchLabels"]).into_iter().flat_map(|m| m.iter()).collect();
    labels.sort_by_key(|(key, _)| *key);
    let labels: String =
        labels.into_iter().map(|(k, v)| format!("{k}: {},", v.as_str().unwrap_or_default())).collect();
    let expressions: String = items(selector, &["matchExpressions"])
        .iter()
        .map(|e| {
            let values: Vec<_> = items(e, &["values"]).iter().filter_map(Value::as_str).collect();
            let (key, operator) = (text(e, &["key"]), text(e, &["operator"]));
            format!(
                "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},",
                values.join(" ")
            )
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

pub(super) fn certificate_signing_request(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.age(object);
    row.text_or(text(object, &["spec", "signerName"]), NONE);
    row.text(text(object, &["spec", "username"]));
    row.text(&match has(object, &["spec", "expirationSeconds"]) {
        true => human_duration(int(object, &["spec", "expirationSeconds"]).saturating_mul(1_000_000_000)),
        false => NONE.to_owned(),
    });
    let conditions = items(object, &["status", "conditions"]);
    // The types alone count, whatever their status.
    let is = |ty: &str| conditions.iter().any(|c| text(c, &["type"]) == ty);
    let decision = match (is("Denied"), is("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if is("Failed") { ",Failed" } else { "" };
    let issued = if text(object, &["status", "certificate"]).is_empty() { "" } else { ",Issued" };
    row.text(&format!("{decision}{failed}{issued}"));
}

pub(super) fn cluster_trust_bundle(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text_or(text(object, &["spec", "signerName"]), NONE);
}

pub(super) fn pod_certificate_request(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    for key in ["podName", "serviceAccountName", "nodeName", "signerName"] {
        row.text(text(object, &["spec", key]));
    }
    let is_state = |ty: &&str| matches!(*ty, "Issued" | "Denied" | "Failed");
    let conditions = items(object, &["status", "conditions"]);
    row.text(conditions.iter().map(|c| text(c, &["type"])).rfind(is_state).unwrap_or("Pending"));
    row.text(&labels(map(object, &["spec", "unverifiedUserAnnotations"])));
}
