//! Conversions that the rules of managed fields ask for. Those rules are no future: what they need and is not known they
//! are refused, it is noted, and they are run anew once it is known.

use std::cell::RefCell;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    apply::{Root, Unconverted, Versions},
    json,
    value::Value,
};

use super::{
    ConversionError, conversion, convert_one,
    shadow::{sort, text_of, without_owners},
};
use crate::{endpoints::resource::ResourceStore, limits::MANAGED_FIELDS_CONVERSIONS_MAX};

/// What one write has found out so far. Empty, and without any memory, for kinds that need nobody.
#[derive(Default)]
pub(crate) struct Memo {
    known: RefCell<Vec<Known>>,
    wanted: RefCell<Option<Wanted>>,
}

struct Known {
    wanted: Wanted,
    outcome: Result<Bytes, ConversionError>,
}

/// An object that has to be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    text: Vec<u8>,
    from: String,
    to: String,
}

/// A kind's versions as the rules ask for them.
pub(crate) struct Versioned<'s> {
    pub(crate) store: &'s ResourceStore,
    pub(crate) memo: &'s Memo,
}

impl Memo {
    /// An object in another version, where that is known.
    fn convert<'a>(&self, arena: &'a Bump, object: &Value<'a>, to: &str) -> Result<Value<'a>, Unconverted> {
        // An object with nothing in it is such a one in every version, and no converter is shown any.
        let is_nothing = |(name, _): (&str, &Value<'_>)| matches!(name, "kind" | "apiVersion");
        if object.as_map().is_some_and(|map| map.iter().all(is_nothing)) {
            let mut object = object.clone();
            if let Some(map) = object.as_map_mut().filter(|map| !map.is_empty()) {
                map.insert("apiVersion", Value::String(arena.alloc_str(to)));
            }
            return Ok(object);
        }
        let from = object.str_at(&["apiVersion"]).unwrap_or("").to_owned();
        let wanted = Wanted { text: text_of(&without_owners(object)), from, to: to.to_owned() };
        if let Some(known) = self.known.borrow().iter().find(|known| known.wanted == wanted) {
            let text = known.outcome.clone().map_err(|error| Unconverted::Failed(error.to_string()))?;
            let text: &'a [u8] = arena.alloc_slice_copy(&text);
            let mut object =
                json::decode_untyped(arena, text).map_err(|e| Unconverted::Failed(e.to_string()))?;
            sort(&mut object);
            return Ok(object);
        }
        self.wanted.borrow_mut().get_or_insert(wanted);
        Err(Unconverted::Failed("the object is not converted yet".to_owned()))
    }

    /// Finds out what was asked for; `false` where nothing was. What came of the rules meanwhile counts for nothing then.
    pub(crate) async fn find_out(&self, store: &ResourceStore) -> bool {
        let Some(wanted) = self.wanted.take() else { return false };
        let outcome = match conversion(store) {
            _ if self.known.borrow().len() >= MANAGED_FIELDS_CONVERSIONS_MAX => {
                Err(ConversionError::new("managed fields are of too many versions"))
            }
            Some(conversion) => convert_one(conversion, wanted.text.clone(), &wanted.from, &wanted.to).await,
            None => Err(ConversionError::new("the kind has no converter")),
        };
        self.known.borrow_mut().push(Known { wanted, outcome });
        true
    }
}

impl Versions for Versioned<'_> {
    fn convert<'a>(
        &self,
        arena: &'a Bump,
        object: &Value<'a>,
        from: &str,
        to: &str,
    ) -> Result<Value<'a>, Unconverted> {
        match self.store.converts {
            true => self.memo.convert(arena, object, to),
            false => Versions::convert(self.store, arena, object, from, to),
        }
    }

    fn root(&self, api_version: &str) -> Result<Root<'_>, Unconverted> {
        Versions::root(self.store, api_version)
    }
}
