//! Strict decoding errors: fields that field validation `Strict` refuses and `Warn` warns about.

use std::fmt;

use crate::json::quote::go_quote;

/// What is wrong with the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrictKind {
    /// The type has no such field.
    Unknown,
    /// The field is given twice; the last one counts.
    Duplicate,
    /// A text of its own (YAML mappings with a key set twice).
    Other(String),
}

/// One strict decoding error; its `Display` is the text clients see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrictError {
    /// Kind.
    pub kind: StrictKind,
    /// Full path of the field (`spec.containers[0].nmae`).
    pub path: String,
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            StrictKind::Unknown => write!(f, "unknown field {}", go_quote(&self.path)),
            StrictKind::Duplicate => write!(f, "duplicate field {}", go_quote(&self.path)),
            StrictKind::Other(text) => f.write_str(text),
        }
    }
}

impl StrictError {
    /// What a client is warned of: each error alone, where YAML tells several at once.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let text = self.to_string();
        let listed = text.strip_prefix("yaml: unmarshal errors:\n").map(str::to_owned);
        let lines = listed.unwrap_or(text);
        lines.lines().map(|line| line.trim_start().to_owned()).collect::<Vec<_>>().into_iter()
    }
}

/// Whether strict errors are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Unknown fields are dropped, of duplicates the last counts (`fieldValidation=Ignore`).
    Lenient,
    /// As well, and said (`Warn`, `Strict`).
    Strict,
}

/// The message of a request refused for strict errors: `strict decoding error: …`.
pub fn message(errors: &[StrictError]) -> String {
    let mut out = String::from("strict decoding error: ");
    for (i, error) in errors.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&error.to_string());
    }
    out
}

/// Collects strict errors as `sigs.k8s.io/json` does: in order, each once, a bounded number.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) errors: Vec<StrictError>,
}

impl Collector {
    pub(crate) fn add(&mut self, kind: StrictKind, path: String) {
        if self.errors.len() >= crate::limits::STRICT_ERRORS_MAX {
            return;
        }
        let error = StrictError { kind, path };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}
