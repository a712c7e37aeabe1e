//! Reviews: what clients ask about users and permissions. Answered at once, never stored.

mod access;
mod attributes;
mod rules;
mod rules_body;
mod user_info;
mod validation;

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    schema::{Resource, Schema},
    status::Status,
    table::DEFAULT_PRINTER,
    value::Value,
};
use ringbolt_protocol::{query::CreateOptions, request_info::Verb};
use ringbolt_storage::object::ResourceId;

use crate::{
    authentication::{Authenticators, UserInfo, service_account::Lookup},
    authorization::{Authorizers, Rules},
    endpoints::{
        answer,
        managed_fields::Tracker,
        not_stored::{self, Sent},
        resource::ResourceStore,
    },
    request::Request,
    response::Outcome,
    routes::ResourceEndpoint,
};

/// Who answers reviews.
#[derive(Clone)]
pub struct Reviewers {
    /// Who a token stands for.
    pub authenticators: Arc<Authenticators>,
    /// Who may do what.
    pub authorizers: Arc<Authorizers>,
    /// `--api-audiences`: whom tokens are for that name no one themselves.
    pub api_audiences: Arc<[String]>,
}

/// The kinds of reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SubjectAccess,
    SelfSubjectAccess,
    LocalSubjectAccess,
    SelfSubjectRules,
    SelfSubject,
    Token,
}

impl Kind {
    fn of(facts: &Resource) -> Option<Kind> {
        Some(match (facts.group, facts.kind) {
            ("authorization.k8s.io", "SubjectAccessReview") => Kind::SubjectAccess,
            ("authorization.k8s.io", "SelfSubjectAccessReview") => Kind::SelfSubjectAccess,
            ("authorization.k8s.io", "LocalSubjectAccessReview") => Kind::LocalSubjectAccess,
            ("authorization.k8s.io", "SelfSubjectRulesReview") => Kind::SelfSubjectRules,
            ("authentication.k8s.io", "SelfSubjectReview") => Kind::SelfSubject,
            ("authentication.k8s.io", "TokenReview") => Kind::Token,
            _ => return None,
        })
    }
}

/// A review's endpoint.
struct Review {
    kind: Kind,
    store: Arc<ResourceStore>,
    reviewers: Reviewers,
}

/// The endpoint of a resource, where it is a review.
pub(crate) fn endpoint(
    schema: &'static Schema,
    facts: &'static Resource,
    reviewers: &Reviewers,
    namespaces: ResourceId,
) -> Option<Arc<dyn ResourceEndpoint>> {
    let kind = Kind::of(facts)?;
    let store = not_stored::store(schema, facts, &DEFAULT_PRINTER, namespaces);
    Some(Arc::new(Review { kind, store, reviewers: reviewers.clone() }))
}

impl ResourceEndpoint for Review {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let outcome = match request.info.verb {
            Verb::Create => self.create(request),
            _ => Err(Status::method_not_allowed()),
        };
        outcome.unwrap_or_else(|status| answer::failed(request, &status))
    }
}

/// What a review comes to.
enum Reviewed {
    /// The review, encoded.
    Whole(Bytes),
    /// The rules that it tells.
    Rules(Rules),
}

impl Review {
    fn create(&self, request: &Request<'_>) -> Result<Outcome, Status> {
        let sent = Sent::take(&self.store, request)?;
        let reviewed = request.core.with_arena(|arena| {
            let mut review = sent.decode(&self.store, request, arena)?;
            let options = CreateOptions::parse(request.head.query());
            if let Some(meta) = review.path_mut(&["metadata"]).and_then(Value::as_map_mut) {
                not_stored::wipe_system_fields(meta);
            }
            Tracker::new(&self.store, request, &options.field_manager).created(
                arena,
                &self.store,
                &mut review,
            );
            self.review(arena, review, request.user, &request.core.token_lookup())
        })?;
        match reviewed {
            Reviewed::Whole(json) => Ok(Outcome::Ready(sent.answer.object(&self.store, 201, &json, &[]))),
            Reviewed::Rules(rules) => rules::respond(&sent.answer, &self.store, rules),
        }
    }

    fn review<'a>(
        &self,
        arena: &'a Bump,
        review: Value<'a>,
        asker: &UserInfo,
        at: &Lookup<'_>,
    ) -> Result<Reviewed, Status> {
        let reviewers = &self.reviewers;
        let reviewed = match self.kind {
            Kind::SubjectAccess | Kind::SelfSubjectAccess | Kind::LocalSubjectAccess => {
                let errors = validation::validate(self.kind, &self.store, &review);
                if !errors.is_empty() {
                    // The kind is not known any more where this is said, so the message starts with a dot.
                    return Err(Status::invalid(self.store.group(), "", "", &errors));
                }
                access::review(arena, &reviewers.authorizers, self.kind, review, asker)
            }
            Kind::SelfSubjectRules => {
                return rules::rules(&reviewers.authorizers, &review, asker).map(Reviewed::Rules);
            }
            Kind::SelfSubject => user_info::review_self(arena, asker),
            Kind::Token => user_info::review_token(arena, reviewers, review, at)?,
        };
        Ok(Reviewed::Whole(not_stored::encoded(&self.store, &reviewed)))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
