//! GET of one object: the stored bytes, with the served version in front. Never waits, unless a version is asked
//! for that is not there yet.

use std::{sync::Arc, time::Duration};

use ringbolt_machinery::status::Status;
use ringbolt_protocol::query;
use ringbolt_storage::object::Object;

use super::{
    answer::{self, Answer},
    resource::{Key, ResourceStore},
};
use crate::{
    conversion::{self, Freshness},
    core::CoreContext,
    limits::FUTURE_VERSION_WAIT,
    request::Request,
    response::{Outcome, Response},
};

/// Handles a GET.
pub(crate) fn get(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    get_shown(store, store, request, |answer, shown, object| answer.stored(shown, 200, object))
}

/// Handles a GET that shows an object of `store` as one of `shown`.
pub(crate) fn get_shown(
    store: &Arc<ResourceStore>,
    shown: &Arc<ResourceStore>,
    request: &Request<'_>,
    show: impl Fn(&Answer, &ResourceStore, &Object) -> Response + 'static,
) -> Outcome {
    let answer = match Answer::negotiate(shown, request) {
        Ok(answer) => answer,
        Err(status) => return answer::failed(request, &status),
    };
    if let Err(status) = check_name(request.info.name) {
        return Outcome::Ready(answer.status(&status));
    }
    let version = match asked_version(store, request) {
        Ok(version) => version.unwrap_or(0),
        Err(status) => return Outcome::Ready(answer.status(&status)),
    };
    let current = request.core.storage.revision();
    if version > current && !store.is_cached() {
        return Outcome::Ready(answer.status(&Status::too_large_resource_version(version, current, 0)));
    }
    if version > current {
        let (store, shown, core) = (store.clone(), shown.clone(), request.core.clone());
        let (namespace, name) = (store.namespace(request.info).to_owned(), request.info.name.to_owned());
        return Outcome::Task(Box::pin(async move {
            match wait_for(&core, version).await {
                Ok(()) => match lookup(&store, &core, &namespace, &name) {
                    Ok(object) => show(&answer, &shown, &object),
                    Err(status) => answer.status(&status),
                },
                Err(status) => answer.status(&status),
            }
        }));
    }
    Outcome::Ready(match lookup(store, request.core, store.namespace(request.info), request.info.name) {
        Ok(object) => show(&answer, shown, &object),
        Err(status) => answer.status(&status),
    })
}

/// The same of a `store` whose objects have to be converted first. A version that a client is content with is served from
/// what was converted before, as the real server does from its cache; who wants the newest state has it made anew.
pub(crate) fn get_converted(
    store: &Arc<ResourceStore>,
    shown: &Arc<ResourceStore>,
    request: &Request<'_>,
    show: impl Fn(&Answer, &ResourceStore, &Object) -> Response + 'static,
) -> Outcome {
    let answer = match Answer::negotiate(shown, request) {
        Ok(answer) => answer,
        Err(status) => return answer::failed(request, &status),
    };
    if let Err(status) = check_name(request.info.name) {
        return Outcome::Ready(answer.status(&status));
    }
    let (version, freshness) = match asked_version(store, request) {
        Ok(None) => (0, Freshness::Asked),
        Ok(Some(version)) => (version, Freshness::Kept),
        Err(status) => return Outcome::Ready(answer.status(&status)),
    };
    let (namespace, name) = (store.namespace(request.info), request.info.name);
    if version <= request.core.storage.revision() {
        // What is stored in the version that is asked for is there at once.
        match lookup(store, request.core, namespace, name) {
            Ok(object) if conversion::is_foreign(store, &object) => {}
            Ok(object) => return Outcome::Ready(show(&answer, shown, &object)),
            Err(status) => return Outcome::Ready(answer.status(&status)),
        }
    }
    let (store, shown, core) = (store.clone(), shown.clone(), request.core.clone());
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    Outcome::Task(Box::pin(async move {
        let seen = async {
            wait_for(&core, version).await?;
            let object = lookup(&store, &core, &namespace, &name)?;
            conversion::seen(&store, &object, freshness).await
        };
        match seen.await {
            Ok(object) => show(&answer, &shown, &object),
            Err(status) => answer.status(&status),
        }
    }))
}

/// The version that a GET asks for: what it shows is no older. `None` where it says nothing, and wants the newest state.
fn asked_version(store: &ResourceStore, request: &Request<'_>) -> Result<Option<u64>, Status> {
    match query::get(request.head.query(), "resourceVersion").as_deref() {
        None | Some("") => Ok(None),
        // GET and LIST differ here: a version that is no number is 500 without a reason, but for
        // what is in no cache.
        Some(text) => answer::parse_version(text).map(Some).map_err(|why| match store.is_cached() {
            true => Status::unknown_error(format!("resourceVersion: {why}")),
            false => Status::bad_request(format!("invalid resource version: resourceVersion: {why}")),
        }),
    }
}

/// The newest state of an object, or 404.
pub(crate) fn lookup(
    store: &ResourceStore,
    core: &CoreContext,
    namespace: &str,
    name: &str,
) -> Result<Arc<Object>, Status> {
    Key::new(namespace, name)
        .and_then(|key| core.storage.get(store.stored(), key.as_str()))
        .ok_or_else(|| store.not_found(name))
}

/// 400 for what cannot be a segment of a storage key.
pub(crate) fn check_name(name: &str) -> Result<(), Status> {
    let detail = match name {
        "" => return Err(Status::bad_request("Name parameter required.")),
        "." => "may not be '.'",
        ".." => "may not be '..'",
        _ if name.contains('/') => "may not contain '/'",
        _ if name.contains('%') => "may not contain '%'",
        _ => return Ok(()),
    };
    let name = ringbolt_machinery::field::quote(name);
    Err(Status::bad_request(format!("Name parameter invalid: {name}: {detail}")))
}

/// Waits for a revision that is not committed yet, up to [`FUTURE_VERSION_WAIT`].
pub(crate) async fn wait_for(core: &CoreContext, version: u64) -> Result<(), Status> {
    let end = core.now() + FUTURE_VERSION_WAIT;
    loop {
        let current = core.storage.revision();
        if current >= version {
            return Ok(());
        }
        let now = core.now();
        if now >= end {
            return Err(Status::too_large_resource_version(version, current, 1));
        }
        core.sleep_until(end.min(now + Duration::from_millis(20))).await;
    }
}
