//! How an answer goes out: negotiated format and form, objects, lists' frames, and Status errors.

use std::{num::IntErrorKind, sync::Arc};

use bytes::Bytes;
use ringbolt_machinery::{
    field::{ErrorKind, FieldError, quote},
    status::{Details, Reason, Status},
    yaml,
};
use ringbolt_protocol::{
    media_type::{self, Convert, Endpoint, Format, MediaType, NotAcceptable},
    query::{OptionProblem, ProblemKind},
    request_info::Verb,
};
use ringbolt_storage::object::Object;

use super::{
    gzip, not_stored,
    render::{Form, Render},
    resource::ResourceStore,
    table::{self, TableForm},
};
use crate::{
    core::CoreContext,
    filters::warning,
    request::Request,
    response::{Body, JSON, Outcome, PROTOBUF, Response, YAML},
    response_writers::indent,
    templates::Written,
};

/// What ends compact text.
pub(crate) static NEWLINE: &[u8] = b"\n";

/// What the client wants to read.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) core: CoreContext,
    pub(crate) media: MediaType,
    /// How an error goes out: it is not turned into other forms, so what asks for one does not fit it.
    pub(crate) errors: MediaType,
    pub(crate) form: Form,
    /// Why no object can be turned into the form that is asked for.
    pub(crate) unconvertible: Option<Arc<Status>>,
    /// Whether the client takes gzip.
    pub(crate) gzip: bool,
}

impl Answer {
    /// Negotiates; 406 where nothing fits.
    pub(crate) fn negotiate(store: &ResourceStore, request: &Request<'_>) -> Result<Self, Status> {
        let collection = matches!(request.info.verb, Verb::List | Verb::Watch);
        let accept = request.head.header("accept");
        let query = request.head.query();
        let agent = request.head.header("user-agent").unwrap_or_default();
        let endpoint = match not_stored::has_tables(store) {
            _ if store.is_below_custom => Endpoint::CustomResource,
            true => Endpoint::Resource { collection },
            false => Endpoint::ResourceWithoutTables,
        };
        let media = media_type::negotiate(accept, query, agent, endpoint).map_err(not_acceptable)?;
        let answers_list = matches!(request.info.verb, Verb::List | Verb::DeleteCollection);
        let mut unconvertible = None;
        let form = match media.convert {
            None => Form::Object,
            Some(Convert::PartialObjectMetadata(version)) if !answers_list => Form::Partial(version),
            Some(Convert::PartialObjectMetadataList(version)) if answers_list => Form::Partial(version),
            Some(Convert::Table(version)) => match TableForm::parse(version, query) {
                Ok(table) => Form::Table(table),
                Err(status) => {
                    unconvertible = Some(Arc::new(status));
                    Form::Object
                }
            },
            Some(Convert::PartialObjectMetadata(_)) => {
                unconvertible = Some(Arc::new(table::mismatch(store, "PartialObjectMetadata", true)));
                Form::Object
            }
            Some(_) if store.is_custom() => {
                unconvertible = Some(Arc::new(Status::unknown_error("content is not a list")));
                Form::Object
            }
            Some(_) => {
                unconvertible = Some(Arc::new(table::mismatch(store, "PartialObjectMetadataList", false)));
                Form::Object
            }
        };
        let errors = match media.convert {
            // Errors may be protobuf where custom objects may not.
            None if !store.is_below_custom => media,
            _ => media_type::error_media_type(accept, query, agent),
        };
        let gzip = gzip::is_accepted(request);
        Ok(Answer { core: request.core.clone(), media, errors, form, unconvertible, gzip })
    }

    /// Fails where objects cannot be turned into the form that is asked for. What is asked for is done before: this
    /// is of the answer alone.
    pub(crate) fn convertible(&self) -> Result<(), Status> {
        match &self.unconvertible {
            None => Ok(()),
            Some(status) => Err(Status::clone(status)),
        }
    }

    /// The stored state of an object.
    pub(crate) fn stored(&self, store: &ResourceStore, code: u16, object: &Object) -> Response {
        self.render(store, code, &object.json, Some(object), &[])
    }

    /// An object in its stored form, which may not be stored (dry runs, deletes).
    pub(crate) fn object(
        &self,
        store: &ResourceStore,
        code: u16,
        json: &Bytes,
        warnings: &[String],
    ) -> Response {
        self.render(store, code, json, None, warnings)
    }

    /// An object that was just stored, and what is known of its spec.
    pub(crate) fn created(
        &self,
        store: &ResourceStore,
        object: &Object,
        spec: Option<&Written>,
        warnings: &[String],
    ) -> Response {
        let spec = spec.filter(|_| self.media.format == Format::Protobuf);
        if let Some(spec) = spec {
            // Who follows such objects is told of this one soon, most likely in protobuf as well.
            Render { core: &self.core, store, form: self.form }.keep_protobuf(object, spec);
        }
        self.render(store, 201, &object.json, spec.map(|_| object), warnings)
    }

    fn render(
        &self,
        store: &ResourceStore,
        code: u16,
        json: &Bytes,
        object: Option<&Object>,
        warnings: &[String],
    ) -> Response {
        if let Err(status) = self.convertible() {
            return self.status(&status);
        }
        let render = Render { core: &self.core, store, form: self.form };
        let mut response =
            Response { status: code, content_type: content_type(self.media.format), ..Response::default() };
        warn(&mut response, warnings);
        match self.media.format {
            Format::Protobuf => match render.protobuf(json, object) {
                Ok(message) => {
                    response.body = Body::one(render.envelope_head(message.len()));
                    response.body.push(message);
                    response.body.push(Bytes::from_static(super::render::ENVELOPE_TAIL));
                }
                Err(status) => return self.status(&status),
            },
            Format::Json if !self.media.pretty => match render.json(json, object) {
                Ok((text, tail)) => {
                    response.body = Body::one(render.head());
                    response.body.push(text);
                    response.body.push(tail);
                    response.body.push(Bytes::from_static(NEWLINE));
                }
                Err(status) => return self.status(&status),
            },
            Format::Json | Format::Yaml => match render.json(json, object) {
                Ok((text, tail)) => {
                    let flat = [render.head().as_ref(), &text, &tail].concat();
                    response.body = Body::one(self.text(&flat));
                }
                Err(status) => return self.status(&status),
            },
        }
        self.compressed(response)
    }

    /// An answer as it goes out, compressed where it is long and the client takes that.
    pub(crate) fn compressed(&self, response: Response) -> Response {
        if self.gzip { gzip::compress(response) } else { response }
    }

    /// Whole JSON text as YAML, or indented, or as it is.
    pub(crate) fn text(&self, json: &[u8]) -> Vec<u8> {
        text_in(self.media, json)
    }

    /// A failure, with what was warned about before it.
    pub(crate) fn failure(&self, status: &Status, warnings: &[String]) -> Response {
        let mut response = self.status(status);
        warn(&mut response, warnings);
        response
    }

    /// A Status in the negotiated format.
    pub(crate) fn status(&self, status: &Status) -> Response {
        let code = if status.code == 0 { 200 } else { status.code };
        let media = if code < 400 { self.media } else { self.errors };
        let mut body = Vec::with_capacity(256);
        match media.format {
            Format::Protobuf => status.encode_protobuf(&mut body),
            _ => {
                status.encode_json(&mut body);
                body = text_in(media, &body);
            }
        }
        let mut response = Response::new(code, content_type(media.format), body);
        if let Some(details) = &status.details
            && details.retry_after_seconds > 0
        {
            response.headers.push(("retry-after", details.retry_after_seconds.to_string()));
        }
        response
    }
}

fn warn(response: &mut Response, warnings: &[String]) {
    response.headers.extend(warning::headers(warnings).into_iter().map(|value| ("warning", value)));
}

/// Whole JSON text as YAML, or indented, or as it is.
fn text_in(media: MediaType, json: &[u8]) -> Vec<u8> {
    match media.format {
        Format::Yaml => {
            let mut out = Vec::with_capacity(json.len());
            // The text was encoded here, so it is valid; what could not be read would go out as it is.
            if yaml::from_json(json, &mut out).is_err() {
                out = json.to_vec();
            }
            out
        }
        // No line break at the end: so the indented form has it.
        _ if media.pretty => indent(json),
        _ => [json, NEWLINE].concat(),
    }
}

/// The content type of a format.
pub(crate) fn content_type(format: Format) -> &'static str {
    match format {
        Format::Json => JSON,
        Format::Yaml => YAML,
        Format::Protobuf => PROTOBUF,
    }
}

/// What a resource or subresource answers that this server knows and has not built.
pub(crate) fn not_built(what: &str) -> Status {
    Status::failure(501, Reason::Unknown, format!("{what} is not implemented by this server"))
}

/// A failure before anything was negotiated, or of the negotiation itself.
pub(crate) fn failed(request: &Request<'_>, status: &Status) -> Outcome {
    Outcome::Ready(for_failures(request).status(status))
}

/// How failures are told that may come later.
pub(crate) fn for_failures(request: &Request<'_>) -> Answer {
    let agent = request.head.header("user-agent").unwrap_or_default();
    let media = media_type::error_media_type(request.head.header("accept"), request.head.query(), agent);
    Answer {
        core: request.core.clone(),
        media,
        errors: media,
        form: Form::Object,
        unconvertible: None,
        gzip: false,
    }
}

fn not_acceptable(error: NotAcceptable) -> Status {
    let mut status = Status::failure(406, Reason::NotAcceptable, error.message);
    if error.details {
        status.details = Some(Box::new(Details::default()));
    }
    status
}

/// The 406 of a watch in a format that cannot stream.
pub(crate) fn stream_not_acceptable(error: NotAcceptable) -> Status {
    not_acceptable(error)
}

/// 422 for options that validation refuses.
pub(crate) fn check_options(kind: &str, problems: Vec<OptionProblem>) -> Result<(), Status> {
    if problems.is_empty() {
        return Ok(());
    }
    let errors: Vec<FieldError> = problems
        .into_iter()
        .map(|p| FieldError {
            kind: match p.kind {
                ProblemKind::Required => ErrorKind::Required,
                ProblemKind::Invalid => ErrorKind::Invalid,
                ProblemKind::NotSupported => ErrorKind::NotSupported,
                ProblemKind::Forbidden => ErrorKind::Forbidden,
                ProblemKind::TooLong => ErrorKind::TooLong,
            },
            field: p.field.to_owned(),
            bad_value: p.bad_value,
            detail: p.detail,
        })
        .collect();
    Err(Status::invalid("meta.k8s.io", kind, "", &errors))
}

/// A resource version from a query; the error is what follows `resourceVersion: `.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    parse_u64(text).map_err(|why| format!("Invalid value: {}: {why}", quote(text)))
}

/// `strconv.ParseUint(text, 10, 64)` with its error text.
pub(crate) fn parse_u64(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(n) if digits => Ok(n),
        Err(e) if digits && *e.kind() == IntErrorKind::PosOverflow => {
            Err(format!("strconv.ParseUint: parsing {}: value out of range", quote(text)))
        }
        _ => Err(format!("strconv.ParseUint: parsing {}: invalid syntax", quote(text))),
    }
}
