//! Which requests a policy, a binding or a webhook is about: rules, and selectors of labels.

use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};
use ringbolt_protocol::selector::LabelSelector;

use super::{DynamicRequest, Version};
use crate::{admission::Operation, endpoints::label_selector};

/// A rule (`RuleWithOperations`), perhaps about named objects only.
#[derive(Clone, Debug, Default)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Each a resource and a part of it, which is empty for the resource itself.
    resources: Vec<(String, String)>,
    scope: String,
    names: Vec<String>,
}

/// What matches (`MatchResources`, or what a webhook has of it).
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    exact: bool,
    /// Whether it matches everything where it has no rules.
    open: bool,
    namespaces: LabelSelector,
    objects: LabelSelector,
    /// Why one of the selectors selects nothing that can be said.
    broken: Option<String>,
}

/// As what a request matched.
#[derive(Clone, Copy)]
pub struct Matched<'r> {
    /// Group, version and name of the resource.
    pub resource: (&'r str, &'r str, &'r str),
    /// The version of the object that is to be shown.
    pub version: Version<'r>,
}

fn texts(map: &Map<'_>, member: &str) -> Vec<String> {
    let list = map.get(member).and_then(Value::as_list).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn any(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

impl Rule {
    fn read(rule: &Map<'_>) -> Rule {
        let resources = texts(rule, "resources").into_iter().map(|text| match text.split_once('/') {
            Some((resource, part)) => (resource.to_owned(), part.to_owned()),
            None => (text, String::new()),
        });
        Rule {
            operations: texts(rule, "operations"),
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            resources: resources.collect(),
            scope: rule.get("scope").and_then(Value::as_str).unwrap_or("*").to_owned(),
            names: texts(rule, "resourceNames"),
        }
    }

    fn list(of: &Map<'_>, member: &str) -> Vec<Rule> {
        let list = of.get(member).and_then(Value::as_list).into_iter().flatten();
        list.filter_map(Value::as_map).map(Rule::read).collect()
    }

    /// Whether it is about a request, were that about `resource`.
    fn matches(&self, request: &DynamicRequest<'_>, resource: (&str, &str, &str)) -> bool {
        let (group, version, name) = resource;
        let is_namespace = resource == ("", "v1", "namespaces");
        let namespaced = !is_namespace && !request.namespace().is_empty();
        let scope = match self.scope.as_str() {
            "*" => true,
            "Namespaced" => namespaced,
            "Cluster" => !namespaced,
            _ => false,
        };
        let part = request.attributes.subresource;
        scope
            && any(&self.operations, request.attributes.operation.as_str())
            && any(&self.groups, group)
            && any(&self.versions, version)
            && self.resources.iter().any(|(r, p)| (r == "*" || r == name) && (p == "*" || p == part))
    }

    fn names(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|n| n == name)
    }
}

impl Matcher {
    /// `MatchResources` of a policy or a binding.
    pub fn of_policy(resources: &Map<'_>) -> Matcher {
        Matcher {
            rules: Rule::list(resources, "resourceRules"),
            excluded: Rule::list(resources, "excludeResourceRules"),
            open: true,
            ..Matcher::selecting(resources)
        }
    }

    /// What a webhook says.
    pub fn of_webhook(hook: &Map<'_>) -> Matcher {
        Matcher { rules: Rule::list(hook, "rules"), ..Matcher::selecting(hook) }
    }

    /// One that matches everything.
    pub fn everything() -> Matcher {
        Matcher { open: true, ..Matcher::default() }
    }

    fn selecting(of: &Map<'_>) -> Matcher {
        let mut broken = None;
        let mut selector = |member| {
            label_selector::selector(of.get(member)).map(Option::unwrap_or_default).unwrap_or_else(|why| {
                broken = Some(why.to_string());
                LabelSelector::default()
            })
        };
        let (namespaces, objects) = (selector("namespaceSelector"), selector("objectSelector"));
        let exact = of.get("matchPolicy").and_then(Value::as_str) != Some("Equivalent");
        Matcher { exact, namespaces, objects, broken, ..Matcher::default() }
    }

    /// Whether it may match a request, as far as its rules say: no look at any object.
    pub fn may_match(&self, request: &DynamicRequest<'_>) -> bool {
        self.rules.is_empty() && self.open || self.by_rules(&self.rules, request).is_some()
    }

    /// As what it matches a request, if it does.
    ///
    /// # Errors
    /// It matches by its rules, but the namespace is not there.
    pub fn matches<'r>(
        &self,
        request: &DynamicRequest<'r>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<Option<Matched<'r>>, Status> {
        let in_namespace = match &self.broken {
            Some(why) => Err(Status::internal_error(why)),
            None => self.selects_namespace(request, object),
        };
        if matches!(in_namespace, Ok(false)) || self.broken.is_none() && !self.selects_object(object, old) {
            return Ok(None);
        }
        if self.by_rules(&self.excluded, request).is_some() {
            return Ok(None);
        }
        let matched = match self.rules.is_empty() && self.open {
            true => Some(Matched { resource: request.resource(), version: request.version() }),
            false => self.by_rules(&self.rules, request),
        };
        match matched {
            None => Ok(None),
            Some(matched) => in_namespace.map(|_| Some(matched)),
        }
    }

    fn by_rules<'r>(&self, rules: &[Rule], request: &DynamicRequest<'r>) -> Option<Matched<'r>> {
        let name = request.object_name();
        let resource = request.resource();
        let hits = |resource| rules.iter().any(|rule| rule.matches(request, resource) && rule.names(name));
        if rules.is_empty() {
            return None;
        }
        if hits(resource) {
            return Some(Matched { resource, version: request.version() });
        }
        if self.exact {
            return None;
        }
        // Other versions of the same objects; a part has none that the whole has not.
        request.other_versions().find_map(|version| {
            let resource = (version.group, version.version, resource.2);
            hits(resource).then_some(Matched { resource, version })
        })
    }

    fn selects_namespace(
        &self,
        request: &DynamicRequest<'_>,
        object: Option<&Value<'_>>,
    ) -> Result<bool, Status> {
        let name = request.namespace();
        let is_namespaces = request.attributes.served.facts.resource == "namespaces";
        if name.is_empty() && !is_namespaces || self.namespaces.is_empty() {
            return Ok(true);
        }
        let written = matches!(request.attributes.operation, Operation::Create | Operation::Update);
        if is_namespaces && request.attributes.subresource.is_empty() && written {
            return Ok(object.is_some_and(|object| has_labels(object, &self.namespaces)));
        }
        let Some(namespace) = request.namespace_object(name) else {
            return Err(Status::not_found("", "namespaces", name));
        };
        Ok(self
            .namespaces
            .matches(|key| namespace.labels().find(|(label, _)| *label == key).map(|(_, value)| value)))
    }

    fn selects_object(&self, object: Option<&Value<'_>>, old: Option<&Value<'_>>) -> bool {
        self.objects.is_empty()
            || object.into_iter().chain(old).any(|object| has_labels(object, &self.objects))
    }
}

fn has_labels(object: &Value<'_>, selector: &LabelSelector) -> bool {
    let labels = object.path(&["metadata", "labels"]);
    selector.matches(|key| labels.and_then(|labels| labels.path(&[key])).and_then(Value::as_str))
}

/// Whether a request is about what says what admission does: nothing that comes and goes may stand in its way.
pub fn is_exempt(request: &DynamicRequest<'_>) -> bool {
    let facts = request.attributes.served.facts;
    facts.group == "admissionregistration.k8s.io"
        && matches!(
            facts.resource,
            "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
                | "mutatingwebhookconfigurations"
                | "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "validatingwebhookconfigurations"
        )
}
