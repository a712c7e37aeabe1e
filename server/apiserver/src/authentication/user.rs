//! `user.Info`: the name, groups and extras that authentication found.

/// The user that requests without credentials run as.
pub const ANONYMOUS: &str = "system:anonymous";
/// Group of every request without credentials.
pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
/// Group of every request whose credentials were good.
pub const ALL_AUTHENTICATED: &str = "system:authenticated";
/// The group that may do everything, and no rule can take that away.
pub const SYSTEM_PRIVILEGED: &str = "system:masters";

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
}
