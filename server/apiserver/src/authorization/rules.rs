//! Rules instead of decisions (`RuleResolver`): what a user may do, as far as the modes can list it.

use super::{Authorizers, Mode};
use crate::authentication::{UserInfo, user::SYSTEM_PRIVILEGED};

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
}

impl Rules {
    fn allow_everything(&mut self) {
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

/// The paths of the bootstrap role `system:public-info-viewer`.
pub(super) const PUBLIC_PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

impl Authorizers {
    /// What a user may do, mode by mode.
    pub fn rules_for(&self, user: &UserInfo) -> Rules {
        let mut rules = Rules::default();
        for mode in &self.0 {
            match mode {
                Mode::AlwaysAllow => rules.allow_everything(),
                Mode::Rbac => {
                    // Its bootstrap policy binds the administrators' group to everything.
                    if user.is_in_group(SYSTEM_PRIVILEGED) {
                        rules.allow_everything();
                    }
                    let paths = PUBLIC_PATHS.map(str::to_owned).to_vec();
                    rules.non_resource.push((vec!["get".to_owned()], paths));
                }
                // The Node mode decides by what runs on a node, which no rule can say.
                Mode::AlwaysDeny | Mode::Node => {}
            }
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_by_mode() {
        let check = |modes: &[Mode], groups: &[&str], resource: usize, paths: &[&str]| {
            let groups = groups.iter().map(|g| (*g).to_owned()).collect();
            let user = UserInfo { name: "u".to_owned(), groups, ..UserInfo::default() };
            let rules = Authorizers::new(modes.to_vec()).rules_for(&user);
            let found: Vec<&str> = rules.non_resource.iter().map(|(_, urls)| urls[0].as_str()).collect();
            assert_eq!((rules.resource.len(), found.as_slice()), (resource, paths), "{modes:?} {user:?}");
        };
        let rbac = [Mode::Node, Mode::Rbac];
        check(&rbac, &[], 0, &["/healthz"]);
        check(&rbac, &["system:masters"], 1, &["*", "/healthz"]);
        check(&[Mode::AlwaysAllow], &[], 1, &["*"]);
        check(&[Mode::AlwaysDeny], &["system:masters"], 0, &[]);
    }
}
