//! Parts of rules put together for people to read (`CompactRules`).

use std::collections::{BTreeSet, HashMap};

use super::PolicyRule;

/// Describes parts that are not held, each once and sorted: the verbs on a resource in one, those on paths one by one.
pub(crate) fn describe(missing: &[PolicyRule<'_>]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut resources: HashMap<_, PolicyRule<'_>> = HashMap::new();
    for part in missing {
        if !part.non_resource_urls.is_empty() {
            paths.push(part.to_string());
            continue;
        }
        let of = (&part.api_groups, &part.resources, &part.resource_names);
        match resources.get_mut(&of) {
            Some(compacted) => compacted.verbs.extend(&part.verbs),
            None => {
                resources.insert(of, part.clone());
            }
        }
    }
    let described: BTreeSet<_> = resources.values().map(ToString::to_string).chain(paths).collect();
    described.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_put_together() {
        let resource = |verb, name: Option<&'static str>| PolicyRule {
            verbs: vec![verb],
            api_groups: vec![""],
            resources: vec!["pods"],
            resource_names: name.into_iter().collect(),
            ..PolicyRule::default()
        };
        let url =
            |verb| PolicyRule { verbs: vec![verb], non_resource_urls: vec!["/x"], ..PolicyRule::default() };
        let missing = [
            resource("list", None),
            url("put"),
            resource("get", Some("n")),
            resource("get", None),
            url("get"),
            resource("get", None),
            url("get"),
        ];
        assert_eq!(
            describe(&missing),
            [
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["n"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list" "get" "get"]}"#,
                r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/x"], Verbs:["put"]}"#,
            ]
        );
    }
}
