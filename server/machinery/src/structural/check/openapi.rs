//! What of OpenAPI a schema may have, which extensions go together, and what rules must have beside their expressions
//! (`ValidateCustomResourceDefinitionOpenAPISchema`).

use super::{CheckOptions, RuleChecks, RuleSite, Step, field_path::field_path};
use crate::{
    field::{FieldError, Verbatim, child, index, key, quote},
    limits::VALIDATION_ERROR_BYTES_MAX,
    structural::{Structural, internal, props::Props, prune::is_meta_field},
    value::Value,
};

/// Types that a schema may name.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// Reasons that a rule may give.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// All errors: those of schemas first, then those of rules. Rules are left unchecked where there are no `rules`.
pub(super) fn errors<'r>(
    props: Props<'_, '_>,
    path: &str,
    options: &CheckOptions,
    rules: Option<&'r mut (dyn RuleChecks + 'r)>,
) -> Vec<FieldError> {
    let has_rules = rules.is_some();
    let mut walk =
        Walk { options, rules, schema: Vec::new(), of_rules: Vec::new(), bytes: 0, ancestors: Vec::new() };
    let state = State {
        defaults: options.defaults.map_err(str::to_owned),
        inside_meta: false,
        uncorrelatable: None,
        rules: has_rules,
    };
    walk.schema(props, path, true, &state);
    let mut errors = walk.schema;
    errors.append(&mut walk.of_rules);
    errors
}

/// Whether any schema in `props`, itself first, is as `predicate` says.
pub(super) fn any(props: Props<'_, '_>, predicate: &mut dyn FnMut(Props<'_, '_>) -> bool) -> bool {
    if props.value().as_map().is_none() {
        return false;
    }
    predicate(props)
        || ["items", "not", "additionalProperties", "additionalItems"]
            .into_iter()
            .any(|name| props.schema(name).is_some_and(|schema| any(schema, predicate)))
        || ["items", "allOf", "anyOf", "oneOf"]
            .into_iter()
            .any(|name| props.schemas(name).any(|schema| any(schema, predicate)))
        || ["properties", "patternProperties", "definitions", "dependencies"]
            .into_iter()
            .any(|name| props.named(name).any(|(_, schema)| any(schema, predicate)))
}

/// What holds on the way down.
#[derive(Clone)]
struct State {
    /// Whether defaults may be given, or why not.
    defaults: Result<(), String>,
    inside_meta: bool,
    uncorrelatable: Option<String>,
    /// Whether rules can be compiled here: not within logical junctors.
    rules: bool,
}

impl State {
    fn uncorrelatable_from(&self, path: &str) -> State {
        let mut state = self.clone();
        state.uncorrelatable.get_or_insert_with(|| path.to_owned());
        state
    }
}

struct Walk<'o, 'r, 'v, 'a> {
    options: &'o CheckOptions,
    rules: Option<&'r mut (dyn RuleChecks + 'r)>,
    schema: Vec<FieldError>,
    of_rules: Vec<FieldError>,
    /// Bytes of the texts of errors.
    bytes: usize,
    ancestors: Vec<(&'v Value<'a>, Step<'a>)>,
}

impl<'v, 'a> Walk<'_, '_, 'v, 'a> {
    fn push(&mut self, error: FieldError) {
        if self.bytes < VALIDATION_ERROR_BYTES_MAX {
            self.bytes += error.field.len() + error.bad_value.len() + error.detail.len();
            self.schema.push(error);
        }
    }

    /// A schema that values of this one have at the end of a step.
    fn within(&mut self, of: Props<'v, 'a>, step: Step<'a>, props: Props<'v, 'a>, path: &str, state: &State) {
        self.ancestors.push((of.value(), step));
        self.schema(props, path, false, state);
        self.ancestors.pop();
    }

    fn schema(&mut self, props: Props<'v, 'a>, path: &str, is_root: bool, state: &State) {
        let before = self.schema.len();
        let at = |name: &str| child(path, name);
        self.standard(props, path, state);
        if props.flag("uniqueItems") {
            let text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.push(FieldError::forbidden(at("uniqueItems"), text));
        }
        if let Some(additional) = props.get("additionalProperties") {
            if props.properties().next().is_some() && *additional != Value::Bool(true) {
                let text = "additionalProperties and properties are mutual exclusive";
                self.push(FieldError::forbidden(at("additionalProperties"), text));
            }
            let mut below = state.clone();
            if state.inside_meta {
                below.defaults = Err("inside additionalProperties applying to object metadata".into());
            }
            if let Some(schema) = props.schema("additionalProperties") {
                self.within(props, Step::AdditionalProperties, schema, &at("additionalProperties"), &below);
            }
        }
        self.properties(props, path, is_root, state);
        let plain = State { rules: false, ..state.clone() };
        if let Some(not) = props.schema("not") {
            self.schema(not, &at("not"), false, &plain);
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            for (i, schema) in props.schemas(name).enumerate() {
                self.schema(schema, &index(&at(name), i), false, &plain);
            }
        }
        for (name, schema) in sorted(props.named("definitions")) {
            self.schema(schema, &key(&at("definitions"), name), false, &plain);
        }
        self.items(props, path, state);
        for (name, schema) in sorted(props.named("dependencies")) {
            if schema.value().as_map().is_some() {
                self.schema(schema, &key(&at("dependencies"), name), false, &plain);
            }
        }
        self.extensions(props, path);
        self.list_map(props, path);
        if self.options.list_keys {
            self.schema.append(&mut list_key_errors(props, path));
        }
        self.rules(props, path, state, before);
    }

    fn properties(&mut self, props: Props<'v, 'a>, path: &str, is_root: bool, state: &State) {
        let granular = matches!(props.text("x-kubernetes-map-type"), "" | "granular" | "atomic");
        let embedded = props.flag("x-kubernetes-embedded-resource");
        for (name, property) in sorted(props.properties()) {
            let mut below = if granular { state.clone() } else { state.uncorrelatable_from(path) };
            if (is_root || embedded) && is_meta_field(name) {
                below.inside_meta = true;
                if is_root {
                    below.defaults = Err(format!("in top-level {name}"));
                }
            }
            let at = key(&child(path, "properties"), name);
            self.within(props, Step::Property(name), property, &at, &below);
        }
    }

    fn items(&mut self, props: Props<'v, 'a>, path: &str, state: &State) {
        if props.items().is_none() {
            return;
        }
        let keyed = props.text("x-kubernetes-list-type") == "map";
        let below = if keyed { state.clone() } else { state.uncorrelatable_from(path) };
        let at = child(path, "items");
        if let Some(items) = props.schema("items") {
            self.within(props, Step::Items, items, &at, &below);
        }
        for (i, items) in props.schemas("items").enumerate() {
            self.within(props, Step::Items, items, &index(&at, i), &below);
        }
    }

    /// What no schema may have (`specStandardValidatorV3`).
    fn standard(&mut self, props: Props<'_, '_>, path: &str, state: &State) {
        let ty = props.text("type");
        if self.options.valid_types && !ty.is_empty() && !TYPES.contains(&ty) {
            self.push(FieldError::not_supported(child(path, "type"), ty, &TYPES));
        }
        let mut forbid =
            |name: &str, text: &str| self.schema.push(FieldError::forbidden(child(path, name), text));
        if props.get("default").is_some()
            && let Err(reason) = &state.defaults
        {
            let separator = if reason.is_empty() { "" } else { " " };
            forbid("default", &format!("must not be set{separator}{reason}"));
        }
        let text = |name: &str| !props.text(name).is_empty();
        let some = |name: &str| props.get(name).and_then(Value::as_map).is_some_and(|map| !map.is_empty());
        for (name, set) in [
            ("id", text("id")),
            ("additionalItems", props.get("additionalItems").is_some()),
            ("patternProperties", some("patternProperties")),
            ("definitions", some("definitions")),
            ("dependencies", props.get("dependencies").is_some()),
            ("$ref", props.get("$ref").is_some()),
        ] {
            if set {
                forbid(name, &format!("{name} is not supported"));
            }
        }
        if ty == "null" {
            forbid("type", "type cannot be set to null, use nullable as an alternative");
        }
        if props.list("items").is_some_and(|list| !list.is_empty()) {
            forbid("items", "items must be a schema object and not an array");
        }
        if state.inside_meta && props.flag("x-kubernetes-embedded-resource") {
            forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
        }
    }

    fn extensions(&mut self, props: Props<'_, '_>, path: &str) {
        let at = |name: &str| child(path, name);
        if props.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let name = at("x-kubernetes-preserve-unknown-fields");
            self.push(FieldError::invalid(name, false, "must be true or undefined"));
        }
        let ty = props.text("type");
        let typed = |name: &str, needed: &str| {
            let text = format!("must be {needed} if {name} is specified");
            match ty {
                "" => FieldError::required(at("type"), text),
                ty => FieldError::invalid(at("type"), ty, text),
            }
        };
        let given = |name: &str| props.get(name).and_then(Value::as_str);
        if let Some(map_type) = given("x-kubernetes-map-type") {
            if ty != "object" {
                self.push(typed("x-kubernetes-map-type", "object"));
            }
            if !matches!(map_type, "atomic" | "granular") {
                let name = at("x-kubernetes-map-type");
                self.push(FieldError::not_supported(name, map_type, &["atomic", "granular"]));
            }
        }
        let list_type = given("x-kubernetes-list-type");
        if list_type.is_some() && ty != "array" {
            self.push(typed("x-kubernetes-list-type", "array"));
        } else if self.options.atomic_sets {
            self.schema.extend(set_error(props, path));
        }
        if let Some(list_type) = list_type
            && !matches!(list_type, "atomic" | "set" | "map")
        {
            let name = at("x-kubernetes-list-type");
            self.push(FieldError::not_supported(name, list_type, &["atomic", "set", "map"]));
        }
        if props.strings("x-kubernetes-list-map-keys").next().is_some() {
            let text = "must be map if x-kubernetes-list-map-keys is non-empty";
            match list_type {
                None => self.push(FieldError::required(at("x-kubernetes-list-type"), text)),
                Some("map") => {}
                Some(other) => self.push(FieldError::invalid(at("x-kubernetes-list-type"), other, text)),
            }
        }
    }

    fn list_map(&mut self, props: Props<'_, '_>, path: &str) {
        if props.text("x-kubernetes-list-type") != "map" {
            return;
        }
        let at = |name: &str| child(path, name);
        let keys: Vec<&str> = props.strings("x-kubernetes-list-map-keys").collect();
        if keys.is_empty() {
            let text = "must not be empty if x-kubernetes-list-type is map";
            self.push(FieldError::required(at("x-kubernetes-list-map-keys"), text));
        }
        let Some(items) = props.items() else {
            let text = "must have a schema if x-kubernetes-list-type is map";
            return self.push(FieldError::required(at("items"), text));
        };
        let Some(items) = props.schema("items") else {
            let mut shown = String::new();
            internal::write_items(items, &mut shown);
            let text = "must only have a single schema if x-kubernetes-list-type is map";
            return self.push(FieldError::invalid(at("items"), Verbatim(&shown), text));
        };
        let ty = items.text("type");
        if ty != "object" {
            let text = "must be object if parent array's x-kubernetes-list-type is map";
            return self.push(FieldError::invalid(child(&at("items"), "type"), ty, text));
        }
        let shown = format!("[{}]", keys.iter().map(|key| quote(key)).collect::<Vec<_>>().join(","));
        for (i, name) in keys.iter().enumerate() {
            match items.property(name) {
                None => {
                    let text = "entries must all be names of item properties";
                    let at = at("x-kubernetes-list-map-keys");
                    self.push(FieldError::invalid(at, Verbatim(&shown), text));
                }
                Some(property) if matches!(property.text("type"), "array" | "object") => {
                    let at = child(&key(&child(&at("items"), "properties"), name), "type");
                    let text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.push(FieldError::invalid(at, ty, text));
                }
                Some(_) => {}
            }
            if keys[..i].contains(name) {
                let at = at("x-kubernetes-list-map-keys");
                self.push(FieldError::invalid(at, Verbatim(&shown), "must not contain duplicate entries"));
            }
        }
    }

    fn rules(&mut self, props: Props<'v, 'a>, path: &str, state: &State, before: usize) {
        let Some(list) = props.list("x-kubernetes-validations").filter(|list| !list.is_empty()) else {
            return;
        };
        let at = child(path, "x-kubernetes-validations");
        let structural = std::cell::OnceCell::new();
        for (i, rule) in list.iter().enumerate() {
            let is_path = |path: &str| {
                let compiled = structural.get_or_init(|| Structural::compile_as_is(props.value()).ok());
                compiled.as_ref().is_none_or(|compiled| field_path(path, compiled.root(), true).is_ok())
            };
            rule_errors(Props::of(rule), &index(&at, i), is_path, &mut self.schema);
        }
        if state.rules
            && self.schema.len() == before
            && let Some(rules) = self.rules.as_deref_mut()
        {
            let uncorrelatable = state.uncorrelatable.as_deref();
            let site = RuleSite { schema: props.value(), path, ancestors: &self.ancestors, uncorrelatable };
            self.of_rules.append(&mut rules.rule_errors(&site));
        }
    }
}

/// Go walks these in any order; here they come by name.
fn sorted<'v, 'a>(named: impl Iterator<Item = (&'a str, Props<'v, 'a>)>) -> Vec<(&'a str, Props<'v, 'a>)> {
    let mut named: Vec<_> = named.collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    named
}

/// What is wrong with the items of a set.
pub(super) fn set_error(props: Props<'_, '_>, path: &str) -> Option<FieldError> {
    let items = props.schema("items").filter(|_| props.text("x-kubernetes-list-type") == "set")?;
    let list_type = items.get("x-kubernetes-list-type").and_then(Value::as_str);
    let name = match items.text("type") {
        "array" if list_type.is_some_and(|list_type| list_type != "atomic") => "x-kubernetes-list-type",
        "object" if items.text("x-kubernetes-map-type") != "atomic" => "x-kubernetes-map-type",
        _ => return None,
    };
    // Of maps as well it is the type of the list that is shown.
    let shown = list_type.map_or_else(|| "null".to_owned(), quote);
    let text = "must be atomic as item of a list with x-kubernetes-list-type=set";
    Some(FieldError::invalid(child(&child(path, "items"), name), Verbatim(&shown), text))
}

/// What is wrong with the items of a set or a map, and with the keys of a map.
pub(super) fn list_key_errors(props: Props<'_, '_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list_type = props.text("x-kubernetes-list-type");
    let Some(items) = props.schema("items").filter(|_| matches!(list_type, "set" | "map")) else {
        return errors;
    };
    let at = child(path, "items");
    if items.flag("nullable") {
        let text = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(child(&at, "nullable"), text));
    }
    if list_type == "set" {
        return errors;
    }
    for name in props.strings("x-kubernetes-list-map-keys") {
        let Some(property) = items.property(name) else { continue };
        let at = key(&child(&at, "properties"), name);
        if !items.strings("required").any(|required| required == name) && property.get("default").is_none() {
            let text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                        property";
            errors.push(FieldError::required(child(&at, "default"), text));
        }
        if property.flag("nullable") {
            let text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(child(&at, "nullable"), text));
        }
    }
    errors
}

/// What a rule must have beside its expressions.
fn rule_errors(
    rule: Props<'_, '_>,
    path: &str,
    is_path: impl Fn(&str) -> bool,
    errors: &mut Vec<FieldError>,
) {
    let at = |name: &str| child(path, name);
    let newlines = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (rule.text("rule").trim(), rule.text("message"));
    if expression.is_empty() {
        errors.push(FieldError::required(at("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(at("message"), message, "must be non-empty if specified"));
    } else if newlines(message.trim()) {
        errors.push(FieldError::invalid(at("message"), message, "must not contain line breaks"));
    } else if newlines(expression) && message.trim().is_empty() {
        let text = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(at("message"), text));
    }
    let message_expression = rule.text("messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let text = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(at("messageExpression"), text));
    }
    if let Some(reason) = rule.get("reason").and_then(Value::as_str)
        && !REASONS.contains(&reason)
    {
        errors.push(FieldError::not_supported(at("reason"), reason, &REASONS));
    }
    let field_path = rule.text("fieldPath");
    if field_path.is_empty() {
        return;
    }
    if field_path.trim().is_empty() {
        errors.push(FieldError::invalid(at("fieldPath"), field_path, "must be non-empty if specified"));
    }
    if newlines(field_path) {
        errors.push(FieldError::invalid(at("fieldPath"), field_path, "must not contain line breaks"));
    }
    if !is_path(field_path) {
        errors.push(FieldError::invalid(at("fieldPath"), field_path, "must be a valid path"));
    }
}
