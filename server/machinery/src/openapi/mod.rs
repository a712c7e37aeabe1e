//! OpenAPI documents of the built-in kinds, written from the [`Schema`](crate::schema::Schema) when somebody asks.
//!
//! [`v3`] has an index and one document for each group and group-version; [`v2`] has one for everything, as JSON and as
//! protobuf. Nothing is kept here: whoever serves a document keeps its bytes.
//!
//! Both describe the same [operations](operations) and [definitions](definitions); they differ in where a request's
//! body and media types stand, in shared parameters (v2), and in defaults (v3).

pub mod custom;
mod definitions;
mod gnostic;
mod gnostic_v3;
mod node;
mod operations;
mod parameters;
mod part;
mod protobuf;
mod resources;
#[cfg(test)]
mod tests;
pub mod v2;
pub mod v3;

use std::borrow::Cow;

use crate::schema::{Group, Schema};
use node::Node;
pub use part::Part;

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

/// What a type (with no property) or a property of it is for, in words. Types have their OpenAPI names.
///
/// What is not known stays without a description; the documents are the same but for that.
pub type Describe<'a> = dyn Fn(&str, Option<&str>) -> Option<String> + 'a;

/// What documents are made of.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    /// The types.
    pub schema: &'a Schema,
    /// Groups and versions that are served.
    pub groups: &'a [Group],
    /// Whether the server tells how tokens of service accounts are verified.
    pub openid: bool,
    /// The prose.
    pub describe: &'a Describe<'a>,
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
