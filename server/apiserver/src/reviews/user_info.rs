//! SelfSubjectReview and TokenReview: who is it?

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};

use super::{Reviewers, attributes};
use crate::{
    authentication::{UserInfo, service_account::Lookup},
    endpoints::identity::now_rfc3339,
};

/// Who asks; nothing of what was sent comes back.
pub(super) fn review_self<'a>(arena: &'a Bump, asker: &UserInfo) -> Value<'a> {
    let mut meta = Map::new_in(arena);
    meta.push_unique("creationTimestamp", Value::String(arena.alloc_str(&now_rfc3339())));
    let mut status = Map::new_in(arena);
    status.push_unique("userInfo", user_info(arena, asker));
    let mut answer = Map::new_in(arena);
    answer.push_unique("metadata", Value::Map(meta));
    answer.push_unique("status", Value::Map(status));
    Value::Map(answer)
}

/// Whom a token stands for.
pub(super) fn review_token<'a>(
    arena: &'a Bump,
    reviewers: &Reviewers,
    mut review: Value<'a>,
    at: &Lookup<'_>,
) -> Result<Value<'a>, Status> {
    let token = review.str_at(&["spec", "token"]).unwrap_or("");
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let asked = attributes::texts(review.path(&["spec", "audiences"]));
    // What a client says of the answer stays where the answer says nothing of it.
    let sent = review.path(&["status"]).and_then(Value::as_map).cloned();
    let mut status = sent.unwrap_or_else(|| Map::new_in(arena));
    let mut authenticated = false;
    match reviewers.authenticators.review(token, &asked, &reviewers.api_audiences, at) {
        Ok((user, audiences)) => {
            authenticated = true;
            status.insert("user", user_info(arena, &user));
            status.insert("audiences", texts(arena, &audiences));
        }
        Err(error) if error.is_empty() => {}
        Err(error) => {
            status.insert("error", Value::String(arena.alloc_str(&error)));
        }
    }
    status.insert("authenticated", Value::Bool(authenticated));
    if let Some(map) = review.as_map_mut() {
        map.insert("status", Value::Map(status));
    }
    Ok(review)
}

fn user_info<'a>(arena: &'a Bump, user: &UserInfo) -> Value<'a> {
    let mut info = Map::new_in(arena);
    info.push_unique("username", Value::String(arena.alloc_str(&user.name)));
    info.push_unique("uid", Value::String(arena.alloc_str(&user.uid)));
    info.push_unique("groups", texts(arena, &user.groups));
    let mut extra = Map::new_in(arena);
    for (key, values) in &user.extra {
        extra.insert(arena.alloc_str(key), texts(arena, values));
    }
    extra.sort_keys();
    info.push_unique("extra", Value::Map(extra));
    Value::Map(info)
}

fn texts<'a>(arena: &'a Bump, from: &[String]) -> Value<'a> {
    let mut list = ArenaVec::with_capacity_in(from.len(), arena);
    list.extend(from.iter().map(|text| Value::String(arena.alloc_str(text))));
    Value::List(list)
}
