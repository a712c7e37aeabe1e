//! `/openapi/v2` and `/openapi/v3`: documents built when they are first asked for, named by hash: from the Schema, and
//! from what is contributed while the server runs.

mod builder;
mod moment;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::{ToSpan, tz::TimeZone};
use ringbolt_machinery::schema::Schema;
use ringbolt_protocol::query;

use self::builder::{Document, Documents, Form, Source, Wanted};
use crate::{
    endpoints::gzip,
    live::Live,
    request::Request,
    response::{JSON, Outcome, Response, TEXT},
    routes::RouteTableBuilder,
};

/// The protobuf types of the documents. Clients ask for them with an `@` in place of the first dot of `.v1.0`, or so.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
/// A document that is asked for by its hash never changes.
const IMMUTABLE: &str = "public, immutable";

/// Puts the documents on the route table. `openid`: the server publishes the keys of its tokens, and that is documented.
pub fn install(routes: &mut RouteTableBuilder, schema: &'static Schema, openid: bool, live: &Live) {
    let documents = Documents::new(schema, openid, live);
    let served = documents.clone();
    routes.path("/openapi/v2", move |request| v2(&served, request));
    let served = documents.clone();
    routes.path("/openapi/v3", move |_| index(&served));
    // `/` lists it, and nothing is there.
    routes.path("/openapi/v3/", |_| Outcome::Ready(Response { status: 404, ..Response::default() }));
    routes.prefix("/openapi/v3/", move |request| v3(&documents, request));
}

/// Answers with a document: at once where it is kept, else when it is built.
fn serve(
    documents: &Arc<Documents>,
    wanted: Wanted,
    answer: impl FnOnce(Document) -> Response + 'static,
) -> Outcome {
    if let Some(document) = documents.kept(&wanted) {
        return Outcome::Ready(answer(document));
    }
    let built = documents.built(wanted);
    Outcome::Task(Box::pin(async move {
        match built.await {
            Some(document) => answer(document),
            None => Response::new(500, TEXT, "the document could not be built\n"),
        }
    }))
}

fn v2(documents: &Arc<Documents>, request: &Request<'_>) -> Outcome {
    let Some(form) = negotiate(request, V2_PROTOBUF) else {
        // The handler of these documents says so without a body.
        return Outcome::Ready(encoded(varying(406)));
    };
    let tags = Tags::of(request);
    let gzip = gzip::is_accepted(request);
    serve(documents, Wanted::V2 { form, gzip }, move |document| {
        let mut response = tags.answer(content_type(form, V2_PROTOBUF), document);
        if gzip && response.status == 200 {
            response.headers.push(("content-encoding", "gzip".to_owned()));
        }
        encoded(response)
    })
}

fn index(documents: &Arc<Documents>) -> Outcome {
    serve(documents, Wanted::Index, |document| Response::new(200, TEXT, document.bytes))
}

fn v3(documents: &Arc<Documents>, request: &Request<'_>) -> Outcome {
    let name = request.info.path.trim_start_matches("/openapi/v3/");
    match documents.source(name) {
        Some(Source::Built) => {}
        Some(Source::Remote(handler)) => return handler(request),
        None => return Outcome::Ready(Response { status: 404, ..Response::default() }),
    }
    let Some(form) = negotiate(request, V3_PROTOBUF) else { return Outcome::Ready(varying(406)) };
    let content_type = content_type(form, V3_PROTOBUF);
    let asked = query::get(request.head.query(), "hash").filter(|hash| !hash.is_empty());
    let asked = asked.map(|hash| hash.into_owned());
    let name = name.to_owned();
    let tags = Tags::of(request);
    serve(documents, Wanted::V3 { name: name.as_str().into(), form }, move |document| {
        let Some(asked) = asked else { return tags.answer(content_type, document) };
        if asked != *document.hash {
            // A hash of another time: the client is sent to the document as it is now.
            let mut moved = tagged(Response { content_type, ..varying(301) }, &document.hash);
            moved.headers.push(("location", format!("/openapi/v3/{name}?hash={}", document.hash)));
            return moved;
        }
        let mut response = tags.answer(content_type, document);
        response.headers.push(("cache-control", IMMUTABLE.to_owned()));
        let now = jiff::Timestamp::now().to_zoned(TimeZone::UTC);
        if let Ok(year) = now.checked_add(1.year()) {
            response.headers.push(("expires", year.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string()));
        }
        response
    })
}

fn content_type(form: Form, protobuf: &'static str) -> &'static str {
    match form {
        Form::Json => JSON,
        Form::Protobuf => protobuf,
    }
}

/// The form that the client likes best of those there are. `protobuf` is the name that the document's has in answers.
fn negotiate(request: &Request<'_>, protobuf: &str) -> Option<Form> {
    let accept = std::str::from_utf8(request.head.header("accept").unwrap_or_default()).unwrap_or("");
    preferred(accept, protobuf)
}

fn preferred(accept: &str, protobuf: &str) -> Option<Form> {
    let mut clauses: Vec<(f32, bool, Form)> = Vec::new();
    for clause in accept.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let form = match parts.next().unwrap_or("") {
            // Nothing is accepted in so many words: everything is.
            "" if accept.trim().is_empty() => Form::Json,
            "*" | "*/*" | "application/*" | "*/json" | JSON => Form::Json,
            other if other == protobuf || other.replace('@', ".") == protobuf => Form::Protobuf,
            _ => continue,
        };
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        clauses.push((quality, clause.contains('*'), form));
    }
    // Of what is liked equally, what is named comes before what is only included, and then the first.
    clauses.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    clauses.first().map(|(_, _, form)| *form)
}

/// The tags of documents that a client has already.
struct Tags(Vec<String>);

impl Tags {
    fn of(request: &Request<'_>) -> Tags {
        let lines = request.head.headers_named("if-none-match");
        let texts = lines.filter_map(|line| std::str::from_utf8(line).ok());
        Tags(texts.flat_map(|text| text.split(',')).map(|tag| tag.trim().to_owned()).collect())
    }

    fn answer(&self, content_type: &'static str, document: Document) -> Response {
        let Document { bytes, hash } = document;
        let known =
            self.0.iter().any(|tag| tag == "*" || tag.trim_start_matches("W/").trim_matches('"') == &*hash);
        let mut response = varying(304);
        if !known {
            response = Response { headers: response.headers, ..Response::new(200, content_type, bytes) };
        }
        tagged(response, &hash)
    }
}

/// An answer without a body that depends on what the client accepts.
fn varying(status: u16) -> Response {
    Response { status, headers: vec![("vary", "Accept".to_owned())], ..Response::default() }
}

/// An answer that also depends on the encodings a client takes.
fn encoded(mut response: Response) -> Response {
    response.headers.insert(0, ("vary", "Accept-Encoding".to_owned()));
    response
}

fn tagged(mut response: Response, hash: &str) -> Response {
    response.headers.push(("etag", format!("\"{hash}\"")));
    response
}
