//! Tests of `selector`.
