//! From what a version would store to what is stored.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_storage::{
    api::{Action, Write},
    object::{EncodedObject, VERSION_BYTES_MAX},
};

use super::{
    ConversionError, conversion, convert_one,
    shadow::{converted, text_of},
};
use crate::{
    endpoints::{metadata, resource::ResourceStore},
    registry::Conversion,
};

/// Makes of a write of a version one of the version that is stored. What removes an object stays as it is.
pub(crate) async fn to_stored(
    store: &Arc<ResourceStore>,
    mut write: Write,
) -> Result<Write, ConversionError> {
    let Some(conversion) = conversion(store).filter(|c| c.stored_version != store.group_version) else {
        return Ok(write);
    };
    if let Action::Put { object, attributes, .. } = &mut write.action {
        let text =
            convert(store, conversion, object, &store.group_version, conversion.stored_version).await?;
        let arena = Bump::new();
        let tree = converted(store, &arena, &text).map_err(ConversionError::new)?;
        let selectable = store.served.strategy.selectable();
        // Whoever reads it in the version that is stored looks whether it lacks defaults, as if it were an old one.
        *attributes = metadata::attributes(&tree, selectable, 0);
        *object = encoded(store, &tree, conversion.stored_version);
    }
    Ok(write)
}

/// Makes of a write as it would be stored one of the version again: what a dry run shows.
pub(crate) async fn and_back(store: &Arc<ResourceStore>, mut write: Write) -> Result<Write, ConversionError> {
    let Some(conversion) = conversion(store).filter(|c| c.stored_version != store.group_version) else {
        return Ok(write);
    };
    if let Action::Put { object, .. } = &mut write.action {
        // As it would be read, with the defaults of the version that is stored.
        let text = {
            let arena = Bump::new();
            let mut tree = store
                .decode_stored_plainly(&arena, &object.json)
                .map_err(|status| ConversionError::new(status.message))?;
            if let Some(kind) = &store.served.custom {
                kind.read_as_stored(&arena, &mut tree);
            }
            text_of(&tree)
        };
        let text = convert_one(conversion, text, conversion.stored_version, &store.group_version).await?;
        let arena = Bump::new();
        let tree = converted(store, &arena, &text).map_err(ConversionError::new)?;
        *object = encoded(store, &tree, &store.group_version);
    }
    Ok(write)
}

async fn convert(
    store: &ResourceStore,
    conversion: Conversion<'_>,
    object: &EncodedObject,
    from: &str,
    to: &str,
) -> Result<Bytes, ConversionError> {
    let text = {
        let arena = Bump::new();
        let tree = store
            .decode_stored_plainly(&arena, &object.json)
            .map_err(|status| ConversionError::new(status.message))?;
        text_of(&tree)
    };
    convert_one(conversion, text, from, to).await
}

fn encoded(
    store: &ResourceStore,
    tree: &ringbolt_machinery::value::Value<'_>,
    version: &str,
) -> EncodedObject {
    let mut json = Vec::new();
    let splice = store.encode_custom_into(tree, version, &mut json);
    json.reserve_exact(VERSION_BYTES_MAX);
    EncodedObject { json: Bytes::from(json), splice }
}
