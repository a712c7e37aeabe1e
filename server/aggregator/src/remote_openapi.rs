//! OpenAPI documents of other servers, as far as they become part of this server's.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

use bumpalo::Bump;
use ringbolt_apiserver::{
    live::{OpenApi, OpenApiSource, V2Part},
    routes::Handler,
};
use ringbolt_machinery::{json, openapi::Contents, value::Value};
use ringbolt_outgoing::{Answer, CallError, Pending};

use crate::{
    api_service::ApiService, backend::Backend, inbox::Inbox, limits, proxy, queue::DueQueue,
    resolver::Resolver,
};

/// Who asks.
const USER: &str = "system:aggregator";

/// What is known of an APIService.
#[derive(Default)]
struct Known {
    group: String,
    version: String,
    /// Where the document of v3 is, if there is one.
    url: Option<String>,
    v2: Arc<V2Part>,
    v2_etag: String,
    /// Something was heard.
    heard: bool,
}

/// An answer that is awaited.
enum Asked {
    /// The index of v3.
    Index(Pending),
    /// The document of v2.
    V2(Pending),
}

/// All of it.
pub(crate) struct RemoteOpenApi {
    known: BTreeMap<String, Known>,
    queue: DueQueue,
    asked: HashMap<String, Asked>,
}

/// A group-version whose server has a document of v2 alone.
struct Older(Arc<V2Part>);

impl OpenApiSource for Older {
    fn v3(&self, _: &Contents<'_>) -> Option<Vec<u8>> {
        None
    }
    fn v2(&self, _: &Contents<'_>) -> V2Part {
        (*self.0).clone()
    }
}

impl RemoteOpenApi {
    pub(crate) fn new() -> Self {
        RemoteOpenApi {
            known: BTreeMap::new(),
            queue: DueQueue::new(limits::OPENAPI_BACKOFF),
            asked: HashMap::new(),
        }
    }

    /// An APIService is there, or has changed.
    pub(crate) fn add(&mut self, api_service: &ApiService, now: Instant) {
        let known = self.known.entry(api_service.name.clone()).or_default();
        known.group.clone_from(&api_service.group);
        known.version.clone_from(&api_service.version);
        // While it is not there it is not asked.
        if api_service.available {
            self.queue.add(&api_service.name, now);
        }
    }

    /// An APIService is gone, or this server's own.
    pub(crate) fn forget(&mut self, name: &str) {
        if self.known.remove(name).is_some() {
            self.queue.forget(name);
            self.asked.remove(name);
        }
    }

    /// When there is something to do, if nothing happens.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.next()
    }

    /// What is contributed for an APIService; `handler` answers for the document of v3.
    pub(crate) fn contribution(&self, name: &str, handler: &Handler) -> Option<OpenApi> {
        let known = self.known.get(name).filter(|known| known.heard)?;
        Some(match &known.url {
            Some(url) => OpenApi::Remote { url: url.clone(), v3: handler.clone(), v2: known.v2.clone() },
            None => OpenApi::Source(Arc::new(Older(known.v2.clone()))),
        })
    }

    /// Takes what has come, and asks what is due. Answers whether anything is known otherwise than before.
    pub(crate) fn work(
        &mut self,
        backends: &HashMap<String, Arc<Backend>>,
        resolver: &Resolver<'_>,
        inbox: &Arc<Inbox>,
        random: u64,
        now: Instant,
    ) -> bool {
        let mut come = Vec::new();
        self.asked.retain(|name, asked| {
            let (pending, is_index) = match asked {
                Asked::Index(pending) => (pending, true),
                Asked::V2(pending) => (pending, false),
            };
            let Some(answer) = pending.take() else { return true };
            come.push((name.clone(), is_index, answer));
            false
        });
        let mut changed = false;
        for (name, is_index, answer) in come {
            if !is_index {
                changed |= self.take_v2(&name, answer, now);
                continue;
            }
            match self.take_index(&name, answer) {
                Ok(found) => {
                    changed |= found;
                    let etag = self.known.get(&name).map(|known| known.v2_etag.clone()).unwrap_or_default();
                    let asked = ask(&name, "/openapi/v2", &etag, backends, resolver, inbox, random);
                    self.note(&name, asked.map(Asked::V2), now);
                }
                Err(error) => self.failed(&name, &error, now),
            }
        }
        while let Some(name) = self.queue.pop(now) {
            if !self.known.contains_key(&name) || self.asked.contains_key(&name) {
                continue;
            }
            let asked = ask(&name, "/openapi/v3", "", backends, resolver, inbox, random);
            self.note(&name, asked.map(Asked::Index), now);
        }
        changed
    }

    fn note(&mut self, name: &str, asked: Result<Asked, String>, now: Instant) {
        match asked {
            Ok(asked) => _ = self.asked.insert(name.to_owned(), asked),
            Err(error) => self.failed(name, &error, now),
        }
    }

    fn failed(&mut self, name: &str, error: &str, now: Instant) {
        tracing::debug!(name, error, "OpenAPI documents of an aggregated API");
        self.queue.retry(name, now);
    }

    fn take_index(&mut self, name: &str, answer: Result<Answer, CallError>) -> Result<bool, String> {
        let Some(known) = self.known.get_mut(name) else { return Ok(false) };
        let answer = answer.map_err(|error| error.text)?;
        let url = match answer.status {
            200 => index_entry(&answer.body, &known.group, &known.version)?,
            404 => None,
            status => return Err(format!("the index of v3: {status}")),
        };
        let changed = !known.heard || known.url != url;
        known.url = url;
        known.heard = true;
        Ok(changed)
    }

    fn take_v2(&mut self, name: &str, answer: Result<Answer, CallError>, now: Instant) -> bool {
        let Some(known) = self.known.get_mut(name) else { return false };
        let mut changed = false;
        let taken = answer.map_err(|error| error.text).and_then(|answer| match answer.status {
            // One without a document is no fault.
            304 | 404 => Ok(()),
            200 => {
                let part = Arc::new(v2_part(&answer.body, &known.group, &known.version)?);
                changed = known.v2 != part;
                known.v2 = part;
                let etag = answer.headers.get("etag").and_then(|etag| etag.to_str().ok());
                known.v2_etag = etag.unwrap_or("").to_owned();
                Ok(())
            }
            status => Err(format!("the document of v2: {status}")),
        });
        match taken {
            Ok(()) => {
                self.queue.settle(name);
                self.queue.add(name, now + limits::OPENAPI_REFRESH);
            }
            Err(error) => self.failed(name, &error, now),
        }
        changed
    }
}

fn ask(
    name: &str,
    path: &str,
    etag: &str,
    backends: &HashMap<String, Arc<Backend>>,
    resolver: &Resolver<'_>,
    inbox: &Arc<Inbox>,
    random: u64,
) -> Result<Pending, String> {
    let backend = backends.get(name).ok_or("it has no server")?;
    let client = backend.client.as_ref().map_err(Clone::clone)?;
    let destination = resolver.resolve(&backend.service, random)?;
    let accept = "application/json";
    let request = proxy::own_request(path, &destination.address(), accept, USER, &[], Some(etag))
        .ok_or("its address does not stand in a header")?;
    let inbox = inbox.clone();
    let (bytes, patience) = (limits::OPENAPI_BYTES, limits::OPENAPI_TIMEOUT);
    Ok(client.fetch(destination, request, bytes, patience, move || inbox.ring()))
}

fn decode<'a>(arena: &'a Bump, body: &[u8]) -> Result<Value<'a>, String> {
    json::decode_untyped(arena, arena.alloc_slice_copy(body)).map_err(|e| e.message().to_owned())
}

/// Where the index of v3 says that the document of a group-version is.
fn index_entry(body: &[u8], group: &str, version: &str) -> Result<Option<String>, String> {
    let arena = Bump::new();
    let index = decode(&arena, body)?;
    let path = format!("apis/{group}/{version}");
    Ok(index.str_at(&["paths", &path, "serverRelativeURL"]).map(str::to_owned))
}

/// What a document of v2 has of a group-version: its paths, and what these refer to.
fn v2_part(body: &[u8], group: &str, version: &str) -> Result<V2Part, String> {
    let arena = Bump::new();
    let document = decode(&arena, body)?;
    let prefix = format!("/apis/{group}/{version}/");
    let members = |name: &str| document.path(&[name]).and_then(Value::as_map);
    let paths: Vec<_> = members("paths")
        .into_iter()
        .flat_map(|map| map.iter())
        .filter(|(path, _)| path.starts_with(&prefix))
        .collect();
    let (mut definitions, mut parameters) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<&Value<'_>> = paths.iter().map(|(_, value)| *value).collect();
    while let Some(value) = open.pop() {
        match value {
            Value::List(list) => open.extend(list.iter()),
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let reference = value.as_str().filter(|_| key == "$ref");
                    let Some(reference) = reference else {
                        open.push(value);
                        continue;
                    };
                    for (root, found, member) in [
                        ("#/definitions/", &mut definitions, "definitions"),
                        ("#/parameters/", &mut parameters, "parameters"),
                    ] {
                        let Some(name) = reference.strip_prefix(root) else { continue };
                        if let Some(value) = members(member).and_then(|map| map.get(name))
                            && found.insert(name)
                        {
                            open.push(value);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let encoded = |value: &Value<'_>| {
        let mut out = Vec::new();
        json::encode_untyped(value, &mut out);
        out
    };
    let named = |member: &str, names: &BTreeSet<&str>| {
        let map = members(member);
        let found = names.iter().filter_map(|name| Some(((*name).to_owned(), encoded(map?.get(name)?))));
        found.collect()
    };
    Ok(V2Part {
        paths: paths.iter().map(|(path, value)| ((*path).to_owned(), encoded(value))).collect(),
        definitions: named("definitions", &definitions),
        parameters: named("parameters", &parameters),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes() {
        let body = br#"{"paths":{"apis/a.b/v1":{"serverRelativeURL":"/openapi/v3/apis/a.b/v1?hash=X"}}}"#;
        assert_eq!(
            index_entry(body, "a.b", "v1").unwrap().as_deref(),
            Some("/openapi/v3/apis/a.b/v1?hash=X")
        );
        assert_eq!(index_entry(body, "a.b", "v2"), Ok(None));
        assert!(index_entry(b"nope", "a.b", "v1").is_err());
    }

    #[test]
    fn parts_have_what_their_paths_refer_to() {
        let body = br##"{"swagger":"2.0","paths":{
            "/apis/a.b/v1/things":{"get":{"parameters":[{"$ref":"#/parameters/limit"}],
                "responses":{"200":{"schema":{"$ref":"#/definitions/Thing"}}}}},
            "/apis/a.b/v10/things":{},"/healthz/":{}},
            "definitions":{"Thing":{"properties":{"part":{"$ref":"#/definitions/Part"}}},"Part":{"type":"string"},"Other":{}},
            "parameters":{"limit":{"name":"limit"},"other":{}}}"##;
        let part = v2_part(body, "a.b", "v1").unwrap();
        let names =
            |list: &[(String, Vec<u8>)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&part.paths), ["/apis/a.b/v1/things"]);
        assert_eq!(names(&part.definitions), ["Part", "Thing"]);
        assert_eq!(part.definitions[0].1, br#"{"type":"string"}"#);
        assert_eq!(names(&part.parameters), ["limit"]);
    }
}
