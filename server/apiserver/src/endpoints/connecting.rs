//! Admission of connections (CONNECT): to what pods, services and nodes stand for.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::{
    schema::Schema,
    value::{Map, Value},
};
use ringbolt_protocol::query;
use ringbolt_storage::object::ResourceId;

use super::{answer, not_stored, resource::ResourceStore};
use crate::{
    admission::{
        Attributes, Operation,
        dynamic::{Call, Dynamic, OperationOptions},
    },
    request::Request,
    response::Outcome,
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

/// An endpoint that connects, behind dynamic admission. As long as nothing is proxied it only looks whether it could be,
/// so that what it has to say may be found out before it is admitted.
pub(crate) struct Connecting {
    inner: Arc<dyn ResourceEndpoint>,
    of: Arc<ResourceStore>,
    kind: Arc<ResourceStore>,
    subresource: &'static str,
    options: Options,
}

impl Connecting {
    /// `inner`, behind admission where it is a subresource of `of` that connects.
    pub(crate) fn behind(
        schema: &'static Schema,
        namespaces: ResourceId,
        of: &Arc<ResourceStore>,
        name: &str,
        inner: Arc<dyn ResourceEndpoint>,
    ) -> Arc<dyn ResourceEndpoint> {
        let found = CONNECTIONS.iter().find(|(resource, subresource, ..)| {
            of.group().is_empty() && of.resource() == *resource && *subresource == name
        });
        let Some(&(_, subresource, kind, options)) = found else { return inner };
        let Some(kind) = not_stored::kind_of_subresource(schema, ("", "v1", kind), None, namespaces) else {
            return inner;
        };
        Arc::new(Connecting { inner, of: of.clone(), kind, subresource, options })
    }
}

impl ResourceEndpoint for Connecting {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let Some(dynamic) = Dynamic::of(&self.of, request, OperationOptions::default) else {
            return self.inner.serve(request);
        };
        let answered = match self.inner.serve(request) {
            Outcome::Ready(response) => response,
            other => return other,
        };
        let info = request.info;
        let (of, kind, subresource) = (self.of.clone(), self.kind.clone(), self.subresource);
        let (core, user) = (request.core.clone(), request.user.clone());
        let (namespace, name) = (of.namespace(info).to_owned(), info.name.to_owned());
        let given = Given::read(self.options, info.path, info.name, request.head.query());
        let refused = answer::for_failures(request);
        Outcome::Task(Box::pin(async move {
            let arena = core.take_arena();
            let warnings = std::cell::RefCell::default();
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
            match admitted {
                Ok(()) => answered,
                Err(status) => refused.failure(&status, &warnings.borrow()),
            }
        }))
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
    fn read(options: Options, path: &str, name: &str, query: &str) -> Given {
        let mut given = Given::default();
        if options == Options::Path {
            let marker = format!("/{name}/proxy");
            given.path = path.split_once(&marker).map_or("", |(_, rest)| rest).to_owned();
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
                (Options::Ports, "ports") => given.ports.extend(value.parse::<i32>().ok().map(i64::from)),
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
            assert_eq!(Given::read(options, path, "p", query), expect, "{path} {query}");
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
        check(Options::Path, "/api/v1/nodes/p/proxy/", "", path("/"));
        check(Options::Path, "/api/v1/nodes/p/proxy", "", path(""));
    }
}
