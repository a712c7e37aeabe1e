//! Texts that were met so far: lists of a few as a rule, and of as many as a body has room for.

use std::collections::HashSet;

/// So many are looked through one by one, which takes less than hashing.
const FEW: usize = 16;

/// A set that takes no memory of its own while it is small, as nearly all are.
#[derive(Default)]
pub(crate) struct Seen<'t> {
    few: [&'t str; FEW],
    len: usize,
    many: HashSet<&'t str>,
}

impl<'t> Seen<'t> {
    /// Whether a text was met.
    pub(crate) fn contains(&self, text: &str) -> bool {
        match self.many.is_empty() {
            true => self.few[..self.len].contains(&text),
            false => self.many.contains(text),
        }
    }

    /// Adds a text; whether it is new.
    pub(crate) fn insert(&mut self, text: &'t str) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(text);
        }
        if self.contains(text) {
            return false;
        }
        match self.few.get_mut(self.len) {
            Some(slot) => {
                *slot = text;
                self.len += 1;
                true
            }
            None => {
                self.many.extend(self.few);
                self.many.insert(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_new_once() {
        let texts: Vec<String> = (0..3 * FEW).map(|n| n.to_string()).collect();
        let mut seen = Seen::default();
        for (at, text) in texts.iter().enumerate() {
            assert!(!seen.contains(text) && seen.insert(text), "{text}");
            assert!(texts[..=at].iter().all(|known| seen.contains(known) && !seen.insert(known)), "{text}");
        }
        assert!(seen.len == FEW && !seen.contains("x"));
        let mut seen = Seen::default();
        assert!(!seen.contains("") && seen.insert("") && !seen.insert(""));
    }
}
