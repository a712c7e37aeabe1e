//! One connection: socket, TLS, protocol.

use super::{
    super::{
        error::LoadError,
        limits,
        target::{Protocol, Target},
    },
    Request, Sink, WireError,
    h1::H1,
    h2::H2,
    tls::{ClientTls, Pumped},
};
use mio::net::TcpStream;
use std::io::{ErrorKind, Read, Write};

#[derive(Debug)]
enum Wire {
    H1(H1),
    // Much larger, and there are up to thousands of either.
    H2(Box<H2>),
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    tls: Option<ClientTls>,
    wire: Wire,
    /// Plain bytes to be sealed and sent.
    out: Vec<u8>,
    /// Bytes for the socket, and how many of them it has taken.
    to_send: Vec<u8>,
    sent: usize,
    /// Whether it stands in the driver's list of connections with something to send.
    pub(crate) listed: bool,
    lost: bool,
}

impl Connection {
    /// Begins a connection.
    pub(crate) fn new(target: &Target) -> Result<Connection, LoadError> {
        let stream = TcpStream::connect(target.address)?;
        stream.set_nodelay(true)?;
        let (mut out, mut to_send) = (Vec::new(), Vec::new());
        let authorization = target.authorization.as_deref();
        let wire = match target.protocol {
            Protocol::H1 => Wire::H1(H1::new(&target.authority, authorization)),
            Protocol::H2 => {
                Wire::H2(Box::new(H2::new(&target.authority, authorization, target.tls.is_some(), &mut out)))
            }
        };
        let tls = match &target.tls {
            Some((config, name)) => Some(
                ClientTls::new(config.clone(), name.clone(), &mut to_send)
                    .map_err(|error| LoadError::new(error.0))?,
            ),
            None => None,
        };
        Ok(Connection { stream, tls, wire, out, to_send, sent: 0, listed: false, lost: false })
    }

    /// Whether requests can be sent: handshake done, settings known.
    pub(crate) fn is_ready(&self) -> bool {
        self.tls.as_ref().is_none_or(ClientTls::is_open)
            && match &self.wire {
                Wire::H1(_) => true,
                Wire::H2(h2) => h2.is_ready(),
            }
    }

    /// Requests that may be sent now.
    pub(crate) fn room(&self) -> usize {
        match &self.wire {
            _ if self.lost => 0,
            Wire::H1(h1) => h1.room(),
            Wire::H2(h2) => h2.room(),
        }
    }

    /// Queues a request; there must be room.
    pub(crate) fn request(&mut self, tag: u32, request: &Request<'_>) {
        match &mut self.wire {
            Wire::H1(h1) => h1.request(tag, request, &mut self.out),
            Wire::H2(h2) => h2.request(tag, request, &mut self.out),
        }
    }

    /// Reads what there is, up to a bound. True: there may be more.
    pub(crate) fn receive(
        &mut self,
        scratch: &mut [u8],
        to_end: bool,
        sink: &mut impl super::driver::Work,
    ) -> Result<bool, WireError> {
        for _ in 0..limits::READS_IN_A_ROW {
            if self.lost {
                return Ok(false);
            }
            let kept = self.tls.as_ref().map_or(0, |tls| tls.prepare(scratch));
            let length = match self.stream.read(&mut scratch[kept..]) {
                Ok(0) => return Err(self.closed()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(WireError::new(error.to_string())),
            };
            sink.arrived();
            let full = kept + length == scratch.len();
            let (wire, out) = (&mut self.wire, &mut self.out);
            let mut plain = |bytes: &[u8]| match wire {
                Wire::H1(h1) => h1.receive(bytes, sink),
                Wire::H2(h2) => h2.receive(bytes, sink, out),
            };
            let data = &mut scratch[..kept + length];
            match &mut self.tls {
                Some(tls) => {
                    let pumped = tls.pump(data, kept, &mut self.to_send, &mut plain)?;
                    if pumped == Pumped::Closed {
                        return Err(self.closed());
                    }
                }
                None => plain(data)?,
            }
            // A socket that gave less than it could has no more; when that changes, we are told.
            if !full && !to_end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn closed(&self) -> WireError {
        match &self.wire {
            Wire::H2(h2) => WireError::new(h2.leaving().unwrap_or("the server closed the connection")),
            Wire::H1(_) => WireError::new("the server closed the connection"),
        }
    }

    /// Seals and sends what waits, as far as the socket takes it.
    pub(crate) fn send(&mut self) -> Result<(), WireError> {
        match &mut self.tls {
            Some(tls) if self.out.is_empty() || !tls.is_open() => {}
            Some(tls) => {
                tls.seal(&self.out, &mut self.to_send)?;
                self.out.clear();
            }
            None => self.to_send.append(&mut self.out),
        }
        while self.sent < self.to_send.len() {
            match self.stream.write(&self.to_send[self.sent..]) {
                Ok(length) => self.sent += length,
                // Of a socket that is not connected yet, too: it is told when it is.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(WireError::new(error.to_string())),
            }
        }
        self.to_send.clear();
        self.sent = 0;
        Ok(())
    }

    /// Whether something waits to be sent.
    pub(crate) fn has_to_send(&self) -> bool {
        !self.lost && (!self.out.is_empty() || self.sent < self.to_send.len())
    }

    /// The connection is lost: all that is open ends.
    pub(crate) fn lost(&mut self, sink: &mut impl Sink) {
        if !std::mem::replace(&mut self.lost, true) {
            match &mut self.wire {
                Wire::H1(h1) => h1.lost(sink),
                Wire::H2(h2) => h2.lost(sink),
            }
        }
    }

    /// Whether the server speaks the protocol that was asked for; meaningful once the handshake is done.
    pub(crate) fn speaks(&self, protocol: Protocol) -> bool {
        self.tls.as_ref().is_none_or(|tls| match protocol {
            Protocol::H1 => tls.protocol().is_none_or(|chosen| chosen == b"http/1.1"),
            Protocol::H2 => tls.protocol() == Some(b"h2"),
        })
    }
}
