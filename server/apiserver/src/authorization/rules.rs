//! Rules instead of decisions (`RuleResolver`): what a user may do, as far as the modes can list it.

/// What a user may do to resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs, `*` for all.
    pub verbs: Vec<String>,
    /// Groups, `*` for all.
    pub api_groups: Vec<String>,
    /// Resources and subresources, `*` for all.
    pub resources: Vec<String>,
    /// Names; none for all.
    pub resource_names: Vec<String>,
}

/// All rules that hold for a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// About resources.
    pub resource: Vec<ResourceRule>,
    /// About paths: verbs, and paths with `*` for any end.
    pub non_resource: Vec<(Vec<String>, Vec<String>)>,
    /// Some authorizer cannot list its rules, or not all of them.
    pub incomplete: bool,
    /// What was not found on the way, each in a text of its own.
    pub errors: Vec<String>,
}

/// Many errors as one (`utilerrors.Aggregate`): each text once, in brackets where there are several; empty for none.
pub(super) fn aggregate(errors: &[String]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for error in errors {
        if !seen.contains(&error.as_str()) {
            seen.push(error);
        }
    }
    match seen.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        all => format!("[{}]", all.join(", ")),
    }
}

impl Rules {
    /// The errors as reviews tell them.
    pub fn evaluation_error(&self) -> String {
        aggregate(&self.errors)
    }

    pub(super) fn allow_everything(&mut self) {
        let all = || vec!["*".to_owned()];
        self.resource.push(ResourceRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            resource_names: Vec::new(),
        });
        self.non_resource.push((all(), all()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        authentication::UserInfo,
        authorization::{Authorizers, Mode},
    };

    #[test]
    fn rules_by_mode() {
        let check = |modes: &[Mode], groups: &[&str], resource: usize, paths: &[&str]| {
            let groups = groups.iter().map(|g| (*g).to_owned()).collect();
            let user = UserInfo { name: "u".to_owned(), groups, ..UserInfo::default() };
            let rules = Authorizers::of_modes(modes).rules_for(&user, "ns");
            let found: Vec<&str> = rules.non_resource.iter().map(|(_, urls)| urls[0].as_str()).collect();
            assert_eq!((rules.resource.len(), found.as_slice()), (resource, paths), "{modes:?} {user:?}");
        };
        let rbac = [Mode::Node, Mode::Rbac];
        // Administrators may do everything by their group, and have rules only where a role says so.
        check(&rbac, &["system:masters"], 0, &[]);
        check(&[Mode::AlwaysAllow], &[], 1, &["*"]);
        check(&[Mode::AlwaysDeny], &["system:masters"], 0, &[]);
    }

    #[test]
    fn errors_as_one() {
        let check = |errors: &[&str], expect: &str| {
            let errors = errors.iter().map(|error| (*error).to_owned()).collect();
            assert_eq!(Rules { errors, ..Rules::default() }.evaluation_error(), expect);
        };
        check(&[], "");
        check(&["a"], "a");
        check(&["a", "a"], "a");
        check(&["b", "a", "b"], "[b, a]");
    }
}
