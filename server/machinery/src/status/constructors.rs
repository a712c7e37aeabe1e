//! Constructors of every status the server gives, named as `k8s.io/apimachinery/pkg/api/errors` names them.

use std::collections::HashSet;

use super::{Cause, Details, Reason, Status};
use crate::field::{FieldError, quote};

/// The text of a group and resource (or kind): `deployments.apps`, `pods`.
pub fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

/// The text after `Operation cannot be fulfilled on …` when the version asked for is no longer the current one.
pub const OBJECT_MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

fn about(group: &str, kind: &str, name: &str) -> Option<Box<Details>> {
    Some(Box::new(Details {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..Details::default()
    }))
}

fn retry_after(seconds: u32) -> Option<Box<Details>> {
    Some(Box::new(Details { retry_after_seconds: seconds, ..Details::default() }))
}

impl Status {
    /// A failure of the given parts, without details.
    pub fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Status {
            success: false,
            code,
            reason,
            message: message.into(),
            continue_token: String::new(),
            details: None,
        }
    }

    fn failure_about(
        code: u16,
        reason: Reason,
        (group, kind, name): (&str, &str, &str),
        message: String,
    ) -> Self {
        Status { details: about(group, kind, name), ..Self::failure(code, reason, message) }
    }

    /// 404: no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} not found", qualified(group, resource), quote(name));
        Self::failure_about(404, Reason::NotFound, (group, resource, name), message)
    }

    /// 404 for a path that no resource is behind.
    pub fn not_found_path() -> Self {
        Status {
            details: Some(Box::default()),
            ..Self::failure(404, Reason::NotFound, "the server could not find the requested resource")
        }
    }

    /// 409: the name is taken.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} already exists", qualified(group, resource), quote(name));
        Self::failure_about(409, Reason::AlreadyExists, (group, resource, name), message)
    }

    /// 409: `generateName` found no free name.
    pub fn generate_name_conflict(group: &str, resource: &str, name: &str, retry_after_seconds: u32) -> Self {
        let message = format!(
            "{} {} already exists, the server was not able to generate a unique name for the object",
            qualified(group, resource),
            quote(name)
        );
        let mut status = Self::failure_about(409, Reason::AlreadyExists, (group, resource, name), message);
        if let Some(details) = &mut status.details {
            details.retry_after_seconds = retry_after_seconds;
        }
        status
    }

    /// 401. An empty reason reads `not authorized`; the authentication filter says `Unauthorized`.
    pub fn unauthorized(reason: &str) -> Self {
        let message = if reason.is_empty() { "not authorized" } else { reason };
        Self::failure(401, Reason::Unauthorized, message)
    }

    /// 403. Without a resource the message is about the path.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = if group.is_empty() && resource.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{} is forbidden: {why}", qualified(group, resource))
        } else {
            format!("{} {} is forbidden: {why}", qualified(group, resource), quote(name))
        };
        Self::failure_about(403, Reason::Forbidden, (group, resource, name), message)
    }

    /// 409. `resource` is the plural, or the Kind where the precondition of a delete failed early.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", qualified(group, resource), quote(name));
        Self::failure_about(409, Reason::Conflict, (group, resource, name), message)
    }

    /// 409: the object was changed since the version that the writer read.
    pub fn modified(group: &str, resource: &str, name: &str) -> Self {
        Self::conflict(group, resource, name, OBJECT_MODIFIED)
    }

    /// 409 of a server-side apply that would take fields from others.
    pub fn apply_conflict(causes: Vec<Cause>, message: impl Into<String>) -> Self {
        Status {
            details: Some(Box::new(Details { causes, ..Details::default() })),
            ..Self::failure(409, Reason::Conflict, message)
        }
    }

    /// 410 with reason Gone.
    pub fn gone(message: impl Into<String>) -> Self {
        Self::failure(410, Reason::Gone, message)
    }

    /// 410 with reason Expired.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, Reason::Expired, message)
    }

    /// 422: what validation found, each finding once.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut message = format!("{} {} is invalid", qualified(group, kind), quote(name));
        let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        // A body of 3 MiB has room for a hundred thousand errors: each is looked up, not looked for.
        let mut seen = HashSet::with_capacity(errors.len());
        let first: Vec<bool> = texts.iter().map(|text| seen.insert(text.as_str())).collect();
        drop(seen);
        let mut causes = Vec::with_capacity(errors.len());
        for (error, _) in errors.iter().zip(&first).filter(|(_, first)| **first) {
            causes.push(Cause {
                reason: error.kind.reason(),
                message: error.body(),
                field: error.field.clone(),
            });
        }
        let mut first = first.into_iter();
        texts.retain(|_| first.next().unwrap_or(false));
        match texts.as_slice() {
            [] => {}
            [one] => {
                message.push_str(": ");
                message.push_str(one);
            }
            several => {
                message.push_str(": [");
                message.push_str(&several.join(", "));
                message.push(']');
            }
        }
        let mut status = Self::failure_about(422, Reason::Invalid, (group, kind, name), message);
        if let Some(details) = &mut status.details {
            details.causes = causes;
        }
        status
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, Reason::BadRequest, message)
    }

    /// 429 with a message of its own.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Status {
            details: retry_after(retry_after_seconds),
            ..Self::failure(429, Reason::TooManyRequests, message)
        }
    }

    /// 503.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, Reason::ServiceUnavailable, message)
    }

    /// 405: `patch is not supported on resources of kind "pods"`.
    pub fn method_not_supported(group: &str, resource: &str, action: &str) -> Self {
        let message =
            format!("{action} is not supported on resources of kind {}", quote(&qualified(group, resource)));
        Self::failure_about(405, Reason::MethodNotAllowed, (group, resource, ""), message)
    }

    /// 405 for a verb the route table does not know on this path.
    pub fn method_not_allowed() -> Self {
        Status {
            details: Some(Box::default()),
            ..Self::failure(
                405,
                Reason::MethodNotAllowed,
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// 500 with reason ServerTimeout: the operation may be tried again.
    pub fn server_timeout(group: &str, resource: &str, operation: &str, retry_after_seconds: u32) -> Self {
        let message = format!(
            "The {operation} operation against {} could not be completed at this time, please try again.",
            qualified(group, resource)
        );
        let mut status =
            Self::failure_about(500, Reason::ServerTimeout, (group, resource, operation), message);
        if let Some(details) = &mut status.details {
            details.retry_after_seconds = retry_after_seconds;
        }
        status
    }

    /// 500: `Internal error occurred: …`.
    pub fn internal_error(why: impl Into<String>) -> Self {
        let why = why.into();
        let message = format!("Internal error occurred: {why}");
        let causes = vec![Cause { reason: "", message: why, field: String::new() }];
        Status {
            details: Some(Box::new(Details { causes, ..Details::default() })),
            ..Self::failure(500, Reason::InternalError, message)
        }
    }

    /// 500 for an error that carries no status of its own: the message alone, no reason.
    pub fn unknown_error(message: impl Into<String>) -> Self {
        Self::failure(500, Reason::Unknown, message)
    }

    /// 504: `Timeout: …`.
    pub fn timeout(message: &str, retry_after_seconds: u32) -> Self {
        let mut status = Self::failure(504, Reason::Timeout, format!("Timeout: {message}"));
        status.details = retry_after(retry_after_seconds);
        status
    }

    /// 504 of the filter that limits a request's time.
    pub fn request_timeout(operation: &str) -> Self {
        Self::timeout(&format!("request did not complete within the allotted timeout{operation}"), 0)
    }

    /// 504: the version asked for lies in the future (`Too large resource version: 9, current: 5`).
    pub fn too_large_resource_version(asked: u64, current: u64, retry_after_seconds: u32) -> Self {
        let mut status = Self::timeout(
            &format!("Too large resource version: {asked}, current: {current}"),
            retry_after_seconds,
        );
        if let Some(details) = &mut status.details {
            details.causes = vec![Cause {
                reason: "ResourceVersionTooLarge",
                message: "Too large resource version".to_owned(),
                field: String::new(),
            }];
        }
        status
    }

    /// 413: `Request entity too large: …`.
    pub fn request_entity_too_large(message: &str) -> Self {
        Self::failure(413, Reason::RequestEntityTooLarge, format!("Request entity too large: {message}"))
    }

    /// 406 with the media types that would do.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::failure(406, Reason::NotAcceptable, message)
    }

    /// 406 for an object asked for in another form (`as=Table`).
    pub fn not_acceptable_conversion(target: &str, accepted: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted when converting to {target}: {}",
            accepted.join(", ")
        );
        Self::failure(406, Reason::NotAcceptable, message)
    }

    /// 415 with the media types that would do.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::failure(415, Reason::UnsupportedMediaType, message)
    }

    /// What the code alone says (`NewGenericServerResponse`). `verb` is the HTTP method.
    pub fn generic_server_response(
        code: u16,
        verb: &str,
        (group, resource, name): (&str, &str, &str),
        server_message: &str,
        retry_after_seconds: u32,
        unexpected: bool,
    ) -> Self {
        let (reason, mut message) = generic(code, verb, server_message);
        if !group.is_empty() || !resource.is_empty() {
            message.push_str(&format!(" ({} {}", verb.to_ascii_lowercase(), qualified(group, resource)));
            if !name.is_empty() {
                message.push(' ');
                message.push_str(name);
            }
            message.push(')');
        }
        let mut status = Self::failure_about(code, reason, (group, resource, name), message);
        if let Some(details) = &mut status.details {
            details.retry_after_seconds = retry_after_seconds;
            if unexpected {
                details.causes = vec![Cause {
                    reason: "UnexpectedServerResponse",
                    message: server_message.to_owned(),
                    field: String::new(),
                }];
            }
        }
        status
    }

    /// The answer to a DELETE that removed the object at once.
    pub fn deleted(group: &str, resource: &str, name: &str, uid: &str) -> Self {
        let mut details = about(group, resource, name);
        if let Some(details) = &mut details {
            details.uid = uid.to_owned();
        }
        Status {
            success: true,
            code: 0,
            reason: Reason::Unknown,
            message: String::new(),
            continue_token: String::new(),
            details,
        }
    }

    /// A bare success with the code the answer carries (201 for a binding).
    pub fn success(code: u16) -> Self {
        Status {
            success: true,
            code,
            reason: Reason::Unknown,
            message: String::new(),
            continue_token: String::new(),
            details: None,
        }
    }
}

fn generic(code: u16, verb: &str, server_message: &str) -> (Reason, String) {
    let (reason, message) = match code {
        409 if verb == "POST" => (Reason::AlreadyExists, "the server reported a conflict"),
        409 => (Reason::Conflict, "the server reported a conflict"),
        404 => (Reason::NotFound, "the server could not find the requested resource"),
        400 => (Reason::BadRequest, "the server rejected our request for an unknown reason"),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => (Reason::Forbidden, server_message),
        406 if server_message.is_empty() || server_message == "unknown" => (
            Reason::NotAcceptable,
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => (Reason::NotAcceptable, server_message),
        415 => (Reason::UnsupportedMediaType, server_message),
        405 => (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"),
        422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
        503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => (
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        429 => (
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later",
        ),
        500.. => {
            let message = format!(
                "an error on the server ({}) has prevented the request from succeeding",
                quote(server_message)
            );
            return (Reason::InternalError, message);
        }
        _ => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            return (Reason::Unknown, message);
        }
    };
    (reason, message.to_owned())
}
