//! Fields of pods and resources of containers that are handed to the pod itself.

use ringbolt_machinery::{
    field::{FieldError, child},
    validation::names::qualified_name_errors,
    value::Map,
};

use super::{Errors, each_invalid, required};
use crate::{quantity, tree::Members};

/// Fields for environment variables.
const FOR_ENVIRONMENT: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields for files.
const FOR_VOLUMES: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Fields that version 1 has labels for.
const KNOWN: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const SIZES: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// `metadata.labels['x']` as its path and subscript.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (path, rest) = path.split_once("['")?;
    let key = rest.strip_suffix("']")?;
    (!path.is_empty()).then_some((path, key))
}

/// A field of the pod.
pub(crate) fn object_field(selector: &Map<'_>, environment: bool, path: &str, errors: &mut Errors) {
    if !required(selector, "apiVersion", path, errors) || !required(selector, "fieldPath", path, errors) {
        return;
    }
    let (version, field) = (selector.text("apiVersion"), selector.text("fieldPath"));
    let at = child(path, "fieldPath");
    let convert = |why: String| format!("error converting fieldPath: {why}");
    if version != "v1" {
        let why = convert(format!("unsupported pod version: {version}"));
        errors.push(FieldError::invalid(at, field, why));
        return;
    }
    if let Some((field, key)) = subscript(field) {
        match field {
            "metadata.annotations" => {
                let key = key.to_lowercase();
                each_invalid(qualified_name_errors(&key), path, &key, errors);
            }
            "metadata.labels" => each_invalid(qualified_name_errors(key), path, key, errors),
            _ => {
                let why = convert(format!(
                    "field label does not support subscript: {}",
                    selector.text("fieldPath")
                ));
                errors.push(FieldError::invalid(at, selector.text("fieldPath"), why));
            }
        }
        return;
    }
    let field = match field {
        // The name this field had in the first clients.
        "spec.host" => "spec.nodeName",
        field if KNOWN.contains(&field) => field,
        _ => {
            let why = convert(format!("field label not supported: {field}"));
            errors.push(FieldError::invalid(at, field, why));
            return;
        }
    };
    let supported: &[&str] = if environment { &FOR_ENVIRONMENT } else { &FOR_VOLUMES };
    if !supported.contains(&field) {
        errors.push(FieldError::not_supported(at, field, supported));
    }
}

/// A resource of a container; files name the container.
pub(crate) fn resource_field(selector: &Map<'_>, volume: bool, path: &str, errors: &mut Errors) {
    let resource = selector.text("resource");
    let huge = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if volume && selector.text("containerName").is_empty() {
        errors.push(FieldError::required(child(path, "containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(child(path, "resource"), ""));
    } else if !RESOURCES.contains(&resource) && !huge {
        errors.push(FieldError::not_supported(child(path, "resource"), resource, &RESOURCES));
    }
    let divisor = selector.text("divisor");
    if divisor.is_empty() || quantity::parse(divisor).is_none_or(|q| q.is_zero()) {
        return;
    }
    let (allowed, kind): (&[&str], &str) = match resource {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (&SIZES, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (&SIZES, "local ephemeral storage"),
        _ if huge => (&SIZES, "hugepages"),
        _ => return,
    };
    if !allowed.contains(&divisor) {
        let words = if kind == "cpu" { "1m and 1".to_owned() } else { SIZES.join(", ") };
        let why = format!("only divisor's values {words} are supported with the {kind} resource");
        errors.push(FieldError::invalid(child(path, "divisor"), resource, why));
    }
}

#[cfg(test)]
mod tests {
    use super::subscript;

    #[test]
    fn subscripts() {
        assert_eq!(subscript("metadata.labels['a/b']"), Some(("metadata.labels", "a/b")));
        assert_eq!(subscript("metadata.labels"), None);
        assert_eq!(subscript("metadata.labels['a'"), None);
    }
}
