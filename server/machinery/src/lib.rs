//! API machinery: the compiled Schema and everything that walks it (JSON, YAML and protobuf codecs, field
//! validation, patches), the object tree, and `metav1.Status`.
#![forbid(unsafe_code)]

pub mod apply;
pub mod field;
pub mod frozen;
pub mod go_regexp;
pub mod int_or_string;
pub mod json;
pub mod jsonpath;
pub mod limits;
pub mod openapi;
pub mod patch;
pub mod protobuf;
pub mod quantity;
pub mod scan;
pub mod schema;
pub mod status;
pub mod strict;
pub mod structural;
pub mod table;
pub mod time;
pub mod validation;
pub mod value;
pub mod yaml;
