//! The public key of a certificate, read from its DER and nothing else of it believed.
//!
//! webpki reads certificates of version 3 only, and those `openssl x509 -req` makes without an extension file are of
//! version 1. Up to the key the two differ by the version field alone (RFC 5280, section 4.1).

use rustls_pki_types::SubjectPublicKeyInfoDer;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;
/// `[0]`, constructed: the version, where it is not 1.
const VERSION: u8 = 0xa0;

/// What a certificate says of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey<'c> {
    /// The whole `SubjectPublicKeyInfo`.
    info: &'c [u8],
    /// Content of its `AlgorithmIdentifier`.
    pub(crate) algorithm: &'c [u8],
    /// The key's own bits.
    pub(crate) key: &'c [u8],
}

impl<'c> PublicKey<'c> {
    /// Reads the key of a certificate; `None` where the fields before it are not laid out as a certificate's, or
    /// anything but fields follows.
    pub(crate) fn of_certificate(der: &'c [u8]) -> Option<PublicKey<'c>> {
        let mut outer = Reader(der);
        let mut certificate = outer.content(SEQUENCE)?;
        outer.end()?;
        let mut fields = certificate.content(SEQUENCE)?;
        if fields.0.first() == Some(&VERSION) {
            fields.content(VERSION)?;
        }
        fields.content(INTEGER)?; // serial number
        fields.content(SEQUENCE)?; // signature algorithm
        fields.content(SEQUENCE)?; // issuer
        fields.content(SEQUENCE)?; // validity
        fields.content(SEQUENCE)?; // subject
        let info = fields.whole(SEQUENCE)?;
        certificate.content(SEQUENCE)?; // signature algorithm, again
        certificate.content(BIT_STRING)?; // signature
        certificate.end()?;
        let mut parts = Reader(info).content(SEQUENCE)?;
        let algorithm = parts.content(SEQUENCE)?.0;
        let bits = parts.content(BIT_STRING)?.0;
        parts.end()?;
        // Keys are whole bytes: no bit of the last is unused.
        let key = bits.strip_prefix(&[0])?;
        Some(PublicKey { info, algorithm, key })
    }

    /// The whole `SubjectPublicKeyInfo`.
    pub(crate) fn info(&self) -> SubjectPublicKeyInfoDer<'c> {
        SubjectPublicKeyInfoDer::from(self.info)
    }
}

/// Takes DER values off the front of some bytes.
struct Reader<'c>(&'c [u8]);

impl<'c> Reader<'c> {
    /// The content of the next value, which must have this tag.
    fn content(&mut self, tag: u8) -> Option<Reader<'c>> {
        let (content, rest) = split(self.0, tag)?;
        self.0 = rest;
        Some(Reader(content))
    }

    /// The next value with its tag and length.
    fn whole(&mut self, tag: u8) -> Option<&'c [u8]> {
        let before = self.0;
        self.content(tag)?;
        before.get(..before.len() - self.0.len())
    }

    /// Something only where nothing is left.
    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// Content and what follows of a value with this tag. Lengths are definite and as short as can be (X.690, 10.1).
fn split(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    if first < 0x80 {
        return rest.split_at_checked(usize::from(first));
    }
    let count = usize::from(first & 0x7f);
    // Three bytes are 16 MiB, as much as a TLS handshake message can hold.
    if !(1..=3).contains(&count) {
        return None;
    }
    let (digits, rest) = rest.split_at_checked(count)?;
    let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
    if digits[0] == 0 || length < 0x80 {
        return None;
    }
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_split() {
        let check = |bytes: &[u8], expect: Option<(&[u8], &[u8])>| {
            assert_eq!(split(bytes, SEQUENCE), expect, "{bytes:x?}");
        };
        check(b"", None);
        check(b"\x30", None);
        check(b"\x30\x00", Some((b"", b"")));
        check(b"\x30\x01a", Some((b"a", b"")));
        check(b"\x30\x01ab", Some((b"a", b"b")));
        check(b"\x30\x02a", None);
        check(b"\x31\x01a", None);
        check(b"\x30\x80a\0\0", None);
        check(b"\x30\x81", None);
        check(b"\x30\x81\x01a", None);
        check(b"\x30\x82\x00\x80", None);
        check(b"\x30\x84\x00\x00\x00\x01a", None);
        check(b"\x30\xff\xff\xff\xff", None);
        check(b"\x30\x83\xff\xff\xffa", None);
        let mut long = b"\x30\x81\x80".to_vec();
        long.extend([7; 0x81]);
        check(&long, Some((&[7; 0x80], &[7])));
        let mut longer = b"\x30\x82\x01\x00".to_vec();
        longer.extend([7; 0x100]);
        check(&longer, Some((&[7; 0x100], b"")));
    }

    fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        assert!(content.len() < 0x80, "short lengths do here");
        [&[tag, content.len() as u8], &content[..]].concat()
    }

    /// A certificate with the key `k` of the algorithm `a`, in front of whose other fields goes `version`.
    fn certificate(version: &[u8], key: &[u8], after: &[u8]) -> Vec<u8> {
        let key = value(SEQUENCE, &[&value(SEQUENCE, &[b"a"]), &value(BIT_STRING, &[key])]);
        let empty = value(SEQUENCE, &[]);
        let fields = value(
            SEQUENCE,
            &[version, &value(INTEGER, &[b"\x01"]), &empty, &empty, &empty, &empty, &key, after],
        );
        value(SEQUENCE, &[&fields, &empty, &value(BIT_STRING, &[b"\0s"])])
    }

    #[test]
    fn keys_of_certificates() {
        let check = |der: &[u8], expect: Option<(&[u8], &[u8])>| {
            let found = PublicKey::of_certificate(der);
            assert_eq!(found.map(|key| (key.algorithm, key.key)), expect, "{der:x?}");
        };
        let good = certificate(b"", b"\0k", b"");
        check(&good, Some((b"a", b"k")));
        let version_3 = value(VERSION, &[&value(INTEGER, &[b"\x02"])]);
        check(&certificate(&version_3, b"\0k", &value(0xa3, &[b"any"])), Some((b"a", b"k")));
        check(&certificate(b"", b"\x01k", b""), None);
        check(&certificate(b"", b"", b""), None);
        check(&certificate(b"\x30\x00", b"\0k", b""), None);
        check(&[&good[..], b"x"].concat(), None);
        for end in 0..good.len() {
            check(&good[..end], None);
        }
    }

    /// Any bit may be turned: nothing panics, and what is found lies within.
    #[test]
    fn turned_bits() {
        let made = rcgen::generate_simple_self_signed(vec!["name".to_owned()]).unwrap();
        let der = made.cert.der().to_vec();
        assert!(PublicKey::of_certificate(&der).is_some());
        let mut read = 0;
        for bit in 0..der.len() * 8 {
            let mut turned = der.clone();
            turned[bit / 8] ^= 1 << (bit % 8);
            read += usize::from(PublicKey::of_certificate(&turned).is_some());
        }
        assert!(read > 0 && read < der.len() * 8);
    }
}
