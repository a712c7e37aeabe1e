//! Requests without credentials.

use std::sync::Arc;

use super::UserInfo;

/// Who may come without credentials, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anonymous {
    enabled: bool,
    /// The only paths that may be asked for so; none for all.
    paths: Vec<String>,
    user: Arc<UserInfo>,
}

impl Anonymous {
    /// Nobody, or everybody with any request: `--anonymous-auth`.
    pub fn new(enabled: bool) -> Self {
        Anonymous { enabled, paths: Vec::new(), user: Arc::new(UserInfo::anonymous()) }
    }

    /// Everybody, with these paths only; with any where none is given.
    pub fn with_paths(paths: Vec<String>) -> Self {
        Anonymous { paths, ..Anonymous::new(true) }
    }

    /// Whether anybody is let through.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The anonymous user, where it may ask for `path`.
    pub(super) fn user(&self, path: &str) -> Option<Arc<UserInfo>> {
        let admitted = self.enabled && (self.paths.is_empty() || self.paths.iter().any(|p| p == path));
        admitted.then(|| self.user.clone())
    }

    /// The anonymous user of a token that says nothing, in a review, which has no path.
    pub(super) fn user_without_path(&self) -> Option<Arc<UserInfo>> {
        (self.enabled && self.paths.is_empty()).then(|| self.user.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let check = |anonymous: &Anonymous, path: &str, expect: bool| {
            assert_eq!(anonymous.user(path).is_some(), expect, "{anonymous:?} {path}");
        };
        check(&Anonymous::new(true), "/api", true);
        check(&Anonymous::new(false), "/api", false);
        let some = Anonymous::with_paths(vec!["/livez".to_owned(), "/readyz".to_owned()]);
        check(&some, "/livez", true);
        check(&some, "/livez/", false);
        check(&some, "/livez/ping", false);
        check(&some, "/LIVEZ", false);
        check(&Anonymous::with_paths(Vec::new()), "/api", true);
        assert!(some.user_without_path().is_none());
        assert!(Anonymous::new(true).user_without_path().is_some());
    }
}
