//! Discovery: which groups, versions and resources the server has, plain and aggregated.

mod aggregated;
mod document;
mod documents;
mod facts;
mod plain;
mod writer;

use std::sync::Arc;

use ringbolt_machinery::status::{Details, Reason, Status};
use ringbolt_protocol::{
    head::Head,
    media_type::{Endpoint, Format, MediaType, NotAcceptable, negotiate, negotiate_discovery},
};

#[cfg(test)]
pub(crate) use self::documents::Shown;
use self::{
    document::{Document, Encode},
    plain::Resources,
};
pub(crate) use self::{
    documents::{Documents, VersionDocument},
    facts::BuiltInDiscovery,
};
use crate::{
    live::Live,
    request::Request,
    response::{Outcome, Response},
    response_writers,
    routes::RouteTableBuilder,
};

/// Puts the documents of what is built in on the route table. Lists of groups show what there is when they are asked
/// for.
pub fn install(routes: &mut RouteTableBuilder, live: &Live) {
    let documents = live.documents();
    let api = Arc::new(move |request: &Request<'_>| {
        // The router in front looks at method and bare types before anything else does.
        if let Some(refused) = router(request.head) {
            return refused;
        }
        let documents = documents.load();
        match negotiate_discovery(request.head.header("accept")) {
            Some(wanted) => serve_aggregated(request.head, &documents.core.aggregated, wanted),
            None => serve(request.head, &documents.core.versions, Endpoint::Plain),
        }
    });
    install_both(routes, "/api".to_owned(), api);
    routes.root("/api");

    let documents = live.documents();
    routes.path("/apis", move |request| {
        let documents = documents.load();
        match negotiate_discovery(request.head.header("accept")) {
            Some(wanted) => serve_aggregated(request.head, &documents.aggregated, wanted),
            None => serve(request.head, &documents.apis, Endpoint::Handler),
        }
    });
    // With a slash it is not aggregated.
    let documents = live.documents();
    routes.unlisted_path("/apis/", move |request| {
        serve(request.head, &documents.load().apis, Endpoint::Handler)
    });
    // Unlike the others, this one is listed with its slash as well.
    routes.list("/apis/");

    let mut groups: Vec<&str> = Vec::new();
    let built_in = live.built_in();
    for version in &built_in.versions {
        routes.group_version(&version.group, &version.version);
        let document = Document::new(Resources(version.clone()));
        let path = match &*version.group {
            "" => format!("/api/{}", version.version),
            group => format!("/apis/{group}/{}", version.version),
        };
        let handler = Arc::new(move |request: &Request<'_>| {
            router(request.head).unwrap_or_else(|| serve(request.head, &document, Endpoint::Plain))
        });
        install_both(routes, path, handler);
        if version.group.is_empty() || groups.contains(&&*version.group) {
            continue;
        }
        groups.push(&version.group);
        let (documents, name) = (live.documents(), version.group.clone());
        // No APIService stands for the group of APIServices: a router does.
        let routed = name == facts::APISERVICES;
        let handler = Arc::new(move |request: &Request<'_>| {
            let refused = if routed { router(request.head) } else { None };
            refused.unwrap_or_else(|| documents.load().serve_group(request, &name))
        });
        install_both(routes, format!("/apis/{}", version.group), handler);
    }
}

/// With and without a slash at the end, which only the first one is listed with.
fn install_both(
    routes: &mut RouteTableBuilder,
    path: String,
    handler: Arc<impl Fn(&Request<'_>) -> Outcome + Send + Sync + 'static>,
) {
    let slashed = handler.clone();
    routes.unlisted_path(format!("{path}/"), move |request| slashed(request));
    routes.path(path, move |request| handler(request));
}

/// What a router in front refuses: other methods than GET, and types it cannot produce.
fn router(head: &Head<'_>) -> Option<Outcome> {
    if head.method != "GET" {
        return Some(failed(head, &Status::method_not_allowed()));
    }
    match negotiate(head.header("accept"), "", b"", Endpoint::Plain) {
        Err(error) if error.details => Some(failed(head, &not_acceptable(error))),
        _ => None,
    }
}

fn serve<T: Encode>(head: &Head<'_>, document: &Document<T>, endpoint: Endpoint) -> Outcome {
    let agent = head.header("user-agent").unwrap_or_default();
    match negotiate(head.header("accept"), head.query(), agent, endpoint) {
        Ok(wanted) => {
            Outcome::Ready(Response::new(200, wanted.format.content_type(), document.body(&wanted)))
        }
        Err(error) => failed(head, &not_acceptable(error)),
    }
}

fn serve_aggregated<T: Encode>(head: &Head<'_>, document: &Document<T>, mut wanted: MediaType) -> Outcome {
    let etag = document.etag();
    let mut response = if head.header("if-none-match") == Some(etag.as_bytes()) {
        Response { status: 304, ..Response::default() }
    } else {
        let agent = head.header("user-agent").unwrap_or_default();
        wanted.pretty |= ringbolt_protocol::query::is_pretty(head.query(), agent);
        let content_type = match wanted.format {
            Format::Json => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Format::Yaml => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Format::Protobuf => {
                "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
        };
        Response::new(200, content_type, document.body(&wanted))
    };
    response.headers.extend([
        ("etag", etag.to_owned()),
        ("vary", "Accept".to_owned()),
        ("cache-control", "public".to_owned()),
    ]);
    Outcome::Ready(response)
}

fn not_acceptable(error: NotAcceptable) -> Status {
    let mut status = Status::failure(406, Reason::NotAcceptable, error.message);
    status.details = error.details.then(|| Box::new(Details::default()));
    status
}

fn failed(head: &Head<'_>, status: &Status) -> Outcome {
    Outcome::Ready(response_writers::error(head, status))
}

#[cfg(test)]
#[path = "discovery/tests.rs"]
mod tests;
