//! Requests of a controller to the server it runs in.

use std::sync::Arc;

use bytes::Bytes;
use ringbolt_apiserver::{
    authentication::{UserInfo, user},
    serving::loopback::{Answer, Call, Loopback},
};

use crate::{kinds::Kind, limits};

/// Media types of patches.
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";

/// What managed fields call the writer, as they do for kube-controller-manager.
const MANAGER: &str = "kube-controller-manager";

/// Asks as the service account of one controller.
pub(crate) struct Client {
    loopback: Arc<Loopback>,
    user: Arc<UserInfo>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Done.
    Done,
    /// 404: the object or its namespace is not there.
    NotFound,
    /// 409: somebody else was quicker, or the object is there already.
    Conflict,
    /// 403 because the namespace is being deleted.
    Terminating,
    /// Anything else; what to tell.
    Failed(String),
}

/// A request to make.
pub(crate) struct Request {
    method: &'static str,
    target: String,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Request {
    /// A create.
    pub(crate) fn create(kind: &Kind, namespace: &str, body: Vec<u8>) -> Self {
        let target = format!("{}?fieldManager={MANAGER}", kind.path(namespace, ""));
        Request { method: "POST", target, content_type: JSON, body }
    }

    /// A replacement of an object at `path`, or of a part of it.
    pub(crate) fn update(path: &str, body: Vec<u8>) -> Self {
        let target = format!("{path}?fieldManager={MANAGER}");
        Request { method: "PUT", target, content_type: JSON, body }
    }

    /// A patch of an object at `path`.
    pub(crate) fn patch(path: &str, content_type: &'static str, body: Vec<u8>) -> Self {
        let target = format!("{path}?fieldManager={MANAGER}");
        Request { method: "PATCH", target, content_type, body }
    }

    /// A server-side apply that takes over what others own.
    pub(crate) fn apply(path: &str, manager: &str, body: Vec<u8>) -> Self {
        let target = format!("{path}?fieldManager={manager}&force=true");
        Request { method: "PATCH", target, content_type: APPLY_PATCH, body }
    }

    /// A delete. `options` are members of `DeleteOptions` after its kind and version.
    pub(crate) fn delete(path: String, options: &str) -> Self {
        let body = format!(r#"{{"kind":"DeleteOptions","apiVersion":"v1",{options}}}"#).into_bytes();
        Request { method: "DELETE", target: path, content_type: JSON, body }
    }
}

impl Client {
    /// The client of the controller whose service account in `kube-system` is `account`.
    pub(crate) fn new(loopback: &Arc<Loopback>, account: &str) -> Self {
        let groups =
            ["system:serviceaccounts", "system:serviceaccounts:kube-system", user::ALL_AUTHENTICATED];
        let user = UserInfo {
            name: format!("system:serviceaccount:kube-system:{account}"),
            groups: groups.map(str::to_owned).into(),
            ..UserInfo::default()
        };
        Client { loopback: loopback.clone(), user: Arc::new(user) }
    }

    /// Makes one request.
    pub(crate) fn send(&self, request: Request) -> Reply {
        self.send_all(vec![request]).pop().unwrap_or_else(|| Reply::Failed("no answer".to_owned()))
    }

    /// A list, as JSON. `None` where there is no such path.
    ///
    /// # Errors
    /// What was answered instead.
    pub(crate) fn list(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        let call = Call {
            method: "GET",
            target: path.to_owned(),
            content_type: JSON,
            body: Bytes::new(),
            user: self.user.clone(),
        };
        match self.loopback.call_all(vec![call]).pop().flatten() {
            Some((200, body)) => Ok(Some(body)),
            Some((404 | 405, _)) => Ok(None),
            answer => Err(format!("{:?}", reply(answer))),
        }
    }

    /// Makes requests, a number of them at once, and answers in their order.
    pub(crate) fn send_all(&self, requests: Vec<Request>) -> Vec<Reply> {
        let mut replies = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let calls = requests.by_ref().take(limits::CALLS_AT_ONCE).map(|request| Call {
                method: request.method,
                target: request.target,
                content_type: request.content_type,
                body: Bytes::from(request.body),
                user: self.user.clone(),
            });
            replies.extend(self.loopback.call_all(calls.collect()).into_iter().map(reply));
        }
        replies
    }
}

fn reply(answer: Option<Answer>) -> Reply {
    match answer {
        Some((200..=299, _)) => Reply::Done,
        Some((404, _)) => Reply::NotFound,
        Some((409, _)) => Reply::Conflict,
        Some((403, body)) if memchr::memmem::find(&body, b"\"NamespaceTerminating\"").is_some() => {
            Reply::Terminating
        }
        Some((code, body)) => Reply::Failed(format!("{code}: {}", String::from_utf8_lossy(&body))),
        None => Reply::Failed("no answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies() {
        let check = |code: u16, body: &str, expect: Reply| {
            assert_eq!(reply(Some((code, body.as_bytes().to_vec()))), expect);
        };
        check(201, "{}", Reply::Done);
        check(404, "{}", Reply::NotFound);
        check(409, "{}", Reply::Conflict);
        check(403, r#"{"details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#, Reply::Terminating);
        check(403, "no", Reply::Failed("403: no".to_owned()));
        assert_eq!(reply(None), Reply::Failed("no answer".to_owned()));
    }
}
