//! API machinery: the compiled Schema and everything that walks it (JSON, YAML and protobuf codecs, field
//! validation, patches), the object tree, and `metav1.Status`.
#![forbid(unsafe_code)]

pub mod field;
pub mod schema;
pub mod status;
pub mod value;
pub mod validation;
