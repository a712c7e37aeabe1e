//! TLS of one connection, by rustls's unbuffered API: records are opened where they were received.

use super::WireError;
use rustls::{
    ClientConfig,
    client::UnbufferedClientConnection,
    unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus},
};
use rustls_pki_types::ServerName;
use std::sync::Arc;

/// Bytes that a record adds, at most (RFC 8446 section 5.2), and then some.
const RECORD_OVERHEAD: usize = 64;

/// Plain bytes of a full record.
const RECORD_BYTES: usize = 16 * 1024;

/// What came of received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Whatever was complete was used.
    More,
    /// The server sends no more.
    Closed,
}

/// TLS of one connection.
pub(crate) struct ClientTls {
    tls: UnbufferedClientConnection,
    /// A record that is cut. rustls may know places in it, so it is shown again on every call.
    incoming: Vec<u8>,
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls").field("incoming", &self.incoming.len()).finish_non_exhaustive()
    }
}

impl ClientTls {
    /// Begins a connection; the first flight goes to `wire`.
    pub(crate) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        wire: &mut Vec<u8>,
    ) -> Result<ClientTls, WireError> {
        let tls = UnbufferedClientConnection::new(config, name).map_err(failed)?;
        let mut tls = ClientTls { tls, incoming: Vec::new() };
        tls.pump(&mut [], 0, wire, &mut |_| Ok(()))?;
        Ok(tls)
    }

    /// Whether the handshake is done.
    pub(crate) fn is_open(&self) -> bool {
        !self.tls.is_handshaking()
    }

    /// The protocol that the server chose.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.tls.alpn_protocol()
    }

    /// Puts the bytes kept from the last time in front of `scratch`; what is read goes behind them.
    pub(crate) fn prepare(&self, scratch: &mut [u8]) -> usize {
        scratch[..self.incoming.len()].copy_from_slice(&self.incoming);
        self.incoming.len()
    }

    /// Opens the records in `data`, whose first `kept` bytes came from [`ClientTls::prepare`].
    pub(crate) fn pump(
        &mut self,
        data: &mut [u8],
        kept: usize,
        wire: &mut Vec<u8>,
        plain: &mut impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<Pumped, WireError> {
        debug_assert_eq!(kept, self.incoming.len());
        let mut used = 0;
        let pumped = loop {
            let UnbufferedStatus { mut discard, state } = self.tls.process_tls_records(&mut data[used..]);
            let mut end = None;
            match state.map_err(failed)? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(failed)?;
                        discard += record.discard;
                        plain(record.payload)?;
                    }
                }
                ConnectionState::EncodeTlsData(mut encode) => {
                    let from = wire.len();
                    let written = match encode.encode(&mut wire[from..]) {
                        Err(EncodeError::InsufficientSize(size)) => {
                            wire.resize(from + size.required_size, 0);
                            encode.encode(&mut wire[from..])
                        }
                        written => written,
                    };
                    let written = written.map_err(|error| WireError::new(format!("TLS: {error}")))?;
                    wire.truncate(from + written);
                }
                ConnectionState::TransmitTlsData(transmit) => transmit.done(),
                ConnectionState::PeerClosed | ConnectionState::Closed => end = Some(Pumped::Closed),
                _ => end = Some(Pumped::More),
            }
            used += discard;
            if let Some(end) = end {
                break end;
            }
        };
        self.incoming.clear();
        self.incoming.extend_from_slice(&data[used..]);
        Ok(pumped)
    }

    /// Makes records of plain bytes.
    pub(crate) fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), WireError> {
        let from = wire.len();
        wire.resize(from + plain.len() + RECORD_OVERHEAD * (1 + plain.len() / RECORD_BYTES), 0);
        let written = match self.tls.process_tls_records(&mut self.incoming).state.map_err(failed)? {
            ConnectionState::WriteTraffic(mut traffic) => match traffic.encrypt(plain, &mut wire[from..]) {
                Err(EncryptError::InsufficientSize(size)) => {
                    wire.resize(from + size.required_size, 0);
                    traffic.encrypt(plain, &mut wire[from..])
                }
                written => written,
            },
            state => return Err(WireError::new(format!("TLS cannot send while {state:?}"))),
        };
        let written = written.map_err(|error| WireError::new(format!("TLS: {error}")))?;
        wire.truncate(from + written);
        Ok(())
    }
}

fn failed(error: rustls::Error) -> WireError {
    WireError::new(format!("TLS: {error}"))
}
