//! A small blocking HTTP/1.1 client that shows what is on the wire: one connection, nothing hidden, no retries.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use crate::{
    server::{ADMIN_TOKEN, Server},
    tls::{self, TlsStream},
};

/// How long a read may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The bytes below HTTP.
pub enum Wire {
    /// The plain port.
    Plain(TcpStream),
    /// The secure port.
    Tls(Box<TlsStream>),
}

impl Wire {
    /// To the plain port.
    pub fn plain(server: &Server) -> Wire {
        let socket = TcpStream::connect(("127.0.0.1", server.plain_port)).expect("the plain port is open");
        socket.set_nodelay(true).expect("a socket takes its options");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket takes its options");
        Wire::Plain(socket)
    }

    /// To the secure port, with the administrator's certificate and these protocols.
    pub fn tls(server: &Server, protocols: &[&str]) -> Wire {
        let stream =
            tls::connect(server, tls::config(server, protocols, true)).expect("the handshake succeeds");
        Wire::Tls(Box::new(stream))
    }

    /// The TCP socket.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Wire::Plain(socket) => socket,
            Wire::Tls(stream) => &stream.sock,
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.read(buffer),
            Wire::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.write(bytes),
            Wire::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(socket) => socket.flush(),
            Wire::Tls(stream) => stream.flush(),
        }
    }
}

/// A response, whole.
#[derive(Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Header fields in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body with its framing taken off.
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("no JSON ({e}): {}", self.text()))
    }

    /// `metadata.resourceVersion` of the body as a number.
    pub fn resource_version(&self) -> u64 {
        resource_version(&self.json())
    }
}

/// `metadata.resourceVersion` of an object or list as a number.
pub fn resource_version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no resourceVersion: {object}"))
}

/// One connection.
pub struct Connection {
    wire: Wire,
    read: Vec<u8>,
    start: usize,
}

fn ended(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("the connection ended in {what}"))
}

impl Connection {
    /// To the plain port.
    pub fn plain(server: &Server) -> Connection {
        Connection::over(Wire::plain(server))
    }

    /// To the secure port as administrator.
    pub fn tls(server: &Server) -> Connection {
        Connection::over(Wire::tls(server, &["http/1.1"]))
    }

    /// Over an open wire.
    pub fn over(wire: Wire) -> Connection {
        Connection { wire, read: Vec::new(), start: 0 }
    }

    /// The wire, for what HTTP has no word for.
    pub fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.write_all(bytes)?;
        self.wire.flush()
    }

    /// The head of a request as administrator; the caller adds the framing of the body and the empty line.
    pub fn head(method: &str, path: &str) -> String {
        format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n")
    }

    /// Sends a request with a body and waits for the response.
    pub fn request(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> io::Result<Response> {
        let head = Connection::head(method, path);
        let mut bytes =
            format!("{head}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        self.send(&bytes)?;
        self.response(method)
    }

    /// GET.
    pub fn get(&mut self, path: &str) -> io::Result<Response> {
        self.send(format!("{}\r\n", Connection::head("GET", path)).as_bytes())?;
        self.response("GET")
    }

    /// POST of JSON.
    pub fn post(&mut self, path: &str, object: &Value) -> io::Result<Response> {
        self.request("POST", path, "application/json", object.to_string().as_bytes())
    }

    /// Starts a GET whose body goes on; [`Connection::line`] reads it.
    pub fn watch(&mut self, path: &str) -> io::Result<Response> {
        self.send(format!("{}\r\n", Connection::head("GET", path)).as_bytes())?;
        self.response_head()
    }

    /// The next line of a chunked body, each line being whole chunks; `None` at the end of the body.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        loop {
            let Some(chunk) = self.chunk()? else {
                if line.is_empty() {
                    return Ok(None);
                }
                return Err(ended("a line"));
            };
            line.extend_from_slice(&chunk);
            if line.last() == Some(&b'\n') {
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
        }
    }

    /// Reads one response to a request of `method`; interim ones (1xx) are answered as they come.
    pub fn response(&mut self, method: &str) -> io::Result<Response> {
        let mut response = self.response_head()?;
        if method == "HEAD" || response.status < 200 || response.status == 204 || response.status == 304 {
            return Ok(response);
        }
        let length = response.header("content-length").map(str::to_owned);
        if response.header("transfer-encoding") == Some("chunked") {
            assert!(length.is_none(), "two framings: {response:?}");
            while let Some(chunk) = self.chunk()? {
                response.body.extend_from_slice(&chunk);
            }
        } else if let Some(length) = length {
            let length: usize = length.parse().map_err(io::Error::other)?;
            while self.read.len() - self.start < length {
                self.fill("a body")?;
            }
            response.body = self.take(length);
        } else {
            while self.fill("a body").is_ok() {}
            response.body = self.take(self.read.len() - self.start);
        }
        Ok(response)
    }

    fn response_head(&mut self) -> io::Result<Response> {
        let status_line = self.text_line("a head")?;
        let status =
            status_line.strip_prefix("HTTP/1.1 ").and_then(|l| l.get(..3)).and_then(|c| c.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not a status line: {status_line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.text_line("a head")?;
            if line.is_empty() {
                return Ok(Response { status, headers, body: Vec::new() });
            }
            let (name, value) =
                line.split_once(": ").ok_or_else(|| io::Error::other(format!("no field: {line:?}")))?;
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }

    /// One chunk; `None` for the last.
    fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.text_line("a chunk")?;
        let size = usize::from_str_radix(&line, 16)
            .map_err(|_| io::Error::other(format!("no chunk size: {line:?}")))?;
        while self.read.len() - self.start < size + 2 {
            self.fill("a chunk")?;
        }
        let mut chunk = self.take(size + 2);
        assert!(chunk.ends_with(b"\r\n"), "a chunk ends with a line break");
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }

    fn text_line(&mut self, what: &str) -> io::Result<String> {
        loop {
            let unread = &self.read[self.start..];
            if let Some(end) = unread.windows(2).position(|w| w == b"\r\n") {
                let line = String::from_utf8_lossy(&unread[..end]).into_owned();
                self.start += end + 2;
                return Ok(line);
            }
            self.fill(what)?;
        }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let taken = self.read[self.start..self.start + length].to_vec();
        self.start += length;
        taken
    }

    fn fill(&mut self, what: &str) -> io::Result<()> {
        if self.start == self.read.len() {
            self.read.clear();
            self.start = 0;
        }
        let length = self.read.len();
        self.read.resize(length + (64 << 10), 0);
        let count = self.wire.read(&mut self.read[length..]);
        self.read.truncate(length + count.as_ref().copied().unwrap_or(0));
        if count? == 0 { Err(ended(what)) } else { Ok(()) }
    }

    /// Whether the server ends the connection within `limit`, with nothing more sent.
    pub fn ends(&mut self, limit: Duration) -> bool {
        if self.start < self.read.len() || self.wire.socket().set_read_timeout(Some(limit)).is_err() {
            return false;
        }
        match self.wire.read(&mut [0; 64]) {
            Ok(count) => count == 0,
            Err(e) => !matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }
}
