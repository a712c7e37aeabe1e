//! SelfSubjectRulesReview: what the asker may do in a namespace, as rules.

use std::sync::Arc;

use bytes::Bytes;
use ringbolt_machinery::{status::Status, value::Value};
use ringbolt_protocol::media_type::Format;

use super::rules_body::{RulesBody, Wire};
use crate::{
    authentication::UserInfo,
    authorization::{Authorizers, Rules},
    endpoints::{
        answer::{self, Answer, NEWLINE},
        list_parts::flat,
        render::{Form, Render},
        resource::ResourceStore,
    },
    limits::LIST_INLINE_BYTES,
    response::{Outcome, Response},
};

/// The rules that are asked for.
pub(super) fn rules(
    authorizers: &Authorizers,
    review: &Value<'_>,
    asker: &UserInfo,
) -> Result<Rules, Status> {
    match review.str_at(&["spec", "namespace"]).unwrap_or("") {
        "" => Err(Status::bad_request("no namespace on request")),
        namespace => Ok(authorizers.rules_for(asker, namespace)),
    }
}

/// The review with its status as [`Answer::object`] takes it, in one piece. It says nothing of what was asked.
pub(super) fn whole(rules: Rules) -> Result<Bytes, Status> {
    let body = RulesBody::new(rules, Wire::Json { head: Bytes::new(), tail: b"" });
    flat(body, 1 << 10).map(Bytes::from)
}

/// The answer, in parts where it is long.
pub(super) fn respond(to: &Answer, store: &Arc<ResourceStore>, rules: Rules) -> Result<Outcome, Status> {
    if to.form != Form::Object || to.unconvertible.is_some() {
        // Of its metadata alone.
        let json = whole(Rules::default())?;
        return Ok(Outcome::Ready(to.object(store, 201, &json, &[])));
    }
    let render = Render { core: &to.core, store, form: to.form };
    let format = to.media.format;
    let wire = match format {
        Format::Protobuf => Wire::Protobuf { store: store.clone() },
        Format::Json | Format::Yaml => Wire::Json { head: render.head(), tail: NEWLINE },
    };
    let mut body = RulesBody::new(rules, wire);
    if body.is_longer_than(LIST_INLINE_BYTES) {
        // To indent text or to turn it into YAML takes all of it at once: what is long stays as it is, and is YAML too.
        return Ok(to.stream(201, body));
    }
    let mut text = flat(body, LIST_INLINE_BYTES / 16)?;
    if format == Format::Yaml || to.media.pretty {
        text.pop();
        text = to.text(&text);
    }
    let response = Response::new(201, answer::content_type(format), text);
    Ok(Outcome::Ready(to.compressed(response)))
}
