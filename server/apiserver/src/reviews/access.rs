//! SubjectAccessReview, SelfSubjectAccessReview and LocalSubjectAccessReview: may a user do this?

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::{Kind, attributes};
use crate::{
    authentication::UserInfo,
    authorization::{Authorizers, Decision},
};

/// The review with its status; validation has passed.
pub(super) fn review<'a>(
    arena: &'a Bump,
    authorizers: &Authorizers,
    kind: Kind,
    mut review: Value<'a>,
    asker: &UserInfo,
) -> Value<'a> {
    let nothing = Value::Map(Map::new_in(arena));
    let spec = review.path(&["spec"]).unwrap_or(&nothing);
    let fields = attributes::fields(spec);
    let request = attributes::request(spec, &fields);
    // Any verb can be asked about, also those that no request has.
    let verb = attributes::verb(spec);
    let named;
    let user = if kind == Kind::SelfSubjectAccess {
        asker
    } else {
        named = attributes::user(spec);
        &named
    };
    let decision = authorizers.authorize_verb(user, verb, &request);
    let error = attributes::evaluation_error(spec);
    let mut status = Map::new_in(arena);
    let (allowed, reason) = match decision {
        Decision::Allow => (true, authorizers.explain(user, verb, &request)),
        Decision::NoOpinion(reason) => (false, reason),
    };
    status.push_unique("allowed", Value::Bool(allowed));
    for (field, text) in [("reason", reason), ("evaluationError", error)] {
        if !text.is_empty() {
            status.push_unique(field, Value::String(arena.alloc_str(&text)));
        }
    }
    if let Some(map) = review.as_map_mut() {
        map.insert("status", Value::Map(status));
    }
    review
}
