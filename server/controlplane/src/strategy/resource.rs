//! The resource group (dynamic resource allocation).

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::value::{Map, Value};

use super::{
    Rules, common,
    disabled::Member,
    rules::{Generation, StatusMetadata},
    selectable::RESOURCE_SLICE,
};
use crate::{
    clock,
    tree::{Members, root},
    validation,
};

/// Members of a claim whose features are off.
const CLAIM: &[Member] = &[
    &["spec", "devices", "requests", "*", "exactly", "derivedAttributes"],
    &["spec", "devices", "requests", "*", "firstAvailable", "*", "derivedAttributes"],
    &["status", "allocation", "devices", "results", "*", "skipNodeOperations"],
];

/// The same of a claim template.
const CLAIM_TEMPLATE: &[Member] = &[
    &["spec", "spec", "devices", "requests", "*", "exactly", "derivedAttributes"],
    &["spec", "spec", "devices", "requests", "*", "firstAvailable", "*", "derivedAttributes"],
];

/// The same of a slice.
const SLICE: &[Member] = &[
    &["spec", "partitionTypeAttribute"],
    &["spec", "skipNodeOperations"],
    &["spec", "devices", "*", "nodeAllocatableResources"],
    &["spec", "devices", "*", "consumesCounters", "*", "compatibilityGroups"],
    &["spec", "devices", "*", "attributes", "*", "bools"],
    &["spec", "devices", "*", "attributes", "*", "ints"],
    &["spec", "devices", "*", "attributes", "*", "strings"],
    &["spec", "devices", "*", "attributes", "*", "versions"],
];

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "deviceclasses" => Rules {
            name: common::name_alone,
            returns_deleted: true,
            validate: Some(validation::resource::validate_class),
            validate_update: Some(validation::resource::validate_class_update),
            ..Rules::SPEC
        },
        "resourceclaims" => Rules {
            returns_deleted: true,
            status_metadata: StatusMetadata::Reset,
            prepare_for_update: Some(drop_deallocated_devices),
            disabled: CLAIM,
            validate: Some(validation::resource::validate_claim),
            validate_update: Some(validation::resource::validate_claim_update),
            ..Rules::STATUS
        },
        "resourceclaimtemplates" => Rules {
            returns_deleted: true,
            disabled: CLAIM_TEMPLATE,
            validate: Some(validation::resource::validate_template),
            validate_update: Some(validation::resource::validate_template_update),
            ..Rules::BASE
        },
        "resourceslices" => Rules {
            returns_deleted: true,
            selectable: &RESOURCE_SLICE,
            disabled: SLICE,
            generation: Generation::CountedAsGiven,
            validate: Some(validation::resource::validate_slice),
            validate_update: Some(validation::resource::validate_slice_update),
            warnings: Some(crate::warnings::resource_slice),
            ..Rules::SPEC
        },
        "devicetaintrules" => Rules {
            unconditional_update: false,
            status_metadata: StatusMetadata::Reset,
            prepare_for_update: Some(renew_taint_time),
            validate: Some(|object, errors| {
                validation::resource::taint_rule(Part::Main, object, None, errors);
            }),
            validate_update: Some(|part, object, old, errors| {
                validation::resource::taint_rule(part, object, Some(old), errors);
            }),
            ..Rules::SPEC_AND_STATUS
        },
        _ => return None,
    })
}

/// Driver, pool, device and share of an entry.
fn device<'v>(entry: &'v Map<'_>) -> [&'v str; 4] {
    ["driver", "pool", "device", "shareID"].map(|k| entry.text(k))
}

/// Devices that are no longer allocated lose the status that their drivers reported.
fn drop_deallocated_devices<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part != Part::Status {
        return;
    }
    let allocated = |v: &Value<'_>| -> Vec<[String; 4]> {
        let results = v.path(&["status", "allocation", "devices", "results"]).and_then(Value::as_list);
        results
            .into_iter()
            .flatten()
            .filter_map(Value::as_map)
            .map(|r| device(r).map(str::to_owned))
            .collect()
    };
    let now = allocated(object);
    let gone: Vec<_> = allocated(old).into_iter().filter(|d| !now.contains(d)).collect();
    let Some(status) = root(arena, object).child_mut("status") else { return };
    if let Some(devices) = status.get_mut("devices").and_then(Value::as_list_mut) {
        devices.retain(|d| d.as_map().is_none_or(|d| !gone.iter().any(|g| device(d) == *g)));
    }
}

/// A taint whose effect changes begins anew unless its writer says when.
fn renew_taint_time<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part != Part::Main {
        return;
    }
    let effect = |v: &Value<'_>| v.str_at(&["spec", "taint", "effect"]).unwrap_or("").to_owned();
    let time = |v: &Value<'_>| v.str_at(&["spec", "taint", "timeAdded"]).unwrap_or("").to_owned();
    if effect(object) != effect(old) && time(object) == time(old) {
        let taint = root(arena, object).map_mut("spec").map_mut("taint");
        taint.insert("timeAdded", Value::String(clock::now_seconds(arena)));
    }
}
