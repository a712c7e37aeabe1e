//! The TLS of one connection: wire bytes in, plain bytes out, and the other way round.
//!
//! This is all the engine knows of rustls's unbuffered connection; what changes with its next version changes here.

use crate::{
    app::{TlsInfo, TlsVersion},
    limits,
    out::{OutQueue, Segment, Wire},
    tls::certificate::take_server_name,
};
use bytes::Bytes;
use rustls::{
    Error, ProtocolVersion, ServerConfig,
    server::UnbufferedServerConnection,
    unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus},
};
use std::{mem, sync::Arc};

/// What Go's server answers to a plain HTTP request on its TLS port.
const PLAIN_HTTP_ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// What a pump tells its connection.
pub(crate) enum Event<'a> {
    /// The handshake is done; plain bytes may follow.
    Open(TlsInfo),
    /// Plain bytes arrived.
    Plain(&'a [u8]),
}

/// How a pump ended.
#[derive(Debug)]
pub(crate) enum Pumped {
    /// Everything that was complete was used, or the sink stopped it.
    More,
    /// The peer said that it sends no more.
    PeerClosed,
    /// The connection cannot go on; the answers (an alert) are still to be sent.
    Failed(Failure),
}

/// Why a TLS connection cannot go on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client speaks HTTP without TLS; it is told.
    PlainHttp,
    /// TLS says no.
    Tls(#[allow(dead_code, reason = "for the log")] Error),
    /// TLS panicked.
    Panicked,
    /// More unfinished bytes than a connection may keep.
    TooLong,
}

/// The TLS of one connection.
pub(crate) struct Session {
    tls: UnbufferedServerConnection,
    /// Wire bytes not used yet: a record that is cut, or what came after a stop. No memory while empty.
    incoming: Vec<u8>,
    /// What TLS itself has to say, to be sent before any record made later.
    answers: Vec<Bytes>,
    /// Whether the sink stopped the last pump.
    stopped: bool,
    /// Whether the first bytes were seen to be no HTTP request.
    sniffed: bool,
    opened: bool,
    close_sent: bool,
    server_name: Option<String>,
}

impl Session {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Result<Session, Error> {
        Ok(Session {
            tls: UnbufferedServerConnection::new(config)?,
            incoming: Vec::new(),
            answers: Vec::new(),
            stopped: false,
            sniffed: false,
            opened: false,
            close_sent: false,
            server_name: None,
        })
    }

    /// Whether the sink stopped the last pump, so that whole records may wait.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Moves TLS's own answers to the wire.
    pub(crate) fn take_answers(&mut self, wire: &mut Wire) -> usize {
        let mut bytes = 0;
        for answer in self.answers.drain(..) {
            bytes += answer.len();
            wire.push(Segment::Shared(answer));
        }
        if self.opened {
            self.answers = Vec::new();
        }
        bytes
    }

    /// Uses wire bytes, which are overwritten. `sink` hears what came of them, and stops the pump by false; what is
    /// left then is kept for the next call.
    pub(crate) fn pump(&mut self, data: &mut [u8], sink: &mut dyn FnMut(Event<'_>) -> bool) -> Pumped {
        if self.incoming.is_empty() {
            let (used, end) = self.pump_bytes(data, sink);
            self.incoming.extend_from_slice(&data[used..]);
            return self.limited(end);
        }
        let mut incoming = mem::take(&mut self.incoming);
        incoming.extend_from_slice(data);
        let (used, end) = self.pump_bytes(&mut incoming, sink);
        if used < incoming.len() {
            incoming.drain(..used);
            self.incoming = incoming;
        }
        self.limited(end)
    }

    fn limited(&mut self, end: Pumped) -> Pumped {
        let limit = match self.opened {
            // What a stopped pump leaves is bounded by what the engine stashes.
            true => limits::STASH_BYTES_MAX + limits::TLS_INCOMING_BYTES_MAX,
            false => limits::TLS_INCOMING_BYTES_MAX,
        };
        match end {
            Pumped::More if self.incoming.len() > limit => Pumped::Failed(Failure::TooLong),
            end => end,
        }
    }

    fn pump_bytes(&mut self, data: &mut [u8], sink: &mut dyn FnMut(Event<'_>) -> bool) -> (usize, Pumped) {
        if !self.sniffed {
            match sniff(data) {
                Sniffed::Short => return (0, Pumped::More),
                Sniffed::Http => {
                    self.answers.push(Bytes::from_static(PLAIN_HTTP_ANSWER));
                    return (data.len(), Pumped::Failed(Failure::PlainHttp));
                }
                Sniffed::Other => self.sniffed = true,
            }
        }
        if !self.opened {
            // A name that another connection's failed handshake left is not ours.
            take_server_name();
        }
        let mut used = 0;
        self.stopped = false;
        loop {
            let UnbufferedStatus { discard, state } = self.tls.process_tls_records(&mut data[used..]);
            let mut records = Vec::new();
            let mut end = None;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    let mut go_on = true;
                    while let Some(record) = traffic.next_record() {
                        match record {
                            // The first bytes can come before we could say that the handshake is done.
                            Ok(record) if !self.opened => records.push(record.payload.to_vec()),
                            Ok(record) => go_on &= sink(Event::Plain(record.payload)),
                            Err(err) => end = Some(Pumped::Failed(Failure::Tls(err))),
                        }
                    }
                    self.stopped = !go_on;
                }
                Ok(ConnectionState::EncodeTlsData(mut encode)) => self.answers.push(encoded(&mut encode)),
                Ok(ConnectionState::TransmitTlsData(transmit)) => transmit.done(),
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => end = Some(Pumped::PeerClosed),
                Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => {
                    end = Some(Pumped::More);
                }
                // Early data is never accepted (max_early_data_size is 0); other states are none of 0.23.
                Ok(_) => end = Some(Pumped::Failed(Failure::Tls(Error::HandshakeNotComplete))),
                Err(err) => {
                    self.collect_alert();
                    return (data.len(), Pumped::Failed(Failure::Tls(err)));
                }
            }
            used += discard;
            if let Some(name) = take_server_name() {
                self.server_name = Some(name);
            }
            if !self.opened && !self.tls.is_handshaking() {
                self.opened = true;
                let mut go_on = sink(Event::Open(self.info()));
                for record in records {
                    go_on &= sink(Event::Plain(&record));
                }
                self.stopped = !go_on;
            }
            if self.stopped && end.is_none() {
                end = Some(Pumped::More);
            }
            if let Some(end) = end {
                return (used, end);
            }
        }
    }

    /// Takes the alert that rustls has made for an error it reported. It must not see any bytes after an error, nor be
    /// asked once it has nothing to say: it would read on, and panic.
    fn collect_alert(&mut self) {
        while self.tls.wants_write() {
            match self.tls.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut encode)) => self.answers.push(encoded(&mut encode)),
                _ => return,
            }
        }
    }

    fn info(&self) -> TlsInfo {
        TlsInfo {
            alpn: self.tls.alpn_protocol().map(<[u8]>::to_vec),
            peer_certificates: self
                .tls
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .map(|certificate| certificate.as_ref().to_vec())
                .collect(),
            version: match self.tls.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
                _ => TlsVersion::Tls13,
            },
            server_name: self.server_name.clone(),
        }
    }

    /// Makes records of what waits in `out`, until enough is on the wire.
    pub(crate) fn encrypt(
        &mut self,
        out: &mut OutQueue,
        wire: &mut Wire,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if !self.opened {
            return Ok(());
        }
        let mut made = self.take_answers(wire);
        while out.waiting() > 0 && wire.bytes < limits::TLS_AHEAD_BYTES {
            let pool = out.pool().clone();
            let result = out.take_record(scratch, |plain| {
                let room = plain.len() + limits::TLS_RECORD_OVERHEAD_BYTES;
                let Some(chunk) = wire.room(room, &pool) else { return Err(Failure::TooLong) };
                let from = chunk.len();
                chunk.resize(from + room, 0);
                let written = seal(
                    &mut self.tls,
                    idle_incoming(self.stopped, &mut self.incoming),
                    plain,
                    &mut chunk[from..],
                );
                chunk.truncate(from + written.as_ref().copied().unwrap_or(0));
                let written = written.map_err(Failure::Tls)?;
                wire.bytes += written;
                Ok(written)
            });
            match result {
                Some(Ok(written)) => made += written,
                Some(Err(failure)) => return Err(failure),
                None => break,
            }
        }
        out.sending += made;
        Ok(())
    }

    /// Puts close_notify on the wire, once.
    pub(crate) fn close(&mut self, out: &mut OutQueue, wire: &mut Wire) {
        let mut made = self.take_answers(wire);
        if self.opened && !mem::replace(&mut self.close_sent, true) {
            let mut bytes = vec![0; 4 * limits::TLS_RECORD_OVERHEAD_BYTES];
            if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
                self.tls.process_tls_records(idle_incoming(self.stopped, &mut self.incoming)).state
                && let Ok(n) = traffic.queue_close_notify(&mut bytes)
            {
                bytes.truncate(n);
                made += n;
                wire.push(Segment::Shared(Bytes::from(bytes)));
            }
        }
        out.sending += made;
    }
}

/// The bytes rustls is to see when it is not to read: those of a cut record, into which it may have pointers; but none
/// after a stop, when whole records wait.
fn idle_incoming(stopped: bool, incoming: &mut [u8]) -> &mut [u8] {
    if stopped { &mut [] } else { incoming }
}

/// The bytes of TLS's own that rustls gives out.
fn encoded<D>(encode: &mut EncodeTlsData<'_, D>) -> Bytes {
    let mut bytes = Vec::new();
    let written = match encode.encode(&mut bytes) {
        Err(EncodeError::InsufficientSize(size)) => {
            bytes.resize(size.required_size, 0);
            encode.encode(&mut bytes)
        }
        other => other,
    };
    // The second try has the size that was asked for, and each chunk is given out and encoded once.
    bytes.truncate(written.unwrap_or(0));
    Bytes::from(bytes)
}

/// Encrypts one record's worth of plain bytes.
fn seal(
    tls: &mut UnbufferedServerConnection,
    incoming: &mut [u8],
    plain: &[u8],
    into: &mut [u8],
) -> Result<usize, Error> {
    // Everything of TLS's own was taken before, so another state is an end of the connection.
    match tls.process_tls_records(incoming).state? {
        ConnectionState::WriteTraffic(mut traffic) => {
            traffic.encrypt(plain, into).map_err(|err| Error::General(err.to_string()))
        }
        state => Err(Error::General(format!("cannot write in {state:?}"))),
    }
}

enum Sniffed {
    Short,
    Http,
    Other,
}

/// Tells an HTTP request by its first five bytes, as Go's `crypto/tls` does.
fn sniff(data: &[u8]) -> Sniffed {
    match data.get(..5) {
        None => Sniffed::Short,
        Some(b"GET /" | b"HEAD " | b"POST " | b"PUT /" | b"OPTIO") => Sniffed::Http,
        Some(_) => Sniffed::Other,
    }
}
