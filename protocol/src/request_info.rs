//! What Kubernetes reads from a request's method, path and query (`RequestInfo`).
//!
//! Same answers as `k8s.io/apiserver/pkg/endpoints/request.RequestInfoFactory` with the prefixes `api` (no group)
//! and `apis`. Everything borrows; nothing is allocated.

use std::fmt;

use crate::{
    query,
    selector::{FieldRequirement, FieldSelector, name_of_field_selector},
};

/// Path segments kept in [`Parts`]; longer paths (proxy paths, mostly) keep their tail in [`RequestInfo::path`].
pub const PARTS_MAX: usize = 8;

/// The Kubernetes verb of a request, or the lower-case method where it is about no resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Verb {
    /// `get`: one object, or a GET of a path that is no resource.
    #[default]
    Get,
    /// `list`
    List,
    /// `watch`
    Watch,
    /// `create`
    Create,
    /// `update`
    Update,
    /// `patch`: on resources, or the method PATCH elsewhere.
    Patch,
    /// `delete`: one object, or the method DELETE elsewhere.
    Delete,
    /// `deletecollection`
    DeleteCollection,
    /// `proxy`, by the long gone path prefix.
    Proxy,
    /// `post`, not on a resource.
    Post,
    /// `put`, not on a resource.
    Put,
    /// `head`, not on a resource.
    Head,
    /// `options`, not on a resource.
    Options,
    /// `trace`, not on a resource.
    Trace,
    /// `connect`, not on a resource.
    Connect,
    /// A resource with a method that maps to no verb: empty.
    None,
    /// Another method, not on a resource.
    Other,
}

impl Verb {
    /// As it stands in policies, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            Verb::Proxy => "proxy",
            Verb::Post => "post",
            Verb::Put => "put",
            Verb::Head => "head",
            Verb::Options => "options",
            Verb::Trace => "trace",
            Verb::Connect => "connect",
            Verb::None => "",
            Verb::Other => "other",
        }
    }

    /// Whether it changes nothing (`get`, `list`, `watch`, and GET or HEAD of other paths).
    pub fn is_read_only(self) -> bool {
        matches!(self, Verb::Get | Verb::List | Verb::Watch | Verb::Head)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The path from the resource on: `{resource}/{name}/{subresource}/…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts<'r> {
    first: [&'r str; PARTS_MAX],
    len: usize,
}

impl<'r> Parts<'r> {
    /// The first [`PARTS_MAX`] segments at most.
    pub fn as_slice(&self) -> &[&'r str] {
        &self.first[..self.len.min(PARTS_MAX)]
    }
    /// How many segments there are in all.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The segment at `index`, where it was kept.
    pub fn get(&self, index: usize) -> Option<&'r str> {
        self.as_slice().get(index).copied()
    }
}

/// The fields that a request selects by, for authorization. Verbs without selectors have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectedFields<'r> {
    /// None.
    #[default]
    None,
    /// As the query says, which is read by who wants to know.
    Query(&'r str),
    /// Terms that were read already.
    Terms(&'r [FieldRequirement]),
}

impl SelectedFields<'_> {
    /// Whether only objects with this value are selected. A selector that does not parse selects by nothing.
    pub fn require(&self, field: &str, value: &str) -> bool {
        let requires = |terms: &[FieldRequirement]| {
            terms.iter().any(|term| term.equals && term.field == field && term.value == value)
        };
        match self {
            SelectedFields::None => false,
            SelectedFields::Terms(terms) => requires(terms),
            SelectedFields::Query(query) => query::get(query, "fieldSelector")
                .and_then(|text| FieldSelector::parse(&text).ok())
                .is_some_and(|selector| requires(&selector.requirements)),
        }
    }
}

/// A path that ends right behind `watch` or `proxy`: 500 in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndeterminedKind<'r> {
    /// The path.
    pub path: &'r str,
    /// The query.
    pub query: &'r str,
}

impl fmt::Display for UndeterminedKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.query.is_empty() { "" } else { "?" };
        write!(f, "unable to determine kind and namespace from url, {}{mark}{}", self.path, self.query)
    }
}

impl std::error::Error for UndeterminedKind<'_> {}

/// What a request is about. The default value is a GET of an empty path: what a request carries before it is
/// looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo<'r> {
    /// Whether it is about an API resource.
    pub is_resource_request: bool,
    /// The decoded path.
    pub path: &'r str,
    /// Verb.
    pub verb: Verb,
    /// `api` or `apis`.
    pub api_prefix: &'r str,
    /// Group; empty for core.
    pub api_group: &'r str,
    /// Version.
    pub api_version: &'r str,
    /// Namespace; empty for none, and for all.
    pub namespace: &'r str,
    /// Plural resource.
    pub resource: &'r str,
    /// Subresource; empty for none.
    pub subresource: &'r str,
    /// Object name, from the path or from a `metadata.name=` field selector.
    pub name: &'r str,
    /// Segments from the resource on.
    pub parts: Parts<'r>,
    /// Whether the verb came from `/watch/` in the path: such requests are not authorized by selector.
    pub verb_via_path_prefix: bool,
    /// The fields it selects by.
    pub fields: SelectedFields<'r>,
}

impl<'r> RequestInfo<'r> {
    /// Reads a request. `path` is decoded (see [`crate::path::decode`]), `query` is as sent.
    ///
    /// A name in a field selector that is written with escapes can not be borrowed from the query: use
    /// [`RequestInfo::with_scratch`] to have those as well.
    pub fn new(method: &str, path: &'r str, query: &'r str) -> Result<RequestInfo<'r>, UndeterminedKind<'r>> {
        let mut info = RequestInfo::read_path(method, path, query)?;
        if info.finish_verb(query) {
            info.name = name_of_field_selector(query, None).unwrap_or("");
        }
        Ok(info)
    }

    /// As [`RequestInfo::new`]; `scratch` takes a name that has to be decoded. Its old content is lost.
    pub fn with_scratch(
        method: &str,
        path: &'r str,
        query: &'r str,
        scratch: &'r mut Vec<u8>,
    ) -> Result<RequestInfo<'r>, UndeterminedKind<'r>> {
        let mut info = RequestInfo::read_path(method, path, query)?;
        if info.finish_verb(query) {
            info.name = name_of_field_selector(query, Some(scratch)).unwrap_or("");
        }
        Ok(info)
    }

    /// Everything that path and method tell.
    fn read_path(
        method: &str,
        path: &'r str,
        query: &'r str,
    ) -> Result<RequestInfo<'r>, UndeterminedKind<'r>> {
        let mut info = RequestInfo { path, verb: method_verb(method), ..RequestInfo::default() };
        let mut rest = Segments::new(path);
        if rest.count_up_to(3) < 3 {
            return Ok(info);
        }
        let prefix = rest.peek();
        let has_group = match prefix {
            "api" => false,
            "apis" => true,
            _ => return Ok(info),
        };
        info.api_prefix = prefix;
        rest.advance();
        if has_group {
            if rest.count_up_to(3) < 3 {
                return Ok(info);
            }
            info.api_group = rest.peek();
            rest.advance();
        }
        info.is_resource_request = true;
        info.api_version = rest.peek();
        rest.advance();
        info.verb = match rest.peek() {
            special @ ("watch" | "proxy") => {
                if rest.count_up_to(2) < 2 {
                    return Err(UndeterminedKind { path, query });
                }
                rest.advance();
                info.verb_via_path_prefix = true;
                if special == "watch" { Verb::Watch } else { Verb::Proxy }
            }
            _ => resource_verb(method),
        };
        if rest.peek() == "namespaces" {
            let mut ahead = rest;
            ahead.advance();
            if !ahead.is_done() {
                info.namespace = ahead.peek();
                ahead.advance();
                // `/namespaces/NAME/status` and `finalize` are about the namespace itself.
                if !ahead.is_done() && !matches!(ahead.peek(), "status" | "finalize") {
                    rest = ahead;
                }
            }
        }
        while !rest.is_done() {
            if info.parts.len < PARTS_MAX {
                info.parts.first[info.parts.len] = rest.peek();
            }
            info.parts.len += 1;
            rest.advance();
        }
        info.resource = info.parts.get(0).unwrap_or("");
        info.name = info.parts.get(1).unwrap_or("");
        if info.verb != Verb::Proxy {
            info.subresource = info.parts.get(2).unwrap_or("");
        }
        Ok(info)
    }

    /// Tells list and watch from get, deletecollection from delete. Answers whether the query's field selector
    /// may name the object.
    fn finish_verb(&mut self, query: &'r str) -> bool {
        if !self.is_resource_request || !self.name.is_empty() {
            return false;
        }
        match self.verb {
            Verb::Get => {
                self.verb = if query::is_watch(query) { Verb::Watch } else { Verb::List };
                self.fields = SelectedFields::Query(query);
                // Options that do not parse leave the verb as it is and give no name.
                (query.contains("fieldSelector") || query.contains('%')) && query::list_options_parse(query)
            }
            Verb::Delete => {
                self.verb = Verb::DeleteCollection;
                self.fields = SelectedFields::Query(query);
                false
            }
            _ => false,
        }
    }
}

/// The verb of a path that is no resource.
fn method_verb(method: &str) -> Verb {
    match method {
        "GET" => Verb::Get,
        "HEAD" => Verb::Head,
        "POST" => Verb::Post,
        "PUT" => Verb::Put,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        "OPTIONS" => Verb::Options,
        "TRACE" => Verb::Trace,
        "CONNECT" => Verb::Connect,
        _ => Verb::Other,
    }
}

/// The verb of a resource before its name is looked at.
fn resource_verb(method: &str) -> Verb {
    match method {
        "GET" | "HEAD" => Verb::Get,
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        _ => Verb::None,
    }
}

/// The segments of a path with slashes trimmed off both ends; empty segments in between count.
#[derive(Clone, Copy)]
struct Segments<'r> {
    rest: &'r str,
    end: usize,
    done: bool,
}

impl<'r> Segments<'r> {
    fn new(path: &'r str) -> Self {
        let trimmed = path.trim_matches('/');
        let mut segments = Segments { rest: trimmed, end: 0, done: trimmed.is_empty() };
        segments.find_end();
        segments
    }
    fn find_end(&mut self) {
        self.end = memchr::memchr(b'/', self.rest.as_bytes()).unwrap_or(self.rest.len());
    }
    fn is_done(&self) -> bool {
        self.done
    }
    /// The current segment; empty past the end.
    fn peek(&self) -> &'r str {
        &self.rest[..self.end]
    }
    fn advance(&mut self) {
        if self.end >= self.rest.len() {
            self.rest = "";
            self.end = 0;
            self.done = true;
        } else {
            self.rest = &self.rest[self.end + 1..];
            self.find_end();
        }
    }
    /// How many segments are left, counted to `max`.
    fn count_up_to(&self, max: usize) -> usize {
        let mut left = *self;
        let mut count = 0;
        while count < max && !left.is_done() {
            count += 1;
            left.advance();
        }
        count
    }
}

#[cfg(test)]
#[path = "request_info_tests.rs"]
mod tests;
