//! Builds documents on a thread of its own, and keeps the bytes of those that are asked for.
//!
//! The thread starts when a document is missing and ends when nothing is left to build: with the prose that it unpacks
//! and the trees that it writes, it holds megabytes, and a core would be held for tens of milliseconds.

use std::{
    collections::{HashMap, VecDeque},
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    thread,
};

use bytes::Bytes;
use ringbolt_descriptions::Descriptions;
use ringbolt_machinery::{
    openapi::{Contents, v2, v3},
    schema::Schema,
};
use rustix::thread::CpuSet;

use super::moment::Moment;
use crate::{
    endpoints::gzip,
    limits::{DEEP_STACK_BYTES, OPENAPI_KEPT_BYTES},
    live::{Live, OpenApi, Published, V2Part},
    routes::Handler,
};

/// How much less of a CPU the thread gets than the cores where both want it (of 19).
const NICE: i32 = 10;

/// How a document is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Protobuf,
}

/// A document, in the bytes that a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    V2 {
        form: Form,
        gzip: bool,
    },
    /// The index of v3.
    Index,
    /// The document of v3 with this name.
    V3 {
        name: Arc<str>,
        form: Form,
    },
}

/// The bytes of a document, and the hash of its JSON, which is the ETag of all its forms.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) bytes: Bytes,
    pub(super) hash: Arc<str>,
}

/// The documents of a server.
pub(super) struct Documents {
    schema: &'static Schema,
    openid: bool,
    /// Where the thread may run: everywhere the server may, and not just where the core does that starts it.
    cpus: Option<CpuSet>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    moment: Arc<Moment>,
    /// Counts moments: what is built of an earlier one is not kept.
    generation: u64,
    /// The least lately used is first.
    kept: VecDeque<(Wanted, Document)>,
    kept_bytes: usize,
    /// Hashes of what has been built once: v3 by name, and v2.
    hashes: HashMap<Arc<str>, Arc<str>>,
    v2_hash: Option<Arc<str>>,
    /// Whether the thread is there. It says so itself when it ends, with no job left.
    running: bool,
    /// What is being built (the first) and waits for that.
    jobs: VecDeque<Order>,
}

/// A job, and what is to be built, of which generation.
#[derive(Clone)]
struct Order {
    wanted: Wanted,
    generation: u64,
    job: Arc<Job>,
}

/// A document to come.
#[derive(Default)]
struct Job(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    /// `Some(None)`: it cannot be built.
    result: Option<Option<Document>>,
    waiting: Vec<Waker>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    fn finish(&self, result: Option<Document>) {
        let mut progress = lock(&self.0);
        progress.result = Some(result);
        let waiting = std::mem::take(&mut progress.waiting);
        drop(progress);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, waker: &Waker) -> Poll<Option<Document>> {
        let mut progress = lock(&self.0);
        if let Some(result) = &progress.result {
            return Poll::Ready(result.clone());
        }
        if !progress.waiting.iter().any(|known| known.will_wake(waker)) {
            progress.waiting.push(waker.clone());
        }
        Poll::Pending
    }
}

impl Documents {
    pub(super) fn new(schema: &'static Schema, openid: bool, live: &Live) -> Arc<Self> {
        let cpus = rustix::thread::sched_getaffinity(None).ok();
        let documents = Arc::new(Documents { schema, openid, cpus, state: Mutex::default() });
        let listening = Arc::downgrade(&documents);
        live.listen(Box::new(move |published| {
            if let Some(documents) = listening.upgrade() {
                documents.follow(published);
            }
        }));
        documents
    }

    /// Lets go of what is not so any more.
    fn follow(&self, published: &Published) {
        let moment = Moment::new(self.schema, self.openid, published);
        let mut state = lock(&self.state);
        let before = std::mem::take(&mut state.moment);
        if moment.is_same(&before) {
            state.moment = before;
            return;
        }
        state.kept.retain(
            |(wanted, _)| matches!(wanted, Wanted::V3 { name, .. } if moment.has_same(&before, name)),
        );
        state.kept_bytes = state.kept.iter().map(|(_, document)| document.bytes.len()).sum();
        state.hashes.retain(|name, _| moment.has_same(&before, name));
        state.v2_hash = None;
        state.generation += 1;
        state.moment = Arc::new(moment);
    }

    /// Names of all documents of v3, sorted.
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        lock(&self.state).moment.names().into_iter().collect()
    }

    /// Who has the document of v3 with this name.
    pub(super) fn source(&self, name: &str) -> Option<Source> {
        let moment = lock(&self.state).moment.clone();
        match moment.openapi(name) {
            Some(OpenApi::Remote { v3, .. }) => Some(Source::Remote(v3.clone())),
            Some(OpenApi::Source(_)) => Some(Source::Built),
            None => moment.is_built_in(name).then_some(Source::Built),
        }
    }

    /// The document, if it is kept.
    pub(super) fn kept(&self, wanted: &Wanted) -> Option<Document> {
        let mut state = lock(&self.state);
        let at = state.kept.iter().position(|(kept, _)| kept == wanted)?;
        let entry = state.kept.remove(at)?;
        let document = entry.1.clone();
        state.kept.push_back(entry);
        Some(document)
    }

    /// The document, once it is built. `None` where that fails, which is a fault of the program or a lack of threads, or
    /// because it is gone.
    pub(super) fn built(self: &Arc<Self>, wanted: Wanted) -> impl Future<Output = Option<Document>> + use<> {
        let job = self.job(wanted);
        poll_fn(move |context| job.poll(context.waker()))
    }

    fn job(self: &Arc<Self>, wanted: Wanted) -> Arc<Job> {
        let mut state = lock(&self.state);
        // What was begun before a change does not show it.
        let generation = state.generation;
        let joins = |order: &&Order| order.wanted == wanted && order.generation == generation;
        if let Some(order) = state.jobs.iter().find(joins) {
            return order.job.clone();
        }
        let job = Arc::new(Job::default());
        // Built since the caller looked.
        if let Some((_, document)) = state.kept.iter().find(|(kept, _)| *kept == wanted) {
            job.finish(Some(document.clone()));
            return job;
        }
        state.jobs.push_back(Order { wanted, generation, job: job.clone() });
        if !state.running {
            let documents = self.clone();
            let thread = thread::Builder::new().name("openapi".to_owned()).stack_size(DEEP_STACK_BYTES);
            let started = thread.spawn(move || documents.work());
            match started {
                Ok(_) => state.running = true,
                Err(error) => {
                    tracing::error!(%error, "no thread for OpenAPI documents");
                    state.jobs.clear();
                    job.finish(None);
                }
            }
        }
        job
    }

    /// The thread: builds what is wanted, one document after the other, until nothing is left.
    fn work(&self) {
        // Both are for the better only: without them the documents are built as well.
        if let Some(cpus) = &self.cpus {
            let _ = rustix::thread::sched_setaffinity(None, cpus);
        }
        let _ = rustix::process::setpriority_process(None, NICE);
        let descriptions = catch_unwind(Descriptions::unpack).ok();
        while let Some((order, moment, generation)) = self.next() {
            let Order { wanted, job, .. } = order;
            let builder = Builder { documents: self, moment, generation };
            let build = || builder.build(&wanted, descriptions.as_ref()?);
            let document = catch_unwind(AssertUnwindSafe(build)).ok().flatten();
            let mut state = lock(&self.state);
            state.jobs.pop_front();
            if let Some(document) = document.as_ref().filter(|_| state.generation == generation) {
                state.keep(wanted, document.clone());
            }
            drop(state);
            job.finish(document);
        }
    }

    /// The next job, and what it is built of. Where there is none the thread ends, and whoever comes now starts another.
    fn next(&self) -> Option<(Order, Arc<Moment>, u64)> {
        let mut state = lock(&self.state);
        let order = state.jobs.front().cloned();
        state.running = order.is_some();
        Some((order?, state.moment.clone(), state.generation))
    }
}

/// Builds documents of one moment.
struct Builder<'d> {
    documents: &'d Documents,
    moment: Arc<Moment>,
    generation: u64,
}

impl Builder<'_> {
    fn build(&self, wanted: &Wanted, descriptions: &Descriptions) -> Option<Document> {
        let describe = |name: &str, property: Option<&str>| {
            let text = match property {
                Some(property) => descriptions.of_property(name, property),
                None => descriptions.of_type(name),
            };
            text.map(|text| text.into_owned())
        };
        let contents = Contents {
            schema: self.documents.schema,
            groups: &self.moment.groups,
            openid: self.documents.openid,
            describe: &describe,
        };
        match wanted {
            Wanted::V2 { form, gzip } => {
                let parts = self.parts(&contents);
                let (hash, json) = self.v2_hash(&contents, &parts);
                let bytes = match form {
                    Form::Json => json.unwrap_or_else(|| v2::json(&contents, &parts)),
                    Form::Protobuf => v2::protobuf(&contents, &parts),
                };
                let bytes = if *gzip { gzip::packed(&bytes) } else { bytes };
                Some(Document { bytes: bytes.into(), hash })
            }
            Wanted::Index => {
                let mut urls = Vec::new();
                for name in self.moment.names() {
                    let url = match self.moment.openapi(&name) {
                        Some(OpenApi::Remote { url, .. }) => url.clone(),
                        // One that has no document is not there.
                        _ => match self.v3_hash(&contents, &name) {
                            Some((hash, _)) => v3::url(&name, &hash),
                            None => continue,
                        },
                    };
                    urls.push(((*name).to_owned(), url));
                }
                let bytes = v3::index(urls);
                Some(Document { hash: v3::hash(&bytes).into(), bytes: bytes.into() })
            }
            Wanted::V3 { name, form } => {
                let (hash, json) = self.v3_hash(&contents, name)?;
                let bytes = match (form, json) {
                    (Form::Json, Some(json)) => json,
                    (Form::Json, None) => self.v3_json(&contents, name)?,
                    (Form::Protobuf, json) => match self.moment.openapi(name) {
                        Some(_) => v3::protobuf_of(&json.or_else(|| self.v3_json(&contents, name))?)?,
                        None => v3::protobuf(&contents, name)?,
                    },
                };
                Some(Document { bytes: bytes.into(), hash })
            }
        }
    }

    /// What all group-versions that are not built in add to v2.
    fn parts(&self, contents: &Contents<'_>) -> Vec<Arc<V2Part>> {
        let part = |openapi: &OpenApi| match openapi {
            OpenApi::Source(source) => Arc::new(source.v2(contents)),
            OpenApi::Remote { v2, .. } => v2.clone(),
        };
        self.moment.versions.values().filter_map(|version| version.openapi.as_ref()).map(part).collect()
    }

    fn v3_json(&self, contents: &Contents<'_>, name: &str) -> Option<Vec<u8>> {
        match self.moment.openapi(name) {
            Some(OpenApi::Source(source)) => source.v3(contents),
            Some(OpenApi::Remote { .. }) => None,
            None => v3::json(contents, name),
        }
    }

    /// The hash of the document of v2, and its JSON where it had to be made for that.
    fn v2_hash(&self, contents: &Contents<'_>, parts: &[Arc<V2Part>]) -> (Arc<str>, Option<Vec<u8>>) {
        let state = self.current();
        if let Some(hash) = state.and_then(|state| state.v2_hash.clone()) {
            return (hash, None);
        }
        let json = v2::json(contents, parts);
        let hash: Arc<str> = v3::hash(&json).into();
        if let Some(mut state) = self.current() {
            state.v2_hash = Some(hash.clone());
        }
        (hash, Some(json))
    }

    /// The same of a document of v3.
    fn v3_hash(&self, contents: &Contents<'_>, name: &Arc<str>) -> Option<(Arc<str>, Option<Vec<u8>>)> {
        let state = self.current();
        if let Some(hash) = state.and_then(|state| state.hashes.get(name).cloned()) {
            return Some((hash, None));
        }
        let json = self.v3_json(contents, name)?;
        let hash: Arc<str> = v3::hash(&json).into();
        if let Some(mut state) = self.current() {
            state.hashes.insert(name.clone(), hash.clone());
        }
        Some((hash, Some(json)))
    }

    /// What is known, if it still is of what is built here.
    fn current(&self) -> Option<MutexGuard<'_, State>> {
        Some(lock(&self.documents.state)).filter(|state| state.generation == self.generation)
    }
}

/// Who has a document.
pub(super) enum Source {
    /// It is built here.
    Built,
    /// Another server.
    Remote(Handler),
}

impl State {
    /// Keeps a document, and lets the least lately used ones go for it.
    fn keep(&mut self, wanted: Wanted, document: Document) {
        self.kept_bytes += document.bytes.len();
        self.kept.push_back((wanted, document));
        while self.kept_bytes > OPENAPI_KEPT_BYTES
            && let Some((_, gone)) = self.kept.pop_front()
        {
            self.kept_bytes -= gone.bytes.len();
        }
    }
}
