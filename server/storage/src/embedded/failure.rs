//! The one-way switch that a failed flush turns: from then on nothing is acknowledged.

use std::sync::OnceLock;

/// Whether, and why, the store takes no more writes.
#[derive(Debug, Default)]
pub(crate) struct Failure(OnceLock<String>);

impl Failure {
    /// Turns it. The first reason stays.
    pub(crate) fn set(&self, text: String) {
        // A second failure is a consequence of the first.
        drop(self.0.set(text));
    }
    /// The reason.
    pub(crate) fn text(&self) -> Option<&String> {
        self.0.get()
    }
}
