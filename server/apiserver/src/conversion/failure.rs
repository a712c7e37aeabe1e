//! What clients are told where something could not be converted, in the words that the real server has for an object that
//! it cannot read from its store.

use ringbolt_machinery::status::{Cause, Details, Reason, Status};
use ringbolt_storage::object::Object;

use super::ConversionError;
use crate::{endpoints::resource::ResourceStore, limits::CORRUPT_OBJECTS_TOLD};

fn corrupt(path: &str, object: &Object, error: &ConversionError) -> String {
    format!(
        "StorageError: corrupt object, Code: 7, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable \
         revision={}: {error}",
        object.revision
    )
}

fn path(store: &ResourceStore, object: &Object) -> String {
    store.storage_key(&object.key, false)
}

/// Of one object that was to be read.
pub(crate) fn unread(store: &ResourceStore, object: &Object, error: &ConversionError) -> Status {
    let path = path(store, object);
    Status::internal_error(corrupt(path.strip_prefix("/registry").unwrap_or(&path), object, error))
}

/// Of objects of a list, of which there is one at least. No more are told than a number.
pub(crate) fn unlisted<'o>(
    store: &ResourceStore,
    failed: impl IntoIterator<Item = (&'o Object, &'o ConversionError)>,
) -> Status {
    let mut causes: Vec<Cause> = failed
        .into_iter()
        .take(CORRUPT_OBJECTS_TOLD + 1)
        .map(|(object, error)| {
            let field = path(store, object);
            Cause { reason: "UnexpectedServerResponse", message: corrupt(&field, object, error), field }
        })
        .collect();
    if causes.len() > CORRUPT_OBJECTS_TOLD {
        causes.truncate(CORRUPT_OBJECTS_TOLD);
        let message = "too many errors, the list is truncated".to_owned();
        causes.push(Cause { reason: "FieldValueTooMany", message, field: String::new() });
    }
    let first = causes.first().map_or("", |cause| &cause.message);
    let resource = format!("{}.{}", store.resource(), store.group());
    let mut message = format!("failed to read one or more {resource} from the storage: {first}");
    if causes.len() > 1 {
        message.push_str(&format!(" (and {} more)", causes.len() - 1));
    }
    let mut status = Status::failure(500, Reason::StoreReadError, message);
    status.details = Some(Box::new(Details {
        name: "list".to_owned(),
        group: store.group().to_owned(),
        kind: store.resource().to_owned(),
        causes,
        ..Details::default()
    }));
    status
}

/// Of an object that was to be stored, or was.
pub(crate) fn unstored(error: &ConversionError) -> Status {
    Status::unknown_error(error.to_string())
}
