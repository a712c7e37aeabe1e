//! A call whose answer is read whole, within bounds: what a server asks on its own behalf.

use std::{pin::Pin, sync::mpsc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use hyper::Request;
use tokio::{task::AbortHandle, time::timeout};

use crate::{
    call::Upload,
    client::{Client, Destination},
    error::{CallError, Failure},
};

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Fields.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

/// An answer that is on its way; it is given up on drop.
pub struct Pending {
    answer: mpsc::Receiver<Result<Answer, CallError>>,
    task: Option<AbortHandle>,
    timeout: Duration,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Client {
    /// Sends a request and reads up to `body_max` bytes of its answer, for as long as `patience`. `done` is called when
    /// the answer can be taken.
    pub fn fetch(
        &self,
        destination: Destination,
        request: Request<Bytes>,
        body_max: usize,
        patience: Duration,
        done: impl FnOnce() + Send + 'static,
    ) -> Pending {
        let (tell, answer) = mpsc::channel();
        let mut pending = Pending { answer, task: None, timeout: patience };
        let permit = match self.0.outgoing.permit() {
            Ok(permit) => permit,
            Err(busy) => {
                // The receiver is at hand.
                let _ = tell.send(Err(busy));
                return pending;
            }
        };
        let client = self.clone();
        let told = tell.clone();
        let spawned = self.0.outgoing.spawn(async move {
            let _permit = permit;
            let answer = match timeout(patience, client.whole(destination, request, body_max)).await {
                Ok(answer) => answer,
                Err(_) => Err(timed_out()),
            };
            // Whoever asked may have gone.
            let _ = told.send(answer);
            done();
        });
        match spawned {
            Ok(task) => pending.task = Some(task),
            Err(error) => {
                let _ = tell.send(Err(CallError::new(Failure::Busy, error.to_string())));
            }
        }
        pending
    }

    pub(crate) async fn whole(
        &self,
        destination: Destination,
        request: Request<Bytes>,
        body_max: usize,
    ) -> Result<Answer, CallError> {
        let request = request.map(|body| Upload::Whole((!body.is_empty()).then_some(body)));
        let (response, lease) = self.0.exchange(&destination, request).await?;
        let (parts, mut body) = response.into_parts();
        let mut whole = BytesMut::new();
        while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            let frame = frame.map_err(|e| CallError::exchange(&e))?;
            let Ok(part) = frame.into_data() else { continue };
            if whole.len() + part.len() > body_max {
                return Err(CallError::new(Failure::TooLong, "http: response body too large"));
            }
            whole.extend_from_slice(&part);
        }
        self.0.give_back(&destination, lease);
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body: whole.freeze() })
    }
}

pub(crate) fn timed_out() -> CallError {
    CallError::new(
        Failure::Timeout,
        "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    )
}

impl Pending {
    /// The answer, if it is there.
    pub fn take(&mut self) -> Option<Result<Answer, CallError>> {
        self.answer.try_recv().ok()
    }

    /// Blocks until the answer is there.
    pub fn wait(self) -> Result<Answer, CallError> {
        // The thread of calls keeps the time; this is for the case that it is gone.
        let most = self.timeout + Duration::from_secs(1);
        self.answer.recv_timeout(most).unwrap_or_else(|_| Err(timed_out()))
    }
}
