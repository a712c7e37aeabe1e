//! Tests of `media_type`.
