//! Policies and their bindings, mutating and validating.

use std::collections::HashSet;

use ringbolt_apiserver::registry::Part;
use ringbolt_cel::admission::{Compiler, Declarations, Returns};
use ringbolt_machinery::{
    field::{FieldError, child, index},
    jsonpath::JsonPath,
    validation::{
        names::{dns1035_label_errors, dns1123_subdomain_errors, path_segment_errors, qualified_name_errors},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{
    super::{Errors, each_invalid, maps, one_of, one_of_optional, subdomain, with_map},
    Stored, compiles,
    expressions::variable_compiles,
    match_conditions, rules, says_something, static_suffix, texts,
};
use crate::tree::{Members, same};

const AUDIT_ANNOTATIONS_MAX: usize = 20;
const AUDIT_EXPRESSION_MAX: usize = 5 * 1024;

/// A mutating policy; `old` is what it was.
pub(crate) fn mutating_policy(_: Part, object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let mut compiler = Compiler::composing();
        head(spec, old, true, &mut compiler, errors);
        let params = spec.has("paramKind");
        let stored = Stored::of(expressions(old, "mutations", &["applyConfiguration", "expression"]));
        if spec.items("mutations").is_empty() {
            errors.push(FieldError::required("spec.mutations", "mutations must contain at least one item"));
        }
        for (at, mutation) in maps(spec.items("mutations")) {
            self::mutation(mutation, params, &compiler, &stored, &index("spec.mutations", at), errors);
        }
        match spec.text("reinvocationPolicy") {
            "" => errors.push(FieldError::required("spec.reinvocationPolicy", "")),
            _ => one_of(spec, "reinvocationPolicy", "spec", &["IfNeeded", "Never"], errors),
        }
    });
    if old.is_none() {
        static_suffix(object, errors);
    }
}

/// A validating policy; `old` is what it was.
pub(crate) fn validating_policy(
    part: Part,
    object: &Value<'_>,
    old: Option<&Value<'_>>,
    errors: &mut Errors,
) {
    if part == Part::Status {
        return status(object, errors);
    }
    with_map(object, "spec", |spec| {
        let mut compiler = match spec.items("variables").is_empty() {
            true => Compiler::plain(),
            false => Compiler::composing(),
        };
        head(spec, old, false, &mut compiler, errors);
        let checks = Checks {
            params: spec.has("paramKind"),
            compiler: &compiler,
            conditions: Stored::of(expressions(old, "validations", &["expression"])),
            messages: Stored::of(expressions(old, "validations", &["messageExpression"])),
            annotations: Stored::of(expressions(old, "auditAnnotations", &["valueExpression"])),
        };
        let (validations, annotations) = (spec.items("validations"), spec.items("auditAnnotations"));
        if validations.is_empty() && annotations.is_empty() {
            for member in ["validations", "auditAnnotations"] {
                let why = "validations or auditAnnotations must contain at least one item";
                errors.push(FieldError::required(child("spec", member), why));
            }
            return;
        }
        for (at, validation) in maps(validations) {
            self::validation(validation, &checks, &index("spec.validations", at), errors);
        }
        if annotations.len() > AUDIT_ANNOTATIONS_MAX {
            let shown = super::super::go::list(
                "admissionregistration",
                "AuditAnnotation",
                spec.get("auditAnnotations"),
            );
            let why = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
            let shown = ringbolt_machinery::field::Verbatim(&shown);
            errors.push(FieldError::invalid("spec.auditAnnotations", shown, why));
        }
        let name = object.str_at(&["metadata", "name"]).unwrap_or("");
        audit_annotations(annotations, name, &checks, errors);
    });
    if old.is_none() {
        static_suffix(object, errors);
    }
}

/// What expressions of a validating policy are checked by.
struct Checks<'c> {
    params: bool,
    compiler: &'c Compiler,
    conditions: Stored<'c>,
    messages: Stored<'c>,
    annotations: Stored<'c>,
}

/// Expressions that an object had in one of its lists.
fn expressions<'v>(old: Option<&'v Value<'_>>, list: &'v str, path: &'v [&'v str]) -> Vec<&'v str> {
    let list = old.and_then(|old| old.path(&["spec", list])).and_then(Value::as_list);
    list.into_iter().flatten().filter_map(|item| item.str_at(path)).collect()
}

/// What both kinds of policies begin with.
fn head(
    spec: &Map<'_>,
    old: Option<&Value<'_>>,
    mutating: bool,
    compiler: &mut Compiler,
    errors: &mut Errors,
) {
    match spec.has("failurePolicy") {
        false => errors.push(FieldError::required("spec.failurePolicy", "")),
        true => one_of(spec, "failurePolicy", "spec", &["Fail", "Ignore"], errors),
    }
    if let Some(kind) = spec.child("paramKind") {
        param_kind(kind, "spec.paramKind", errors);
    }
    let path = "spec.matchConstraints";
    match spec.child("matchConstraints") {
        None => errors.push(FieldError::required(path, "")),
        Some(constraints) => {
            rules::match_resources(constraints, path, errors);
            if constraints.items("resourceRules").is_empty() {
                errors.push(FieldError::required(child(path, "resourceRules"), ""));
            }
            if mutating {
                rules::mutable(constraints, path, errors);
            }
        }
    }
    // Conditions that stay, with the parameters they may use, were fine when they came.
    let kept = old.is_some_and(|old| {
        ["paramKind", "matchConditions"].iter().all(|m| same(spec.get(m), old.path(&["spec", m])))
    });
    if !kept {
        let stored = Stored::of(expressions(old, "matchConditions", &["expression"]));
        let (list, params) = (spec.items("matchConditions"), spec.has("paramKind"));
        match_conditions(list, params, &stored, "spec.matchConditions", errors);
    }
    let stored = Stored::of(expressions(old, "validations", &["expression"]));
    let declared = Declarations { params: spec.has("paramKind"), authorizer: true, patch_types: false };
    for (at, variable) in maps(spec.items("variables")) {
        let path = index("spec.variables", at);
        let name = variable.text("name");
        if !says_something(name) {
            errors.push(FieldError::required(child(&path, "name"), "name is not specified"));
        } else if !is_identifier(name) {
            errors.push(FieldError::invalid(child(&path, "name"), name, "must be a valid CEL identifier"));
        }
        let (text, at) = (variable.text("expression"), child(&path, "expression"));
        if says_something(text) {
            variable_compiles(&compiler.variable(name, text, declared, stored.has(text)), text, &at, errors);
        } else {
            errors.push(FieldError::required(at, "expression is not specified"));
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    letters && !name.starts_with(|c: char| c.is_ascii_digit()) && !ringbolt_cel::is_reserved(name)
}

fn param_kind(kind: &Map<'_>, path: &str, errors: &mut Errors) {
    let version = kind.text("apiVersion");
    let at = child(path, "apiVersion");
    if version.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version}");
        errors.push(FieldError::invalid(at, version, why));
    } else {
        let (group, name) = version.split_once('/').unwrap_or(("", version));
        let wrong = dns1123_subdomain_errors(group);
        if !group.is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(at.clone(), group, wrong.join(",")));
        }
        let wrong = dns1035_label_errors(name);
        if name.is_empty() {
            errors.push(FieldError::invalid(at, version, "version must be specified"));
        } else if !wrong.is_empty() {
            errors.push(FieldError::invalid(at, name, wrong.join(",")));
        }
    }
    let (name, at) = (kind.text("kind"), child(path, "kind"));
    let wrong = dns1035_label_errors(&name.to_lowercase());
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if !wrong.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        errors.push(FieldError::invalid(at, name, why));
    }
}

fn mutation(
    mutation: &Map<'_>,
    params: bool,
    compiler: &Compiler,
    stored: &Stored<'_>,
    path: &str,
    errors: &mut Errors,
) {
    let kind = mutation.text("patchType");
    let (own, other) = match kind {
        "" => {
            errors.push(FieldError::required(child(path, "patchType"), ""));
            return;
        }
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => return one_of(mutation, "patchType", path, &["ApplyConfiguration", "JSONPatch"], errors),
    };
    let at = child(path, own);
    match mutation.child(own) {
        None => {
            errors.push(FieldError::required(at, format!("must be specified when patchType is {kind}")));
        }
        Some(patch) if !says_something(patch.text("expression")) => {
            errors.push(FieldError::required(child(&at, "expression"), ""));
        }
        Some(patch) => {
            let returns = if own == "jsonPatch" { Returns::JsonPatches } else { Returns::Object };
            let declared = Declarations { params, authorizer: true, patch_types: true };
            let text = patch.text("expression");
            let compiled = compiler.compile(text.trim(), returns, declared, stored.has(text));
            compiles(&compiled, text.trim(), &child(&at, "expression"), errors);
        }
    }
    if mutation.has(other) {
        let why = format!("must not be specified when patchType is {kind}");
        errors.push(FieldError::invalid(child(path, other), format!("{{{other}}}"), why));
    }
}

fn validation(validation: &Map<'_>, checks: &Checks<'_>, path: &str, errors: &mut Errors) {
    let (text, at) = (validation.text("expression"), child(path, "expression"));
    let declared = Declarations { params: checks.params, authorizer: true, patch_types: false };
    if says_something(text) {
        let stored = checks.conditions.has(text);
        compiles(&checks.compiler.compile(text, Returns::Bool, declared, stored), text, &at, errors);
    } else {
        errors.push(FieldError::required(at, "expression is not specified"));
    }
    for member in ["messageExpression", "message"] {
        let text = validation.text(member);
        let at = child(path, member);
        if !text.is_empty() && !says_something(text) {
            errors.push(FieldError::invalid(at, text, "must be non-empty if specified"));
        } else if member == "message" && text.trim().contains(['\n', '\r']) {
            errors.push(FieldError::invalid(at, text, "must not contain line breaks"));
        } else if member == "messageExpression" && !text.is_empty() {
            let declared = Declarations { authorizer: false, ..declared };
            let stored = checks.messages.has(text);
            compiles(&checks.compiler.compile(text, Returns::String, declared, stored), text, &at, errors);
        }
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    one_of_optional(validation, "reason", path, &reasons, errors);
}

fn audit_annotations(list: &[Value<'_>], policy: &str, checks: &Checks<'_>, errors: &mut Errors) {
    let mut keys = HashSet::new();
    for (at, annotation) in maps(list) {
        let path = index("spec.auditAnnotations", at);
        let (key, at) = (annotation.text("key"), child(&path, "key"));
        if policy.is_empty() {
            errors.push(FieldError::invalid(at.clone(), key, "requires metadata.name be non-empty"));
        } else {
            let name = format!("{policy}/{key}");
            each_invalid(qualified_name_errors(&name), &at, &name, errors);
        }
        let expression = annotation.text("valueExpression");
        let value = child(&path, "valueExpression");
        if !says_something(expression) {
            errors.push(FieldError::required(value, "valueExpression is not specified"));
        } else if expression.trim().len() > AUDIT_EXPRESSION_MAX {
            let why = format!("must not exceed {AUDIT_EXPRESSION_MAX} bytes in length");
            errors.push(FieldError::required(value, why));
        } else {
            let declared = Declarations { params: checks.params, authorizer: true, patch_types: false };
            let (text, stored) = (expression.trim(), checks.annotations.has(expression));
            let compiled = checks.compiler.compile(text, Returns::StringOrNull, declared, stored);
            compiles(&compiled, expression, &value, errors);
        }
        if !keys.insert(key) {
            errors.push(FieldError::duplicate(at, key));
        }
    }
}

fn status(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "status", |status| {
        let warnings =
            status.child("typeChecking").map(|t| t.items("expressionWarnings")).unwrap_or_default();
        for (at, warning) in maps(warnings) {
            let path = index("status.typeChecking.expressionWarnings", at);
            if warning.lacks("warning") {
                errors.push(FieldError::required(child(&path, "warning"), ""));
            }
            let (text, at) = (warning.text("fieldRef").trim(), child(&path, "fieldRef"));
            if text.is_empty() {
                errors.push(FieldError::required(at, ""));
            } else if let Err(why) = JsonPath::parse(&format!("{{{text}}}")) {
                errors.push(FieldError::invalid(at, text, format!("invalid JSONPath: {why}")));
            }
        }
        super::super::condition::conditions(status, "status", errors);
    });
}

/// A binding of a mutating policy.
pub(crate) fn mutating_binding(_: Part, object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    binding(object, true, old, errors);
}

/// A binding of a validating policy.
pub(crate) fn validating_binding(_: Part, object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    binding(object, false, old, errors);
}

fn binding(object: &Value<'_>, mutating: bool, old: Option<&Value<'_>>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        // What is declared with the fields comes after what is written out.
        let mut declared = Errors::new();
        match spec.text("policyName") {
            "" if mutating => errors.push(FieldError::required("spec.policyName", "")),
            "" => declared.push(FieldError::required("spec.policyName", "")),
            name => subdomain(name, "spec.policyName", errors),
        }
        if let Some(reference) = spec.child("paramRef") {
            param_ref(reference, "spec.paramRef", errors);
        }
        if let Some(resources) = spec.child("matchResources") {
            rules::match_resources(resources, "spec.matchResources", errors);
            if mutating {
                rules::mutable(resources, "spec.matchResources", errors);
            }
        }
        if !mutating {
            actions(spec, errors, &mut declared);
        }
        errors.append(&mut declared);
    });
    if old.is_none() {
        static_suffix(object, errors);
    }
}

fn actions(spec: &Map<'_>, errors: &mut Errors, declared: &mut Errors) {
    let path = "spec.validationActions";
    let mut seen = HashSet::new();
    for (at, action) in texts(spec, "validationActions").enumerate() {
        if !matches!(action, "Audit" | "Deny" | "Warn") {
            errors.push(FieldError::not_supported(index(path, at), action, &["Audit", "Deny", "Warn"]));
        }
        if !seen.insert(action) {
            errors.push(FieldError::duplicate(index(path, at), action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let shown = spec.get("validationActions").unwrap_or(&Value::Null);
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, shown, why));
    }
    if seen.is_empty() {
        declared.push(FieldError::required(path, ""));
    }
}

fn param_ref(reference: &Map<'_>, path: &str, errors: &mut Errors) {
    const BOTH: &str = "name and selector are mutually exclusive";
    let (name, selector) = (reference.text("name"), reference.child("selector").is_some());
    if !name.is_empty() {
        each_invalid(path_segment_errors(name, false), &child(path, "name"), name, errors);
        if selector {
            errors.push(FieldError::forbidden(child(path, "name"), BOTH));
        }
    }
    if selector {
        let at = child(path, "selector");
        errors.extend(validate_label_selector(reference.get("selector"), &at));
        if !name.is_empty() {
            errors.push(FieldError::forbidden(at, BOTH));
        }
    }
    if name.is_empty() && !selector {
        errors.push(FieldError::required(path, "one of name or selector must be specified"));
    }
    match reference.text("parameterNotFoundAction") {
        "" => errors.push(FieldError::required(child(path, "parameterNotFoundAction"), "")),
        _ => one_of(reference, "parameterNotFoundAction", path, &["Deny", "Allow"], errors),
    }
}
