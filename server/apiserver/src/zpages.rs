//! `/statusz` and `/flagz`: pages for people who look for what is wrong, and the same as objects of `config.k8s.io`.

mod flagz;
mod negotiation;
mod statusz;

use ringbolt_machinery::{field::write_json_string, status::Status, yaml};
use ringbolt_protocol::{head::Head, query};

use self::negotiation::Form;
use crate::{
    request::Request,
    response::{Outcome, Response, TEXT},
    response_writers::{error, indent},
    routes::RouteTableBuilder,
};

/// The name of the server in both.
const COMPONENT: &str = "apiserver";

/// Puts them on the route table. `flags` are those of the command line and their values, sorted by name.
pub fn install(routes: &mut RouteTableBuilder, flags: Vec<(String, String)>) {
    let started = statusz::Started::now();
    routes.path("/statusz", move |request| {
        serve(request, "Statusz", || started.text(), |version| started.json(version))
    });
    routes.path("/flagz", move |request| {
        serve(request, "Flagz", || flagz::text(&flags), |version| flagz::json(version, &flags))
    });
}

/// A page in the form that it is asked for.
fn serve(
    request: &Request<'_>,
    kind: &str,
    text: impl FnOnce() -> String,
    json: impl FnOnce(&str) -> String,
) -> Outcome {
    let head = request.head;
    let accept = head.header("accept").map(String::from_utf8_lossy).unwrap_or_default();
    let Some(form) = negotiation::negotiate(&accept, kind) else {
        let types = ["application/json", "application/yaml", "text/plain"];
        return Outcome::Ready(error(head, &Status::not_acceptable(&types)));
    };
    let (version, media_type) = match form {
        Form::Text => return Outcome::Ready(Response::new(200, TEXT, text())),
        Form::Json(version) => (version, negotiation::json_type(kind, version)),
        Form::Yaml(version) => (version, negotiation::yaml_type(kind, version)),
    };
    if version == "v1alpha1" {
        let page = kind.to_ascii_lowercase();
        let warning =
            format!("This version of the {page} endpoint is deprecated. Please use a newer version.");
        request.warnings.borrow_mut().push(warning);
    }
    let json = json(version).into_bytes();
    let body = match form {
        Form::Yaml(_) => {
            let mut out = Vec::new();
            // What was just written reads back.
            if yaml::from_json(&json, &mut out).is_ok() { out } else { json }
        }
        _ if is_for_people(head) => indent(&json),
        _ => [&json[..], b"\n"].concat(),
    };
    Outcome::Ready(Response::new(200, media_type, body))
}

fn is_for_people(head: &Head<'_>) -> bool {
    query::is_pretty(head.query(), head.header("user-agent").unwrap_or_default())
}

/// The beginning of a page of text.
fn title(page: &str) -> String {
    format!(
        "\n{COMPONENT} {page}\nWarning: This endpoint is not meant to be machine parseable, has no formatting \
         compatibility guarantees and is for debugging purposes only.\n"
    )
}

/// The beginning of an object.
fn type_and_name(kind: &str, version: &str) -> String {
    format!(
        r#"{{"kind":"{kind}","apiVersion":"config.k8s.io/{version}","metadata":{{"name":"{COMPONENT}"}},"#
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_json_string(text, &mut out);
    out
}
