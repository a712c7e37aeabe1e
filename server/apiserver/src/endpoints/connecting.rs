//! Admission of connections (CONNECT): to what pods, services and nodes stand for.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    schema::Schema,
    status::Status,
    value::{Map, Value},
};
use ringbolt_protocol::query;
use ringbolt_storage::object::ResourceId;

use super::{answer, location::proxied_path, not_stored, resource::ResourceStore};
use crate::{
    admission::{
        Attributes, Operation,
        dynamic::{Call, Dynamic, OperationOptions},
    },
    connector::Start,
    relay::{Relay, RelayOut},
    request::Request,
    response::{Outcome, Response, StreamState},
    routes::ResourceEndpoint,
};

/// Subresources that connect, by the resource; the kind of their options, and what these have.
const CONNECTIONS: [(&str, &str, &str, Options); 6] = [
    ("pods", "exec", "PodExecOptions", Options::Streams),
    ("pods", "attach", "PodAttachOptions", Options::Streams),
    ("pods", "portforward", "PodPortForwardOptions", Options::Ports),
    ("pods", "proxy", "PodProxyOptions", Options::Path),
    ("services", "proxy", "ServiceProxyOptions", Options::Path),
    ("nodes", "proxy", "NodeProxyOptions", Options::Path),
];

/// What is read of the query, or of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Options {
    Streams,
    Ports,
    Path,
}

/// Finds out where a request leads.
pub(super) trait Connects: Send + Sync {
    /// Nothing is sent before what this answers is called.
    fn prepare(&self, request: &Request<'_>) -> Result<Start, Status>;
}

/// Answers a request by going where it leads.
pub(super) fn serve(connects: &impl Connects, request: &Request<'_>) -> Outcome {
    match connects.prepare(request) {
        Ok(start) => start(),
        Err(status) => answer::failed(request, &status),
    }
}

/// An endpoint that connects, behind dynamic admission. Where it leads is found before it is admitted, as long as the
/// request is at hand, and told afterwards.
pub(crate) struct Connecting {
    inner: Arc<dyn Connects>,
    of: Arc<ResourceStore>,
    kind: Arc<ResourceStore>,
    subresource: &'static str,
    options: Options,
}

impl Connecting {
    /// `inner`, behind admission: a subresource of `of`.
    pub(super) fn behind(
        schema: &'static Schema,
        namespaces: ResourceId,
        of: &Arc<ResourceStore>,
        name: &str,
        inner: Arc<dyn Connects>,
    ) -> Option<Arc<dyn ResourceEndpoint>> {
        let &(_, subresource, kind, options) = CONNECTIONS.iter().find(|(resource, subresource, ..)| {
            of.group().is_empty() && of.resource() == *resource && *subresource == name
        })?;
        let kind = not_stored::kind_of_subresource(schema, ("", "v1", kind), None, namespaces)?;
        Some(Arc::new(Connecting { inner, of: of.clone(), kind, subresource, options }))
    }
}

impl ResourceEndpoint for Connecting {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        if query::get(request.head.query(), "dryRun").is_some() {
            return answer::failed(request, &Status::bad_request("dryRun is not supported"));
        }
        let prepared = self.inner.prepare(request);
        let Some(dynamic) = Dynamic::of(&self.of, request, OperationOptions::default) else {
            return match prepared {
                Ok(start) => start(),
                Err(status) => answer::failed(request, &status),
            };
        };
        let info = request.info;
        let (of, kind, subresource) = (self.of.clone(), self.kind.clone(), self.subresource);
        let (core, user) = (request.core.clone(), request.user.clone());
        let (namespace, name) = (of.namespace(info).to_owned(), info.name.to_owned());
        let given = Given::read(self.options, info.path, info.parts.len(), request.head.query());
        let refused = answer::for_failures(request);
        let admission = Box::pin(async move {
            let arena = core.take_arena();
            let warnings = RefCell::default();
            let attributes = Attributes {
                operation: Operation::Connect,
                served: &of.served,
                subresource,
                namespace: &namespace,
                name: &name,
                user: &user,
                dry_run: false,
                storage: &*core.storage,
                warnings: &warnings,
            };
            let call = Call {
                attributes: &attributes,
                core: &core,
                store: &of,
                kind: &kind,
                name: &name,
                built_in: false,
            };
            let mut options = given.tree(&arena);
            let mut admitted = dynamic.admit(call, &arena, Some(&mut options), None).await;
            if admitted.is_ok() {
                admitted = dynamic.validate(call, &arena, Some(&options), None).await;
            }
            match admitted.and(prepared) {
                Ok(start) => start(),
                Err(status) => Outcome::Ready(refused.failure(&status, &warnings.borrow())),
            }
        });
        Outcome::Relay(Box::new(Admitting::Waiting { admission, early: Vec::new(), ended: false }))
    }
}

/// A connection that waits for its admission.
enum Admitting {
    Waiting {
        admission: Pin<Box<dyn Future<Output = Outcome>>>,
        /// What has come of its body; flow control bounds it, which gets none of it back.
        early: Vec<Bytes>,
        /// That body is at its end.
        ended: bool,
    },
    Under(Box<dyn Relay>),
}

/// Answers what a task of a connection came to.
fn answer_with(outcome: Outcome, out: &mut dyn RelayOut) -> Option<Box<dyn Relay>> {
    match outcome {
        Outcome::Relay(relay) => return Some(relay),
        Outcome::Ready(response) => out.answer(response),
        Outcome::Task(_) | Outcome::Queued | Outcome::Stream(..) => {
            // A connector answers with none of these.
            out.answer(Response { status: 500, ..Response::default() });
        }
    }
    None
}

impl Relay for Admitting {
    fn data(&mut self, part: &[u8]) {
        match self {
            Admitting::Waiting { early, .. } => early.push(Bytes::copy_from_slice(part)),
            Admitting::Under(relay) => relay.data(part),
        }
    }

    fn end(&mut self) {
        match self {
            Admitting::Waiting { ended, .. } => *ended = true,
            Admitting::Under(relay) => relay.end(),
        }
    }

    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState {
        if let Admitting::Waiting { admission, early, ended } = self {
            let Poll::Ready(outcome) = admission.as_mut().poll(&mut Context::from_waker(waker)) else {
                return StreamState::Pending;
            };
            let Some(mut relay) = answer_with(outcome, out) else { return StreamState::End };
            early.iter().for_each(|part| relay.data(part));
            if *ended {
                relay.end();
            }
            *self = Admitting::Under(relay);
        }
        match self {
            Admitting::Under(relay) => relay.poll(waker, room, out),
            Admitting::Waiting { .. } => StreamState::Pending,
        }
    }

    fn is_watch(&self) -> bool {
        true
    }

    fn is_counted(&self) -> bool {
        true
    }
}

/// Options of a connection, as far as they were given.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    flags: Vec<&'static str>,
    container: String,
    command: Vec<String>,
    ports: Vec<i64>,
    path: String,
}

impl Given {
    fn read(options: Options, path: &str, parts: usize, query: &str) -> Given {
        let mut given = Given::default();
        if options == Options::Path {
            given.path = proxied_path(path, parts);
            return given;
        }
        for (key, value) in query::pairs(query) {
            match (options, &*key) {
                (Options::Streams, "command") => given.command.push(value.into_owned()),
                (Options::Streams, "container") if given.container.is_empty() => {
                    given.container = value.into_owned();
                }
                (Options::Streams, key) => {
                    let flag = ["stdin", "stdout", "stderr", "tty"].into_iter().find(|flag| *flag == key);
                    given.flags.extend(flag.filter(|_| !matches!(&*value, "false" | "0")));
                }
                (Options::Ports, "ports") => {
                    let ports = value.split(',').filter_map(|port| port.parse::<i32>().ok());
                    given.ports.extend(ports.map(i64::from));
                }
                _ => {}
            }
        }
        given
    }

    fn tree<'a>(&self, arena: &'a Bump) -> Value<'a> {
        let mut map = Map::new_in(arena);
        for flag in &self.flags {
            map.insert(flag, Value::Bool(true));
        }
        for (member, text) in [("container", &self.container), ("path", &self.path)] {
            if !text.is_empty() {
                map.insert(member, Value::String(arena.alloc_str(text)));
            }
        }
        let mut list = |member, items: Vec<Value<'a>>| {
            if !items.is_empty() {
                let mut list = bumpalo::collections::Vec::new_in(arena);
                list.extend(items);
                map.insert(member, Value::List(list));
            }
        };
        list("command", self.command.iter().map(|text| Value::String(arena.alloc_str(text))).collect());
        list("ports", self.ports.iter().map(|port| Value::Int(*port)).collect());
        Value::Map(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_connections() {
        let check = |options, path: &str, query: &str, expect: Given| {
            let parts = path.trim_matches('/').split('/').count().saturating_sub(4);
            assert_eq!(Given::read(options, path, parts, query), expect, "{path} {query}");
        };
        check(
            Options::Streams,
            "/x",
            "command=ls&command=-l&stdin=true&tty=0&stdout=&container=c&other=1",
            Given {
                flags: vec!["stdin", "stdout"],
                container: "c".to_owned(),
                command: vec!["ls".to_owned(), "-l".to_owned()],
                ..Given::default()
            },
        );
        check(
            Options::Ports,
            "/x",
            "ports=80&ports=no&ports=81",
            Given { ports: vec![80, 81], ..Given::default() },
        );
        let path = |path: &str| Given { path: path.to_owned(), ..Given::default() };
        check(Options::Path, "/api/v1/namespaces/a/services/p/proxy/b/c", "path=z", path("/b/c"));
        check(Options::Path, "/api/v1/namespaces/a/pods/p/proxy/", "", path("/"));
        check(Options::Path, "/api/v1/namespaces/a/pods/p/proxy", "", path(""));
    }
}
