//! `/openapi/v2` and `/openapi/v3`: documents built from the Schema when they are first asked for, kept by hash.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use ringbolt_machinery::{
    openapi::{v2, v3},
    schema::Schema,
};
use ringbolt_protocol::query;

use crate::{
    endpoints::gzip,
    request::Request,
    response::{Body, JSON, Outcome, Response},
    routes::RouteTableBuilder,
};

/// The protobuf type that clients ask for, and the one the answer carries (a dot where the question has an `@`).
const V2_PROTOBUF_ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V2_PROTOBUF_SENT: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The type of the index.
const INDEX: &str = "text/plain; charset=utf-8";

/// A document and the hash that is its ETag.
struct Document {
    bytes: Bytes,
    hash: String,
}

impl Document {
    fn new(bytes: Vec<u8>) -> Self {
        Document { hash: v3::hash(&bytes), bytes: bytes.into() }
    }
}

/// The documents of the groups that are served.
struct Documents {
    schema: &'static Schema,
    v2_json: OnceLock<Document>,
    v2_protobuf: OnceLock<Bytes>,
    /// Both compressed: they are long, and many clients ask for them when they start.
    v2_json_gzip: OnceLock<Bytes>,
    v2_protobuf_gzip: OnceLock<Bytes>,
    index: OnceLock<Document>,
    by_name: BTreeMap<String, OnceLock<Document>>,
}

/// Puts the documents on the route table.
pub fn install(routes: &mut RouteTableBuilder, schema: &'static Schema) {
    let documents = Arc::new(Documents {
        schema,
        v2_json: OnceLock::new(),
        v2_protobuf: OnceLock::new(),
        v2_json_gzip: OnceLock::new(),
        v2_protobuf_gzip: OnceLock::new(),
        index: OnceLock::new(),
        by_name: v3::names(&schema.groups).into_iter().map(|name| (name, OnceLock::new())).collect(),
    });
    let v2 = documents.clone();
    routes.path("/openapi/v2", move |request| v2.v2(request));
    let index = documents.clone();
    routes.path("/openapi/v3", move |_| index.index());
    // `/` lists the index without and with its slash.
    let slash = documents.clone();
    routes.path("/openapi/v3/", move |_| slash.index());
    routes.prefix("/openapi/v3/", move |request| documents.v3(request));
}

impl Documents {
    fn v2(&self, request: &Request<'_>) -> Outcome {
        let json = self.v2_json.get_or_init(|| Document::new(v2::json(self.schema, &self.schema.groups)));
        let accept = request.head.header("accept").unwrap_or_default();
        let asked = std::str::from_utf8(accept).unwrap_or("");
        let first = asked.split(',').map(|c| c.split(';').next().unwrap_or("").trim());
        let known = |c: &str| matches!(c, "" | "*/*" | "application/*" | JSON) || c == V2_PROTOBUF_ASKED;
        let (content_type, bytes, packed) = match first.into_iter().find(|c| known(c)) {
            Some(V2_PROTOBUF_ASKED) => {
                let built = || Bytes::from(v2::protobuf(self.schema, &self.schema.groups));
                (V2_PROTOBUF_SENT, self.v2_protobuf.get_or_init(built).clone(), &self.v2_protobuf_gzip)
            }
            Some(_) => (JSON, json.bytes.clone(), &self.v2_json_gzip),
            // The handler of these documents says so without a body.
            None => return Outcome::Ready(encoded(varying(406))),
        };
        let mut response = answer(request, content_type, bytes.clone(), &json.hash);
        if response.status == 200 && gzip::is_accepted(request) {
            response.body = Body::one(packed.get_or_init(|| gzip::packed(&bytes).into()).clone());
            response.headers.push(("content-encoding", "gzip".to_owned()));
        }
        Outcome::Ready(encoded(response))
    }

    fn index(&self) -> Outcome {
        let index = self.index.get_or_init(|| Document::new(v3::index(self.schema, &self.schema.groups)));
        Outcome::Ready(Response::new(200, INDEX, index.bytes.clone()))
    }

    fn v3(&self, request: &Request<'_>) -> Outcome {
        let name = request.info.path.trim_start_matches("/openapi/v3/").trim_end_matches('/');
        let Some(slot) = self.by_name.get(name) else {
            return Outcome::Ready(Response { status: 404, ..Response::default() });
        };
        let build =
            || Document::new(v3::document(self.schema, &self.schema.groups, name).unwrap_or_default());
        let document = slot.get_or_init(build);
        let asked = query::get(request.head.query(), "hash");
        if asked.is_some_and(|hash| !hash.is_empty() && *hash != *document.hash) {
            // A hash of another time: the client is sent to the document as it is now.
            let mut moved = tagged(Response { content_type: JSON, ..varying(301) }, &document.hash);
            moved.headers.push(("location", format!("/openapi/v3/{name}?hash={}", document.hash)));
            return Outcome::Ready(moved);
        }
        Outcome::Ready(answer(request, JSON, document.bytes.clone(), &document.hash))
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

fn answer(request: &Request<'_>, content_type: &'static str, bytes: Bytes, hash: &str) -> Response {
    let etag = format!("\"{hash}\"");
    let known = request.head.headers_named("if-none-match").any(|tags| {
        let tags = std::str::from_utf8(tags).unwrap_or("");
        tags.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*")
    });
    let mut response = varying(304);
    if !known {
        response = Response { headers: response.headers, ..Response::new(200, content_type, bytes) };
    }
    tagged(response, hash)
}
