//! LIST: a page or the whole of a resource at one revision, from a snapshot.

use std::sync::Arc;

use bytes::Bytes;
use ringbolt_machinery::status::Status;
use ringbolt_protocol::{media_type::Format, query::ListOptions};
use ringbolt_storage::{api::RevisionError, object::Object, snapshot::Snapshot};

use super::{
    answer::{self, Answer},
    continue_token,
    get::wait_for,
    gzip::{self, GzipSource},
    list_json::JsonList,
    list_parts::{ListParts, ListSource, flat},
    list_protobuf::ProtobufList,
    resource::ResourceStore,
    select::Selection,
};
use crate::{
    conversion,
    core::CoreContext,
    limits::{CONVERT_AT_ONCE, CONVERT_AT_ONCE_BYTES, GZIP_THRESHOLD_BYTES, LIST_INLINE_BYTES},
    request::Request,
    response::{Body, Outcome, Response},
};

/// Which state of the resource a list shows.
enum At {
    /// The newest.
    Newest,
    /// The newest once this revision is there.
    NotOlderThan(u64),
    /// Right after this revision.
    Exact(u64),
    /// As a continue token says; from where, and whether the newest state is asked for.
    Continue { revision: Option<u64>, after: String },
}

/// A list's question.
pub(crate) struct List {
    pub(crate) store: Arc<ResourceStore>,
    pub(crate) core: CoreContext,
    pub(crate) selection: Selection,
    limit: usize,
    at: At,
    /// Whether a version that is not committed yet is waited for. A list of one key that has to be of an exact version,
    /// or comes in pages, is read past the cache there, as all that is not in it, and so is told at once.
    waits: bool,
}

/// A list's answer.
pub(crate) struct Page {
    pub(crate) revision: u64,
    pub(crate) items: Vec<Arc<Object>>,
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<u64>,
}

/// Handles a LIST.
pub(crate) fn list(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    let plan = || -> Result<(Answer, List), Status> {
        let answer = Answer::negotiate(store, request)?;
        Ok((answer, List::new(store, request, parse_options(request)?)?))
    };
    let (answer, list) = match plan() {
        Ok(plan) => plan,
        Err(status) => return answer::failed(request, &status),
    };
    if store.converts {
        // A plain list of what is stored in the version that is asked for is there at once.
        if !conversion::is_from_another(store) && list.selection.is_plain() && list.waits_for().is_none() {
            match list.page() {
                Ok(page) if page.items.iter().any(|object| conversion::is_foreign(store, object)) => {}
                Ok(page) => return answer.list(&list.store, page),
                Err(status) => return Outcome::Ready(answer.status(&status)),
            }
        }
        return Outcome::Task(Box::pin(async move {
            let waited = match list.waits_for() {
                Some(version) => wait_for(&list.core, version).await,
                None => Ok(()),
            };
            let page = match waited {
                Ok(()) => list.converted_page().await,
                Err(status) => Err(status),
            };
            match page {
                Ok(page) => answer.flat_list(&list.store, page),
                Err(status) => answer.status(&status),
            }
        }));
    }
    if let Some(version) = list.waits_for() {
        return Outcome::Task(Box::pin(async move {
            match wait_for(&list.core, version).await.and_then(|()| list.page()) {
                Ok(page) => answer.flat_list(&list.store, page),
                Err(status) => answer.status(&status),
            }
        }));
    }
    match list.page() {
        Ok(page) => answer.list(&list.store, page),
        Err(status) => Outcome::Ready(answer.status(&status)),
    }
}

/// The options of a list, watch or deletecollection; 400 where they do not parse, 422 where they contradict each other.
pub(crate) fn parse_options<'q>(request: &Request<'q>) -> Result<ListOptions<'q>, Status> {
    let mut options = ListOptions::parse(request.head.query()).map_err(|e| Status::bad_request(e.0))?;
    options.set_defaults();
    answer::check_options("ListOptions", options.validate())?;
    Ok(options)
}

impl List {
    /// The list that a request asks for.
    pub(crate) fn new(
        store: &Arc<ResourceStore>,
        request: &Request<'_>,
        mut options: ListOptions<'_>,
    ) -> Result<Self, Status> {
        let selection = Self::selection(store, request, &mut options)?;
        Self::of(store, request, selection, &options)
    }

    /// What is listed, taken out of the options. What is wrong with it is told before anything about versions.
    pub(crate) fn selection(
        store: &Arc<ResourceStore>,
        request: &Request<'_>,
        options: &mut ListOptions<'_>,
    ) -> Result<Selection, Status> {
        let (labels, fields) =
            (std::mem::take(&mut options.label_selector), std::mem::take(&mut options.field_selector));
        Selection::new(store, store.namespace(request.info), "", labels, fields)
    }

    /// The list of a selection.
    pub(crate) fn of(
        store: &Arc<ResourceStore>,
        request: &Request<'_>,
        selection: Selection,
        options: &ListOptions<'_>,
    ) -> Result<Self, Status> {
        let one = selection.is_one_key();
        let at = state_asked_for(options, one)?;
        let limit = usize::try_from(options.limit).unwrap_or(0);
        // Any state from memory ignores a limit, as the watch cache does.
        let limit = if options.resource_version == "0" && store.is_cached() { 0 } else { limit };
        let past_cache = one && !(matches!(at, At::NotOlderThan(_)) && options.limit <= 0);
        let waits = store.is_cached() && !past_cache;
        Ok(List { store: store.clone(), core: request.core.clone(), selection, limit, at, waits })
    }

    /// The revision that must be committed first.
    pub(crate) fn waits_for(&self) -> Option<u64> {
        self.ahead().filter(|_| self.waits)
    }

    /// The revision that is asked for, where it is not committed yet.
    fn ahead(&self) -> Option<u64> {
        let wanted = match &self.at {
            At::NotOlderThan(v) | At::Exact(v) | At::Continue { revision: Some(v), .. } => *v,
            At::Newest | At::Continue { .. } => 0,
        };
        (wanted > self.core.storage.revision()).then_some(wanted)
    }

    fn snapshot(&self) -> Result<Snapshot, Status> {
        let storage = &self.core.storage;
        let stored = self.store.stored();
        if let (Some(wanted), false) = (self.ahead(), self.waits) {
            return Err(Status::too_large_resource_version(wanted, storage.revision(), 0));
        }
        match &self.at {
            At::Newest | At::NotOlderThan(_) | At::Continue { revision: None, .. } => {
                Ok(storage.snapshot(stored))
            }
            At::Exact(revision) => storage.snapshot_at(stored, *revision).map_err(too_old),
            At::Continue { revision: Some(revision), after } => {
                storage.snapshot_at(stored, *revision).map_err(|error| match error {
                    RevisionError::Compacted { .. } => token_too_old(after),
                    other => too_old(other),
                })
            }
        }
    }

    /// Where the page starts: after which key, and which object comes before all others.
    fn start<'s>(&self, snapshot: &'s Snapshot) -> (Option<String>, Option<&'s Arc<Object>>) {
        let At::Continue { after, .. } = &self.at else { return (None, None) };
        let mut after = format!("{}{after}", self.selection.prefix);
        // Our tokens end with the byte that is less than any of a name: what follows is greater than the last key. One
        // that does not starts at its key.
        let mut first = None;
        if after.ends_with('\0') {
            after.pop();
        } else {
            first = snapshot.get(&after);
        }
        (Some(after), first)
    }

    /// Collects the page. Reads memory only.
    pub(crate) fn page(&self) -> Result<Page, Status> {
        let snapshot = self.snapshot()?;
        let selection = &self.selection;
        let (after, first) = self.start(&snapshot);
        let mut items: Vec<Arc<Object>> = Vec::new();
        items.extend(first.filter(|object| selection.matches(object)).cloned());
        let mut more = false;
        for object in selection.select(&snapshot, after.as_deref()) {
            if self.limit > 0 && items.len() == self.limit {
                more = true;
                break;
            }
            items.push(object.clone());
        }
        Ok(self.page_of(&snapshot, items, more))
    }

    /// The same of a version whose objects have to be converted before it is known which are selected.
    pub(crate) async fn converted_page(&self) -> Result<Page, Status> {
        let snapshot = self.snapshot()?;
        let selection = &self.selection;
        let (mut after, first) = self.start(&snapshot);
        let mut first = first.filter(|object| selection.is_candidate(object)).cloned();
        let mut items: Vec<Arc<Object>> = Vec::new();
        let mut more = false;
        loop {
            // One more than there is room for tells whether the list goes on.
            let room = match self.limit {
                0 => CONVERT_AT_ONCE,
                limit => (limit + 1).saturating_sub(items.len()).clamp(1, CONVERT_AT_ONCE),
            };
            let mut batch: Vec<Arc<Object>> = first.take().into_iter().collect();
            let mut bytes = 0;
            for object in selection.candidates(&snapshot, after.as_deref()) {
                if batch.len() >= room || bytes >= CONVERT_AT_ONCE_BYTES {
                    break;
                }
                bytes += object.json.len();
                batch.push(object.clone());
            }
            let Some(last) = batch.last() else { break };
            after = Some(last.key.to_string());
            let shown = conversion::listed(&self.store, &batch).await?;
            for object in shown.into_iter().filter(|object| selection.matches(object)) {
                more = self.limit > 0 && items.len() == self.limit;
                if more {
                    break;
                }
                items.push(object);
            }
            if more {
                break;
            }
        }
        Ok(self.page_of(&snapshot, items, more))
    }

    fn page_of(&self, snapshot: &Snapshot, items: Vec<Arc<Object>>, more: bool) -> Page {
        let selection = &self.selection;
        let mut page =
            Page { revision: snapshot.revision(), items, continue_token: String::new(), remaining: None };
        if let (true, Some(last)) = (more, page.items.last()) {
            let relative = &last.key[selection.prefix.len()..];
            page.continue_token = continue_token::encode(page.revision as i64, relative);
            if selection.is_plain() {
                page.remaining = Some(snapshot.count_after(&selection.prefix, &last.key) as u64);
            }
            self.core.storage.pin(snapshot);
        }
        page
    }
}

/// `one` says that the list is of one key, which is never read in pages.
fn state_asked_for(options: &ListOptions<'_>, one: bool) -> Result<At, Status> {
    let version = options.resource_version.as_ref();
    if !options.continue_token.is_empty() {
        let token = continue_token::decode(&options.continue_token).map_err(|why| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        })?;
        if !matches!(version, "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(why));
        }
        return Ok(At::Continue { revision: u64::try_from(token.revision).ok(), after: token.start });
    }
    let version = match version {
        "" => 0,
        text => answer::parse_version(text).map_err(|why| {
            Status::bad_request(format!("invalid resource version: resourceVersion: {why}"))
        })?,
    };
    Ok(match (version, options.resource_version_match.as_ref()) {
        (0, _) => At::Newest,
        (version, "Exact") => At::Exact(version),
        // A page at a version that was read is that version: what clients wrote before there was a match.
        (version, "") if options.limit > 0 && !one => At::Exact(version),
        (version, _) => At::NotOlderThan(version),
    })
}

fn too_old(error: RevisionError) -> Status {
    match error {
        RevisionError::Compacted { .. } => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        RevisionError::Future { current } => Status::too_large_resource_version(current + 1, current, 1),
    }
}

/// 410 of a continue token whose state is gone, with a token that goes on in the newest state instead.
fn token_too_old(after: &str) -> Status {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of \
         the results. Continuing with the provided token results in an inconsistent list - objects that were \
         created, modified, or deleted between the time the first chunk was returned and now may show up in the \
         list.",
    );
    status.continue_token = continue_token::encode(-1, after.trim_end_matches('\0'));
    status
}

impl Answer {
    /// A list as an outcome: at once where it is small, else in parts with back-pressure.
    pub(crate) fn list(&self, store: &Arc<ResourceStore>, page: Page) -> Outcome {
        if let Err(status) = self.convertible() {
            return Outcome::Ready(self.status(&status));
        }
        let bytes: usize = page.items.iter().map(|o| o.json.len()).sum();
        match self.media.format {
            _ if bytes <= LIST_INLINE_BYTES => {}
            Format::Json if !self.media.pretty => return self.stream(200, JsonList::new(self, store, page)),
            Format::Protobuf => return self.stream(200, ProtobufList::new(self, store, page)),
            Format::Json | Format::Yaml => {}
        }
        Outcome::Ready(self.flat_list(store, page))
    }

    /// A body in parts.
    pub(crate) fn stream(&self, status: u16, mut parts: impl ListParts + 'static) -> Outcome {
        let content_type = answer::content_type(self.media.format);
        let mut response = Response { status, content_type, ..Response::default() };
        if !self.gzip {
            return Outcome::Stream(response, Box::new(ListSource(parts)));
        }
        // Whether to compress is told before the first byte, and a list of metadata or rows may be short.
        let mut begun = Vec::<Bytes>::new();
        match parts.exceeds(GZIP_THRESHOLD_BYTES, &mut begun) {
            Err(status) => Outcome::Ready(self.status(&status)),
            Ok(true) => {
                gzip::mark(&mut response);
                Outcome::Stream(response, Box::new(GzipSource::new(&begun, ListSource(parts))))
            }
            Ok(false) => {
                response.body = Body::one(begun.concat());
                Outcome::Ready(response)
            }
        }
    }

    /// A list in one piece.
    pub(crate) fn flat_list(&self, store: &Arc<ResourceStore>, page: Page) -> Response {
        if let Err(status) = self.convertible() {
            return self.status(&status);
        }
        let room = page.items.iter().map(|o| o.json.len() + 2).sum::<usize>() + 256;
        let flat = match self.media.format {
            Format::Protobuf => flat(ProtobufList::new(self, store, page), room),
            Format::Json | Format::Yaml => flat(JsonList::new(self, store, page), room).map(|mut flat| {
                flat.pop();
                self.text(&flat)
            }),
        };
        match flat {
            Ok(body) => self.compressed(Response::new(200, answer::content_type(self.media.format), body)),
            Err(status) => self.status(&status),
        }
    }
}
