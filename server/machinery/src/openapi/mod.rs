//! OpenAPI documents of the built-in kinds, written from the [`Schema`](crate::schema::Schema) when somebody asks.
//!
//! [`v3`] has an index and one document for each group and group-version; [`v2`] has one for everything, as JSON and as
//! protobuf. Nothing is kept here: whoever serves a document keeps its bytes.
//!
//! Both describe the same [operations](operations) and [definitions](definitions); they differ in where a request's
//! body and media types stand, in shared parameters (v2), and in defaults (v3).

mod definitions;
mod gnostic;
mod node;
mod operations;
mod parameters;
mod resources;
#[cfg(test)]
mod tests;
pub mod v2;
pub mod v3;

use std::borrow::Cow;

use node::Node;

/// `info.title` of every document.
const TITLE: &str = "Kubernetes";
/// `info.version` of every document: the release, without its patch.
const VERSION: &str = "1.37";

fn info() -> Node {
    Node::map([("title", Node::text(TITLE)), ("version", Node::text(VERSION))])
}

/// The one security scheme: a token in the `authorization` header.
fn security_schemes() -> Node {
    let token = [("type", "apiKey"), ("name", "authorization"), ("in", "header")];
    Node::map([("BearerToken", Node::map(token.map(|(k, v)| (k, Node::text(v)))))])
}

/// Which of the two forms is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    V2,
    V3,
}

impl Form {
    /// A reference to a definition.
    fn reference(self, name: &str) -> Node {
        let prefix = match self {
            Form::V2 => "#/definitions/",
            Form::V3 => "#/components/schemas/",
        };
        Node::map([("$ref", Node::Text(Cow::Owned(format!("{prefix}{name}"))))])
    }
}
