//! Kinds that clients send or read and that nothing is stored of: scales, bindings, evictions, reviews.
//!
//! They are decoded, negotiated and rendered like stored resources, so each has a [`ResourceStore`] that no handler
//! takes to storage.

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    field::FieldError,
    json,
    schema::{Column, Resource, Schema},
    status::Status,
    table::{DEFAULT_PRINTER, Printer},
    value::{Map, Value},
};
use ringbolt_protocol::query::CreateOptions;
use ringbolt_storage::object::ResourceId;

use super::{
    answer::{self, Answer},
    body::Body,
    metadata,
    render::Form,
    resource::ResourceStore,
};
use crate::{
    admission::AdmitAll,
    registry::{Grace, Part, ServedResource, Shared, Strategy},
    request::Request,
    response::{JSON, PROTOBUF, Response, YAML},
    selectable::{NO_FIELDS, Selectable},
};

/// The strategy of what is not stored: nothing is filled in, kept or refused.
struct NotStored;

impl Strategy for NotStored {
    fn prepare_for_create<'a>(&self, _: &'a Bump, _: &mut Value<'a>) {}
    fn validate(&self, _: &Value<'_>) -> Vec<FieldError> {
        Vec::new()
    }
    fn prepare_for_update<'a>(&self, _: &'a Bump, _: Part, _: &mut Value<'a>, _: &Value<'_>) {}
    fn validate_update(&self, _: Part, _: &Value<'_>, _: &Value<'_>) -> Vec<FieldError> {
        Vec::new()
    }
    fn warnings(&self, _: Part, _: &Value<'_>, _: Option<&Value<'_>>) -> Vec<String> {
        Vec::new()
    }
    fn allow_create_on_update(&self) -> bool {
        false
    }
    fn allow_unconditional_update(&self) -> bool {
        true
    }
    fn counts_generation(&self) -> bool {
        false
    }
    fn grace(&self, _: &Value<'_>, _: Option<i64>) -> Option<Grace> {
        None
    }
    fn name_error(&self, _: &str, _: bool) -> Option<String> {
        None
    }
    fn selectable(&self) -> &Selectable {
        &NO_FIELDS
    }
}

/// Where such kinds are stored: looked up by no one.
const NOT_STORED: ResourceId = ResourceId(u16::MAX);

/// Whether Tables show a kind. Of what cannot be read there is none, unless it has a printer.
pub(crate) fn has_tables(store: &ResourceStore) -> bool {
    store.stored() != NOT_STORED || !std::ptr::eq(store.served.printer, &DEFAULT_PRINTER)
}

/// The kind of a resource that nothing is stored of.
pub(crate) fn store(
    schema: &'static Schema,
    facts: &'static Resource,
    printer: &'static Printer,
    namespaces: ResourceId,
) -> Arc<ResourceStore> {
    ResourceStore::new(schema, served(facts, printer), namespaces, Arc::new(AdmitAll))
}

fn served(facts: &'static Resource, printer: &'static Printer) -> ServedResource {
    ServedResource {
        facts,
        stored: NOT_STORED,
        stored_type: facts.ty,
        defaulter: |_, _| {},
        to_stored: None,
        from_stored: None,
        strategy: Shared::Static(&NotStored),
        printer,
        ttl_seconds: 0,
        custom: None,
    }
}

/// A kind that only a subresource takes, so that no resource has it, with its Table where it has one. `None` where the Schema does not know it.
pub(crate) fn kind_of_subresource(
    schema: &'static Schema,
    (group, version, kind): (&str, &str, &str),
    table: Option<(Vec<Column>, &'static Printer)>,
    namespaces: ResourceId,
) -> Option<Arc<ResourceStore>> {
    let (columns, printer) = table.unwrap_or((Vec::new(), &DEFAULT_PRINTER));
    let facts = facts_of_subresource(schema, (group, version, kind), columns)?;
    Some(store(schema, facts, printer, namespaces))
}

/// The same of a subresource that all custom resources share.
pub(crate) fn kind_below_custom(
    schema: &'static Schema,
    kind: (&str, &str, &str),
    (columns, printer): (Vec<Column>, &'static Printer),
    namespaces: ResourceId,
) -> Option<Arc<ResourceStore>> {
    let served = served(facts_of_subresource(schema, kind, columns)?, printer);
    Some(ResourceStore::below_custom(schema, served, namespaces, Arc::new(AdmitAll)))
}

fn facts_of_subresource(
    schema: &'static Schema,
    (group, version, kind): (&str, &str, &str),
    columns: Vec<Column>,
) -> Option<&'static Resource> {
    let kind = schema.kind(group, version, kind)?;
    let facts = Resource {
        group: kind.group,
        version: kind.version,
        resource: "",
        singular: "",
        kind: kind.kind,
        ty: kind.ty,
        namespaced: true,
        delete_returns_object: false,
        short_names: &[],
        categories: &[],
        verbs: &[],
        storage_version_hash: "",
        subresources: Vec::new(),
        columns,
        on_by_default: true,
    };
    // Made a few times when the routes are installed; they live as long as the server, as all facts do.
    Some(Box::leak(Box::new(facts)))
}

/// The body of a create of something that is not stored, with what goes with it.
pub(crate) struct Sent {
    /// How to answer.
    pub(crate) answer: Answer,
    /// The body.
    pub(crate) body: Body,
    /// Whether nothing may be changed.
    pub(crate) dry_run: bool,
}

impl Sent {
    /// Takes a create: 406, 415 and 422 before anything is decoded.
    pub(crate) fn take(store: &ResourceStore, request: &Request<'_>) -> Result<Self, Status> {
        let mut answer = Answer::negotiate(store, request)?;
        if matches!(answer.form, Form::Table(_)) {
            // What was only sent has no rows: the next form that is accepted serves.
            let accept = request.head.header("accept").unwrap_or_default();
            let accept = String::from_utf8_lossy(accept);
            if accept.split(',').all(|clause| clause.contains("as=Table")) {
                return Err(Status::not_acceptable(&[JSON, YAML, PROTOBUF]));
            }
            answer.form = Form::Object;
        }
        let options = CreateOptions::parse(request.head.query());
        answer::check_options("CreateOptions", options.validate())?;
        let body = Body::take(request, &options.field_validation)?;
        Ok(Sent { answer, body, dry_run: options.is_dry_run() })
    }

    /// Decodes the body and fits it to the namespace of the request. What it warns about goes with any answer.
    pub(crate) fn decode<'a>(
        &self,
        store: &ResourceStore,
        request: &Request<'_>,
        arena: &'a Bump,
    ) -> Result<Value<'a>, Status> {
        self.decode_for(store, store.namespace(request.info), request.warnings, arena)
    }

    /// The same where the request itself is not at hand any more.
    pub(crate) fn decode_for<'a>(
        &self,
        store: &ResourceStore,
        namespace: &str,
        warnings: &RefCell<Vec<String>>,
        arena: &'a Bump,
    ) -> Result<Value<'a>, Status> {
        let mut object = self.body.decode(store, arena)?;
        warnings.borrow_mut().append(&mut self.body.warnings.borrow_mut());
        metadata::fit_namespace(arena, store, namespace, &mut object)?;
        Ok(object)
    }
}

/// Takes away what a client may not say of a new object's metadata (`WipeObjectMetaSystemFields`).
pub(crate) fn wipe_system_fields(meta: &mut Map<'_>) {
    for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        meta.remove(field);
    }
}

/// An object of the store's kind in its stored form, as [`Answer::object`] takes it.
pub(crate) fn encoded(store: &ResourceStore, object: &Value<'_>) -> Bytes {
    let mut out = Vec::with_capacity(512);
    // Trees carry no TypeMeta, so what follows the brace is what follows an object's head.
    let mut plain = object.clone();
    if let Some(map) = plain.as_map_mut() {
        map.remove("kind");
        map.remove("apiVersion");
    }
    json::encode(store.schema, store.served.facts.ty, &plain, &mut out);
    Bytes::from(out).slice(1..)
}

/// Answers with an object that is not stored.
pub(crate) fn respond(
    answer: &Answer,
    store: &ResourceStore,
    code: u16,
    object: &Value<'_>,
    warnings: &[String],
) -> Response {
    answer.object(store, code, &encoded(store, object), warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_fields_are_wiped() {
        let arena = Bump::new();
        let text = r#"{"name":"a","uid":"u","creationTimestamp":"t","deletionTimestamp":"t","selfLink":"s","deletionGracePeriodSeconds":1,"resourceVersion":"4"}"#;
        let mut meta = json::decode_untyped(&arena, text.as_bytes()).unwrap();
        wipe_system_fields(meta.as_map_mut().unwrap());
        let mut left = Vec::new();
        json::encode_untyped(&meta, &mut left);
        assert_eq!(String::from_utf8(left).unwrap(), r#"{"name":"a","resourceVersion":"4"}"#);
    }

    #[test]
    fn an_object_is_encoded_as_answers_take_it() {
        let schema = Schema::builtin();
        let store = kind_of_subresource(schema, ("autoscaling", "v1", "Scale"), None, ResourceId(0)).unwrap();
        let arena = Bump::new();
        let text = br#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a"},"spec":{"replicas":2}}"#;
        let object =
            json::decode_typed(&arena, schema, store.served.facts.ty, text, json::Mode::Strict).unwrap();
        let expect = r#""metadata":{"name":"a"},"spec":{"replicas":2},"status":{"replicas":0}}"#;
        assert_eq!(encoded(&store, &object.value), expect);
        assert!(kind_of_subresource(schema, ("autoscaling", "v7", "Scale"), None, ResourceId(0)).is_none());
    }
}
