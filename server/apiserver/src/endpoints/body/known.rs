//! Bodies of new objects whose spec may have come before.

use std::cell::RefCell;

use bumpalo::Bump;
use ringbolt_machinery::{json, protobuf, status::Status, value::Value};
use ringbolt_protocol::media_type::Format;

use super::{Body, FieldValidation, finish};
use crate::{
    endpoints::resource::ResourceStore,
    templates::{Lookup, Source, Spec, Templates},
};

impl Body {
    /// [`Body::decode`] of a new object whose spec may be known to the core.
    pub(crate) fn decode_knowing<'a>(
        &'a self,
        store: &ResourceStore,
        templates: &RefCell<Templates>,
        arena: &'a Bump,
    ) -> Result<(Value<'a>, Spec<'a>), Status> {
        match self.decode_repeated(store, templates, arena) {
            Some(known) => {
                self.warnings.borrow_mut().clear();
                Ok(known)
            }
            None => Ok((self.decode(store, arena)?, Spec::UNKNOWN)),
        }
    }

    /// Decodes a body that is what its URL says, of a kind whose specs are known. `None` where it is anything else, or
    /// anything may be wrong with it.
    fn decode_repeated<'a>(
        &'a self,
        store: &ResourceStore,
        templates: &RefCell<Templates>,
        arena: &'a Bump,
    ) -> Option<(Value<'a>, Spec<'a>)> {
        store.served.strategy.spec_rules()?;
        let (ty, schema) = (store.served.facts.ty, store.schema);
        let (_, spec) = schema.get(ty).field("spec")?;
        let mut lookup = Lookup::new(templates, spec.ty);
        let (mut object, source) = match self.format {
            Format::Json if self.validation != FieldValidation::Ignore => {
                let bytes = &self.bytes;
                let (object, source) = json::decode_repeated(arena, schema, ty, bytes, "spec", &mut lookup)?;
                let fits =
                    |field: &str, expect: &str| object.str_at(&[field]).is_none_or(|said| said == expect);
                if !fits("kind", store.kind()) || !fits("apiVersion", &store.group_version) {
                    return None;
                }
                (object, Source::Json(source))
            }
            Format::Protobuf => {
                let envelope = protobuf::decode_unknown(&self.bytes).ok()?;
                let says = |said: &str, expect: &str| said.is_empty() || said == expect;
                if !says(envelope.kind, store.kind()) || !says(envelope.api_version, &store.group_version) {
                    return None;
                }
                let find = |message| lookup.message(arena, message);
                let raw = envelope.raw;
                let (object, source) = protobuf::decode_repeated(arena, schema, ty, raw, "spec", find)?;
                (object, Source::Protobuf(source))
            }
            Format::Json | Format::Yaml => return None,
        };
        let spec = lookup.spec(source);
        // A known spec has its defaults; what else has some is hardly ever there.
        let has_status =
            object.path(&["status"]).and_then(Value::as_map).is_some_and(|status| !status.is_empty());
        if spec.template().is_none() || has_status {
            finish(store, arena, &mut object);
        }
        Some((object, spec))
    }
}
