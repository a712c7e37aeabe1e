//! Tests of both HTTP protocols from the outside, in one binary.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in helpers too")]

mod h1;
mod h1_corpus;
mod h2;
mod h2_faults;
mod h2_oracle;
mod h2_support;
mod hpack;
mod support;
