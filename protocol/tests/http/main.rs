//! Tests of both HTTP protocols from the outside, in one binary.

mod h1;
mod h1_corpus;
mod hpack;
mod support;
