//! What expressions ask the authorizers of this server.

use ringbolt_apiserver::{
    admission::dynamic::DynamicRequest,
    authentication::UserInfo,
    authorization::{Authorizers, Decision as Decided},
};
use ringbolt_cel::{Authorizer, Decision, ResourceCheck, Subject, Target};
use ringbolt_protocol::request_info::{RequestInfo, Verb};

/// Asks on behalf of who made a request.
pub(crate) struct RequestAuthorizer<'r> {
    /// Who decides.
    pub(crate) authorizers: &'r Authorizers,
    /// Who made the request.
    pub(crate) user: &'r UserInfo,
}

/// The resource of a request (`authorizer.requestResource`).
pub(crate) fn request_resource<'r>(request: &DynamicRequest<'r>) -> ResourceCheck<'r> {
    let (group, _, resource) = request.resource();
    ResourceCheck {
        group,
        resource,
        subresource: request.attributes.subresource,
        namespace: request.namespace(),
        name: request.object_name(),
        ..ResourceCheck::default()
    }
}

/// A service account as the user that its tokens stand for.
fn service_account(namespace: &str, name: &str) -> UserInfo {
    UserInfo {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        groups: vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")],
        ..UserInfo::default()
    }
}

impl Authorizer for RequestAuthorizer<'_> {
    fn authorize(&self, who: Subject<'_>, what: Target<'_>, verb: &str) -> Decision {
        let account;
        let user = match who {
            Subject::Requester => self.user,
            Subject::ServiceAccount { namespace, name } => {
                account = service_account(namespace, name);
                &account
            }
        };
        let info = match what {
            Target::Path(path) => RequestInfo { path, verb: Verb::Other, ..RequestInfo::default() },
            Target::Resource(of) => RequestInfo {
                is_resource_request: true,
                verb: Verb::Other,
                api_prefix: if of.group.is_empty() { "api" } else { "apis" },
                api_group: of.group,
                api_version: "*",
                namespace: of.namespace,
                resource: of.resource,
                subresource: of.subresource,
                name: of.name,
                ..RequestInfo::default()
            },
        };
        match self.authorizers.authorize_verb(user, verb, &info) {
            Decided::Allow => {
                Decision { allowed: true, reason: self.authorizers.explain(user, verb, &info), error: None }
            }
            Decided::NoOpinion(reason) => Decision { allowed: false, reason, error: None },
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
            let asking = RequestAuthorizer { authorizers: &authorizers, user: &user };
            let of = ResourceCheck { resource: "pods", namespace: "a", ..ResourceCheck::default() };
            assert_eq!(asking.authorize(who, Target::Resource(of), "get").allowed, expect);
            assert_eq!(asking.authorize(who, Target::Path("/metrics"), "get").allowed, expect);
        };
        let of_group = |group: &str| UserInfo { groups: vec![group.to_owned()], ..UserInfo::default() };
        check(of_group("system:masters"), Subject::Requester, true);
        check(of_group("others"), Subject::Requester, false);
        let account = Subject::ServiceAccount { namespace: "a", name: "b" };
        check(of_group("system:masters"), account, false);
        assert_eq!(service_account("a", "b").name, "system:serviceaccount:a:b");
    }
}
