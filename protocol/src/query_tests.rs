//! Tests of `query`.
