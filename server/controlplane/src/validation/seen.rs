//! Texts that were met so far: lists of a few as a rule, and of as many as a body has room for.

use std::collections::BTreeSet;

/// From so many on looking each one up costs less than looking it for among all.
const FEW: usize = 32;

/// What was met.
#[derive(Debug, Default)]
pub(super) struct Seen<'a> {
    few: Vec<&'a str>,
    many: BTreeSet<&'a str>,
}

impl<'a> Seen<'a> {
    /// Whether a text was met.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.few.contains(&text) || self.many.contains(text)
    }

    /// Keeps one.
    pub(super) fn insert(&mut self, text: &'a str) {
        if self.few.len() < FEW {
            self.few.push(text);
        } else {
            self.many.insert(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many() {
        let texts: Vec<String> = (0..3 * FEW).map(|at| at.to_string()).collect();
        let mut seen = Seen::default();
        for (at, text) in texts.iter().enumerate() {
            assert!(!seen.contains(text));
            seen.insert(text);
            assert!(texts[..=at].iter().all(|text| seen.contains(text)), "{at}");
        }
        assert!(seen.few.len() == FEW && !seen.contains("x"));
    }
}
