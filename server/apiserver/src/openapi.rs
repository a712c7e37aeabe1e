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
    request::Request,
    response::{JSON, Outcome, Response},
    routes::{RouteTableBuilder, page_not_found},
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
    index: OnceLock<Document>,
    by_name: BTreeMap<String, OnceLock<Document>>,
}

/// Puts the documents on the route table.
pub fn install(routes: &mut RouteTableBuilder, schema: &'static Schema) {
    let documents = Arc::new(Documents {
        schema,
        v2_json: OnceLock::new(),
        v2_protobuf: OnceLock::new(),
        index: OnceLock::new(),
        by_name: v3::names(&schema.groups).into_iter().map(|name| (name, OnceLock::new())).collect(),
    });
    let v2 = documents.clone();
    routes.path("/openapi/v2", move |request| v2.v2(request));
    let index = documents.clone();
    routes.path("/openapi/v3", move |request| index.index(request));
    // `/` lists the index without and with its slash.
    let slash = documents.clone();
    routes.path("/openapi/v3/", move |request| slash.index(request));
    routes.prefix("/openapi/v3/", move |request| documents.v3(request));
}

impl Documents {
    fn v2(&self, request: &Request<'_>) -> Outcome {
        let json = self.v2_json.get_or_init(|| Document::new(v2::json(self.schema, &self.schema.groups)));
        let accept = request.head.header("accept").unwrap_or_default();
        let asked = std::str::from_utf8(accept).unwrap_or("");
        let first = asked.split(',').map(|c| c.split(';').next().unwrap_or("").trim());
        let known = |c: &str| matches!(c, "" | "*/*" | "application/*" | JSON) || c == V2_PROTOBUF_ASKED;
        let (content_type, bytes) = match first.into_iter().find(|c| known(c)) {
            Some(V2_PROTOBUF_ASKED) => {
                let built = || Bytes::from(v2::protobuf(self.schema, &self.schema.groups));
                (V2_PROTOBUF_SENT, self.v2_protobuf.get_or_init(built).clone())
            }
            Some(_) => (JSON, json.bytes.clone()),
            // The handler of these documents says so without a body.
            None => return Outcome::Ready(Response { status: 406, ..Response::default() }),
        };
        answer(request, content_type, bytes, &json.hash)
    }

    fn index(&self, request: &Request<'_>) -> Outcome {
        let index = self.index.get_or_init(|| Document::new(v3::index(self.schema, &self.schema.groups)));
        answer(request, INDEX, index.bytes.clone(), &index.hash)
    }

    fn v3(&self, request: &Request<'_>) -> Outcome {
        let name = request.info.path.trim_start_matches("/openapi/v3/").trim_end_matches('/');
        let Some(slot) = self.by_name.get(name) else { return Outcome::Ready(page_not_found()) };
        let build =
            || Document::new(v3::document(self.schema, &self.schema.groups, name).unwrap_or_default());
        let document = slot.get_or_init(build);
        let asked = query::get(request.head.query(), "hash");
        if let Some(asked) = asked.filter(|hash| !hash.is_empty() && **hash != *document.hash) {
            // A hash of another time: the client is sent to the document as it is now.
            let _ = asked;
            let mut moved = Response { status: 301, ..Response::default() };
            moved.headers.push(("location", format!("/openapi/v3/{name}?hash={}", document.hash)));
            return Outcome::Ready(moved);
        }
        answer(request, JSON, document.bytes.clone(), &document.hash)
    }
}

fn answer(request: &Request<'_>, content_type: &'static str, bytes: Bytes, hash: &str) -> Outcome {
    let etag = format!("\"{hash}\"");
    let known = request.head.headers_named("if-none-match").any(|tags| {
        let tags = std::str::from_utf8(tags).unwrap_or("");
        tags.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*")
    });
    let mut response = if known {
        Response { status: 304, ..Response::default() }
    } else {
        Response::new(200, content_type, bytes)
    };
    response.headers.push(("etag", etag));
    response.headers.push(("vary", "Accept".to_owned()));
    Outcome::Ready(response)
}
