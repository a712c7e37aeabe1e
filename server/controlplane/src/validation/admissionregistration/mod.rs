//! Webhooks, policies and their bindings.

mod expressions;
mod policies;
mod rules;
pub(crate) mod url;
mod webhooks;

use ringbolt_cel::admission::{Compiler, Declarations, Returns};
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::qualified_name_errors,
    value::{Map, Value},
};

use self::expressions::{Stored, compiles};
pub(crate) use self::{
    policies::{mutating_binding, mutating_policy, validating_binding, validating_policy},
    webhooks::{validate as webhooks, validate_update as webhooks_update},
};
use super::{Errors, each_invalid, maps};
use crate::tree::Members;

/// Names that end like this are those of the files that a server reads by itself.
const STATIC_SUFFIX: &str = ".static.k8s.io";
/// Most conditions of a webhook or policy.
const CONDITIONS_MAX: usize = 64;

/// A new object may not look like one that comes from a file.
pub(crate) fn static_suffix(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    if name.ends_with(STATIC_SUFFIX) {
        let why = format!(
            "names ending with \"{STATIC_SUFFIX}\" are reserved for static manifest-based configurations and cannot be \
             managed via the API"
        );
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
}

/// A text that is more than spaces.
fn says_something(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Conditions that a request must meet; `params` where they may refer to parameters.
fn match_conditions(list: &[Value<'_>], params: bool, stored: &Stored<'_>, path: &str, errors: &mut Errors) {
    if list.len() > CONDITIONS_MAX {
        errors.push(FieldError::too_many(path, list.len(), CONDITIONS_MAX));
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, condition) in maps(list) {
        let path = index(path, at);
        let name = condition.text("name");
        let (text, at) = (condition.text("expression").trim(), child(&path, "expression"));
        if text.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else {
            let declared = Declarations { params, authorizer: true, patch_types: false };
            let compiled = Compiler::plain().compile(text, Returns::Bool, declared, stored.has(text));
            compiles(&compiled, text, &at, errors);
        }
        let at = child(&path, "name");
        if name.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        each_invalid(qualified_name_errors(name), &at, name, errors);
        if names.contains(&name) {
            errors.push(FieldError::duplicate(at, name));
        }
        names.push(name);
    }
}

/// Texts of a list.
fn texts<'v, 'a>(map: &'v Map<'a>, key: &str) -> impl Iterator<Item = &'a str> + use<'v, 'a> {
    map.items(key).iter().map(|item| item.as_str().unwrap_or(""))
}
