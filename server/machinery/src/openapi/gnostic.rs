//! A v2 document as protobuf: the messages of gnostic's `openapi.v2` that the document makes use of.

use super::node::Node;
use super::protobuf::{any, extension, flag, message, named, text, texts};

/// Encodes a document that [`super::v2`] built.
pub(super) fn encode(document: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in document.entries() {
        match key.as_ref() {
            "swagger" => text(&mut out, 1, value),
            "info" => message(&mut out, 2, |out| {
                for (key, value) in value.entries() {
                    text(out, if key == "title" { 1 } else { 2 }, value);
                }
            }),
            "paths" => message(&mut out, 8, |out| named(out, 2, value, path_item)),
            "definitions" => message(&mut out, 9, |out| named(out, 1, value, schema)),
            "parameters" => message(&mut out, 10, |out| named(out, 1, value, parameter)),
            "security" => {
                for requirement in value.items() {
                    message(&mut out, 12, |out| {
                        named(out, 1, requirement, |out, scopes| texts(out, 1, scopes))
                    });
                }
            }
            "securityDefinitions" => message(&mut out, 13, |out| {
                // The second kind of definition is the API key.
                named(out, 1, value, |out, key| message(out, 2, |out| api_key(out, key)));
            }),
            _ => debug_assert!(false, "{key} of a document"),
        }
    }
    out
}

fn path_item(out: &mut Vec<u8>, item: &Node) {
    for (key, value) in item.entries() {
        let number = match key.as_ref() {
            "get" => 2,
            "put" => 3,
            "post" => 4,
            "delete" => 5,
            "options" => 6,
            "head" => 7,
            "patch" => 8,
            _ => {
                parameters(out, 9, value);
                continue;
            }
        };
        message(out, number, |out| operation(out, value));
    }
}

fn operation(out: &mut Vec<u8>, operation: &Node) {
    for (key, value) in operation.entries() {
        match key.as_ref() {
            "tags" => texts(out, 1, value),
            "description" => text(out, 3, value),
            "operationId" => text(out, 5, value),
            "produces" => texts(out, 6, value),
            "consumes" => texts(out, 7, value),
            "parameters" => parameters(out, 8, value),
            "responses" => message(out, 9, |out| {
                // A response in place, not a reference.
                named(out, 1, value, |out, response_node| {
                    message(out, 1, |out| response(out, response_node))
                });
            }),
            "schemes" => texts(out, 10, value),
            name => extension(out, 13, name, value),
        }
    }
}

fn response(out: &mut Vec<u8>, response: &Node) {
    for (key, value) in response.entries() {
        match key.as_ref() {
            "description" => text(out, 1, value),
            // A schema, not a file.
            _ => message(out, 2, |out| message(out, 1, |out| schema(out, value))),
        }
    }
}

fn parameters(out: &mut Vec<u8>, number: u32, list: &Node) {
    for item in list.items() {
        message(out, number, |out| match item.entries() {
            [(key, reference)] if key == "$ref" => message(out, 2, |out| text(out, 1, reference)),
            _ => message(out, 1, |out| parameter(out, item)),
        });
    }
}

fn parameter(out: &mut Vec<u8>, parameter: &Node) {
    let entry = |name: &str| parameter.entries().iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let place = match entry("in") {
        Some(Node::Text(place)) => place.as_ref(),
        _ => return debug_assert!(false, "a parameter says where it stands"),
    };
    if place == "body" {
        return message(out, 1, |out| {
            for (key, value) in parameter.entries() {
                match key.as_ref() {
                    "name" => text(out, 2, value),
                    "in" => text(out, 3, value),
                    "required" => flag(out, 4, value),
                    _ => message(out, 5, |out| schema(out, value)),
                }
            }
        });
    }
    // Query and path parameters number their fields alike up to the name, then a query's are one further.
    let (kind, shift) = if place == "query" { (3, 1) } else { (4, 0) };
    message(out, 2, |out| {
        message(out, kind, |out| {
            for (key, value) in parameter.entries() {
                match key.as_ref() {
                    "required" => flag(out, 1, value),
                    "in" => text(out, 2, value),
                    "name" => text(out, 4, value),
                    "type" => text(out, 5 + shift, value),
                    _ => flag(out, 19 + shift, value),
                }
            }
        });
    });
}

fn schema(out: &mut Vec<u8>, node: &Node) {
    for (key, value) in node.entries() {
        match key.as_ref() {
            "$ref" => text(out, 1, value),
            "format" => text(out, 2, value),
            "description" => text(out, 4, value),
            "required" => texts(out, 19, value),
            "enum" => value.items().iter().for_each(|item| message(out, 20, |out| any(out, item))),
            // A schema, not a boolean.
            "additionalProperties" => message(out, 21, |out| message(out, 1, |out| schema(out, value))),
            "type" => message(out, 22, |out| text(out, 1, value)),
            "items" => message(out, 23, |out| message(out, 1, |out| schema(out, value))),
            "properties" => message(out, 25, |out| named(out, 1, value, schema)),
            name => extension(out, 31, name, value),
        }
    }
}

fn api_key(out: &mut Vec<u8>, key: &Node) {
    for (name, value) in key.entries() {
        let number = match name.as_ref() {
            "type" => 1,
            "name" => 2,
            _ => 3,
        };
        text(out, number, value);
    }
}
