//! Answers that say what went wrong, in the form the client asked for.

use ringbolt_machinery::status::{Details, Reason, Status};
use ringbolt_protocol::{
    head::Head,
    media_type::{self, Format, MediaType},
};

use crate::response::{JSON, Response, TEXT};

/// A failed request, as it was asked for: JSON, YAML or protobuf, indented for people.
pub fn error(head: &Head<'_>, status: &Status) -> Response {
    Errors::of(head).response(status)
}

/// How a client wants to be told of a failure that may come when its request is not at hand any more.
#[derive(Clone, Copy, Debug)]
pub struct Errors(MediaType);

impl Errors {
    /// As the head of its request says.
    pub fn of(head: &Head<'_>) -> Errors {
        let agent = head.header("user-agent").unwrap_or_default();
        Errors(media_type::error_media_type(head.header("accept"), head.query(), agent))
    }

    /// A failure.
    pub fn response(self, status: &Status) -> Response {
        let mut body = Vec::new();
        match self.0.format {
            Format::Json if self.0.pretty => {
                status.encode_json(&mut body);
                body = indent(&body);
            }
            Format::Json => {
                status.encode_json(&mut body);
                body.push(b'\n');
            }
            Format::Yaml => {
                let json = json(status);
                // What was just encoded reads back; were it not so, the text itself would still tell.
                if ringbolt_machinery::yaml::from_json(&json, &mut body).is_err() {
                    body = json;
                }
            }
            Format::Protobuf => status.encode_protobuf(&mut body),
        }
        with_retry_after(Response::new(status.code, self.0.format.content_type(), body), status)
    }
}

/// Refuses a client that wants neither the one type a document has nor everything: as go-restful reads `Accept`, by whole
/// names and whatever their weights.
///
/// # Errors
/// It does not want it.
pub fn check_accept(head: &Head<'_>, media_type: &str) -> Result<(), Status> {
    let accept = head.header("accept").and_then(|a| std::str::from_utf8(a).ok()).unwrap_or("");
    if accepts(accept, media_type) {
        return Ok(());
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {media_type}");
    let mut status = Status::failure(406, Reason::NotAcceptable, message);
    status.details = Some(Box::new(Details::default()));
    Err(status)
}

fn accepts(accept: &str, media_type: &str) -> bool {
    let wanted = |clause: &str| {
        let name = clause.split(';').next().unwrap_or("").trim();
        name == media_type || name == "*/*"
    };
    accept.is_empty() || accept.split(',').any(wanted)
}

/// A failed request, in JSON whatever was asked for.
pub fn json_status(status: &Status) -> Response {
    let mut body = json(status);
    body.push(b'\n');
    with_retry_after(Response::new(status.code, JSON, body), status)
}

fn json(status: &Status) -> Vec<u8> {
    let mut body = Vec::new();
    status.encode_json(&mut body);
    body
}

fn with_retry_after(mut response: Response, status: &Status) -> Response {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response.headers.push(("retry-after", seconds.to_string()));
    }
    response
}

/// A line of text, for what fails outside of any API: as Go's `http.Error` writes it.
pub fn plain_error(status: u16, text: &str) -> Response {
    let mut response = Response::new(status, TEXT, format!("{text}\n"));
    response.headers.push(("x-content-type-options", "nosniff".to_owned()));
    response
}

/// 503 for a path that may yet be installed.
pub fn discovery_incomplete(head: &Head<'_>) -> Response {
    let mut status = Status::service_unavailable(
        "the request has been made before all known HTTP paths have been installed, please try again",
    );
    status.details.get_or_insert_default().retry_after_seconds = 5;
    error(head, &status)
}

/// 429 of the limits on what is worked on at once.
pub fn too_many_requests() -> Response {
    too_many_requests_for(1)
}

/// The same, to come again after so many seconds.
pub fn too_many_requests_for(seconds: i64) -> Response {
    let mut response = plain_error(429, "Too many requests, please try again later.");
    response.headers.push(("retry-after", seconds.to_string()));
    response
}

/// A 500 in plain text that quotes the target.
pub fn internal_error(head: &Head<'_>, why: &str) -> Response {
    let target = ringbolt_machinery::field::quote(head.target);
    let text = format!("Internal Server Error: {target}: {why}");
    plain_error(500, &text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Compact JSON with two blanks a level, as people's clients get it.
pub(crate) fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for (at, &byte) in json.iter().enumerate() {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if !matches!(json.get(at + 1), Some(b'}' | b']')) {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(json.get(at.wrapping_sub(1)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            other => {
                in_string = other == b'"';
                out.push(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_by_name() {
        let check = |accept: &str, media_type: &str, expect: bool| {
            assert_eq!(accepts(accept, media_type), expect, "{accept}");
        };
        check("", JSON, true);
        check("*/*", JSON, true);
        check("application/yaml, application/json;q=0.1", JSON, true);
        check("application/yaml", JSON, false);
        check("application/*", JSON, false);
        check("application/json", "application/jwk-set+json", false);
        check("application/jwk-set+json", "application/jwk-set+json", true);
    }

    #[test]
    fn indents() {
        let check = |json: &str, expect: &str| {
            assert_eq!(String::from_utf8(indent(json.as_bytes())).unwrap(), expect, "{json}");
        };
        check(
            r#"{"kind":"Status","metadata":{},"message":"a{\"b\":[1,2]}\\","list":[1,{"x":[]}]}"#,
            "{\n  \"kind\": \"Status\",\n  \"metadata\": {},\n  \"message\": \"a{\\\"b\\\":[1,2]}\\\\\",\n  \"list\": [\n    1,\n    {\n      \"x\": []\n    }\n  ]\n}",
        );
    }

    #[test]
    fn text_errors() {
        let response = plain_error(429, "Too many requests, please try again later.");
        assert_eq!((response.status, response.content_type), (429, "text/plain; charset=utf-8"));
        assert_eq!(response.body.parts()[0], "Too many requests, please try again later.\n");
        assert_eq!(response.headers, [("x-content-type-options", "nosniff".to_owned())]);
    }

    #[test]
    fn retry_after_is_a_header_too() {
        let response = json_status(&Status::too_many_requests("later", 7));
        assert_eq!(response.headers, [("retry-after", "7".to_owned())]);
    }
}
