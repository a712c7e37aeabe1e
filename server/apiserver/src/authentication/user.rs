//! `user.Info`: the name, groups and extras that authentication found.

/// The user that requests without credentials run as.
pub const ANONYMOUS: &str = "system:anonymous";
/// Group of every request without credentials.
pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
/// Group of every request whose credentials were good.
pub const ALL_AUTHENTICATED: &str = "system:authenticated";
/// The group that may do everything, and no rule can take that away.
pub const SYSTEM_PRIVILEGED: &str = "system:masters";
/// Key in the extras that names the credential a request came with.
pub const CREDENTIAL_ID_KEY: &str = "authentication.kubernetes.io/credential-id";

/// Key in the extras that names the node of the pod a service account's token is bound to.
pub const SERVICE_ACCOUNT_NODE_NAME_KEY: &str = "authentication.kubernetes.io/node-name";

/// Who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// Name, unique among active users.
    pub name: String,
    /// Identifier that outlives renames; often empty.
    pub uid: String,
    /// Groups, in the order they were found.
    pub groups: Vec<String>,
    /// Further facts by key, each with its values.
    pub extra: Vec<(String, Vec<String>)>,
}

impl UserInfo {
    /// The anonymous user.
    pub fn anonymous() -> Self {
        UserInfo {
            name: ANONYMOUS.to_owned(),
            groups: vec![ALL_UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        }
    }

    /// Whether the user is in a group.
    pub fn is_in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Whether nothing vouches for the user, by name or by group.
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in_group(ALL_UNAUTHENTICATED)
    }

    /// Adds `system:authenticated`, as every authenticator but the anonymous one must.
    pub fn authenticated(mut self) -> Self {
        let already = |g: &String| g == ALL_AUTHENTICATED || g == ALL_UNAUTHENTICATED;
        if self.name != ANONYMOUS && !self.groups.iter().any(already) {
            self.groups.push(ALL_AUTHENTICATED.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, groups: &[&str], expect: &[&str]) {
        let groups = groups.iter().map(|g| (*g).to_owned()).collect();
        let user = UserInfo { name: name.to_owned(), groups, ..UserInfo::default() };
        assert_eq!(user.authenticated().groups, expect);
    }

    #[test]
    fn authenticated_group_is_added_once_and_never_to_the_anonymous() {
        check("alice", &[], &["system:authenticated"]);
        check("alice", &["a"], &["a", "system:authenticated"]);
        check("alice", &["system:authenticated", "a"], &["system:authenticated", "a"]);
        check("alice", &["system:unauthenticated"], &["system:unauthenticated"]);
        check("system:anonymous", &["a"], &["a"]);
    }
}
