//! Hashes of names: quick, not the same in any two processes, and never trusted without a look at the name itself.

const FOLD: u64 = 0x9e37_79b9_7f4a_7c15;
const TAIL: u64 = 0xc2b2_ae3d_27d4_eb4f;
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

use std::hash::{BuildHasher, Hasher};

/// What hashes start from. Who may bind roles in a namespace of his own chooses names of subjects: he must not be able
/// to choose ones that all fall into one place. Nor may who makes pods, whose secrets' names are his.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(u64);

impl Default for Seed {
    fn default() -> Seed {
        Seed::new()
    }
}

impl BuildHasher for Seed {
    type Hasher = Names;

    fn build_hasher(&self) -> Names {
        Names { seed: *self, hash: 0 }
    }
}

/// What maps of names hash by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    seed: Seed,
    hash: u64,
}

impl Hasher for Names {
    fn write(&mut self, bytes: &[u8]) {
        self.hash = self.seed.pair(self.hash, self.seed.bytes(bytes));
    }

    // The length of what follows, or the end of a text: `bytes` counts them.
    fn write_usize(&mut self, _: usize) {}

    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        self.hash
    }
}

impl Seed {
    /// A new one. Where the system has no random bytes the address space's own randomness has to do.
    pub(super) fn new() -> Seed {
        let of_memory = std::ptr::from_ref(&FOLD).addr() as u64;
        Seed(getrandom::u64().unwrap_or(of_memory))
    }
    /// One that is the same in every process.
    pub(super) fn fixed(seed: u64) -> Seed {
        Seed(seed)
    }
    /// Of a name.
    pub(super) fn text(self, text: &str) -> u64 {
        self.bytes(text.as_bytes())
    }
    /// Of bytes.
    fn bytes(self, bytes: &[u8]) -> u64 {
        let mut hash = self.0 ^ (bytes.len() as u64).wrapping_mul(TAIL);
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let word = word.try_into().map_or(0, u64::from_le_bytes);
            hash = fold(hash ^ word, FOLD);
        }
        let tail = words.remainder().iter().fold(0, |tail, byte| tail << 8 | u64::from(*byte));
        fold(hash ^ tail, TAIL)
    }
    /// Of two hashes together.
    pub(super) fn pair(self, first: u64, second: u64) -> u64 {
        fold(first ^ self.0, second.rotate_left(32) ^ FOLD)
    }
}

/// A product's halves onto each other: every bit of either factor reaches every bit of it.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// A hash of bytes that come in pieces: `pods` + `/` + `log` is `pods/log`.
#[derive(Clone, Copy)]
pub(super) struct Pieces(u64);

impl Pieces {
    /// Of nothing yet.
    pub(super) fn new() -> Pieces {
        Pieces(FNV_OFFSET)
    }
    /// With a piece more.
    pub(super) fn with(self, piece: &str) -> Pieces {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        Pieces(piece.bytes().fold(self.0, step))
    }
    /// The hash.
    pub(super) fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_differ() {
        let seed = Seed::new();
        let names: Vec<String> = (0..20_000).map(|n| format!("user-{n}")).collect();
        let hashes: HashSet<u64> = names.iter().map(|name| seed.text(name)).collect();
        assert_eq!(hashes.len(), names.len());
        // Lengths count, and so does what is behind the last whole word.
        let alike = ["", "\0", "12345678", "12345678\0", "12345678\0\0", "123456789"];
        assert_eq!(alike.iter().map(|name| seed.text(name)).collect::<HashSet<_>>().len(), alike.len());
        assert_ne!(seed.pair(1, 2), seed.pair(2, 1));
        let mapped: HashSet<u64> = names.iter().map(|name| seed.hash_one(name.as_str())).collect();
        assert_eq!(mapped.len(), names.len());
        assert_eq!(seed.hash_one("a"), seed.hash_one(String::from("a")));
        assert_ne!(Seed::fixed(1).hash_one("a"), Seed::fixed(2).hash_one("a"));
        assert_eq!(Pieces::new().with("pods").with("/log").finish(), Pieces::new().with("pods/log").finish());
    }
}
