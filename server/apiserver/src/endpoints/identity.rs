//! Generated names, and times as metadata carries them.

use std::{cell::Cell, ops::Deref};

use crate::core::CoreState;

/// Letters of generated name suffixes: no vowels, none that look alike (`apimachinery` `rand.String`).
const SUFFIX_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Letters added to `generateName`.
pub const SUFFIX_LENGTH: usize = 5;
/// `generateName` is cut to this before the suffix goes on: 63 less the suffix.
const PREFIX_MAX: usize = 58;

/// A name made from `generateName`.
pub(crate) fn generate_name(core: &CoreState, prefix: &str) -> String {
    generate_name_with(prefix, || core.random_u64())
}

/// A name made from `prefix` and random bits, as those that `generateName` gets.
pub fn generate_name_with(prefix: &str, mut random: impl FnMut() -> u64) -> String {
    let mut end = prefix.len().min(PREFIX_MAX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = String::with_capacity(end + SUFFIX_LENGTH);
    name.push_str(&prefix[..end]);
    // 64 random bits over 27 letters: the bias of the remainder is below 2^-59.
    let mut bits = random();
    for _ in 0..SUFFIX_LENGTH {
        name.push(char::from(SUFFIX_LETTERS[(bits % 27) as usize]));
        bits /= 27;
    }
    name
}

/// Now, as `metav1.Time` writes it: RFC 3339, UTC, whole seconds.
pub(crate) fn now_rfc3339() -> Rfc3339 {
    thread_local! {
        /// The second that was last written, and its text: it is the same for thousands of writes.
        static LAST: Cell<(i64, Rfc3339)> = const { Cell::new((i64::MIN, Rfc3339([0; 20]))) };
    }
    let now = jiff::Timestamp::now();
    LAST.with(|last| {
        let (second, text) = last.get();
        if second == now.as_second() {
            return text;
        }
        let mut bytes = [b'0'; 20];
        let written = rfc3339(now);
        // Years have four digits for as long as clocks can be set.
        bytes.iter_mut().zip(written.bytes()).for_each(|(to, from)| *to = from);
        last.set((now.as_second(), Rfc3339(bytes)));
        Rfc3339(bytes)
    })
}

/// A time as `metav1.Time` writes it: `2006-01-02T15:04:05Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rfc3339([u8; 20]);

impl Deref for Rfc3339 {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("made of ASCII")
    }
}

/// A time as `metav1.Time` writes it.
pub(crate) fn rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_cut_the_prefix() {
        let name = generate_name_with("web-", || 0x1234_5678_9abc_def0);
        assert!(name.starts_with("web-") && name.len() == 9, "{name}");
        assert!(name[4..].bytes().all(|b| SUFFIX_LETTERS.contains(&b)));
        assert_eq!(generate_name_with(&"x".repeat(200), || 1).len(), 63);
        assert_eq!(generate_name_with(&"é".repeat(40), || 1).len(), 63);
    }

    #[test]
    fn times_have_whole_seconds() {
        assert_eq!(rfc3339(jiff::Timestamp::new(0, 999_000_000).unwrap()), "1970-01-01T00:00:00Z");
    }
}
