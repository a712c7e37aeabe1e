//! What goes wrong in the benchmark: a sentence for the person who runs it, with its cause behind it.

use std::fmt;

/// A failure of the benchmark itself, never of a measured request: those are counted.
#[derive(Debug)]
pub struct Error(String);

/// What functions of the benchmark return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error(error.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Error {
        Error(format!("JSON: {error}"))
    }
}

/// Says what was being done when something failed.
pub trait Context<T> {
    /// Puts `what` before the cause.
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error(format!("{what}: {error}")))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Error(what.to_string()))
    }
}
