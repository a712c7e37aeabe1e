//! The policy of a new cluster as it is written down in `policy.tbl`, which says how it is to be read.

use crate::rbac::PolicyRule;

const TABLE: &str = include_str!("policy.tbl");

/// Before the name of a controller in the names of its role and its binding.
const CONTROLLER: &str = "system:controller:";
/// Where the service accounts of controllers are.
const KUBE_SYSTEM: &str = "kube-system";

/// A role or a binding of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyObject {
    /// Empty for one that holds everywhere.
    pub(super) namespace: &'static str,
    pub(super) name: String,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Role(Role),
    Binding(Binding),
}

/// What a role says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    /// The role that what it allows is added to.
    pub(super) into: Option<&'static str>,
    /// The role whose parts it is made of, for one that is made of others.
    pub(super) from: Option<&'static str>,
    pub(super) rules: Vec<PolicyRule<'static>>,
}

/// What a binding says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) role: String,
    pub(super) subjects: Vec<Subject>,
}

/// Whom a role is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    User(&'static str),
    Group(&'static str),
    Account { namespace: &'static str, name: &'static str },
}

/// All objects: roles that hold everywhere, bindings that do, roles of namespaces, their bindings.
pub(super) fn objects() -> Vec<PolicyObject> {
    let mut parts: [Vec<PolicyObject>; 4] = Default::default();
    let mut last = 0;
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with(' ') {
            if let Some(PolicyObject { content: Content::Role(role), .. }) = parts[last].last_mut() {
                role.rules.push(rule(line));
            }
            continue;
        }
        let mut words = line.split_whitespace();
        let (word, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        last = match word {
            "controller" => {
                let account = Subject::Account { namespace: KUBE_SYSTEM, name };
                let name = format!("{CONTROLLER}{name}");
                let binding = Binding { role: name.clone(), subjects: vec![account] };
                let content = Content::Binding(binding);
                parts[1].push(PolicyObject { namespace, name: name.clone(), content });
                parts[0].push(PolicyObject { namespace, name, content: Content::Role(Role::default()) });
                0
            }
            "clusterrole" | "role" => {
                let content = Content::Role(role(words));
                let part = if namespace.is_empty() { 0 } else { 2 };
                parts[part].push(PolicyObject { namespace, name: name.to_owned(), content });
                part
            }
            _ => {
                let content = Content::Binding(binding(name, words));
                let part = if namespace.is_empty() { 1 } else { 3 };
                parts[part].push(PolicyObject { namespace, name: name.to_owned(), content });
                part
            }
        };
    }
    parts.concat()
}

/// The words after the name of a role.
fn role(words: impl Iterator<Item = &'static str>) -> Role {
    let mut role = Role::default();
    for word in words {
        match word.split_once(':') {
            Some(("into", other)) => role.into = Some(other),
            Some(("from", other)) => role.from = Some(other),
            _ => debug_assert!(false, "{word} says nothing of a role"),
        }
    }
    role
}

/// The words after the name of a binding.
fn binding(name: &str, words: impl Iterator<Item = &'static str>) -> Binding {
    let mut binding = Binding { role: name.to_owned(), subjects: Vec::new() };
    for word in words {
        match word.split_once('=') {
            Some(("to", role)) => binding.role = role.to_owned(),
            Some(("user", name)) => binding.subjects.push(Subject::User(name)),
            Some(("group", name)) => binding.subjects.push(Subject::Group(name)),
            Some(("account", account)) => {
                let (namespace, name) = account.split_once('/').unwrap_or((KUBE_SYSTEM, account));
                binding.subjects.push(Subject::Account { namespace, name });
            }
            _ => debug_assert!(false, "{word} says nothing of a binding"),
        }
    }
    binding
}

/// A line that is set off.
fn rule(line: &'static str) -> PolicyRule<'static> {
    let mut columns = line.split_whitespace();
    let mut rule =
        PolicyRule { verbs: columns.next().map(verbs).unwrap_or_default(), ..PolicyRule::default() };
    let of: Vec<_> = columns.map(|column| column.split(',').collect::<Vec<_>>()).collect();
    match of.as_slice() {
        [urls] => rule.non_resource_urls.clone_from(urls),
        [groups, resources, names @ ..] => {
            rule.api_groups = groups.iter().map(|group| if *group == "core" { "" } else { *group }).collect();
            rule.resources.clone_from(resources);
            rule.resource_names = names.concat();
        }
        [] => debug_assert!(false, "{line} is no rule"),
    }
    rule
}

fn verbs(word: &'static str) -> Vec<&'static str> {
    match word {
        "read" => vec!["get", "list", "watch"],
        "readupdate" => vec!["get", "list", "patch", "update", "watch"],
        "write" => vec!["create", "delete", "deletecollection", "patch", "update"],
        "readwrite" => {
            vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
        verbs => verbs.split(',').collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn find(namespace: &str, name: &str, role: bool) -> Content {
        let is = |content: &Content| matches!(content, Content::Role(_)) == role;
        let mut found =
            objects().into_iter().filter(|o| o.namespace == namespace && o.name == name && is(&o.content));
        let object = found.next().unwrap();
        assert_eq!(found.next(), None, "{name} is there once");
        object.content
    }

    #[test]
    fn lines_become_objects() {
        let all = || vec!["*"];
        let everything =
            PolicyRule { verbs: all(), api_groups: all(), resources: all(), ..PolicyRule::default() };
        let paths = PolicyRule { verbs: all(), non_resource_urls: all(), ..PolicyRule::default() };
        assert_eq!(
            find("", "cluster-admin", true),
            Content::Role(Role { rules: vec![everything, paths], ..Role::default() })
        );
        assert_eq!(
            find("", "edit", true),
            Content::Role(Role { into: Some("admin"), from: Some("edit"), rules: Vec::new() })
        );
        let role = "extension-apiserver-authentication-reader";
        let subjects =
            vec![Subject::User("system:kube-controller-manager"), Subject::User("system:kube-scheduler")];
        assert_eq!(
            find("kube-system", "system::extension-apiserver-authentication-reader", false),
            Content::Binding(Binding { role: role.to_owned(), subjects })
        );
        let trust = PolicyRule {
            verbs: vec!["get", "list", "watch"],
            api_groups: vec![""],
            resources: vec!["configmaps"],
            resource_names: vec!["extension-apiserver-authentication"],
            ..PolicyRule::default()
        };
        assert_eq!(
            find("kube-system", role, true),
            Content::Role(Role { rules: vec![trust], ..Role::default() })
        );
        let account = Subject::Account { namespace: "kube-system", name: "job-controller" };
        assert_eq!(
            find("", "system:controller:job-controller", false),
            Content::Binding(Binding {
                role: "system:controller:job-controller".to_owned(),
                subjects: vec![account]
            })
        );
    }

    /// Every binding gives a role that is there, and every role but those that are made of others allows something.
    #[test]
    fn the_table_is_whole() {
        let objects = objects();
        let of = |want_role: bool, cluster: bool| {
            let is = |o: &&PolicyObject| {
                matches!(o.content, Content::Role(_)) == want_role && o.namespace.is_empty() == cluster
            };
            objects.iter().filter(is).count()
        };
        assert_eq!([of(true, true), of(false, true), of(true, false), of(false, false)], [73, 54, 7, 7]);
        let mut roles = HashSet::new();
        for object in &objects {
            match &object.content {
                Content::Role(role) => {
                    assert_eq!(role.rules.is_empty(), role.from.is_some(), "{}", object.name);
                    assert!(roles.insert((object.namespace, &object.name)), "{} is there twice", object.name);
                }
                Content::Binding(binding) => {
                    assert!(roles.contains(&(object.namespace, &binding.role)), "{}", object.name);
                }
            }
        }
    }

    /// Lists are written down sorted, as the policy of every server has them: else one of them would not be equal.
    #[test]
    fn lists_are_sorted() {
        for object in objects() {
            let Content::Role(role) = object.content else { continue };
            for PolicyRule { verbs, api_groups, resources, resource_names, non_resource_urls } in role.rules {
                for list in [verbs, api_groups, resources, resource_names, non_resource_urls] {
                    assert!(list.is_sorted(), "{} {list:?}", object.name);
                }
            }
        }
    }
}
