//! Everything that needs a running server, in one binary so that it links once.
#![forbid(unsafe_code)]

mod compat;
