//! Expressions of webhooks and policies: that they compile.

use std::collections::HashSet;

use ringbolt_cel::admission::{Compiled, Named};
use ringbolt_machinery::field::FieldError;

use super::super::Errors;

/// Expressions of one sort that the object had before: they may go on to use what only stored expressions may.
#[derive(Debug, Default)]
pub(super) struct Stored<'v>(HashSet<&'v str>);

impl<'v> Stored<'v> {
    pub(super) fn of(texts: impl IntoIterator<Item = &'v str>) -> Self {
        Stored(texts.into_iter().collect())
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.0.contains(text)
    }
}

/// What is wrong with an expression, told of the field that it stands in.
pub(super) fn compiles(compiled: &Compiled, shown: &str, path: &str, errors: &mut Errors) {
    if let Some(error) = compiled.error() {
        errors.push(match error.is_internal {
            true => FieldError::internal(path, &error.detail),
            false => FieldError::invalid(path, shown, error.detail.as_str()),
        });
    }
}

/// As [`compiles`] of a variable.
pub(super) fn variable_compiles(variable: &Named, shown: &str, path: &str, errors: &mut Errors) {
    compiles(variable.compiled(), shown, path, errors);
}
