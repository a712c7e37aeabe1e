//! A call whose bodies are streams: what a proxy makes.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use hyper::{Request, body::Incoming, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf},
    task::AbortHandle,
    time::timeout,
};

use crate::{
    client::{Client, Destination, Lease, Shared as ClientShared},
    error::{CallError, Failure},
    limits,
    pipe::Pipe,
    runtime::Permit,
};

/// The body of a request.
pub(crate) enum Upload {
    /// Whole, or nothing.
    Whole(Option<Bytes>),
    /// As it comes.
    Piped(Arc<Pipe>),
}

impl Upload {
    pub(crate) fn none() -> Self {
        Upload::Whole(None)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Upload::Piped(pipe) = self {
            pipe.abandon();
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = CallError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CallError>>> {
        match &mut *self {
            Upload::Whole(whole) => Poll::Ready(whole.take().map(|whole| Ok(Frame::data(whole)))),
            Upload::Piped(pipe) => {
                pipe.poll_take(context.waker()).map(|part| part.map(|part| part.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Upload::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Upload::Whole(whole) => {
                http_body::SizeHint::with_exact(whole.as_ref().map_or(0, |whole| whole.len() as u64))
            }
            Upload::Piped(_) => http_body::SizeHint::default(),
        }
    }
}

/// The head of an answer.
#[derive(Clone, Debug)]
pub struct Head {
    /// Status.
    pub status: u16,
    /// Fields, as they came.
    pub headers: HeaderMap,
    /// What follows is no body but another protocol, in both directions.
    pub upgraded: bool,
}

#[derive(Default)]
enum HeadState {
    #[default]
    Awaited,
    There(Result<Head, CallError>),
    Taken,
}

#[derive(Default)]
struct Answered {
    state: HeadState,
    waker: Option<Waker>,
}

/// What both threads know of a call.
struct Exchange {
    head: Mutex<Answered>,
    up: Arc<Pipe>,
    down: Pipe,
}

impl Exchange {
    fn head(&self) -> MutexGuard<'_, Answered> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, head: Result<Head, CallError>) {
        let mut answered = self.head();
        answered.state = HeadState::There(head);
        let waker = answered.waker.take();
        drop(answered);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A call under way; it is given up on drop.
pub struct Call {
    exchange: Arc<Exchange>,
    task: Option<AbortHandle>,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.exchange.down.abandon();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Client {
    /// Sends a request whose body, where `has_body` says that there is one, comes through the call. With `upgrade` the
    /// answer may be another protocol. Its head must be there within `patience`, if there is such a bound.
    pub fn call(
        &self,
        destination: Destination,
        request: Request<()>,
        has_body: bool,
        upgrade: bool,
        patience: Option<Duration>,
    ) -> Call {
        let up = Arc::new(Pipe::default());
        let exchange = Arc::new(Exchange { head: Mutex::default(), up: up.clone(), down: Pipe::default() });
        let mut call = Call { exchange: exchange.clone(), task: None };
        let permit = match self.0.outgoing.permit() {
            Ok(permit) => permit,
            Err(busy) => {
                exchange.answer(Err(busy));
                return call;
            }
        };
        let body = if has_body && !upgrade { Upload::Piped(up) } else { Upload::none() };
        let request = request.map(|()| body);
        let running = Running {
            client: self.0.clone(),
            destination,
            exchange: exchange.clone(),
            patience,
            _permit: permit,
        };
        let spawned = self.0.outgoing.spawn(async move {
            let told = running.exchange.clone();
            let ran = if upgrade { running.upgrade(request).await } else { running.run(request).await };
            if let Err(error) = ran {
                told.answer(Err(error));
            }
        });
        match spawned {
            Ok(task) => call.task = Some(task),
            Err(error) => exchange.answer(Err(CallError::new(Failure::Busy, error.to_string()))),
        }
        call
    }
}

impl Call {
    /// Sends a part of the body, or of what was upgraded to. The caller is held by a flow control of its own.
    pub fn send(&self, part: Bytes) {
        self.exchange.up.push(part);
    }

    /// Ends the body.
    pub fn finish(&self) {
        self.exchange.up.end(Ok(()));
    }

    /// Bytes that have left since it was last asked; `waker` hears of more.
    pub fn take_sent(&self, waker: &Waker) -> usize {
        self.exchange.up.take_freed(waker)
    }

    /// The head of the answer, once.
    pub fn poll_head(&self, waker: &Waker) -> Poll<Result<Head, CallError>> {
        let mut answered = self.exchange.head();
        match std::mem::replace(&mut answered.state, HeadState::Taken) {
            HeadState::There(head) => Poll::Ready(head),
            before => {
                answered.state = before;
                answered.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// The next part of the answer.
    pub fn poll_part(&self, waker: &Waker) -> Poll<Option<Result<Bytes, CallError>>> {
        self.exchange.down.poll_take(waker)
    }
}

/// A call on the thread of calls.
struct Running {
    client: Arc<ClientShared>,
    destination: Destination,
    exchange: Arc<Exchange>,
    patience: Option<Duration>,
    _permit: Permit,
}

impl Running {
    async fn run(self, request: Request<Upload>) -> Result<(), CallError> {
        let exchange = self.client.exchange(&self.destination, request);
        let (response, lease) = match self.patience {
            None => exchange.await?,
            Some(patience) => timeout(patience, exchange)
                .await
                .map_err(|_| CallError::new(Failure::Timeout, "context deadline exceeded"))??,
        };
        let (parts, body) = response.into_parts();
        self.exchange.answer(Ok(Head {
            status: parts.status.as_u16(),
            headers: parts.headers,
            upgraded: false,
        }));
        self.read(body, Some(lease)).await;
        Ok(())
    }

    async fn read(&self, mut body: Incoming, lease: Option<Lease>) {
        loop {
            if !self.has_room().await {
                return;
            }
            let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
            match next {
                // Nothing in the API has a trailer that anybody reads.
                Some(Ok(frame)) => {
                    if let Ok(part) = frame.into_data()
                        && !part.is_empty()
                    {
                        self.exchange.down.push(part);
                    }
                }
                Some(Err(error)) => return self.exchange.down.end(Err(CallError::exchange(&error))),
                None => break,
            }
        }
        self.exchange.down.end(Ok(()));
        if let Some(lease) = lease {
            self.client.give_back(&self.destination, lease);
        }
    }

    /// Waits until the client has taken enough of what is there.
    async fn has_room(&self) -> bool {
        std::future::poll_fn(|context| self.exchange.down.poll_room(context.waker(), limits::DOWN_BYTES))
            .await
    }

    async fn upgrade(self, request: Request<Upload>) -> Result<(), CallError> {
        let (mut response, sender) = self.client.upgrade(&self.destination, request).await?;
        if response.status() != http::StatusCode::SWITCHING_PROTOCOLS {
            let (parts, body) = response.into_parts();
            let head = Head { status: parts.status.as_u16(), headers: parts.headers, upgraded: false };
            self.exchange.answer(Ok(head));
            self.read(body, None).await;
            drop(sender);
            return Ok(());
        }
        let upgraded = hyper::upgrade::on(&mut response).await.map_err(|e| CallError::exchange(&e))?;
        let headers = std::mem::take(response.headers_mut());
        self.exchange.answer(Ok(Head { status: 101, headers, upgraded: true }));
        let (down, up) = tokio::io::split(TokioIo::new(upgraded));
        // Either end closes both: what was upgraded to says its own goodbyes before.
        tokio::select! {
            () = self.copy_down(down) => {}
            () = self.copy_up(up) => {}
        }
        self.exchange.up.abandon();
        self.exchange.down.end(Ok(()));
        Ok(())
    }

    async fn copy_down(&self, mut from: ReadHalf<TokioIo<Upgraded>>) {
        let mut buffer = vec![0; limits::DOWN_BYTES / 4];
        while self.has_room().await {
            match from.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => self.exchange.down.push(Bytes::copy_from_slice(&buffer[..read])),
            }
        }
    }

    async fn copy_up(&self, mut to: WriteHalf<TokioIo<Upgraded>>) {
        loop {
            let next = std::future::poll_fn(|context| self.exchange.up.poll_take(context.waker())).await;
            let Some(Ok(part)) = next else { return };
            if to.write_all(&part).await.is_err() || to.flush().await.is_err() {
                return;
            }
        }
    }
}
