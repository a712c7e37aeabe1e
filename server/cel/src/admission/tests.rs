//! Expressions over requests.
