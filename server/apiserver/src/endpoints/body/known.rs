//! Bodies of new objects whose spec may have come before.

use std::cell::RefCell;

use bumpalo::Bump;
use ringbolt_machinery::{json, status::Status, value::Value};
use ringbolt_protocol::media_type::Format;

use super::{Body, FieldValidation, finish};
use crate::{
    endpoints::resource::ResourceStore,
    templates::{Lookup, Spec, Templates},
};

impl Body {
    /// [`Body::decode`] of a new object whose spec may be known to the core.
    pub(crate) fn decode_knowing<'a>(
        &self,
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
        &self,
        store: &ResourceStore,
        templates: &RefCell<Templates>,
        arena: &'a Bump,
    ) -> Option<(Value<'a>, Spec<'a>)> {
        store.served.strategy.spec_rules()?;
        if self.format != Format::Json || self.validation == FieldValidation::Ignore {
            return None;
        }
        let ty = store.served.facts.ty;
        let (_, spec) = store.schema.get(ty).field("spec")?;
        let bytes: &'a [u8] = arena.alloc_slice_copy(&self.bytes);
        let mut lookup = Lookup::new(templates, spec.ty);
        let (mut object, source) =
            json::decode_repeated(arena, store.schema, ty, bytes, "spec", &mut lookup)?;
        let says = |field: &str, expect: &str| object.str_at(&[field]).is_none_or(|said| said == expect);
        if !says("kind", store.kind()) || !says("apiVersion", &store.group_version) {
            return None;
        }
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
