//! Commands of clients that speak WebSocket (`v5.channel.k8s.io`), run by kubelets that speak SPDY: exec and attach.
//!
//! A message of the client begins with the number of its channel, streams of the kubelet have a header that says what
//! they are. Bytes go on as they come, and both sides' ends are told to the other.

use std::task::{Poll, Waker};

use bumpalo::Bump;
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use ringbolt_apiserver::{
    connector::Streams,
    relay::{Relay, RelayOut},
    response::StreamState,
};
use ringbolt_machinery::{
    field::quote,
    json,
    status::{Cause, Details, Reason, Status},
    value::Value,
};
use ringbolt_outgoing::{Call, CallError, Failure, Head};
use ringbolt_protocol::{
    spdy::{self, Encoder, Event},
    websocket::{self, Opcode},
};

use crate::{
    handshake::Handshake,
    limits,
    ports::{chosen, speaks_spdy},
    socket::{NORMAL, Part, Socket},
};

/// The subprotocol of clients whose messages can say that a channel is at its end.
pub(crate) const SUBPROTOCOL: &str = "v5.channel.k8s.io";
/// What kubelets are offered, the best first.
const OFFERED: [&str; 5] =
    [SUBPROTOCOL, "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];

/// Channels of a client.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// Says that the channel that follows is at its end.
const CLOSE: u8 = 255;

/// The request for a kubelet.
///
/// # Errors
/// It cannot be written.
pub(crate) fn request(target: &str, host: &str) -> Result<Request<()>, String> {
    let mut request = Request::post(target).body(()).map_err(|e| e.to_string())?;
    let headers = request.headers_mut();
    headers.insert(header::HOST, HeaderValue::from_str(host).map_err(|e| e.to_string())?);
    for version in OFFERED {
        headers.append("x-stream-protocol-version", HeaderValue::from_static(version));
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("SPDY/3.1"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
    Ok(request)
}

/// What a client's message is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Message {
    /// Its first byte will tell.
    #[default]
    Begins,
    /// Content of a channel.
    Of(u8),
    /// The next byte says which channel is at its end.
    Ends,
    /// That was said.
    Said,
}

/// Streams of the kubelet, as far as they were opened.
#[derive(Default)]
struct Opened {
    error: u32,
    stdin: Option<u32>,
    stdout: Option<u32>,
    stderr: Option<u32>,
    resize: Option<u32>,
}

/// What is spoken with the kubelet.
struct Session {
    decoder: spdy::Decoder,
    opened: Opened,
    stdin_ended: bool,
    /// Output that has not ended, and the stream that says how it went.
    output_left: usize,
    error_ended: bool,
    /// The kubelet has taken the stream that says so: before that nothing runs.
    is_taken: bool,
    /// It has broken off a stream that it had not taken.
    is_reset: bool,
    /// What that said.
    said: Vec<u8>,
    /// The end is told as JSON (from version 4).
    is_json: bool,
}

impl Session {
    /// Opens the streams that were asked for.
    fn open(streams: Streams, version: &str, out: &mut Vec<u8>) -> Session {
        let mut encoder = Encoder::default();
        let mut open = |kind: &str| encoder.open(out, &[("streamtype", kind)]);
        let resizes =
            streams.tty && matches!(version, SUBPROTOCOL | "v4.channel.k8s.io" | "v3.channel.k8s.io");
        let opened = Opened {
            error: open("error"),
            stdin: streams.stdin.then(|| open("stdin")),
            stdout: streams.stdout.then(|| open("stdout")),
            // A terminal has one output.
            stderr: (streams.stderr && !streams.tty).then(|| open("stderr")),
            resize: resizes.then(|| open("resize")),
        };
        Session {
            decoder: spdy::Decoder::default(),
            output_left: usize::from(opened.stdout.is_some()) + usize::from(opened.stderr.is_some()),
            opened,
            stdin_ended: false,
            error_ended: false,
            is_taken: false,
            is_reset: false,
            said: Vec::new(),
            is_json: matches!(version, SUBPROTOCOL | "v4.channel.k8s.io"),
        }
    }

    /// What a client sends on a channel, as the kubelet gets it.
    fn write(&self, channel: u8, bytes: &[u8], out: &mut Vec<u8>) {
        let stream = match channel {
            STDIN if !self.stdin_ended => self.opened.stdin,
            RESIZE => self.opened.resize,
            _ => None,
        };
        let Some(stream) = stream.filter(|_| !bytes.is_empty()) else { return };
        for part in bytes.chunks(spdy::DATA_MAX) {
            Encoder::put_data_head(out, stream, part.len(), false);
            out.extend_from_slice(part);
        }
    }

    fn end_stdin(&mut self, out: &mut Vec<u8>) {
        if let Some(stdin) = self.opened.stdin.filter(|_| !self.stdin_ended) {
            self.stdin_ended = true;
            Encoder::put_data_head(out, stdin, 0, true);
        }
    }

    /// Takes what a kubelet sends: what is for the client is told, what answers it goes to `up`.
    fn take(
        &mut self,
        bytes: &[u8],
        up: &mut Vec<u8>,
        tell: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<(), String> {
        let mut decoder = std::mem::take(&mut self.decoder);
        let fed = decoder.feed(bytes, &mut |event| self.event(event, up, tell));
        self.decoder = decoder;
        fed.map_err(|why| format!("error reading from error stream: {}", why.0))?;
        if self.said.len() > limits::COMMAND_STATUS_BYTES {
            return Err("error reading from error stream: it is too long".to_owned());
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'_>, up: &mut Vec<u8>, tell: &mut dyn FnMut(u8, &[u8])) {
        match event {
            Event::Data { stream, bytes } if self.opened.stdout == Some(stream) => tell(STDOUT, bytes),
            Event::Data { stream, bytes } if self.opened.stderr == Some(stream) => tell(STDERR, bytes),
            Event::Data { stream, bytes } if self.opened.error == stream => {
                let room = (limits::COMMAND_STATUS_BYTES + 1).saturating_sub(self.said.len());
                self.said.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Event::End { stream, reset } => {
                self.is_reset |= reset && !self.is_taken;
                self.ended(stream, up);
            }
            Event::Reply { stream } => self.is_taken |= stream == self.opened.error,
            Event::Ping(number) => Encoder::put_ping(up, number),
            Event::Opened(stream) => Encoder::put_reset(up, stream, 3),
            Event::Data { .. } | Event::GoAway => {}
        }
    }

    fn ended(&mut self, stream: u32, up: &mut Vec<u8>) {
        let opened = &mut self.opened;
        if stream == opened.error {
            self.error_ended = true;
        } else if opened.stdin == Some(stream) {
            // Nobody reads any more.
            self.end_stdin(up);
        } else {
            for output in [&mut opened.stdout, &mut opened.stderr] {
                if *output == Some(stream) {
                    *output = None;
                    self.output_left -= 1;
                }
            }
        }
    }

    /// How it went, now that nothing more comes.
    fn status(&self) -> Status {
        // Nothing ran, or nobody knows: that is no success.
        if !self.said.is_empty() || self.is_taken {
            ended(&self.said, self.is_json)
        } else if self.is_reset {
            Status::internal_error("Stream reset")
        } else {
            Status::internal_error("EOF")
        }
    }

    fn is_over(&self) -> bool {
        self.error_ended && self.output_left == 0
    }
}

/// A command whose client speaks WebSocket and whose kubelet speaks SPDY.
pub(crate) struct Command {
    call: Call,
    /// How errors name what was asked for.
    url: String,
    streams: Streams,
    /// Until the client was answered.
    handshake: Option<Handshake>,
    socket: Socket,
    message: Message,
    stage: Stage,
}

enum Stage {
    /// The kubelet has not answered; what the client has sent meanwhile, as channels, and which of them it ended. Flow
    /// control bounds it, which gets little of it back.
    Asked(Early),
    Runs(Session),
    /// It would not: what it says of that.
    Refused(Vec<u8>),
}

#[derive(Default)]
struct Early {
    content: Vec<(u8, Vec<u8>)>,
    bytes: usize,
    stdin_ended: bool,
}

impl Command {
    pub(crate) fn new(call: Call, url: String, streams: Streams, handshake: Handshake) -> Command {
        Command {
            call,
            url,
            streams,
            handshake: Some(handshake),
            socket: Socket::default(),
            message: Message::Begins,
            stage: Stage::Asked(Early::default()),
        }
    }

    /// Begins to answer: the client has its WebSocket before the kubelet is asked, and hears of failures there.
    fn begin(&mut self, out: &mut dyn RelayOut) {
        let Some(handshake) = self.handshake.take() else { return };
        out.begin(&handshake.answer(SUBPROTOCOL));
        let Streams { stdout, stderr, .. } = self.streams;
        let first = if stdout {
            STDOUT
        } else if stderr {
            STDERR
        } else {
            ERROR
        };
        out.put(Bytes::from(websocket::frame(Opcode::Binary, &[first])));
    }

    /// The kubelet has answered.
    fn answered(&mut self, head: Result<Head, CallError>) -> Result<(), Status> {
        let head = head.map_err(|error| not_sent(&self.url, &error))?;
        if (300..400).contains(&head.status) && head.headers.contains_key(header::LOCATION) {
            let location = head.headers[header::LOCATION].to_str().unwrap_or("");
            let why = format!("error sending request: Post {}: redirect not allowed", quote(location));
            return Err(Status::internal_error(why));
        }
        if !head.upgraded || !speaks_spdy(&head.headers) {
            self.stage = Stage::Refused(Vec::new());
            return Ok(());
        }
        let Stage::Asked(early) = std::mem::replace(&mut self.stage, Stage::Refused(Vec::new())) else {
            return Ok(());
        };
        let mut up = Vec::new();
        let mut session = Session::open(self.streams, chosen(&head.headers), &mut up);
        for (channel, content) in early.content {
            session.write(channel, &content, &mut up);
        }
        if early.stdin_ended {
            session.end_stdin(&mut up);
        }
        self.socket.send(&self.call, up.into());
        self.stage = Stage::Runs(session);
        Ok(())
    }

    /// A part of what the kubelet says.
    fn part(&mut self, part: &[u8], out: &mut dyn RelayOut) -> Result<(), String> {
        let session = match &mut self.stage {
            Stage::Runs(session) => session,
            Stage::Refused(why) => {
                let room = limits::COMMAND_STATUS_BYTES.saturating_sub(why.len());
                why.extend_from_slice(&part[..part.len().min(room)]);
                return Ok(());
            }
            Stage::Asked(_) => return Ok(()),
        };
        let mut up = Vec::new();
        let taken = session.take(part, &mut up, &mut |channel, bytes| {
            let mut head = Vec::with_capacity(11);
            websocket::put_head(&mut head, Opcode::Binary, bytes.len() + 1);
            head.push(channel);
            out.put(head.into());
            out.put(Bytes::copy_from_slice(bytes));
        });
        if !up.is_empty() {
            self.socket.send(&self.call, up.into());
        }
        taken
    }

    /// How it went, once the kubelet has nothing more to say.
    fn status(&self) -> Status {
        match &self.stage {
            Stage::Runs(session) => session.status(),
            Stage::Refused(why) => {
                Status::internal_error(format!("unable to upgrade connection: {}", refusal(why)))
            }
            Stage::Asked(_) => Status::internal_error("EOF"),
        }
    }

    fn conclude(&mut self, status: &Status, out: &mut dyn RelayOut) -> StreamState {
        let mut message = vec![ERROR];
        message.extend_from_slice(&bare_json(status));
        out.put(Bytes::from(websocket::frame(Opcode::Binary, &message)));
        out.put(Bytes::from(websocket::close_frame(NORMAL)));
        StreamState::End
    }
}

/// A Status without its kind, as it is sent on a channel.
fn bare_json(status: &Status) -> Vec<u8> {
    const KIND: &[u8] = br#""kind":"Status","apiVersion":"v1","#;
    let mut json = Vec::new();
    status.encode_json(&mut json);
    match json.strip_prefix(b"{").and_then(|rest| rest.strip_prefix(KIND)) {
        Some(rest) => [b"{", rest].concat(),
        None => json,
    }
}

/// A request that did not come to an answer.
fn not_sent(url: &str, error: &CallError) -> Status {
    let why = match error.failure {
        Failure::Dial
        | Failure::Lookup
        | Failure::Tls
        | Failure::Timeout
        | Failure::Busy
        | Failure::Closed => &error.text,
        _ => return Status::internal_error(error.text.clone()),
    };
    Status::internal_error(format!("error sending request: Post {}: {why}", quote(url)))
}

/// What a kubelet that does not upgrade says of that.
fn refusal(body: &[u8]) -> String {
    let arena = Bump::new();
    let text = String::from_utf8_lossy(body);
    let read = json::decode_untyped(&arena, arena.alloc_slice_copy(body)).ok();
    let said = ["message", "error"].iter().find_map(|field| {
        let text = read.as_ref()?.str_at(&[field])?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    });
    match (said, text.trim()) {
        (Some(said), _) => said,
        (None, "") => "empty server response".to_owned(),
        (None, text) => text.to_owned(),
    }
}

/// What the end of a command means, from what the kubelet said of it.
fn ended(said: &[u8], is_json: bool) -> Status {
    let text = String::from_utf8_lossy(said);
    if said.is_empty() {
        return success();
    }
    if !is_json {
        return Status::internal_error(format!("error executing remote command: {text}"));
    }
    let arena = Bump::new();
    let read = match json::decode_untyped(&arena, arena.alloc_slice_copy(said)) {
        Ok(read) => read,
        Err(why) => {
            let why = format!("error stream protocol error: {why} in {}", quote(&text));
            return Status::internal_error(why);
        }
    };
    let field = |name: &str| read.str_at(&[name]).unwrap_or("");
    match (field("status"), field("reason")) {
        ("Success", _) => success(),
        ("Failure", "NonZeroExitCode") => exited(&read),
        ("Failure", _) => Status::internal_error(field("message").to_owned()),
        _ => Status::internal_error("error stream protocol error: unknown error"),
    }
}

/// A command that ended with another code than 0.
fn exited(read: &Value<'_>) -> Status {
    let protocol_error = |what: &str| Status::internal_error(format!("error stream protocol error: {what}"));
    let Some(details) = read.path(&["details"]).filter(|details| !details.is_null()) else {
        return protocol_error("details must be set");
    };
    let causes = details.path(&["causes"]).and_then(Value::as_list).map_or(&[][..], |causes| causes);
    let Some(cause) = causes.iter().find(|cause| cause.str_at(&["reason"]) == Some("ExitCode")) else {
        return protocol_error("no ExitCode cause given");
    };
    let code = cause.str_at(&["message"]).unwrap_or("");
    let Ok(code) = code.parse::<u8>() else {
        return protocol_error(&format!("invalid exit code value {}", quote(code)));
    };
    let why = format!("command terminated with non-zero exit code: command terminated with exit code {code}");
    let mut status = Status::failure(0, Reason::Other("NonZeroExitCode"), why);
    let cause = Cause { reason: "ExitCode", message: code.to_string(), field: String::new() };
    status.details = Some(Box::new(Details { causes: vec![cause], ..Details::default() }));
    status
}

fn success() -> Status {
    let mut status = Status::failure(0, Reason::Unknown, "");
    status.success = true;
    status
}

impl Relay for Command {
    fn data(&mut self, part: &[u8]) {
        let Command { stage, socket, message, .. } = self;
        let mut up = Vec::new();
        socket.data(part, &mut |part| take(part, message, stage, &mut up));
        if !up.is_empty() {
            socket.send(&self.call, up.into());
        }
    }

    fn end(&mut self) {
        self.socket.gone();
    }

    fn poll(&mut self, waker: &Waker, room: usize, out: &mut dyn RelayOut) -> StreamState {
        self.begin(out);
        let kept = match &self.stage {
            Stage::Asked(early) => early.bytes,
            Stage::Runs(_) | Stage::Refused(_) => 0,
        };
        self.socket.settle(&self.call, kept, waker, out);
        if self.socket.is_closed() {
            return StreamState::End;
        }
        if matches!(self.stage, Stage::Asked(_)) {
            let Poll::Ready(head) = self.call.poll_head(waker) else { return StreamState::Pending };
            if let Err(status) = self.answered(head) {
                return self.conclude(&status, out);
            }
        }
        let mut sent = 0;
        while sent < room {
            match self.call.poll_part(waker) {
                Poll::Pending => return StreamState::Pending,
                Poll::Ready(Some(Ok(part))) => {
                    sent += part.len();
                    if let Err(why) = self.part(&part, out) {
                        return self.conclude(&Status::internal_error(why), out);
                    }
                    if matches!(&self.stage, Stage::Runs(session) if session.is_over()) {
                        return self.conclude(&self.status(), out);
                    }
                }
                Poll::Ready(None | Some(Err(_))) => return self.conclude(&self.status(), out),
            }
        }
        StreamState::Full
    }

    fn is_watch(&self) -> bool {
        true
    }

    fn is_counted(&self) -> bool {
        true
    }
}

/// Takes a part of a client's message; answers whether it is understood.
fn take(part: Part<'_>, message: &mut Message, stage: &mut Stage, up: &mut Vec<u8>) -> bool {
    if part.first {
        *message = Message::Begins;
    }
    let mut bytes = part.bytes;
    while let [byte, rest @ ..] = bytes {
        match *message {
            Message::Begins => {
                *message = if *byte == CLOSE { Message::Ends } else { Message::Of(*byte) };
                bytes = rest;
            }
            Message::Ends => {
                if *byte > RESIZE {
                    return false;
                }
                if *byte == STDIN {
                    match stage {
                        Stage::Runs(session) => session.end_stdin(up),
                        Stage::Asked(early) => early.stdin_ended = true,
                        Stage::Refused(_) => {}
                    }
                }
                *message = Message::Said;
                bytes = rest;
            }
            Message::Said => return false,
            Message::Of(channel) => {
                match stage {
                    Stage::Runs(session) => session.write(channel, bytes, up),
                    Stage::Asked(early) => early.keep(channel, bytes),
                    Stage::Refused(_) => {}
                }
                return true;
            }
        }
    }
    // A signal without its channel is none.
    !(part.last && *message == Message::Ends)
}

impl Early {
    fn keep(&mut self, channel: u8, bytes: &[u8]) {
        if (channel == STDIN && !self.stdin_ended) || channel == RESIZE {
            // What holds a part weighs more than a short one.
            self.bytes += bytes.len() + size_of::<(u8, Vec<u8>)>();
            self.content.push((channel, bytes.to_vec()));
        }
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
