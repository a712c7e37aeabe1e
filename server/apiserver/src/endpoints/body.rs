//! Request bodies: from JSON, YAML or protobuf to a tree of the storage version, with field validation.

mod known;

use std::cell::RefCell;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    json::{self, Decoded, Mode, StrictError, TypeMeta},
    protobuf,
    schema::{Schema, StructId},
    status::{Details, Reason, Status},
    strict::{self, StrictKind},
    value::Value,
    yaml,
};
use ringbolt_protocol::media_type::{Format, UnsupportedMediaType, body_format};

use super::resource::ResourceStore;
use crate::request::Request;

/// How unknown and duplicate fields are taken (`fieldValidation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    /// From the query; the server's default is to warn.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }

    pub(crate) fn mode(self) -> Mode {
        if self == FieldValidation::Ignore { Mode::Lenient } else { Mode::Strict }
    }
}

/// A body that holds an object, not decoded yet.
pub(crate) struct Body {
    bytes: Bytes,
    format: Format,
    validation: FieldValidation,
    /// What the last decoding would warn about.
    pub(crate) warnings: RefCell<Vec<String>>,
}

impl Body {
    /// Takes the body of a create or update; 415 where its type is unknown.
    pub(crate) fn take(request: &Request<'_>, field_validation: &str) -> Result<Self, Status> {
        let format = body_format(request.head.header("content-type")).map_err(unsupported)?;
        Ok(Body {
            bytes: request.body.clone(),
            format,
            validation: FieldValidation::parse(field_validation),
            warnings: RefCell::default(),
        })
    }

    /// Decodes, defaults and converts to the storage version.
    pub(crate) fn decode<'a>(&self, store: &ResourceStore, arena: &'a Bump) -> Result<Value<'a>, Status> {
        let target = Target {
            schema: store.schema,
            group: store.group(),
            version: store.version(),
            kind: store.kind(),
            ty: Some(store.served.facts.ty),
            custom: store.is_custom().then_some(store),
        };
        // Of a subresource that custom resources share the real server finds no words for what is wrong with it.
        let is_shared = store.is_below_custom && !store.is_custom();
        let said = |status| if is_shared { unregistered(store) } else { status };
        let decoded = target.decode(arena, self.format, &self.bytes, self.validation.mode());
        let (meta, decoded) = decoded.map_err(said)?;
        self.warnings.borrow_mut().clear();
        if !decoded.strict_errors.is_empty() {
            if self.validation == FieldValidation::Strict {
                let refusal = target.cannot_handle(&meta, &strict::message(&decoded.strict_errors));
                return Err(said(refusal));
            }
            self.warnings.borrow_mut().extend(decoded.strict_errors.iter().flat_map(StrictError::warnings));
        }
        if store.is_custom() {
            target.check_version(&meta)?;
        }
        let mut object = decoded.value;
        finish(store, arena, &mut object);
        Ok(object)
    }
}

/// Defaults an object of the served version and turns it into the storage version.
pub(crate) fn finish<'a>(store: &ResourceStore, arena: &'a Bump, object: &mut Value<'a>) {
    (store.served.defaulter)(arena, object);
    if let Some(convert) = store.served.to_stored {
        convert(arena, object);
    }
}

/// The kind that a body must be of.
#[derive(Clone, Copy)]
struct Target<'s> {
    schema: &'static Schema,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    /// Its struct, where it is at hand.
    ty: Option<StructId>,
    /// The store of a custom kind.
    custom: Option<&'s ResourceStore>,
}

impl Target<'_> {
    fn decode<'a>(
        &self,
        arena: &'a Bump,
        format: Format,
        bytes: &[u8],
        mode: Mode,
    ) -> Result<(TypeMeta, Decoded<'a>), Status> {
        match format {
            Format::Json => {
                let bytes: &'a [u8] = arena.alloc_slice_copy(bytes);
                self.decode_json(arena, bytes, bytes, mode, None)
            }
            Format::Yaml => {
                let converted = yaml::to_json(bytes).map_err(|e| self.unrecognized(&e.to_string(), bytes))?;
                let json: &'a [u8] = arena.alloc_slice_copy(&converted.json);
                let found = converted.duplicates.filter(|_| mode == Mode::Strict);
                let found =
                    found.map(|text| StrictError { kind: StrictKind::Other(text), path: String::new() });
                self.decode_json(arena, json, bytes, mode, found)
            }
            Format::Protobuf if self.custom.is_some() => {
                let accepted = "application/json, application/yaml";
                let message = format!(
                    "the body of the request was in an unknown format - accepted media types include: {accepted}"
                );
                Err(unsupported(UnsupportedMediaType { message, details: false }))
            }
            Format::Protobuf => self.decode_protobuf(arena, bytes),
        }
    }

    /// Decodes an object of a custom kind. Of which kind it is, is looked at when it is validated.
    fn decode_custom<'a>(
        &self,
        store: &ResourceStore,
        arena: &'a Bump,
        (json, original): (&'a [u8], &[u8]),
        mode: Mode,
        found: Option<StrictError>,
    ) -> Result<(TypeMeta, Decoded<'a>), Status> {
        let meta = json::interpret(json).map_err(|e| self.unrecognized(&e.to_string(), original))?;
        let meta = self.defaulted(meta);
        let refused = |why: &str| self.cannot_handle(&meta, why);
        let decoded = json::decode_untyped_strict(arena, json, mode).map_err(|e| refused(&e.to_string()))?;
        // It must say what it is, in so many letters.
        let said = |name: &str| decoded.value.str_at(&[name]).unwrap_or("").to_owned();
        let (kind, api_version) = (said("kind"), said("apiVersion"));
        if kind.is_empty() {
            let why = missing_kind(&String::from_utf8_lossy(original));
            return Err(match mode {
                Mode::Strict => self.unrecognized(&why, original),
                Mode::Lenient => refused(&why),
            });
        }
        let taken = store.take_in(arena, decoded.value, mode).map_err(|why| refused(&why))?;
        let strict_errors =
            found.into_iter().chain(decoded.strict_errors).chain(taken.strict_errors).collect();
        Ok((TypeMeta { kind, api_version }, Decoded { value: taken.value, strict_errors }))
    }

    /// Whether an object says the version of its URL.
    fn check_version(&self, meta: &TypeMeta) -> Result<(), Status> {
        if meta.api_version == self.api_version() {
            return Ok(());
        }
        Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            meta.api_version,
            self.api_version()
        )))
    }

    fn decode_json<'a>(
        &self,
        arena: &'a Bump,
        json: &'a [u8],
        original: &[u8],
        mode: Mode,
        found: Option<StrictError>,
    ) -> Result<(TypeMeta, Decoded<'a>), Status> {
        if let Some(store) = self.custom {
            return self.decode_custom(store, arena, (json, original), mode, found);
        }
        if let Some(mut good) = self.decode_expected(arena, json, mode) {
            good.1.strict_errors.extend(found);
            return Ok(good);
        }
        let meta = json::interpret(json).map_err(|e| self.unrecognized(&e.to_string(), original))?;
        let meta = self.defaulted(meta);
        let ty = self.check_kind(&meta)?;
        let mut decoded = json::decode_typed(arena, self.schema, ty, json, mode)
            .map_err(|e| self.cannot_handle(&meta, &e.to_string()))?;
        decoded.strict_errors.splice(0..0, found);
        Ok((meta, decoded))
    }

    /// Decodes a body that is what its URL says, or does not say what it is, in one pass. `None` where anything is wrong with it
    /// or may be: whoever reads `kind` and `apiVersion` first knows what to say. A member that the first reading takes
    /// for one of them and the second does not (`KIND`, or one of two) is a strict error.
    fn decode_expected<'a>(
        &self,
        arena: &'a Bump,
        json: &'a [u8],
        mode: Mode,
    ) -> Option<(TypeMeta, Decoded<'a>)> {
        let ty = self.ty.filter(|_| mode == Mode::Strict)?;
        let decoded = json::decode_typed(arena, self.schema, ty, json, mode).ok()?;
        let says =
            |field: &str, expect: &str| decoded.value.str_at(&[field]).is_none_or(|said| said == expect);
        let meta = TypeMeta { api_version: self.api_version(), kind: self.kind.to_owned() };
        let fits = says("kind", self.kind) && says("apiVersion", &meta.api_version);
        (fits && decoded.strict_errors.is_empty()).then_some((meta, decoded))
    }

    fn decode_protobuf<'a>(&self, arena: &'a Bump, bytes: &[u8]) -> Result<(TypeMeta, Decoded<'a>), Status> {
        let envelope =
            protobuf::decode_unknown(bytes).map_err(|e| self.unrecognized(&e.to_string(), bytes))?;
        let meta = self.defaulted(TypeMeta {
            api_version: envelope.api_version.to_owned(),
            kind: envelope.kind.to_owned(),
        });
        let ty = self.check_kind(&meta)?;
        let raw: &'a [u8] = arena.alloc_slice_copy(envelope.raw);
        let value = protobuf::decode(arena, self.schema, ty, raw)
            .map_err(|e| self.cannot_handle(&meta, &e.to_string()))?;
        Ok((meta, Decoded { value, strict_errors: Vec::new() }))
    }

    /// Fills in what a body leaves out from what its URL says.
    fn defaulted(&self, mut meta: TypeMeta) -> TypeMeta {
        if meta.kind.is_empty() {
            meta.kind = self.kind.to_owned();
        }
        if meta.api_version.is_empty() {
            meta.api_version = self.api_version();
        }
        meta
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The struct to decode into, where the body's kind can go where it was sent.
    fn check_kind(&self, meta: &TypeMeta) -> Result<StructId, Status> {
        let (group, version) = meta.group_version();
        let fits = (group, version, meta.kind.as_str()) == (self.group, self.version, self.kind);
        if let (true, Some(ty)) = (fits, self.ty) {
            return Ok(ty);
        }
        let Some(kind) = self.schema.kind(group, version, &meta.kind) else {
            let why = format!(
                "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"",
                meta.kind, meta.api_version
            );
            return Err(self.cannot_handle(meta, &why));
        };
        if fits {
            return Ok(kind.ty);
        }
        // The events of both groups are one kind inside.
        let is_event = |group| self.kind == "Event" && matches!(group, "" | "events.k8s.io");
        if meta.kind == self.kind && (group == self.group || is_event(group) && is_event(self.group)) {
            self.check_version(meta)?;
        }
        let why = unknown_conversion((version, &meta.kind), (self.group, self.kind));
        Err(self.cannot_handle(meta, &why))
    }

    fn cannot_handle(&self, meta: &TypeMeta, why: &str) -> Status {
        let (_, version) = meta.group_version();
        let kind = self.kind;
        Status::bad_request(format!(
            "{} in version \"{version}\" cannot be handled as a {kind}: {why}",
            meta.kind
        ))
    }

    fn unrecognized(&self, why: &str, body: &[u8]) -> Status {
        let kind = self.kind;
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            summary(body)
        ))
    }
}

/// What is said of a kind that is not the one of the resource: `from` by version, `to` by group.
pub(crate) fn unknown_conversion(from: (&str, &str), to: (&str, &str)) -> String {
    // Go's package of the internal type is named after the group's first label.
    let package = if to.0.is_empty() { "core" } else { to.0.split('.').next().unwrap_or("") };
    format!("converting ({}.{}) to ({package}.{}): unknown conversion", from.0, from.1, to.1)
}

/// What is said of any Scale of a custom resource that does not decode.
fn unregistered(store: &ResourceStore) -> Status {
    Status::bad_request(format!(
        "no kind is registered for the type {}.{} in scheme \"pkg/runtime/scheme.go:111\"",
        store.version(),
        store.kind()
    ))
}

/// What is said of an object that does not say its kind.
pub(crate) fn missing_kind(text: &str) -> String {
    format!("Object 'Kind' is missing in '{text}'")
}

/// The start of a body for an error message: as it is where it may be JSON, else in hexadecimal.
fn summary(body: &[u8]) -> String {
    const MOST: usize = 30;
    let Some(first) = body.first() else { return "<empty>".to_owned() };
    let start = &body[..body.len().min(MOST)];
    let mut text = if *first == b'{' {
        String::from_utf8_lossy(start).into_owned()
    } else {
        start.iter().map(|b| format!("{b:02x}")).collect()
    };
    if body.len() > MOST {
        text.push_str(" ...");
    }
    text
}

/// Decodes the body of a delete.
pub(crate) fn decode_delete_options<'a>(
    store: &ResourceStore,
    arena: &'a Bump,
    request: &Request<'_>,
) -> Result<Value<'a>, Status> {
    let schema = store.schema;
    let format = body_format(request.head.header("content-type")).map_err(unsupported)?;
    let Some(kind) = delete_options_kind(schema) else {
        return Err(Status::internal_error("no kind \"DeleteOptions\" is known"));
    };
    // What is wrong with them is said and no more: who decodes them has no words of its own around it.
    let json = match format {
        Format::Protobuf => {
            let envelope =
                protobuf::decode_unknown(&request.body).map_err(|e| Status::bad_request(e.to_string()))?;
            check_delete_kind(envelope.kind, envelope.api_version)?;
            let raw: &'a [u8] = arena.alloc_slice_copy(envelope.raw);
            return protobuf::decode(arena, schema, kind, raw)
                .map_err(|e| Status::bad_request(e.to_string()));
        }
        Format::Json => request.body.to_vec(),
        Format::Yaml => yaml::to_json(&request.body).map_err(|e| Status::bad_request(e.to_string()))?.json,
    };
    let meta = json::interpret(&json).map_err(|e| Status::bad_request(e.to_string()))?;
    check_delete_kind(&meta.kind, &meta.api_version)?;
    let json: &'a [u8] = arena.alloc_slice_copy(&json);
    let decoded = json::decode_typed(arena, schema, kind, json, Mode::Lenient)
        .map_err(|e| Status::bad_request(e.to_string()))?;
    Ok(decoded.value)
}

/// The kind is registered in every group-version; clients name the one they talk to, or `v1`.
fn check_delete_kind(kind: &str, api_version: &str) -> Result<(), Status> {
    if kind.is_empty() || kind == "DeleteOptions" {
        return Ok(());
    }
    let version = if api_version.is_empty() { "meta.k8s.io/v1" } else { api_version };
    Err(Status::bad_request(format!(
        "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
    )))
}

fn delete_options_kind(schema: &Schema) -> Option<StructId> {
    schema.kinds.iter().find(|k| k.kind == "DeleteOptions").map(|k| k.ty)
}

/// 415.
pub(crate) fn unsupported(error: UnsupportedMediaType) -> Status {
    let mut status = Status::failure(415, Reason::UnsupportedMediaType, error.message);
    if error.details {
        status.details = Some(Box::new(Details::default()));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_deletes_are_of_one_kind() {
        let check = |kind, version| check_delete_kind(kind, version).map_err(|status| status.message);
        assert!(check("", "").is_ok());
        assert!(check("DeleteOptions", "apps/v1").is_ok());
        for (version, shown) in [("v1", "v1"), ("", "meta.k8s.io/v1")] {
            let why = format!(
                "no kind \"Pod\" is registered for version \"{shown}\" in scheme \"pkg/runtime/scheme.go:111\""
            );
            assert_eq!(check("Pod", version).unwrap_err(), why);
        }
    }

    #[test]
    fn summaries() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"[]"), "5b5d");
        assert_eq!(summary(b"{\"a\""), "{\"a\"");
        assert_eq!(
            summary(b"{\"apiVersion\":[\"v1\"],\"kind\":\"ConfigMap\"}"),
            "{\"apiVersion\":[\"v1\"],\"kind\":\"C ..."
        );
    }
}
