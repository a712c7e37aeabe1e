//! Requests the server makes to itself, without a connection: bootstrap objects and what controllers write go through
//! the same handlers as everybody's.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_protocol::{
    head::{BodyLength, Head, HeaderSpan, Span, Version},
    request_info::RequestInfo,
};

use super::{site::Site, tasks::WakeCore};
use crate::{
    authentication::{Peer, UserInfo, user},
    filters::Handler,
    metrics::{Exposition, Family, Kind},
    request::{Request, RequestState},
    response::{Outcome, Response},
};

/// The user of the server itself.
pub const USER: &str = "system:apiserver";
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The way from any thread to the handlers on the first core.
#[derive(Default)]
pub struct Loopback {
    jobs: Mutex<Vec<Job>>,
    core: OnceLock<WakeCore>,
    /// Answers so far, by status and method.
    answered: Mutex<BTreeMap<(u16, &'static str), u64>>,
}

const REQUESTS: Family = Family {
    name: "rest_client_requests_total",
    help: "[ALPHA] Requests of the server to itself, by status code, method and host.",
    kind: Kind::Counter,
};

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Method.
    pub method: &'static str,
    /// Path and query.
    pub target: String,
    /// Media type of the body.
    pub content_type: &'static str,
    /// Body, empty for none.
    pub body: Bytes,
    /// Who asks.
    pub user: Arc<UserInfo>,
}

impl Call {
    /// A request of the server itself.
    pub fn of_server(
        method: &'static str,
        target: impl Into<String>,
        content_type: &'static str,
        body: Bytes,
    ) -> Self {
        let groups = vec![user::SYSTEM_PRIVILEGED.to_owned(), user::ALL_AUTHENTICATED.to_owned()];
        let user = Arc::new(UserInfo { name: USER.to_owned(), groups, ..UserInfo::default() });
        Call { method, target: target.into(), content_type, body, user }
    }
}

struct Job {
    call: Call,
    /// The place of the call among those that were made with it.
    number: usize,
    reply: mpsc::Sender<(usize, Answer)>,
}

/// Status and body.
pub type Answer = (u16, Vec<u8>);

impl Loopback {
    /// Sends JSON as the server itself and waits for the answer. `None` where there is none: the server is not there
    /// (any more), or it took too long.
    pub fn request(&self, method: &'static str, target: impl Into<String>, body: Bytes) -> Option<Answer> {
        self.call_all(vec![Call::of_server(method, target, crate::response::JSON, body)]).pop()?
    }

    /// Makes all calls at once and waits for all answers, which come in the order of the calls. The caller sees to it
    /// that they are not too many for the writes that may wait.
    pub fn call_all(&self, calls: Vec<Call>) -> Vec<Option<Answer>> {
        let mut answers: Vec<Option<Answer>> = calls.iter().map(|_| None).collect();
        let methods: Vec<_> = calls.iter().map(|call| call.method).collect();
        let (reply, arrived) = mpsc::channel();
        let Some(core) = self.core.get() else { return answers };
        self.jobs().extend(calls.into_iter().enumerate().map(|(number, call)| Job {
            call,
            number,
            reply: reply.clone(),
        }));
        drop(reply);
        core();
        let until = Instant::now() + TIMEOUT;
        // It ends with an error when the last job is done, or dropped with its core.
        while let Ok((number, answer)) = arrived.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if let Some(slot) = answers.get_mut(number) {
                *slot = Some(answer);
            }
        }
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        for (answer, method) in answers.iter().zip(methods) {
            if let Some((code, _)) = answer {
                *answered.entry((*code, method)).or_default() += 1;
            }
        }
        drop(answered);
        answers
    }

    /// Shows what was answered.
    pub fn collect(&self, out: &mut Exposition) {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        for ((code, method), count) in &*answered {
            let labels = [("code", &*code.to_string()), ("host", "loopback"), ("method", method)];
            out.sample(&REQUESTS, &labels, *count as f64);
        }
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, Vec<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the core that answers.
    pub fn answered_by(&self, wake: WakeCore) {
        // A second core does not become the one that answers.
        let _ = self.core.set(wake);
    }

    /// Starts a task for each request that waits. Only the core that answers calls it.
    pub fn run(self: &Arc<Self>, site: &std::rc::Rc<Site>) {
        for job in std::mem::take(&mut *self.jobs()) {
            let site = site.clone();
            site.clone().core.spawn(async move {
                let response = match first_poll(&site, &job.call) {
                    Outcome::Ready(response) => response,
                    Outcome::Task(task) => task.await,
                    // The filters, which have requests wait, are not asked.
                    Outcome::Queued => Response { status: 429, ..Response::default() },
                    Outcome::Stream(response, _) => response,
                    // The server has other ways to those that it relays to.
                    Outcome::Relay(_) => Response { status: 502, ..Response::default() },
                };
                let body = response.body.parts().concat();
                // Whoever asked may have stopped waiting.
                let _ = job.reply.send((job.number, (response.status, body)));
            });
        }
    }
}

/// Runs the director without the filters: there is nobody to authenticate, limit, or log.
fn first_poll(site: &Site, call: &Call) -> Outcome {
    const NAME: &str = "content-type";
    let buffer = [NAME, call.content_type].concat();
    let split = NAME.len() as u32;
    let header = HeaderSpan {
        name: Span { start: 0, end: split },
        value: Span { start: split, end: buffer.len() as u32 },
    };
    let head = Head {
        buffer: buffer.as_bytes(),
        method: call.method,
        target: &call.target,
        authority: "",
        version: Version::Http11,
        headers: &[header],
        body: if call.body.is_empty() { BodyLength::None } else { BodyLength::Exact(call.body.len() as u64) },
    };
    let Ok(info) = RequestInfo::new(call.method, head.path(), head.query()) else {
        return Outcome::Ready(Response { status: 500, ..Response::default() });
    };
    let (state, peer, warnings) = (RequestState::default(), Peer::default(), RefCell::default());
    site.director.serve(&Request {
        head: &head,
        info: &info,
        body: call.body.clone(),
        user: &call.user,
        received: Instant::now(),
        deadline: None,
        core: &site.core,
        warnings: &warnings,
        peer: &peer,
        state: &state,
    })
}
