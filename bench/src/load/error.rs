//! Why a load could not run.

use std::{fmt, io};

/// Why a load could not run, or not to its end, in words for whoever started it.
#[derive(Debug)]
pub struct LoadError(String);

impl LoadError {
    /// An error of these words.
    pub fn new(message: impl Into<String>) -> Self {
        LoadError(message.into())
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        LoadError(error.to_string())
    }
}

impl From<rustls::Error> for LoadError {
    fn from(error: rustls::Error) -> Self {
        LoadError(format!("TLS: {error}"))
    }
}
