//! A v3 document as protobuf: the messages of gnostic's `openapi.v3` that the document makes use of.

use super::node::Node;
use super::protobuf::{any, boolean, bytes, double, extension, flag, message, named, text, texts};

/// Encodes a document that [`super::v3`] built.
pub(super) fn encode(document: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in document.entries() {
        match key.as_ref() {
            "openapi" => text(&mut out, 1, value),
            "info" => message(&mut out, 2, |out| {
                for (key, value) in value.entries() {
                    text(out, if key == "title" { 1 } else { 6 }, value);
                }
            }),
            "paths" => message(&mut out, 4, |out| named(out, 1, value, path_item)),
            "components" => message(&mut out, 5, |out| components(out, value)),
            _ => debug_assert!(false, "{key} of a document"),
        }
    }
    out
}

fn components(out: &mut Vec<u8>, components: &Node) {
    for (key, value) in components.entries() {
        match key.as_ref() {
            "schemas" => message(out, 1, |out| named(out, 1, value, schema_or_reference)),
            // A scheme in place, not a reference.
            _ => message(out, 7, |out| {
                named(out, 1, value, |out, scheme| message(out, 1, |out| security_scheme(out, scheme)));
            }),
        }
    }
}

fn security_scheme(out: &mut Vec<u8>, scheme: &Node) {
    for (key, value) in scheme.entries() {
        let number = match key.as_ref() {
            "type" => 1,
            "name" => 3,
            _ => 4,
        };
        text(out, number, value);
    }
}

fn path_item(out: &mut Vec<u8>, item: &Node) {
    for (key, value) in item.entries() {
        let number = match key.as_ref() {
            "get" => 4,
            "put" => 5,
            "post" => 6,
            "delete" => 7,
            "options" => 8,
            "head" => 9,
            "patch" => 10,
            _ => {
                parameters(out, 13, value);
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
            "parameters" => parameters(out, 6, value),
            "requestBody" => message(out, 7, |out| message(out, 1, |out| request_body(out, value))),
            "responses" => message(out, 8, |out| {
                // A response in place, not a reference.
                named(out, 2, value, |out, answer| message(out, 1, |out| response(out, answer)));
            }),
            name => extension(out, 13, name, value),
        }
    }
}

fn parameters(out: &mut Vec<u8>, number: u32, list: &Node) {
    for item in list.items() {
        message(out, number, |out| message(out, 1, |out| parameter(out, item)));
    }
}

fn parameter(out: &mut Vec<u8>, parameter: &Node) {
    for (key, value) in parameter.entries() {
        match key.as_ref() {
            "name" => text(out, 1, value),
            "in" => text(out, 2, value),
            "required" => flag(out, 4, value),
            _ => message(out, 10, |out| schema_or_reference(out, value)),
        }
    }
}

fn request_body(out: &mut Vec<u8>, body: &Node) {
    for (key, value) in body.entries() {
        match key.as_ref() {
            "content" => message(out, 2, |out| content(out, value)),
            _ => flag(out, 3, value),
        }
    }
}

fn response(out: &mut Vec<u8>, response: &Node) {
    for (key, value) in response.entries() {
        match key.as_ref() {
            "description" => text(out, 1, value),
            _ => message(out, 3, |out| content(out, value)),
        }
    }
}

/// Media types and the schema of each.
fn content(out: &mut Vec<u8>, content: &Node) {
    named(out, 1, content, |out, media| {
        for (_, value) in media.entries() {
            message(out, 1, |out| schema_or_reference(out, value));
        }
    });
}

fn schema_or_reference(out: &mut Vec<u8>, node: &Node) {
    match node.entries() {
        [(key, reference)] if key == "$ref" => message(out, 2, |out| text(out, 1, reference)),
        _ => message(out, 1, |out| schema(out, node)),
    }
}

fn schema(out: &mut Vec<u8>, node: &Node) {
    for (key, value) in node.entries() {
        match key.as_ref() {
            "uniqueItems" => flag(out, 20, value),
            "required" => texts(out, 23, value),
            "enum" => value.items().iter().for_each(|item| message(out, 24, |out| any(out, item))),
            "type" => text(out, 25, value),
            "allOf" => schemas(out, 26, value),
            "oneOf" => schemas(out, 27, value),
            "items" => message(out, 30, |out| message(out, 1, |out| schema_or_reference(out, value))),
            "properties" => message(out, 31, |out| named(out, 1, value, schema_or_reference)),
            // A schema, not a boolean.
            "additionalProperties" => {
                message(out, 32, |out| message(out, 1, |out| schema_or_reference(out, value)));
            }
            "default" => message(out, 33, |out| default(out, value)),
            "description" => text(out, 34, value),
            "format" => text(out, 35, value),
            name => extension(out, 36, name, value),
        }
    }
}

fn schemas(out: &mut Vec<u8>, number: u32, list: &Node) {
    for item in list.items() {
        message(out, number, |out| schema_or_reference(out, item));
    }
}

/// A default that is a number, a boolean or a text. The message has no room for others (`{}`), and is empty then.
fn default(out: &mut Vec<u8>, value: &Node) {
    let Node::Json(json) = value else { return debug_assert!(false, "defaults are JSON") };
    if let Ok(number) = json.parse() {
        double(out, 1, number);
    } else if matches!(&**json, "true" | "false") {
        boolean(out, 2, json == "true");
    } else if let Some(text) = json.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        bytes(out, 3, text.as_bytes());
    }
}
