//! Field errors: what validation finds wrong, in the words `kubectl` users know.

/// Kinds of field errors, as `metav1.CauseType` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The value that should be there is not.
    NotFound,
    /// Required and missing.
    Required,
    /// Given twice.
    Duplicate,
    /// Malformed or out of bounds.
    Invalid,
    /// Not one of the values supported.
    NotSupported,
    /// Not allowed here.
    Forbidden,
    /// Longer than allowed.
    TooLong,
    /// More items than allowed.
    TooMany,
    /// Of the wrong type.
    TypeInvalid,
    /// Something else failed.
    Internal,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Kind.
    pub kind: ErrorKind,
    /// Path (`spec.containers[0].name`).
    pub field: String,
    /// The bad value as the message shows it (strings quoted, structs as JSON); empty where the kind shows none.
    pub bad_value: String,
    /// What is wrong with it.
    pub detail: String,
}
