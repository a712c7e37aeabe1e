//! What expressions ask of the server's authorizers.

use ringbolt_apiserver::{
    authentication::{
        UserInfo,
        service_account::{Reference, account_user},
    },
    authorization::{Authorizers, Decision as Answer},
};
use ringbolt_cel::{Authorizer, Decision, ResourceCheck, Subject, Target};
use ringbolt_protocol::{
    request_info::{RequestInfo, SelectedFields, Verb},
    selector::FieldSelector,
};

/// Asks in the name of who made a request.
pub struct Asker<'a> {
    /// Who decides.
    pub authorizers: &'a Authorizers,
    /// Who made the request.
    pub user: &'a UserInfo,
}

impl Authorizer for Asker<'_> {
    fn authorize(&self, who: Subject<'_>, what: Target<'_>, verb: &str) -> Decision {
        let account;
        let user = match who {
            Subject::Requester => self.user,
            Subject::ServiceAccount { namespace, name } => {
                account = account_user(namespace, &Reference { name: name.to_owned(), uid: String::new() });
                &account
            }
        };
        match what {
            Target::Path(path) => {
                self.decide(user, verb, &RequestInfo { path, verb: Verb::Other, ..RequestInfo::default() })
            }
            Target::Resource(check) => self.resource(user, verb, check),
        }
    }
}

impl Asker<'_> {
    fn resource(&self, user: &UserInfo, verb: &str, check: ResourceCheck<'_>) -> Decision {
        // A selector that cannot be read selects by nothing: the question is about all objects then.
        let fields = FieldSelector::parse(check.field_selector).map(|s| s.requirements).unwrap_or_default();
        self.decide(
            user,
            verb,
            &RequestInfo {
                is_resource_request: true,
                verb: Verb::Other,
                api_prefix: if check.group.is_empty() { "api" } else { "apis" },
                api_group: check.group,
                api_version: "*",
                namespace: check.namespace,
                resource: check.resource,
                subresource: check.subresource,
                name: check.name,
                fields: SelectedFields::Terms(&fields),
                ..RequestInfo::default()
            },
        )
    }

    fn decide(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        match self.authorizers.authorize_verb(user, verb, info) {
            Answer::Allow => {
                Decision { allowed: true, reason: self.authorizers.explain(user, verb, info), error: None }
            }
            Answer::NoOpinion(reason) => Decision { allowed: false, reason, error: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_apiserver::authorization::Mode;

    use super::*;

    #[test]
    fn administrators_may_and_others_may_not() {
        let authorizers = Authorizers::of_modes(&[Mode::Rbac]);
        let check = |user: UserInfo, who: Subject<'_>, expect: bool| {
            let asker = Asker { authorizers: &authorizers, user: &user };
            let of = ResourceCheck { resource: "pods", namespace: "a", ..ResourceCheck::default() };
            assert_eq!(asker.authorize(who, Target::Resource(of), "get").allowed, expect);
            assert_eq!(asker.authorize(who, Target::Path("/metrics"), "get").allowed, expect);
        };
        let of_group = |group: &str| UserInfo { groups: vec![group.to_owned()], ..UserInfo::default() };
        check(of_group("system:masters"), Subject::Requester, true);
        check(of_group("others"), Subject::Requester, false);
        let account = Subject::ServiceAccount { namespace: "a", name: "b" };
        check(of_group("system:masters"), account, false);
    }
}
