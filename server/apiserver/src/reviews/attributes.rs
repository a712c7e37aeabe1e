//! From the spec of an access review to what is authorized: a user, and a request that was never made.

use ringbolt_machinery::value::Value;
use ringbolt_protocol::{
    request_info::{RequestInfo, SelectedFields, Verb},
    selector::{FieldRequirement, FieldSelector, LabelSelector, Operator, Requirement},
};

use crate::authentication::UserInfo;

/// A text of a tree, empty where it is not set.
fn text<'a>(tree: &Value<'a>, field: &str) -> &'a str {
    tree.str_at(&[field]).unwrap_or("")
}

/// The texts of a list.
pub(super) fn texts(tree: Option<&Value<'_>>) -> Vec<String> {
    let list = tree.and_then(Value::as_list).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The user a spec names.
pub(super) fn user(spec: &Value<'_>) -> UserInfo {
    let extra = spec.path(&["extra"]).and_then(Value::as_map);
    UserInfo {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(spec.path(&["groups"])),
        extra: extra
            .into_iter()
            .flat_map(|m| m.iter())
            .map(|(key, values)| (key.to_owned(), texts(Some(values))))
            .collect(),
    }
}

/// The terms of a spec's field selector, without those that cannot be read.
pub(super) fn fields(spec: &Value<'_>) -> Vec<FieldRequirement> {
    let Some(selector) = spec.path(&["resourceAttributes", "fieldSelector"]) else { return Vec::new() };
    let list = selector.path(&["requirements"]).and_then(Value::as_list).filter(|list| !list.is_empty());
    let Some(list) = list else {
        let raw = FieldSelector::parse(text(selector, "rawSelector"));
        return raw.map(|selector| selector.requirements).unwrap_or_default();
    };
    let read = |requirement: &Value<'_>| {
        let values = texts(requirement.path(&["values"]));
        let operator = text(requirement, "operator");
        is_field_term(operator, &values).then(|| FieldRequirement {
            field: text(requirement, "key").to_owned(),
            value: values.into_iter().next().unwrap_or_default(),
            equals: operator == "In",
        })
    };
    list.iter().filter_map(read).collect()
}

/// The verb a spec names.
pub(super) fn verb<'a>(spec: &Value<'a>) -> &'a str {
    let of = spec.path(&["resourceAttributes"]).filter(|of| !of.is_null());
    of.or(spec.path(&["nonResourceAttributes"])).map_or("", |of| text(of, "verb"))
}

/// The request a spec describes, which selects by these fields.
pub(super) fn request<'a>(spec: &Value<'a>, fields: &'a [FieldRequirement]) -> RequestInfo<'a> {
    if let Some(of) = spec.path(&["resourceAttributes"]).filter(|v| !v.is_null()) {
        let version = match text(of, "version") {
            "" => "*",
            version => version,
        };
        let group = text(of, "group");
        return RequestInfo {
            is_resource_request: true,
            verb: known_verb(text(of, "verb")),
            api_prefix: if group.is_empty() { "api" } else { "apis" },
            api_group: group,
            api_version: version,
            namespace: text(of, "namespace"),
            resource: text(of, "resource"),
            subresource: text(of, "subresource"),
            name: text(of, "name"),
            fields: SelectedFields::Terms(fields),
            ..RequestInfo::default()
        };
    }
    let of = spec.path(&["nonResourceAttributes"]);
    let field = |name| of.map_or("", |of| text(of, name));
    RequestInfo { path: field("path"), verb: known_verb(field("verb")), ..RequestInfo::default() }
}

/// A verb by its name. Names that no request can have (`*`, `use`) are one.
fn known_verb(name: &str) -> Verb {
    const ALL: [Verb; 15] = [
        Verb::Get,
        Verb::List,
        Verb::Watch,
        Verb::Create,
        Verb::Update,
        Verb::Patch,
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Proxy,
        Verb::Post,
        Verb::Put,
        Verb::Head,
        Verb::Options,
        Verb::Trace,
        Verb::Connect,
    ];
    ALL.into_iter().find(|v| v.as_str() == name).unwrap_or(Verb::Other)
}

/// How much of a selector could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    All,
    Some,
    Nothing,
}

/// `status.evaluationError`: selectors that were left out of the decision.
pub(super) fn evaluation_error(spec: &Value<'_>) -> String {
    let selector = |name| spec.path(&["resourceAttributes", name]);
    let read = [
        ("fieldSelector", selector("fieldSelector").map_or(Read::All, read_fields)),
        ("labelSelector", selector("labelSelector").map_or(Read::All, read_labels)),
    ];
    let said = read.into_iter().filter_map(|(name, read)| {
        let how = match read {
            Read::All => return None,
            Read::Some => "partially ignored",
            Read::Nothing => "ignored",
        };
        Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
    });
    said.collect::<Vec<_>>().join("; ")
}

fn read_fields(selector: &Value<'_>) -> Read {
    let raw = text(selector, "rawSelector");
    if !raw.is_empty() && FieldSelector::parse(raw).is_err() {
        return Read::Nothing;
    }
    read_requirements(selector, |operator, _, values| is_field_term(operator, &values))
}

/// Field selectors compare with one value, and nothing else.
fn is_field_term(operator: &str, values: &[String]) -> bool {
    matches!(operator, "In" | "NotIn") && values.len() == 1
}

fn read_labels(selector: &Value<'_>) -> Read {
    let raw = text(selector, "rawSelector");
    if !raw.is_empty() && LabelSelector::parse(raw).is_err() {
        return Read::Nothing;
    }
    read_requirements(selector, |operator, key, values| {
        let operator = match operator {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return false,
        };
        Requirement::new(key, operator, values).is_ok()
    })
}

fn read_requirements(selector: &Value<'_>, is_known: impl Fn(&str, &str, Vec<String>) -> bool) -> Read {
    let list = selector.path(&["requirements"]).and_then(Value::as_list);
    let (mut known, mut unknown) = (0, 0);
    for requirement in list.into_iter().flatten() {
        let values = texts(requirement.path(&["values"]));
        let counter = match is_known(text(requirement, "operator"), text(requirement, "key"), values) {
            true => &mut known,
            false => &mut unknown,
        };
        *counter += 1;
    }
    match (known, unknown) {
        (_, 0) => Read::All,
        (0, _) => Read::Nothing,
        _ => Read::Some,
    }
}
