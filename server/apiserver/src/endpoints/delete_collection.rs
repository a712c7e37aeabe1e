//! DELETE of a collection: every selected object, one after the other; answers the list of them.

use std::sync::Arc;

use ringbolt_machinery::status::{Reason, Status};

use super::{
    answer::{self, Answer},
    delete::{Delete, Told},
    delete_options::DeleteOptions,
    get::wait_for,
    list::{List, parse_options},
    resource::ResourceStore,
};
use crate::{admission::dynamic::Dynamic, request::Request, response::Outcome};

/// Handles a deletecollection.
pub(crate) fn delete_collection(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    let plan = || -> Result<(Answer, List, Delete), Status> {
        let answer = Answer::negotiate(store, request)?;
        let mut options = parse_options(request)?;
        let selection = List::selection(store, request, &mut options)?;
        let delete_options = DeleteOptions::take(store, request)?;
        delete_options.check_collection()?;
        // The collection is read in pages, so a version is taken for exactly that one.
        if options.limit == 0 {
            options.limit = i64::MAX;
        }
        let list = List::of(store, request, selection, &options)?;
        let dynamic = Dynamic::of(store, request, || delete_options.for_plugins());
        let delete = Delete {
            store: store.clone(),
            core: request.core.clone(),
            user: request.user.clone(),
            options: delete_options,
            told: Told::Collection,
            dynamic,
        };
        Ok((answer, list, delete))
    };
    let (answer, list, delete) = match plan() {
        Ok(plan) => plan,
        Err(status) => return answer::failed(request, &status),
    };
    Outcome::Task(Box::pin(async move {
        let waited = match list.waits_for() {
            Some(version) => wait_for(&list.core, version).await,
            None => Ok(()),
        };
        let page = match waited {
            Ok(()) if list.store.converts => list.converted_page().await,
            Ok(()) => list.page(),
            Err(status) => Err(status),
        };
        let page = match page {
            Ok(page) => page,
            Err(status) => return answer.status(&status),
        };
        for object in &page.items {
            match delete.run(object.namespace(), object.name()).await {
                Ok(_) => {}
                // Somebody else was quicker.
                Err(status) if status.reason == Reason::NotFound => {}
                Err(status) => return answer.status(&status),
            }
        }
        answer.flat_list(&list.store, page)
    }))
}
