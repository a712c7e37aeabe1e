//! SelfSubjectRulesReview: what the asker may do in a namespace, as rules.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};

use crate::{
    authentication::UserInfo,
    authorization::{Authorizers, ResourceRule, Rules},
};

/// The review, which says nothing of what was asked.
pub(super) fn review<'a>(
    arena: &'a Bump,
    authorizers: &Authorizers,
    review: &Value<'a>,
    asker: &UserInfo,
) -> Result<Value<'a>, Status> {
    let namespace = review.str_at(&["spec", "namespace"]).unwrap_or("");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let rules = authorizers.rules_for(asker, namespace);
    let mut status = Map::new_in(arena);
    status.push_unique("resourceRules", Value::List(resource_rules(arena, &rules)));
    let mut list = ArenaVec::new_in(arena);
    for (verbs, urls) in &rules.non_resource {
        let mut rule = Map::new_in(arena);
        rule.push_unique("verbs", texts(arena, verbs));
        rule.push_unique("nonResourceURLs", texts(arena, urls));
        list.push(Value::Map(rule));
    }
    status.push_unique("nonResourceRules", Value::List(list));
    status.push_unique("incomplete", Value::Bool(rules.incomplete));
    let error = rules.evaluation_error();
    if !error.is_empty() {
        status.push_unique("evaluationError", Value::String(arena.alloc_str(&error)));
    }
    let mut answer = Map::new_in(arena);
    answer.push_unique("metadata", Value::Map(Map::new_in(arena)));
    answer.push_unique("status", Value::Map(status));
    Ok(Value::Map(answer))
}

fn resource_rules<'a>(arena: &'a Bump, rules: &Rules) -> ArenaVec<'a, Value<'a>> {
    let mut list = ArenaVec::new_in(arena);
    for ResourceRule { verbs, api_groups, resources, resource_names } in &rules.resource {
        let mut rule = Map::new_in(arena);
        rule.push_unique("verbs", texts(arena, verbs));
        rule.push_unique("apiGroups", texts(arena, api_groups));
        rule.push_unique("resources", texts(arena, resources));
        if !resource_names.is_empty() {
            rule.push_unique("resourceNames", texts(arena, resource_names));
        }
        list.push(Value::Map(rule));
    }
    list
}

fn texts<'a>(arena: &'a Bump, from: &[String]) -> Value<'a> {
    let mut list = ArenaVec::with_capacity_in(from.len(), arena);
    list.extend(from.iter().map(|text| Value::String(arena.alloc_str(text))));
    Value::List(list)
}
