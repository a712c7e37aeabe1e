//! What the controllers write: the status of definitions, as the server itself, through the same handlers as everybody.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::{
    response::JSON,
    serving::loopback::{Call, Loopback},
};
use ringbolt_controlplane::tree;
use ringbolt_machinery::{
    json,
    schema::{Schema, StructId},
    value::Value,
};

use crate::{
    definition::{GROUP, PATH, VERSION},
    limits::CALLS_AT_ONCE,
};

/// What managed fields call the writer.
const MANAGER: &str = "kube-apiserver";

/// A status to write.
pub(super) struct Update {
    pub(super) name: String,
    body: Vec<u8>,
}

impl Update {
    /// The status of a decoded definition; where others were quicker nothing is written.
    pub(super) fn of<'a>(
        schema: &Schema,
        ty: StructId,
        arena: &'a Bump,
        name: &str,
        mut object: Value<'a>,
    ) -> Update {
        let root = tree::root(arena, &mut object);
        root.insert("kind", Value::String("CustomResourceDefinition"));
        root.insert("apiVersion", Value::String(arena.alloc_str(&format!("{GROUP}/{VERSION}"))));
        let mut body = Vec::with_capacity(4096);
        json::encode(schema, ty, &object, &mut body);
        Update { name: name.to_owned(), body }
    }
}

/// What became of an update or a delete.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Done,
    /// It was deleted or changed meanwhile: its event is on the way.
    Overtaken,
    Failed(String),
}

/// Writes statuses, a number of them at once; answers in their order.
pub(super) fn write_all(loopback: &Arc<Loopback>, updates: Vec<Update>) -> Vec<(String, Reply)> {
    let mut replies = Vec::with_capacity(updates.len());
    let mut updates = updates.into_iter().peekable();
    while updates.peek().is_some() {
        let (names, calls): (Vec<_>, Vec<_>) = updates
            .by_ref()
            .take(CALLS_AT_ONCE)
            .map(|update| {
                let target = format!("{PATH}/{}/status?fieldManager={MANAGER}", update.name);
                (update.name, Call::of_server("PUT", target, JSON, Bytes::from(update.body)))
            })
            .unzip();
        replies.extend(names.into_iter().zip(loopback.call_all(calls).into_iter().map(reply)));
    }
    replies
}

/// Deletes what is at paths.
pub(super) fn delete_all(loopback: &Arc<Loopback>, targets: Vec<String>) -> Vec<Reply> {
    let mut replies = Vec::with_capacity(targets.len());
    let mut targets = targets.into_iter().peekable();
    while targets.peek().is_some() {
        let calls = targets.by_ref().take(CALLS_AT_ONCE);
        let calls = calls.map(|target| Call::of_server("DELETE", target, JSON, Bytes::new()));
        replies.extend(loopback.call_all(calls.collect()).into_iter().map(reply));
    }
    replies
}

fn reply(answer: Option<(u16, Vec<u8>)>) -> Reply {
    match answer {
        Some((200..=299, _)) => Reply::Done,
        Some((404 | 409, _)) => Reply::Overtaken,
        Some((code, body)) => Reply::Failed(format!("{code}: {}", String::from_utf8_lossy(&body))),
        None => Reply::Failed("no answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies() {
        let check = |code: u16, expect: Reply| assert_eq!(reply(Some((code, b"x".to_vec()))), expect);
        check(200, Reply::Done);
        check(404, Reply::Overtaken);
        check(409, Reply::Overtaken);
        check(500, Reply::Failed("500: x".to_owned()));
        assert_eq!(reply(None), Reply::Failed("no answer".to_owned()));
    }
}
