//! A connection's records after its handshake: what peers say to each other then, by RFC 8446 sections 4.6.3, 5 and 6
//! and, for TLS 1.2, RFC 5246 sections 6 and 7.2.
//!
//! rustls makes the handshake and keeps the secrets that new keys come from. The records are made here, because they
//! can then be built where they are sent from: content is copied once, into the memory it is encrypted in.

use super::cipher::{APPLICATION_DATA, Cipher, HEADER_BYTES, Unopened};
use crate::limits::{TLS_KEY_UPDATES_MAX, TLS_RECORD_PLAIN_BYTES, TLS_WARNINGS_MAX};
use bytes::Bytes;
use rustls::{
    Error, ExtractedSecrets, ProtocolVersion, SupportedCipherSuite, kernel::KernelConnection,
    server::ServerConnectionData,
};

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

const CLIENT_HELLO: u8 = 1;
const KEY_UPDATE: u8 = 24;

const WARNING: u8 = 1;
const FATAL: u8 = 2;

const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// Why the records of a peer cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A record that is not from the peer, or not at its place.
    BadRecordMac,
    /// A record longer than records are.
    RecordOverflow,
    /// Something that does not belong here.
    UnexpectedMessage,
    /// Something that cannot be parsed.
    DecodeError,
    /// Something with a value that there is none of.
    IllegalParameter,
    /// The peer wants another handshake.
    Renegotiation,
    /// The peer gave up; its reason.
    Alert(#[allow(dead_code, reason = "for the log")] u8),
}

impl Fault {
    /// The alert that tells the peer: level and description.
    fn alert(self) -> Option<[u8; 2]> {
        Some(match self {
            Fault::BadRecordMac => [FATAL, 20],
            Fault::RecordOverflow => [FATAL, 22],
            Fault::UnexpectedMessage => [FATAL, 10],
            Fault::DecodeError => [FATAL, 50],
            Fault::IllegalParameter => [FATAL, 47],
            // As Go's server answers, before it closes.
            Fault::Renegotiation => [WARNING, 100],
            Fault::Alert(_) => return None,
        })
    }
}

/// How a pump over records ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// All whole records were used.
    All,
    /// The sink wants no more for now.
    Stopped,
    /// The peer sends no more.
    PeerClosed,
}

/// The records of a connection.
pub(super) struct Records {
    kernel: KernelConnection<ServerConnectionData>,
    tls13: bool,
    sealing: Cipher,
    opening: Cipher,
    /// Records that one key may make.
    sealed_max: u64,
    /// A handshake message of which more is to come.
    partial: Vec<u8>,
    /// Key updates since the last application data, and warnings so far.
    updates: u8,
    warnings: u8,
    /// Own keys are fresh: nothing was sent with them, so a further request for new ones is answered already.
    fresh: bool,
    peer_closed: bool,
}

impl Records {
    pub(super) fn new(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<ServerConnectionData>,
    ) -> Result<Records, Error> {
        let tls13 = kernel.protocol_version() == ProtocolVersion::TLSv1_3;
        let sealed_max = match kernel.negotiated_cipher_suite() {
            SupportedCipherSuite::Tls12(suite) => suite.common.confidentiality_limit,
            SupportedCipherSuite::Tls13(suite) => suite.common.confidentiality_limit,
        };
        Ok(Records {
            kernel,
            tls13,
            sealing: Cipher::new(tls13, secrets.tx)?,
            opening: Cipher::new(tls13, secrets.rx)?,
            // Room for an update of the keys, or for the end, and far from where the numbers end.
            sealed_max: sealed_max.min(u64::MAX >> 1) - 8,
            partial: Vec::new(),
            updates: 0,
            warnings: 0,
            fresh: false,
            peer_closed: false,
        })
    }

    // ---- out ----

    /// Appends the room of what stands before a record's content.
    pub(super) fn begin(&self, record: &mut Vec<u8>) {
        self.sealing.begin(record);
    }

    /// Makes a record of application data of what lies behind `from`.
    pub(super) fn seal(&mut self, record: &mut Vec<u8>, from: usize) -> Result<(), Error> {
        self.fresh = false;
        self.sealing.seal(APPLICATION_DATA, record, from)
    }

    /// What must be sent before further application data: news of new keys, when the old ones are worn. An error where
    /// the version has none and the connection must end.
    pub(super) fn renew(&mut self) -> Result<Option<Bytes>, Error> {
        if self.sealing.sequence() < self.sealed_max {
            return Ok(None);
        }
        if !self.tls13 {
            return Err(Error::EncryptError);
        }
        self.update_own().map(Some)
    }

    /// The end of all application data.
    pub(super) fn close_notify(&mut self) -> Result<Bytes, Error> {
        self.message(ALERT, &[WARNING, CLOSE_NOTIFY])
    }

    fn message(&mut self, ty: u8, content: &[u8]) -> Result<Bytes, Error> {
        let mut record = Vec::with_capacity(HEADER_BYTES + content.len() + 32);
        self.sealing.begin(&mut record);
        record.extend_from_slice(content);
        self.sealing.seal(ty, &mut record, 0)?;
        Ok(Bytes::from(record))
    }

    /// Tells the peer of new keys, and seals with those from here on.
    fn update_own(&mut self) -> Result<Bytes, Error> {
        // Not asking for the peer's: it knows best when its own are worn.
        let told = self.message(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0])?;
        self.sealing = Cipher::new(true, self.kernel.update_tx_secret()?)?;
        Ok(told)
    }

    // ---- in ----

    /// Uses whole records, which are overwritten; how many bytes they were. What must be answered goes to `answers`, an
    /// alert among it.
    pub(super) fn pump(
        &mut self,
        data: &mut [u8],
        answers: &mut Vec<Bytes>,
        sink: &mut dyn FnMut(&[u8]) -> bool,
    ) -> (usize, Result<Opened, Fault>) {
        let mut used = 0;
        if self.peer_closed {
            // What comes behind the end counts for nothing.
            return (data.len(), Ok(Opened::PeerClosed));
        }
        loop {
            let record = match self.cut(&mut data[used..]) {
                Ok(Some(record)) => record,
                Ok(None) => return (used, Ok(Opened::All)),
                Err(fault) => return (used, Err(self.fail(fault, answers))),
            };
            used += record.len();
            match self.record(record, answers, sink) {
                Ok(Opened::All) => {}
                Ok(Opened::PeerClosed) => {
                    self.peer_closed = true;
                    return (data.len(), Ok(Opened::PeerClosed));
                }
                Ok(Opened::Stopped) => return (used, Ok(Opened::Stopped)),
                Err(fault) => return (used, Err(self.fail(fault, answers))),
            }
        }
    }

    fn fail(&mut self, fault: Fault, answers: &mut Vec<Bytes>) -> Fault {
        if let Some(alert) = fault.alert()
            && let Ok(alert) = self.message(ALERT, &alert)
        {
            answers.push(alert);
        }
        fault
    }

    /// The record at the front, once it is whole.
    fn cut<'d>(&self, data: &'d mut [u8]) -> Result<Option<&'d mut [u8]>, Fault> {
        let Some([ty, _, _, high, low]) = data.first_chunk().copied() else { return Ok(None) };
        let expansion = if self.tls13 { 256 } else { 2048 };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let known =
            if self.tls13 { ty == APPLICATION_DATA } else { (ALERT..=APPLICATION_DATA).contains(&ty) };
        if !known {
            return Err(match ty {
                CHANGE_CIPHER_SPEC..=HANDSHAKE => Fault::UnexpectedMessage,
                _ => Fault::DecodeError,
            });
        }
        if length > TLS_RECORD_PLAIN_BYTES + expansion {
            return Err(Fault::RecordOverflow);
        }
        Ok(data.get_mut(..HEADER_BYTES + length))
    }

    fn record(
        &mut self,
        record: &mut [u8],
        answers: &mut Vec<Bytes>,
        sink: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Opened, Fault> {
        let (ty, content) = self.opening.open(record).map_err(|why| match why {
            Unopened::BadMac => Fault::BadRecordMac,
            Unopened::NoType => Fault::UnexpectedMessage,
        })?;
        if content.len() > TLS_RECORD_PLAIN_BYTES {
            return Err(Fault::RecordOverflow);
        }
        if !self.partial.is_empty() && ty != HANDSHAKE {
            // Messages that are cut are not parted by others.
            return Err(Fault::UnexpectedMessage);
        }
        match ty {
            APPLICATION_DATA if content.is_empty() => Ok(Opened::All),
            APPLICATION_DATA => {
                self.updates = 0;
                Ok(if sink(content) { Opened::All } else { Opened::Stopped })
            }
            ALERT => self.alert(content),
            HANDSHAKE if !self.tls13 => Err(match content.first() {
                Some(&CLIENT_HELLO) => Fault::Renegotiation,
                _ => Fault::UnexpectedMessage,
            }),
            HANDSHAKE => self.handshake(content, answers),
            _ => Err(Fault::UnexpectedMessage),
        }
    }

    fn alert(&mut self, content: &[u8]) -> Result<Opened, Fault> {
        match *content {
            [WARNING | FATAL, CLOSE_NOTIFY] => Ok(Opened::PeerClosed),
            // TLS 1.3 has no warnings but these two; a few of TLS 1.2 are let pass.
            [WARNING, description] if description == USER_CANCELED || !self.tls13 => {
                self.warnings += 1;
                if self.warnings > TLS_WARNINGS_MAX {
                    return Err(Fault::UnexpectedMessage);
                }
                Ok(Opened::All)
            }
            [WARNING, _] => Err(Fault::DecodeError),
            [FATAL, description] => Err(Fault::Alert(description)),
            [_, _] => Err(Fault::IllegalParameter),
            [] => Err(Fault::UnexpectedMessage),
            _ => Err(Fault::DecodeError),
        }
    }

    /// A message of TLS 1.3: clients send none but KeyUpdate then.
    fn handshake(&mut self, content: &[u8], answers: &mut Vec<Bytes>) -> Result<Opened, Fault> {
        if content.is_empty() {
            return Err(Fault::UnexpectedMessage);
        }
        // One byte more than the message has, to see that there is more.
        let room = 6 - self.partial.len();
        self.partial.extend_from_slice(&content[..content.len().min(room)]);
        let request = match *self.partial {
            [ty, ..] if ty != KEY_UPDATE => return Err(Fault::UnexpectedMessage),
            [_, a, b, c, ..] if [a, b, c] != [0, 0, 1] => return Err(Fault::DecodeError),
            [_, _, _, _, request] => request,
            // The keys change behind it, so nothing may follow in the record.
            [_, _, _, _, _, ..] => return Err(Fault::UnexpectedMessage),
            _ => return Ok(Opened::All),
        };
        self.partial = Vec::new();
        if request > 1 {
            return Err(Fault::IllegalParameter);
        }
        self.updates += 1;
        if self.updates > TLS_KEY_UPDATES_MAX {
            return Err(Fault::UnexpectedMessage);
        }
        let renewed = self.kernel.update_rx_secret().and_then(|secrets| Cipher::new(true, secrets));
        self.opening = renewed.map_err(|_| Fault::BadRecordMac)?;
        if request == 1 && !self.fresh {
            answers.push(self.update_own().map_err(|_| Fault::BadRecordMac)?);
            self.fresh = true;
        }
        Ok(Opened::All)
    }

    #[cfg(test)]
    pub(super) fn wear_keys_out(&mut self, records_left: u64) {
        self.sealed_max = self.sealing.sequence() + records_left;
    }

    /// Records made with the present keys.
    #[cfg(test)]
    pub(super) fn sealed(&self) -> u64 {
        self.sealing.sequence()
    }
}
