//! A small HTTP/2 server over plain TCP with prior knowledge, a thread a connection, for conformance tools:
//! `cargo run -p ringbolt-protocol --example h2server 127.0.0.1:8000`, then `h2spec -p 8000`. It answers every
//! request with 200 and the size of its body. h2spec takes it that frames end at 16 KiB, where this server announces
//! 256 KiB: with `--max-header-length 60000` its oversized head is oversized here too, and all 145 cases pass.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use bytes::Bytes;
use ringbolt_protocol::exchange::{Connection, Handler, Output, Progress, Responder, StreamId};
use ringbolt_protocol::h2;
use ringbolt_protocol::head::{BodyLength, Head};

/// Bytes queued for the socket before the connection is asked to wait.
const ROOM: usize = 256 << 10;

#[derive(Default)]
struct Queue(Vec<u8>);

impl Output for Queue {
    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn put_shared(&mut self, bytes: Bytes) {
        self.0.extend_from_slice(&bytes);
    }

    fn queued(&self) -> usize {
        self.0.len()
    }
}

#[derive(Default)]
struct Sizes(Vec<(StreamId, usize)>);

fn answer(responder: &mut dyn Responder, stream: StreamId, size: usize) {
    let body = Bytes::from(format!("{size} bytes\n"));
    responder.respond(stream, 200, &[("content-type", b"text/plain")], &[body]);
}

impl Handler for Sizes {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>) {
        if head.body == BodyLength::None {
            answer(responder, stream, 0);
        } else {
            self.0.push((stream, 0));
        }
    }

    fn data(&mut self, responder: &mut dyn Responder, stream: StreamId, bytes: &[u8]) {
        for (_, size) in self.0.iter_mut().filter(|(open, _)| *open == stream) {
            *size += bytes.len();
        }
        responder.consumed(stream, bytes.len());
    }

    fn end(&mut self, responder: &mut dyn Responder, stream: StreamId) {
        if let Some(at) = self.0.iter().position(|(open, _)| *open == stream) {
            let (_, size) = self.0.swap_remove(at);
            answer(responder, stream, size);
        }
    }

    fn reset(&mut self, stream: StreamId) {
        self.0.retain(|(open, _)| *open != stream);
    }
}

fn serve(mut socket: TcpStream) -> std::io::Result<()> {
    let (mut connection, mut handler, mut out) = (h2::Connection::new(), Sizes::default(), Queue::default());
    let mut buffer = vec![0; 64 << 10];
    loop {
        loop {
            let more = connection.drain(&mut out, ROOM);
            socket.write_all(&out.0)?;
            out.0.clear();
            if !more {
                break;
            }
        }
        if connection.progress() == Progress::Close {
            socket.shutdown(Shutdown::Write)?;
            socket.set_read_timeout(Some(std::time::Duration::from_millis(500)))?;
            while socket.read(&mut buffer)? > 0 {}
            return Ok(());
        }
        match socket.read(&mut buffer)? {
            0 => connection.eof(&mut handler),
            n => connection.receive(&buffer[..n], &mut handler),
        };
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(&address)?;
    for socket in listener.incoming() {
        let socket = socket?;
        std::thread::spawn(move || {
            if let Err(error) = serve(socket) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}
