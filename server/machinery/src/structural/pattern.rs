//! Patterns of strings.

/// A pattern, stored once a schema.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As it stands in the schema.
    pub(super) text: Box<str>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Pattern { text: text.into() }
    }

    /// Bytes it takes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Pattern>() + self.text.len()
    }
}
