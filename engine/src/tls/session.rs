//! The TLS of one connection: wire bytes in, plain bytes out, and the other way round.
//!
//! The handshake is rustls's, by its unbuffered API; what changes with its next version changes here. After it the
//! connection goes on in [`Records`].

use crate::{
    app::{TlsInfo, TlsVersion},
    limits,
    out::{OutQueue, Segment, Wire},
    tls::{
        certificate::take_server_name,
        records::{Fault, Opened, Records},
    },
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
    /// The records after the handshake are wrong.
    Records(#[allow(dead_code, reason = "for the log")] Fault),
    /// TLS panicked.
    Panicked,
    /// More unfinished bytes than a connection may keep.
    TooLong,
}

/// The TLS of one connection.
pub(crate) struct Session {
    stage: Stage,
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

enum Stage {
    /// rustls has it, up to its first moment of quiet after the handshake.
    Handshake(Box<UnbufferedServerConnection>),
    Records(Box<Records>),
    /// It failed between the two.
    Gone,
}

impl Session {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Result<Session, Error> {
        Ok(Session {
            stage: Stage::Handshake(Box::new(UnbufferedServerConnection::new(config)?)),
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
        if let Stage::Records(_) = self.stage {
            return self.pump_records(data, sink);
        }
        self.pump_handshake(data, sink)
    }

    fn pump_records(&mut self, data: &mut [u8], sink: &mut dyn FnMut(Event<'_>) -> bool) -> (usize, Pumped) {
        let Stage::Records(records) = &mut self.stage else { return (data.len(), gone()) };
        let (used, result) = records.pump(data, &mut self.answers, &mut |plain| sink(Event::Plain(plain)));
        self.stopped = result == Ok(Opened::Stopped);
        match result {
            Ok(Opened::All | Opened::Stopped) => (used, Pumped::More),
            Ok(Opened::PeerClosed) => (used, Pumped::PeerClosed),
            Err(fault) => (data.len(), Pumped::Failed(Failure::Records(fault))),
        }
    }

    fn pump_handshake(
        &mut self,
        data: &mut [u8],
        sink: &mut dyn FnMut(Event<'_>) -> bool,
    ) -> (usize, Pumped) {
        if !self.opened {
            // A name that another connection's failed handshake left is not ours.
            take_server_name();
        }
        let mut used = 0;
        self.stopped = false;
        loop {
            let Stage::Handshake(tls) = &mut self.stage else { return (data.len(), gone()) };
            let UnbufferedStatus { discard, state } = tls.process_tls_records(&mut data[used..]);
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
                    self.collect();
                    return (data.len(), Pumped::Failed(Failure::Tls(err)));
                }
            }
            used += discard;
            if let Some(name) = take_server_name() {
                self.server_name = Some(name);
            }
            if let Stage::Handshake(tls) = &self.stage
                && !self.opened
                && !tls.is_handshaking()
            {
                self.opened = true;
                let info = info(tls, self.server_name.clone());
                let mut go_on = sink(Event::Open(info));
                for record in records {
                    go_on &= sink(Event::Plain(&record));
                }
                self.stopped = !go_on;
            }
            if self.stopped && end.is_none() {
                end = Some(Pumped::More);
            }
            match end {
                Some(Pumped::More) if self.opened && !self.stopped => {
                    // All is said, and every whole record was used: from here on it goes without rustls.
                    return match self.go_over() {
                        Ok(()) => (used, Pumped::More),
                        Err(failure) => (data.len(), Pumped::Failed(failure)),
                    };
                }
                Some(end) => return (used, end),
                None => {}
            }
        }
    }

    /// Takes a connection whose handshake is done over from rustls.
    fn go_over(&mut self) -> Result<(), Failure> {
        self.collect();
        let stage = mem::replace(&mut self.stage, Stage::Gone);
        let records = match stage {
            Stage::Handshake(tls) => {
                let (secrets, kernel) = tls.dangerous_into_kernel_connection().map_err(Failure::Tls)?;
                Box::new(Records::new(secrets, kernel).map_err(Failure::Tls)?)
            }
            Stage::Records(records) => records,
            Stage::Gone => return Err(Failure::Tls(Error::HandshakeNotComplete)),
        };
        self.stage = Stage::Records(records);
        Ok(())
    }

    /// Takes what rustls has still to say: the alert for an error it reported, or what ends a handshake. After an error
    /// it must not see any bytes, nor be asked once it has nothing to say: it would read on, and panic.
    fn collect(&mut self) {
        let Stage::Handshake(tls) = &mut self.stage else { return };
        while tls.wants_write() {
            match tls.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut encode)) => self.answers.push(encoded(&mut encode)),
                Ok(ConnectionState::TransmitTlsData(transmit)) => transmit.done(),
                _ => return,
            }
        }
    }

    /// Makes records of what waits in `out`, until `ahead` bytes are on the wire.
    pub(crate) fn encrypt(
        &mut self,
        out: &mut OutQueue,
        wire: &mut Wire,
        ahead: usize,
    ) -> Result<(), Failure> {
        if !self.opened {
            return Ok(());
        }
        let mut made = self.take_answers(wire);
        if out.waiting() > 0 && wire.bytes < ahead {
            self.go_over()?;
            made += self.take_answers(wire);
        }
        let Stage::Records(records) = &mut self.stage else {
            out.sending += made;
            return Ok(());
        };
        let pool = out.pool().clone();
        while out.waiting() > 0 && wire.bytes < ahead {
            if let Some(news) = records.renew().map_err(Failure::Tls)? {
                made += news.len();
                wire.push(Segment::Shared(news));
            }
            let content = out.waiting().min(limits::TLS_RECORD_PLAIN_BYTES);
            let room = content + limits::TLS_RECORD_OVERHEAD_BYTES;
            let Some(chunk) = wire.room(room, &pool) else { return Err(Failure::TooLong) };
            let from = chunk.len();
            records.begin(chunk);
            out.gather(chunk, content);
            records.seal(chunk, from).map_err(Failure::Tls)?;
            let length = chunk.len() - from;
            wire.bytes += length;
            made += length;
        }
        out.sending += made;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn records(&mut self) -> Option<&mut Records> {
        match &mut self.stage {
            Stage::Records(records) => Some(records),
            _ => None,
        }
    }

    /// Puts close_notify on the wire, once.
    pub(crate) fn close(&mut self, out: &mut OutQueue, wire: &mut Wire) {
        if self.opened
            && !mem::replace(&mut self.close_sent, true)
            && self.go_over().is_ok()
            && let Stage::Records(records) = &mut self.stage
            && let Ok(notify) = records.close_notify()
        {
            self.answers.push(notify);
        }
        out.sending += self.take_answers(wire);
    }
}

/// The end of a connection that failed before.
fn gone() -> Pumped {
    Pumped::Failed(Failure::Tls(Error::HandshakeNotComplete))
}

fn info(tls: &UnbufferedServerConnection, server_name: Option<String>) -> TlsInfo {
    TlsInfo {
        alpn: tls.alpn_protocol().map(<[u8]>::to_vec),
        peer_certificates: tls
            .peer_certificates()
            .unwrap_or_default()
            .iter()
            .map(|certificate| certificate.as_ref().to_vec())
            .collect(),
        version: match tls.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
            _ => TlsVersion::Tls13,
        },
        server_name,
    }
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
