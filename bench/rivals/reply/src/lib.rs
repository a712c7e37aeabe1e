//! What all rivals have in common: the answer, finding the ends of requests, and how a rival is started.
//!
//! The answer is one constant of 1 KiB and its head. Nobody copies it: whoever can hands the kernel its address. The
//! rivals that take this crate's word for where a request ends do the same work but for moving bytes.

use std::net::{Ipv4Addr, SocketAddr};

/// Bytes of the body.
pub const BODY_BYTES: usize = 1024;

/// The body: JSON, as long as a small object of Kubernetes.
pub const BODY: &[u8; BODY_BYTES] = &body();

/// The media type of the body.
pub const CONTENT_TYPE: &str = "application/json";

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1024\r\n\r\n";

/// The whole answer of HTTP/1.1.
pub const REPLY: &[u8; HEAD.len() + BODY_BYTES] = &reply();

/// Fields in a request's head, at most.
const FIELDS_MAX: usize = 32;
/// Bytes of a request's head, at most.
const HEAD_BYTES_MAX: usize = 16 * 1024;

const fn body() -> [u8; BODY_BYTES] {
    let start = b"{\"data\":\"";
    let end = b"\"}\n";
    let mut body = [b'x'; BODY_BYTES];
    let mut at = 0;
    while at < start.len() {
        body[at] = start[at];
        at += 1;
    }
    at = 0;
    while at < end.len() {
        body[BODY_BYTES - end.len() + at] = end[at];
        at += 1;
    }
    body
}

const fn reply() -> [u8; HEAD.len() + BODY_BYTES] {
    let mut reply = [0; HEAD.len() + BODY_BYTES];
    let mut at = 0;
    while at < reply.len() {
        reply[at] = if at < HEAD.len() { HEAD[at] } else { BODY[at - HEAD.len()] };
        at += 1;
    }
    reply
}

/// The peer does not speak HTTP/1.1, or sent more than a head may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The requests of one connection, none with a body.
#[derive(Debug, Default)]
pub struct Requests {
    /// The beginning of a request whose end has not come.
    begun: Vec<u8>,
}

impl Requests {
    /// Takes bytes as they came, cut anywhere, and says how many requests they complete.
    ///
    /// # Errors
    ///
    /// Where the bytes are no HTTP/1.1.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        // Where nothing is held back, as with clients that do not pipeline, the bytes are read where they lie.
        if self.begun.is_empty() {
            let (complete, used) = requests_in(bytes)?;
            self.begun.extend_from_slice(&bytes[used..]);
            return self.bounded(complete);
        }
        self.begun.extend_from_slice(bytes);
        let (complete, used) = requests_in(&self.begun)?;
        self.begun.drain(..used);
        self.bounded(complete)
    }

    fn bounded(&self, complete: usize) -> Result<usize, Malformed> {
        if self.begun.len() > HEAD_BYTES_MAX { Err(Malformed) } else { Ok(complete) }
    }
}

/// How many requests are whole, and how long they are together.
fn requests_in(bytes: &[u8]) -> Result<(usize, usize), Malformed> {
    let (mut complete, mut used) = (0, 0);
    while used < bytes.len() {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        match httparse::Request::new(&mut fields).parse(&bytes[used..]) {
            Ok(httparse::Status::Complete(length)) => {
                complete += 1;
                used += length;
            }
            Ok(httparse::Status::Partial) => break,
            Err(_) => return Err(Malformed),
        }
    }
    Ok((complete, used))
}

/// How a rival is started: `rival PORT [MODE]`, pinned to its core by whoever starts it.
#[derive(Debug)]
pub struct Args {
    /// Where it listens, on loopback.
    pub address: SocketAddr,
    /// One of the modes the rival names, the first where none is given.
    pub mode: String,
}

impl Args {
    /// The arguments of this process. What is wrong with them is said, and the process ends.
    #[must_use]
    pub fn of_process(modes: &[&str]) -> Args {
        let mut args = std::env::args().skip(1);
        let port = args.next().and_then(|port| port.parse().ok());
        let mode = args.next().unwrap_or_else(|| modes[0].to_owned());
        match port {
            Some(port) if modes.contains(&mode.as_str()) && args.next().is_none() => {
                Args { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), mode }
            }
            _ => {
                eprintln!("usage: PORT [{}]", modes.join("|"));
                std::process::exit(2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n";

    #[test]
    fn the_reply_is_what_its_head_says() {
        let text = std::str::from_utf8(REPLY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
        assert!(head.contains(CONTENT_TYPE));
        assert!(body.starts_with("{\"data\":\"xxx") && body.ends_with("xxx\"}\n"));
    }

    #[test]
    fn requests_cut_anywhere() {
        let two = [GET, GET].concat();
        for first in 0..two.len() {
            for second in first..two.len() {
                let mut requests = Requests::default();
                let parts = [&two[..first], &two[first..second], &two[second..]];
                let complete: usize = parts.iter().map(|part| requests.take(part).unwrap()).sum();
                assert_eq!((complete, requests.begun.len()), (2, 0), "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn what_is_no_http_ends_it() {
        assert_eq!(Requests::default().take(b"\x16\x03\x01\r\n\r\n"), Err(Malformed));
        let mut requests = Requests::default();
        let endless = [b"GET / HTTP/1.1\r\na: ".as_slice(), &[b'b'; HEAD_BYTES_MAX]].concat();
        assert_eq!(requests.take(&endless), Err(Malformed));
    }
}
