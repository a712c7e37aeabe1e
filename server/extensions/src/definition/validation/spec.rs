//! The spec.

use std::collections::HashSet;

use ringbolt_controlplane::tree::{Members, same};
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::names::{dns1035_label_errors, dns1123_subdomain_errors},
    value::{Map, Value},
};

use super::{
    super::internal::{Internal, Parts},
    Errors, Strictness, conversion, names, schema, selectable,
    subresources::{columns, subresources},
    version,
};

/// What is wrong with a spec (`validateCustomResourceDefinitionSpec`).
pub(super) fn validate(internal: &Internal<'_, '_>, strict: &Strictness) -> Errors {
    let mut errors = Errors::new();
    let spec = internal.spec;
    group(spec.text("group"), &mut errors);
    match spec.text("scope") {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        scope => errors.push(FieldError::not_supported("spec.scope", scope, &["Cluster", "Namespaced"])),
    }
    let preserves = internal.preserves_unknown_fields();
    let mut needs_structural = strict.contents.is_structural() || !preserves;
    missing_schemas(internal, strict, &mut errors);
    if internal.schemas().any(schema::has_default) {
        needs_structural = true;
        if preserves {
            let why = "must be false in order to use defaults in the schema";
            errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
        }
    }
    needs_structural |= internal.schemas().any(schema::has_extension);
    versions(internal, needs_structural, strict, &mut errors);
    let asked = spec.child("names");
    names::required(asked, "spec.names", &mut errors);
    if let Some(asked) = asked {
        names::validate(asked, "spec.names", &mut errors);
    }
    shared(internal, needs_structural, strict, &mut errors);
    let strategy = spec.child("conversion").map(|conversion| conversion.text("strategy"));
    if let Some(strategy) = strategy.filter(|strategy| *strategy != "None" && preserves) {
        let why = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid("spec.conversion.strategy", strategy, why));
    }
    conversion::validate(spec, strict, &mut errors);
    errors
}

fn group(group: &str, errors: &mut Errors) {
    let wrong = dns1123_subdomain_errors(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
}

fn missing_schemas(internal: &Internal<'_, '_>, strict: &Strictness, errors: &mut Errors) {
    if internal.shared.properties().is_some() || !strict.schema && internal.preserves_unknown_fields() {
        return;
    }
    let why = if strict.schema { "" } else { "because otherwise all fields are pruned" };
    for (at, version) in internal.versions.iter().enumerate() {
        let counts = strict.schema || version.map.flag("served");
        if counts && version.parts.properties().is_none() {
            let path = child(&index("spec.versions", at), "schema.openAPIV3Schema");
            errors.push(FieldError::required(path, why));
        }
    }
}

fn versions(internal: &Internal<'_, '_>, needs_structural: bool, strict: &Strictness, errors: &mut Errors) {
    let own_subresources = internal.versions.iter().any(|version| version.parts.subresources.is_some());
    let mut seen = HashSet::new();
    let mut is_unique = true;
    for (at, version) in internal.versions.iter().enumerate() {
        let name = version.map.text("name");
        is_unique &= seen.insert(name);
        let path = index("spec.versions", at);
        let wrong = dns1035_label_errors(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(child(&path, "name"), name, wrong.join(",")));
        }
        let parts = if own_subresources {
            // Of versions with the same name the first counts.
            let first = internal.versions.iter().find(|version| version.map.text("name") == name);
            first.map_or(version.parts, |first| first.parts)
        } else {
            internal.shared
        };
        version::validate(version, parts.has_status(), needs_structural, strict, &path, errors);
    }
    let mut wrong = |why: &str| {
        errors.push(FieldError::invalid("spec.versions", Verbatim(&internal.versions_json()), why));
    };
    if !is_unique {
        wrong("must contain unique version names");
    }
    if internal.versions.iter().filter(|version| version.map.flag("storage")).count() != 1 {
        wrong("must have exactly one version marked as storage version");
    }
    // The first version is the one that the spec itself names.
    let first = internal.versions.first().map_or("", |version| version.map.text("name"));
    let wrong = dns1035_label_errors(first);
    if !first.is_empty() && !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.version", first, wrong.join(",")));
    }
}

/// What all versions share.
fn shared(internal: &Internal<'_, '_>, needs_structural: bool, strict: &Strictness, errors: &mut Errors) {
    let parts = &internal.shared;
    let mut all = internal.versions.iter().map(|version| &version.parts).chain([parts]);
    let first = internal.versions.first().map_or("", |version| version.map.text("name"));
    let at = schema::Place {
        has_status: all.any(Parts::has_status),
        needs_structural,
        is_unchanged: strict.unchanged.contains(first),
    };
    schema::validate(parts, at, strict, "spec.validation", errors);
    subresources(parts, "spec", errors);
    columns(parts, "spec", errors);
    selectable::shared(parts, strict, errors);
}

/// What a change leaves as it is.
pub(super) fn immutable(new: &Map<'_>, old: &Map<'_>, strict: &Strictness, errors: &mut Errors) {
    let fields: [(&[&str], bool); 4] = [
        (&["scope"], strict.immutable_names),
        (&["names", "kind"], strict.immutable_names),
        (&["group"], true),
        (&["names", "plural"], true),
    ];
    for (path, counts) in fields {
        let value = |spec: &Map<'_>| match path {
            [name] => spec.text(name).to_owned(),
            [parent, name] => spec.child(parent).map(|map| map.text(name)).unwrap_or("").to_owned(),
            _ => String::new(),
        };
        let (now, before) = (value(new), value(old));
        if counts && !same(Some(&Value::String(&now)), Some(&Value::String(&before))) {
            let path = format!("spec.{}", path.join("."));
            errors.push(FieldError::invalid(path, now, "field is immutable"));
        }
    }
}
