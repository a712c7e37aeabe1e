//! A small blocking HTTP/1.1 client over TLS, for what is not measured: seeding, warming and checking answers.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    sync::Arc,
};

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_pki_types::ServerName;

use super::limits;
use crate::error::{Context as _, Error, Result};

/// A response, whole.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `Content-Type`, empty without one.
    pub content_type: String,
    /// Body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body).context("the answer is no JSON")
    }

    /// This answer if it has `status`, else an error with what came instead.
    pub fn expect(self, status: u16, what: &str) -> Result<Answer> {
        if self.status == status {
            return Ok(self);
        }
        let start = String::from_utf8_lossy(&self.body[..self.body.len().min(300)]).into_owned();
        Err(Error::new(format!("{what}: status {} instead of {status}: {start}", self.status)))
    }
}

/// One connection.
pub struct Client {
    stream: StreamOwned<ClientConnection, TcpStream>,
    token: String,
    received: Vec<u8>,
}

impl Client {
    /// Connects to `port` of this machine and shakes hands.
    pub fn connect(port: u16, config: &Arc<ClientConfig>, token: &str) -> Result<Client> {
        let name = ServerName::try_from("127.0.0.1").context("a name")?;
        let connection = ClientConnection::new(Arc::clone(config), name).context("TLS")?;
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context(format!("port {port}"))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(limits::ANSWER))?;
        socket.set_write_timeout(Some(limits::ANSWER))?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).context("TLS handshake")?;
        }
        Ok(Client { stream, token: token.to_owned(), received: Vec::new() })
    }

    /// A GET that accepts `accept`.
    pub fn get(&mut self, path: &str, accept: &str) -> Result<Answer> {
        self.request("GET", path, &[("Accept", accept)], &[])
    }

    /// Sends a request and waits for its answer.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer> {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: ringbolt-bench\r\nAuthorization: Bearer {}\r\n",
            self.token
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes).context(format!("{method} {path}"))?;
        self.stream.flush()?;
        self.answer().context(format!("{method} {path}"))
    }

    fn more(&mut self) -> Result<()> {
        let mut buffer = [0; 64 * 1024];
        let read = self.stream.read(&mut buffer)?;
        if read == 0 {
            return Err(Error::new("the connection ended within an answer"));
        }
        self.received.extend_from_slice(&buffer[..read]);
        Ok(())
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.received.len() < length {
            self.more()?;
        }
        let rest = self.received.split_off(length);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    fn take_line(&mut self) -> Result<String> {
        loop {
            if let Some(end) = self.received.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.take(end + 2)?;
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.more()?;
        }
    }

    fn answer(&mut self) -> Result<Answer> {
        let (head_length, status, content_type, length, chunked) = loop {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut response = httparse::Response::new(&mut headers);
            if let httparse::Status::Complete(end) = response.parse(&self.received).context("head")? {
                let find = |name: &str| {
                    response
                        .headers
                        .iter()
                        .find(|header| header.name.eq_ignore_ascii_case(name))
                        .map(|header| String::from_utf8_lossy(header.value).into_owned())
                };
                break (
                    end,
                    response.code.unwrap_or(0),
                    find("content-type").unwrap_or_default(),
                    find("content-length").and_then(|text| text.parse::<usize>().ok()),
                    find("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")),
                );
            }
            self.more()?;
        };
        self.take(head_length)?;
        let body = match (chunked, length) {
            (true, _) => self.chunks()?,
            (false, Some(length)) => self.take(length)?,
            (false, None) => Vec::new(),
        };
        Ok(Answer { status, content_type, body })
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).context(format!("size of a chunk {line:?}"))?;
            if size == 0 {
                while !self.take_line()?.is_empty() {}
                return Ok(body);
            }
            let chunk = self.take(size + 2)?;
            body.extend_from_slice(&chunk[..size]);
        }
    }
}
