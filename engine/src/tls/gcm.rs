//! AES-GCM over content that lies in several places: each is encrypted from where it is to where it is sent from.
//!
//! The AEADs of aws-lc-rs take content in one piece, so what is gathered for a record would have to be copied first.
//! aws-lc's own interface takes pieces, by the same code.

use aws_lc_sys::{
    EVP_CIPHER, EVP_CIPHER_CTX, EVP_CIPHER_CTX_ctrl, EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_new,
    EVP_CTRL_AEAD_GET_TAG, EVP_EncryptFinal_ex, EVP_EncryptInit_ex, EVP_EncryptUpdate, EVP_aes_128_gcm,
    EVP_aes_256_gcm,
};
use std::{
    os::raw::c_int,
    ptr::{NonNull, null, null_mut},
};

/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 12;
/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = 16;

/// aws-lc refused: the memory for a key is missing, or the calls came in a wrong order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused;

/// Content below this is copied together with what stands beside it. A copy fetches what is in no near cache better than
/// encryption does, and then the one call for all of it finds it there: lists of objects of a few kilobytes cost a little
/// less so. Events that were gathered for many watches were written just before, and come in pieces of 16 KiB.
const PIECE_MIN_BYTES: usize = 8 * 1024;

/// Bytes of a cipher block. A call that ends inside one costs a slow path, and makes the next one take it as well.
const BLOCK_BYTES: usize = 16;

/// A key that seals. A message is [`Gcm::begin`], any number of [`Gcm::append`], [`Gcm::finish`].
pub(super) struct Gcm {
    context: NonNull<EVP_CIPHER_CTX>,
    /// Bytes at the end of the output that were copied there, and are to be encrypted where they are.
    plain: usize,
}

// SAFETY: the context is memory of the C library's allocator with no ties to the thread that made it, and is used through
// `&mut` alone.
unsafe impl Send for Gcm {}

impl Gcm {
    /// By a key of 16 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Result<Gcm, Refused> {
        let cipher: *const EVP_CIPHER = match key.len() {
            // SAFETY: it takes nothing, and gives out a static table.
            16 => unsafe { EVP_aes_128_gcm() },
            // SAFETY: as above.
            32 => unsafe { EVP_aes_256_gcm() },
            _ => return Err(Refused),
        };
        // SAFETY: it takes nothing; null where there is no memory.
        let context = NonNull::new(unsafe { EVP_CIPHER_CTX_new() }).ok_or(Refused)?;
        let gcm = Gcm { context, plain: 0 };
        // SAFETY: the context is new and ours; the cipher is static; the key has the length that the cipher reads, and is
        // copied; no engine, no nonce yet.
        check(unsafe { EVP_EncryptInit_ex(context.as_ptr(), cipher, null_mut(), key.as_ptr(), null()) })?;
        Ok(gcm)
    }

    /// Begins a message. A nonce must not be used twice with a key.
    pub(super) fn begin(&mut self, nonce: &[u8; NONCE_BYTES], aad: &[u8]) -> Result<(), Refused> {
        let length = c_int::try_from(aad.len()).map_err(|_| Refused)?;
        let mut taken = 0;
        self.plain = 0;
        // SAFETY: the context has its key; the nonce has the 12 bytes that GCM reads by default.
        check(unsafe {
            EVP_EncryptInit_ex(self.context.as_ptr(), null(), null_mut(), null(), nonce.as_ptr())
        })?;
        // SAFETY: `aad` is live for its length; without an output it is only authenticated, and nothing is written but
        // `taken`.
        check(unsafe {
            EVP_EncryptUpdate(self.context.as_ptr(), null_mut(), &raw mut taken, aad.as_ptr(), length)
        })
    }

    /// Takes the next content to the end of `out`, which must have room for it and be the same for all of a message. What
    /// is at its end may be encrypted only by a later call.
    pub(super) fn append(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), Refused> {
        if out.capacity() - out.len() < content.len() {
            return Err(Refused);
        }
        if content.len() < PIECE_MIN_BYTES {
            self.copy(content, out);
            return Ok(());
        }
        // Whole blocks before it, whole blocks of it, and the rest of it with what comes next.
        let fill = self.plain.next_multiple_of(BLOCK_BYTES) - self.plain;
        let (fill, content) = content.split_at(fill);
        self.copy(fill, out);
        self.encrypt_copied(out)?;
        let (whole, rest) = content.split_at(content.len() & !(BLOCK_BYTES - 1));
        let length = c_int::try_from(whole.len()).map_err(|_| Refused)?;
        let mut made = 0;
        // SAFETY: GCM writes as many bytes as it reads: `length`, of `whole`, which is live, to spare room of `out`, which
        // was seen to be as long, is ours alone, and so does not overlap it.
        check(unsafe {
            EVP_EncryptUpdate(
                self.context.as_ptr(),
                out.spare_capacity_mut().as_mut_ptr().cast(),
                &raw mut made,
                whole.as_ptr(),
                length,
            )
        })?;
        if made != length {
            return Err(Refused);
        }
        // SAFETY: the call above wrote so many bytes behind the old end, within the capacity.
        unsafe { out.set_len(out.len() + whole.len()) };
        self.copy(rest, out);
        Ok(())
    }

    fn copy(&mut self, content: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(content);
        self.plain += content.len();
    }

    /// Encrypts what was copied, where it is.
    fn encrypt_copied(&mut self, out: &mut [u8]) -> Result<(), Refused> {
        let plain = std::mem::take(&mut self.plain);
        let from = out.len().checked_sub(plain).ok_or(Refused)?;
        let length = c_int::try_from(plain).map_err(|_| Refused)?;
        let (place, mut made) = (out[from..].as_mut_ptr(), 0);
        if plain == 0 {
            return Ok(());
        }
        // SAFETY: GCM writes as many bytes as it reads, and takes input and output at the same place: the last `length`
        // bytes of `out`, which are live and ours alone.
        check(unsafe {
            EVP_EncryptUpdate(self.context.as_ptr(), place, &raw mut made, place.cast_const(), length)
        })?;
        if made == length { Ok(()) } else { Err(Refused) }
    }

    /// Ends the message; its tag.
    pub(super) fn finish(&mut self, out: &mut [u8]) -> Result<[u8; TAG_BYTES], Refused> {
        self.encrypt_copied(out)?;
        let mut tag = [0; TAG_BYTES];
        let mut made = 0;
        // SAFETY: GCM keeps no bytes back, so nothing is written to the output but `made`; it has room for a block all the
        // same.
        check(unsafe { EVP_EncryptFinal_ex(self.context.as_ptr(), tag.as_mut_ptr(), &raw mut made) })?;
        // SAFETY: the tag has the 16 bytes that are asked for.
        check(unsafe {
            EVP_CIPHER_CTX_ctrl(
                self.context.as_ptr(),
                EVP_CTRL_AEAD_GET_TAG,
                TAG_BYTES as c_int,
                tag.as_mut_ptr().cast(),
            )
        })?;
        Ok(tag)
    }
}

impl Drop for Gcm {
    fn drop(&mut self) {
        // SAFETY: the context is ours and is not used again; the call wipes the key.
        unsafe { EVP_CIPHER_CTX_free(self.context.as_ptr()) };
    }
}

fn check(result: c_int) -> Result<(), Refused> {
    if result == 1 { Ok(()) } else { Err(Refused) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};

    fn sealed_at_once(key: &[u8], nonce: &[u8; 12], aad: &[u8], content: &[u8]) -> Vec<u8> {
        let algorithm = if key.len() == 16 { &aead::AES_128_GCM } else { &aead::AES_256_GCM };
        let key = LessSafeKey::new(UnboundKey::new(algorithm, key).unwrap());
        let mut sealed = content.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        key.seal_in_place_append_tag(nonce, Aad::from(aad), &mut sealed).unwrap();
        sealed
    }

    #[test]
    fn pieces_make_what_one_piece_makes() {
        let content: Vec<u8> = (0..60_000u32).map(|i| (i / 3) as u8).collect();
        let cuts: [&[usize]; 6] = [
            &[],
            &[1],
            &[15, 16, 17, 33],
            &[9, 10_041, 10_050, 20_000, 20_007, 40_009],
            &[256, 8448, 59_999],
            &[3, 3, 8192, 16_384, 32_768, 49_152],
        ];
        for key in [&[7u8; 16][..], &[9u8; 32]] {
            let mut gcm = Gcm::new(key).unwrap();
            for (number, cuts) in cuts.into_iter().enumerate() {
                let (nonce, aad) = ([number as u8; 12], [23, 3, 3, 1, number as u8]);
                gcm.begin(&nonce, &aad).unwrap();
                let mut out = Vec::with_capacity(content.len());
                let mut from = 0;
                for to in cuts.iter().copied().chain([content.len()]) {
                    gcm.append(&content[from..to], &mut out).unwrap();
                    from = to;
                }
                let tag = gcm.finish(&mut out).unwrap();
                out.extend_from_slice(&tag);
                assert_eq!(out, sealed_at_once(key, &nonce, &aad, &content), "{cuts:?}");
            }
        }
    }

    #[test]
    fn a_message_without_content_has_a_tag() {
        let mut gcm = Gcm::new(&[1; 16]).unwrap();
        gcm.begin(&[2; 12], b"seen").unwrap();
        let tag = gcm.finish(&mut []).unwrap().to_vec();
        assert_eq!(tag, sealed_at_once(&[1; 16], &[2; 12], b"seen", b""));
    }

    #[test]
    fn keys_of_other_lengths_room_that_is_missing_and_a_nonce_used_up_are_refused() {
        assert!(Gcm::new(&[0; 15]).is_err());
        let mut gcm = Gcm::new(&[1; 16]).unwrap();
        let mut out = Vec::new();
        assert_eq!(gcm.append(&[3; 10_000], &mut Vec::with_capacity(10_000)), Err(Refused), "no nonce yet");
        gcm.begin(&[2; 12], b"").unwrap();
        assert_eq!(gcm.append(b"no room", &mut out), Err(Refused));
        gcm.finish(&mut out).unwrap();
        assert_eq!(gcm.append(&[3; 10_000], &mut Vec::with_capacity(10_000)), Err(Refused), "ended");
    }
}
