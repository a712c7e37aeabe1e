//! Which users are nodes, and which node each is.

use crate::authentication::UserInfo;

/// The group of all nodes (`user.NodesGroup`).
pub const NODES_GROUP: &str = "system:nodes";
/// What names of nodes as users begin with.
const PREFIX: &str = "system:node:";

/// The node that a user is, by its name and group. The name may be empty: a node that none can be told to be.
pub fn node_identity(user: &UserInfo) -> Option<&str> {
    let name = user.name.strip_prefix(PREFIX)?;
    user.is_in_group(NODES_GROUP).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_group() {
        let check = |name: &str, groups: &[&str], expect: Option<&str>| {
            let groups = groups.iter().map(|g| (*g).to_owned()).collect();
            let user = UserInfo { name: name.to_owned(), groups, ..UserInfo::default() };
            assert_eq!(node_identity(&user), expect, "{name} {groups:?}", groups = user.groups);
        };
        check("system:node:n", &["system:nodes"], Some("n"));
        check("system:node:", &["a", "system:nodes"], Some(""));
        check("system:node:n", &["system:node"], None);
        check("system:node:n", &[], None);
        check("n", &["system:nodes"], None);
        check("System:node:n", &["system:nodes"], None);
    }
}
