//! Tests of `request_info`.
