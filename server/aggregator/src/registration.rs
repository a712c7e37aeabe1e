//! APIServices that the server makes for what it serves itself (`autoRegisterController`).

use crate::api_service::{AUTOMANAGED, ApiService, GROUP, VERSION};

/// Value of the label for group-versions that are made sure of once, at the start.
pub(crate) const ON_START: &str = "onstart";
/// Value of the label for group-versions that are looked after as long as the server runs.
pub(crate) const ALWAYS: &str = "true";

/// An APIService that should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) group_priority: i64,
    pub(crate) version_priority: i64,
    /// Looked after all the time, or at the start alone.
    pub(crate) always: bool,
}

/// What to do about an APIService.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    Create,
    Update,
    Delete,
}

impl Wanted {
    /// Its name.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    fn is_spec_of(&self, current: &ApiService) -> bool {
        self.group == current.group
            && self.version == current.version
            && self.group_priority == current.group_priority
            && self.version_priority == current.version_priority
            && current.service.is_none()
            && current.ca_bundle.is_empty()
            && !current.insecure_skip_tls_verify
    }

    /// Its spec, as JSON. Names of groups and versions need no escaping.
    pub(crate) fn spec(&self) -> String {
        let group =
            if self.group.is_empty() { String::new() } else { format!(r#""group":"{}","#, self.group) };
        format!(
            r#"{{{group}"version":"{}","groupPriorityMinimum":{},"versionPriority":{}}}"#,
            self.version, self.group_priority, self.version_priority
        )
    }

    /// The whole object, as JSON.
    pub(crate) fn object(&self) -> String {
        let managed = if self.always { ALWAYS } else { ON_START };
        format!(
            r#"{{"kind":"APIService","apiVersion":"{GROUP}/{VERSION}","metadata":{{"name":"{}","labels":{{"{AUTOMANAGED}":"{managed}"}}}},"spec":{}}}"#,
            self.name(),
            self.spec()
        )
    }
}

/// What is to be done, `synced` being whether that was done before since the server started, and `at_start` whether the
/// object was there then. What users made their own is left alone, and so is what they changed after the start.
pub(crate) fn decide(
    wanted: Option<&Wanted>,
    current: Option<&ApiService>,
    synced: bool,
    at_start: bool,
) -> Action {
    if wanted.is_some_and(|wanted| !wanted.always) && synced {
        return Action::Nothing;
    }
    let Some(current) = current else {
        return if wanted.is_some() { Action::Create } else { Action::Nothing };
    };
    match &*current.automanaged {
        ALWAYS => {}
        ON_START if at_start && !synced => {}
        _ => return Action::Nothing,
    }
    match wanted {
        None => Action::Delete,
        Some(wanted) if wanted.is_spec_of(current) => Action::Nothing,
        Some(_) => Action::Update,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn wanted(always: bool) -> Wanted {
        Wanted {
            group: "a.b".to_owned(),
            version: "v1".to_owned(),
            group_priority: 1000,
            version_priority: 100,
            always,
        }
    }

    fn current(automanaged: &str, version_priority: i64) -> ApiService {
        ApiService {
            name: "v1.a.b".to_owned(),
            uid: "u".to_owned(),
            revision: 1,
            automanaged: automanaged.to_owned(),
            group: "a.b".to_owned(),
            version: "v1".to_owned(),
            group_priority: 1000,
            version_priority,
            service: None,
            ca_bundle: Bytes::new(),
            insecure_skip_tls_verify: false,
            available: true,
        }
    }

    /// The table that stands above `checkAPIService`, row by row; columns: not wanted, at the start, always.
    #[test]
    fn decisions() {
        use Action::{Create, Delete, Nothing, Update};
        let check = |row: &str, current: Option<&ApiService>, synced, at_start, expect: [Action; 3]| {
            let wanted = [None, Some(wanted(false)), Some(wanted(true))];
            let found = wanted.each_ref().map(|w| decide(w.as_ref(), current, synced, at_start));
            assert_eq!(found, expect, "{row}");
        };
        check("none", None, false, false, [Nothing, Create, Create]);
        check("none any more", None, true, true, [Nothing, Nothing, Create]);
        let users = current("", 7);
        check("a user's", Some(&users), false, true, [Nothing; 3]);
        let on_start = current(ON_START, 7);
        check("at the start, made since", Some(&on_start), false, false, [Nothing; 3]);
        check("at the start, there then", Some(&on_start), false, true, [Delete, Update, Update]);
        check("at the start, done", Some(&on_start), true, true, [Nothing; 3]);
        let always = current(ALWAYS, 7);
        check("always", Some(&always), false, false, [Delete, Update, Update]);
        check("always, done once", Some(&always), true, true, [Delete, Nothing, Update]);
        let same = current(ALWAYS, 100);
        check("as it should be", Some(&same), false, true, [Delete, Nothing, Nothing]);
    }

    #[test]
    fn objects() {
        assert_eq!(
            wanted(true).object(),
            r#"{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"v1.a.b","labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},"spec":{"group":"a.b","version":"v1","groupPriorityMinimum":1000,"versionPriority":100}}"#
        );
        let core = Wanted { group: String::new(), ..wanted(false) };
        assert_eq!(core.name(), "v1.");
        assert_eq!(core.spec(), r#"{"version":"v1","groupPriorityMinimum":1000,"versionPriority":100}"#);
    }
}
