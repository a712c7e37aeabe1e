//! Patterns of strings, compiled once a schema.

use crate::go_regexp::{Regexp, RegexpError};

/// A pattern, stored once a schema however often it is used.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As it stands in the schema.
    pub(super) text: Box<str>,
    /// Old schemas may have one that is none.
    pub(super) regexp: Result<Regexp, RegexpError>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Pattern { text: text.into(), regexp: Regexp::compile(text) }
    }

    /// Bytes it takes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Pattern>() + self.text.len() + self.regexp.as_ref().map_or(0, Regexp::memory)
    }
}
