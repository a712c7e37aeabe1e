//! The certificates group.

use bumpalo::Bump;
use ringbolt_apiserver::{authentication::UserInfo, registry::Part};
use ringbolt_machinery::{
    validation::names,
    value::{Map, Value},
};

use super::{
    Rules, common,
    rules::StatusMetadata,
    selectable::{POD_CERTIFICATE, SIGNER},
};
use crate::{
    clock,
    tree::{Members, list, root},
    validation,
};

/// Members of a request's spec that say who made it.
const REQUESTER: [&str; 4] = ["username", "uid", "groups", "extra"];

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "certificatesigningrequests" => Rules {
            selectable: &SIGNER,
            name: names::path_segment_errors,
            prepare_for_create: Some(prepare_request),
            prepare_for_update: Some(prepare_request_update),
            set_requester: Some(set_requester),
            validate: Some(validation::certificates::validate_request),
            validate_update: Some(validation::certificates::validate_request_update),
            ..Rules::STATUS
        },
        "clustertrustbundles" => Rules {
            // The rule for the name depends on the signer: validation has it.
            name: |_, _| Vec::new(),
            unconditional_update: false,
            selectable: &SIGNER,
            validate: Some(validation::certificates::validate_trust_bundle),
            validate_update: Some(validation::certificates::validate_trust_bundle_update),
            ..Rules::BASE
        },
        "podcertificaterequests" => Rules {
            unconditional_update: false,
            status_metadata: StatusMetadata::Reset,
            selectable: &POD_CERTIFICATE,
            validate: Some(validation::pod_certificate_request::validate),
            validate_update: Some(validation::pod_certificate_request::validate_update),
            ..Rules::STATUS
        },
        _ => return None,
    })
}

fn prepare_request<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let spec = root(arena, object).map_mut("spec");
    for member in REQUESTER {
        spec.remove(member);
    }
}

fn set_requester<'a>(arena: &'a Bump, object: &mut Value<'a>, user: &UserInfo) {
    let text = |s: &str| Value::String(arena.alloc_str(s));
    let spec = root(arena, object).map_mut("spec");
    for member in REQUESTER {
        spec.remove(member);
    }
    spec.insert("username", text(&user.name));
    if !user.uid.is_empty() {
        spec.insert("uid", text(&user.uid));
    }
    if !user.groups.is_empty() {
        spec.insert("groups", list(arena, user.groups.iter().map(|g| text(g))));
    }
    if !user.extra.is_empty() {
        let mut extra = Map::new_in(arena);
        for (key, values) in &user.extra {
            extra.insert(arena.alloc_str(key), list(arena, values.iter().map(|v| text(v))));
        }
        extra.sort_keys();
        spec.insert("extra", Value::Map(extra));
    }
}

/// A request itself never changes; its status and approval do, each through its own subresource.
fn prepare_request_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    match part {
        Part::Main => common::keep(arena, object, old, "spec"),
        Part::Status => {
            for kind in ["Approved", "Denied"] {
                keep_conditions(arena, object, old, kind);
            }
            complete_conditions(arena, object, old);
        }
        Part::Other(_) => {
            complete_conditions(arena, object, old);
            let conditions = object.path(&["status", "conditions"]).cloned();
            common::keep(arena, object, old, "spec");
            common::keep(arena, object, old, "status");
            root(arena, object).map_mut("status").put("conditions", conditions);
        }
    }
}

fn conditions<'v, 'a>(object: &'v Value<'a>) -> &'v [Value<'a>] {
    object.path(&["status", "conditions"]).and_then(Value::as_list).map_or(&[], |l| l.as_slice())
}

/// Where as many conditions of a type are given as there were, they stay what they were.
fn keep_conditions<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>, kind: &str) {
    let places = |v: &Value<'_>| -> Vec<usize> {
        conditions(v)
            .iter()
            .enumerate()
            .filter(|(_, c)| c.str_at(&["type"]) == Some(kind))
            .map(|(i, _)| i)
            .collect()
    };
    let (new_places, old_places) = (places(object), places(old));
    if new_places.len() != old_places.len() {
        return;
    }
    let Some(list) = object.path_mut(&["status", "conditions"]).and_then(Value::as_list_mut) else { return };
    for (to, from) in new_places.into_iter().zip(old_places) {
        list[to] = conditions(old)[from].copy_into(arena);
    }
}

/// Fills the times that a condition's writer left out.
fn complete_conditions<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>) {
    let now = Value::String(clock::now_seconds(arena));
    let Some(list) = object.path_mut(&["status", "conditions"]).and_then(Value::as_list_mut) else { return };
    for condition in list.iter_mut() {
        let Value::Map(condition) = condition else { continue };
        condition.default_zero("lastUpdateTime", now.clone());
        if condition.lacks("lastTransitionTime") {
            let before = conditions(old).iter().find(|c| {
                c.str_at(&["type"]).unwrap_or("") == condition.text("type")
                    && c.str_at(&["status"]).unwrap_or("") == condition.text("status")
                    && c.str_at(&["lastTransitionTime"]).is_some()
            });
            let time = before.and_then(|c| c.path(&["lastTransitionTime"])).map(|t| t.copy_into(arena));
            condition.insert("lastTransitionTime", time.unwrap_or_else(|| now.clone()));
        }
    }
}
