//! What is wrong with an APIService (`ValidateAPIService` and its siblings).

use ringbolt_machinery::{
    field::{FieldError, index, quote},
    validation::names::{
        dns1035_label_errors, dns1123_subdomain_errors, path_segment_errors, port_number_errors,
    },
    value::Value,
};

/// Members of the spec, a missing one as zero.
struct Spec<'v, 'a>(Option<&'v Value<'a>>);

impl<'v, 'a> Spec<'v, 'a> {
    fn of(object: &'v Value<'a>) -> Self {
        Spec(object.path(&["spec"]))
    }

    fn get(&self, path: &[&str]) -> Option<&'v Value<'a>> {
        self.0?.path(path).filter(|value| !value.is_null())
    }

    fn text(&self, path: &[&str]) -> &'a str {
        self.get(path).and_then(Value::as_str).unwrap_or("")
    }

    fn int(&self, path: &[&str]) -> i64 {
        self.get(path).and_then(Value::as_i64).unwrap_or(0)
    }
}

/// The name says version and group.
pub(super) fn name_errors(object: &Value<'_>, name: &str) -> Vec<String> {
    let errors = path_segment_errors(name, false);
    if !errors.is_empty() {
        return errors;
    }
    let spec = Spec::of(object);
    let required = format!("{}.{}", spec.text(&["version"]), spec.text(&["group"]));
    if name == required {
        return Vec::new();
    }
    vec![format!("must be `spec.version+\".\"+spec.group`: {}", quote(&required))]
}

/// A new one, metadata left aside.
pub(super) fn validate(object: &Value<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = Spec::of(object);
    let (group, version) = (spec.text(&["group"]), spec.text(&["version"]));
    if group.is_empty() {
        if version != "v1" {
            let why = "only v1 may have an empty group and it better be legacy kube";
            errors.push(FieldError::required("spec.group", why));
        }
    } else {
        let found = dns1123_subdomain_errors(group).into_iter();
        errors.extend(found.map(|why| FieldError::invalid("spec.group", group, why)));
    }
    let found = dns1035_label_errors(version).into_iter();
    errors.extend(found.map(|why| FieldError::invalid("spec.version", version, why)));
    for (member, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let priority = spec.int(&[member]);
        if !(1..=most).contains(&priority) {
            let why = format!("must be positive and less than {most}");
            errors.push(FieldError::invalid(format!("spec.{member}"), priority, why));
        }
    }
    let authority = spec.text(&["caBundle"]);
    let insecure = spec.get(&["insecureSkipTLSVerify"]).and_then(Value::as_bool) == Some(true);
    let insecure_error =
        |why: &str| FieldError::invalid("spec.insecureSkipTLSVerify", insecure, why.to_owned());
    if spec.get(&["service"]).is_none() {
        if !authority.is_empty() {
            let bytes = format!("{} bytes", decoded_len(authority));
            errors.push(FieldError::invalid(
                "spec.caBundle",
                bytes,
                "local APIServices may not have a caBundle",
            ));
        }
        if insecure {
            errors.push(insecure_error("local APIServices may not have insecureSkipTLSVerify"));
        }
        return errors;
    }
    for member in ["namespace", "name"] {
        if spec.text(&["service", member]).is_empty() {
            errors.push(FieldError::required(format!("spec.service.{member}"), ""));
        }
    }
    let port = spec.int(&["service", "port"]);
    let found = port_number_errors(port);
    if !found.is_empty() {
        let why = format!("port is not valid: {}", found.join(", "));
        errors.push(FieldError::invalid("spec.service.port", port, why));
    }
    if insecure && !authority.is_empty() {
        errors.push(insecure_error("may not be true if caBundle is present"));
    }
    errors
}

/// A changed one, which is held against everything that a new one is. What the metadata has besides names has been
/// looked at.
pub(super) fn validate_update(object: &Value<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for member in ["generateName", "name"] {
        let name = object.str_at(&["metadata", member]).unwrap_or("");
        if !name.is_empty() {
            let field = format!("metadata.{member}");
            let found = name_errors(object, name).into_iter();
            errors.extend(found.map(|why| FieldError::invalid(field.clone(), name, why)));
        }
    }
    errors.extend(validate(object));
    errors
}

/// A changed status.
pub(super) fn validate_status(object: &Value<'_>) -> Vec<FieldError> {
    const STATES: [&str; 3] = ["True", "False", "Unknown"];
    let conditions = object.path(&["status", "conditions"]).and_then(Value::as_list);
    let states = conditions.into_iter().flatten().map(|c| c.str_at(&["status"]).unwrap_or("")).enumerate();
    states
        .filter(|(_, state)| !STATES.contains(state))
        .map(|(at, state)| {
            FieldError::not_supported(format!("{}.status", index("status.conditions", at)), state, &STATES)
        })
        .collect()
}

/// How many bytes a base64 text stands for.
fn decoded_len(text: &str) -> usize {
    let digits = text.bytes().filter(|b| !matches!(b, b'\r' | b'\n' | b'=')).count();
    digits * 3 / 4
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    fn shown(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(|e| format!("{}: {}", e.field, e.body())).collect()
    }

    fn check(object: &str, validate: fn(&Value<'_>) -> Vec<FieldError>, expect: &[&str]) {
        let arena = Bump::new();
        let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(object.as_bytes())).unwrap();
        assert_eq!(shown(&validate(&tree)), expect, "{object}");
    }

    #[test]
    fn specs() {
        let spec = |rest: &str| {
            format!(
                r#"{{"spec":{{"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1{rest}}}}}"#
            )
        };
        check(&spec(""), validate, &[]);
        check(&spec(r#","service":{"namespace":"n","name":"s","port":443}"#), validate, &[]);
        check(
            r#"{"spec":{"version":"v1","groupPriorityMinimum":20000,"versionPriority":1000}}"#,
            validate,
            &[],
        );
        check(
            r#"{"spec":{"version":"v2","groupPriorityMinimum":20001,"versionPriority":0}}"#,
            validate,
            &[
                "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
                "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
                "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
            ],
        );
        check(
            &spec(r#","caBundle":"YWJj","insecureSkipTLSVerify":true"#),
            validate,
            &[
                "spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle",
                "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
            ],
        );
        check(
            &spec(r#","caBundle":"YWJj","insecureSkipTLSVerify":true,"service":{"port":0}"#),
            validate,
            &[
                "spec.service.namespace: Required value",
                "spec.service.name: Required value",
                "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
            ],
        );
    }

    #[test]
    fn names() {
        let named = |name: &str| {
            format!(
                r#"{{"metadata":{{"name":"{name}"}},
                    "spec":{{"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}}}"#
            )
        };
        check(&named("v1.a.b"), validate_update, &[]);
        check(
            &named("v1.b"),
            validate_update,
            &[r#"metadata.name: Invalid value: "v1.b": must be `spec.version+"."+spec.group`: "v1.a.b""#],
        );
        check(
            &named("a/b"),
            validate_update,
            &[r#"metadata.name: Invalid value: "a/b": may not contain '/'"#],
        );
    }

    #[test]
    fn statuses() {
        check(r#"{"status":{"conditions":[{"status":"True"},{"status":"Unknown"}]}}"#, validate_status, &[]);
        check(
            r#"{"status":{"conditions":[{"status":"False"},{"status":"no"}]}}"#,
            validate_status,
            &[
                r#"status.conditions[1].status: Unsupported value: "no": supported values: "True", "False", "Unknown""#,
            ],
        );
    }
}
