//! Requests the server makes to itself, without a connection: bootstrap objects go through the same handlers as
//! everybody's.

use std::{
    cell::RefCell,
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
}

struct Job {
    method: &'static str,
    target: String,
    body: Bytes,
    reply: mpsc::Sender<Answer>,
}

/// Status and body.
pub type Answer = (u16, Vec<u8>);

impl Loopback {
    /// Sends JSON and waits for the answer. `None` where there is none: the server is not there (any more), or it
    /// took too long.
    pub fn request(&self, method: &'static str, target: impl Into<String>, body: Bytes) -> Option<Answer> {
        let (reply, answer) = mpsc::channel();
        self.jobs().push(Job { method, target: target.into(), body, reply });
        (self.core.get()?)();
        answer.recv_timeout(TIMEOUT).ok()
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
                let response = match first_poll(&site, &job) {
                    Outcome::Ready(response) => response,
                    Outcome::Task(task) => task.await,
                    Outcome::Stream(response, _) => response,
                };
                let body = response.body.parts().concat();
                // Whoever asked may have stopped waiting.
                let _ = job.reply.send((response.status, body));
            });
        }
    }
}

/// Runs the director without the filters: there is nobody to authenticate, limit, or log.
fn first_poll(site: &Site, job: &Job) -> Outcome {
    const NAME: &str = "content-type";
    let buffer = [NAME, crate::response::JSON].concat();
    let split = NAME.len() as u32;
    let header = HeaderSpan {
        name: Span { start: 0, end: split },
        value: Span { start: split, end: buffer.len() as u32 },
    };
    let head = Head {
        buffer: buffer.as_bytes(),
        method: job.method,
        target: &job.target,
        authority: "",
        version: Version::Http11,
        headers: &[header],
        body: if job.body.is_empty() { BodyLength::None } else { BodyLength::Exact(job.body.len() as u64) },
    };
    let Ok(info) = RequestInfo::new(job.method, head.path(), head.query()) else {
        return Outcome::Ready(Response { status: 500, ..Response::default() });
    };
    let groups = vec![user::SYSTEM_PRIVILEGED.to_owned(), user::ALL_AUTHENTICATED.to_owned()];
    let user = UserInfo { name: USER.to_owned(), groups, ..UserInfo::default() };
    let (state, peer, warnings) = (RequestState::default(), Peer::default(), RefCell::default());
    site.director.serve(&Request {
        head: &head,
        info: &info,
        body: job.body.clone(),
        user: &user,
        received: Instant::now(),
        deadline: None,
        core: &site.core,
        warnings: &warnings,
        peer: &peer,
        state: &state,
    })
}
