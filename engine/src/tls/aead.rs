//! The AEADs of records, from the library that is the faster one on this CPU.
//!
//! aws-lc has AES-GCM for AVX-512, and else what CPUs could do before they had vector AES. Many have that without AVX-512
//! (AMD before Zen 4, Intel's client parts): there ring's is more than twice as fast (16 KiB sealed on a Zen 3: 2.4 µs,
//! aws-lc 6.0). Both make the same bytes, so it is a matter of speed alone.

use aws_lc_rs::aead as aws_lc;
#[cfg(target_arch = "x86_64")]
use ring::aead as ring;
use rustls::Error;

/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = 16;

/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 12;

/// An AEAD that TLS uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

/// Which library does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    AwsLc,
    #[cfg(target_arch = "x86_64")]
    Ring,
}

impl Library {
    /// The faster one for an algorithm.
    fn of(algorithm: Algorithm) -> Library {
        #[cfg(target_arch = "x86_64")]
        if algorithm != Algorithm::ChaCha20Poly1305
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("avx2")
            && !is_x86_feature_detected!("avx512bw")
        {
            return Library::Ring;
        }
        let _ = algorithm;
        Library::AwsLc
    }
}

/// A key, ready for use.
pub(super) enum Key {
    AwsLc(aws_lc::LessSafeKey),
    #[cfg(target_arch = "x86_64")]
    Ring(Box<ring::LessSafeKey>),
}

/// The key has not the length of its algorithm's.
fn wrong_length<E>(_: E) -> Error {
    Error::General("a key of another length".to_owned())
}

impl Key {
    /// A key of an algorithm. An error if it has another length.
    pub(super) fn new(algorithm: Algorithm, key: &[u8]) -> Result<Key, Error> {
        Key::with(Library::of(algorithm), algorithm, key)
    }

    /// The same of a library of one's choice.
    pub(super) fn with(library: Library, algorithm: Algorithm, key: &[u8]) -> Result<Key, Error> {
        match library {
            Library::AwsLc => {
                let algorithm = match algorithm {
                    Algorithm::Aes128Gcm => &aws_lc::AES_128_GCM,
                    Algorithm::Aes256Gcm => &aws_lc::AES_256_GCM,
                    Algorithm::ChaCha20Poly1305 => &aws_lc::CHACHA20_POLY1305,
                };
                let key = aws_lc::UnboundKey::new(algorithm, key).map_err(wrong_length)?;
                Ok(Key::AwsLc(aws_lc::LessSafeKey::new(key)))
            }
            #[cfg(target_arch = "x86_64")]
            Library::Ring => {
                let algorithm = match algorithm {
                    Algorithm::Aes128Gcm => &ring::AES_128_GCM,
                    Algorithm::Aes256Gcm => &ring::AES_256_GCM,
                    Algorithm::ChaCha20Poly1305 => &ring::CHACHA20_POLY1305,
                };
                let key = ring::UnboundKey::new(algorithm, key).map_err(wrong_length)?;
                Ok(Key::Ring(Box::new(ring::LessSafeKey::new(key))))
            }
        }
    }

    /// Encrypts in place; the tag. A nonce may be used once.
    pub(super) fn seal(
        &self,
        nonce: [u8; NONCE_BYTES],
        beside: &[u8],
        content: &mut [u8],
    ) -> Result<[u8; TAG_BYTES], Error> {
        let mut tag = [0; TAG_BYTES];
        match self {
            Key::AwsLc(key) => {
                let nonce = aws_lc::Nonce::assume_unique_for_key(nonce);
                let made = key.seal_in_place_separate_tag(nonce, aws_lc::Aad::from(beside), content);
                tag.copy_from_slice(made.map_err(|_| Error::EncryptError)?.as_ref());
            }
            #[cfg(target_arch = "x86_64")]
            Key::Ring(key) => {
                let nonce = ring::Nonce::assume_unique_for_key(nonce);
                let made = key.seal_in_place_separate_tag(nonce, ring::Aad::from(beside), content);
                tag.copy_from_slice(made.map_err(|_| Error::EncryptError)?.as_ref());
            }
        }
        Ok(tag)
    }

    /// Decrypts content and tag in place; the content, or nothing if it is not what was sealed.
    pub(super) fn open<'c>(
        &self,
        nonce: [u8; NONCE_BYTES],
        beside: &[u8],
        content: &'c mut [u8],
    ) -> Option<&'c mut [u8]> {
        match self {
            Key::AwsLc(key) => {
                let nonce = aws_lc::Nonce::assume_unique_for_key(nonce);
                key.open_in_place(nonce, aws_lc::Aad::from(beside), content).ok()
            }
            #[cfg(target_arch = "x86_64")]
            Key::Ring(key) => {
                let nonce = ring::Nonce::assume_unique_for_key(nonce);
                key.open_in_place(nonce, ring::Aad::from(beside), content).ok()
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn both_libraries_make_the_same_and_open_each_others() {
        for (algorithm, bytes) in
            [(Algorithm::Aes128Gcm, 16), (Algorithm::Aes256Gcm, 32), (Algorithm::ChaCha20Poly1305, 32)]
        {
            let secret = vec![7; bytes];
            let keys = [Library::AwsLc, Library::Ring]
                .map(|library| Key::with(library, algorithm, &secret).expect("a key of that length"));
            for library in [Library::AwsLc, Library::Ring] {
                assert!(Key::with(library, algorithm, &secret[1..]).is_err());
            }
            // Around the widths of the vectors, and a full record.
            for length in (0..300).chain([1023, 16_384, 16_385]) {
                let content: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
                let nonce = [length as u8; NONCE_BYTES];
                let [ours, theirs] = [&keys[0], &keys[1]].map(|key| {
                    let mut sealed = content.clone();
                    let tag = key.seal(nonce, b"beside", &mut sealed).expect("room");
                    sealed.extend_from_slice(&tag);
                    sealed
                });
                assert_eq!(ours, theirs, "{algorithm:?} {length}");
                for key in &keys {
                    let mut sealed = ours.clone();
                    assert_eq!(key.open(nonce, b"beside", &mut sealed), Some(&mut content.clone()[..]));
                    let mut wrong = ours.clone();
                    wrong[length / 2] ^= 1;
                    assert_eq!(key.open(nonce, b"beside", &mut wrong), None);
                    assert_eq!(key.open(nonce, b"besides", &mut ours.clone()), None);
                    assert_eq!(key.open(nonce, b"beside", &mut [1; TAG_BYTES - 1]), None);
                }
            }
        }
    }
}
