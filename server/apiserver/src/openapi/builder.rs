//! Builds documents on a thread of its own, and keeps the bytes of those that are asked for.
//!
//! The thread starts when a document is missing and ends when nothing is left to build: with the prose that it unpacks
//! and the trees that it writes, it holds megabytes, and a core would be held for tens of milliseconds.

use std::{
    collections::VecDeque,
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

use crate::{endpoints::gzip, limits::OPENAPI_KEPT_BYTES};

/// How much less of a CPU the thread gets than the cores where both want it (of 19).
const NICE: i32 = 10;

/// How a document is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Protobuf,
}

/// A document, in the bytes that a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    V2 {
        form: Form,
        gzip: bool,
    },
    /// The index of v3.
    Index,
    /// The document of v3 with this number among the names.
    V3 {
        name: usize,
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
    /// Names of v3, sorted.
    pub(super) names: Vec<String>,
    /// Where the thread may run: everywhere the server may, and not just where the core does that starts it.
    cpus: Option<CpuSet>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The least lately used is first.
    kept: VecDeque<(Wanted, Document)>,
    kept_bytes: usize,
    /// Hashes of what has been built once: v3 by number, and v2.
    hashes: Vec<Option<Arc<str>>>,
    v2_hash: Option<Arc<str>>,
    /// Whether the thread is there. It says so itself when it ends, with no job left.
    running: bool,
    /// What is being built (the first) and waits for that.
    jobs: VecDeque<(Wanted, Arc<Job>)>,
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
    pub(super) fn new(schema: &'static Schema, openid: bool) -> Self {
        let names = v3::names(&schema.groups, openid);
        let state = State { hashes: vec![None; names.len()], ..State::default() };
        let cpus = rustix::thread::sched_getaffinity(None).ok();
        Documents { schema, openid, names, cpus, state: Mutex::new(state) }
    }

    /// The document, if it is kept.
    pub(super) fn kept(&self, wanted: Wanted) -> Option<Document> {
        let mut state = lock(&self.state);
        let at = state.kept.iter().position(|(kept, _)| *kept == wanted)?;
        let entry = state.kept.remove(at)?;
        let document = entry.1.clone();
        state.kept.push_back(entry);
        Some(document)
    }

    /// The document, once it is built. `None` where that fails, which is a fault of the program or a lack of threads.
    pub(super) fn built(self: &Arc<Self>, wanted: Wanted) -> impl Future<Output = Option<Document>> + use<> {
        let job = self.job(wanted);
        poll_fn(move |context| job.poll(context.waker()))
    }

    fn job(self: &Arc<Self>, wanted: Wanted) -> Arc<Job> {
        let mut state = lock(&self.state);
        if let Some((_, job)) = state.jobs.iter().find(|(known, _)| *known == wanted) {
            return job.clone();
        }
        let job = Arc::new(Job::default());
        // Built since the caller looked.
        if let Some((_, document)) = state.kept.iter().find(|(kept, _)| *kept == wanted) {
            job.finish(Some(document.clone()));
            return job;
        }
        state.jobs.push_back((wanted, job.clone()));
        if !state.running {
            let documents = self.clone();
            let started = thread::Builder::new().name("openapi".to_owned()).spawn(move || documents.work());
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
        while let Some((wanted, job)) = self.next() {
            let build = || descriptions.as_ref().and_then(|descriptions| self.build(wanted, descriptions));
            let document = catch_unwind(AssertUnwindSafe(build)).ok().flatten();
            let mut state = lock(&self.state);
            state.jobs.pop_front();
            if let Some(document) = &document {
                state.keep(wanted, document.clone());
            }
            drop(state);
            job.finish(document);
        }
    }

    /// The next job. Where there is none the thread ends, and whoever comes now starts another.
    fn next(&self) -> Option<(Wanted, Arc<Job>)> {
        let mut state = lock(&self.state);
        let job = state.jobs.front().cloned();
        state.running = job.is_some();
        job
    }

    fn build(&self, wanted: Wanted, descriptions: &Descriptions) -> Option<Document> {
        let describe = |name: &str, property: Option<&str>| {
            let text = match property {
                Some(property) => descriptions.of_property(name, property),
                None => descriptions.of_type(name),
            };
            text.map(|text| text.into_owned())
        };
        let contents = Contents {
            schema: self.schema,
            groups: &self.schema.groups,
            openid: self.openid,
            describe: &describe,
        };
        match wanted {
            Wanted::V2 { form, gzip } => {
                let (hash, json) = self.v2_hash(&contents);
                let bytes = match form {
                    Form::Json => json.unwrap_or_else(|| v2::json(&contents)),
                    Form::Protobuf => v2::protobuf(&contents),
                };
                let bytes = if gzip { gzip::packed(&bytes) } else { bytes };
                Some(Document { bytes: bytes.into(), hash })
            }
            Wanted::Index => {
                let mut hashes = Vec::with_capacity(self.names.len());
                for name in 0..self.names.len() {
                    hashes.push(self.v3_hash(&contents, name)?.0);
                }
                let documents = self.names.iter().map(String::as_str).zip(hashes.iter().map(|hash| &**hash));
                let bytes = v3::index(documents);
                Some(Document { hash: v3::hash(&bytes).into(), bytes: bytes.into() })
            }
            Wanted::V3 { name, form } => {
                let (hash, json) = self.v3_hash(&contents, name)?;
                let bytes = match (form, json) {
                    (Form::Json, Some(json)) => json,
                    (Form::Json, None) => v3::json(&contents, &self.names[name])?,
                    (Form::Protobuf, _) => v3::protobuf(&contents, &self.names[name])?,
                };
                Some(Document { bytes: bytes.into(), hash })
            }
        }
    }

    /// The hash of the document of v2, and its JSON where it had to be made for that.
    fn v2_hash(&self, contents: &Contents<'_>) -> (Arc<str>, Option<Vec<u8>>) {
        if let Some(hash) = lock(&self.state).v2_hash.clone() {
            return (hash, None);
        }
        let json = v2::json(contents);
        let hash: Arc<str> = v3::hash(&json).into();
        lock(&self.state).v2_hash = Some(hash.clone());
        (hash, Some(json))
    }

    /// The same of a document of v3.
    fn v3_hash(&self, contents: &Contents<'_>, name: usize) -> Option<(Arc<str>, Option<Vec<u8>>)> {
        if let Some(hash) = lock(&self.state).hashes[name].clone() {
            return Some((hash, None));
        }
        let json = v3::json(contents, &self.names[name])?;
        let hash: Arc<str> = v3::hash(&json).into();
        lock(&self.state).hashes[name] = Some(hash.clone());
        Some((hash, Some(json)))
    }
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
