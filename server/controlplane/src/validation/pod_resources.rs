//! Resources of a pod as a whole.

use ringbolt_machinery::{
    field::{FieldError, child, index, key},
    quantity::{Format, Quantity},
    value::Map,
};

use super::{Errors, maps, resource_name, resources, sorted};
use crate::{quantity, tree::Members};

pub(crate) fn validate(spec: &Map<'_>, claims: &[&str], path: &str, errors: &mut Errors) {
    let Some(own) = spec.child("resources") else { return };
    let path = child(path, "resources");
    if spec.child("os").is_some_and(|os| os.text("name") == "windows") {
        errors.push(FieldError::forbidden(path, "may not be set for a windows pod"));
        return;
    }
    if own.has("claims") {
        let why = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(child(&path, "claims"), why));
    }
    resources::validate(own, resource_name::of_pod, &path, errors);
    resources::validate_claims(own, claims, &path, errors);
    for (name, text) in sorted(own.child("requests")) {
        let Some(given) = quantity::parse(text) else { continue };
        let all = aggregate(spec, "requests", name);
        if all > given && given >= Quantity::new(0, Format::DecimalSi) {
            let why = format!("must be greater than or equal to aggregate container requests of {all}");
            errors.push(FieldError::invalid(key(&child(&path, "requests"), name), text, why));
        }
    }
    for (name, text) in sorted(own.child("limits")) {
        let Some(given) = quantity::parse(text).filter(|_| resource_name::is_huge_page(name)) else {
            continue;
        };
        let all = aggregate(spec, "limits", name);
        if all > given {
            let why = format!("must be greater than or equal to aggregate container limits of {all}");
            errors.push(FieldError::invalid(key(&child(&path, "limits"), name), text, why));
        }
    }
    for (at, container) in maps(spec.items("containers")) {
        for (name, text) in sorted(container.child("resources").and_then(|r| r.child("limits"))) {
            let Some(limit) = own.child("limits").map(|l| l.text(name)).filter(|l| !l.is_empty()) else {
                continue;
            };
            if let (Some(given), Some(most)) = (quantity::parse(text), quantity::parse(limit))
                && given > most
            {
                let path = child(&key(&index(&child(&path, "containers"), at), name), "limits");
                let why = format!("must be less than or equal to pod limits of {limit}");
                errors.push(FieldError::invalid(path, text, why));
            }
        }
    }
}

/// What all containers of a pod need of a resource at once: those that stay together, and the most that one that
/// comes before them needs besides the ones that stay already.
fn aggregate(spec: &Map<'_>, list: &str, name: &str) -> Quantity {
    let of = |container: &Map<'_>| {
        quantity::amount(container.child("resources").and_then(|r| r.child(list)), name)
    };
    let mut staying = Quantity::new(0, Format::DecimalSi);
    let mut most = Quantity::new(0, Format::DecimalSi);
    for (_, container) in maps(spec.items("initContainers")) {
        let mut now = of(container);
        if container.text("restartPolicy") == "Always" {
            staying.add(&now);
            now = staying.clone();
        } else {
            now.add(&staying);
        }
        if now > most {
            most = now;
        }
    }
    let mut all = staying;
    for (_, container) in maps(spec.items("containers")) {
        all.add(&of(container));
    }
    if most > all { most } else { all }
}
