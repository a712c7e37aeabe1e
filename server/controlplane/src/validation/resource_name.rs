//! Names and amounts of resources.

use ringbolt_machinery::{
    field::{FieldError, child, key},
    quantity::{Quantity, written},
    validation::names::{is_qualified_name, qualified_name_errors},
    value::Map,
};

use super::{Errors, NEGATIVE, each_sorted};
use crate::{
    quantity::{self, Amount},
    tree::Members,
};

const CONTAINER: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// What a quota can be of, besides storage itself.
const QUOTA: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
/// Counts of objects.
const INTEGER: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether a name is of huge pages.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a name is Kubernetes' own.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether more of a resource may be allowed than is asked for.
pub(crate) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether a name is of a standard resource for quotas.
pub(crate) fn is_standard_quota(name: &str) -> bool {
    QUOTA.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether a resource is one that nodes offer besides those of Kubernetes (`IsExtendedResourceName`).
pub(crate) fn is_extended(name: &str) -> bool {
    let reserved = is_native(name) || name.starts_with("requests.");
    !reserved && is_qualified_name(&format!("requests.{name}"))
}

fn is_integer(name: &str) -> bool {
    INTEGER.contains(&name) || is_extended(name)
}

/// A name of any resource; answers whether it is in order.
pub(crate) fn any(name: &str, path: &str, errors: &mut Errors) -> bool {
    let wrong = qualified_name_errors(name);
    if !wrong.is_empty() {
        super::each_invalid(wrong, path, name, errors);
        return false;
    }
    if !name.contains('/') && !is_standard_quota(name) && name != "storage" {
        let why = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, name, why));
        return false;
    }
    true
}

/// A name of a resource of a container.
pub(crate) fn of_container(name: &str, path: &str, errors: &mut Errors) {
    if CONTAINER.contains(&name) {
        return;
    }
    any(name, path, errors);
    if !name.contains('/') {
        if !is_huge_page(name) {
            errors.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.push(FieldError::invalid(path, name, "doesn't follow extended resource name standard"));
    }
}

/// A name of a resource of a pod as a whole.
pub(crate) fn of_pod(name: &str, path: &str, errors: &mut Errors) {
    if any(name, path, errors) && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        errors.push(FieldError::not_supported(path, name, &["cpu", "hugepages-", "memory"]));
    }
}

/// A name of a resource of a quota.
pub(crate) fn of_quota(name: &str, path: &str, errors: &mut Errors) {
    any(name, path, errors);
    if !name.contains('/') && !is_standard_quota(name) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// An amount: not negative, and whole where things are counted.
pub(crate) fn amount(name: &str, text: &str, path: &str, errors: &mut Errors) {
    non_negative(text, path, errors);
    if CONTAINER.contains(&name) {
        return;
    }
    let broken = |q: Quantity| q.milli_value() % 1000 != 0;
    if is_integer(name) && quantity::parse(text).is_some_and(broken) {
        errors.push(FieldError::invalid(path, &*written(text), "must be an integer"));
    }
}

/// A quantity that must not be negative.
pub(crate) fn non_negative(text: &str, path: &str, errors: &mut Errors) {
    if Amount::of(text).is_some_and(|q| q.sign() < 0) {
        errors.push(FieldError::invalid(path, &*written(text), NEGATIVE));
    }
}

/// A quantity that must be above zero.
pub(crate) fn positive(text: &str, path: &str, errors: &mut Errors) {
    if Amount::of(text).is_some_and(|q| q.sign() <= 0) {
        errors.push(FieldError::invalid(path, &*written(text), "must be greater than zero"));
    }
}

/// Huge pages come in whole pages.
pub(crate) fn whole_pages(name: &str, text: &str, path: &str, errors: &mut Errors) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    let divisible = quantity::parse(size).is_some_and(|page| {
        page.sign() > 0
            && page.milli_value() % 1000 == 0
            && quantity::parse(text).is_some_and(|q| q.value() % page.value() == 0)
    });
    if !divisible {
        let why = format!("{text} is not positive integer multiple of {name}");
        errors.push(FieldError::invalid(path, text, why));
    }
}

/// Amounts of a quota below `path`.
pub(crate) fn quota_list(holder: &Map<'_>, member: &str, path: &str, errors: &mut Errors) {
    each_sorted(holder.child(member), |name, text| {
        let path = key(&child(path, member), name);
        of_quota(name, &path, errors);
        amount(name, text, &path, errors);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_names() {
        assert!(is_native("cpu") && is_native("kubernetes.io/batch") && !is_native("example.com/gpu"));
        assert!(is_extended("example.com/gpu") && !is_extended("requests.example.com/gpu"));
        assert!(is_standard_quota("requests.hugepages-2Mi") && !is_standard_quota("storage"));
    }

    #[test]
    fn pages_are_whole() {
        let count = |text: &str| {
            let mut errors = Vec::new();
            whole_pages("hugepages-2Mi", text, "p", &mut errors);
            errors.len()
        };
        assert_eq!((count("4Mi"), count("3Mi")), (0, 1));
    }
}
