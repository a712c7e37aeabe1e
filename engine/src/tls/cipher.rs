//! The protection of TLS records in one direction: a key, a sequence number, and how the version frames them
//! (RFC 8446 section 5.2, RFC 5246 section 6.2.3.3 with RFC 5288 and RFC 7905).

use super::aead::{Algorithm, Key, TAG_BYTES};
use rustls::{ConnectionTrafficSecrets, Error};

/// Bytes of a record's header.
pub(super) const HEADER_BYTES: usize = 5;

/// Content type of application data.
pub(super) const APPLICATION_DATA: u8 = 23;

/// How a version and a suite lay out a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// TLS 1.3: the content type is encrypted, behind the content.
    Tls13,
    /// TLS 1.2 with AES-GCM: eight bytes of the nonce stand in front of the content.
    Tls12Explicit,
    /// TLS 1.2 with ChaCha20-Poly1305: as 1.3 makes nonces.
    Tls12,
}

/// Why a record could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    /// It was changed on the way, or is not of this place in the stream.
    BadMac,
    /// The content has no type.
    NoType,
}

/// A direction's protection.
pub(super) struct Cipher {
    key: Key,
    iv: [u8; 12],
    sequence: u64,
    layout: Layout,
}

impl Cipher {
    /// The protection by extracted secrets, from a sequence number on.
    pub(super) fn new(
        tls13: bool,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
    ) -> Result<Cipher, Error> {
        let (algorithm, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (Algorithm::Aes128Gcm, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (Algorithm::Aes256Gcm, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (Algorithm::ChaCha20Poly1305, key, iv),
            _ => return Err(Error::General("a cipher suite that has no records here".to_owned())),
        };
        let layout = match (tls13, algorithm) {
            (true, _) => Layout::Tls13,
            (false, Algorithm::Aes128Gcm | Algorithm::Aes256Gcm) => Layout::Tls12Explicit,
            (false, Algorithm::ChaCha20Poly1305) => Layout::Tls12,
        };
        let iv = iv.as_ref().try_into().map_err(|_| Error::General("an IV of another length".to_owned()))?;
        Self::with_key(algorithm, key.as_ref(), iv, sequence, layout)
    }

    pub(super) fn with_key(
        algorithm: Algorithm,
        key: &[u8],
        iv: [u8; 12],
        sequence: u64,
        layout: Layout,
    ) -> Result<Cipher, Error> {
        Ok(Cipher { key: Key::new(algorithm, key)?, iv, sequence, layout })
    }

    /// The number of the next record.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The nonce of RFC 8446 section 5.3.
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        nonce
    }

    /// What TLS 1.2 protects beside the content: `header` tells type and version.
    fn tls12_aad(&self, header: [u8; HEADER_BYTES], content: usize) -> [u8; 13] {
        let mut aad = [0; 13];
        aad[..8].copy_from_slice(&self.sequence.to_be_bytes());
        aad[8..11].copy_from_slice(&header[..3]);
        aad[11..].copy_from_slice(&(content as u16).to_be_bytes());
        aad
    }

    /// Appends the room of what stands before a record's content. The content goes behind it, then [`Cipher::seal`].
    pub(super) fn begin(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(&[0; HEADER_BYTES]);
        if self.layout == Layout::Tls12Explicit {
            record.extend_from_slice(&self.nonce()[4..]);
        }
    }

    /// Makes a record of what lies behind `from`, where [`Cipher::begin`] was called and up to 2^14 bytes were added.
    pub(super) fn seal(&mut self, ty: u8, record: &mut Vec<u8>, from: usize) -> Result<(), Error> {
        let (outer, at) = match self.layout {
            Layout::Tls13 => {
                record.push(ty);
                (APPLICATION_DATA, from + HEADER_BYTES)
            }
            Layout::Tls12Explicit => (ty, from + HEADER_BYTES + 8),
            Layout::Tls12 => (ty, from + HEADER_BYTES),
        };
        let length = (record.len() - from - HEADER_BYTES + TAG_BYTES) as u16;
        let [high, low] = length.to_be_bytes();
        let header = [outer, 3, 3, high, low];
        record[from..from + HEADER_BYTES].copy_from_slice(&header);
        let content = record.len() - at;
        let tag = match self.layout {
            Layout::Tls13 => self.key.seal(self.nonce(), &header, &mut record[at..])?,
            Layout::Tls12Explicit | Layout::Tls12 => {
                let aad = self.tls12_aad(header, content);
                self.key.seal(self.nonce(), &aad, &mut record[at..])?
            }
        };
        record.extend_from_slice(&tag);
        // A nonce is used once: whoever seals sees to new keys long before the numbers end.
        self.sequence = self.sequence.checked_add(1).ok_or(Error::EncryptError)?;
        Ok(())
    }

    /// Opens a whole record in place; its content type and its content.
    pub(super) fn open<'r>(&mut self, record: &'r mut [u8]) -> Result<(u8, &'r mut [u8]), Unopened> {
        let Some((header, body)) = record.split_first_chunk_mut::<HEADER_BYTES>() else {
            return Err(Unopened::BadMac);
        };
        let header = *header;
        let content = match self.layout {
            Layout::Tls13 => self.key.open(self.nonce(), &header, body),
            Layout::Tls12Explicit => {
                let Some((explicit, body)) = body.split_first_chunk_mut::<8>() else {
                    return Err(Unopened::BadMac);
                };
                let Some(length) = body.len().checked_sub(TAG_BYTES) else { return Err(Unopened::BadMac) };
                let mut nonce = self.iv;
                nonce[4..].copy_from_slice(explicit);
                self.key.open(nonce, &self.tls12_aad(header, length), body)
            }
            Layout::Tls12 => {
                let Some(length) = body.len().checked_sub(TAG_BYTES) else { return Err(Unopened::BadMac) };
                self.key.open(self.nonce(), &self.tls12_aad(header, length), body)
            }
        };
        let content = content.ok_or(Unopened::BadMac)?;
        self.sequence = self.sequence.checked_add(1).ok_or(Unopened::BadMac)?;
        if self.layout != Layout::Tls13 {
            return Ok((header[0], content));
        }
        // Behind the content stands its type, and behind that, zeroes.
        match content.iter().rposition(|byte| *byte != 0) {
            Some(at) => Ok((content[at], &mut content[..at])),
            None => Err(Unopened::NoType),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn aes_128(key: &str, iv: &str, sequence: u64) -> Cipher {
        let iv = bytes(iv).try_into().unwrap();
        Cipher::with_key(Algorithm::Aes128Gcm, &bytes(key), iv, sequence, Layout::Tls13).unwrap()
    }

    fn sealed(cipher: &mut Cipher, ty: u8, content: &[u8]) -> Vec<u8> {
        let mut record = b"before".to_vec();
        cipher.begin(&mut record);
        record.extend_from_slice(content);
        cipher.seal(ty, &mut record, 6).unwrap();
        assert_eq!(&record[..6], b"before");
        record.split_off(6)
    }

    /// RFC 8448 section 3: application data and alerts of both sides.
    #[test]
    fn records_of_rfc_8448() {
        let content: Vec<u8> = (0..50).collect();
        let server = "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa 1b 36 \
                      e3 0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 32 54 \
                      0d d0 32 e1 67 c2 95 5d";
        let client = "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab 3f \
                      2b 98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6 \
                      3a ee bb 21 69 49 15 e4";
        let server_alert = "17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9";
        let client_alert = "17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3";
        let server_key = "9f 02 28 3b 6c 9c 07 ef c2 6b b9 f2 ac 92 e3 56";
        let server_iv = "cf 78 2b 88 dd 83 54 9a ad f1 e9 84";
        let client_key = "17 42 2d da 59 6e d5 d9 ac d8 90 e3 c6 3f 50 51";
        let client_iv = "5b 78 92 3d ee 08 57 90 33 e5 23 d9";
        for (key, iv, first, data, alert) in [
            // The server's first record under these keys is a ticket.
            (server_key, server_iv, 1, server, server_alert),
            (client_key, client_iv, 0, client, client_alert),
        ] {
            let mut cipher = aes_128(key, iv, first);
            assert_eq!(sealed(&mut cipher, APPLICATION_DATA, &content), bytes(data));
            assert_eq!(sealed(&mut cipher, 21, &[1, 0]), bytes(alert));
            assert_eq!(cipher.sequence(), first + 2);

            let mut cipher = aes_128(key, iv, first);
            assert_eq!(cipher.open(&mut bytes(data)), Ok((APPLICATION_DATA, &mut content.clone()[..])));
            assert_eq!(cipher.open(&mut bytes(alert)), Ok((21, &mut [1, 0][..])));
        }
    }

    #[test]
    fn every_layout_there_and_back_and_nothing_else() {
        for (algorithm, key) in
            [(Algorithm::Aes128Gcm, 16), (Algorithm::Aes256Gcm, 32), (Algorithm::ChaCha20Poly1305, 32)]
        {
            for layout in [Layout::Tls13, Layout::Tls12Explicit, Layout::Tls12] {
                let cipher = || {
                    let key = vec![7; key];
                    Cipher::with_key(algorithm, &key, *b"twelve bytes", u64::from(u32::MAX), layout).unwrap()
                };
                let (mut ours, mut theirs) = (cipher(), cipher());
                for length in [0, 1, 100, 16384] {
                    let content: Vec<u8> = (0..length).map(|i| i as u8 | 1).collect();
                    let mut record = sealed(&mut ours, APPLICATION_DATA, &content);
                    assert_eq!(record.len() - 5, usize::from(record[3]) * 256 + usize::from(record[4]));
                    for at in [1, record.len() / 2, record.len() - 1] {
                        // The place counts as well: a failed try must not move on.
                        let mut wrong = record.clone();
                        wrong[at] ^= 1;
                        assert_eq!(theirs.open(&mut wrong), Err(Unopened::BadMac), "{layout:?} {at}");
                    }
                    for cut in [0, 4, 5, 12, 20] {
                        let cut = cut.min(record.len() - 1);
                        assert_eq!(theirs.open(&mut record[..cut].to_vec()), Err(Unopened::BadMac));
                    }
                    assert_eq!(
                        theirs.open(&mut record.clone()),
                        Ok((APPLICATION_DATA, &mut content.clone()[..]))
                    );
                    assert_eq!(theirs.open(&mut record), Err(Unopened::BadMac), "a record counts once");
                }
                let skipped = sealed(&mut ours, APPLICATION_DATA, b"lost");
                let mut next = sealed(&mut ours, APPLICATION_DATA, b"next");
                assert_eq!(theirs.open(&mut next), Err(Unopened::BadMac));
                assert!(skipped != next);
            }
        }
    }

    #[test]
    fn padding_is_taken_off_and_padding_alone_refused() {
        let cipher = || aes_128("00112233445566778899aabbccddeeff", "000102030405060708090a0b", 0);
        let (mut ours, mut theirs) = (cipher(), cipher());
        // Sealed as if the last zero were the type: all of it is then content, type and padding.
        for (inner, expect) in [
            (&b"data\x17\0\0"[..], Ok((APPLICATION_DATA, b"data".to_vec()))),
            (b"\x15\0\0", Ok((21, Vec::new()))),
            (b"\0\0\0", Err(Unopened::NoType)),
            (b"", Err(Unopened::NoType)),
        ] {
            let mut record = sealed(&mut ours, 0, inner);
            let opened = theirs.open(&mut record).map(|(ty, content)| (ty, content.to_vec()));
            assert_eq!(opened, expect);
        }
    }
}
