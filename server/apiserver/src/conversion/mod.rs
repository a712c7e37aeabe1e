//! Objects of custom kinds whose versions somebody else makes of each other: a webhook, which answers when it does.
//!
//! A version of such a kind knows only itself. Handlers of it work on [`Shadow`]s: what is stored as that version shows
//! it, in the stored form, with the identity and the revision of what is stored. What they would store is converted on its
//! way to the store. So nothing but the way in and the way out knows of conversions, and everything else of a request is
//! as for any other kind.
//!
//! A shadow is made once for all who want it at a time, on whichever core they are, and kept beside while there is room
//! ([`pool`]); so an event is converted once for all its watchers, and a list that comes again is not converted again. The
//! work around a call (reading what is stored, reading what came back) is a thread's of its own ([`worker`]): cores wait by
//! futures and do nothing of it.
//!
//! Managed fields are told by version, so their rules need objects in others in the middle of what is no future. They ask
//! a [`Memo`]; what that does not know it notes, and they are run anew once it is known.

pub(crate) mod failure;
mod memo;
mod pool;
mod shadow;
mod slot;
mod storing;
mod worker;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use ringbolt_machinery::status::Status;
use ringbolt_storage::object::Object;

pub(crate) use self::{
    memo::{Memo, Versioned},
    shadow::{at_revision, stored_version},
    slot::Shadow,
    storing::{and_back, to_stored},
};
use self::{
    pool::Pool,
    slot::{Promise, Slot, Waiting},
    worker::Worker,
};
use crate::{core::random_uuid, endpoints::resource::ResourceStore, registry::Conversion};

/// Where conversions happen: a thread, which starts with the first, and what is kept of them. Clones are of the same.
#[derive(Clone, Default)]
pub struct Conversions(Arc<Shared>);

impl Conversions {
    /// Runs work around a conversion on the thread of conversions.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.0.worker.run(job);
    }

    /// A random uid, for a question to a converter.
    pub fn uid(&self) -> String {
        let uid = random_uuid();
        String::from_utf8_lossy(&uid).into_owned()
    }
}

#[derive(Default)]
struct Shared {
    pool: Pool,
    worker: Worker,
}

/// By which conversions know a resource in one version: each that was ever served has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoreNumber(u64);

impl StoreNumber {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        StoreNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Why an object could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversionError(pub(crate) Arc<str>);

impl ConversionError {
    pub(crate) fn new(why: impl Into<Arc<str>>) -> Self {
        ConversionError(why.into())
    }

    /// Conversions that were not begun since too many are under way.
    fn busy() -> Self {
        Self::new("too many objects are being converted, please try again later")
    }
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether what is kept of conversions will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It will.
    Kept,
    /// The converter is asked, as the real server does for what it does not read from its cache.
    Asked,
}

/// One object, whole as JSON, in another version.
async fn convert_one(
    conversion: Conversion<'_>,
    text: Vec<u8>,
    from: &str,
    to: &str,
) -> Result<Bytes, ConversionError> {
    let Some(permit) = conversion.conversions.0.worker.permit(text.len()) else {
        return Err(ConversionError::busy());
    };
    let slot: Arc<Slot<Bytes>> = Arc::default();
    let promise = Promise(vec![slot.clone()]);
    let done = move |outcome: Result<Vec<Result<Vec<u8>, String>>, String>| {
        drop(permit);
        // A promise that is dropped is kept by a failure.
        let Some(one) = outcome.map(|mut all| all.pop()).transpose() else { return };
        let one = one.and_then(|one| one).map(Bytes::from).map_err(ConversionError::new);
        promise.0.iter().for_each(|slot| slot.fill(one.clone()));
    };
    conversion.converter.convert(vec![text], from, to, Box::new(done));
    Waiting(slot).await
}

fn conversion(store: &ResourceStore) -> Option<Conversion<'_>> {
    store.served.custom.as_ref()?.conversion()
}

/// Whether a version's objects are stored in another one, and converted.
pub(crate) fn is_from_another(store: &ResourceStore) -> bool {
    conversion(store).is_some_and(|conversion| conversion.stored_version != store.group_version)
}

/// Whether a stored object has to be converted to be shown by a version that `converts`.
pub(crate) fn is_foreign(store: &ResourceStore, object: &Object) -> bool {
    if store.shows_as_stored(object.attributes.stamp.get()) {
        return false;
    }
    let Some(conversion) = conversion(store) else { return false };
    // What is stored in the storage version is shown by that without anybody's help, whatever its form.
    conversion.stored_version != store.group_version || stored_version(&object.json) != store.group_version
}

/// Stored objects as a version shows them, each on its way: what has to be converted of them is in one call, together.
pub(crate) fn shadows<'o>(
    store: &Arc<ResourceStore>,
    objects: impl IntoIterator<Item = &'o Arc<Object>>,
    freshness: Freshness,
) -> Vec<Shadow> {
    let Some(conversion) = conversion(store) else {
        return objects.into_iter().map(|object| Shadow::Ready(object.clone())).collect();
    };
    let Conversions(shared) = conversion.conversions;
    let mut wanted: Vec<(Arc<Object>, Arc<Slot>)> = Vec::new();
    let shadows = objects.into_iter().map(|object| {
        if !is_foreign(store, object) {
            return Shadow::Ready(object.clone());
        }
        match shared.pool.ask(store.number, object, freshness) {
            pool::Found::Kept(shadow) => Shadow::Ready(shadow),
            pool::Found::UnderWay(slot) => Shadow::Pending(slot),
            pool::Found::Nothing(slot) => {
                wanted.push((object.clone(), slot.clone()));
                Shadow::Pending(slot)
            }
        }
    });
    let shadows = shadows.collect();
    if !wanted.is_empty() {
        shadow::begin(store, shared, wanted);
    }
    shadows
}

/// The shadow of one object.
pub(crate) async fn shadow(
    store: &Arc<ResourceStore>,
    object: &Arc<Object>,
    freshness: Freshness,
) -> Result<Arc<Object>, ConversionError> {
    match shadows(store, [object], freshness).pop() {
        Some(shadow) => shadow.await,
        None => Ok(object.clone()),
    }
}

/// What is stored, as a version of the kind shows it: to be read.
pub(crate) async fn seen(
    store: &Arc<ResourceStore>,
    object: &Arc<Object>,
    freshness: Freshness,
) -> Result<Arc<Object>, Status> {
    shadow(store, object, freshness).await.map_err(|error| failure::unread(store, object, &error))
}

/// What was just stored, as a version of the kind shows it: to be answered.
pub(crate) async fn written(store: &Arc<ResourceStore>, object: &Arc<Object>) -> Result<Bytes, Status> {
    let shadow = shadow(store, object, Freshness::Kept).await.map_err(|error| failure::unstored(&error))?;
    Ok(shadow.json.clone())
}

/// Objects of a list as a version of the kind shows them.
pub(crate) async fn listed(
    store: &Arc<ResourceStore>,
    objects: &[Arc<Object>],
) -> Result<Vec<Arc<Object>>, Status> {
    let mut listed = Vec::with_capacity(objects.len());
    let mut failed = Vec::new();
    for (object, shadow) in objects.iter().zip(shadows(store, objects, Freshness::Kept)) {
        match shadow.await {
            Ok(shadow) => listed.push(shadow),
            Err(error) => failed.push((object, error)),
        }
    }
    if failed.is_empty() {
        return Ok(listed);
    }
    Err(failure::unlisted(store, failed.iter().map(|(object, error)| (&***object, error))))
}

/// Forgets what is kept of a resource that is served no more.
pub(crate) fn forget(store: &ResourceStore) {
    if let Some(conversion) = conversion(store) {
        conversion.conversions.0.pool.forget(store.number);
    }
}
